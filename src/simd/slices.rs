//! Small loops over slices, compiled for every level.

use super::lanes::{ExpConstants, Lanes, PART, exp, width};
use crate::float::Real;

/// One multiply-add chain a row.
#[inline(always)]
pub(super) unsafe fn sq_norms<F: Real, L: Lanes<F>>(rows: &[F], d: usize, out: &mut [F]) {
    assert!(rows.len() >= out.len() * d, "whole rows");
    // Several rows at once: one chain waits for its own last step.
    const ROWS: usize = 8;
    let mut row = 0;
    while row + ROWS <= out.len() {
        let several: [&[F]; ROWS] = std::array::from_fn(|r| &rows[(row + r) * d..][..d]);
        let mut sums = [F::zero(); ROWS];
        for k in 0..d {
            for (sum, row) in sums.iter_mut().zip(several) {
                // SAFETY: the features of `L` are enabled by the caller.
                *sum = unsafe { L::fma_one(row[k], row[k], *sum) };
            }
        }
        out[row..row + ROWS].copy_from_slice(&sums);
        row += ROWS;
    }
    for (i, out) in out.iter_mut().enumerate().skip(row) {
        // SAFETY: as above.
        *out =
            rows[i * d..][..d].iter().fold(F::zero(), |sum, &v| unsafe { L::fma_one(v, v, sum) });
    }
}

/// As the block kernel sums a product in parts.
#[inline(always)]
pub(super) unsafe fn part_norms<F: Real, L: Lanes<F>>(rows: &[F], d: usize, out: &mut [F]) {
    assert!(rows.len() >= out.len() * d, "whole rows");
    let mut pairs = out.chunks_exact_mut(2);
    let mut rows = rows.chunks_exact(d.max(1));
    // SAFETY: the features of `L` are enabled by the caller.
    unsafe {
        for pair in &mut pairs {
            let two = std::array::from_fn(|_| rows.next().unwrap_or_default());
            pair.copy_from_slice(&norms_in_parts::<F, L, 2>(two));
        }
        for (out, row) in pairs.into_remainder().iter_mut().zip(rows) {
            [*out] = norms_in_parts::<F, L, 1>([row]);
        }
    }
}

/// Those of `N` rows of one length.
#[inline(always)]
unsafe fn norms_in_parts<F: Real, L: Lanes<F>, const N: usize>(rows: [&[F]; N]) -> [F; N] {
    // Several parts at once: one chain waits for its own last step.
    const PARTS: usize = 4;
    let (mut norms, d) = ([F::zero(); N], rows.first().map_or(0, |row| row.len()));
    for first in (0..d).step_by(PARTS * PART) {
        let mut sums = [[F::zero(); PARTS]; N];
        let parts = rows.map(|row| &row[first..d.min(first + PARTS * PART)]);
        for k in 0..PART.min(d - first) {
            for (sums, parts) in sums.iter_mut().zip(parts) {
                for (sum, value) in sums.iter_mut().zip(parts.iter().skip(k).step_by(PART)) {
                    // SAFETY: the features of `L` are enabled by the caller.
                    *sum = unsafe { L::fma_one(*value, *value, *sum) };
                }
            }
        }
        // (A part that is not there adds 0, and no square is -0.)
        let each = norms.iter_mut().zip(sums);
        each.for_each(|(norm, sums)| sums.into_iter().for_each(|part| *norm += part));
    }
    norms
}

/// The norm of one row, as [`sq_norms`] and as [`part_norms`] sum it.
#[inline(always)]
pub(super) unsafe fn both_norms<F: Real, L: Lanes<F>>(row: &[F]) -> [F; 2] {
    let [mut sum, mut in_parts] = [F::zero(); 2];
    for part in row.chunks(PART) {
        let mut own = F::zero();
        for &value in part {
            // SAFETY: the features of `L` are enabled by the caller.
            unsafe {
                sum = L::fma_one(value, value, sum);
                own = L::fma_one(value, value, own);
            }
        }
        in_parts += own;
    }
    [sum, in_parts]
}

/// The norms have the bits of [`sq_norms`] and [`part_norms`].
#[inline(always)]
pub(super) unsafe fn interleave<F: Real, L: Lanes<F>>(
    rows: &[F],
    lines: &mut [F],
    [norms, in_parts]: [&mut [F]; 2],
) {
    let (d, width) = (rows.len() / width::<F>(), width::<F>());
    let are_whole = norms.len() == width && in_parts.len() == width;
    assert!(lines.len() == d * width && are_whole, "one block");
    // SAFETY: the features of `L` are enabled by the caller; lines and norms are whole lines.
    unsafe {
        let [mut sums, mut parts] = [L::splat(F::zero()); 2];
        for (part, lines) in lines.chunks_mut(PART * width).enumerate() {
            let mut own = L::splat(F::zero());
            for (k, line) in (part * PART..).zip(lines.chunks_exact_mut(width)) {
                for (to, row) in line.iter_mut().zip(rows.chunks_exact(d)) {
                    *to = row[k];
                }
                let line = L::load(line.as_ptr());
                sums = L::fma(line, line, sums);
                own = L::fma(line, line, own);
            }
            parts = L::add(parts, own);
        }
        L::store(norms.as_mut_ptr(), sums);
        L::store(in_parts.as_mut_ptr(), parts);
    }
}

#[inline(always)]
pub(super) unsafe fn exp_in_place<F: ExpConstants, L: Lanes<F>>(values: &mut [F]) {
    let mut lines = values.chunks_exact_mut(width::<F>());
    for line in &mut lines {
        // SAFETY: a whole line; the features of `L` are enabled by the caller.
        unsafe { L::store(line.as_mut_ptr(), exp::<F, L>(L::load(line.as_ptr()))) }
    }
    let rest = lines.into_remainder();
    let mut padded = [F::zero(); 16];
    padded[..rest.len()].copy_from_slice(rest);
    // SAFETY: 16 values are at least a line.
    unsafe { L::store(padded.as_mut_ptr(), exp::<F, L>(L::load(padded.as_ptr()))) }
    rest.copy_from_slice(&padded[..rest.len()]);
}

#[inline(always)]
pub(super) unsafe fn weighted_sums_of<F: Real, L: Lanes<F>>(
    rows: &[F],
    len: usize,
    (coef, outputs): (&[f64], usize),
    out: &mut [f64],
) {
    if rows.is_empty() || out.is_empty() {
        return out.fill(0.0);
    }
    let (stride, values) = (coef.len() / outputs, rows.len() / len);
    assert!(stride >= values && values.is_multiple_of(width::<F>()), "padded rows");
    assert!(rows.len() == len * values && out.len() == len * outputs, "a value each");
    // Several outputs at once, as one chain waits for its own last step, for all points: the
    // coefficients stay in the first cache.
    const OUTPUTS: usize = 4;
    let rows = (rows, (values, len));
    let mut first = 0;
    // SAFETY: the caller has checked that rows are whole lines and coefficients as long.
    unsafe {
        while first + OUTPUTS <= outputs {
            let coef = (&coef[first * stride..][..OUTPUTS * stride], stride);
            let out = (&mut out[first..], outputs);
            weigh::<F, L, OUTPUTS>(rows, coef, out);
            first += OUTPUTS;
        }
        while first < outputs {
            let coef = (&coef[first * stride..][..stride], stride);
            let out = (&mut out[first..], outputs);
            weigh::<F, L, 1>(rows, coef, out);
            first += 1;
        }
    }
}

#[inline(always)]
unsafe fn weigh<F: Real, L: Lanes<F>, const OUTPUTS: usize>(
    (rows, (values, len)): (&[F], (usize, usize)),
    (coef, stride): (&[f64], usize),
    (out, outputs): (&mut [f64], usize),
) {
    assert!(stride >= values && coef.len() == OUTPUTS * stride, "a padded row an output");
    for i in 0..len {
        let row = &rows[i * values..][..values];
        // SAFETY: the caller enables the features of `L`, and `row` is whole lines.
        unsafe {
            let mut wide = [L::wide_zero(); OUTPUTS];
            for at in (0..values).step_by(width::<F>()) {
                let line = L::load(row.as_ptr().add(at));
                for (c, wide) in wide.iter_mut().enumerate() {
                    *wide = L::wide_fma(*wide, coef.as_ptr().add(c * stride + at), line);
                }
            }
            for (out, wide) in out[i * outputs..].iter_mut().zip(wide) {
                *out = L::wide_sum(wide);
            }
        }
    }
}

/// Newton steps for the place of the merged point: from the weighted mean on, four leave an error
/// far below rounding wherever a merge is worth making.
const NEWTON_STEPS: usize = 4;

#[inline(always)]
pub(super) unsafe fn merge_degradations<F: ExpConstants, L: Lanes<F>>(g: &[F], ratio: &mut [F]) {
    assert!(g.len() == ratio.len() && g.len().is_multiple_of(width::<F>()), "padded rows");
    for at in (0..g.len()).step_by(width::<F>()) {
        // SAFETY: lengths are whole lines; the features of `L` are enabled by the caller.
        unsafe {
            let g = L::load(g.as_ptr().add(at));
            let to = ratio.as_mut_ptr().add(at);
            L::store(to, degradation::<F, L>(g, L::load(to)));
        }
    }
}

/// With `s = exp(-G h²)`, `t = ρ exp(-G (1-h)²)` the maximum of `s + t` is where
/// `ψ(h) = (1-h) t - h s = 0`; `ψ' = 2G ((1-h)² t + h² s) - (s + t)`, kept away from 0.
#[inline(always)]
unsafe fn degradation<F: ExpConstants, L: Lanes<F>>(g: L::Line, ratio: L::Line) -> L::Line {
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        // No closures here: they would be compiled without the level's features.
        let (zero, one) = (L::splat(F::zero()), L::splat(F::one()));
        let (half, two) = (L::splat(F::from_f64(0.5)), L::splat(F::from_f64(2.0)));
        let minus_g = L::sub(zero, g);
        // From the weighted mean; where two maxima may part (G about 2), from further right.
        let mean = L::div(ratio, L::add(ratio, one));
        let mut h = L::min(L::max(L::sub(g, L::splat(F::from_f64(1.5))), mean), one);
        for _ in 0..NEWTON_STEPS {
            let rest = L::sub(one, h);
            let s = exp::<F, L>(L::mul(minus_g, L::mul(h, h)));
            let v = exp::<F, L>(L::mul(minus_g, L::mul(rest, rest)));
            let t = L::mul(ratio, v);
            let sum = L::add(s, t);
            let psi = L::sub(L::mul(rest, t), L::mul(h, s));
            let curve = L::fma(L::mul(h, h), s, L::mul(L::mul(rest, rest), t));
            let slope = L::sub(L::mul(L::mul(two, g), curve), sum);
            let slope = L::min(slope, L::mul(sum, L::splat(F::from_f64(-0.1))));
            h = L::min(L::max(L::sub(h, L::div(psi, slope)), half), one);
        }
        // (1 - u²) + ρ² (1 - v²) - 2 ρ (u v - κ): no difference of large squares.
        let rest = L::sub(one, h);
        let u = exp::<F, L>(L::mul(minus_g, L::mul(h, h)));
        let v = exp::<F, L>(L::mul(minus_g, L::mul(rest, rest)));
        let kappa = exp::<F, L>(minus_g);
        let first = L::sub(one, L::mul(u, u));
        let second = L::mul(L::mul(ratio, ratio), L::sub(one, L::mul(v, v)));
        let cross = L::mul(L::mul(two, ratio), L::sub(L::mul(u, v), kappa));
        L::max(L::sub(L::add(first, second), cross), zero)
    }
}

/// Points of the grid `h = 0, 0.1, .. 1.1`: of the half that is searched, and one beyond each end.
const GRID: usize = 12;
/// The places of 1/2 and of 1.
const HALF: usize = 5;
const WHOLE: usize = 10;

#[inline(always)]
pub(super) unsafe fn shared_degradations<F: ExpConstants, L: Lanes<F>>(
    g: &[F],
    squares: &mut [F],
    products: &[F],
) {
    assert!(g.len() == squares.len() && g.len() == products.len(), "equal lengths");
    assert!(g.len().is_multiple_of(width::<F>()), "padded rows");
    for at in (0..g.len()).step_by(width::<F>()) {
        // SAFETY: lengths are whole lines; the features of `L` are enabled by the caller.
        unsafe {
            let (zero, one) = (L::splat(F::zero()), L::splat(F::one()));
            let minus_g = L::sub(zero, L::load(g.as_ptr().add(at)));
            let square = L::load(squares.as_ptr().add(at));
            let product = L::load(products.as_ptr().add(at));
            let twice = L::add(product, product);
            // exp(-g h²) at every h: what u is at h, v is at 1 - h.
            let mut us = [one; GRID];
            for (i, u) in us.iter_mut().enumerate().skip(1) {
                let h = 0.1 * i as f64;
                *u = exp::<F, L>(L::mul(minus_g, L::splat(F::from_f64(h * h))));
            }
            let mut lost = [zero; GRID];
            for i in HALF - 1..GRID {
                let (u, v) = (us[i], us[i.abs_diff(WHOLE)]);
                let own = L::sub(one, L::mul(u, u));
                let other = L::mul(square, L::sub(one, L::mul(v, v)));
                let cross = L::mul(twice, L::sub(L::mul(u, v), us[WHOLE]));
                lost[i] = L::sub(L::add(own, other), cross);
            }
            // The lowest parabola through three neighbours, its bottom nearest to the middle one;
            // beyond h = 1 none is sought.
            let mut least = L::splat(F::infinity());
            for i in HALF..=WHOLE {
                let slope = L::sub(lost[i + 1], lost[i - 1]);
                let slope = if i == WHOLE { L::max(slope, zero) } else { slope };
                let size = L::max(slope, L::sub(zero, slope));
                let middle = L::add(lost[i], lost[i]);
                let curve = L::sub(L::add(lost[i + 1], lost[i - 1]), middle);
                let curve = L::max(L::max(curve, size), L::splat(F::min_positive_value()));
                let below = L::div(L::mul(L::splat(F::from_f64(0.125)), slope), curve);
                least = L::min(L::sub(lost[i], L::mul(below, slope)), least);
            }
            L::store(squares.as_mut_ptr().add(at), L::max(least, zero));
        }
    }
}

/// Index of the first value that `fits`, the last index when none does: whole parts at a time, so
/// that the compiler needs no branch a value.
#[inline(always)]
fn first<T: Copy>(values: &[T], fits: impl Fn(T) -> bool) -> usize {
    const PART: usize = 32;
    let mut at = 0;
    for part in values.chunks_exact(PART) {
        if part.iter().fold(false, |any, &value| any | fits(value)) {
            break;
        }
        at += PART;
    }
    while at < values.len() && !fits(values[at]) {
        at += 1;
    }
    at.min(values.len().saturating_sub(1))
}

#[inline(always)]
pub(super) fn least<F: Real>(values: &[F]) -> F {
    let mut parts = [F::infinity(); 32];
    let chunks = values.chunks_exact(32);
    let rest = chunks.remainder();
    for chunk in chunks {
        for lane in 0..32 {
            parts[lane] = if chunk[lane] < parts[lane] { chunk[lane] } else { parts[lane] };
        }
    }
    let values = parts.iter().chain(rest);
    values.fold(F::infinity(), |least, &value| if value < least { value } else { least })
}

#[inline(always)]
pub(super) fn first_at_most<F: Real>(values: &[F], limit: F) -> usize {
    first(values, |value| value <= limit)
}

/// They are few among many.
#[inline(always)]
pub(super) fn indices_at_most<F: Real>(values: &[F], limit: F, found: &mut Vec<usize>) {
    const PART: usize = 32;
    for (at, part) in values.chunks(PART).enumerate() {
        // Most parts hold none, which one vector comparison tells of a whole part.
        let any = match <&[F; PART]>::try_from(part) {
            Ok(part) => part.iter().fold(false, |any, &value| any | (value <= limit)),
            Err(_) => true,
        };
        if any {
            // No branch a value: which of them are kept cannot be foreseen.
            let (mut kept, mut len) = ([0; PART], 0);
            for (lane, &value) in part.iter().enumerate() {
                kept[len] = PART * at + lane;
                len += usize::from(value <= limit);
            }
            found.extend_from_slice(&kept[..len]);
        }
    }
}

#[inline(always)]
pub(super) fn same_sign_distances<F: Real>(coef: &[f64], own: f64, row: &[F], out: &mut [F]) -> F {
    assert!(coef.len() == out.len() && row.len() >= out.len(), "equal lengths");
    // One simple loop over bits, and another for the least: both become vector code.
    let own = own.to_bits();
    for ((out, coef), &g) in out.iter_mut().zip(coef).zip(row) {
        let differs = (coef.to_bits() ^ own) >> 63 != 0;
        *out = if differs { F::infinity() } else { g };
    }
    least(out)
}
