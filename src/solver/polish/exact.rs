//! The exact solution when the basis holds every distinct training sample.
//!
//! ```text
//! K = A Aᵀ,   min over w in R^r (and b)   1/2 ‖w‖² + Σ_i C_i L_h(y_i, a_i·w + b)
//! ```
//!
//! # Method
//!
//! 1. Pivoted Cholesky of the kernel matrix of the distinct samples gives features A of
//!    numerical rank r: however singular K is, `H = I + Aᵀ D A` (bordered for b) is not.
//! 2. Newton with line search while h falls, as in [the module above](super).
//! 3. At the final h the objective is piecewise quadratic: once the zones stay, a full step ends
//!    at the minimum up to rounding. Where the objective is too flat to compare, a step is judged
//!    by the norm of the gradient.
//! 4. When no sample lies in a quadratic zone, the minimum may be an interval of b. The middle
//!    is taken (the finite end when one end is infinite).
//! 5. `β_j = -Σ C_i L_h'(y_i, f_i)` over the samples that equal distinct sample j.
//!
//! The minimiser is unique, so order, copies and weights of samples make no difference beyond
//! rounding: a sample of weight k is k copies of it.
//!
//! Cost: D²r for the features of D distinct samples and Dr² + r³/3 a step. Certificate: the norm
//! of the gradient is at most 1e-12 of the sum of the norms of its terms.

use super::curvature::{Derivatives, Rule};
use super::ray::{Found, Ray, Samples};
use super::steps::{FIRST_H, H_FACTOR, STAGE_TOL, samples_of};
use super::watch::{Halt, Step, Watch};
use super::{Polish, Polished, Start, Watcher};
use crate::data::Targets;
use crate::error::{Error, Result};
use crate::linalg::{Cholesky, axpy, dot64, dots, pivoted_cholesky};
use crate::solver::StopReason;

/// Relative diagonal left when the rank of K is found.
const RANK_TOL: f64 = 1e-14;
/// Gradient norm at the end, relative to its terms.
const GRADIENT_TOL: f64 = 1e-12;
/// The same where rounding allows no more.
const ROUNDED_TOL: f64 = 1e-9;
/// Predicted decrease, relative to the objective, below which values cannot be compared.
const FLAT: f64 = 1e-9;
/// Depth in a quadratic zone, in units of h, that is rounding.
const ZONE_EDGE: f64 = 1e-7;
const MAX_STEPS: usize = 1000;

/// Samples that repeat some distinct points.
#[derive(Clone, Copy, Debug)]
pub struct Distinct<'a> {
    /// Kernel matrix of the D distinct points, row-major D x D.
    pub gram: &'a [f64],
    /// The distinct point that each of the n samples equals.
    pub point: &'a [usize],
    /// Targets of the n samples.
    pub targets: Targets<'a>,
    /// C_i of the n samples.
    pub cost: &'a [f64],
}

impl Polish {
    /// Solves the smoothed problem on all samples to rounding error; `tol` and `max_steps` are
    /// not used. The result has one term a distinct point. Call it inside
    /// [`crate::parallel::run`].
    ///
    /// # Errors
    /// As [`Polish::solve`].
    pub fn solve_exactly(&self, data: Distinct<'_>, watcher: &mut Watcher<'_>) -> Result<Polished> {
        self.check()?;
        let (n, size, m) = (data.point.len(), data.gram.len().isqrt(), data.targets.n_outputs());
        for (what, got, expected) in [
            ("y", data.targets.len(), n),
            ("sample_weight", data.cost.len(), n),
            ("kernel matrix", data.gram.len(), size * size),
        ] {
            if got != expected {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        if let Some(bad) = data.gram.iter().position(|v| !v.is_finite()) {
            let (row, column) = (bad / size, bad % size);
            return Err(Error::NonFinite { what: "kernel matrix", row, column });
        }
        if let Some(bad) = data.point.iter().find(|&&p| p >= size) {
            let reason = format!("distinct point {bad} of {size}");
            return Err(Error::InvalidData { what: "X", reason });
        }
        let factor = pivoted_cholesky(data.gram, size, RANK_TOL)?;
        let mut watch = Watch::new(watcher);
        let mut result = Polished {
            coef: vec![0.0; size * m],
            intercept: vec![0.0; m],
            smoothed: 0.0,
            primal: 0.0,
            steps: 0,
            converged: true,
            stop: StopReason::Converged,
        };
        // A kernel matrix of zeros: one feature that is always 0.
        let zeros = vec![0.0; size];
        let features = if factor.rank > 0 {
            Features { rows: &factor.factor, rank: factor.rank, size }
        } else {
            Features { rows: &zeros, rank: 1, size }
        };
        for output in 0..m {
            let mut machine = Machine::new(self, data, features, output)?;
            let done = machine.minimise(&mut watch);
            result.take_exact(&machine, output);
            match done {
                Ok(()) if machine.converged => {}
                Ok(()) => (result.converged, result.stop) = (false, StopReason::MaxIter),
                Err(Halt::Fail(error)) => return Err(error),
                Err(Halt::Stop(reason)) => {
                    (result.converged, result.stop) = (false, reason);
                    break;
                }
            }
        }
        Ok(result)
    }
}

impl Polished {
    fn take_exact(&mut self, machine: &Machine<'_>, output: usize) {
        let m = self.intercept.len();
        let samples = machine.samples(machine.polish.h);
        // Step 5.
        for i in 0..machine.f.len() {
            if samples.cost[i] > 0.0 {
                self.coef[machine.data.point[i] * m + output] -= samples.at(i, machine.f[i]).slope;
            }
        }
        let penalty = machine.penalty();
        self.intercept[output] = machine.w[machine.features.rank];
        self.smoothed += penalty + samples.loss_at(&machine.f);
        self.primal += penalty + samples.plain_loss_at(&machine.f);
        self.steps = self.steps.max(machine.steps);
    }
}

/// Row-major features of the distinct points.
#[derive(Clone, Copy)]
struct Features<'a> {
    rows: &'a [f64],
    rank: usize,
    size: usize,
}

/// One output as it stands.
struct Machine<'a> {
    polish: &'a Polish,
    data: Distinct<'a>,
    features: Features<'a>,
    output: usize,
    /// The features once more, a row a sample: what the derivatives are summed over.
    rows: Vec<f64>,
    /// w, then b (0 without an offset).
    w: Vec<f64>,
    f: Vec<f64>,
    derivatives: Derivatives,
    h: f64,
    value: f64,
    last_step: f64,
    steps: usize,
    converged: bool,
}

impl<'a> Machine<'a> {
    fn new(
        polish: &'a Polish,
        data: Distinct<'a>,
        features: Features<'a>,
        output: usize,
    ) -> Result<Self> {
        let rank = features.rank;
        let row = |p: &usize| &features.rows[p * rank..(p + 1) * rank];
        let rows = data.point.iter().flat_map(row).copied().collect();
        let final_loss = polish.final_loss();
        let h = if final_loss.uses_h() { polish.h.max(FIRST_H) } else { polish.h };
        Ok(Self {
            polish,
            data,
            features,
            output,
            rows,
            w: vec![0.0; rank + 1],
            f: vec![0.0; data.point.len()],
            derivatives: Derivatives::new(rank, polish.fit_intercept)?,
            h,
            value: f64::NAN,
            last_step: 0.0,
            steps: 0,
            converged: false,
        })
    }

    fn samples(&self, h: f64) -> Samples<'a> {
        let Distinct { targets, cost, .. } = self.data;
        let start = Start { targets, cost, coef: &[], intercept: &[] };
        let mut samples = samples_of(self.polish, start, self.output);
        samples.loss.h = h;
        samples
    }

    fn penalty(&self) -> f64 {
        let w = &self.w[..self.features.rank];
        0.5 * dot64(w, w)
    }

    /// Decision values of the samples for `(w, b)`.
    fn decisions(&self, w: &[f64]) -> Vec<f64> {
        let Features { rows, rank, size } = self.features;
        let mut at_points = vec![0.0; size];
        dots(rows, &w[..rank], &mut at_points);
        self.data.point.iter().map(|&p| at_points[p] + w[rank]).collect()
    }

    /// Steps 2 to 4.
    fn minimise(&mut self, watch: &mut Watch<'_, '_>) -> Step<()> {
        self.value = self.samples(self.h).loss_at(&self.f);
        let mut before = f64::INFINITY;
        for step in 0..MAX_STEPS {
            (watch.step, watch.objective) = (step, self.value);
            watch.poll()?;
            let last = self.h <= self.polish.h;
            self.differentiate(watch)?;
            let norm = self.relative_gradient();
            // The full step before this one was taken on trust: without progress it was the last.
            let stuck = norm > 0.5 * before;
            if last && (norm <= GRADIENT_TOL || (stuck && norm <= ROUNDED_TOL)) {
                self.converged = true;
                break;
            }
            let (direction, predicted) = self.direction();
            self.steps += 1;
            if last && predicted <= FLAT * self.value.abs() && !stuck {
                before = norm;
                self.advance(1.0, &direction);
                self.value = self.penalty() + self.samples(self.h).loss_at(&self.f);
                continue;
            }
            before = f64::INFINITY;
            let Found { t, value } = self.search(&direction);
            self.advance(t, &direction);
            (self.value, self.last_step) = (value, t);
            if last && t == 0.0 {
                self.converged = norm <= ROUNDED_TOL;
                break;
            }
            if !last && (t == 0.0 || predicted <= STAGE_TOL * value.abs()) {
                self.h = (self.h / H_FACTOR).max(self.polish.h);
                self.value = self.penalty() + self.samples(self.h).loss_at(&self.f);
            }
        }
        if self.converged && self.polish.fit_intercept {
            self.center_offset();
        }
        Ok(())
    }

    fn differentiate(&mut self, watch: &mut Watch<'_, '_>) -> Step<()> {
        let samples = self.samples(self.h);
        let rule = match (self.h <= self.polish.h, self.last_step < 0.3) {
            (false, true) => Rule::Majorant,
            _ => Rule::Exact,
        };
        self.derivatives.start(&samples, &self.f, rule);
        self.derivatives.add(&samples, &self.f, 0, &self.rows, watch)?;
        self.derivatives.finish(watch)?;
        axpy(1.0, &self.w[..self.features.rank], &mut self.derivatives.gradient);
        Ok(())
    }

    /// ‖gradient‖ over the sum of the norms of its terms.
    fn relative_gradient(&self) -> f64 {
        let samples = self.samples(self.h);
        let Features { rows, rank, .. } = self.features;
        let terms = samples.sum(|i| {
            let p = self.data.point[i];
            let row = &rows[p * rank..(p + 1) * rank];
            let size = dot64(row, row).sqrt() + f64::from(u8::from(self.polish.fit_intercept));
            [samples.at(i, self.f[i]).slope.abs() * size]
        })[0];
        let norm = dot64(&self.derivatives.gradient, &self.derivatives.gradient).sqrt();
        if norm == 0.0 { 0.0 } else { norm / (terms + (2.0 * self.penalty()).sqrt()) }
    }

    /// The Newton direction and the decrease it promises.
    fn direction(&self) -> (Vec<f64>, f64) {
        let rank = self.features.rank;
        let gradient = &self.derivatives.gradient;
        let order = gradient.len();
        let mut hessian = vec![0.0; order * order];
        self.derivatives.hessian.add_to(&mut hessian);
        for j in 0..rank {
            hessian[j * order + j] += 1.0;
        }
        if order > rank && self.derivatives.weight <= 0.0 {
            hessian[order * order - 1] = 1.0;
        }
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        if let Ok(factor) = Cholesky::factor("Hessian", &hessian, order, 0.0) {
            factor.solve(&mut direction);
        }
        let predicted = -0.5 * dot64(&direction, gradient);
        direction.resize(rank + 1, 0.0);
        (direction, predicted)
    }

    fn search(&self, direction: &[f64]) -> Found {
        let rank = self.features.rank;
        let s = self.decisions(direction);
        Ray {
            samples: self.samples(self.h),
            f: &self.f,
            s: &s,
            base: self.penalty(),
            linear: dot64(&self.w[..rank], &direction[..rank]),
            quadratic: dot64(&direction[..rank], &direction[..rank]),
        }
        .minimise()
    }

    /// Decision values are computed afresh: no rounding is carried along.
    fn advance(&mut self, t: f64, direction: &[f64]) {
        axpy(t, direction, &mut self.w);
        self.f = self.decisions(&self.w);
    }

    /// Step 4.
    fn center_offset(&mut self) {
        let samples = self.samples(self.h);
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        for (i, &f) in self.f.iter().enumerate() {
            if samples.cost[i] <= 0.0 {
                continue;
            }
            let y = samples.targets.value(i, self.output);
            let range = samples.loss.flat_range(y, f, ZONE_EDGE * self.h.min(1.0));
            (low, high) = (low.max(range.0), high.min(range.1));
        }
        let shift = match (low.is_finite(), high.is_finite()) {
            (true, true) => 0.5 * (low + high),
            (true, false) => low,
            (false, true) => high,
            (false, false) => 0.0,
        };
        // Ends that cross, or nearly: some sample is inside its zone and b is unique.
        if high > low && shift != 0.0 {
            self.w[self.features.rank] += shift;
            self.f.iter_mut().for_each(|f| *f += shift);
        }
    }
}
