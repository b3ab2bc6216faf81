//! The rounded `max(0, t)`, and numbers in double precision, compiled for every level: plain loops,
//! which the compiler turns into the level's vector code. Nothing is contracted, so every level gives
//! the same bits.

use crate::float::Real;

#[inline(always)]
pub(super) fn rounded(
    t: &[f64],
    h: f64,
    (value, slope, curvature): (&mut [f64], &mut [f64], &mut [f64]),
) {
    let n = t.len();
    let (value, slope, curvature) = (&mut value[..n], &mut slope[..n], &mut curvature[..n]);
    let (quarter, half, bend) = (4.0 * h, 2.0 * h, 0.5 / h);
    for i in 0..n {
        let s = t[i] + h;
        let (flat, steep) = (t[i] <= -h, t[i] >= h);
        // Divisions before the choice: they are made whatever comes of it.
        let (square, share) = (s * s / quarter, s / half);
        let pick = |curved: f64, beyond: f64| {
            let above = if steep { beyond } else { curved };
            if flat { 0.0 } else { above }
        };
        value[i] = pick(square, t[i]);
        slope[i] = pick(share, 1.0);
        curvature[i] = pick(bend, 0.0);
    }
}

#[inline(always)]
pub(super) fn widen<F: Real>(from: &[F], to: &mut [f64]) {
    let n = from.len();
    let to = &mut to[..n];
    for i in 0..n {
        to[i] = from[i].to_f64();
    }
}
