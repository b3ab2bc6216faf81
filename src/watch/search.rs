//! How far a search for a machine is. Whoever works on it counts, machines side by side together.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use super::tally::SearchTally;
use super::{Phase, Step, Watch};

impl Watch<'_> {
    /// For a search of at most so many steps: while `work` runs, the observer is told where that
    /// stands. Beside what the work returns there are the seconds and the least error so far at
    /// the end of every part of it.
    pub fn search<T>(
        &mut self,
        planned: usize,
        work: impl FnOnce(&mut Self) -> T,
    ) -> (T, Vec<[f64; 2]>) {
        let tally = Arc::new(SearchTally::new(self.started.elapsed(), planned));
        let before = (self.tick, self.search.replace(Arc::clone(&tally)));
        self.tick.phase = Phase::Search;
        let done = work(self);
        (self.tick, self.search) = before;
        let mut history = tally.history.lock().unwrap_or_else(PoisonError::into_inner);
        (done, std::mem::take(&mut *history))
    }

    /// A candidate of a search has this error.
    pub fn judged(&self, error: f64) {
        if let Some(tally) = &self.search {
            tally.candidates.fetch_add(1, Ordering::Relaxed);
            if error >= 0.0 {
                tally.error.fetch_min(error.to_bits(), Ordering::Relaxed);
            }
        }
    }

    /// What follows is judged by errors of another kind.
    pub fn judges_anew(&self) {
        if let Some(tally) = &self.search {
            tally.error.store(f64::INFINITY.to_bits(), Ordering::Relaxed);
        }
    }

    fn advance(&self, steps: usize) {
        if let Some(tally) = &self.search {
            tally.steps.fetch_add(steps, Ordering::Relaxed);
        }
    }

    /// A part of the search is done, which counts as so many steps.
    pub fn step_done(&self, steps: usize) {
        self.advance(steps);
        if let Some(tally) = &self.search {
            let error = f64::from_bits(tally.error.load(Ordering::Relaxed));
            if error.is_finite() {
                let mut history = tally.history.lock().unwrap_or_else(PoisonError::into_inner);
                history.push([self.elapsed().as_secs_f64(), error]);
            }
        }
    }

    /// So many steps of the search are done, or were not needed.
    pub fn reached(&self, steps: usize) {
        if let Some(tally) = &self.search {
            tally.steps.fetch_max(steps, Ordering::Relaxed);
        }
    }

    /// [`Watch::all_side_by_side`], each part a step of the search.
    ///
    /// # Errors
    /// As there.
    pub fn steps_side_by_side<T: Send>(
        &mut self,
        count: usize,
        work: impl Fn(usize, &mut Watch<'_>) -> Step<T> + Sync,
    ) -> Step<Vec<T>> {
        let done = self.all_side_by_side(count, |i, watch| {
            let done = work(i, watch)?;
            watch.advance(1);
            Ok(done)
        })?;
        self.step_done(0);
        Ok(done)
    }
}
