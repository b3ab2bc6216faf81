//! The observer of a fit that Python watches.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use budgetsvm::watch::{Cancel, Observer, Phase, Progress};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::enter::SIGNAL_INTERVAL;
use crate::looks::Looks;

/// How often Python is told, at most, between the ends of passes.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// What the listener wants.
pub(crate) enum Reply {
    GoOn,
    /// End the fit with the model so far.
    Stop,
    /// An exception was raised: throw the result away.
    Abort,
}

/// What Python is told: the progress, and the last score of a validation part.
pub(crate) type Told = (Progress, Option<f64>);

/// Sits in the pool and talks to the calling thread.
pub(crate) struct Bridge {
    progress: Sender<Told>,
    answers: Receiver<Reply>,
    interrupt: Arc<AtomicBool>,
    listened: bool,
    /// Nothing yet: the first look is told, however short the fit.
    told: Option<Instant>,
    score: Option<f64>,
    looks: Option<Looks>,
}

impl Bridge {
    /// A bridge, and the flag that breaks the fit off.
    pub(crate) fn new(
        progress: Sender<Told>,
        answers: Receiver<Reply>,
        listened: bool,
    ) -> (Self, Arc<AtomicBool>) {
        let interrupt = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&interrupt);
        (
            Self { progress, answers, interrupt, listened, told: None, score: None, looks: None },
            flag,
        )
    }

    /// Measures the stretches between looks, where a test wants that.
    pub(crate) fn measured(self, py: Python<'_>) -> Self {
        Self { looks: Looks::begin(py), ..self }
    }

    /// A bridge to nobody.
    pub(crate) fn deaf() -> Self {
        Self::new(channel().0, channel().1, false).0
    }
}

impl Observer for Bridge {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<Cancel> {
        if let Some(looks) = &mut self.looks {
            looks.look();
        }
        if self.interrupt.load(Ordering::Relaxed) {
            return ControlFlow::Break(Cancel::Discard);
        }
        let waited = self.told.is_none_or(|told| told.elapsed() >= PROGRESS_INTERVAL);
        let due = progress.phase == Phase::EndOfPass || waited;
        if !(self.listened && due) {
            return ControlFlow::Continue(());
        }
        self.told = Some(Instant::now());
        let sent = self.progress.send((*progress, self.score)).ok();
        let answer = sent.and_then(|()| self.answers.recv().ok());
        match answer {
            Some(Reply::GoOn) => ControlFlow::Continue(()),
            Some(Reply::Stop) => ControlFlow::Break(Cancel::Keep),
            Some(Reply::Abort) | None => ControlFlow::Break(Cancel::Discard),
        }
    }

    fn scored(&mut self, score: f64) {
        self.score = Some(score);
    }
}

/// Looks for signals where the work runs, which is the calling thread.
pub(crate) struct Signals {
    looked: Instant,
    /// What a handler of a signal has raised.
    pub(crate) raised: Option<PyErr>,
    looks: Option<Looks>,
}

impl Signals {
    pub(crate) fn new(py: Python<'_>) -> Self {
        Self { looked: Instant::now(), raised: None, looks: Looks::begin(py) }
    }
}

impl Observer for Signals {
    fn observe(&mut self, _: &Progress) -> ControlFlow<Cancel> {
        if let Some(looks) = &mut self.looks {
            looks.look();
        }
        if self.raised.is_none() && self.looked.elapsed() >= SIGNAL_INTERVAL {
            self.raised = Python::attach(|py| py.check_signals()).err();
            self.looked = Instant::now();
        }
        match self.raised {
            Some(_) => ControlFlow::Break(Cancel::Discard),
            None => ControlFlow::Continue(()),
        }
    }
}

/// Tells the listener, a callable that takes a dictionary and returns True to stop.
pub(crate) fn notify(
    py: Python<'_>,
    listener: Option<&Py<PyAny>>,
    (progress, score): &Told,
) -> PyResult<Reply> {
    let Some(listener) = listener else { return Ok(Reply::GoOn) };
    let told = PyDict::new(py);
    told.set_item("phase", progress.phase.name())?;
    told.set_item("iteration", progress.iteration)?;
    told.set_item("seen", progress.seen)?;
    told.set_item("n_samples", progress.n_samples)?;
    told.set_item("n_sv", progress.n_terms)?;
    told.set_item("moved", progress.moved)?;
    told.set_item("maintained", progress.maintained)?;
    told.set_item("objective", progress.objective)?;
    told.set_item("validation_score", *score)?;
    told.set_item("time", progress.elapsed.as_secs_f64())?;
    if let Some(search) = &progress.search {
        told.set_item("planned", search.planned)?;
        told.set_item("candidates", search.candidates)?;
        told.set_item("error", search.error)?;
        told.set_item("time_left", search.left.map(|left| left.as_secs_f64()))?;
    }
    let stop = listener.bind(py).call1((told,))?.is_truthy()?;
    Ok(if stop { Reply::Stop } else { Reply::GoOn })
}
