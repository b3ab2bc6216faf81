//! Limits of a fit, as an observer around the caller's own.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::config::Config;
use crate::solver::{Observer, Progress, StopReason};

/// Passes the progress on, with the time since the whole fit began, until time runs out.
pub(super) struct Limits<'a> {
    observer: &'a mut dyn Observer,
    started: Instant,
    deadline: Option<Duration>,
}

impl<'a> Limits<'a> {
    /// No limit yet.
    pub(super) fn new(observer: &'a mut dyn Observer) -> Self {
        Self { observer, started: Instant::now(), deadline: None }
    }

    /// Sets the time limit to a share of `max_time`, counted from the start of the fit.
    pub(super) fn allow(&mut self, config: &Config, share: f64) {
        self.until(config.max_time.map(|seconds| share * seconds));
    }

    /// Sets the time limit in seconds from the start of the fit.
    pub(super) fn until(&mut self, seconds: Option<f64>) {
        // A limit too long for a `Duration` is none that anybody reaches.
        self.deadline = seconds.map(|s| Duration::try_from_secs_f64(s).unwrap_or(Duration::MAX));
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }
}

impl Observer for Limits<'_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<StopReason> {
        let elapsed = self.started.elapsed();
        self.observer.observe(&Progress { elapsed, ..*progress })?;
        if self.deadline.is_some_and(|deadline| elapsed >= deadline) {
            return ControlFlow::Break(StopReason::MaxTime);
        }
        ControlFlow::Continue(())
    }

    fn scored(&mut self, score: f64) {
        self.observer.scored(score);
    }
}
