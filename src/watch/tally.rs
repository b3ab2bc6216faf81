//! The counts of a search.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::observe::SearchProgress;

/// The counts of a search.
#[derive(Debug)]
pub(super) struct SearchTally {
    pub(super) begun: Duration,
    pub(super) planned: usize,
    pub(super) steps: AtomicUsize,
    pub(super) candidates: AtomicUsize,
    /// Bits of the least error, which are in the order of the numbers from 0 to infinity.
    pub(super) error: AtomicU64,
    /// Seconds and least error when steps were done that others wait for.
    pub(super) history: Mutex<Vec<[f64; 2]>>,
}

impl SearchTally {
    pub(super) fn new(begun: Duration, planned: usize) -> Self {
        Self {
            begun,
            planned,
            steps: AtomicUsize::new(0),
            candidates: AtomicUsize::new(0),
            error: AtomicU64::new(f64::INFINITY.to_bits()),
            history: Mutex::new(Vec::new()),
        }
    }

    /// Steps done, and where the search stands at this time; `deadline` is when it ends at last.
    pub(super) fn told(
        &self,
        now: Duration,
        deadline: Option<Duration>,
    ) -> (usize, SearchProgress) {
        let planned = self.planned;
        let steps = self.steps.load(Ordering::Relaxed).min(planned);
        let error = f64::from_bits(self.error.load(Ordering::Relaxed));
        let share = (planned - steps) as f64 / steps as f64;
        let at_this_speed = (steps > 0).then(|| now.saturating_sub(self.begun).mul_f64(share));
        let limit = deadline.map(|end| end.saturating_sub(now));
        let told = SearchProgress {
            planned,
            candidates: self.candidates.load(Ordering::Relaxed),
            error: error.is_finite().then_some(error),
            left: at_this_speed.map(|left| limit.map_or(left, |limit| left.min(limit))),
        };
        (steps, told)
    }
}
