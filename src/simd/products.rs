//! Products of rows with `f64` vectors: plain loops, compiled for every level.
//!
//! Sums run in eight lanes without FMA, so every level gives the same bits.

use super::lanes::Lanes;
use super::together::product;
use crate::float::Real;

const LANES: usize = 8;

#[inline(always)]
pub(super) fn dots<F: Real>(rows: &[F], x: &[f64], out: &mut [f64]) {
    if x.is_empty() {
        return out.fill(0.0);
    }
    for (row, out) in rows.chunks_exact(x.len()).zip(out) {
        *out = dot(row, x);
    }
}

/// `row · x` for equal lengths.
#[inline(always)]
fn dot<F: Real>(row: &[F], x: &[f64]) -> f64 {
    // Two sets of lanes: additions do not wait for each other.
    let mut sums = [[0.0; LANES]; 2];
    let (mut rows, mut xs) = (row.chunks_exact(2 * LANES), x.chunks_exact(2 * LANES));
    for (a, b) in (&mut rows).zip(&mut xs) {
        for lane in 0..LANES {
            sums[0][lane] += a[lane].to_f64() * b[lane];
        }
        for lane in 0..LANES {
            sums[1][lane] += a[LANES + lane].to_f64() * b[LANES + lane];
        }
    }
    let mut tail = 0.0;
    for (a, b) in rows.remainder().iter().zip(xs.remainder()) {
        tail += (*a).to_f64() * b;
    }
    let mut s = [0.0; LANES];
    for lane in 0..LANES {
        s[lane] = sums[0][lane] + sums[1][lane];
    }
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + tail
}

/// `a · b` for equal lengths, in the precision of the values.
#[inline(always)]
pub(super) unsafe fn inner<F: Real, L: Lanes<F>>(a: &[F], b: &[F]) -> F {
    assert!(a.len() == b.len(), "equal lengths");
    // SAFETY: the caller enables the features of `L`.
    unsafe { product::<F, F, L>(a, b) }
}

/// `out = scale · from`.
#[inline(always)]
pub(super) fn lengthen(from: &[i16], scale: f32, out: &mut [f32]) {
    for (out, &value) in out.iter_mut().zip(from) {
        *out = scale * f32::from(value);
    }
}

/// The nearest whole numbers of 16 bits times the scale that is returned; zeros have none.
#[inline(always)]
pub(super) fn shorten(from: &[f32], out: &mut [i16]) -> f32 {
    const WIDE: usize = 16;
    /// Added to a number that is small against it, rounds that to a whole one, which its bits then end in.
    const ROUNDS: f32 = 1.5 / f32::EPSILON;
    let mut most = [0.0_f32; WIDE];
    let lines = from.chunks_exact(WIDE);
    let rest = lines.remainder();
    for values in lines {
        for (most, value) in most.iter_mut().zip(values) {
            *most = if value.abs() > *most { value.abs() } else { *most };
        }
    }
    let most = rest.iter().fold(most.into_iter().fold(0.0, f32::max), |most, v| most.max(v.abs()));
    let scale = most / f32::from(i16::MAX);
    let over = if scale > 0.0 { scale.recip() } else { 0.0 };
    for (out, &value) in out.iter_mut().zip(from) {
        let whole = (value * over + ROUNDS).to_bits().wrapping_sub(ROUNDS.to_bits());
        *out = whole as i16;
    }
    scale
}

/// `y += a row` for equal lengths, in the precision of the values.
#[inline(always)]
pub(super) fn add_scaled<F: Real>(a: F, row: &[F], y: &mut [F]) {
    for (y, &value) in y.iter_mut().zip(row) {
        *y += a * value;
    }
}

#[inline(always)]
pub(super) fn add_scaled_rows<F: Real>(rows: &[F], scaled: &[(u32, f64)], y: &mut [f64]) {
    let n = y.len();
    add(scaled, |&(k, a)| (&rows[k as usize * n..][..n], a), y);
}

#[inline(always)]
pub(super) fn add_rows<F: Real>(rows: &[(&[F], f64)], sums: &mut [f64]) {
    let n = sums.len();
    add(rows, |&(row, a)| (&row[..n], a), sums);
}

/// `y += Σ a row` over the terms `(row, a)`: four rows share one sweep over y.
#[inline(always)]
fn add<'r, T, F: Real>(terms: &[T], term: impl Fn(&T) -> (&'r [F], f64), y: &mut [f64]) {
    let n = y.len();
    let mut fours = terms.chunks_exact(4);
    for four in &mut fours {
        let [(r0, a0), (r1, a1)] = [term(&four[0]), term(&four[1])];
        let [(r2, a2), (r3, a3)] = [term(&four[2]), term(&four[3])];
        let (r0, r1, r2, r3) = (&r0[..n], &r1[..n], &r2[..n], &r3[..n]);
        for (j, y) in y.iter_mut().enumerate() {
            *y += (a0 * r0[j].to_f64() + a1 * r1[j].to_f64())
                + (a2 * r2[j].to_f64() + a3 * r3[j].to_f64());
        }
    }
    for (row, a) in fours.remainder().iter().map(term) {
        for (y, value) in y.iter_mut().zip(row) {
            *y += a * (*value).to_f64();
        }
    }
}
