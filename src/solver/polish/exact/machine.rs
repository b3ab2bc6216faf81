//! One output of the exact solution: Newton on the features.

use super::super::curvature::{Derivatives, Rule};
use super::super::output::SHORT_STEP;
use super::super::panels::Wave;
use super::super::ray::{Found, Ray, Samples};
use super::super::steps::{FIRST_H, H_FACTOR, STAGE_TOL, samples_of};
use super::super::watch::{Halt, Step, Watch};
use super::super::{Polish, Start};
use super::Distinct;
use crate::error::{Error, Result, try_vec};
use crate::linalg::{Cholesky, axpy, dot64, dots};

/// Gradient norm at the end, relative to its terms.
const GRADIENT_TOL: f64 = 1e-12;
/// The same where rounding allows no more.
const ROUNDED_TOL: f64 = 1e-9;
/// Predicted decrease, relative to the objective, below which values cannot be compared.
const FLAT: f64 = 1e-9;
/// Depth in a quadratic zone, in units of h, that is rounding.
const ZONE_EDGE: f64 = 1e-7;
const MAX_STEPS: usize = 1000;

/// Row-major features of the distinct points.
#[derive(Clone, Copy)]
pub(super) struct Features<'a> {
    pub(super) rows: &'a [f64],
    pub(super) rank: usize,
    pub(super) size: usize,
}

/// One output as it stands.
pub(super) struct Machine<'a> {
    pub(super) polish: &'a Polish,
    pub(super) data: Distinct<'a>,
    pub(super) features: Features<'a>,
    output: usize,
    /// The features once more, a row a sample: what the derivatives are summed over.
    rows: Vec<f64>,
    /// w, then b (0 without an offset).
    pub(super) w: Vec<f64>,
    pub(super) f: Vec<f64>,
    derivatives: Derivatives,
    h: f64,
    value: f64,
    last_step: f64,
    pub(super) steps: usize,
    pub(super) converged: bool,
}

impl<'a> Machine<'a> {
    pub(super) fn new(
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

    pub(super) fn samples(&self, h: f64) -> Samples<'a> {
        let Distinct { targets, cost, .. } = self.data;
        let start = Start { targets, cost, coef: &[], intercept: &[] };
        let mut samples = samples_of(self.polish, start, self.output);
        samples.loss.h = h;
        samples
    }

    pub(super) fn penalty(&self) -> f64 {
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
    pub(super) fn minimise(&mut self, watch: &mut Watch<'_, '_>) -> Step<()> {
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
            let (direction, predicted) = self.direction(watch)?;
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
        let rule = match (self.h <= self.polish.h, self.last_step < SHORT_STEP) {
            (false, true) => Rule::Majorant,
            _ => Rule::Exact,
        };
        self.derivatives.start(&samples, &self.f, rule)?;
        let wave = Wave::whole(&self.rows, self.f.len());
        self.derivatives.add(&samples, &self.f, &wave, watch)?;
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
    fn direction(&self, watch: &mut Watch<'_, '_>) -> Step<(Vec<f64>, f64)> {
        let rank = self.features.rank;
        let gradient = &self.derivatives.gradient;
        let order = gradient.len();
        let mut hessian = try_vec("Hessian", order * order, 0.0)?;
        self.derivatives.hessian.add_to(&mut hessian);
        for j in 0..rank {
            hessian[j * order + j] += 1.0;
        }
        if order > rank && self.derivatives.weight <= 0.0 {
            hessian[order * order - 1] = 1.0;
        }
        let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
        match Cholesky::factor("Hessian", &hessian, order, 0.0, || watch.poll()) {
            Ok(factor) => factor.solve(&mut direction),
            Err(Halt::Fail(Error::NotPositiveDefinite(_))) => {}
            Err(halt) => return Err(halt),
        }
        let predicted = -0.5 * dot64(&direction, gradient);
        direction.resize(rank + 1, 0.0);
        Ok((direction, predicted))
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
