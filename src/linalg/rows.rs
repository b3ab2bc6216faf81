//! Products of rows of `f32` or `f64` with `f64` vectors, all sums in `f64`.
//!
//! Sums run in eight lanes (a fixed order, so the bits do not depend on the machine), which the
//! compiler turns into vector code. They are bound by memory traffic when rows come from a large
//! block.

use crate::float::Real;
use crate::simd::dots;

const LANES: usize = 8;

/// `row · x`; the shorter length counts.
#[inline]
#[must_use]
pub(crate) fn dot<F: Real>(row: &[F], x: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (rows, xs) = (row.chunks_exact(LANES), x.chunks_exact(LANES));
    let tail: f64 = if row.len() == x.len() {
        rows.remainder().iter().zip(xs.remainder()).map(|(&a, b)| a.to_f64() * b).sum()
    } else {
        let n = row.len().min(x.len());
        return dot(&row[..n], &x[..n]);
    };
    for (a, b) in rows.zip(xs) {
        for lane in 0..LANES {
            sums[lane] += a[lane].to_f64() * b[lane];
        }
    }
    fold(sums) + tail
}

/// `y += a·row`.
#[inline]
pub(crate) fn axpy<F: Real>(a: f64, row: &[F], y: &mut [f64]) {
    for (y, &r) in y.iter_mut().zip(row) {
        *y += a * r.to_f64();
    }
}

/// `M x` for a full symmetric row-major `matrix` of order `x.len()`.
#[must_use]
pub(crate) fn symmetric_times(matrix: &[f64], x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; x.len()];
    dots(matrix, x, &mut out);
    out
}

#[inline]
fn fold(s: [f64; LANES]) -> f64 {
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
