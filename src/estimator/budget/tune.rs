//! C and γ without a grid: γ by least squares on landmarks, then C on a path of three.
//!
//! # Method
//!
//! 1. At most `ROWS` samples are drawn, the first of them landmarks.
//! 2. γ climbs by factors of 2 from where it is while the leave-one-out error of least squares falls:
//!    every λ comes from one decomposition ([`crate::estimator::ReducedLeastSquares`]).
//! 3. Least squares has coefficients `(y - f)/(λn)`, the hinge at most C: so C begins at the root of
//!    the error over `λn`.
//! 4. There, and at a sixth and six times of it, the machine with its own loss is solved for on the
//!    landmarks, trained on either half of the samples and judged on the other, landmarks left out.
//!
//! *Cost* O(ROWS m (m + d)) an evaluation, m landmarks: 4 to 8 of them, whatever n.

use super::config::BudgetConfig;
use super::hold_out::Samples;
use super::train::check_classes;
use crate::data::Problem;
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::{HeldRows, ModelRows};
use crate::estimator::coefficients;
use crate::estimator::reduced::Aim;
use crate::estimator::score::score_of;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::rng::Rng;
use crate::solver::smoothed::Polish;
use crate::watch::{Halt, Step, Watch};

/// Samples looked at, landmarks among them, and fewer samples than say anything.
const ROWS: usize = 2000;
const LANDMARKS: usize = 200;
const LEAST: usize = 10;
/// Steps of γ, and how many.
const FACTOR: f64 = 2.0;
const TRIALS: usize = 8;
/// Steps of C, and what it stays within.
const STEP: f64 = 6.0;
const RANGE: (f64, f64) = (1e-2, 1e4);
/// The random numbers that draw the samples are no pass's.
const STREAM: u64 = u64::MAX - 2;

impl BudgetConfig {
    /// C and γ for this problem, whose costs are those of C = 1: each as it is in these
    /// hyperparameters unless it is to be tuned, which γ begins from.
    ///
    /// # Errors
    /// `InvalidParam` with the name of what is to be tuned where there are too few samples;
    /// `Unsupported` for γ of a kernel that is not positive definite on them; `BadLabels` for one
    /// class; `OutOfMemory`, `Interrupted`.
    pub fn tuned<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (of_c, of_gamma): (bool, bool),
        watch: &mut Watch<'_>,
    ) -> Result<(f64, f64)> {
        let of_gamma = of_gamma && self.kernel != AnyKernel::Linear;
        let mut found = (self.c, self.kernel.gamma());
        if !of_c && !of_gamma {
            return Ok(found);
        }
        check_classes(problem)?;
        watch.limit(self.max_time, 1.0);
        // 1.
        let mut chosen: Vec<usize> =
            (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
        if chosen.len() < LEAST {
            let expected = format!("a number where there are fewer than {LEAST} samples of weight");
            return Err(Error::param(if of_c { "C" } else { "gamma" }, expected, "'tune'"));
        }
        Rng::stream(self.seed, STREAM).shuffle(&mut chosen);
        chosen.truncate(ROWS);
        let drawn = Samples::new(problem, &chosen)?;
        let drawn = drawn.problem()?;
        // Where the few rows of a class are not among them nothing can be said.
        if check_classes(&drawn).is_err() {
            return Ok(found);
        }
        match self.look(&drawn, (of_c, of_gamma), &mut found, watch) {
            // In the time left: with what there is.
            Ok(()) | Err(Halt::Stop(_)) => Ok(found),
            Err(Halt::Fail(Error::NotPositiveDefinite(_))) => Err(Error::Unsupported(
                "C='tune' and gamma='tune' need a kernel that is positive definite on the rows"
                    .into(),
            )),
            Err(Halt::Fail(error)) => Err(error),
        }
    }

    fn look<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (of_c, of_gamma): (bool, bool),
        found: &mut (f64, f64),
        watch: &mut Watch<'_>,
    ) -> Step {
        let n = problem.len();
        let m = LANDMARKS.min(n / 3).max(1);
        let total: f64 = problem.cost().iter().sum();
        let aim = Aim::new(problem)?;
        let (weights, spread) = (&aim.weights, aim.spread);
        let (outputs, rows) = (problem.targets().n_outputs(), problem.rows());
        // 2.
        let fit = |gamma: f64, watch: &mut Watch<'_>| {
            aim.fit(self.kernel.with_gamma(gamma), problem, m, watch)
        };
        let gamma = found.1;
        let (mut best, mut model) = fit(gamma, watch)?;
        let mut tried = 1;
        for factor in [FACTOR, 1.0 / FACTOR].into_iter().filter(|_| of_gamma) {
            let mut moved = false;
            while tried < TRIALS {
                let (next, on) = fit(found.1 * factor, watch)?;
                tried += 1;
                if next.error >= best.error {
                    break;
                }
                (best, model, moved) = (next, on, true);
                found.1 *= factor;
            }
            if moved {
                break;
            }
        }
        if !of_c {
            return Ok(());
        }
        // 3.
        let error = spread * best.error.max(1e-6).sqrt();
        let quadratic = match self.loss {
            AnyLoss::SquaredHinge | AnyLoss::SquaredEpsilonInsensitive { .. } => 0.5,
            AnyLoss::Hinge
            | AnyLoss::LogLoss
            | AnyLoss::EpsilonInsensitive { .. }
            | AnyLoss::Quantile { .. } => error,
        };
        let within = |c: f64| c.clamp(RANGE.0 * spread, RANGE.1 * spread);
        // λ is that of the weighted mean: costs of another mean than 1 take their part.
        let middle = within(quadratic / (best.lambda * total));
        found.0 = middle;
        // 4.
        let held = HeldRows::new(ModelRows::new(rows.view(), &model)?, usize::MAX, watch)?;
        let how = Polish { tol: 1e-2, ..self.polisher(self.unit(problem)?) };
        let mut best: Option<f64> = None;
        let mut starts = [model.clone(), model.clone()];
        for c in [middle, within(middle / STEP), within(middle * STEP)] {
            let mut score = 0.0;
            for (half, start) in starts.iter_mut().enumerate() {
                let trains = |i: usize| i % 2 == half;
                let cost: Vec<f64> = (problem.cost().iter().enumerate())
                    .map(|(i, w)| if trains(i) { c * w } else { 0.0 })
                    .collect();
                let part = problem.with_cost(&cost);
                let polished = coefficients::polish_on(&how, &part, (&held, &*start), watch)?;
                if polished.stop.is_early() {
                    return Err(Halt::Stop(polished.stop));
                }
                *start = start.with_coef(&polished.coef, polished.intercept)?;
                let mut decided = try_vec("decision values", n * outputs, 0.0)?;
                start.decision(&rows, &mut decided)?;
                let judged: Vec<f64> = (weights.iter().enumerate())
                    .map(|(i, w)| if trains(i) || i < m { 0.0 } else { *w })
                    .collect();
                score += score_of(&decided, problem.targets(), &judged, self.loss);
            }
            if best.is_none_or(|b| score > b) {
                (best, found.0) = (Some(score), c);
            }
        }
        Ok(())
    }
}
