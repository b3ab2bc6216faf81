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
mod lanes;
#[cfg(target_arch = "aarch64")]
mod neon;
mod packed;
mod pairs;
mod products;
mod roofline;
mod scalar;
mod slices;
mod waves;

use std::any::TypeId;
use std::sync::OnceLock;

pub use block::{Job, Metric, Sums, Values};
pub use packed::{Packed, Tile};
#[doc(hidden)]
pub use roofline::fma_rounds;
pub use search::{
    first_at_most, indices_at_most, least, least_magnitude, merge_degradations, merged_squares,
    prefetch, same_sign_distances,
};

use crate::float::Real;
use lanes::{ExpConstants, Lanes};

/// Instruction sets that a body is compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust.
    Scalar,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512F.
    Avx512,
    /// NEON.
    Neon,
}

impl Level {
    /// The level's name, as `BUDGETSVM_SIMD` spells it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
            Self::Neon => "neon",
        }
    }
}

/// Every level that this processor has, lowest first.
#[must_use]
pub fn levels() -> Vec<Level> {
    let mut levels = vec![Level::Scalar];
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            levels.push(Level::Avx2);
            if is_x86_feature_detected!("avx512f") {
                levels.push(Level::Avx512);
            }
        }
    }
    #[cfg(target_arch = "aarch64")]
    levels.push(Level::Neon);
    levels
}

/// Levels that no test has run on hardware yet: used only where `BUDGETSVM_SIMD` names them.
const UNTRIED: [Level; 1] = [Level::Neon];

/// The level in use: the highest that tests have run on, or the one that `BUDGETSVM_SIMD` names.
#[must_use]
pub fn level() -> Level {
    static LEVEL: OnceLock<Level> = OnceLock::new();
    *LEVEL.get_or_init(|| {
        let wanted = std::env::var("BUDGETSVM_SIMD").unwrap_or_default();
        let levels = levels();
        let tried = levels.iter().rev().find(|level| !UNTRIED.contains(level));
        let best = tried.copied().unwrap_or(Level::Scalar);
        levels.into_iter().find(|l| l.name() == wanted).unwrap_or(best)
    })
}

/// A piece of work that is compiled for every level.
trait Work<F: Compiled> {
    type Output;
    /// # Safety
    /// As [`Lanes`].
    unsafe fn run<L: Lanes<F>>(self) -> Self::Output;
}

/// A float type whose bodies are compiled for every level.
trait Compiled: ExpConstants {
    /// Runs `work` at `level`.
    ///
    /// # Safety
    /// The processor has the level.
    unsafe fn dispatch<W: Work<Self>>(level: Level, work: W) -> W::Output;
}

macro_rules! compiled {
    ($float:ty) => {
        impl Compiled for $float {
            #[inline]
            unsafe fn dispatch<W: Work<Self>>(level: Level, work: W) -> W::Output {
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx2,fma")]
                unsafe fn avx2<W: Work<$float>>(work: W) -> W::Output {
                    // SAFETY: this function enables the features of the level.
                    unsafe { work.run::<avx2::Avx2>() }
                }
                #[cfg(target_arch = "x86_64")]
                #[target_feature(enable = "avx512f,avx2,fma")]
                unsafe fn avx512<W: Work<$float>>(work: W) -> W::Output {
                    // SAFETY: this function enables the features of the level.
                    unsafe { work.run::<avx512::Avx512>() }
                }
                match level {
                    // SAFETY: every aarch64 processor has NEON, and the target enables it.
                    #[cfg(target_arch = "aarch64")]
                    Level::Neon => unsafe { work.run::<neon::Neon>() },
                    // SAFETY: the caller vouches for the level.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => unsafe { avx512(work) },
                    // SAFETY: the caller vouches for the level.
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => unsafe { avx2(work) },
                    // SAFETY: plain Rust needs no feature.
                    _ => unsafe { work.run::<scalar::Scalar>() },
                }
            }
        }
    };
}

compiled!(f32);
compiled!(f64);

/// Work of a concrete type. Its code is made here, once: through [`Compiled::dispatch`] alone every
/// crate that uses a function generic over floats would make all levels of it again.
trait Anchored<F: Compiled>: Work<F> + Sized {
    /// Runs the work at `level`.
    ///
    /// # Safety
    /// The processor has the level.
    unsafe fn at(self, level: Level) -> Self::Output;
}

macro_rules! anchored {
    ($($float:ty: $($($part:ident)::+<$($of:tt),+>),+;)*) => {$($(
        impl Anchored<$float> for $($part)::+<$($of),+> {
            unsafe fn at(self, level: Level) -> Self::Output {
                // SAFETY: the caller vouches for the level.
                unsafe { <$float>::dispatch(level, self) }
            }
        }
    )+)*};
}

/// Calls a function of the concrete float type from code that is generic over [`Real`]. The
/// trait is sealed, so `F` is `f32` or `f64`; the pointers are cast to the type they have.
macro_rules! concrete {
    ($generic:ty, |$float:ident| $body:expr) => {
        if TypeId::of::<$generic>() == TypeId::of::<f32>() {
            type $float = f32;
            $body
        } else {
            type $float = f64;
            $body
        }
    };
}

// Below the macro, which it uses.
mod search;

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
    f32: Block<'_, '_, f32>, slices::SqNorms<'_, f32>, slices::Interleave<'_, f32>, slices::Exp<'_, f32>, slices::WeightedSums<'_, f32>, slices::Degradations<'_, f32>, slices::MergedSquares<'_, f32>, slices::Least<'_, f32>, slices::FirstAtMost<'_, f32>, slices::AtMost<'_, f32>, slices::SameSign<'_, f32>, pairs::Move<'_, f32>, pairs::Gains<'_, f32>, pairs::AddRows<'_, f32>, products::Dots<'_, f32>, products::ScaledRows<'_, f32>, waves::Cosines<'_, f32>, waves::Waves<'_, f32>;
    f64: Block<'_, '_, f64>, slices::SqNorms<'_, f64>, slices::Interleave<'_, f64>, slices::Exp<'_, f64>, slices::WeightedSums<'_, f64>, slices::Degradations<'_, f64>, slices::MergedSquares<'_, f64>, slices::Least<'_, f64>, slices::FirstAtMost<'_, f64>, slices::AtMost<'_, f64>, slices::SameSign<'_, f64>, pairs::Move<'_, f64>, pairs::Gains<'_, f64>, pairs::AddRows<'_, f64>, products::Dots<'_, f64>, products::ScaledRows<'_, f64>, waves::Cosines<'_, f64>, waves::Waves<'_, f64>,
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
    assert!(level == self::level() || levels().contains(&level), "a level the processor has");
    job.check();
    concrete!(F, |T| {
        // SAFETY: `T` is `F`: the cast changes nothing. The level was just checked, and so was
        // the job.
        unsafe { Block::<T>(&mut *std::ptr::from_mut(job).cast()).at(level) }
    });
}

/// `Σ v²` as a chain of multiply-adds in order: what the block kernel computes for a point and
/// itself.
pub(crate) fn sq_norm<F: Real>(values: &[F]) -> F {
    let mut out = [F::zero()];
    sq_norms(values, values.len(), &mut out);
    out[0]
}

/// [`sq_norm`] of rows of `d` values.
pub(crate) fn sq_norms<F: Real>(rows: &[F], d: usize, out: &mut [F]) {
    assert!(rows.len() >= out.len() * d, "whole rows");
    concrete!(F, |T| {
        let work = slices::SqNorms::<T> {
            // SAFETY: `T` is `F`.
            rows: unsafe { cast_slice(rows) },
            d,
            // SAFETY: `T` is `F`.
            out: unsafe { cast_slice_mut(out) },
        };
        // SAFETY: `level` is one that the processor has.
        unsafe { work.at(level()) }
    });
}

/// Makes `width` rows the lanes of the lines of a block, and writes their squared norms.
pub(crate) fn interleave<F: Real>(rows: &[F], lines: &mut [F], norms: &mut [F]) {
    concrete!(F, |T| {
        let work = slices::Interleave::<T> {
            // SAFETY: `T` is `F`.
            rows: unsafe { cast_slice(rows) },
            // SAFETY: `T` is `F`.
            lines: unsafe { cast_slice_mut(lines) },
            // SAFETY: `T` is `F`.
            norms: unsafe { cast_slice_mut(norms) },
        };
        // SAFETY: `level` is one that the processor has.
        unsafe { work.at(level()) }
    });
}

/// Replaces every `x <= 0` by `e^x`.
pub fn exp_in_place<F: Real>(values: &mut [F]) {
    exp_in_place_at(level(), values);
}

/// [`exp_in_place`] at a level of one's own choice.
pub fn exp_in_place_at<F: Real>(level: Level, values: &mut [F]) {
    assert!(level == self::level() || levels().contains(&level), "a level the processor has");
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level was just checked.
        unsafe { slices::Exp::<T>(cast_slice_mut(values)).at(level) }
    });
}

/// `values_j = scale cos(values_j + phases_j)`, within 1e-15 of `scale` for arguments below 1e8;
/// the same bits at every level.
pub fn cosines<F: Real>(values: &mut [F], phases: &[f64], scale: f64) {
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
pub fn waves<F: Real>(cosines: &mut [F], sines: &mut [F], scale: f64) {
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
pub fn weighted_sums<F: Real>(row: &[F], coef: &[f64], out: &mut [f64]) {
    let outputs = out.len();
    weighted_sums_of(row, 1, (coef, outputs), out);
}

/// [`weighted_sums`] of `len` rows, one after another; `out` holds a value an output, row by row.
pub fn weighted_sums_of<F: Real>(
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
pub fn dots<F: Real>(rows: &[F], x: &[f64], out: &mut [f64]) {
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
pub fn add_scaled_rows<F: Real>(rows: &[F], scaled: &[(u32, f64)], y: &mut [f64]) {
    concrete!(F, |T| {
        // SAFETY: `T` is `F`; the level is the processor's.
        unsafe {
            products::ScaledRows::<T> { rows: cast_slice(rows), scaled, y }.at(level());
        }
    });
}

/// The least curvature that a pair is taken to have: directions of a kernel that is not positive
/// definite, or of equal rows.
pub const LEAST_CURVATURE: f64 = 1e-12;

/// `scores -= step (a - b)`; returns the largest `score + up` and the least `score + down` after
/// it. `up` and `down` hold 0, or an infinity for an entry that does not count.
pub fn move_scores<F: Real>(
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
pub fn find_sum(values: &[f64], marks: &[f64], wanted: f64) -> Option<usize> {
    // SAFETY: the level is the processor's.
    unsafe { pairs::Find { values, marks, wanted }.at(level()) }
}

/// What a step of a pair gains: `out_t = max(0, own.0 - (score_t + down_t))² / (own.1 +
/// diagonal_t - 2 row_t)`, the curvature at least [`LEAST_CURVATURE`]. Returns the largest.
pub fn pair_gains<F: Real>(
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
pub fn descents(
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
pub fn add_rows<F: Real>(rows: &[(&[F], f64)], sums: &mut [f64]) {
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

/// # Safety
/// `A` and `B` are the same type.
unsafe fn cast_slice<A, B>(slice: &[A]) -> &[B] {
    // SAFETY: the caller vouches that nothing is changed.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), slice.len()) }
}

/// # Safety
/// `A` and `B` are the same type.
unsafe fn cast_slice_mut<A, B>(slice: &mut [A]) -> &mut [B] {
    // SAFETY: the caller vouches that nothing is changed.
    unsafe { std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), slice.len()) }
}

#[cfg(test)]
mod tests;
