//! Fits of one class, polishing, streams.

use super::config::OneClassConfig;
use super::exact;
use super::found::{Found, begun, told};
use crate::config::Config as _;
use crate::data::{Problem, Targets};
use crate::error::{Error, Result};
use crate::estimator::budget::config::{BudgetConfig, ROWS_A_TERM};
use crate::estimator::budget::part::{self, Part};
use crate::estimator::budget::recursive::{Learnt, Recursive, summaries_of_fit};
use crate::estimator::budget::units::Units;
use crate::estimator::machine::{Machine, State};
use crate::estimator::repeated::repeated;
use crate::estimator::report::{Report, curves};
use crate::float::Real;
use crate::model::{KernelModel, Model};
use crate::solver::smoothed::Polish;
use crate::watch::{Phase, Progress, StopReason, Watch};

/// Polishing ends when a step would lower the objective by less than this share of it.
const TOL: f64 = 1e-4;

/// A machine, and what its training tells.
type Told<F> = (Machine<F>, Report);

impl OneClassConfig {
    /// Trains a machine.
    ///
    /// # Errors
    /// Those of the check of hyperparameters, `OutOfMemory`, and `Interrupted` when the observer says
    /// so.
    pub fn fit<F: Real>(&self, problem: &Problem<'_, F>, watch: &mut Watch<'_>) -> Result<Told<F>> {
        self.with(problem, |config, problem| {
            watch.limit(self.max_time, 1.0);
            if let Some(repeated) = repeated(problem, self.budget, watch)? {
                let found = exact::fit((config, self.nu), problem, &repeated, watch)?;
                let stepped = found.part.model.coef();
                return keep(config, problem, (found, stepped), watch);
            }
            watch.limit(self.max_time, 0.5);
            let units = Units::new(config.kernel, self.nu, problem, watch)?;
            let units = units.and(1.0, problem.cost());
            let of_steps = units.of_steps(config, problem, watch)?;
            let rows = problem.rows();
            let cost = of_steps.costs(problem.cost(), units.weight());
            let scaled = Problem::new(rows.view(), problem.targets(), &cost)?;
            let most = (self.max_iter, self.budget.saturating_mul(ROWS_A_TERM));
            let part::Trained { mut part, outcome } =
                part::passes(config, &scaled, (None, None), watch, most)?;
            let mut stepped = part.model.coef();
            units.take(&of_steps, &mut stepped);
            part.model = part.model.with_coef(&stepped, vec![0.0])?;
            let mut found = Found { part, outcome, units };
            if found.outcome.stop != StopReason::Callback && found.part.model.n_terms() > 0 {
                watch.limit(self.max_time, 1.0);
                polish(config, problem, &mut found, watch)?;
            }
            keep(config, problem, (found, stepped), watch)
        })
    }

    /// Goes on with new rows, or begins with them, by the recursive polish.
    ///
    /// # Errors
    /// As [`OneClassConfig::fit`]; `Unsupported` for a machine without a summary of its rows.
    pub fn partial_fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<Told<F>> {
        let stream = match start.map(Machine::state) {
            None => None,
            Some(State::Recursive(stream)) => Some(stream),
            Some(_) => {
                return Err(Error::Unsupported(
                    "this machine has no summary of its rows to go on from: it was saved with \
                     resume=False or resumable=False, its fit was ended early, or the summary would \
                     have taken more than 64 MB; fit anew with resumable=True, or begin with \
                     partial_fit"
                        .into(),
                ));
            }
        };
        self.with(problem, |config, problem| config.learn(Some(self.nu), problem, stream, watch))
    }

    /// Keeps the terms of a machine and solves for their coefficients, and the threshold, on these
    /// rows.
    ///
    /// # Errors
    /// As [`OneClassConfig::fit`].
    pub fn polish<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: &Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Told<F>> {
        start.check_fits(problem)?;
        if start.kernel() != Some(self.kernel) {
            return Err(Error::Unsupported(
                "polishing keeps the kernel: set gamma to a number, or fit anew".into(),
            ));
        }
        self.with(problem, |config, problem| {
            let passes = match start.state() {
                State::Recursive(stream) => stream.passes_of_all(),
                State::Passes(passes) => passes.clone(),
                State::None | State::Online(_) | State::Local(_) | State::Asset(..) => Vec::new(),
            };
            let model = start.prepare(watch)?;
            let ([model], [passes]) = (model.expansions(), &passes[..]) else {
                return Err(Error::Unsupported("a machine that is not of one class".into()));
            };
            watch.limit(self.max_time, 1.0);
            let units = Units::new(config.kernel, self.nu, problem, watch)?;
            let units = units.and(1.0, problem.cost());
            let part = Part { model: inside(model)?, passes: *passes, left: None };
            let mut found = Found { part, outcome: begun(0), units };
            polish(config, problem, &mut found, watch)?;
            let stepped = found.part.model.coef();
            keep(config, problem, (found, stepped), watch)
        })
    }

    /// Calls `task` with the hinge machine and the rows as its problem: all of one label.
    fn with<F: Real, T>(
        &self,
        problem: &Problem<'_, F>,
        task: impl FnOnce(&BudgetConfig, &Problem<'_, F>) -> Result<T>,
    ) -> Result<T> {
        self.check()?;
        let total: f64 = problem.cost().iter().sum();
        if !total.is_finite() {
            return Err(Error::param("sample_weight", "of a finite sum", total));
        }
        let index = crate::error::try_vec("class indices", problem.len(), 1u32)?;
        let targets = Targets::Classes { index: &index, n_classes: 2 };
        task(&self.machine(), &Problem::new(problem.rows().view(), targets, problem.cost())?)
    }
}

/// A model from outside with about the coefficients that it has in units of its threshold.
fn inside<F: Real>(model: &KernelModel<F>) -> Result<KernelModel<F>> {
    let threshold = -model.intercept()[0];
    let factor = if threshold > 0.0 { 1.0 / threshold } else { 0.0 };
    let coef: Vec<f64> = model.coef().iter().map(|v| factor * v).collect();
    let fits = coef.iter().all(|v| v.is_finite());
    let coef = if fits { coef } else { vec![0.0; coef.len()] };
    model.with_coef(&coef, vec![0.0])
}

/// Solves for coefficients and threshold, with corners as wide as the threshold says.
fn polish<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    found: &mut Found<F>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let Found { part, outcome, units } = found;
    let n_terms = part.model.n_terms();
    let tick = Progress { seen: problem.len(), n_samples: problem.len(), ..Progress::default() };
    watch.enter(Phase::Polish, Progress { n_terms, ..tick });
    let how = Polish { tol: TOL, ..config.polisher(1.0) };
    let polished = units.solve(&how, problem, &part.model, watch)?;
    told(outcome, units, &polished, n_terms, watch);
    part.model = part.model.with_coef(&polished.coef, polished.intercept)?;
    Ok(())
}

/// The machine, with what a stream goes on from unless the time is over or it is too large.
fn keep<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (found, stepped): (Found<F>, Vec<f64>),
    watch: &mut Watch<'_>,
) -> Result<Told<F>> {
    let Found { part, outcome, units } = found;
    let summaries = match summaries_of_fit(config, problem, (&part.model, Some(&units)), watch) {
        Ok(summaries) => summaries,
        Err(halt) => {
            halt.into_reason()?;
            None
        }
    };
    let Part { model, passes, left: _ } = part;
    let machine = match summaries {
        Some(summaries) => {
            let units = Some(units);
            let learnt = Learnt { model, stepped, passes, summaries, moments: None, units };
            Machine::of_recursive(Recursive::of_fit((config, 1.0), vec![learnt]))
        }
        None => {
            let model = Model::of_expansions(vec![units.outside(&model)?]);
            Machine::new(model, State::Passes(vec![passes]))
        }
    };
    let report = Report {
        n_iter: outcome.n_iter,
        stop: outcome.stop,
        history: curves(&outcome.entries),
        smoothed: outcome.smoothed,
        primal: outcome.primal,
        advice: outcome.advice,
    };
    Ok((machine, report))
}
