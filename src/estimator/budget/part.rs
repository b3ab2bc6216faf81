//! One kernel model: passes, early stopping, polishing.

use super::config::{BudgetConfig, ROWS_A_TERM};
use super::recursive::summaries_of_fit;
use crate::data::{Problem, SomeTargets};
use crate::error::Result;
use crate::estimator::basis::{self, ModelRows};
use crate::estimator::coefficients::{self, Refinement};
use crate::estimator::passes::Passes;
use crate::estimator::repeated::{Repeated, repeated};
use crate::estimator::report::{Entry, Kind};
use crate::estimator::score::score;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::model::KernelModel;
use crate::solver::primal::Distinct;
use crate::solver::recursive::Summary;
use crate::solver::refine::Refined;
use crate::solver::smoothed::{Polished, basis_gram};
use crate::solver::{Look, Looks, Method, PassRecord, State, Stop, run_watched};
use crate::watch::{Phase, Progress, Reader, StopReason, Watch, Words};

/// The name of what polishing came to, in a checkpoint.
const POLISHED: &str = "polished";

/// An expansion under training, and how far its passes are.
#[derive(Clone, Debug)]
pub(super) struct Part<F: Real> {
    pub(super) model: KernelModel<F>,
    pub(super) passes: Passes,
    /// What a stream goes on from beside the model: the coefficients of the passes, and a summary
    /// an output. None after passes alone, or where it is too large.
    pub(super) left: Option<Left>,
}

/// What a fit leaves for a stream.
#[derive(Clone, Debug)]
pub(super) struct Left {
    pub(super) stepped: Vec<f64>,
    pub(super) summaries: Vec<Summary>,
    /// Of the targets.
    pub(super) unit: f64,
}

/// A part and how it came about.
pub(super) struct Trained<F: Real> {
    pub(super) part: Part<F>,
    pub(super) outcome: Outcome,
}

#[derive(Clone, Debug)]
pub(super) struct Outcome {
    pub(super) n_iter: usize,
    pub(super) stop: StopReason,
    pub(super) entries: Vec<Entry>,
    pub(super) smoothed: Option<f64>,
    pub(super) primal: Option<f64>,
    pub(super) advice: Option<String>,
}

/// Passes, then polishing; or the exact solution when the budget holds every distinct row.
pub(super) fn fit<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (from, held_out): (Option<&Part<F>>, Option<&Problem<'_, F>>),
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    if from.is_none()
        && let Some(trained) = small(config, problem, watch)?
    {
        return Ok(trained);
    }
    let trained = first(config, problem, (from, held_out), watch)?;
    finish(config, problem, trained, watch)
}

/// The exact solution when the budget holds every distinct row.
fn small<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Option<Trained<F>>> {
    let Some(budget) = config.budget.filter(|_| config.polishing) else { return Ok(None) };
    watch.limit(config.max_time, 1.0);
    let Some(repeated) = repeated(problem, budget, watch)? else { return Ok(None) };
    let mut trained = exact(config, problem, &repeated, watch)?;
    let stepped = trained.part.model.coef();
    keep(config, problem, (&mut trained, stepped), watch)?;
    Ok(Some(trained))
}

/// The passes.
fn first<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (from, held_out): (Option<&Part<F>>, Option<&Problem<'_, F>>),
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    let polishing = config.polishing && config.budget.is_some();
    watch.limit(config.max_time, if polishing { 0.5 } else { 1.0 });
    let loss = if polishing { config.loss.of_passes() } else { config.loss };
    let of_passes = BudgetConfig { loss, ..config.clone() };
    let visited = match config.budget {
        Some(budget) if polishing => budget.saturating_mul(ROWS_A_TERM),
        _ => usize::MAX,
    };
    passes(&of_passes, problem, (from, held_out), watch, (config.max_iter, visited))
}

/// What comes behind the passes.
fn finish<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    mut trained: Trained<F>,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    let polishing = config.polishing && config.budget.is_some();
    let stepped = trained.part.model.coef();
    let stopped = trained.outcome.stop == StopReason::Callback;
    if polishing && !stopped && trained.part.model.n_terms() > 0 {
        watch.limit(config.max_time, 1.0);
        let polished = polished(config, problem, &trained.part, watch)?;
        let (outcome, last) = (&mut trained.outcome, polished.outcome);
        outcome.entries.extend(last.entries);
        (outcome.smoothed, outcome.primal, outcome.advice) =
            (last.smoothed, last.primal, last.advice);
        if last.stop.is_early() {
            outcome.stop = last.stop;
        }
        trained.part = polished.part;
        let time_left = !last.stop.is_early();
        if config.refine && time_left {
            refine(config, problem, &mut trained, watch)?;
        }
        let moved = config.refine && time_left;
        let stepped = if moved { trained.part.model.coef() } else { stepped };
        keep(config, problem, (&mut trained, stepped), watch)?;
    }
    Ok(trained)
}

/// Adds what a stream goes on from, unless the time is over.
fn keep<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (trained, stepped): (&mut Trained<F>, Vec<f64>),
    watch: &mut Watch<'_>,
) -> Result<()> {
    let unit = config.unit(problem)?;
    let config = &*config.in_unit(unit);
    match summaries_of_fit(config, problem, (&trained.part.model, None), watch) {
        Ok(summaries) => {
            trained.part.left = summaries.map(|summaries| Left { stepped, summaries, unit });
        }
        Err(halt) => {
            halt.into_reason()?;
        }
    }
    Ok(())
}

/// Moves the points, then solves for their coefficients again; kept when the objective is lower.
fn refine<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    trained: &mut Trained<F>,
    watch: &mut Watch<'_>,
) -> Result<()> {
    let (n, n_terms) = (problem.len(), trained.part.model.n_terms());
    let unit = config.unit(problem)?;
    let (refine, polish) = (config.refiner(unit), config.polisher(unit));
    let refinement = Refinement { refine, polish, max_time: config.max_time };
    enter(watch, Phase::Refine, n, n_terms);
    let before = &mut trained.outcome;
    let start = (&trained.part.model, before.smoothed.unwrap_or(f64::NAN));
    let settle = |refined: Refined<F>, watch: &mut Watch<'_>| {
        enter(watch, Phase::Polish, n, n_terms);
        Ok(refined.model)
    };
    let moved = watch.unkept(|watch| refinement.run(problem, start, watch, settle))?;
    let last = polished_outcome(&moved.polished, n_terms, watch, 0);
    before.entries.extend(last.entries.into_iter().map(|e| Entry { kind: Kind::Refine, ..e }));
    before.stop = moved.stop.unwrap_or(before.stop);
    if moved.better {
        (before.smoothed, before.primal, before.advice) = (last.smoothed, last.primal, last.advice);
        let polished = moved.polished;
        trained.part.model = moved.model.with_coef(&polished.coef, polished.intercept)?;
    }
    Ok(())
}

/// One pass over new rows.
pub(super) fn partial_fit<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    from: Option<&Part<F>>,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    watch.limit(config.max_time, 1.0);
    let mut trained = passes(config, problem, (from, None), watch, (1, usize::MAX))?;
    // A stream has no end that could come too early.
    trained.outcome.advice = None;
    Ok(trained)
}

/// The same terms with the best coefficients, and what a stream goes on from.
pub(super) fn polish<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    part: &Part<F>,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    watch.limit(config.max_time, 1.0);
    let mut trained = polished(config, problem, part, watch)?;
    keep(config, problem, (&mut trained, part.model.coef()), watch)?;
    Ok(trained)
}

fn polished<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    part: &Part<F>,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    let (model, n_terms) = (&part.model, part.model.n_terms());
    enter(watch, Phase::Polish, problem.len(), n_terms);
    let polished = match watch.found(POLISHED) {
        Some(mut reader) => Polished::read((n_terms, model.n_outputs()), &mut reader)?,
        None => {
            coefficients::polish(&config.polisher(config.unit(problem)?), problem, model, watch)?
        }
    };
    if polished.stop != StopReason::Callback {
        watch.keep(POLISHED, false, |words| polished.leave(words))?;
    }
    let model = model.with_coef(&polished.coef, polished.intercept.clone())?;
    Ok(Trained {
        part: Part { model, passes: part.passes, left: None },
        outcome: polished_outcome(&polished, n_terms, watch, 0),
    })
}

/// Work on all samples at a time begins.
fn enter(watch: &mut Watch<'_>, phase: Phase, n_samples: usize, n_terms: usize) {
    watch.enter(phase, Progress { seen: n_samples, n_samples, n_terms, ..Progress::default() });
}

fn polished_outcome(
    polished: &Polished,
    n_terms: usize,
    watch: &Watch<'_>,
    n_iter: usize,
) -> Outcome {
    let known = |value: f64| Some(value).filter(|v| v.is_finite());
    let advice = (polished.stop == StopReason::MaxIter).then(|| {
        format!(
            "Polishing did not converge in {} Newton steps: scale the features, lower C, or raise \
             smoothing.",
            polished.steps
        )
    });
    Outcome {
        n_iter,
        stop: polished.stop,
        entries: vec![Entry {
            primal: polished.primal,
            ..Entry::new(Kind::Polish, watch.elapsed(), n_terms)
        }],
        smoothed: known(polished.smoothed),
        primal: known(polished.primal),
        advice,
    }
}

/// Every distinct row is a basis point: the smoothed problem, solved to rounding error.
fn exact<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    repeated: &Repeated,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    let Repeated { distinct, samples, point, cost } = repeated;
    let (rows, targets) = (problem.rows(), problem.targets());
    let outputs = targets.n_outputs();
    let model = basis::model_on(config.kernel, &rows, distinct, outputs)?;
    let n_terms = distinct.len();
    enter(watch, Phase::Polish, problem.len(), n_terms);
    // Other wishes to stop are heard by the solution itself.
    let all = ModelRows::new(rows.view(), &model)?;
    let gram = watch.unbroken(|watch| basis_gram(&all, watch))?;
    let targets = SomeTargets::new(targets, samples.iter().copied())?;
    let (targets, centre) = (targets.view(), config.beginning(problem)?);
    let moved = targets.less(&centre)?;
    let targets = moved.as_ref().map_or(targets, SomeTargets::view);
    let data = Distinct { gram: &gram, point, targets, cost };
    let mut polished = config.polisher(config.unit(problem)?).solve_exactly(data, watch)?;
    polished.intercept.iter_mut().zip(&centre).for_each(|(b, centre)| *b += centre);
    // Only support vectors stay.
    let supports =
        |j: &usize| polished.coef[j * outputs..(j + 1) * outputs].iter().any(|b| *b != 0.0);
    let terms: Vec<usize> = (0..n_terms).filter(supports).collect();
    let chosen: Vec<usize> = terms.iter().map(|&j| distinct[j]).collect();
    let coef: Vec<f64> = terms
        .iter()
        .flat_map(|&j| polished.coef[j * outputs..(j + 1) * outputs].iter().copied())
        .collect();
    let model = basis::model_on(config.kernel, &rows, &chosen, outputs)?
        .with_coef(&coef, polished.intercept.clone())?
        .without_rows()?;
    let seen = problem.len() as u64;
    Ok(Trained {
        part: Part { model, passes: Passes { seen, steps: seen }, left: None },
        outcome: polished_outcome(&polished, chosen.len(), watch, 1),
    })
}

/// The model with the best score so far, in passes that early stopping watches.
struct Early<'e, 'p, F: Real> {
    config: &'e BudgetConfig,
    held_out: Option<&'e Problem<'p, F>>,
    scores: Vec<f64>,
    best: f64,
    /// The passes up to the best.
    pass: usize,
    model: Option<KernelModel<F>>,
    /// It, as it was under training, for a checkpoint.
    words: Option<Vec<u64>>,
    /// What it may be read into.
    new: Option<State<F>>,
}

impl<F: Real> Looks<F> for Early<'_, '_, F> {
    fn look(&mut self, state: &State<F>) -> Result<Look> {
        let Some(held_out) = self.held_out else { return Ok(Look::default()) };
        let model = state.model(self.config.solver)?;
        let now = score(&model, held_out, self.config.loss)?;
        self.scores.push(now);
        if now > self.best {
            (self.best, self.pass, self.model) = (now, self.scores.len(), Some(model));
            if self.words.is_some() {
                let mut words = Words::default();
                state.put(&mut words);
                self.words = Some(words.into_inner());
            }
        }
        let idle = self.scores.len() - self.pass;
        let stop = (idle >= self.config.n_iter_no_change).then_some(StopReason::EarlyStopping);
        Ok(Look { stop, score: Some(now) })
    }

    fn put(&self, words: &mut Words) {
        words.put_floats(&self.scores);
        words.put(self.pass as u64);
        words.put_all(self.words.iter().flatten().copied().collect::<Vec<_>>().into_iter());
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        self.scores = reader.take_floats()?;
        self.pass = reader.take_count(self.scores.len())?;
        let words = reader.take_all()?.to_vec();
        if let (Some(at), Some(mut state)) = (self.pass.checked_sub(1), self.new.take()) {
            self.best = self.scores[at];
            state.read(&mut Reader::new(words.clone()))?;
            self.model = Some(state.model(self.config.solver)?);
        }
        self.words = Some(words);
        Ok(())
    }
}

pub(super) fn passes<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    (from, held_out): (Option<&Part<F>>, Option<&Problem<'_, F>>),
    watch: &mut Watch<'_>,
    (max_iter, visited): (usize, usize),
) -> Result<Trained<F>> {
    let solver = config.solver()?;
    let rows = problem.rows();
    let mut state = match from {
        Some(part) => {
            let Passes { seen, steps } = part.passes;
            State::from_model(&solver, &part.model, steps, seen)?
        }
        None => {
            let origin = origin_for(config.kernel, &rows)?;
            let outputs = problem.targets().n_outputs();
            State::new(&solver, origin, rows.n_cols(), outputs)?
                .with_intercept(config.beginning(problem)?)
        }
    };
    let mut early = Early {
        config,
        held_out,
        scores: Vec::new(),
        best: f64::NEG_INFINITY,
        pass: 0,
        model: None,
        words: watch.keeps().then(Vec::new),
        new: watch.keeps().then(|| state.clone()),
    };
    let stop = Stop { max_iter, tol: config.tol * config.unit(problem)?, rows: visited };
    let outcome = run_watched(&solver, problem, &mut state, &stop, watch, &mut early)?;
    let entry = |(pass, record): (usize, &PassRecord)| Entry {
        moved: record.moved,
        maintained: record.maintained,
        degradation: record.degradation,
        primal: record.primal.unwrap_or(f64::NAN),
        dual: record.dual.unwrap_or(f64::NAN),
        score: early.scores.get(pass).copied().unwrap_or(f64::NAN),
        ..Entry::new(Kind::Pass, record.time, record.n_terms)
    };
    let entries: Vec<Entry> = outcome.history.iter().enumerate().map(entry).collect();
    let unbounded = config.budget.is_none() && config.solver == Method::Bsca;
    let advice = (unbounded && outcome.stop == StopReason::MaxIter).then(|| {
        format!("Without a budget {max_iter} passes did not converge: raise max_iter or tol.")
    });
    let model = match early.model {
        Some(model) => model,
        None => state.model(config.solver)?,
    };
    Ok(Trained {
        part: Part {
            model,
            passes: Passes { seen: state.seen(), steps: state.steps() },
            left: None,
        },
        outcome: Outcome {
            n_iter: entries.len().max(1),
            stop: outcome.stop,
            primal: outcome.history.last().and_then(|record| record.primal),
            entries,
            smoothed: None,
            advice,
        },
    })
}
