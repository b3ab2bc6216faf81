//! C and γ without a grid: γ by least squares on landmarks, then C by geometric steps.
//!
//! # Method
//!
//! 1. At most `ROWS` samples are drawn, rare classes up to a half of them ([`StratifiedSample`]);
//!    weights undo that.
//! 2. What the machine has without tuning (C = 1, and γ as it is) is judged by a proper score of its
//!    own loss on rows that it was not trained on ([`Validation`]): nothing worse is returned.
//! 3. γ is sought by least squares on landmarks: the leave-one-out error of every λ comes from one
//!    decomposition ([`crate::estimator::ReducedLeastSquares`]). Widths far from each other are looked
//!    at first, then those beside the best.
//! 4. Least squares has coefficients `(y - f)/(λn)`, the hinge at most C: so C begins at the root of
//!    the error over `λn`, and climbs from there while the score rises. Of few rows it climbs with
//!    three wide kernels, too: a flat one with a large C has a λ below those of least squares.
//! 5. With this C the γ beside are judged by the same score, while it rises: least squares, and few
//!    landmarks, prefer wide kernels.
//!
//! *Cost* O(ROWS m (m + d)) for each of at most 10 widths, m landmarks; then about 8 machines on
//! either half of the samples, whatever n.

use super::config::BudgetConfig;
use super::hold_out::Samples;
use super::train::check_classes;
use super::validation::{GeometricSteps, Validation};
use crate::data::{Problem, StratifiedSample};
use crate::error::{Error, Result};
use crate::estimator::reduced::Aim;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::rng::Rng;
use crate::watch::{Halt, Step, Watch};

/// Samples looked at, and fewer samples than say anything.
const ROWS: usize = 2000;
const LEAST: usize = 10;
/// Landmarks of least squares: all samples, where these are no more than `FEW`.
const LANDMARKS: usize = 200;
const FEW: usize = 300;
/// Factors of γ that are looked at first; the factor of the γ beside the best of them; and how many
/// γ beyond the first and the last of them are looked at.
const WIDTHS: [f64; 6] = [1.0, 4.0, 16.0, 64.0, 0.25, 0.0625];
const FACTOR: f64 = 2.0;
const BEYOND: usize = 3;
/// Factors of γ that are judged by the machine's own loss, in either direction.
const JUDGED: usize = 2;
/// Of few rows C climbs with these factors of γ, too, from here: for costs of mean 1, in units of the
/// spread.
const WIDE: [f64; 3] = [0.0625, 0.25, 1.0];
const LARGE_C: f64 = 100.0;
/// Steps of C.
const CLIMB: GeometricSteps = GeometricSteps { factor: 6.0, most: 4 };
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
        let among: Vec<usize> = (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
        if among.len() < LEAST {
            let expected = format!("a number where there are fewer than {LEAST} samples of weight");
            return Err(Error::param(if of_c { "C" } else { "gamma" }, expected, "'tune'"));
        }
        let (size, rng) = (self.validated_rows(problem, ROWS), &mut Rng::stream(self.seed, STREAM));
        let sample = StratifiedSample::draw(problem.targets(), among, size, rng)?;
        let drawn = Samples::new(problem, &sample.rows)?;
        let drawn = drawn.problem()?;
        let each = drawn.cost().iter().zip(&sample.weights);
        let cost: Vec<f64> = each.map(|(cost, weight)| cost * weight).collect();
        match self.look(&drawn.with_cost(&cost), (of_c, of_gamma), &mut found, watch) {
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
        let total: f64 = problem.cost().iter().sum();
        let aim = Aim::new(problem)?;
        let validation = Validation::new(self, problem, (&aim.weights, aim.spread))?;
        // 2.
        let begun = found.1;
        let mut best = validation.best(*found, None, watch)?.0;
        // 3.
        let (gamma, lambda, error) = self.width(problem, (&aim, found.1, of_gamma), watch)?;
        // 4.
        let error = aim.spread * error.max(1e-6).sqrt();
        let quadratic = match self.loss {
            AnyLoss::SquaredHinge | AnyLoss::SquaredEpsilonInsensitive { .. } => 0.5,
            AnyLoss::Hinge
            | AnyLoss::LogLoss
            | AnyLoss::EpsilonInsensitive { .. }
            | AnyLoss::Quantile { .. } => error,
        };
        // λ is that of the weighted mean: costs of another mean than 1 take their part.
        let begin = validation.within(quadratic / (lambda * total));
        let (c, climb) = if of_c { (begin, Some(CLIMB)) } else { (self.c, None) };
        let (mut score, mut c) = validation.best((c, gamma), climb, watch)?;
        let mut gamma = gamma;
        let large = LARGE_C * aim.spread * problem.len() as f64 / total;
        for factor in WIDE.into_iter().filter(|_| of_c && of_gamma && validation.is_small()) {
            let (judged, of_it) = validation.best((large, begun * factor), climb, watch)?;
            if judged > score {
                (score, c, gamma) = (judged, of_it, begun * factor);
            }
        }
        let mut keep = |score: f64, place: (f64, f64)| {
            if score > best {
                (best, *found) = (score, place);
            }
        };
        keep(score, (c, gamma));
        // 5.
        for factor in [FACTOR, 1.0 / FACTOR].into_iter().filter(|_| of_gamma) {
            let mut next = gamma;
            for _ in 0..JUDGED {
                next *= factor;
                let (judged, _) = validation.best((c, next), None, watch)?;
                if judged <= score {
                    break;
                }
                score = judged;
                keep(score, (c, next));
            }
        }
        Ok(())
    }

    /// Step 3: γ, λ and the error of least squares with them.
    fn width<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (aim, begin, sought): (&Aim, f64, bool),
        watch: &mut Watch<'_>,
    ) -> Step<(f64, f64, f64)> {
        let n = problem.len();
        let landmarks = if n <= FEW { n } else { LANDMARKS };
        let mut fit = |gamma: f64| -> Step<(f64, f64, f64)> {
            let (fit, _) = aim.fit(self.kernel.with_gamma(gamma), problem, landmarks, watch)?;
            Ok((gamma, fit.lambda, fit.error))
        };
        let mut best = fit(begin)?;
        if !sought {
            return Ok(best);
        }
        let mut better = |gamma: f64, best: &mut (f64, f64, f64)| -> Step<bool> {
            let found = match fit(gamma) {
                // The kernel may be positive definite with other γ.
                Err(Halt::Fail(Error::NotPositiveDefinite(_))) => return Ok(false),
                found => found?,
            };
            let is_better = found.2 < best.2;
            if is_better {
                *best = found;
            }
            Ok(is_better)
        };
        for factor in &WIDTHS[1..] {
            better(begin * factor, &mut best)?;
        }
        for (edge, factor) in [(WIDTHS[3], WIDTHS[1]), (WIDTHS[5], WIDTHS[4])] {
            if best.0 == begin * edge {
                for _ in 0..BEYOND {
                    if !better(best.0 * factor, &mut best)? {
                        break;
                    }
                }
            }
        }
        let middle = best.0;
        for factor in [FACTOR, 1.0 / FACTOR] {
            better(middle * factor, &mut best)?;
        }
        Ok(best)
    }
}
