//! Training calls: passes over the data for `fit`, the rows as they come for `partial_fit`.

use std::sync::{Arc, Mutex, PoisonError};

use super::OnlineConfig;
use crate::config::Config as _;
use crate::data::{Problem, SampleOrder, passes};
use crate::error::{Error, Result, try_vec};
use crate::estimator::machine::{Machine, State};
use crate::estimator::report::Report;
use crate::estimator::summary::check_columns;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::online::{BudgetedExpansion, Counts, Stream};
use crate::parallel::MIN_PARALLEL_WORK;
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

/// One pass of one stream.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time: f64,
    n_terms: usize,
    counts: Counts,
}

/// What the passes of one stream came to.
struct Trained {
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
        let mut streams = self.begin(problem, watch)?;
        let report = train(self, problem, &mut streams, plan, watch)?;
        Ok((Machine::of_streams(streams), report))
    }

    /// Goes on with new rows in the order in which they stand, or begins with them: a copy that
    /// [learns](OnlineConfig::learn).
    ///
    /// # Errors
    /// As [`OnlineConfig::learn`].
    pub fn partial_fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (start, record): (Option<&Machine<F>>, bool),
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        let mut machine = match start {
            Some(start) => start.copy(watch)?,
            None => Machine::of_streams(self.begin(problem, watch)?),
        };
        let report = self.learn(problem, (&mut machine, record), watch)?;
        Ok((machine, report))
    }

    /// Learns from new rows in the order in which they stand, in place. With `record` the history
    /// has the decision values of every output before each row was learnt from, as `decision.0`,
    /// `decision.1`, ... After `Interrupted`, `OutOfMemory` or when coefficients have left the range
    /// of floats, the machine may have learnt from a part of the rows.
    ///
    /// # Errors
    /// As [`OnlineConfig::fit`]; `FeatureMismatch`, `BadLabels` or `Unsupported` when the rows or
    /// the hyperparameters do not fit the machine.
    pub fn learn<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (machine, record): (&mut Machine<F>, bool),
        watch: &mut Watch<'_>,
    ) -> Result<Report> {
        self.check_going_on(problem, machine)?;
        let streams = machine.streams_mut();
        for stream in &mut *streams {
            stream.adopt(&self.learner)?;
        }
        let plan = Plan { order: &SampleOrder::Sequential, passes: 1, record };
        train(self, problem, streams, plan, watch)
    }

    fn check_call<F: Real>(&self, problem: &Problem<'_, F>) -> Result<()> {
        self.check()?;
        if problem.cost().iter().any(|&cost| cost != 1.0) {
            let text = "online learners take no weights: every cost must be 1";
            return Err(Error::Unsupported(text.into()));
        }
        Ok(())
    }

    /// Streams before their first sample, one an output.
    fn begin<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Stream<F>>> {
        self.check_call(problem)?;
        let (rows, outputs) = (problem.rows(), problem.targets().n_outputs());
        check_columns(rows.n_cols())?;
        let map = self.learner.features(self.kernel, rows.n_cols(), self.seed, watch)?;
        let map = map.map(Arc::new);
        let begin = |output: usize| {
            let origin = origin_for(self.kernel, &rows)?;
            let average = self.average.then(|| self.learner.places_aside(self.aside));
            let model = match map.clone() {
                Some(map) => BudgetedExpansion::on_features(self.kernel, map, self.average)?,
                None => BudgetedExpansion::new(self.kernel, origin, rows.n_cols(), average)?,
            };
            // Two classes use the seed itself; each of several has random choices of its own.
            let seed = match outputs {
                1 => self.seed,
                _ => Rng::stream(self.seed, output as u64).next_u64(),
            };
            Ok(Stream::new(self.learner.clone(), model, seed))
        };
        (0..outputs).map(begin).collect()
    }

    /// Whether the machine can go on with these hyperparameters and rows.
    fn check_going_on<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &Machine<F>,
    ) -> Result<()> {
        self.check_call(problem)?;
        machine.check_fits(problem)?;
        let unsupported = |text: &str| Err(Error::Unsupported(text.to_owned()));
        if machine.kernel() != Some(self.kernel) {
            return unsupported("training can only go on with the same kernel and its parameters");
        }
        let State::Online(streams) = machine.state() else {
            return unsupported("a machine that is of no online learner");
        };
        let (aside, budget) =
            (self.average && self.learner.places_aside(self.aside) > 0, self.learner.budget());
        for stream in streams.iter() {
            if stream.model().weights.is_averaged() != self.average {
                return unsupported("average cannot be changed while training goes on: fit anew");
            }
            if aside && stream.learner().budget() != budget {
                let text = "budget cannot be changed while training goes on with average=true";
                return unsupported(text);
            }
            let terms = stream.model().n_terms();
            if let Some(budget) = budget
                && budget < terms
            {
                let expected =
                    format!(">= {terms}, the number of terms that training goes on from");
                return Err(Error::param("budget", expected, budget));
            }
        }
        Ok(())
    }
}

/// Whether learning from so many rows may share work among threads.
pub(super) fn shares_work<F: Real>(machine: &Machine<F>, n_rows: usize) -> bool {
    let State::Online(streams) = machine.state() else { return true };
    let work = machine.n_terms().saturating_mul(machine.n_features()).saturating_mul(n_rows);
    let classes = streams.len() > 1 && work >= MIN_PARALLEL_WORK;
    classes || streams.iter().any(|stream| stream.shares_work(n_rows))
}

/// The passes of all streams, side by side.
fn train<F: Real>(
    config: &OnlineConfig,
    problem: &Problem<'_, F>,
    streams: &mut [Stream<F>],
    plan: Plan<'_>,
    watch: &mut Watch<'_>,
) -> Result<Report> {
    if let [stream] = streams {
        let trained = run(config, problem, (stream, 0), plan, watch)?;
        return Ok(report(&[trained]));
    }
    // Each is locked by the one thread that trains it.
    let streams: Vec<_> = streams.iter_mut().map(Mutex::new).collect();
    let trained = watch.side_by_side(streams.len(), |output, watch| {
        let mut stream = streams[output].lock().unwrap_or_else(PoisonError::into_inner);
        run(config, problem, (&mut stream, output), plan, watch)
    })?;
    Ok(report(&trained))
}

fn run<F: Real>(
    config: &OnlineConfig,
    problem: &Problem<'_, F>,
    (stream, output): (&mut Stream<F>, usize),
    plan: Plan<'_>,
    watch: &mut Watch<'_>,
) -> Result<Trained> {
    watch.limit(config.max_time, 1.0);
    let (rows, targets, n) = (problem.rows(), problem.targets(), problem.len());
    let mut rng = Rng::new(config.seed);
    let mut entries: Vec<Entry> = Vec::new();
    let mut before = Vec::new();
    if plan.record {
        before = try_vec("decision values", n, 0.0)?;
        before.clear();
    }
    let stop = passes(watch, (plan.order, n, 0..plan.passes), &mut |watch, pass| {
        // The first machine learns something, whatever the limit; the others may be without a term.
        if output > 0 {
            watch.glance()?;
        }
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
    Ok(Trained { stop, entries, before })
}

/// Curves with an entry a pass: the terms of all streams, the shares of their steps together.
fn report(trained: &[Trained]) -> Report {
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
