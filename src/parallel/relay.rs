//! Steps that must come in order, each of which can be prepared while the one before it is taken.
//!
//! One thread takes all steps, so that what they change stays in that core's caches, and another
//! prepares the next. A step lasts microseconds: a `rayon::join` for each costs some of them, more
//! where the other thread has gone to sleep in between, so one job of the pool waits for the steps of
//! a whole pass. A step that nobody prepares is prepared by the thread that takes it: it needs no
//! other one to be there.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Pool;
use super::trace::{self, Turn};
use crate::error::Result;

/// Looks at the phase between two looks for other jobs, which take longer.
const POLLS: u32 = 4;

/// Turns of a waiting loop before other threads of the machine are let in ...
const SPINS: u32 = 1 << 10;

/// ... and how often they are before the loop sleeps.
const YIELDS: u32 = 64;

const NAP: Duration = Duration::from_micros(50);

// The next step is not to be prepared yet, may be, is by the other thread, has been; and the end.
const IDLE: u8 = 0;
const OFFERED: u8 = 1;
const TAKEN: u8 = 2;
const READY: u8 = 3;
const OVER: u8 = 4;

thread_local! {
    /// Whether this thread is at the steps of a run.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Says so while it lives.
struct Inside {
    before: bool,
}

impl Inside {
    fn enter() -> Self {
        Self { before: INSIDE.replace(true) }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

/// Steps `0..count`. `Shared` is what the steps change; `Own` is where one is prepared.
pub(crate) trait Steps: Sync {
    /// What the steps change.
    type Shared;
    /// A prepared step.
    type Own: Send;

    /// Number of steps.
    fn count(&self) -> usize;

    /// Prepares a step while the one before it is taken.
    ///
    /// # Errors
    /// Any: it ends the run.
    fn prepare(&self, own: &mut Self::Own, step: usize) -> Result<()>;

    /// Takes over what the step before changed since this one was prepared; nothing is prepared
    /// meanwhile.
    ///
    /// # Errors
    /// Any: it ends the run.
    fn catch_up(&self, shared: &mut Self::Shared, own: &mut Self::Own) -> Result<()>;

    /// Takes a step; whether another is wanted.
    ///
    /// # Errors
    /// Any: it ends the run.
    fn take(&self, shared: &mut Self::Shared, own: &mut Self::Own) -> Result<bool>;
}

/// Takes all steps, which another thread prepares where that is worth it. Which threads there are
/// changes no result.
///
/// # Errors
/// The first of a step.
pub(crate) fn take_turns<S: Steps>(
    (pool, worth): (Pool<'_>, bool),
    steps: &S,
    mut shared: S::Shared,
    [first, second]: [S::Own; 2],
) -> Result<S::Shared> {
    let relay = Relay {
        steps,
        other: Mutex::new((second, Ok(()))),
        phase: AtomicU8::new(IDLE),
        next: AtomicUsize::new(0),
    };
    let outcome = if pool.threads() < 2 || !worth {
        relay.lead(&mut shared, first)
    } else {
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| relay.follow());
            relay.lead(&mut shared, first)
        })
    };
    let (_, prepared) = relay.other.into_inner().unwrap_or_else(PoisonError::into_inner);
    outcome.and(prepared).map(|()| shared)
}

struct Relay<'a, S: Steps> {
    steps: &'a S,
    /// Where the other thread prepares, and what came of it.
    other: Mutex<(S::Own, Result<()>)>,
    phase: AtomicU8,
    /// The step that is offered.
    next: AtomicUsize,
}

/// Ends the run where a thread leaves it, by a panic too, so that the other does not wait for ever.
struct End<'a>(&'a AtomicU8);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(OVER, Ordering::Release);
    }
}

impl<S: Steps> Relay<'_, S> {
    /// Takes all steps, and prepares those that nobody else does.
    fn lead(&self, shared: &mut S::Shared, mut own: S::Own) -> Result<()> {
        let _inside = Inside::enter();
        let _end = End(&self.phase);
        let asked = trace::is_asked();
        let _part = trace::Part::begin();
        let count = self.steps.count();
        if count > 0 {
            self.steps.prepare(&mut own, 0)?;
        }
        for step in 0..count {
            let mut turn = Turn::begin(asked);
            self.steps.catch_up(shared, &mut own)?;
            turn.next();
            let next = step + 1;
            if next < count {
                self.next.store(next, Ordering::Relaxed);
                self.phase.store(OFFERED, Ordering::Release);
            }
            let wanted = self.steps.take(shared, &mut own)?;
            turn.next();
            if !wanted || next == count {
                break;
            }
            if self.exchange(OFFERED, IDLE) {
                self.steps.prepare(&mut own, next)?;
                turn.next();
            } else if self.wait_while(|phase| phase == TAKEN, false) == OVER {
                break;
            } else {
                std::mem::swap(&mut own, &mut self.other().0);
            }
        }
        Ok(())
    }

    /// Prepares what is offered.
    fn follow(&self) {
        // A thread that waits inside one run may be given the job of another, or of the same one:
        // it would wait there for what it has to do here. So only the lowest run on a thread's stack
        // is followed, those above it are led and began later, and no circle of waits can close.
        if INSIDE.get() {
            return;
        }
        let _inside = Inside::enter();
        let _end = End(&self.phase);
        let _part = trace::Part::begin();
        while let Some(step) = self.offered() {
            let mut other = self.other();
            let (own, outcome) = &mut *other;
            *outcome = self.steps.prepare(own, step);
            if outcome.is_err() {
                return;
            }
            drop(other);
            // Only the end can have come between.
            self.exchange(TAKEN, READY);
        }
    }

    fn other(&self) -> MutexGuard<'_, (S::Own, Result<()>)> {
        self.other.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a step to prepare; none at the end.
    fn offered(&self) -> Option<usize> {
        loop {
            match self.wait_while(|phase| phase != OFFERED && phase != OVER, true) {
                OVER => return None,
                _ if self.exchange(OFFERED, TAKEN) => {
                    return Some(self.next.load(Ordering::Relaxed));
                }
                _ => {}
            }
        }
    }

    fn exchange(&self, from: u8, to: u8) -> bool {
        self.phase.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The phase after the wait. A thread that `may_sleep` has nobody waiting for it.
    fn wait_while(&self, waits: impl Fn(u8) -> bool, may_sleep: bool) -> u8 {
        let mut turns = 0u32;
        loop {
            for _ in 0..POLLS {
                let phase = self.phase.load(Ordering::Acquire);
                if !waits(phase) {
                    return phase;
                }
                std::hint::spin_loop();
            }
            // What the other thread prepares may have parts to share.
            let helped = rayon::yield_now() == Some(rayon::Yield::Executed);
            turns = if helped { 0 } else { turns.saturating_add(1) };
            if turns < SPINS {
                continue;
            }
            if turns < SPINS + YIELDS || !may_sleep {
                std::thread::yield_now();
            } else {
                std::thread::sleep(NAP);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use rayon::prelude::*;

    use super::*;
    use crate::error::Error;
    use crate::parallel::run;

    /// Every step adds its square, prepared beside the sum as it was one or two steps ago, and
    /// writes down its place.
    struct Squares {
        len: usize,
        stop_after: usize,
        fails_at: usize,
        panics_at: usize,
    }

    const PLAIN: Squares = Squares {
        len: 20_000,
        stop_after: usize::MAX,
        fails_at: usize::MAX,
        panics_at: usize::MAX,
    };

    impl Steps for Squares {
        type Shared = (u64, Vec<usize>);
        type Own = (usize, u64);

        fn count(&self) -> usize {
            self.len
        }

        fn prepare(&self, own: &mut Self::Own, step: usize) -> Result<()> {
            assert!(step != self.panics_at, "a step that panics");
            // Parts, so that whoever waits may be given other jobs.
            let root: Vec<u64> = (0..4).into_par_iter().map(|_| step as u64).collect();
            *own = (step, root[0] * root[3]);
            Ok(())
        }

        fn catch_up(&self, shared: &mut Self::Shared, own: &mut Self::Own) -> Result<()> {
            assert_eq!(shared.1.len(), own.0);
            Ok(())
        }

        fn take(&self, shared: &mut Self::Shared, own: &mut Self::Own) -> Result<bool> {
            if own.0 == self.fails_at {
                return Err(Error::Interrupted);
            }
            shared.0 += own.1;
            shared.1.push(own.0);
            Ok(own.0 < self.stop_after)
        }
    }

    fn taken(threads: usize, steps: &Squares) -> Result<(u64, Vec<usize>)> {
        run(threads, |pool| take_turns((pool, true), steps, (0, Vec::new()), [(0, 0); 2]))?
    }

    #[test]
    fn steps_are_taken_once_and_in_order() {
        for threads in [1, 2, 3, 7] {
            for len in [0, 1, 2, 3, 20_000] {
                let (sum, order) = taken(threads, &Squares { len, ..PLAIN }).unwrap();
                assert_eq!(order, (0..len).collect::<Vec<_>>());
                assert_eq!(sum, (0..len as u64).map(|i| i * i).sum::<u64>());
            }
            let (_, order) = taken(threads, &Squares { stop_after: 76, ..PLAIN }).unwrap();
            assert_eq!(order.len(), 77);
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_not_there() {
        // More runs than threads: their second threads begin late or never.
        let steps = Squares { len: 500, ..PLAIN };
        for threads in [2, 3, 7] {
            let all: Vec<usize> = run(threads, |pool| {
                let each = (0..64).into_par_iter();
                let taken = |_| take_turns((pool, true), &steps, (0, Vec::new()), [(0, 0); 2]);
                each.map(|run| taken(run).unwrap().1.len()).collect()
            })
            .unwrap();
            assert_eq!(all, [500; 64]);
        }
    }

    #[test]
    fn an_error_ends_the_run_and_a_panic_passes_through() {
        for threads in [1, 2, 3] {
            for step in [0, 1, 2, 77] {
                let failed = taken(threads, &Squares { fails_at: step, ..PLAIN });
                assert!(matches!(failed, Err(Error::Interrupted)));
                let steps = Squares { panics_at: step, ..PLAIN };
                let caught = catch_unwind(AssertUnwindSafe(|| taken(threads, &steps)));
                assert!(caught.is_err(), "{threads} {step}");
            }
        }
    }
}
