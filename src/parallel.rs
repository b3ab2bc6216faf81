//! The one place that enters a thread pool, and the constants that say when threads pay.
//!
//! Rayon's global pool is never used: a child made by `fork` inherits its locks but not its
//! threads and hangs. Pools are kept by process id and thread count; a forked child makes new
//! ones. Work is cut into chunks whose size never depends on the number of threads, so results
//! have the same bits for every `n_jobs`.

mod relay;

use std::sync::{Arc, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result};

pub use relay::{Steps, take_turns};

/// Rows of one unit of parallel work over kernel rows.
pub const ROW_CHUNK: usize = 64;

/// Below this many kernel-row multiply-adds a task runs on the calling thread: entering the pool
/// costs about as much (`cargo bench --bench engine`, group `threshold`).
pub const MIN_PARALLEL_WORK: usize = 1 << 19;

struct Cached {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static POOLS: Mutex<Vec<Cached>> = Mutex::new(Vec::new());

/// The number of threads that `n_jobs` stands for: `None` is every core, a negative number
/// counts back from the cores as in joblib (-1 is all of them).
///
/// # Errors
/// `InvalidParam` for 0.
pub fn thread_count(n_jobs: Option<i64>) -> Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    match n_jobs {
        None => Ok(cores),
        Some(0) => Err(Error::param("n_jobs", "a non-zero integer or None", 0)),
        Some(n) if n > 0 => Ok(usize::try_from(n).unwrap_or(cores).min(1024)),
        Some(n) => {
            let back = usize::try_from(n.unsigned_abs() - 1).unwrap_or(usize::MAX);
            Ok(cores.saturating_sub(back).max(1))
        }
    }
}

/// Runs `task` inside the pool of `threads` threads of this process.
///
/// # Errors
/// `OutOfMemory` when the system refuses the threads.
pub fn run<R: Send>(threads: usize, task: impl FnOnce() -> R + Send) -> Result<R> {
    let pool = pool(threads.max(1))?;
    Ok(pool.install(task))
}

/// Runs `task` in a pool made for it alone: for work that starts while a thread of the shared pool
/// waits for it, as from a callback of a running fit.
///
/// # Errors
/// `OutOfMemory` when the system refuses the threads.
pub fn run_apart<R: Send>(threads: usize, task: impl FnOnce() -> R + Send) -> Result<R> {
    Ok(new_pool(threads.max(1))?.install(task))
}

fn new_pool(threads: usize) -> Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("budgetsvm-{i}"))
        .build()
        .map_err(|_| Error::OutOfMemory { what: "threads", bytes: threads << 21 })
}

fn pool(threads: usize) -> Result<Arc<ThreadPool>> {
    let process = std::process::id();
    let mut pools = POOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = pools.iter().position(|p| p.process == process && p.threads == threads) {
        return Ok(Arc::clone(&pools[at].pool));
    }
    let pool = Arc::new(new_pool(threads)?);
    // A pool inherited through fork has no threads behind it: joining it would hang, so it is
    // forgotten, not dropped.
    pools.retain_mut(|p| {
        p.process == process || {
            std::mem::forget(Arc::clone(&p.pool));
            false
        }
    });
    pools.push(Cached { process, threads, pool: Arc::clone(&pool) });
    Ok(pool)
}
