//! The one place that enters a thread pool, and the constants that say when threads pay.
//!
//! Rayon's global pool is never used: a child made by `fork` inherits its locks but not its
//! threads and hangs. Pools are kept by process id, purpose and thread count; a forked child makes
//! new ones. Work is cut into chunks whose size never depends on the number of threads, so results
//! have the same bits for every `n_jobs`.

mod relay;
#[cfg(feature = "train")]
mod rounds;
mod share;
mod spare;
mod threads;
#[doc(hidden)]
pub mod trace;

use std::marker::PhantomData;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::ThreadPool;

use crate::error::{Error, Result, check_room};

pub(crate) use relay::{Steps, take_turns};
#[cfg(feature = "train")]
pub(crate) use rounds::{Rounds, in_rounds};
pub(crate) use share::{each, each_if, each_with, map, try_each_with};
pub(crate) use spare::Spare;
use threads::new_pool;
#[doc(hidden)]
pub use threads::{PRODUCT, ready};

/// Rows of one unit of parallel work over kernel rows.
pub const ROW_CHUNK: usize = 64;

/// Below this many kernel-row multiply-adds a task runs on the calling thread: entering the pool
/// costs about as much (`cargo bench --bench engine`, group `threshold`).
pub const MIN_PARALLEL_WORK: usize = 1 << 19;

/// Multiply-adds below which a block of samples that a pass looks ahead to is filled by the thread
/// that asks (the same bench).
pub(crate) const MIN_PARALLEL_BLOCK: usize = 1 << 17;

/// Whether there are threads; where not (WebAssembly), all work runs on the calling one.
pub(crate) const THREADED: bool = cfg!(not(target_family = "wasm"));

/// The first of the pools that are kept.
static POOLS: OnceLock<Box<Kept>> = OnceLock::new();

/// The process that asked for the number of cores (high half) and what it was told; 0 before.
static CORES: AtomicU64 = AtomicU64::new(0);

/// What a pool is for. A prediction must not queue behind a fit that another thread waits for.
#[derive(Clone, Copy, PartialEq)]
enum Purpose {
    Training,
    Predicting,
}

/// A pool of a process, never dropped, and the next one: a list that only grows, so that looking
/// up takes no lock. What a child inherits through `fork` has no threads behind it; it stays where
/// it is, another process's.
struct Kept {
    process: u32,
    purpose: Purpose,
    threads: usize,
    pool: ThreadPool,
    next: OnceLock<Box<Kept>>,
}

/// Cores that this process may use, asked once: the system takes longer to say than one row takes
/// to predict.
fn cores() -> usize {
    if !THREADED {
        return 1;
    }
    let process = u64::from(std::process::id()) << 32;
    let known = CORES.load(Ordering::Relaxed);
    if known & !u64::from(u32::MAX) == process {
        return (known & u64::from(u32::MAX)) as usize;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(1024);
    CORES.store(process | cores as u64, Ordering::Relaxed);
    cores
}

/// The number of threads that `n_jobs` stands for: `None` is every core, a negative number
/// counts back from the cores as in joblib (-1 is all of them).
///
/// # Errors
/// `InvalidParam` for 0.
pub fn thread_count(n_jobs: Option<i64>) -> Result<usize> {
    let cores = cores();
    match n_jobs {
        None => Ok(cores),
        Some(0) => Err(Error::param("n_jobs", "a non-zero integer, or none", 0)),
        Some(n) if n > 0 => Ok(usize::try_from(n).unwrap_or(cores).min(1024)),
        Some(n) => {
            let back = usize::try_from(n.unsigned_abs() - 1).unwrap_or(usize::MAX);
            Ok(cores.saturating_sub(back).max(1))
        }
    }
}

/// Says where work runs: inside a pool, or, when it is little, on the calling thread alone. [`run`],
/// [`run_apart`], [`predict`] and [`here`] hand it out, to their task, and it does not outlive them. Who
/// shares work among threads takes it.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'p> {
    threads: usize,
    inside: PhantomData<&'p ()>,
}

impl Pool<'_> {
    fn here() -> Self {
        Self { threads: rayon::current_num_threads(), inside: PhantomData }
    }

    /// Number of threads.
    #[must_use]
    pub fn threads(self) -> usize {
        self.threads
    }

    /// For unit tests: the current pool, or the one that rayon makes by itself.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Pool<'static> {
        Pool::here()
    }
}

/// Runs `task` inside the pool of `threads` threads of this process.
///
/// # Errors
/// `OutOfMemory` when the system refuses the threads.
pub fn run<R: Send>(threads: usize, task: impl FnOnce(Pool<'_>) -> R + Send) -> Result<R> {
    check_room("a fit", 0)?;
    if !THREADED {
        return Ok(here(task));
    }
    let pool = pool(Purpose::Training, threads.max(1))?;
    Ok(pool.install(|| task(Pool::here())))
}

/// Runs `task` on the calling thread, alone: it must not share work.
pub fn here<R>(task: impl FnOnce(Pool<'_>) -> R) -> R {
    task(Pool { threads: 1, inside: PhantomData })
}

/// Runs a prediction of `work` kernel-row multiply-adds: on the calling thread when that is little,
/// else inside a pool kept for predictions.
///
/// # Errors
/// `OutOfMemory` when the system refuses the threads.
pub fn predict<R: Send>(
    threads: usize,
    work: usize,
    task: impl FnOnce(Pool<'_>) -> R + Send,
) -> Result<R> {
    // With one thread, the calling thread predicts: a pool of one gains nothing.
    if !THREADED || threads <= 1 || work < MIN_PARALLEL_WORK {
        return Ok(here(task));
    }
    check_room("a prediction", 0)?;
    let pool = pool(Purpose::Predicting, threads)?;
    Ok(pool.install(|| task(Pool::here())))
}

/// Runs `task` in a pool made for it alone: for work that starts while a thread of the shared pool
/// waits for it, as from a callback of a running fit.
///
/// # Errors
/// `OutOfMemory` when the system refuses the threads.
pub fn run_apart<R: Send>(threads: usize, task: impl FnOnce(Pool<'_>) -> R + Send) -> Result<R> {
    check_room("a fit", 0)?;
    if !THREADED {
        return Ok(here(task));
    }
    Ok(new_pool(threads.max(1))?.install(|| task(Pool::here())))
}

fn pool(purpose: Purpose, threads: usize) -> Result<&'static ThreadPool> {
    let process = std::process::id();
    let mut link = &POOLS;
    let mut made = None;
    loop {
        match link.get() {
            Some(kept) => {
                if (kept.process, kept.purpose, kept.threads) == (process, purpose, threads) {
                    return Ok(&kept.pool);
                }
                link = &kept.next;
            }
            None => {
                let pool = match made.take() {
                    Some(pool) => pool,
                    None => new_pool(threads)?,
                };
                let kept = Kept { process, purpose, threads, pool, next: OnceLock::new() };
                // Another thread may have been quicker: then the walk goes on.
                made = link.set(Box::new(kept)).err().map(|kept| kept.pool);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_rows_are_predicted_where_it_is_asked() {
        let here = |_: Pool<'_>| std::thread::current().id();
        let asked = std::thread::current().id();
        assert_eq!(predict(2, MIN_PARALLEL_WORK - 1, here).unwrap(), asked);
        assert_ne!(predict(2, MIN_PARALLEL_WORK, here).unwrap(), asked);
    }

    #[test]
    fn the_first_part_that_fails_is_told() {
        let work = |_: &mut (), i: usize, part: usize| match part % 7 {
            3 => Err(Error::BadLabels(i.to_string())),
            _ => Ok(()),
        };
        let told = |_: Pool<'_>| try_each_with(0..100, &|| Ok(()), &work).unwrap_err().to_string();
        for threads in [1, 3] {
            assert_eq!(run(threads, told).unwrap(), "labels: 3");
        }
        assert!(run(2, |_| try_each_with(0..3, &|| Ok(()), &work)).unwrap().is_ok());
    }

    #[test]
    fn a_prediction_does_not_queue_behind_a_fit() {
        let (end, ended) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(|| run(1, move |_| ended.recv()));
            // It would wait for ever for the one thread of the fit.
            let threads = predict(1, MIN_PARALLEL_WORK, |pool| pool.threads()).unwrap();
            assert_eq!(threads, 1);
            end.send(()).unwrap();
        });
    }
}
