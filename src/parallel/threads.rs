//! Threads that have what they will want of memory before they begin.
//!
//! The system's library keeps memory for every thread, the standard library its variables and the
//! matrix product its buffers: each is asked for when a thread first comes by, and the process ends
//! where it cannot be had. So a thread asks for all of it at its beginning, when an error can still
//! be told, and the threads of a pool begin one after another: what one of them takes is gone before
//! the next one is promised anything.

use std::cell::Cell;
use std::io;
use std::sync::mpsc;

use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};

use crate::error::{Error, Result, check_room};

/// Bytes of a thread's stack, as the standard library asks for them.
const STACK: usize = 2 << 20;

/// Bytes that faer's product of matrices keeps for a thread once it has made one, and a page
/// (`tests/allocations.rs` counts them). Nobody writes to them before there is a product to make.
pub const PRODUCT: usize = (4 << 20) + (4 << 10);

thread_local! {
    /// Whether this thread has made a product.
    static READY: Cell<bool> = const { Cell::new(false) };
}

/// What this thread needs for products of matrices, made the first time.
///
/// # Errors
/// `OutOfMemory`.
pub fn ready() -> Result<()> {
    if !READY.get() {
        check_room("a thread's buffers", PRODUCT)?;
        product();
        READY.set(true);
    }
    Ok(())
}

/// The smallest product that takes the way of the large ones.
#[cfg(feature = "train")]
fn product() {
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};

    const N: usize = 32;
    let (ones, mut out) = (vec![1.0_f64; N * N], vec![0.0; N * N]);
    let factor = MatRef::from_row_major_slice(&ones, N, N);
    let target = MatMut::from_row_major_slice_mut(&mut out, N, N);
    matmul(target, Accum::Replace, factor, factor, 1.0, Par::Seq);
    std::hint::black_box(out);
}

/// Without solvers nobody multiplies matrices.
#[cfg(not(feature = "train"))]
fn product() {}

/// A pool of `threads` threads, all ready.
pub(super) fn new_pool(threads: usize) -> Result<ThreadPool> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|i| format!("budgetsvm-{i}"))
        .spawn_handler(begin)
        .build()
        .map_err(|_| full(threads))
}

fn full(threads: usize) -> Error {
    Error::OutOfMemory { what: "threads", bytes: threads * (STACK + PRODUCT) }
}

/// Begins a thread, and waits until it is ready.
fn begin(thread: ThreadBuilder) -> io::Result<()> {
    let had = |had: bool| if had { Ok(()) } else { Err(io::ErrorKind::OutOfMemory.into()) };
    had(check_room("a thread", STACK).is_ok())?;
    let (tell, told) = mpsc::sync_channel(1);
    let name = thread.name().unwrap_or_default().to_owned();
    std::thread::Builder::new().name(name).spawn(move || {
        let is_ready = ready().is_ok();
        // Who asked waits for it.
        let _ = tell.send(is_ready);
        if is_ready {
            thread.run();
        }
    })?;
    had(told.recv() == Ok(true))
}
