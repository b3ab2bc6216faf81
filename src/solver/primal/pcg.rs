//! Conjugate gradients on the coefficients of a kernel expansion, the second form of the
//! [problem](super), preconditioned by K.
//!
//! # Method
//!
//! \[PRIMAL\] Algorithm 2, for every smoothed loss.
//!
//! 1. Preconditioned gradient `g = β + r`, `r_i = C_i L_h'(y_i, f_i)`: K⁻¹ times the gradient in
//!    β. (Departs from \[PRIMAL\] Algorithm 2: its listing writes 2λβ for λβ, takes
//!    `o_i y_i < 1` for `y_i (Kβ)_i < 1`, and begins with a direction of the wrong sign.) The
//!    offset's entry is `Σ_i r_i`, scaled by its curvature at the start.
//! 2. One product `Kg`.
//! 3. `d = -g + ρ d`, `Kd = -Kg + ρ Kd`, with `ρ = g₊ᵀKg₊ / gᵀKg`, or what Polak and Ribière
//!    have where that is smaller but not negative (zones change, and then old directions are
//!    best forgotten); back to `d = -g` where that d does not go down.
//! 4. Line search on the objective, O(n) a trial; `f += t Kd`.
//! 5. A loss with a width begins with every sample in its quadratic zone, then h falls. A squared
//!    loss begins with a small cost, `C k(x, x)` about 1, which grows tenfold whenever the gap is
//!    small or no longer falls (docs/primal.md says why). (Departs from \[PRIMAL\] Algorithm 2. A fit
//!    that begins with a solution, or ends before its path does, knows nothing of this or has a
//!    smaller C.)
//! 6. Every 50 steps f is computed afresh.
//!
//! Without the preconditioner the same with `Kg` in the place of g, two products a step.
//!
//! # Cost
//!
//! n² a step for the product, blocks of kernel values made again when they do not fit
//! `cache_bytes`. Memory: that cache or a few blocks, and 8 numbers a sample.
//!
//! # Certificate
//!
//! With the offset at its best, `1/2 gᵀKg`, which is at most `tol` of the objective when `converged`
//! is set, bounds the distance to the minimum: in the metric of K the Hessian is at least 1, and
//! minimised over the offset the objective keeps that. So before the end the offset is minimised
//! over by itself and the gap computed afresh, a product more; where it is not small yet the steps
//! go on from where they were.
//!
//! References: \[PRIMAL\] section 6.1 (Algorithm 2).

use super::place::{Of, Place, each_output};
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::linalg::{axpy, dot};
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::solver::smoothed::{KernelRows, Polish, Polished, Start};
use crate::watch::{Step, Watch};

/// A gap below this share of the objective, negative, is no rounding error.
const INDEFINITE: f64 = 1e-4;
const H_FACTOR: f64 = 4.0;
/// What the cost is multiplied by.
const COST_FACTOR: f64 = 10.0;
/// A width or a cost before the last is done when 1/2 gᵀKg is less than this share of the
/// objective.
const STAGE_TOL: f64 = 0.03;
/// A cost before the last is done too when this many steps lowered the objective by less than
/// this share of it.
const PATIENCE: usize = 8;
const STAGE_PROGRESS: f64 = 0.02;
/// Samples that the mean of `k(x, x)` is taken over.
const DIAGONAL: usize = 64;
/// Steps after which f is computed afresh.
const REFRESH: usize = 50;

/// What the gradient is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// K: the method of the paper.
    Kernel,
    /// None: plain conjugate gradients, to compare with.
    Plain,
}

/// Minimises over all samples behind `rows`, each a basis point: `rows.n_terms()` is
/// `rows.n_rows()`. At most `polish.max_steps` steps.
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `Unsupported` when the numbers leave the range of floats,
/// `NotPositiveDefinite` when the kernel shows not to be so, `OutOfMemory`, `Interrupted`. Any other
/// stop is a result.
pub fn pcg<F: Real>(
    polish: &Polish,
    metric: Metric,
    rows: &dyn KernelRows<F>,
    start: Start<'_>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let (n, m) = (rows.n_rows(), start.targets.n_outputs());
    start.check(polish, n, n)?;
    check_len("basis", n, rows.n_terms())?;
    watch.begin();
    let mut panels = match Panels::new(rows, polish.cache_bytes, watch) {
        Ok(panels) => panels,
        Err(halt) => return Polished::nothing(n, m).halted(halt),
    };
    each_output(polish, Of::Samples, start, watch, |place, watch| {
        let share = step_5_share(place, start.cost, rows);
        let panels = &mut panels;
        Descent { place, panels, metric, cost: start.cost }.minimise(share, watch)
    })
}

/// Step 5: the share of the costs to begin with.
fn step_5_share<F: Real>(place: &Place<'_>, cost: &[f64], rows: &dyn KernelRows<F>) -> f64 {
    if place.polish.final_loss().uses_h() || place.is_warm() {
        return 1.0;
    }
    let n = cost.len();
    let looked_at = n.min(DIAGONAL);
    let mut row = vec![F::zero(); n];
    let own = |i: usize| {
        rows.fill(&[i], &mut row);
        Real::to_f64(row[i])
    };
    let diagonal = (0..looked_at).map(own).sum::<f64>() / looked_at.max(1) as f64;
    let costs = cost.iter().filter(|&&c| c > 0.0);
    let mean = costs.clone().sum::<f64>() / costs.count().max(1) as f64;
    let product = diagonal * mean;
    if product.is_finite() && product > 1.0 { 1.0 / product } else { 1.0 }
}

struct Descent<'p, 'a, 'k, F: Real> {
    place: &'p mut Place<'a>,
    panels: &'p mut Panels<'k, F>,
    metric: Metric,
    /// The costs wanted.
    cost: &'a [f64],
}

/// A direction, with what belongs to it.
struct Conjugate {
    d: Vec<f64>,
    kd: Vec<f64>,
    d_b: f64,
    /// The gradient that it came from, in the metric, and its squared norm.
    v: Vec<f64>,
    v_b: f64,
    norm: f64,
}

impl<F: Real> Descent<'_, '_, '_, F> {
    /// What the offset's gradient is divided by: its curvature.
    fn scale(&self, samples: &Samples<'_>) -> f64 {
        let [curvature, cost] =
            samples.sum(|i| [samples.at(i, self.place.f[i]).curvature, samples.cost[i]]);
        if curvature > 0.0 { curvature } else { cost }
    }

    /// The decision values anew.
    fn refresh(&mut self, watch: &mut Watch<'_>) -> Step {
        let Place { coef, b, f, .. } = &mut *self.place;
        self.panels.times(&[(coef, *b)], &mut [f], watch)
    }

    /// Kv.
    fn product(&mut self, v: &[f64], watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let mut product = try_vec("kernel products", v.len(), 0.0)?;
        self.panels.times(&[(v, 0.0)], &mut [&mut product], watch)?;
        Ok(product)
    }

    /// Steps 1 and 2: `g = β + r`, without the offset's entry, and Kg.
    fn gradient(
        &mut self,
        samples: &Samples<'_>,
        watch: &mut Watch<'_>,
    ) -> Step<(Vec<f64>, Vec<f64>)> {
        let mut g = self.place.coef.clone();
        for (i, g) in g.iter_mut().enumerate() {
            // A sample that costs nothing has no slope, even if its f is not finite.
            if samples.cost[i] > 0.0 {
                *g += samples.at(i, self.place.f[i]).slope;
            }
        }
        let kg = self.product(&g, watch)?;
        Ok((g, kg))
    }

    /// From the costs times `share`; whether it came to the minimum.
    fn minimise(&mut self, mut share: f64, watch: &mut Watch<'_>) -> Step<bool> {
        let polish = self.place.polish;
        if self.place.is_warm() {
            self.refresh(watch)?;
        }
        let mut h = self.place.first_width();
        let mut cost: Vec<f64> = self.cost.iter().map(|c| share * c).collect();
        let mut scale = self.scale(&Samples { cost: &cost, ..self.place.samples(h) });
        let mut last: Option<Conjugate> = None;
        // Values at the running cost.
        let mut values: Vec<f64> = Vec::new();
        let mut stuck = false;
        // The share at which the offset is minimised over.
        let mut ask = polish.tol;
        loop {
            let samples = Samples { cost: &cost, ..self.place.samples(h) };
            let value = self.place.penalty() + samples.loss_at(&self.place.f);
            let steps = self.place.steps;
            watch.at(steps, value);
            watch.poll()?;
            if steps > 0 && steps.is_multiple_of(REFRESH) {
                self.refresh(watch)?;
            }
            let (g, kg) = self.gradient(&samples, watch)?;
            let g_b = match polish.fit_intercept {
                true => samples.sum(|i| [samples.at(i, self.place.f[i]).slope])[0],
                false => 0.0,
            };
            let gap = 0.5 * (dot(&g, &kg) + g_b * g_b / scale);
            if !gap.is_finite() {
                let text = "training left the range of floating point numbers: scale the \
                            features, or lower C or the weights";
                return Err(Error::Unsupported(text.into()).into());
            }
            // Half the square of a norm, unless K is indefinite.
            if gap < -INDEFINITE * value.abs() {
                return Err(Error::NotPositiveDefinite("the kernel matrix").into());
            }
            let at_the_end = h <= polish.h && share >= 1.0;
            values.push(value);
            let stalls = share < 1.0
                && values.len() > PATIENCE
                && values[values.len() - 1 - PATIENCE] - value <= STAGE_PROGRESS * value;
            let tol = if at_the_end { polish.tol } else { STAGE_TOL };
            let mut small = gap <= tol * value.abs();
            if at_the_end && polish.fit_intercept {
                small = false;
                if gap <= ask * value.abs() {
                    let share = self.share_at_best_offset(&samples, watch)?;
                    small = share <= tol;
                    // Too early: later the next time.
                    ask *= (tol / share).clamp(0.1, 0.5);
                }
            }
            if stuck || stalls || small {
                if at_the_end {
                    return Ok(true);
                }
                stuck = false;
                h = (h / H_FACTOR).max(polish.h);
                if share < 1.0 {
                    share = (share * COST_FACTOR).min(1.0);
                    cost = self.cost.iter().map(|c| share * c).collect();
                    scale = self.scale(&Samples { cost: &cost, ..self.place.samples(h) });
                    values.clear();
                }
                last = None;
                continue;
            }
            if steps >= polish.max_steps {
                return Ok(false);
            }
            // Step 3.
            let (v, kv) = match self.metric {
                Metric::Kernel => (g, kg.clone()),
                Metric::Plain => (kg.clone(), self.product(&kg, watch)?),
            };
            let along = Along { v, kv, v_b: g_b / scale, kg: &kg, g_b };
            let restarted = last.is_none();
            let next = along.conjugate(last.take());
            // Step 4.
            let t = self.go(&samples, &next);
            self.place.steps += 1;
            if t == 0.0 && restarted {
                // Nothing falls along the gradient: rounding.
                if at_the_end {
                    return Ok(gap <= 1e-6 * value.abs());
                }
                stuck = true;
            }
            last = (t > 0.0).then_some(next);
        }
    }

    /// The gap, as a share of the objective, where the objective is minimised over the offset too;
    /// there the machine stays when that is small enough.
    fn share_at_best_offset(&mut self, samples: &Samples<'_>, watch: &mut Watch<'_>) -> Step<f64> {
        let (b, f) = (self.place.b, self.place.f.clone());
        samples.best_offset(&mut self.place.b, &mut self.place.f);
        let value = self.place.penalty() + samples.loss_at(&self.place.f);
        let (g, kg) = self.gradient(samples, watch)?;
        let share = 0.5 * dot(&g, &kg) / value.abs();
        if share > self.place.polish.tol {
            (self.place.b, self.place.f) = (b, f);
        }
        Ok(share)
    }

    fn go(&mut self, samples: &Samples<'_>, along: &Conjugate) -> f64 {
        let place = &mut *self.place;
        let s: Vec<f64> = along.kd.iter().map(|k| k + along.d_b).collect();
        let pull = |(d, f): (&f64, &f64)| d * (f - place.b);
        let linear = along.d.iter().zip(&place.f).map(pull).sum();
        let quadratic = dot(&along.d, &along.kd);
        let base = place.penalty();
        let ray = Ray { samples: *samples, f: &place.f, s: &s, base, linear, quadratic };
        let (t, _) = ray.minimise();
        axpy(t, &along.d, &mut place.coef);
        axpy(t, &s, &mut place.f);
        place.b += t * along.d_b;
        t
    }
}

/// A gradient in its metric (v), K times it, and K times g: the gradient itself.
struct Along<'a> {
    v: Vec<f64>,
    kv: Vec<f64>,
    v_b: f64,
    kg: &'a [f64],
    g_b: f64,
}

impl Along<'_> {
    /// Step 3.
    fn conjugate(self, last: Option<Conjugate>) -> Conjugate {
        let inner = |d: &[f64], d_b: f64| dot(d, self.kg) + d_b * self.g_b;
        let norm = inner(&self.v, self.v_b);
        let back = |v: &[f64]| -> Vec<f64> { v.iter().map(|v| -v).collect() };
        let (mut d, mut kd, mut d_b) = (back(&self.v), back(&self.kv), -self.v_b);
        if let Some(last) = last {
            let polak = (norm - inner(&last.v, last.v_b)) / last.norm;
            let ratio = polak.clamp(0.0, norm / last.norm);
            let mix = |back: &[f64], last: &[f64]| -> Vec<f64> {
                back.iter().zip(last).map(|(v, d)| v + ratio * d).collect()
            };
            let (mixed, mixed_b) = (mix(&d, &last.d), d_b + ratio * last.d_b);
            if inner(&mixed, mixed_b) < 0.0 {
                (d, kd, d_b) = (mixed, mix(&kd, &last.kd), mixed_b);
            }
        }
        Conjugate { d, kd, d_b, v: self.v, v_b: self.v_b, norm }
    }
}
