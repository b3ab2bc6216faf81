//! Asking the watcher, and how a stop travels up.

use std::ops::ControlFlow;

use super::Watcher;
use crate::error::Error;
use crate::solver::StopReason;

/// Why work ended before its end.
#[derive(Debug)]
pub(in crate::solver) enum Halt {
    /// The watcher asked: what is held is the result.
    Stop(StopReason),
    /// Nothing usable.
    Fail(Error),
}

/// What every part of the work returns.
pub(in crate::solver) type Step<T> = Result<T, Halt>;

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

/// The watcher with what it is told.
pub(in crate::solver) struct Watch<'a, 'w> {
    watcher: &'a mut Watcher<'w>,
    pub(in crate::solver) step: usize,
    pub(in crate::solver) objective: f64,
}

impl<'a, 'w> Watch<'a, 'w> {
    pub(in crate::solver) fn new(watcher: &'a mut Watcher<'w>) -> Self {
        Self { watcher, step: 0, objective: f64::NAN }
    }

    /// Tells the watcher; its wish to stop is the error.
    pub(in crate::solver) fn poll(&mut self) -> Step<()> {
        match (self.watcher)(self.step, self.objective) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(StopReason::Interrupted) => Err(Halt::Fail(Error::Interrupted)),
            ControlFlow::Break(reason) => Err(Halt::Stop(reason)),
        }
    }
}
