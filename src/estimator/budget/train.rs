//! Training: passes, then polishing; or the exact solution when the budget holds every row.

use super::combine;
use super::config::BudgetConfig;
use super::hold_out::split;
use super::part::{self, Part, Trained};
use crate::config::Config as _;
use crate::data::{Problem, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::machine::{Machine, Passes, State};
use crate::estimator::report::{Report, curves};
use crate::float::Real;
use crate::model::Model;
use crate::watch::Watch;

/// What a fit begins with beside the problem.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a, 'p, F: Real> {
    /// A machine to go on from; every row is new to it.
    pub from: Option<&'a Machine<F>>,
    /// The part that early stopping scores; its costs are weights. Unless given it is held out of
    /// the problem.
    pub held_out: Option<&'a Problem<'p, F>>,
}

impl<F: Real> Default for Start<'_, '_, F> {
    fn default() -> Self {
        Self { from: None, held_out: None }
    }
}

/// One problem a machine: `part` is the class, or none for all outputs at once.
type TrainPart<'a, F> =
    dyn Fn(&Problem<'_, F>, Option<usize>, &mut Watch<'_>) -> Result<Trained<F>> + Sync + 'a;

impl BudgetConfig {
    /// Trains a machine.
    ///
    /// # Errors
    /// Those of [`BudgetConfig::check`], `BadLabels` unless two classes have positive cost,
    /// `Unsupported` for an offset of classes without polishing, `OutOfMemory`, and `Interrupted` when the
    /// observer says so.
    pub fn fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Start<'_, '_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check()?;
        check_classes(problem)?;
        let classes = self.loss.is_classification();
        if classes && self.fit_intercept && (!self.polishing || self.budget.is_none()) {
            return Err(Error::Unsupported(
                "fit_intercept=true needs polishing=true and a budget: the offset of classes is \
                 fitted by polishing"
                    .into(),
            ));
        }
        if self.early_stopping && start.held_out.is_none() {
            let parts = split(problem, self.validation_fraction, self.seed)?;
            let [training, held_out] = [parts[0].problem()?, parts[1].problem()?];
            let start = Start { held_out: Some(&held_out), ..start };
            return self.fit(&training, start, watch);
        }
        let parts = self.parts(problem, start.from)?;
        train(self, problem, watch, &|problem, class, watch| {
            let from = parts.get(class.unwrap_or(0));
            let held_out = start.held_out.filter(|_| self.early_stopping);
            match (class, held_out) {
                (Some(class), Some(held_out)) => against_rest(held_out, class, |held_out| {
                    part::fit(self, problem, (from, Some(held_out)), watch)
                }),
                _ => part::fit(self, problem, (from, held_out), watch),
            }
        })
    }

    /// Goes on with one pass over new rows, or begins with them; no polishing.
    ///
    /// # Errors
    /// Those of [`BudgetConfig::check`], `OutOfMemory`, `Interrupted`.
    pub fn partial_fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check()?;
        let parts = self.parts(problem, start)?;
        train(self, problem, watch, &|problem, class, watch| {
            part::partial_fit(self, problem, parts.get(class.unwrap_or(0)), watch)
        })
    }

    /// Keeps the terms of a machine and solves for their coefficients on these rows.
    ///
    /// # Errors
    /// Those of [`BudgetConfig::check`], `OutOfMemory`, `Interrupted`.
    pub fn polish<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: &Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check()?;
        let parts = self.parts(problem, Some(start))?;
        train(self, problem, watch, &|problem, class, watch| {
            part::polish(self, problem, &parts[class.unwrap_or(0)], watch)
        })
    }
}

/// Trains the one part, or one a class, and gathers what they tell.
fn train<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
    train_part: &TrainPart<'_, F>,
) -> Result<(Machine<F>, Report)> {
    let trained = match problem.targets() {
        Targets::Classes { n_classes, .. } if n_classes > 2 && !config.shared => {
            combine::combine(watch.side_by_side(n_classes, |class, watch| {
                against_rest(problem, class, |binary| train_part(binary, Some(class), watch))
            })?)
        }
        _ => {
            let Trained { part, outcome } = train_part(problem, None, watch)?;
            (vec![part], outcome)
        }
    };
    let (parts, outcome) = trained;
    let report = Report {
        n_iter: outcome.n_iter,
        stop: outcome.stop,
        history: curves(&outcome.entries),
        smoothed: outcome.smoothed,
        primal: outcome.primal,
        advice: outcome.advice,
    };
    let (models, passes) = parts.into_iter().map(|part| (part.model, part.passes)).unzip();
    Ok((Machine::new(Model::of_expansions(models), State::Passes(passes)), report))
}

/// The same rows, with one class against the others.
fn against_rest<F: Real, T>(
    problem: &Problem<'_, F>,
    class: usize,
    task: impl FnOnce(&Problem<'_, F>) -> Result<T>,
) -> Result<T> {
    let mut binary = try_vec("class indices", problem.len(), 0u32)?;
    if let Targets::Classes { index, .. } = problem.targets() {
        binary.iter_mut().zip(index).for_each(|(b, &c)| *b = u32::from(c as usize == class));
    }
    let targets = Targets::Classes { index: &binary, n_classes: 2 };
    let rows = problem.rows();
    task(&Problem::new(rows.view(), targets, problem.cost())?)
}

pub(in crate::estimator) fn check_classes<F: Real>(problem: &Problem<'_, F>) -> Result<()> {
    let Targets::Classes { index, .. } = problem.targets() else { return Ok(()) };
    let mut weighty = index.iter().zip(problem.cost()).filter(|(_, c)| **c > 0.0).map(|(y, _)| y);
    let first = weighty.next();
    if weighty.all(|class| Some(class) == first) {
        return Err(Error::BadLabels(
            "only one class has samples of positive weight, at least 2 classes are needed".into(),
        ));
    }
    Ok(())
}

impl BudgetConfig {
    /// The parts of a machine that can be gone on from with these hyperparameters and data; none
    /// where there is no machine.
    fn parts<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
    ) -> Result<Vec<Part<F>>> {
        let Some(machine) = start else { return Ok(Vec::new()) };
        machine.check_fits(problem)?;
        if machine.kernel() != Some(self.kernel) {
            return Err(Error::Unsupported(
                "training can only go on with the same kernel and its parameters: set gamma to a \
                 number, or fit anew without warm_start"
                    .into(),
            ));
        }
        let (model, separate) = (machine.model()?, machine.n_outputs() > 1 && !self.shared);
        if separate != matches!(model, Model::Each(_)) {
            let text = "shared cannot be changed while training goes on";
            return Err(Error::Unsupported(text.into()));
        }
        let State::Passes(passes) = machine.state() else {
            return Err(Error::Unsupported("a machine that is of no budgeted training".into()));
        };
        let part = |(model, &passes): (_, &Passes)| Part { model: Clone::clone(model), passes };
        let parts: Vec<Part<F>> = model.expansions().iter().zip(passes).map(part).collect();
        let most = parts.iter().map(|part| part.model.n_terms()).max().unwrap_or(0);
        match self.budget {
            Some(budget) if budget < most => Err(Error::param(
                "budget",
                format!(">= {most}, the number of terms that training goes on from"),
                budget,
            )),
            _ => Ok(parts),
        }
    }
}
