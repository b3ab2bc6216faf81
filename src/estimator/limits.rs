//! Limits of a fit, as an observer around the caller's own.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::budget::BudgetConfig;
use crate::solver::{Observer, Progress, StopReason};

/// The time of one fit, which machines trained side by side and one after another share.
pub(super) struct Clock {
    started: Instant,
    /// Machines that have not begun.
    waiting: AtomicUsize,
}

impl Clock {
    /// The fit begins, of this many machines.
    pub(super) fn new(machines: usize) -> Self {
        Self { started: Instant::now(), waiting: AtomicUsize::new(machines) }
    }

    /// The next machine begins: it may take as much of the time that is left as leaves the same to
    /// every machine after it, with as many at once as the current pool has threads.
    pub(super) fn begin<'a>(&self, observer: &'a mut dyn Observer) -> Limits<'a> {
        let waiting = self.waiting.fetch_sub(1, Ordering::Relaxed).max(1);
        let rounds = waiting.div_ceil(rayon::current_num_threads()) as f64;
        let begun = self.started.elapsed();
        Limits { observer, started: self.started, begun, rounds, deadline: None }
    }
}

/// Passes the progress on, with the time since the whole fit began, until time runs out.
pub(super) struct Limits<'a> {
    observer: &'a mut dyn Observer,
    started: Instant,
    /// When this machine began, counted from the start of the fit ...
    begun: Duration,
    /// ... and for how many like it, one after another, the rest of the time is.
    rounds: f64,
    deadline: Option<Duration>,
}

impl<'a> Limits<'a> {
    /// Of a fit of one machine, which begins; no limit yet.
    pub(super) fn new(observer: &'a mut dyn Observer) -> Self {
        Clock::new(1).begin(observer)
    }

    /// Sets the time limit to a share of what `max_time` leaves to this machine.
    pub(super) fn allow(&mut self, config: &BudgetConfig, share: f64) {
        self.set(config.max_time, share);
    }

    /// Sets the time limit to what this limit of the fit, in seconds, leaves to this machine.
    pub(super) fn until(&mut self, seconds: Option<f64>) {
        self.set(seconds, 1.0);
    }

    fn set(&mut self, seconds: Option<f64>, share: f64) {
        let begun = self.begun.as_secs_f64();
        self.deadline = seconds.map(|whole| {
            let seconds = begun + share * (whole - begun).max(0.0) / self.rounds;
            // A limit too long for a `Duration` is none that anybody reaches.
            Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
        });
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::Silent;

    #[test]
    fn machines_share_the_time_that_is_left() {
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let left = |threads: usize, machines: usize, share: f64| -> Vec<f64> {
            pool(threads).install(|| {
                let clock = Clock::new(machines);
                let window = |_| {
                    let mut observer = Silent;
                    let mut limits = clock.begin(&mut observer);
                    limits.set(Some(1e6), share);
                    (limits.deadline.unwrap() - limits.begun).as_secs_f64().round()
                };
                (0..machines).map(window).collect()
            })
        };
        // None of them uses any.
        assert_eq!(left(1, 4, 1.0), [250_000.0, 333_333.0, 500_000.0, 1_000_000.0]);
        assert_eq!(left(2, 3, 1.0), [500_000.0, 1_000_000.0, 1_000_000.0]);
        assert_eq!(left(1, 1, 0.5), [500_000.0]);
    }

    #[test]
    fn a_limit_that_is_over_or_endless_is_one() {
        let mut observer = Silent;
        let mut limits = Limits::new(&mut observer);
        limits.begun = Duration::from_secs(3);
        limits.until(Some(2.0));
        assert_eq!(limits.deadline, Some(limits.begun));
        limits.until(Some(f64::MAX));
        assert_eq!(limits.deadline, Some(Duration::MAX));
        limits.until(None);
        assert_eq!(limits.deadline, None);
    }
}
