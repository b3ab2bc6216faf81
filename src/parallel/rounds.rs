//! Rounds of parts, each of which needs what the one before found: as many calls of [`each`] as there are
//! rounds, with threads that stay from the first to the last. A round of some tens of microseconds would
//! wait as long for a thread that fell asleep after the last one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::share::{each, threads};
use super::trace;

/// Turns of a waiting loop before other threads of the machine are let in.
const SPINS: u32 = 1 << 10;

/// What is done round by round. Every thread knows by itself what came before; which threads there are
/// changes no result where parts of a round do not depend on each other.
pub(crate) trait Rounds: Sync {
    /// What a thread knows.
    type Own: Send + Sync;

    /// Number of rounds.
    fn count(&self) -> usize;

    /// Number of parts of a round.
    fn parts(&self, round: usize) -> usize;

    /// What is known before the first round.
    fn begin(&self) -> Self::Own;

    /// One part, by whoever is free.
    fn work(&self, own: &Self::Own, round: usize, part: usize);

    /// After all parts of a round: every thread takes over what they found.
    fn close(&self, own: &mut Self::Own, round: usize);
}

/// What the calling thread knows after the last round; the pool takes part where that is worth it.
pub(crate) fn in_rounds<R: Rounds>(worth: bool, rounds: &R) -> R::Own {
    let mut own = rounds.begin();
    let others = if worth && !trace::is_asked() { threads() - 1 } else { 0 };
    if others == 0 {
        for round in 0..rounds.count() {
            let work = &|_, part| rounds.work(&own, round, part);
            if worth {
                each(0..rounds.parts(round), work);
            } else {
                (0..rounds.parts(round)).for_each(|part| work(part, part));
            }
            rounds.close(&mut own, round);
        }
        return own;
    }
    let zeros = || (0..rounds.count()).map(|_| AtomicUsize::new(0)).collect();
    let team = Team { rounds, taken: zeros(), done: zeros(), is_over: AtomicBool::new(false) };
    rayon::in_place_scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| {
                // It may come late, or to the end.
                if !team.is_over() {
                    team.take_part(&mut rounds.begin());
                }
            });
        }
        team.take_part(&mut own);
    });
    own
}

struct Team<'r, R> {
    rounds: &'r R,
    /// Parts of each round that were taken, and those that are done.
    taken: Vec<AtomicUsize>,
    done: Vec<AtomicUsize>,
    /// Whether a thread has left, after the last round or by a panic: nobody waits any more.
    is_over: AtomicBool,
}

/// Says that a thread left.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl<R: Rounds> Team<'_, R> {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire)
    }

    /// Goes through all rounds. Who waits does so for parts that others are at, which wait for nobody.
    fn take_part(&self, own: &mut R::Own) {
        let _end = End(&self.is_over);
        let _part = trace::Part::begin();
        for (round, (taken, done)) in self.taken.iter().zip(&self.done).enumerate() {
            let parts = self.rounds.parts(round);
            loop {
                let part = taken.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    break;
                }
                self.rounds.work(own, round, part);
                done.fetch_add(1, Ordering::Release);
            }
            let is_done = || done.load(Ordering::Acquire) >= parts;
            let mut turns = 0u32;
            while !is_done() {
                // Who left after the last round did so when all was done; else nothing is to come of it.
                if self.is_over() && !is_done() {
                    return;
                }
                turns = turns.saturating_add(1);
                if turns < SPINS {
                    std::hint::spin_loop();
                } else {
                    std::thread::yield_now();
                }
            }
            self.rounds.close(own, round);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::parallel::{map, run};

    /// Every part adds the sum of the round before, times its number.
    struct Sums {
        sums: Vec<AtomicU64>,
        panics_at: (usize, usize),
    }

    impl Sums {
        fn new(count: usize, panics_at: (usize, usize)) -> Self {
            Self { sums: (0..count).map(|_| AtomicU64::new(0)).collect(), panics_at }
        }
    }

    impl Rounds for Sums {
        type Own = Vec<u64>;

        fn count(&self) -> usize {
            self.sums.len()
        }

        fn parts(&self, round: usize) -> usize {
            round % 5
        }

        fn begin(&self) -> Self::Own {
            vec![1]
        }

        fn work(&self, own: &Self::Own, round: usize, part: usize) {
            assert!((round, part) != self.panics_at, "a part that panics");
            assert_eq!(own.len(), round + 1);
            // Long enough for others to come.
            (0..100).for_each(|_| std::hint::spin_loop());
            let found = own[round].wrapping_mul(part as u64 + 2);
            self.sums[round].fetch_add(found, Ordering::Relaxed);
        }

        fn close(&self, own: &mut Self::Own, round: usize) {
            own.push(self.sums[round].load(Ordering::Relaxed) % 1009 + 1);
        }
    }

    const NEVER: (usize, usize) = (usize::MAX, 0);

    #[test]
    fn every_part_knows_what_the_rounds_before_found() {
        for count in [0, 1, 2, 3000] {
            let mut plain = vec![1_u64];
            for round in 0..count {
                let sum: u64 = (0..round % 5).map(|part| plain[round] * (part as u64 + 2)).sum();
                plain.push(sum % 1009 + 1);
            }
            for (threads, worth) in [(1, true), (2, false), (2, true), (3, true), (7, true)] {
                let sums = Sums::new(count, NEVER);
                assert_eq!(run(threads, |_| in_rounds(worth, &sums)).unwrap(), plain);
            }
        }
    }

    #[test]
    fn who_ends_first_leaves_nothing_undone() {
        let ended = |_| in_rounds(true, &Sums::new(5, NEVER)).len();
        let found: Vec<usize> = run(2, |_| (0..20_000).map(ended).collect()).unwrap();
        assert!(found.iter().all(|len| *len == 6));
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_not_there() {
        // More than there are threads for: others begin late or never.
        for threads in [2, 3, 7] {
            let found = run(threads, |_| map(64, &|_| in_rounds(true, &Sums::new(300, NEVER))));
            let found = found.unwrap();
            assert!(found.iter().all(|one| *one == found[0] && one.len() == 301));
        }
    }

    #[test]
    fn a_part_that_panics_ends_all() {
        for threads in [1, 2, 7] {
            let sums = Sums::new(40, (29, 3));
            let work = AssertUnwindSafe(|| run(threads, |_| in_rounds(true, &sums)));
            assert!(catch_unwind(work).is_err());
        }
    }
}
