//! The inner step of the block kernel, and what becomes of its sums.

use super::job::{ABSOLUTE, BY_NORMS, DOT, IN_PARTS, Job, Map, SQUARED};
use super::lanes::{ExpConstants, Lanes, exp2, width};
use crate::float::Real;

/// Takes feature `x` of a point and `s` of a line of centres into their sum.
#[inline(always)]
pub(super) unsafe fn taken<F: Real, L: Lanes<F>, const M: u8>(
    x: L::Line,
    s: L::Line,
    sum: L::Line,
) -> L::Line {
    // SAFETY: the caller enables the features of `L`.
    unsafe {
        match M {
            SQUARED => {
                let difference = L::sub(x, s);
                L::fma(difference, difference, sum)
            }
            ABSOLUTE => L::add(sum, L::max(L::sub(x, s), L::sub(s, x))),
            _ => L::fma(x, s, sum),
        }
    }
}

/// Maps one line of sums to distances or kernel values, stores and adds it up.
#[inline(always)]
pub(super) unsafe fn emit<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    point: usize,
    line: usize,
    acc: L::Line,
    wide: &mut L::Wide,
) {
    let w = width::<F>();
    let row = point - job.first;
    // SAFETY: `check` has compared the lengths of all slices with the padded number of centres.
    unsafe {
        // The square of the distance, or the product.
        let raw = if M == BY_NORMS || M == IN_PARTS {
            let (x, s) = match M {
                BY_NORMS => (job.tile.sq_norms(), job.centers.sq_norms()),
                _ => (job.tile.part_norms(), job.centers.part_norms()),
            };
            let (x, s) = (L::splat(x[point]), L::load(s.as_ptr().add(line * w)));
            let square = L::fma(acc, L::splat(F::from_f64(-2.0)), L::add(x, s));
            L::max(square, L::splat(F::zero()))
        } else {
            acc
        };
        let mapped = job.values.as_ref().is_some_and(|v| v.mapped);
        let wanted = M != DOT && (mapped || job.sums.is_some());
        let kernel = if wanted { self::mapped::<F, L>(raw, job.gamma, job.map) } else { raw };
        if let Some(values) = &mut job.values {
            let to = values.out.as_mut_ptr().add(row * values.stride + line * w - job.slots.0);
            let is_kernel = mapped || M == DOT;
            L::store(to, if is_kernel { kernel } else { L::mul(raw, L::splat(job.gamma)) });
        }
        if let Some(sums) = &job.sums {
            *wide = L::wide_fma(*wide, sums.coef.as_ptr().add(line * w), kernel);
        }
    }
}

/// What the map makes of a line of distances, γ not yet included.
#[inline(always)]
pub(super) unsafe fn mapped<F: ExpConstants, L: Lanes<F>>(
    raw: L::Line,
    gamma: F,
    map: Map,
) -> L::Line {
    // SAFETY: no pointer is involved; the caller enables the features of `L`.
    unsafe {
        match map {
            Map::Identity => L::mul(raw, L::splat(gamma)),
            Map::Exponential => exp2::<F, L>(L::mul(raw, L::splat(-gamma * F::LOG2_E))),
            Map::Matern { quadratic } => {
                matern::<F, L>(L::mul(raw, L::splat(gamma)), F::from_f64(quadratic))
            }
        }
    }
}

/// The map of the Matérn kernels, at most 1.
#[inline(always)]
pub(super) unsafe fn matern<F: ExpConstants, L: Lanes<F>>(
    square: L::Line,
    quadratic: F,
) -> L::Line {
    // Beyond this the exponential is 0; infinity would make 0 · ∞.
    let most = -F::LOWEST;
    let mut roots = [F::zero(); 16];
    // SAFETY: a line is at most 16 values; the caller enables the features of `L`.
    unsafe {
        L::store(roots.as_mut_ptr(), square);
        // No closure: it would be compiled without the level's features.
        for root in &mut roots[..width::<F>()] {
            *root = root.sqrt();
        }
        let u = L::min(L::load(roots.as_ptr()), L::splat(most));
        let one = L::splat(F::one());
        let polynomial = L::fma(L::fma(u, L::splat(quadratic), one), u, one);
        L::min(L::mul(polynomial, exp2::<F, L>(L::mul(u, L::splat(-F::LOG2_E)))), one)
    }
}

#[inline(always)]
pub(super) unsafe fn finish<F: Real, L: Lanes<F>, const P: usize>(
    job: &mut Job<'_, F>,
    first: usize,
    wide: &[L::Wide; P],
) {
    if let Some(sums) = &mut job.sums {
        for (p, &wide) in wide.iter().enumerate() {
            // SAFETY: no pointer is involved; the features are enabled.
            sums.out[first - job.first + p] = unsafe { L::wide_sum(wide) };
        }
    }
}
