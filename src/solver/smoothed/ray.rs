//! The objective along a direction.
//!
//! ```text
//! φ(t) = base + t linear + t² quadratic/2 + Σ_i C_i L_h(y_i, f_i + t s_i)
//! ```
//!
//! φ is convex and piecewise quadratic with a continuous derivative. A trial costs O(n).

use std::ops::Range;

use crate::data::Targets;
use crate::loss::{Curve, Curves, Smoothed, by_loss};
use crate::parallel;
use crate::simd;

/// Samples summed by one task; sums of tasks are added in order.
const CHUNK: usize = 8192;
/// The search ends when the slope has fallen to this share of the one at 0.
const SLOPE_SHARE: f64 = 0.1;
const MAX_TRIALS: usize = 40;
/// Searches for the best offset at most; each leaves a tenth of the slope at most.
const MAX_SEARCHES: usize = 40;

/// Samples whose losses are computed side by side.
const BLOCK: usize = 64;

/// The samples of one output, and the loss they are measured by.
#[derive(Clone, Copy)]
pub(in crate::solver) struct Samples<'a> {
    pub(in crate::solver) loss: Smoothed,
    pub(in crate::solver) targets: Targets<'a>,
    pub(in crate::solver) output: usize,
    pub(in crate::solver) cost: &'a [f64],
}

impl Samples<'_> {
    /// The same with a zone `factor` times as wide.
    #[inline]
    pub(in crate::solver) fn widened(&self, factor: f64) -> Self {
        Self { loss: Smoothed { h: factor * self.loss.h, ..self.loss }, ..*self }
    }

    /// The target of sample i.
    #[inline]
    pub(in crate::solver) fn y(&self, i: usize) -> f64 {
        self.targets.value(i, self.output)
    }

    /// `C_i L_h` and derivatives of sample i at `f`.
    #[inline(always)]
    pub(in crate::solver) fn at(&self, i: usize, f: f64) -> Curve {
        self.loss.at(self.y(i), f).times(self.cost[i])
    }

    /// `C_i` times the loss's majorant curvature.
    #[inline]
    pub(in crate::solver) fn majorant(&self, i: usize, f: f64) -> f64 {
        self.cost[i] * self.loss.majorant(self.y(i), f)
    }

    /// The sum of `each(i)` over the samples, in parallel, the same bits for any thread count.
    pub(in crate::solver) fn sum<const N: usize>(
        &self,
        each: impl Fn(usize) -> [f64; N] + Sync,
    ) -> [f64; N] {
        let n = self.cost.len();
        let parts = parallel::map(n.div_ceil(CHUNK), &|c| {
            let mut sum = [0.0; N];
            for i in c * CHUNK..((c + 1) * CHUNK).min(n) {
                // A sample of cost 0 is no sample, even if its margin is not finite.
                if self.cost[i] > 0.0 {
                    for (sum, value) in sum.iter_mut().zip(each(i)) {
                        *sum += value;
                    }
                }
            }
            sum
        });
        let mut sum = [0.0; N];
        for part in parts {
            for (sum, value) in sum.iter_mut().zip(part) {
                *sum += value;
            }
        }
        sum
    }

    /// [`Samples::sum`] of what `each` makes of a sample's loss at the decision values that `fill` has
    /// of some samples one after another.
    fn sum_of<const N: usize>(
        &self,
        fill: impl Fn(Range<usize>, &mut [f64]) + Sync,
        each: impl Fn(usize, Curve) -> [f64; N] + Sync,
    ) -> [f64; N] {
        let n = self.cost.len();
        // Which loss it is, each task asks anew: handed over, parts of it that this loss has not would
        // be read beside it.
        let parts = parallel::map(n.div_ceil(CHUNK), &|c| {
            by_loss!(self.loss, loss => {
                let mut sum = [0.0; N];
                for first in (c * CHUNK..((c + 1) * CHUNK).min(n)).step_by(BLOCK) {
                    let range = first..(first + BLOCK).min(n);
                    let mut f = [0.0; BLOCK];
                    fill(range.clone(), &mut f[..range.len()]);
                    let curves = self.curves(loss, range.clone(), &f);
                    for (at, i) in range.enumerate() {
                        let cost = self.cost[i];
                        // A sample of cost 0 is no sample, even if its margin is not finite.
                        if cost > 0.0 {
                            let c = curves.at(at).times(cost);
                            for (sum, value) in sum.iter_mut().zip(each(i, c)) {
                                *sum += value;
                            }
                        }
                    }
                }
                sum
            })
        });
        let mut sum = [0.0; N];
        for part in parts {
            for (sum, value) in sum.iter_mut().zip(part) {
                *sum += value;
            }
        }
        sum
    }

    /// The loss of some samples, not weighed, where it is known which it is.
    #[inline(always)]
    fn curves(&self, loss: Smoothed, range: Range<usize>, f: &[f64; BLOCK]) -> Curves<BLOCK> {
        let mut y = [0.0; BLOCK];
        match self.targets {
            Targets::Values(values) => y[..range.len()].copy_from_slice(&values[range]),
            Targets::Classes { .. } | Targets::Columns { .. } => {
                y.iter_mut().zip(range).for_each(|(y, i)| *y = self.y(i));
            }
        }
        loss.curves(&y, f)
    }

    /// `C_i L_h'` of the samples from `first` on at these decision values; 0 where C is.
    pub(in crate::solver) fn slopes(&self, first: usize, f: &[f64], out: &mut [f64]) {
        by_loss!(self.loss, loss => {
            for (at, (out, f)) in out.chunks_mut(BLOCK).zip(f.chunks(BLOCK)).enumerate() {
                let range = first + at * BLOCK..first + at * BLOCK + out.len();
                let mut block = [0.0; BLOCK];
                block[..f.len()].copy_from_slice(f);
                let curves = self.curves(loss, range.clone(), &block);
                let both = curves.slope.iter().zip(&self.cost[range]);
                for (out, (slope, &cost)) in out.iter_mut().zip(both) {
                    *out = if cost > 0.0 { cost * slope } else { 0.0 };
                }
            }
        });
    }

    /// At `f + t s`, h > 0: Σ C_i L_h, its derivatives along s, and Σ C_i L_h''. Where the loss is two
    /// corners about values of this output alone, else none.
    fn tube_sums(&self, (f, s, t): (&[f64], &[f64], f64)) -> Option<[f64; 4]> {
        let tube = self.loss.tube()?;
        let Targets::Values(y) = self.targets else { return None };
        let n = self.cost.len();
        let parts = parallel::map(n.div_ceil(CHUNK), &|c| {
            let own = c * CHUNK..((c + 1) * CHUNK).min(n);
            let at = (&f[own.clone()], &s[own.clone()], t);
            simd::tube_sums(&tube, at, &y[own.clone()], &self.cost[own])
        });
        let plus = |a: [f64; 4], b: &[f64; 4]| std::array::from_fn(|k| a[k] + b[k]);
        Some(parts.iter().fold([0.0; 4], plus))
    }

    /// Σ C_i L_h'' at these decision values.
    pub(in crate::solver) fn curvature_at(&self, f: &[f64]) -> f64 {
        if let Some(sums) = self.tube_sums((f, f, 0.0)) {
            return sums[3];
        }
        self.sum_of(|range, out| out.copy_from_slice(&f[range]), |_, c| [c.curvature])[0]
    }

    /// Σ C_i L_h at these decision values.
    pub(in crate::solver) fn loss_at(&self, f: &[f64]) -> f64 {
        self.sum_of(|range, out| out.copy_from_slice(&f[range]), |_, c| [c.value])[0]
    }

    /// Moves the offset, and the decision values with it, to where Σ C_i L_h is least, by line
    /// searches down the slope.
    pub(in crate::solver) fn best_offset(&self, offset: &mut f64, f: &mut [f64]) {
        let mut s = vec![0.0; f.len()];
        for _ in 0..MAX_SEARCHES {
            let [slope] =
                self.sum_of(|range, out| out.copy_from_slice(&f[range]), |_, c| [c.slope]);
            s.fill(-slope.signum());
            let ray = Ray { samples: *self, f, s: &s, base: 0.0, linear: 0.0, quadratic: 0.0 };
            let (t, _) = ray.minimise();
            if slope == 0.0 || t <= f64::EPSILON * offset.abs() {
                return;
            }
            let change = -t * slope.signum();
            *offset += change;
            f.iter_mut().for_each(|f| *f += change);
        }
    }

    /// Σ C_i L, the loss not smoothed.
    pub(in crate::solver) fn plain_loss_at(&self, f: &[f64]) -> f64 {
        let plain = Self { loss: Smoothed { h: 0.0, ..self.loss }, ..*self };
        plain.loss_at(f)
    }
}

/// A direction from a point.
pub(in crate::solver) struct Ray<'a> {
    pub(in crate::solver) samples: Samples<'a>,
    pub(in crate::solver) f: &'a [f64],
    pub(in crate::solver) s: &'a [f64],
    pub(in crate::solver) base: f64,
    pub(in crate::solver) linear: f64,
    pub(in crate::solver) quadratic: f64,
}

impl Ray<'_> {
    /// φ and its derivatives.
    pub(in crate::solver) fn at(&self, t: f64) -> Curve {
        let [value, slope, curvature] = self.samples.sum_of(
            |range, out| {
                let both = self.f[range.clone()].iter().zip(&self.s[range]);
                out.iter_mut().zip(both).for_each(|(out, (f, s))| *out = f + t * s);
            },
            |i, c| [c.value, c.slope * self.s[i], c.curvature * self.s[i] * self.s[i]],
        );
        self.with_penalty(t, [value, slope, curvature])
    }

    /// The same, but for rounding, in less time where the loss allows it and h > 0.
    fn quickly_at(&self, t: f64) -> Curve {
        match self.samples.tube_sums((self.f, self.s, t)) {
            Some([value, slope, curvature, _]) => self.with_penalty(t, [value, slope, curvature]),
            None => self.at(t),
        }
    }

    fn with_penalty(&self, t: f64, [value, slope, curvature]: [f64; 3]) -> Curve {
        Curve {
            value: self.base + t * (self.linear + 0.5 * t * self.quadratic) + value,
            slope: self.linear + t * self.quadratic + slope,
            curvature: self.quadratic + curvature,
        }
    }

    /// A t ≥ 0, and φ there, where φ is no higher than at 0 and its slope has fallen to a tenth, by
    /// Newton steps on φ' kept inside a bracket; t = 1 is tried first. t = 0 when φ does not
    /// fall.
    pub(in crate::solver) fn minimise(&self) -> (f64, f64) {
        search(self.at(0.0), &|t| self.at(t))
    }

    /// The same where φ and its slope at 0 are known, but for rounding; h > 0.
    pub(in crate::solver) fn minimise_from(&self, zero: Curve) -> (f64, f64) {
        search(zero, &|t| self.quickly_at(t))
    }
}

/// [`Ray::minimise`] for any convex φ, with value and derivatives at 0.
pub(in crate::solver) fn search(zero: Curve, at: &dyn Fn(f64) -> Curve) -> (f64, f64) {
    let mut best = (0.0, zero.value);
    if zero.slope >= 0.0 || !zero.slope.is_finite() {
        return best;
    }
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = 1.0;
    for _ in 0..MAX_TRIALS {
        let here = at(t);
        if here.value < best.1 {
            best = (t, here.value);
        }
        if here.slope.abs() <= SLOPE_SHARE * -zero.slope && here.value <= zero.value {
            break;
        }
        // NaN (an overflow far out) counts as too far.
        if here.slope < 0.0 {
            low = t;
        } else {
            high = t;
        }
        let newton = t - here.slope / here.curvature;
        t = if newton > low && newton < high && newton <= 16.0 * t {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            4.0 * t
        };
        if high.is_finite() && high - low <= 1e-14 * high {
            break;
        }
    }
    best
}
