//! The one training loop.

use std::time::Duration;

use super::budgeted::{Budgeted, Method, State};
use super::objective::objectives;
use super::sweep::{Begun, Counts, Duals, Place, pass};
use crate::data::{Problem, passes};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::watch::{Progress, Reader, Step, StopReason, Watch, Words};

/// When the loop ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// Passes over the data, at least 1.
    pub max_iter: usize,
    /// BSCA: no coefficient moved by more than this (in units of the margin) in a whole pass.
    pub tol: f64,
    /// Samples that a pass in random order visits at most: others choose no terms.
    pub rows: usize,
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
    /// Sum of the squared weight degradations `‖Δw‖²` of the pass's events.
    pub degradation: f64,
    /// Primal objective of the loss itself, on request.
    pub primal: Option<f64>,
    /// Dual objective `Σ term(α) - ½‖w‖²` with the model's own w, on request. BSGD's α, what a
    /// sample has added (\[BSCA\] eq. 4), is known only of a model that began empty. At the end of
    /// a pass in which every sample has had one step a pass it is in its box (n C/t times at most
    /// t/n violations); samples drawn at random may leave it.
    pub dual: Option<f64>,
}

/// What the loop came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub stop: StopReason,
    /// One record a pass.
    pub history: Vec<PassRecord>,
    /// BSCA's dual variables, n x outputs; for BSGD empty, or counted by its steps.
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

/// Who looks at the model after every pass. Closures do.
pub trait Looks<F: Real>: Sync {
    /// Whether to stop, and what the model scores.
    ///
    /// # Errors
    /// Any: it ends the run.
    fn look(&mut self, state: &State<F>) -> Result<Look>;

    /// What a checkpoint has of what was seen.
    fn put(&self, _words: &mut Words) {}

    /// What that put.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    fn read(&mut self, _reader: &mut Reader) -> Result<()> {
        Ok(())
    }
}

impl<F: Real, T: FnMut(&State<F>) -> Result<Look> + Sync> Looks<F> for T {
    fn look(&mut self, state: &State<F>) -> Result<Look> {
        self(state)
    }
}

/// The name of passes in a checkpoint.
const NAME: &str = "passes";

/// How far passes are, beside their model.
pub(super) struct Run {
    /// The pass that runs, or the number of all.
    pub(super) iteration: usize,
    /// The time of the passes so far.
    pub(super) before: Duration,
    pub(super) history: Vec<PassRecord>,
    /// Why they ended.
    pub(super) ended: Option<StopReason>,
}

/// Runs passes over `problem` until one of the stopping rules holds or the watch says so.
///
/// # Errors
/// `Interrupted` when the observer says so; `OutOfMemory`; `InvalidParam`.
pub fn run<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    stop: &Stop,
    watch: &mut Watch<'_>,
) -> Result<Outcome> {
    run_watched(solver, problem, state, stop, watch, &mut |_: &_| Ok(Look::default()))
}

/// [`run`], with a look at the model after every pass, which may stop it: early stopping scores
/// it there. Where the watch keeps how far work is, it goes on from there, to the same bits.
///
/// # Errors
/// As [`run`], and those of `looks`.
pub fn run_watched<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    stop: &Stop,
    watch: &mut Watch<'_>,
    looks: &mut dyn Looks<F>,
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
    let with_alpha = match solver.method {
        Method::Bsca => true,
        // What rows of earlier calls have added is not known.
        Method::Bsgd => {
            solver.record_objective && state.steps == 0 && solver.loss.dual_beyond_box()
        }
    };
    let mut duals = Duals::new(problem.len(), outputs, with_alpha)?;
    let mut run = Run { iteration: 0, before: Duration::ZERO, history: Vec::new(), ended: None };
    let mut begun = match watch.found(NAME) {
        Some(mut reader) => run.read((state, &mut duals), looks, &mut reader)?,
        None => None,
    };
    if let Some(stop) = run.ended {
        return Ok(Outcome { stop, history: run.history, alpha: duals.alpha });
    }
    let start = watch.elapsed().saturating_sub(run.before);
    let mut aside = Duration::ZERO;
    let rules = (&solver.order, problem.len(), run.iteration..stop.max_iter);
    let most = stop.rows;
    let stop = passes(watch, rules, &mut |watch, order| {
        let rng = state.rng.clone();
        let ids = order.first_ids(&mut state.rng, most)?;
        let pool = watch.pool();
        let mut poll = |place: &Place<'_, F>| {
            tell(watch, place.counts, place.state.expansion.len());
            let said = watch.glance();
            run.before = watch.elapsed().saturating_sub(start + aside);
            watch.keep_if_due(NAME, &said, |words| run.put(&rng, place, looks, words))?;
            said
        };
        let begun = match begun.take() {
            Some(begun) => begun,
            None => Begun::new(state)?,
        };
        let parts = (ids, begun);
        let (counts, said) = pass(solver, problem, state, &mut duals, parts, (pool, &mut poll))?;
        state.expansion.check_finite()?;
        said?;
        tell(watch, &counts, state.expansion.len());
        let time = watch.elapsed().saturating_sub(start + aside);
        let (primal, dual) = if solver.record_objective {
            let before = watch.elapsed();
            let found = objectives(solver, problem, state, &duals)?;
            aside += watch.elapsed() - before;
            (Some(found.0), found.1)
        } else {
            (None, None)
        };
        let Progress { n_terms, moved, maintained, .. } = watch.tick;
        let degradation = counts.degradation;
        let record = PassRecord { time, n_terms, moved, maintained, degradation, primal, dual };
        run.history.push(record);
        run.iteration += 1;
        let look = looks.look(state)?;
        if let Some(score) = look.score {
            watch.scored(score);
        }
        watch.tick.objective = primal;
        let converged = solver.method == Method::Bsca && counts.largest <= stop.tol;
        Ok(look.stop.or(converged.then_some(StopReason::Converged)))
    })?;
    if stop != StopReason::Callback {
        run.ended = Some(stop);
        watch.keep(NAME, true, |words| run.put_end(state, looks, words))?;
    }
    Ok(Outcome { stop, history: run.history, alpha: duals.alpha })
}

/// One pass over `problem`, a part of longer work: its end is told to nobody.
///
/// # Errors
/// What the watch says, `OutOfMemory`, `InvalidParam`, `NonFinite` when coefficients have left the
/// range of floats.
pub fn run_part<F: Real>(
    solver: &Budgeted,
    problem: &Problem<'_, F>,
    state: &mut State<F>,
    watch: &mut Watch<'_>,
) -> Step {
    solver.check()?;
    let mut ids = try_vec("the order of the samples", problem.len(), 0)?;
    solver.order.next_pass(&mut state.rng, &mut ids)?;
    let mut duals =
        Duals::new(problem.len(), problem.targets().n_outputs(), solver.method == Method::Bsca)?;
    let pool = watch.pool();
    let mut poll = |_: &Place<'_, F>| watch.glance();
    let order = (&ids[..], Begun::new(state)?);
    let (_, said) = pass(solver, problem, state, &mut duals, order, (pool, &mut poll))?;
    state.expansion.check_finite()?;
    said
}

fn tell(watch: &mut Watch<'_>, counts: &Counts, n_terms: usize) {
    let share = |count: usize| count as f64 / counts.steps.max(1) as f64;
    let (moved, maintained) = (share(counts.moved), share(counts.maintained));
    watch.tick = Progress { seen: counts.steps, n_terms, moved, maintained, ..watch.tick };
}
