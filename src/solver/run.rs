//! The one training loop.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::budgeted::{Budgeted, State};
use super::objective::objectives;
use super::sweep::{Counts, Duals, pass};
use super::{Observer, Phase, Progress, StopReason};
use crate::data::Problem;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;

/// When the loop ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Passes over the data, at least 1.
    pub max_iter: usize,
    /// BSCA: no coefficient moved by more than this (in units of the margin) in a whole pass.
    pub tol: f64,
}

/// One pass, as it was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PassRecord {
    /// Since the loop began, without the time that objectives took.
    pub time: Duration,
    /// Terms of the model.
    pub n_terms: usize,
    /// Share of steps that changed a coefficient.
    pub moved: f64,
    /// Share of steps that ran maintenance.
    pub maintained: f64,
    /// Sum of the squared weight degradations (in units of the stored coefficients).
    pub degradation: f64,
    /// Primal objective of the loss itself, on request.
    pub primal: Option<f64>,
    /// Dual objective `Σ term(α) - ½‖w‖²` with the model's own w, on request (BSCA).
    pub dual: Option<f64>,
}

/// What the loop came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub stop: StopReason,
    /// One record a pass.
    pub history: Vec<PassRecord>,
    /// Dual variables, n x outputs (empty for BSGD).
    pub alpha: Vec<f64>,
}

/// What a look at the model after a pass came to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Look {
    /// Why to stop, if so.
    pub stop: Option<StopReason>,
    /// Score on the validation part, if there is one.
    pub score: Option<f64>,
}

/// Least time between two questions to the observer.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs passes over `problem` until one of the stopping rules holds or the observer says so.
/// Call it inside [`crate::parallel::run`].
///
/// # Errors
/// `Interrupted` when the observer answers so; `OutOfMemory`; `InvalidParam`.
pub fn run<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome> {
    run_watched(solver, problem, state, stop, observer, &mut |_| Ok(Look::default()))
}

/// [`run`], with a look at the model after every pass, which may stop it: early stopping scores
/// it there.
///
/// # Errors
/// As [`run`], and those of `after_pass`.
pub fn run_watched<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    stop: &Stop,
    observer: &mut dyn Observer,
    after_pass: &mut dyn FnMut(&State<F>) -> Result<Look>,
) -> Result<Outcome> {
    solver.check()?;
    if stop.max_iter == 0 {
        return Err(Error::param("max_iter", ">= 1", 0));
    }
    if stop.tol.is_nan() || stop.tol < 0.0 {
        return Err(Error::param("tol", ">= 0", stop.tol));
    }
    if u32::try_from(problem.len()).is_err() {
        return Err(Error::InvalidData {
            what: "X",
            reason: "more than 2^32 - 1 rows in one call; use partial_fit on parts".into(),
        });
    }
    let outputs = problem.targets().n_outputs();
    let mut duals = Duals::new(problem.len(), outputs, solver.method)?;
    let mut order = try_vec("the order of the samples", problem.len(), 0)?;
    let mut history = Vec::new();
    let start = Instant::now();
    let mut aside = Duration::ZERO;
    let reason = loop {
        solver.order.next_pass(&mut state.rng, &mut order)?;
        let mut last = Instant::now();
        let iteration = history.len();
        let share = |count: usize, counts: &Counts| count as f64 / counts.steps.max(1) as f64;
        let progress = |phase, counts: &Counts, n_terms, iteration, objective| Progress {
            phase,
            iteration,
            seen: counts.steps,
            n_samples: problem.len(),
            n_terms,
            moved: share(counts.moved, counts),
            maintained: share(counts.maintained, counts),
            objective,
            elapsed: start.elapsed(),
        };
        let mut poll = |counts: &Counts, n_terms: usize| {
            if last.elapsed() < PATIENCE {
                return ControlFlow::Continue(());
            }
            last = Instant::now();
            observer.observe(&progress(Phase::Pass, counts, n_terms, iteration, None))
        };
        let (counts, flow) = pass(solver, problem, state, &mut duals, &order, &mut poll)?;
        state.expansion.check_finite()?;
        if let ControlFlow::Break(reason) = flow {
            break reason;
        }
        let time = start.elapsed().saturating_sub(aside);
        let (primal, dual) = if solver.record_objective {
            let before = Instant::now();
            let found = objectives(solver, problem, state, &duals)?;
            aside += before.elapsed();
            (Some(found.0), found.1)
        } else {
            (None, None)
        };
        history.push(PassRecord {
            time,
            n_terms: state.expansion.len(),
            moved: share(counts.moved, &counts),
            maintained: share(counts.maintained, &counts),
            degradation: counts.degradation,
            primal,
            dual,
        });
        let look = after_pass(state)?;
        if let Some(score) = look.score {
            observer.scored(score);
        }
        let terms = state.expansion.len();
        let told = progress(Phase::EndOfPass, &counts, terms, history.len(), primal);
        if let ControlFlow::Break(reason) = observer.observe(&told) {
            break reason;
        }
        if let Some(reason) = look.stop {
            break reason;
        }
        if solver.method == super::Method::Bsca && counts.largest <= stop.tol {
            break StopReason::Converged;
        }
        if history.len() >= stop.max_iter {
            break StopReason::MaxIter;
        }
    };
    if reason == StopReason::Interrupted {
        return Err(Error::Interrupted);
    }
    Ok(Outcome { stop: reason, history, alpha: duals.alpha })
}
