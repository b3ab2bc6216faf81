//! Machines at one C and γ after another, for tuning.

use super::config::{PrimalConfig, with_gamma};
use super::run::Shuffled;
use crate::data::{Problem, Targets};
use crate::error::{Error, Result};
use crate::estimator::basis::{ModelRows, model_on};
use crate::estimator::score::proper_score_of;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::solver::primal::{Criterion, criterion, leave_one_out, newton};
use crate::solver::smoothed::{Polish, Start, basis_gram};
use crate::watch::{Halt, Step, StopReason, Watch};

/// Where log γ is sought: the range of a double.
const ALL_GAMMAS: (f64, f64) = (-700.0, 700.0);

/// Machines on a part of the samples, each begun with the coefficients of the last.
pub(super) struct Trials<'t, 'a, 'p, F: Real> {
    watch: &'t mut Watch<'a>,
    problem: &'t Problem<'p, F>,
    part: Shuffled,
    kernel: AnyKernel,
    polish: Polish,
    /// What C multiplies; the scale is of no consequence.
    weight: Vec<f64>,
    coef: Vec<f64>,
    intercept: Vec<f64>,
    evaluations: usize,
    stopped: Option<StopReason>,
}

impl<'t, 'a, 'p, F: Real> Trials<'t, 'a, 'p, F> {
    pub(super) fn new(
        config: &PrimalConfig,
        watch: &'t mut Watch<'a>,
        problem: &'t Problem<'p, F>,
        part: Shuffled,
    ) -> Self {
        let (kernel, polish) = (config.kernel, config.polish(1.0));
        let (weight, coef, intercept) = (Vec::new(), Vec::new(), Vec::new());
        let (evaluations, stopped) = (0, None);
        Self {
            watch,
            problem,
            part: part.clone(),
            kernel,
            polish,
            weight,
            coef,
            intercept,
            evaluations,
            stopped,
        }
        .on(part)
    }

    /// The same on another part, begun anew.
    pub(super) fn on(self, part: Shuffled) -> Self {
        let (n, m) = (part.samples.len(), self.problem.targets().n_outputs());
        let mean = mean(&part.cost);
        let weight = part.cost.iter().map(|c| c / mean).collect();
        Self { part, weight, coef: vec![0.0; n * m], intercept: vec![0.0; m], ..self }
    }

    pub(super) fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Why there are to be no more evaluations, if the caller says so or time presses.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// What was found; nothing where the trials were stopped, and what has been found before counts.
    ///
    /// # Errors
    /// Any other.
    pub(super) fn unless_stopped<T>(&mut self, found: Step<T>) -> Result<Option<T>> {
        match found {
            Ok(found) => Ok(Some(found)),
            Err(Halt::Fail(error)) => Err(error),
            Err(Halt::Stop(reason)) => {
                self.stopped = Some(reason);
                Ok(None)
            }
        }
    }

    /// Whether the targets are classes.
    pub(super) fn of_classes(&self) -> bool {
        self.problem.targets().are_classes()
    }

    /// log of the mean C.
    pub(super) fn log_cost(&self) -> f64 {
        mean(&self.part.cost).ln()
    }

    /// log γ, beside the one given, at which two samples' kernel value is a half on average, by
    /// bisection.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch says.
    pub(super) fn log_gamma_of_the_data(&mut self) -> Step<f64> {
        let given = self.kernel.gamma().ln();
        let (mut low, mut high) = (ALL_GAMMAS.0 - given, ALL_GAMMAS.1 - given);
        let n = self.part.samples.len() as f64;
        while high - low > 0.01 {
            let middle = 0.5 * (low + high);
            let mean = match with_gamma(self.kernel, middle.exp()) {
                Ok(kernel) if kernel.check().is_ok() => {
                    (self.gram(kernel)?.iter().sum::<f64>() - n) / (n * (n - 1.0)).max(1.0)
                }
                _ => f64::from(middle < -given),
            };
            *(if mean > 0.5 { &mut low } else { &mut high }) = middle;
        }
        Ok(0.5 * (low + high))
    }

    fn gram(&mut self, kernel: AnyKernel) -> Step<Vec<f64>> {
        let (rows, m) = (self.problem.rows(), self.problem.targets().n_outputs());
        let model = model_on(kernel, &rows, &self.part.samples, m)?;
        model.pack(&mut || self.watch.glance())?;
        let all = ModelRows::of_some(rows.view(), &self.part.samples, &model)?;
        basis_gram(&all, self.watch)
    }

    /// Solves at `log C, log γ`, beside those given, and hands over the kernel matrix, the solution,
    /// the weights and the one to ask whether to go on.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch says; `NotPositiveDefinite` where C or γ is no number, too.
    fn solve<T>(
        &mut self,
        [c, gamma]: [f64; 2],
        ask: impl FnOnce(&Polish, &[f64], Start<'_>, &[f64], &mut Watch<'_>) -> Step<T>,
    ) -> Step<T> {
        self.evaluations += 1;
        let cost: Vec<f64> = self.part.cost.iter().map(|cost| cost * c.exp()).collect();
        let kernel = with_gamma(self.kernel, gamma.exp())?;
        if kernel.check().is_err() || !cost.iter().all(|c| c.is_normal()) {
            return Err(Error::NotPositiveDefinite("kernel matrix").into());
        }
        let gram = self.gram(kernel)?;
        let (targets, cost) = (self.part.targets(), cost.as_slice());
        let start = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        let solved = newton(&self.polish, &gram, start, self.watch)?;
        (self.coef, self.intercept) = (solved.coef, solved.intercept);
        let solution = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        ask(&self.polish, &gram, solution, &self.weight, self.watch)
    }

    /// The criterion with its gradient; infinite where C or γ is no number, or the machine none that
    /// numbers of this size can tell from rounding.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch says.
    pub(super) fn criterion(&mut self, x: [f64; 2]) -> Step<Criterion> {
        match self.solve(x, criterion) {
            Ok(found) if found.value.is_finite() => Ok(found),
            Ok(_) | Err(Halt::Fail(Error::NotPositiveDefinite(_))) => {
                Ok(Criterion { value: f64::INFINITY, ..Criterion::default() })
            }
            Err(halt) => Err(halt),
        }
    }

    /// Decision values of the machines without each sample; none where there is no machine that
    /// numbers of this size can tell from rounding.
    fn left_out(&mut self, x: [f64; 2]) -> Step<Option<Vec<f64>>> {
        let found = self.solve(x, |polish, gram, solution, _, watch| {
            leave_one_out(polish, gram, solution, watch)
        });
        match found {
            Err(Halt::Fail(Error::NotPositiveDefinite(_))) => Ok(None),
            found => found.map(Some),
        }
    }

    /// The proper score of these values, which a rare class counts in.
    ///
    /// # Errors
    /// As [`Self::criterion`].
    pub(super) fn score(&mut self, x: [f64; 2]) -> Step<f64> {
        let Some(values) = self.left_out(x)? else { return Ok(f64::NEG_INFINITY) };
        Ok(proper_score_of(&values, self.part.targets(), &self.weight, self.polish.loss)?)
    }

    /// Weight of the samples that the machines without them put into another class.
    ///
    /// # Errors
    /// As [`Self::criterion`].
    pub(super) fn errors(&mut self, x: [f64; 2]) -> Step<f64> {
        let Some(left_out) = self.left_out(x)? else { return Ok(f64::INFINITY) };
        let Targets::Classes { index, .. } = self.part.targets() else {
            return Ok(f64::INFINITY);
        };
        let m = self.problem.targets().n_outputs();
        let wrong = |(&class, f): (&u32, &[f64])| match m {
            1 => (class == 1) != (f[0] > 0.0),
            _ => f.iter().any(|&other| other > f[class as usize]),
        };
        let judged = index.iter().zip(left_out.chunks_exact(m)).map(wrong);
        Ok(judged.zip(&self.weight).map(|(wrong, w)| if wrong { *w } else { 0.0 }).sum())
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().map(|v| v / values.len() as f64).sum()
}
