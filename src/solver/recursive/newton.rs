//! A block of rows beside what was seen before them.

use super::{Summary, WIDER, gram};
use crate::data::Targets;
use crate::error::{Error, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, add_scaled_rows, axpy, dot, dots, symmetric_times};
use crate::loss::Smoothed;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::watch::{Halt, Step};

/// Newton steps at a width.
const MAX_STEPS: usize = 25;
/// Steps end when the decrease predicted is at most this share of what the block and the penalty
/// are worth.
const TOL: f64 = 1e-4;
/// A step shorter than this says that the zone knew too little.
const SHORT_STEP: f64 = 0.3;
/// Jitter of a Hessian, relative.
const JITTER: f64 = 1e-11;

/// A block of rows, as the basis sees them.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a, F: Real> {
    /// Features, a row after another, without the offset's 1.
    pub features: &'a [F],
    /// Targets of the rows.
    pub targets: Targets<'a>,
    /// C_i of the rows.
    pub cost: &'a [f64],
    /// The loss at its final width.
    pub loss: Smoothed,
    /// K, row-major, of all unknowns.
    pub penalty: &'a [f64],
    /// Whether the last unknown is an offset.
    pub with_offset: bool,
}

impl<F: Real> Block<'_, F> {
    fn samples(&self, output: usize, h: f64) -> Samples<'_> {
        let loss = Smoothed { h, ..self.loss };
        Samples { loss, targets: self.targets, output, cost: self.cost }
    }

    /// Points of the basis.
    fn n_points(&self, unknowns: usize) -> usize {
        unknowns - usize::from(self.with_offset)
    }

    fn row(&self, i: usize, b: usize) -> &[F] {
        &self.features[i * b..(i + 1) * b]
    }

    /// Decision values at a point.
    fn decide(&self, point: &[f64], out: &mut [f64]) {
        let b = self.n_points(point.len());
        out.fill(0.0);
        if b > 0 {
            dots(self.features, &point[..b], out);
        }
        if self.with_offset {
            out.iter_mut().for_each(|f| *f += point[b]);
        }
    }

    /// The minimum of penalty, summary and block, beginning with `point`: where nothing is known of
    /// earlier rows first with wide corners, which know more rows.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says, which is asked at every step.
    pub fn solve(
        &self,
        summary: &Summary,
        output: usize,
        point: Vec<f64>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Vec<f64>> {
        if point.is_empty() {
            return Ok(point);
        }
        let mut curved = summary.hessian.clone();
        axpy(1.0, self.penalty, &mut curved);
        let mut at = Point::new(self, point, &curved, summary)?;
        // What is known of earlier rows makes the start a good one.
        let known = summary.linear.iter().any(|v| *v != 0.0);
        let wide = (!known && self.loss.uses_h()).then_some(WIDER * self.loss.h);
        for h in wide.into_iter().chain([self.loss.h]) {
            self.newton(&mut at, (&curved, summary), self.samples(output, h), between)?;
        }
        Ok(at.point)
    }

    /// Newton's method at one width.
    fn newton(
        &self,
        at: &mut Point,
        (curved, summary): (&[f64], &Summary),
        samples: Samples<'_>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let n = at.point.len();
        let b = self.n_points(n);
        let mut s = try_vec("margins", at.f.len(), 0.0)?;
        // With nothing known of earlier rows the zone may know too little.
        let mut cautious = summary.linear.iter().all(|v| *v == 0.0);
        for _ in 0..MAX_STEPS {
            between()?;
            // Derivatives: the slopes of the rows, and the curvature of those in the zone; after a
            // short step that of a parabola above the loss, which knows all rows with a slope.
            let mut gradient = at.pull.clone();
            let (mut sloped, mut rows) = (Vec::new(), Vec::new());
            let mut weight = 0.0;
            for (i, &f) in at.f.iter().enumerate().filter(|(i, _)| samples.cost[*i] > 0.0) {
                let curve = samples.at(i, f);
                if curve.slope != 0.0 {
                    sloped.push((i as u32, curve.slope));
                }
                let curvature = if cautious { samples.majorant(i, f) } else { curve.curvature };
                if curvature > 0.0 {
                    rows.push((self.row(i, b), curvature.sqrt()));
                    weight += curvature;
                }
            }
            add_scaled_rows(self.features, &sloped, &mut gradient[..b]);
            if self.with_offset {
                gradient[b] += sloped.iter().map(|row| row.1).sum::<f64>();
            }
            let mut hessian = gram(n, &rows, between)?;
            axpy(1.0, curved, &mut hessian);
            if self.with_offset && weight <= 0.0 && hessian[n * n - 1] <= 0.0 {
                hessian[n * n - 1] = 1.0;
            }
            let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
            match Cholesky::factor::<Halt>("Hessian", &hessian, n, JITTER, between) {
                Ok(factor) => factor.solve(&mut direction),
                // No better point is to be had by these numbers.
                Err(Halt::Fail(Error::NotPositiveDefinite(_))) => return Ok(()),
                Err(halt) => return Err(halt),
            }
            let predicted = -0.5 * dot(&direction, &gradient);
            let worth = at.penalty(self.penalty) + samples.loss_at(&at.f);
            if !predicted.is_finite() || (predicted <= TOL * worth && !cautious) {
                return Ok(());
            }
            self.decide(&direction, &mut s);
            let pushed = symmetric_times(curved, &direction);
            let ray = Ray {
                samples,
                f: &at.f,
                s: &s,
                base: 0.0,
                linear: dot(&direction, &at.pull),
                quadratic: dot(&direction, &pushed),
            };
            let (t, _) = ray.minimise();
            if t == 0.0 && cautious {
                return Ok(());
            }
            axpy(t, &direction, &mut at.point);
            axpy(t, &pushed, &mut at.pull);
            axpy(t, &s, &mut at.f);
            cautious = t < SHORT_STEP;
        }
        // Sums of many steps are made anew.
        *at = Point::new(self, std::mem::take(&mut at.point), curved, summary)?;
        Ok(())
    }

    /// The summary takes the block in, with `point` its solution.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn absorb(
        &self,
        summary: &mut Summary,
        output: usize,
        point: &[f64],
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let b = self.n_points(point.len());
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let samples = self.samples(output, self.loss.h);
        let wide = samples.widened(WIDER);
        let (mut pulls, mut rows) = (Vec::new(), Vec::new());
        for (i, &f) in f.iter().enumerate().filter(|(i, _)| self.cost[*i] > 0.0) {
            let (slope, curvature) = (samples.at(i, f).slope, wide.at(i, f).curvature);
            let pull = curvature * f - slope;
            if pull != 0.0 {
                pulls.push((i as u32, pull));
            }
            if curvature > 0.0 {
                rows.push((self.row(i, b), curvature.sqrt()));
            }
        }
        summary.add(&rows, between)?;
        add_scaled_rows(self.features, &pulls, &mut summary.linear[..b]);
        if self.with_offset {
            summary.linear[b] += pulls.iter().map(|row| row.1).sum::<f64>();
        }
        Ok(())
    }
}

/// Where the steps stand.
struct Point {
    point: Vec<f64>,
    /// `(K + H) β - g`.
    pull: Vec<f64>,
    /// Decision values.
    f: Vec<f64>,
}

impl Point {
    fn new<F: Real>(
        block: &Block<'_, F>,
        point: Vec<f64>,
        curved: &[f64],
        summary: &Summary,
    ) -> Step<Self> {
        let mut f = try_vec("margins", block.cost.len(), 0.0)?;
        block.decide(&point, &mut f);
        let mut pull = symmetric_times(curved, &point);
        axpy(-1.0, &summary.linear, &mut pull);
        Ok(Self { point, pull, f })
    }

    /// `½ βᵀKβ`.
    fn penalty(&self, matrix: &[f64]) -> f64 {
        0.5 * dot(&symmetric_times(matrix, &self.point), &self.point)
    }
}
