//! One watch for machines that are trained side by side.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::keep::Kept;
use super::{Cancel, Halt, Observer, Progress, Step, Watch};
use crate::error::Result;
use crate::parallel;

/// One observer for all: a wish to stop is everybody's.
struct Shared<'a>(Mutex<(&'a mut dyn Observer, Option<Cancel>)>);

struct Handle<'a, 'b>(&'a Shared<'b>);

impl Observer for Handle<'_, '_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<Cancel> {
        let mut guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (observer, wish) = &mut *guard;
        if wish.is_none() {
            *wish = observer.observe(progress).break_value();
        }
        wish.map_or(ControlFlow::Continue(()), ControlFlow::Break)
    }

    fn scored(&mut self, score: f64) {
        let mut guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0.scored(score);
    }
}

impl Watch<'_> {
    /// Calls `train(i, watch)` for every i below `count`, in parallel inside the pool, and gathers
    /// the results in order. A machine may take as much of the time that is left as leaves the same
    /// to every machine after it, with as many at once as the pool has threads.
    ///
    /// # Errors
    /// Those of `train`; the first one's when several fail.
    pub fn side_by_side<T: Send>(
        &mut self,
        count: usize,
        train: impl Fn(usize, &mut Watch<'_>) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let shared = Shared(Mutex::new((&mut *self.observer, None)));
        let (pool, tick, steps_before) = (self.pool, self.tick, self.steps_before);
        let (started, origin, deadline, outer) =
            (self.started, self.origin, self.deadline, self.outer);
        let (unbroken, stopped) = (self.unbroken, self.stopped);
        let (kept, search) = (self.kept.clone(), self.search.clone());
        // Machines that have not begun.
        let waiting = AtomicUsize::new(count);
        let one = |i: usize| {
            let waiting = waiting.fetch_sub(1, Ordering::Relaxed).max(1);
            let mut handle = Handle(&shared);
            let mut watch = Watch {
                tick,
                steps_before,
                started,
                origin,
                begun: started.elapsed(),
                rounds: waiting.div_ceil(pool.threads()) as f64,
                deadline,
                outer,
                unbroken,
                stopped,
                search: search.clone(),
                kept: kept.as_ref().map(|Kept { keeper, prefix }| Kept {
                    keeper: *keeper,
                    prefix: format!("{prefix}{i}."),
                }),
                ..Watch::new(&mut handle, pool)
            };
            train(i, &mut watch)
        };
        parallel::map(count, &one).into_iter().collect()
    }

    /// [`Watch::side_by_side`] for parts that are of use all together only: the first one that is
    /// stopped stops them all.
    ///
    /// # Errors
    /// What the watch says; those of `work`.
    pub fn all_side_by_side<T: Send>(
        &mut self,
        count: usize,
        work: impl Fn(usize, &mut Watch<'_>) -> Step<T> + Sync,
    ) -> Step<Vec<T>> {
        let done = self.side_by_side(count, |i, watch| match work(i, watch) {
            Ok(done) => Ok(Ok(done)),
            Err(halt) => halt.into_reason().map(Err),
        })?;
        done.into_iter().map(|part| part.map_err(Halt::Stop)).collect()
    }
}
