//! Training calls: passes over the data for `fit`, the rows as they come for `partial_fit`.

use super::OnlineConfig;
use crate::config::Config as _;
use crate::data::{Problem, SampleOrder, passes};
use crate::error::{Error, Result, try_vec};
use crate::estimator::machine::{Machine, State};
use crate::estimator::report::Report;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::online::{BudgetedExpansion, Counts, Stream};
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

/// One pass of one stream.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: f64,
    n_terms: usize,
    counts: Counts,
}

struct Trained<F: Real> {
    stream: Stream<F>,
    stop: StopReason,
    entries: Vec<Entry>,
    /// Decision values of the rows before they were learnt from, where asked for.
    before: Vec<f64>,
}

/// What a call does with the rows.
#[derive(Clone, Copy)]
struct Plan<'a> {
    order: &'a SampleOrder,
    passes: usize,
    record: bool,
}

impl OnlineConfig {
    /// Learns from the start: `max_iter` passes in the order wanted.
    ///
    /// # Errors
    /// Those of [`OnlineConfig::check`], `OutOfMemory`, `Unsupported` for costs other than 1 and when
    /// coefficients leave the range of floats, `Interrupted`.
    pub fn fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        let plan = Plan { order: &self.order, passes: self.max_iter, record: false };
        train(self, problem, None, plan, watch)
    }

    /// Goes on with new rows in the order in which they stand, or begins with them. With `record`
    /// the history has the decision values of every output before each row was learnt from, as
    /// `decision.0`, `decision.1`, ...
    ///
    /// # Errors
    /// As [`OnlineConfig::fit`]; `FeatureMismatch`, `BadLabels` or `Unsupported` when the rows or
    /// the hyperparameters do not fit the machine.
    pub fn partial_fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (start, record): (Option<&Machine<F>>, bool),
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        let plan = Plan { order: &SampleOrder::Sequential, passes: 1, record };
        train(self, problem, start, plan, watch)
    }
}

fn train<F: Real>(
    config: &OnlineConfig,
    problem: &Problem<'_, F>,
    start: Option<&Machine<F>>,
    plan: Plan<'_>,
    watch: &mut Watch<'_>,
) -> Result<(Machine<F>, Report)> {
    config.check()?;
    if problem.cost().iter().any(|&cost| cost != 1.0) {
        let text = "online learners take no weights: every cost must be 1";
        return Err(Error::Unsupported(text.into()));
    }
    let outputs = problem.targets().n_outputs();
    let begin = |output: usize| match start {
        Some(machine) => go_on(config, problem, machine, output),
        None => {
            let rows = problem.rows();
            let origin = origin_for(config.kernel, &rows);
            let average = config.average.then(|| config.learner.places_aside(config.aside));
            let model = match config.learner.features(config.kernel, rows.n_cols(), config.seed)? {
                Some(map) => BudgetedExpansion::on_features(config.kernel, map, config.average)?,
                None => BudgetedExpansion::new(config.kernel, origin, rows.n_cols(), average)?,
            };
            // Two classes use the seed itself; each of several has random choices of its own.
            let seed = match outputs {
                1 => config.seed,
                _ => Rng::stream(config.seed, output as u64).next_u64(),
            };
            Ok(Stream::new(config.learner.clone(), model, seed))
        }
    };
    let trained = if outputs == 1 {
        vec![run(config, problem, (begin(0)?, 0), plan, watch)?]
    } else {
        watch.side_by_side(outputs, |output, watch| {
            run(config, problem, (begin(output)?, output), plan, watch)
        })?
    };
    let report = report(&trained);
    let streams = trained.into_iter().map(|t| t.stream).collect();
    Ok((Machine::of_streams(streams), report))
}

/// The stream of one output, ready to go on with these hyperparameters and rows.
fn go_on<F: Real>(
    config: &OnlineConfig,
    problem: &Problem<'_, F>,
    machine: &Machine<F>,
    output: usize,
) -> Result<Stream<F>> {
    let (expected, got) = (machine.n_features(), problem.rows().n_cols());
    if expected != got {
        return Err(Error::FeatureMismatch { expected, got });
    }
    if machine.n_outputs() != problem.targets().n_outputs() {
        return Err(Error::BadLabels("another number of classes than the machine has".into()));
    }
    let unsupported = |text: &str| Err(Error::Unsupported(text.to_owned()));
    if machine.kernel() != Some(config.kernel) {
        return unsupported("training can only go on with the same kernel and its parameters");
    }
    let State::Online(streams) = machine.state() else {
        return unsupported("a machine that is of no online learner");
    };
    let mut stream = streams[output].clone();
    if stream.model().weights.is_averaged() != config.average {
        return unsupported("average cannot be changed while training goes on: fit anew");
    }
    let aside = config.average && config.learner.places_aside(config.aside) > 0;
    if aside && stream.learner().budget() != config.learner.budget() {
        return unsupported("budget cannot be changed while training goes on with average=True");
    }
    let terms = stream.model().n_terms();
    if let Some(budget) = config.learner.budget()
        && budget < terms
    {
        let expected = format!(">= {terms}, the number of terms that training goes on from");
        return Err(Error::param("budget", expected, budget));
    }
    stream.adopt(&config.learner)?;
    Ok(stream)
}

fn run<F: Real>(
    config: &OnlineConfig,
    problem: &Problem<'_, F>,
    (mut stream, output): (Stream<F>, usize),
    plan: Plan<'_>,
    watch: &mut Watch<'_>,
) -> Result<Trained<F>> {
    watch.limit(config.max_time, 1.0);
    let (rows, targets, n) = (problem.rows(), problem.targets(), problem.len());
    let mut rng = Rng::new(config.seed);
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = Vec::new();
    if plan.record {
        before = try_vec("decision values", n, 0.0)?;
        before.clear();
    }
    let stop = passes(watch, (plan.order, n, plan.passes), |watch, pass| {
        let label = |i| targets.value(i, output);
        let keep = |f| {
            if plan.record {
                before.push(f);
            }
        };
        let (counts, said) = stream.learn(&rows, label, pass.ids(&mut rng)?, keep, watch)?;
        let n_terms = stream.model().n_terms();
        entries.push(Entry { time: watch.elapsed().as_secs_f64(), n_terms, counts });
        said.map(|()| None)
    })?;
    Ok(Trained { stream, stop, entries, before })
}

/// Curves with an entry a pass: the terms of all streams, the shares of their steps together.
fn report<F: Real>(trained: &[Trained<F>]) -> Report {
    let passes = trained.iter().map(|t| t.entries.len()).min().unwrap_or(0);
    let at = |pass: usize| trained.iter().map(move |t| t.entries[pass]);
    let steps = |pass| at(pass).map(|e| e.counts.steps).sum::<usize>().max(1) as f64;
    let curve = |name: &str, value: &dyn Fn(usize) -> f64| {
        (name.to_owned(), (0..passes).map(value).collect::<Vec<f64>>())
    };
    let share = |pass, count: fn(&Counts) -> usize| {
        at(pass).map(|e| count(&e.counts)).sum::<usize>() as f64 / steps(pass)
    };
    let mut history = vec![
        curve("time", &|pass| at(pass).fold(0.0, |most, e| e.time.max(most))),
        curve("n_sv", &|pass| at(pass).map(|e| e.n_terms).sum::<usize>() as f64),
        curve("updates", &|pass| share(pass, |c| c.updates)),
        curve("mistakes", &|pass| share(pass, |c| c.mistakes)),
    ];
    for (output, part) in trained.iter().enumerate().filter(|(_, t)| !t.before.is_empty()) {
        history.push((format!("decision.{output}"), part.before.clone()));
    }
    let early = trained.iter().map(|t| t.stop).find(|s| *s != StopReason::MaxIter);
    Report {
        n_iter: passes,
        stop: early.unwrap_or(StopReason::MaxIter),
        history,
        smoothed: None,
        primal: None,
        advice: None,
    }
}
