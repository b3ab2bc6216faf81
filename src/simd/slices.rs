//! Small loops over slices, compiled for every level.

use super::dispatch::{
    Anchored as _, Compiled, Work, anchored, cast_slice, cast_slice_mut, concrete, level,
};
use super::lanes::{Lanes, exp, width};
use crate::float::Real;

/// Squared norms of rows, one multiply-add chain a row.
pub(super) struct SqNorms<'a, F> {
    pub(super) rows: &'a [F],
    pub(super) d: usize,
    pub(super) out: &'a mut [F],
}

impl<F: Compiled> Work<F> for SqNorms<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        const ROWS: usize = 4;
        let d = self.d;
        let mut row = 0;
        // Several rows at once: one chain waits for its own last step.
        while row + ROWS <= self.out.len() {
            let rows: [&[F]; ROWS] = std::array::from_fn(|r| &self.rows[(row + r) * d..][..d]);
            let mut sums = [F::zero(); ROWS];
            for k in 0..d {
                for (sum, row) in sums.iter_mut().zip(rows) {
                    // SAFETY: the features of `L` are enabled by the caller.
                    *sum = unsafe { L::fma_one(row[k], row[k], *sum) };
                }
            }
            self.out[row..row + ROWS].copy_from_slice(&sums);
            row += ROWS;
        }
        for (i, out) in self.out.iter_mut().enumerate().skip(row) {
            // SAFETY: as above.
            *out = self.rows[i * d..][..d]
                .iter()
                .fold(F::zero(), |sum, &v| unsafe { L::fma_one(v, v, sum) });
        }
    }
}

/// Rows, one after another, as the lanes of the lines of one block, and their squared norms: the
/// bits of [`SqNorms`].
pub(super) struct Interleave<'a, F> {
    pub(super) rows: &'a [F],
    pub(super) lines: &'a mut [F],
    pub(super) norms: &'a mut [F],
}

impl<F: Compiled> Work<F> for Interleave<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let (d, width) = (self.rows.len() / width::<F>(), width::<F>());
        assert!(self.lines.len() == d * width && self.norms.len() == width, "one block");
        // SAFETY: the features of `L` are enabled by the caller; lines and norms are whole lines.
        unsafe {
            let mut sums = L::splat(F::zero());
            for (k, line) in self.lines.chunks_exact_mut(width).enumerate() {
                for (to, row) in line.iter_mut().zip(self.rows.chunks_exact(d)) {
                    *to = row[k];
                }
                let line = L::load(line.as_ptr());
                sums = L::fma(line, line, sums);
            }
            L::store(self.norms.as_mut_ptr(), sums);
        }
    }
}

/// The exponential of every value of a slice.
pub(super) struct Exp<'a, F>(pub(super) &'a mut [F]);

impl<F: Compiled> Work<F> for Exp<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let mut lines = self.0.chunks_exact_mut(width::<F>());
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
}

/// Sums of one row of kernel values with the coefficients of every output.
pub(super) struct WeightedSums<'a, F> {
    /// `len` rows, one after another.
    pub(super) rows: &'a [F],
    pub(super) len: usize,
    pub(super) coef: &'a [f64],
    pub(super) outputs: usize,
    /// A value an output, point by point.
    pub(super) out: &'a mut [f64],
}

impl<F: Compiled> Work<F> for WeightedSums<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        // Several outputs at once, as one chain waits for its own last step, for all points: the
        // coefficients stay in the first cache.
        const OUTPUTS: usize = 4;
        let stride = self.coef.len() / self.outputs;
        let of_point = (self.rows.len() / self.len, self.len);
        let mut first = 0;
        // SAFETY: the caller has checked that rows are whole lines and coefficients as long.
        unsafe {
            while first + OUTPUTS <= self.outputs {
                let coef = (&self.coef[first * stride..][..OUTPUTS * stride], stride);
                let out = (&mut self.out[first..], self.outputs);
                weigh::<F, L, OUTPUTS>((self.rows, of_point), coef, out);
                first += OUTPUTS;
            }
            while first < self.outputs {
                let coef = (&self.coef[first * stride..][..stride], stride);
                let out = (&mut self.out[first..], self.outputs);
                weigh::<F, L, 1>((self.rows, of_point), coef, out);
                first += 1;
            }
        }
    }
}

#[inline(always)]
unsafe fn weigh<F: Compiled, L: Lanes<F>, const OUTPUTS: usize>(
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

/// Degradations of merging one term with many.
pub(super) struct Degradations<'a, F> {
    pub(super) g: &'a [F],
    pub(super) ratio: &'a mut [F],
}

impl<F: Compiled> Work<F> for Degradations<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        for at in (0..self.g.len()).step_by(width::<F>()) {
            // SAFETY: lengths are whole lines; the features of `L` are enabled by the caller.
            unsafe {
                let g = L::load(self.g.as_ptr().add(at));
                let ratio = L::load(self.ratio.as_ptr().add(at));
                L::store(self.ratio.as_mut_ptr().add(at), degradation::<F, L>(g, ratio));
            }
        }
    }
}

/// With `s = exp(-G h²)`, `t = ρ exp(-G (1-h)²)` the maximum of `s + t` is where
/// `ψ(h) = (1-h) t - h s = 0`; `ψ' = 2G ((1-h)² t + h² s) - (s + t)`, kept away from 0.
#[inline(always)]
unsafe fn degradation<F: Compiled, L: Lanes<F>>(g: L::Line, ratio: L::Line) -> L::Line {
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

/// Points of the grid in `h`.
const GRID: usize = 11;

/// The best of a grid of merged points for terms with several outputs.
pub(super) struct MergedSquares<'a, F> {
    pub(super) g: &'a [F],
    pub(super) a: F,
    pub(super) squares: &'a mut [F],
    pub(super) products: &'a mut [F],
}

impl<F: Compiled> Work<F> for MergedSquares<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let w = width::<F>();
        for at in (0..self.g.len()).step_by(w) {
            let mut best = [F::neg_infinity(); 16];
            let mut best_h = [F::zero(); 16];
            // SAFETY: lengths are whole lines; the features of `L` are enabled by the caller.
            unsafe {
                let minus_g = L::sub(L::splat(F::zero()), L::load(self.g.as_ptr().add(at)));
                let d = L::load(self.squares.as_ptr().add(at));
                let twice = L::load(self.products.as_ptr().add(at));
                let twice = L::add(twice, twice);
                let a = L::splat(self.a);
                let mut hs = [F::zero(); GRID];
                let mut us = [minus_g; GRID];
                for i in 0..GRID {
                    hs[i] = F::from_f64(i as f64 / (GRID - 1) as f64);
                    us[i] = exp::<F, L>(L::mul(minus_g, L::splat(hs[i] * hs[i])));
                }
                for i in 0..GRID {
                    let (u, v) = (us[i], us[GRID - 1 - i]);
                    let ends = L::fma(L::mul(a, u), u, L::mul(L::mul(d, v), v));
                    let mut square = [F::zero(); 16];
                    L::store(square.as_mut_ptr(), L::fma(L::mul(twice, u), v, ends));
                    for lane in 0..w {
                        if square[lane] > best[lane] {
                            best[lane] = square[lane];
                            best_h[lane] = hs[i];
                        }
                    }
                }
            }
            self.squares[at..at + w].copy_from_slice(&best[..w]);
            self.products[at..at + w].copy_from_slice(&best_h[..w]);
        }
    }
}

/// Index of the value of least magnitude, the first of equals.
pub(super) struct LeastMagnitude<'a>(pub(super) &'a [f64]);

impl Work<f64> for LeastMagnitude<'_> {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<L: Lanes<f64>>(self) -> usize {
        // Plain loops over fixed parts, which the compiler turns into the level's vector code.
        let mut parts = [f64::INFINITY; 32];
        let chunks = self.0.chunks_exact(32);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..32 {
                let size = chunk[lane].abs();
                parts[lane] = if size < parts[lane] { size } else { parts[lane] };
            }
        }
        let mut least = f64::INFINITY;
        for part in parts {
            least = if part < least { part } else { least };
        }
        for value in rest {
            least = if value.abs() < least { value.abs() } else { least };
        }
        first(self.0, |value: f64| value.abs() <= least)
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

/// The least value; infinity for an empty slice.
pub(super) struct Least<'a, F>(pub(super) &'a [F]);

impl<F: Compiled> Work<F> for Least<'_, F> {
    type Output = F;
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> F {
        let mut parts = [F::infinity(); 32];
        let chunks = self.0.chunks_exact(32);
        let rest = chunks.remainder();
        for chunk in chunks {
            for lane in 0..32 {
                parts[lane] = if chunk[lane] < parts[lane] { chunk[lane] } else { parts[lane] };
            }
        }
        let values = parts.iter().chain(rest);
        values.fold(F::infinity(), |least, &value| if value < least { value } else { least })
    }
}

/// Index of the first value that is at most `limit`, the last index when none is.
pub(super) struct FirstAtMost<'a, F> {
    pub(super) values: &'a [F],
    pub(super) limit: F,
}

impl<F: Compiled> Work<F> for FirstAtMost<'_, F> {
    type Output = usize;
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> usize {
        let limit = self.limit;
        first(self.values, |value| value <= limit)
    }
}

/// Appends the indices of the values that are at most `limit`: few among many.
pub(super) struct AtMost<'a, F> {
    pub(super) values: &'a [F],
    pub(super) limit: F,
    pub(super) found: &'a mut Vec<usize>,
}

impl<F: Compiled> Work<F> for AtMost<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        const PART: usize = 32;
        let limit = self.limit;
        for (at, part) in self.values.chunks(PART).enumerate() {
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
                self.found.extend_from_slice(&kept[..len]);
            }
        }
    }
}

/// Distances to the partners of the same sign bit; infinity for all others.
pub(super) struct SameSign<'a, F> {
    pub(super) coef: &'a [f64],
    pub(super) own: f64,
    pub(super) row: &'a [F],
    pub(super) out: &'a mut [F],
}

impl<F: Compiled> Work<F> for SameSign<'_, F> {
    type Output = F;
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> F {
        // One simple loop over bits, and another for the least: both become vector code.
        let own = self.own.to_bits();
        for ((out, coef), &g) in self.out.iter_mut().zip(self.coef).zip(self.row) {
            let differs = (coef.to_bits() ^ own) >> 63 != 0;
            *out = if differs { F::infinity() } else { g };
        }
        // SAFETY: the contract is passed on.
        unsafe { Least(&*self.out).run::<L>() }
    }
}

anchored! {
    f32: SqNorms<'_, f32>, Interleave<'_, f32>;
    f64: SqNorms<'_, f64>, Interleave<'_, f64>;
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
        let work = SqNorms::<T> {
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
        let work = Interleave::<T> {
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
