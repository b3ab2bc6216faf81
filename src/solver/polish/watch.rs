//! Asking the watcher, and how a stop travels up.

use std::ops::ControlFlow;

use super::Watcher;
use crate::error::Error;
use crate::solver::StopReason;

/// Why work ended before its end.
#[derive(Debug)]
pub(super) enum Halt {
    /// The watcher asked: what is held is the result.
    Stop(StopReason),
    /// Nothing usable.
    Fail(Error),
}

/// What every part of the work returns.
pub(super) type Step<T> = Result<T, Halt>;

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

/// The watcher with what it is told.
pub(super) struct Watch<'a, 'w> {
    watcher: &'a mut Watcher<'w>,
    pub(super) step: usize,
    pub(super) objective: f64,
}

impl<'a, 'w> Watch<'a, 'w> {
    pub(super) fn new(watcher: &'a mut Watcher<'w>) -> Self {
        Self { watcher, step: 0, objective: f64::NAN }
    }

    /// Tells the watcher; its wish to stop is the error.
    pub(super) fn poll(&mut self) -> Step<()> {
        match (self.watcher)(self.step, self.objective) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(StopReason::Interrupted) => Err(Halt::Fail(Error::Interrupted)),
            ControlFlow::Break(reason) => Err(Halt::Stop(reason)),
        }
    }
}
