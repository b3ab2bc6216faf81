//! Sums over the differences of one number and many, compiled for every level: plain loops over
//! fixed parts, as in `pairs.rs`.

use crate::float::Real;

const PART: usize = 16;

#[inline(always)]
fn sum<F: Real>(weights: &[F], z: &[F], term: impl Fn(F, F) -> F) -> F {
    let n = weights.len();
    let (weights, z) = (&weights[..n], &z[..n]);
    let mut sums = [F::zero(); PART];
    let whole = n - n % PART;
    for at in (0..whole).step_by(PART) {
        for l in 0..PART {
            sums[l] += term(weights[at + l], z[at + l]);
        }
    }
    for t in whole..n {
        sums[0] += term(weights[t], z[t]);
    }
    sums.into_iter().fold(F::zero(), |sum, part| sum + part)
}

#[inline(always)]
pub(super) fn absolute_differences<F: Real>(weights: &[F], x: F, z: &[F]) -> F {
    sum(weights, z, |w, z| w * if x > z { x - z } else { z - x })
}

#[inline(always)]
pub(super) fn signed<F: Real>(weights: &[F], x: F, z: &[F]) -> F {
    let zero = F::zero();
    sum(weights, z, |w, z| {
        let above = if x > z { w } else { zero };
        above - if x < z { w } else { zero }
    })
}
