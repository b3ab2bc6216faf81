//! What a running fit tells, and what may be answered: progress bars, Ctrl-C and callbacks are all
//! observers.

use std::ops::ControlFlow;
use std::time::Duration;

/// Why a fit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The stopping criterion was met.
    Converged,
    /// `max_iter` passes were made.
    MaxIter,
    /// `max_time` ran out; the model is usable.
    MaxTime,
    /// The score on the validation part stopped rising.
    EarlyStopping,
    /// A callback asked to stop; the model is usable.
    Callback,
}

impl StopReason {
    /// The reason's name in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIter => "max_iter",
            Self::MaxTime => "max_time",
            Self::EarlyStopping => "early_stopping",
            Self::Callback => "callback",
        }
    }

    /// Whether the fit was told to end, by a limit or by somebody, before it was done.
    #[must_use]
    pub fn is_early(self) -> bool {
        matches!(self, Self::MaxTime | Self::Callback)
    }
}

/// Which part of a fit is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// Inside a pass over the data.
    #[default]
    Pass,
    /// A pass has just ended.
    EndOfPass,
    /// The coefficients are being polished on the basis found.
    Polish,
    /// The points of the basis are being moved.
    Refine,
    /// Between the steps of a primal machine.
    Step,
    /// A machine that tunes itself searches, or fits to all rows what it has found.
    Search,
}

impl Phase {
    /// The phase's name in Python.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::EndOfPass => "end_of_pass",
            Self::Polish => "polish",
            Self::Refine => "refine",
            Self::Step => "step",
            Self::Search => "search",
        }
    }
}

/// Where a running fit stands.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Progress {
    /// Which part is running.
    pub phase: Phase,
    /// Passes finished (Newton steps while polishing, evaluations while refining, steps of a
    /// search).
    pub iteration: usize,
    /// Samples seen in the running pass.
    pub seen: usize,
    /// Samples of a pass.
    pub n_samples: usize,
    /// Terms of the model.
    pub n_terms: usize,
    /// Share of the pass's steps that changed a coefficient.
    pub moved: f64,
    /// Share of the pass's steps that ran budget maintenance.
    pub maintained: f64,
    /// Objective, where it is known (always while polishing and refining).
    pub objective: Option<f64>,
    /// Time since the fit began.
    pub elapsed: Duration,
    /// Where a search stands, while there is one.
    pub search: Option<SearchProgress>,
}

/// Where a search stands.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct SearchProgress {
    /// Steps that are planned, of which [`Progress::iteration`] are done. A search may need
    /// fewer.
    pub planned: usize,
    /// Candidates that were judged so far.
    pub candidates: usize,
    /// The least error of a candidate so far.
    pub error: Option<f64>,
    /// About how much time is left, where a step is done: what the steps that are left take at the
    /// speed so far, and no more than the limit.
    pub left: Option<Duration>,
}

/// What an observer may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cancel {
    /// End with the model so far ([`StopReason::Callback`]).
    Keep,
    /// End with nothing, as at Ctrl-C ([`crate::error::Error::Interrupted`]).
    Discard,
}

/// Watches a fit, at least every few milliseconds of work, and may stop it. Closures are observers.
pub trait Observer: Send {
    /// Called on a thread that runs the fit, not always the same.
    fn observe(&mut self, progress: &Progress) -> ControlFlow<Cancel>;

    /// The score of the validation part after a pass, told before the end of that pass.
    fn scored(&mut self, _score: f64) {}
}

impl<T: FnMut(&Progress) -> ControlFlow<Cancel> + Send> Observer for T {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<Cancel> {
        self(progress)
    }
}

/// An observer that lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &Progress) -> ControlFlow<Cancel> {
        ControlFlow::Continue(())
    }
}
