//! The primitives by name: what each computes. Their bodies are in the files beside.

use super::block;
use super::corners::Tube;
use super::dispatch::{Level, compiled, fixed, level, levels, primitives, same};
use super::job::Job;
use super::side::Side;
use super::strides::{Stride, Strides};
use super::{corners, pairs, products, pulls, side, slices, strides, together};
use crate::float::Real;

primitives! {
    /// Computes a block of distances, kernel values or sums of them at the level in use.
    ///
    /// # Panics
    /// When a slice of the job is shorter than its points and centres need.
    pub fn run_block(job: &mut Job<'_, F>) = block::run_block::<F, L>;

    /// Replaces every `x <= 0` by `e^x`.
    pub(crate) fn exp_in_place(values: &mut [F]) = slices::exp_in_place::<F, L>;

    /// `values_j = scale cos(values_j + phases_j)`, within 1e-15 of `scale` for arguments below
    /// 1e8; the same bits at every level.
    pub(crate) fn cosines(values: &mut [F], phases: &[f64], scale: f64) = crate::simd::waves::cosines::<F>;

    /// `scale cos x_j` and `scale sin x_j` of the values of `cosines`, within 1e-15 of `scale` in
    /// double and 1e-7 in single precision for arguments below 1e8; the same bits at every level.
    pub(crate) fn waves(cosines: &mut [F], sines: &mut [F], scale: f64) = crate::simd::waves::waves::<F>;

    /// `out_c = Σ_j coef_cj row_j` in `f64` for every output of `len` rows, one after another, that
    /// are padded to whole lines; `coef` holds one padded row an output and their number, `out` a
    /// value an output, row by row.
    pub(crate) fn weighted_sums_of(
        rows: &[F],
        len: usize,
        coef: (&[f64], usize),
        out: &mut [f64]
    ) = slices::weighted_sums_of::<F, L>;

    /// `out_i = rows_i · x` in `f64`: `rows` is row-major with `x.len()` columns.
    pub(crate) fn dots(rows: &[F], x: &[f64], out: &mut [f64]) = products::dots::<F>;

    /// `a · b` for equal lengths, in the precision of the values.
    #[must_use]
    pub(crate) fn inner(a: &[F], b: &[F]) -> F = products::inner::<F, L>;

    /// `y += a row` for equal lengths, in the precision of the values.
    pub(crate) fn add_scaled(a: F, row: &[F], y: &mut [F]) = products::add_scaled::<F>;

    /// `y += Σ a_k rows_k` in `f64` over the pairs `(k, a_k)`: `rows` is row-major with `y.len()`
    /// columns.
    pub(crate) fn add_scaled_rows(rows: &[F], scaled: &[(u32, f64)], y: &mut [f64])
        = products::add_scaled_rows::<F>;

    /// `sums += Σ_j coef_j row_j` in `f64`; rows are at least as long as `sums`.
    pub(crate) fn add_rows(rows: &[(&[F], f64)], sums: &mut [f64]) = products::add_rows::<F>;

    /// `scores -= step (a - b)` with the rows `(a, b)`; returns the largest `score + up` and the
    /// least `score + down` after it. The marks `(up, down)` hold 0, or an infinity for an entry
    /// that does not count.
    pub(crate) fn move_scores(
        scores: &mut [f64],
        marks: (&[f64], &[f64]),
        rows: (&[F], &[F]),
        step: f64
    ) -> (f64, f64) = pairs::move_scores::<F>;

    /// What a step of a pair gains, of the curve `(diagonal, row)`: `out_t = max(0, own.0 -
    /// (score_t + down_t))² / (own.1 + diagonal_t - 2 row_t)`, the curvature at least
    /// [`LEAST_CURVATURE`]. Returns the largest.
    pub(crate) fn pair_gains(
        scores: &[f64],
        down: &[f64],
        curve: (&[f64], &[F]),
        own: (f64, f64),
        out: &mut [f64]
    ) -> f64 = pairs::pair_gains::<F>;

    /// Index of the first value that is at most `limit`; the last index when none is, 0 for an
    /// empty slice.
    #[must_use]
    pub(crate) fn first_at_most(values: &[F], limit: F) -> usize = slices::first_at_most::<F>;

    /// Appends the indices of the values that are at most `limit` to `found`.
    pub(crate) fn indices_at_most(values: &[F], limit: F, found: &mut Vec<usize>)
        = slices::indices_at_most::<F>;

    /// `Σ_j w_j |x - z_j|` over the weights, of which `z` has as many.
    #[must_use]
    pub(crate) fn absolute_differences(weights: &[F], x: F, z: &[F]) -> F
        = pulls::absolute_differences::<F>;

    /// `Σ_j w_j sign(x - z_j)` over the weights, of which `z` has as many.
    #[must_use]
    pub(crate) fn signed(weights: &[F], x: F, z: &[F]) -> F = pulls::signed::<F>;

    /// The values in double precision; `to` is as long as they are.
    pub(crate) fn widen(from: &[F], to: &mut [f64]) = corners::widen::<F>;

    /// The least value; infinity for an empty slice.
    #[must_use]
    pub(crate) fn least(values: &[F]) -> F = slices::least::<F>;

    /// Writes the distances `row` of those terms whose coefficient has the sign of `own` to `out`,
    /// infinity for the others, and returns the least. A zero counts by its sign bit: no term of
    /// coefficient 0 is there when `own` is the smallest coefficient and not 0.
    pub(crate) fn same_sign_distances(coef: &[f64], own: f64, row: &[F], out: &mut [F]) -> F
        = slices::same_sign_distances::<F>;

    /// Least squared weight degradation, in units of the smaller coefficient's square, of merging
    /// terms with coefficient ratios `ratio >= 1` at distances `g` (Gaussian; see
    /// [`crate::budget`]), written over `ratio`. Lengths are whole lines.
    pub(crate) fn merge_degradations(g: &[F], ratio: &mut [F])
        = slices::merge_degradations::<F, L>;

    /// For every partner at distance `g`, in units of `A = ‖β_a‖²` of the smaller coefficients, the
    /// least squared weight degradation `(1 - u²) + D (1 - v²) - 2 P (u v - κ)` over `h` in [1/2, 1],
    /// `u = exp(-g h²)`, `v = exp(-g (1-h)²)`, roughly (the lowest parabola through a grid): `squares` holds `D = ‖β_b‖²/A` and gets
    /// it, `products` holds `P = β_a·β_b/A`. Lengths are whole lines.
    pub(crate) fn shared_degradations(g: &[F], squares: &mut [F], products: &[F])
        = slices::shared_degradations::<F, L>;
}

fixed! {
    /// `out = scale · from`, as long as each other.
    pub(crate) fn lengthen(from: &[i16], scale: f32, out: &mut [f32]) = products::lengthen;

    /// The nearest whole numbers of 16 bits times the scale that is returned, as long as each other.
    pub(crate) fn shorten(from: &[f32], out: &mut [i16]) -> f32 = products::shorten;

    /// `out_k = rows_k · x` in `f32`, of rows as long as x in whole numbers.
    pub(crate) fn short_products(rows: &[&[i16]], x: &[f32], out: &mut [f32])
        = together::products::<i16, f32, L>;

    /// The same of rows in `f32`.
    pub(crate) fn single_products(rows: &[&[f32]], x: &[f32], out: &mut [f32])
        = together::products::<f32, f32, L>;

    /// `out_k = rows_k · x` in `f64`, of rows as long as x.
    pub(crate) fn wide_products(rows: &[&[f32]], x: &[f64], out: &mut [f64])
        = together::products::<f32, f64, L>;

    /// `y += Σ by_k rows_k` in `f64`, one row after the other.
    pub(crate) fn add_wide(rows: &[&[f32]], by: &[f64], y: &mut [f64])
        = together::add::<f32, f64, L>;

    /// `y += Σ by_k rows_k` in `f32`, one row after the other, of rows in whole numbers.
    pub(crate) fn add_shorts(rows: &[&[i16]], by: &[f32], y: &mut [f32]) = together::add::<i16, f32, L>;

    /// The same of rows in `f32`.
    pub(crate) fn add_singles(rows: &[&[f32]], by: &[f32], y: &mut [f32])
        = together::add::<f32, f32, L>;

    /// `max(0, t)` rounded by h, its slope and its curvature, for every t: 0 for `t <= -h`, t for
    /// `t >= h`, else `(t + h)²/(4h)`. Slices are as long as t.
    pub(crate) fn rounded(t: &[f64], h: f64, out: (&mut [f64], &mut [f64], &mut [f64]))
        = corners::rounded;

    /// Sums over samples of `cost`, at `(f, s, t)`, the decision values `f + t s`: of the loss, of its
    /// derivatives along s, and of its curvature in f. All of one length.
    pub(crate) fn tube_sums(
        tube: &Tube,
        at: (&[f64], &[f64], f64),
        y: &[f64],
        cost: &[f64]
    ) -> [f64; 4] = corners::tube_sums;

    /// The first `t` with `values_t + marks_t == wanted`; `marks` is as long as `values`.
    #[must_use]
    pub(crate) fn find_sum(values: &[f64], marks: &[f64], wanted: f64) -> Option<usize>
        = pairs::find_sum;

    /// `scores -= step row` with the `row` and the step given; then what a step of each variable
    /// alone gains, clipped to its box, the bounds `(lower, upper)`: `out_t = Δ (score_t - ½
    /// curvature_t Δ)` with `Δ = clip(score_t / curvature_t)`. Returns the largest gain and the
    /// largest score that its box does not hold back. All of one length.
    pub(crate) fn descents(
        scores: &mut [f64],
        row: (&[f64], f64),
        beta: &[f64],
        bounds: (&[f64], &[f64]),
        curvature: &[f64],
        out: &mut [f64]
    ) -> (f64, f64) = pairs::descents;

    /// `row · x` of every vector x of a panel, for as many rows as `out` is long; they lie one after
    /// another, as long as the panel.
    pub(crate) fn side_products(rows: &[f64], panel: &[Side], out: &mut [Side])
        = side::side_products::<L>;

    /// Products of the first row with as many of those that follow it as `out` is long, at most 7:
    /// rows of `len` values, whole lines.
    pub(crate) fn products_with_next(rows: &[f64], len: usize, out: &mut [f64])
        = side::products_with_next::<L>;

    /// `x += gain_x row` for every vector x of a panel, of the rows whose indices are given, a gain
    /// each; rows as in [`side_products`].
    pub(crate) fn add_to_side(rows: &[f64], gains: (&[usize], &[Side]), panel: &mut [Side])
        = side::add_to_side::<L>;

    /// A step's beginning, by a row of which the vectors' u make `products`: `w·z` with the offsets,
    /// and the vectors shrunk.
    pub(crate) fn side_shrink(
        all: &mut Strides,
        stride: &Stride,
        products: &Side,
        decisions: &mut Side
    ) = strides::side_shrink::<L>;

    /// The rest of the step: every w and its offset go `by` along the row, of which u and v gain
    /// `gains`. So what u makes of `later` rows, whose products with this one are given, changes.
    pub(crate) fn side_add(
        all: &mut Strides,
        stride: &Stride,
        by: &Side,
        gains: (&mut Side, &mut Side),
        later: (&mut [Side], &[f64])
    ) = strides::side_add::<L>;
}

/// [`run_block`] at a level of one's own choice; one that the processor lacks is not run.
pub fn run_block_at<F: Real>(level: Level, job: &mut Job<'_, F>) {
    assert!(levels().contains(&level), "a level the processor has");
    // SAFETY: the level was just checked.
    unsafe { at::run_block(level, job) }
}

/// [`exp_in_place`] at a level of one's own choice.
#[cfg(test)]
pub(crate) fn exp_in_place_at<F: Real>(level: Level, values: &mut [F]) {
    assert!(levels().contains(&level), "a level the processor has");
    // SAFETY: the level was just checked.
    unsafe { at::exp_in_place(level, values) }
}

/// [`inner`] at a level of one's own choice.
#[cfg(test)]
pub(crate) fn inner_at<F: Real>(level: Level, a: &[F], b: &[F]) -> F {
    assert!(levels().contains(&level), "a level the processor has");
    // SAFETY: the level was just checked.
    unsafe { at::inner(level, a, b) }
}

/// [`short_products`] and [`add_shorts`] of their products at a level of one's own choice.
#[cfg(test)]
pub(crate) fn meet_shorts_at(level: Level, rows: &[&[i16]], x: &[f32], y: &mut [f32]) -> Vec<f32> {
    assert!(levels().contains(&level), "a level the processor has");
    let mut products = vec![0.0; rows.len()];
    // SAFETY: the level was just checked.
    unsafe {
        fixed::short_products(level, rows, x, &mut products);
        fixed::add_shorts(level, rows, &products, y);
    }
    products
}

/// The same of rows in `f32`.
#[cfg(test)]
pub(crate) fn meet_singles_at(level: Level, rows: &[&[f32]], x: &[f32], y: &mut [f32]) -> Vec<f32> {
    assert!(levels().contains(&level), "a level the processor has");
    let mut products = vec![0.0; rows.len()];
    // SAFETY: the level was just checked.
    unsafe {
        fixed::single_products(level, rows, x, &mut products);
        fixed::add_singles(level, rows, &products, y);
    }
    products
}

/// The same of rows in `f32` with a vector in `f64`.
#[cfg(test)]
pub(crate) fn meet_wide_at(level: Level, rows: &[&[f32]], x: &[f64], y: &mut [f64]) -> Vec<f64> {
    assert!(levels().contains(&level), "a level the processor has");
    let mut products = vec![0.0; rows.len()];
    // SAFETY: the level was just checked.
    unsafe {
        fixed::wide_products(level, rows, x, &mut products);
        fixed::add_wide(level, rows, &products, y);
    }
    products
}

/// [`weighted_sums_of`] one row, for as many outputs as `out` is long.
pub(crate) fn weighted_sums<F: Real>(row: &[F], coef: &[f64], out: &mut [f64]) {
    weighted_sums_of(row, 1, (coef, out.len()), out);
}

/// Asks the processor to bring `value` near, for a read soon to come; changes nothing else.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which never faults; SSE is part of every x86-64 processor.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast()) }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
