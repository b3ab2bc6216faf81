//! Newton's steps on the rows that are kept.
//!
//! 1. Gradient `g = K_BB β + Σ C L' k` over the rows with a slope.
//! 2. `d = -H⁻¹ g` by conjugate gradients until the residual is a tenth of what it was, in the metric
//!    of `M = K_BB + (q/s) Σ D k kᵀ` over s of the q rows in the zone. M is made once, and again when
//!    the steps become many or h has changed.
//! 3. Done when d promises less than `tol` of the objective. Before the last width one that promises
//!    less than `STAGE_TOL` is enough, then h falls.
//! 4. Line search.

use super::direction::{Hessian, gram_times};
use super::rows::Rows;
use crate::data::SomeTargets;
use crate::float::Real;
use crate::linalg::{Cholesky, axpy, dot};
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::watch::{Step, Watch};

/// What h is divided by.
const H_FACTOR: f64 = 4.0;
const STAGE_TOL: f64 = 0.03;

/// A problem on some rows.
pub(super) struct Stage<'r, 'a, 'k, F: Real> {
    pub(super) shared: &'r Shared<'a>,
    pub(super) rows: &'r Rows<'k, F>,
    /// All samples, at the last width.
    pub(super) samples: Samples<'r>,
    /// How many times each row counts.
    pub(super) times: f64,
    /// The first width.
    pub(super) h: f64,
    pub(super) tol: f64,
    pub(super) max_steps: usize,
}

impl<F: Real> Stage<'_, '_, '_, F> {
    /// Moves `point`, at which all samples have the margins `from`, to the minimum; whether that was
    /// reached. `like` is the factor of a preconditioner.
    pub(super) fn minimise(
        &self,
        point: &mut [f64],
        steps: &mut usize,
        from: &[f64],
        like: &mut Option<Cholesky>,
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let (gram, rows, end) = (&self.shared.gram[..], self.rows, self.samples.loss.h);
        let (b, order) = (gram.len().isqrt(), point.len());
        let chosen = || rows.samples.iter().map(|&i| i as usize);
        let targets = SomeTargets::new(self.samples.targets, chosen());
        let cost: Vec<f64> = chosen().map(|i| self.times * self.samples.cost[i]).collect();
        let mut f: Vec<f64> = chosen().map(|i| from[i]).collect();
        let mut s = vec![0.0; f.len()];
        let mut pull = gram_times(gram, &point[..b]);
        let mean = (0..b).map(|j| gram[j * b + j]).sum::<f64>() / b as f64;
        let mut h = self.h;
        for _ in 0..self.max_steps {
            let mut samples = Samples { targets: targets.view(), cost: &cost, ..self.samples };
            samples.loss.h = h;
            let at: Vec<_> = f.iter().enumerate().map(|(i, &f)| samples.at(i, f)).collect();
            let places = |wanted: &dyn Fn(usize) -> bool| -> Vec<u32> {
                (0..at.len()).filter(|&i| wanted(i)).map(|i| i as u32).collect()
            };
            // Step 1.
            let slopes: Vec<f64> = at.iter().map(|c| c.slope).collect();
            let mut gradient = rows.weigh(&places(&|i| slopes[i] != 0.0), &slopes, watch)?;
            axpy(1.0, &pull, &mut gradient[..b]);
            gradient.truncate(order);
            // Step 2.
            let curvature: Vec<f64> = at.iter().map(|c| c.curvature).collect();
            let zone = places(&|i| curvature[i] > 0.0);
            let flat = if zone.is_empty() { mean } else { 0.0 };
            let hessian = Hessian { gram, rows, zone: &zone, curvature: &curvature, flat };
            let factor = match like.take() {
                Some(factor) => factor,
                None => hessian.sketch(order, watch)?,
            };
            let (d, serves) = hessian.direction(&gradient, &factor, watch)?;
            *like = serves.then_some(factor);
            // Step 3.
            let predicted = -0.5 * dot(&d, &gradient);
            let base = 0.5 * dot(&point[..b], &pull);
            let value = base + samples.loss_at(&f);
            let last = h <= end;
            if last && predicted <= self.tol * value.abs() {
                return Ok(true);
            }
            // Step 4.
            rows.times(&d, &mut s, watch)?;
            let pushed = gram_times(gram, &d[..b]);
            let (linear, quadratic) = (dot(&d[..b], &pull), dot(&d[..b], &pushed));
            let (t, _) = Ray { samples, f: &f, s: &s, base, linear, quadratic }.minimise();
            axpy(t, &d, point);
            axpy(t, &pushed, &mut pull);
            axpy(t, &s, &mut f);
            *steps += 1;
            watch.poll()?;
            if !last && (predicted <= STAGE_TOL * value.abs() || t == 0.0) {
                h /= H_FACTOR;
                // Two widths that are nearly the same are one.
                if h < 1.5 * end {
                    h = end;
                }
                *like = None;
            } else if t == 0.0 {
                return Ok(false);
            }
        }
        Ok(false)
    }
}
