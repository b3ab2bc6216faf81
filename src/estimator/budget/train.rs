//! Training: passes, then polishing; or the exact solution when the budget holds every row.

use super::against_rest::against_rest;
use super::combine;
use super::config::BudgetConfig;
use super::hold_out::split;
use super::part::{self, Left, Part, Trained};
use super::recursive::{Learnt, Recursive, summaries_of_terms};
use crate::config::Config as _;
use crate::data::{Problem, SomeTargets, Targets};
use crate::error::{Error, Result, check_features};
use crate::estimator::machine::{Machine, State};
use crate::estimator::report::{Entry, Kind, Report, curves};
use crate::float::Real;
use crate::model::Model;
use crate::watch::{Keeper, Watch};

const OTHER_KERNEL: &str = "training can only go on with the same kernel and its parameters: set \
     gamma to a number, or fit anew without warm_start";

/// What a fit begins with beside the problem.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a, 'p, F: Real> {
    /// A machine to go on from; every row is new to it.
    pub from: Option<&'a Machine<F>>,
    /// The part that early stopping scores; its costs are weights. Unless given it is held out of
    /// the problem.
    pub held_out: Option<&'a Problem<'p, F>>,
    /// Where the fit leaves how far it is, and what it goes on from, a
    /// [`Checkpoint`](crate::estimator::Checkpoint); not with `from`.
    pub checkpoint: Option<&'a dyn Keeper>,
}

impl<F: Real> Default for Start<'_, '_, F> {
    fn default() -> Self {
        Self { from: None, held_out: None, checkpoint: None }
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
        if let Some(own) = self.leveled(problem)? {
            let problem = problem.with_targets(own.view());
            let Some(held_out) = start.held_out else {
                return self.fit(&problem, start, watch);
            };
            let others = self.leveled(held_out)?;
            let targets = others.as_ref().map_or(held_out.targets(), SomeTargets::view);
            let held_out = held_out.with_targets(targets);
            let start = Start { held_out: Some(&held_out), ..start };
            return self.fit(&problem, start, watch);
        }
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
        match start.checkpoint {
            Some(_) if start.from.is_some() => {
                let text = "checkpoint: not where a fit goes on from a machine";
                Err(Error::Unsupported(text.into()))
            }
            Some(checkpoint) => self.fit_parts(problem, start, &mut watch.keeping(checkpoint)),
            None => self.fit_parts(problem, start, watch),
        }
    }

    fn fit_parts<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Start<'_, '_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        let parts = self.parts(problem, start.from, watch)?;
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

    /// Goes on with new rows, or begins with them: by the recursive polish, which leaves a machine
    /// as good as one fitted to all rows so far; after a fit that left no summary
    /// ([`BudgetConfig::resumable`]) its terms stand for its rows. Without polishing by one pass of
    /// plain steps.
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
        if let Some(own) = self.leveled(problem)? {
            return self.partial_fit(&problem.with_targets(own.view()), start, watch);
        }
        let stream = match start.map(Machine::state) {
            Some(State::Recursive(stream)) => Some(stream),
            _ => None,
        };
        if self.polishing && self.budget.is_some() {
            let begun = match (start, stream) {
                (Some(machine), None) => {
                    let parts = self.parts(problem, Some(machine), watch)?;
                    Some(self.begun(parts, self.unit(problem)?, watch)?)
                }
                _ => None,
            };
            return self.learn(None, problem, stream.or(begun.as_ref()), watch);
        }
        let parts = self.parts(problem, start, watch)?;
        train(self, problem, watch, &|problem, class, watch| {
            part::partial_fit(self, problem, parts.get(class.unwrap_or(0)), watch)
        })
    }

    /// Whether [`BudgetConfig::partial_fit`] would only hold so many rows more, which takes no time.
    #[must_use]
    pub fn only_holds<F: Real>(&self, start: Option<&Machine<F>>, rows: usize) -> bool {
        match start.map(Machine::state) {
            Some(State::Recursive(stream)) => *stream.config() == *self && stream.has_room(rows),
            _ => false,
        }
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
        if let Some(own) = self.leveled(problem)? {
            return self.polish(&problem.with_targets(own.view()), start, watch);
        }
        let parts = self.parts(problem, Some(start), watch)?;
        train(self, problem, watch, &|problem, class, watch| {
            part::polish(self, problem, &parts[class.unwrap_or(0)], watch)
        })
    }
}

impl BudgetConfig {
    /// A stream of targets of this unit that goes on from a machine without a summary.
    fn begun<F: Real>(
        &self,
        parts: Vec<Part<F>>,
        unit: f64,
        watch: &mut Watch<'_>,
    ) -> Result<Recursive<F>> {
        let config = &*self.in_unit(unit);
        let learnt = parts.into_iter().map(|Part { model, passes, left: _ }| {
            let made =
                |watch: &mut Watch<'_>| summaries_of_terms(config, &model, passes.seen, watch);
            let summaries = watch.unbroken(made)?;
            Ok(Learnt {
                stepped: model.coef(),
                model,
                passes,
                summaries,
                moments: None,
                units: None,
            })
        });
        Ok(Recursive::of_fit((self, unit), learnt.collect::<Result<_>>()?))
    }

    /// By the recursive polish; `nu` of one class.
    pub(super) fn learn<F: Real>(
        &self,
        nu: Option<f64>,
        problem: &Problem<'_, F>,
        stream: Option<&Recursive<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check_stream(nu, problem, stream)?;
        watch.limit(self.max_time, 1.0);
        let (stream, stop) = Recursive::learn((self, nu), problem, stream, watch)?;
        let entry = Entry::new(Kind::Pass, watch.elapsed(), stream.known_terms());
        let report = Report {
            n_iter: 1,
            stop,
            history: curves(&[entry]),
            smoothed: None,
            primal: None,
            advice: None,
        };
        Ok((Machine::of_recursive(stream), report))
    }

    /// Whether a stream can go on with these hyperparameters and data.
    fn check_stream<F: Real>(
        &self,
        nu: Option<f64>,
        problem: &Problem<'_, F>,
        stream: Option<&Recursive<F>>,
    ) -> Result<()> {
        let Some(stream) = stream else { return Ok(()) };
        let unsupported = |text: &str| Err(Error::Unsupported(text.into()));
        check_features(stream.n_features(), problem.rows().n_cols())?;
        if stream.n_outputs() != problem.targets().n_outputs() {
            let text = "another number of outputs than the machine has";
            return Err(Error::BadLabels(text.into()));
        }
        if stream.nu() != nu {
            return unsupported("nu cannot be changed while training goes on");
        }
        let before = stream.config();
        if before.kernel != self.kernel {
            return unsupported(OTHER_KERNEL);
        }
        if before.shared != self.shared && stream.n_outputs() > 1 {
            return unsupported("shared cannot be changed while training goes on");
        }
        if before.fit_intercept != self.fit_intercept {
            return unsupported("fit_intercept cannot be changed while training goes on");
        }
        match self.budget {
            Some(budget) if budget < stream.most_terms() => {
                let most = stream.most_terms();
                let expected = format!(">= {most}, the number of terms that training goes on from");
                Err(Error::param("budget", expected, budget))
            }
            _ => Ok(()),
        }
    }
}

/// Trains the one part, or one a class, and gathers what they tell.
pub(super) fn train<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
    train_part: &TrainPart<'_, F>,
) -> Result<(Machine<F>, Report)> {
    let trained = match problem.targets().n_outputs() {
        outputs if outputs > 1 && !config.shared => {
            combine::combine(watch.side_by_side(outputs, |output, watch| {
                against_rest(problem, output, |alone| train_part(alone, Some(output), watch))
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
    Ok((machine(config, parts), report))
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

/// A stream that goes on from the parts, where they have what that needs.
pub(super) fn machine<F: Real>(config: &BudgetConfig, parts: Vec<Part<F>>) -> Machine<F> {
    let learnt = |part: &Part<F>| {
        let Left { stepped, summaries, .. } = part.left.clone()?;
        let (model, passes, units) = (part.model.clone(), part.passes, None);
        Some(Learnt { model, stepped, passes, summaries, moments: None, units })
    };
    if let Some(learnt) = parts.iter().map(learnt).collect::<Option<Vec<_>>>() {
        let unit = parts.first().and_then(|part| part.left.as_ref()).map_or(1.0, |left| left.unit);
        return Machine::of_recursive(Recursive::of_fit((config, unit), learnt));
    }
    let (models, passes) = parts.into_iter().map(|part| (part.model, part.passes)).unzip();
    Machine::new(Model::of_expansions(models), State::Passes(passes))
}

impl BudgetConfig {
    /// The parts of a machine that can be gone on from with these hyperparameters and data; none
    /// where there is no machine.
    fn parts<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Part<F>>> {
        let Some(machine) = start else { return Ok(Vec::new()) };
        machine.check_fits(problem)?;
        self.parts_of(machine, watch)
    }

    /// The parts of a machine that fits these hyperparameters.
    pub(super) fn parts_of<F: Real>(
        &self,
        machine: &Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Part<F>>> {
        if machine.kernel() != Some(self.kernel) {
            return Err(Error::Unsupported(OTHER_KERNEL.into()));
        }
        let (model, separate) = (machine.prepare(watch)?, machine.n_outputs() > 1 && !self.shared);
        if separate != matches!(model, Model::Each(_)) {
            let text = "shared cannot be changed while training goes on";
            return Err(Error::Unsupported(text.into()));
        }
        let passes = match machine.state() {
            State::Passes(passes) => passes.clone(),
            State::Recursive(stream) => stream.passes().collect(),
            State::None | State::Online(_) | State::Local(_) | State::Asset(..) => {
                let text = "a machine that is of no budgeted training";
                return Err(Error::Unsupported(text.into()));
            }
        };
        let part = |(at, model): (usize, _)| {
            let passes = passes.get(at).copied().unwrap_or_default();
            Part { model: Clone::clone(model), passes, left: None }
        };
        let parts: Vec<Part<F>> = model.expansions().iter().enumerate().map(part).collect();
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
