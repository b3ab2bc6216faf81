//! Run-time dispatched primitives: packed blocks of kernel values, the exponential, searches in
//! slices. The only room with `unsafe`.
//!
//! Each body is written once over lines of 64 bytes (`lanes.rs`) and compiled for every level of
//! the processor: plain Rust (the twin that tests compare with), AVX2 with FMA, AVX-512F, NEON. The
//! environment variable `BUDGETSVM_SIMD` (`scalar`, `avx2`, `avx512`, `neon`) forces a level; a level
//! that the processor lacks falls back to the best it has.
//!
//! A kernel value is a chain of multiply-adds in the order of the features, whatever the shape
//! of the block around it, so cutting the points into other tiles changes no bit.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod block;
mod dispatch;
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod pairs;
mod products;
mod roofline;
mod scalar;
mod search;
mod slices;
mod waves;

pub use block::{Job, Map, Metric, Sums, Values};
pub use dispatch::{Level, level, levels};
pub use packed::{Packed, Tile};
pub(crate) use pairs::LEAST_CURVATURE;
#[doc(hidden)]
pub use roofline::fma_rounds;
pub(crate) use search::{
    first_at_most, indices_at_most, least, least_magnitude, merge_degradations, merged_squares,
    prefetch, same_sign_distances,
};
pub(crate) use slices::sq_norm;

use crate::float::Real;
use dispatch::{Anchored as _, Compiled, Work, anchored, cast_slice, cast_slice_mut, concrete};
use lanes::Lanes;

struct Block<'j, 'a, F: Real>(&'j mut Job<'a, F>);

impl<F: Compiled> Work<F> for Block<'_, '_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        // SAFETY: the contract is passed on; `run_block` has checked the job.
        unsafe { block::run::<F, L>(self.0) }
    }
}

anchored! {
    f32: Block<'_, '_, f32>, slices::Exp<'_, f32>, slices::WeightedSums<'_, f32>, slices::Degradations<'_, f32>, slices::MergedSquares<'_, f32>, slices::Least<'_, f32>, slices::FirstAtMost<'_, f32>, slices::AtMost<'_, f32>, slices::SameSign<'_, f32>, pairs::Move<'_, f32>, pairs::Gains<'_, f32>, pairs::AddRows<'_, f32>, products::Dots<'_, f32>, products::ScaledRows<'_, f32>, waves::Cosines<'_, f32>, waves::Waves<'_, f32>;
    f64: Block<'_, '_, f64>, slices::Exp<'_, f64>, slices::WeightedSums<'_, f64>, slices::Degradations<'_, f64>, slices::MergedSquares<'_, f64>, slices::Least<'_, f64>, slices::FirstAtMost<'_, f64>, slices::AtMost<'_, f64>, slices::SameSign<'_, f64>, pairs::Move<'_, f64>, pairs::Gains<'_, f64>, pairs::AddRows<'_, f64>, products::Dots<'_, f64>, products::ScaledRows<'_, f64>, waves::Cosines<'_, f64>, waves::Waves<'_, f64>,
        slices::LeastMagnitude<'_>, pairs::Find<'_>, pairs::Descents<'_>;
}

/// Computes a block of distances, kernel values or sums of them at the level in use.
///
/// # Panics
/// When a slice of the job is shorter than its points and centres need.
pub fn run_block<F: Real>(job: &mut Job<'_, F>) {
    run_block_at(level(), job);
}

/// [`run_block`] at a level of one's own choice; one that the processor lacks is not run.
pub fn run_block_at<F: Real>(level: Level, job: &mut Job<'_, F>) {
    assert!(level == dispatch::level() || levels().contains(&level), "a level the processor has");
    job.check();
    concrete!(F, |T| {
        // SAFETY: `T` is `F`: the cast changes nothing. The level was just checked, and so was
        // the job.
        unsafe { Block::<T>(&mut *std::ptr::from_mut(job).cast()).at(level) }
    });
}

/// Replaces every `x <= 0` by `e^x`.
pub(crate) fn exp_in_place<F: Real>(values: &mut [F]) {
    exp_in_place_at(level(), values);
}

/// [`exp_in_place`] at a level of one's own choice.
pub(crate) fn exp_in_place_at<F: Real>(level: Level, values: &mut [F]) {
    assert!(level == dispatch::level() || levels().contains(&level), "a level the processor has");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level was just checked.
        unsafe { slices::Exp::<T>(cast_slice_mut(values)).at(level) }
    });
}

/// `values_j = scale cos(values_j + phases_j)`, within 1e-15 of `scale` for arguments below 1e8;
/// the same bits at every level.
pub(crate) fn cosines<F: Real>(values: &mut [F], phases: &[f64], scale: f64) {
    assert!(values.len() == phases.len(), "equal lengths");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            let work = waves::Cosines::<T> { values: cast_slice_mut(values), phases, scale };
            work.at(level());
        }
    });
}

/// `scale cos x_j` and `scale sin x_j` of the values of `cosines`, within 1e-15 of `scale` in
/// double and 1e-7 in single precision for arguments below 1e8; the same bits at every level.
pub(crate) fn waves<F: Real>(cosines: &mut [F], sines: &mut [F], scale: f64) {
    assert!(cosines.len() == sines.len(), "equal lengths");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            let (cosines, sines) = (cast_slice_mut(cosines), cast_slice_mut(sines));
            waves::Waves::<T> { cosines, sines, scale }.at(level());
        }
    });
}

/// `out_c = Σ_j coef_cj row_j` in `f64` for every output; `row` is padded to whole lines, `coef`
/// holds one padded row an output.
pub(crate) fn weighted_sums<F: Real>(row: &[F], coef: &[f64], out: &mut [f64]) {
    let outputs = out.len();
    weighted_sums_of(row, 1, (coef, outputs), out);
}

/// [`weighted_sums`] of `len` rows, one after another; `out` holds a value an output, row by row.
pub(crate) fn weighted_sums_of<F: Real>(
    rows: &[F],
    len: usize,
    (coef, outputs): (&[f64], usize),
    out: &mut [f64],
) {
    if rows.is_empty() || out.is_empty() {
        return out.fill(0.0);
    }
    let (stride, values) = (coef.len() / outputs, rows.len() / len);
    assert!(stride >= values && values.is_multiple_of(Packed::<F>::line()), "padded rows");
    assert!(rows.len() == len * values && out.len() == len * outputs, "a value each");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the lengths were just checked; the level is the processor's.
        unsafe {
            let rows = cast_slice(rows);
            slices::WeightedSums::<T> { rows, len, coef, outputs, out }.at(level())
        }
    });
}

/// `out_i = rows_i · x` in `f64`: `rows` is row-major with `x.len()` columns.
pub(crate) fn dots<F: Real>(rows: &[F], x: &[f64], out: &mut [f64]) {
    if x.is_empty() {
        return out.fill(0.0);
    }
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe { products::Dots::<T> { rows: cast_slice(rows), x, out }.at(level()) }
    });
}

/// `y += Σ a_k rows_k` in `f64` over the pairs `(k, a_k)`: `rows` is row-major with `y.len()`
/// columns.
pub(crate) fn add_scaled_rows<F: Real>(rows: &[F], scaled: &[(u32, f64)], y: &mut [f64]) {
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            products::ScaledRows::<T> { rows: cast_slice(rows), scaled, y }.at(level());
        }
    });
}

/// `scores -= step (a - b)`; returns the largest `score + up` and the least `score + down` after
/// it. `up` and `down` hold 0, or an infinity for an entry that does not count.
pub(crate) fn move_scores<F: Real>(
    scores: &mut [f64],
    (up, down): (&[f64], &[f64]),
    (a, b): (&[F], &[F]),
    step: f64,
) -> (f64, f64) {
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            let rows = (cast_slice(a), cast_slice(b));
            pairs::Move::<T> { scores, up, down, rows, step }.at(level())
        }
    })
}

/// The first `t` with `values_t + marks_t == wanted`; `marks` is as long as `values`.
#[must_use]
pub(crate) fn find_sum(values: &[f64], marks: &[f64], wanted: f64) -> Option<usize> {
    // SAFETY: the level is the processor's.
    unsafe { pairs::Find { values, marks, wanted }.at(level()) }
}

/// What a step of a pair gains: `out_t = max(0, own.0 - (score_t + down_t))² / (own.1 +
/// diagonal_t - 2 row_t)`, the curvature at least [`LEAST_CURVATURE`]. Returns the largest.
pub(crate) fn pair_gains<F: Real>(
    scores: &[f64],
    down: &[f64],
    (diagonal, row): (&[f64], &[F]),
    own: (f64, f64),
    out: &mut [f64],
) -> f64 {
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            let row = cast_slice(row);
            pairs::Gains::<T> { scores, down, diagonal, row, own, out }.at(level())
        }
    })
}

/// `scores -= step row`; then what a step of each variable alone gains, clipped to its box:
/// `out_t = Δ (score_t - ½ curvature_t Δ)` with `Δ = clip(score_t / curvature_t)`. Returns the
/// largest gain and the largest score that its box does not hold back. All of one length.
pub(crate) fn descents(
    scores: &mut [f64],
    (row, step): (&[f64], f64),
    beta: &[f64],
    (lower, upper): (&[f64], &[f64]),
    curvature: &[f64],
    out: &mut [f64],
) -> (f64, f64) {
    let bounds = (lower, upper);
    let work = pairs::Descents { scores, row, step, beta, bounds, curvature, out };
    // SAFETY: the level is the processor's.
    unsafe { work.at(level()) }
}

/// `sums += Σ_j coef_j row_j` in `f64`; rows are at least as long as `sums`.
pub(crate) fn add_rows<F: Real>(rows: &[(&[F], f64)], sums: &mut [f64]) {
    const AT_ONCE: usize = 64;
    concrete!(F, |T| {
        for rows in rows.chunks(AT_ONCE) {
            let mut cast: [(&[T], f64); AT_ONCE] = [(&[], 0.0); AT_ONCE];
            for (to, (row, coef)) in cast.iter_mut().zip(rows) {
                // SAFETY: `T` is `F`.
                *to = (unsafe { cast_slice(row) }, *coef);
            }
            let rows = &cast[..rows.len()];
            // SAFETY: the level is the processor's.
            unsafe { pairs::AddRows::<T> { rows, sums }.at(level()) }
        }
    });
}

#[cfg(test)]
mod tests;
