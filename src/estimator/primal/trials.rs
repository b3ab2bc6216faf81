//! Machines at one C and γ after another, for tuning.

use std::ops::ControlFlow;

use super::config::with_gamma;
use super::run::{Run, Shuffled};
use crate::data::{Problem, Targets};
use crate::error::{Error, Result};
use crate::estimator::basis::{ModelRows, model_on};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::solver::StopReason;
use crate::solver::polish::{Polish, Start, Watcher, basis_gram};
use crate::solver::primal::{Criterion, criterion, leave_one_out, newton};

/// Where log γ is sought: the range of a double.
const ALL_GAMMAS: (f64, f64) = (-700.0, 700.0);

/// The one to ask whether to go on, and what it said.
struct Watch<'t, 'r> {
    run: &'t mut Run<'r>,
    stopped: Option<StopReason>,
}

impl Watch<'_, '_> {
    fn poll(&mut self) -> Result<()> {
        if self.stopped.is_none() && !self.run.goes_on()? {
            self.stopped = self.run.stopped.or(Some(StopReason::MaxTime));
        }
        match self.stopped {
            Some(_) => Err(Error::Interrupted),
            None => Ok(()),
        }
    }
}

/// Machines on a part of the samples, each begun with the coefficients of the last.
pub(super) struct Trials<'t, 'r, 'p, F: Real> {
    watch: Watch<'t, 'r>,
    problem: &'t Problem<'p, F>,
    part: Shuffled,
    kernel: AnyKernel,
    polish: Polish,
    /// What C multiplies; the scale is of no consequence.
    weight: Vec<f64>,
    coef: Vec<f64>,
    intercept: Vec<f64>,
    evaluations: usize,
}

impl<'t, 'r, 'p, F: Real> Trials<'t, 'r, 'p, F> {
    pub(super) fn new(run: &'t mut Run<'r>, problem: &'t Problem<'p, F>, part: Shuffled) -> Self {
        Self::of(Watch { run, stopped: None }, problem, part)
    }

    fn of(watch: Watch<'t, 'r>, problem: &'t Problem<'p, F>, part: Shuffled) -> Self {
        let (n, m) = (part.samples.len(), problem.targets().n_outputs());
        let mean = mean(&part.cost);
        let weight = part.cost.iter().map(|c| c / mean).collect();
        let (coef, intercept) = (vec![0.0; n * m], vec![0.0; m]);
        let (kernel, polish) = (watch.run.config.kernel, watch.run.config.polish());
        Self { watch, problem, part, kernel, polish, weight, coef, intercept, evaluations: 0 }
    }

    /// The same on another part, begun anew.
    pub(super) fn on(self, part: Shuffled) -> Self {
        let evaluations = self.evaluations;
        Self { evaluations, ..Self::of(self.watch, self.problem, part) }
    }

    pub(super) fn evaluations(&self) -> usize {
        self.evaluations
    }

    /// Why there are to be no more evaluations, if the caller says so or time presses: then they end
    /// by `Interrupted`.
    pub(super) fn stopped(&self) -> Option<StopReason> {
        self.watch.stopped
    }

    /// What was found; nothing where the trials were stopped, and what has been found before counts.
    ///
    /// # Errors
    /// Any other.
    pub(super) fn unless_stopped<T>(&self, found: Result<T>) -> Result<Option<T>> {
        match found {
            Err(Error::Interrupted) if self.watch.stopped.is_some() => Ok(None),
            found => found.map(Some),
        }
    }

    /// log of the mean C.
    pub(super) fn log_cost(&self) -> f64 {
        mean(&self.part.cost).ln()
    }

    /// log γ, beside the one given, at which two samples' kernel value is a half on average, by
    /// bisection.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`.
    pub(super) fn log_gamma_of_the_data(&mut self) -> Result<f64> {
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

    fn gram(&mut self, kernel: AnyKernel) -> Result<Vec<f64>> {
        let (rows, m) = (self.problem.rows(), self.problem.targets().n_outputs());
        let model = model_on(kernel, &rows, &self.part.samples, m)?;
        let all = ModelRows::of_some(rows.view(), &self.part.samples, &model)?;
        basis_gram(&all, || self.watch.poll())
    }

    /// Solves at `log C, log γ`, beside those given, and hands over the kernel matrix, the solution,
    /// the weights and the one to ask whether to go on.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`; `NotPositiveDefinite` where C or γ is no number, too.
    fn solve<T>(
        &mut self,
        [c, gamma]: [f64; 2],
        ask: impl FnOnce(&Polish, &[f64], Start<'_>, &[f64], &mut Watcher<'_>) -> Result<T>,
    ) -> Result<T> {
        self.evaluations += 1;
        let cost: Vec<f64> = self.part.cost.iter().map(|cost| cost * c.exp()).collect();
        let kernel = with_gamma(self.kernel, gamma.exp())?;
        if kernel.check().is_err() || !cost.iter().all(|c| c.is_normal()) {
            return Err(Error::NotPositiveDefinite("kernel matrix"));
        }
        let gram = self.gram(kernel)?;
        let mut watcher = |_: usize, _: f64| match self.watch.poll() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(StopReason::Interrupted),
        };
        let (targets, cost) = (self.part.targets(), cost.as_slice());
        let start = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        let solved = newton(&self.polish, &gram, start, &mut watcher)?;
        (self.coef, self.intercept) = (solved.coef, solved.intercept);
        let solution = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        ask(&self.polish, &gram, solution, &self.weight, &mut watcher)
    }

    /// The criterion with its gradient; infinite where C or γ is no number, or the machine none that
    /// numbers of this size can tell from rounding.
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`.
    pub(super) fn criterion(&mut self, x: [f64; 2]) -> Result<Criterion> {
        match self.solve(x, criterion) {
            Ok(found) if found.value.is_finite() => Ok(found),
            Ok(_) | Err(Error::NotPositiveDefinite(_)) => {
                Ok(Criterion { value: f64::INFINITY, ..Criterion::default() })
            }
            Err(error) => Err(error),
        }
    }

    /// Weight of the samples that the machines without them put into another class.
    ///
    /// # Errors
    /// As [`Self::criterion`].
    pub(super) fn errors(&mut self, x: [f64; 2]) -> Result<f64> {
        let found = self.solve(x, |polish, gram, solution, _, watcher| {
            leave_one_out(polish, gram, solution, watcher)
        });
        let left_out = match found {
            Err(Error::NotPositiveDefinite(_)) => return Ok(f64::INFINITY),
            found => found?,
        };
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
