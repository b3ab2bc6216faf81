//! The border: the one way from Python into Rust work, and the one match from errors to
//! exceptions.
//!
//! A small prediction runs where it is asked for. Other work runs inside the thread pool while the calling thread, detached from the interpreter,
//! waits; it wakes for signals (only the main thread of Python sees Ctrl-C) and for progress,
//! which is told to Python on the calling thread.

use std::any::Any;
use std::cell::Cell;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use budgetsvm::error::{Error, Result, check_room};
use budgetsvm::parallel::{self, Pool};
use budgetsvm::watch::{Silent, Watch};
use pyo3::exceptions::{
    PyKeyboardInterrupt, PyMemoryError, PyOSError, PyRuntimeError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;

use crate::observer::{Bridge, Reply, Signals, notify};

/// How often the calling thread looks for signals.
pub(crate) const SIGNAL_INTERVAL: Duration = Duration::from_millis(50);

thread_local! {
    /// How many fits wait on this thread: above 0, a callback has called back into the library.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// Runs `task` in a pool of `threads` threads, detached from the interpreter. `task` gets a
/// watch that sees Ctrl-C and tells progress to `listener`.
///
/// A callback may train another machine: then the pool's thread waits for the callback, so the
/// inner task gets a pool of its own.
pub(crate) fn enter<T: Send>(
    py: Python<'_>,
    threads: usize,
    listener: Option<&Bound<'_, PyAny>>,
    task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let place = if DEPTH.get() > 0 { Place::Apart } else { Place::Shared };
    watched(py, (place, threads), listener, task)
}

/// Runs a prediction of `work` kernel-row multiply-adds: a small one on the calling thread,
/// attached, a larger one as [`enter`] does, but in the pool of predictions.
pub(crate) fn predict<T: Send>(
    py: Python<'_>,
    threads: usize,
    work: usize,
    task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    match work < parallel::MIN_PARALLEL_WORK {
        true => enter_briefly(|| {
            parallel::predict(1, work, |pool| task(&mut Watch::new(&mut Silent, pool)))?
        }),
        false => watched(py, (Place::Predictions { work }, threads), None, task),
    }
}

/// The pool that work runs in.
#[derive(Clone, Copy)]
enum Place {
    Shared,
    Apart,
    Predictions { work: usize },
}

/// [`watch_over`] for a task with a result.
fn watched<T: Send>(
    py: Python<'_>,
    place: (Place, usize),
    listener: Option<&Bound<'_, PyAny>>,
    task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let (mut task, mut result) = (Some(task), None);
    watch_over(py, place, listener, &mut |watch| {
        if let Some(task) = task.take() {
            result = Some(task(watch)?);
        }
        Ok(())
    })?;
    result.ok_or_else(|| exception(Error::Interrupted))
}

/// Runs `task` in a pool while the calling thread, detached, looks for signals and tells progress
/// to `listener`. No type parameter: all this is compiled once.
fn watch_over(
    py: Python<'_>,
    (place, threads): (Place, usize),
    listener: Option<&Bound<'_, PyAny>>,
    task: &mut (dyn FnMut(&mut Watch<'_>) -> Result<()> + Send),
) -> PyResult<()> {
    let listener = listener.map(|l| l.clone().unbind());
    let (progress, inbox) = mpsc::channel();
    let (replies, answers) = mpsc::channel();
    let (bridge, interrupt) = Bridge::new(progress, answers, listener.is_some());
    let mut bridge = bridge.measured(py);
    let (outcome, raised) = py.detach(move || {
        let mut raised = None;
        let outcome = std::thread::scope(|scope| {
            let work = move || {
                // The bridge moves in here, so that the inbox closes when the work ends.
                let mut bridge = std::mem::replace(&mut bridge, Bridge::deaf());
                let job = |pool: Pool<'_>| task(&mut Watch::new(&mut bridge, pool));
                catch_unwind(AssertUnwindSafe(|| match place {
                    Place::Shared => parallel::run(threads, job),
                    Place::Apart => parallel::run_apart(threads, job),
                    Place::Predictions { work } => parallel::predict(threads, work, job),
                }))
            };
            if let Err(error) = check_room("a thread", 2 << 20) {
                return Ok(Err(error));
            }
            let worker = std::thread::Builder::new().spawn_scoped(scope, work);
            let Ok(worker) = worker else {
                return Ok(Err(Error::OutOfMemory { what: "a thread", bytes: 2 << 20 }));
            };
            loop {
                match inbox.recv_timeout(SIGNAL_INTERVAL) {
                    Ok(progress) => {
                        let reply = Python::attach(|py| {
                            py.check_signals()?;
                            DEPTH.set(DEPTH.get() + 1);
                            let answer = notify(py, listener.as_ref(), &progress);
                            DEPTH.set(DEPTH.get() - 1);
                            answer
                        });
                        let reply = reply.unwrap_or_else(|error| {
                            raised.get_or_insert(error);
                            Reply::Abort
                        });
                        // A worker that is gone needs no answer.
                        let _ = replies.send(reply);
                    }
                    Err(RecvTimeoutError::Timeout) => {
                        if let Err(error) = Python::attach(|py| py.check_signals()) {
                            raised.get_or_insert(error);
                            interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
                        }
                    }
                    Err(RecvTimeoutError::Disconnected) => break,
                }
            }
            match worker.join() {
                Ok(Ok(outcome)) => Ok(outcome.flatten()),
                Ok(Err(panic)) | Err(panic) => Err(panic),
            }
        });
        (outcome, raised)
    });
    match (outcome, raised) {
        (_, Some(error)) => Err(error),
        (Ok(outcome), None) => outcome.map_err(exception),
        (Err(panic), None) => Err(bug(panic.as_ref())),
    }
}

/// [`enter`] for work of milliseconds that nobody listens to: on the calling thread, for another one
/// takes as long to begin.
pub(crate) fn enter_here<T: Send>(
    py: Python<'_>,
    task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let mut signals = Signals::new(py);
    let run = AssertUnwindSafe(|| Watch::run_here(&mut signals, task));
    let outcome = py.detach(|| catch_unwind(run));
    match (outcome, signals.raised) {
        (_, Some(error)) => Err(error),
        (Ok(outcome), None) => outcome.map_err(exception),
        (Err(panic), None) => Err(bug(panic.as_ref())),
    }
}

/// Runs a short `task` on the calling thread, attached: no pool, no observer.
pub(crate) fn enter_briefly<T>(task: impl FnOnce() -> Result<T>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(task)) {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(exception(error)),
        Err(panic) => Err(bug(panic.as_ref())),
    }
}

#[cold]
fn bug(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    let text = text.unwrap_or_else(|| "panic".into());
    PyRuntimeError::new_err(format!("a bug in budgetsvm, please report it: {text}"))
}

/// The exception for an error.
pub(crate) fn exception(error: Error) -> PyErr {
    let text = in_python(&error.to_string());
    match error {
        Error::InvalidParam { .. }
        | Error::LengthMismatch { .. }
        | Error::FeatureMismatch { .. }
        | Error::NonFinite { .. }
        | Error::OutOfRange { .. }
        | Error::InvalidData { .. }
        | Error::Unsupported(_)
        | Error::NotPositiveDefinite(_)
        | Error::Format(_)
        | Error::OtherFile { .. } => PyValueError::new_err(text),
        Error::BadLabels(text) => PyValueError::new_err(format!("y: {text}")),
        // With its number, so that Python makes it FileNotFoundError or PermissionError.
        Error::Io { path, source } => match source.raw_os_error() {
            _ if source.kind() == ErrorKind::OutOfMemory => PyMemoryError::new_err(text),
            // An exception of a file that Python reads.
            None if source.get_ref().is_some_and(|inner| inner.is::<PyErr>()) => source.into(),
            Some(number) => {
                let reason = source.to_string();
                let reason = reason.split(" (os error").next().unwrap_or_default().to_owned();
                PyOSError::new_err((number, reason, path.display().to_string()))
            }
            None => PyOSError::new_err(text),
        },
        Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::Interrupted => PyKeyboardInterrupt::new_err(()),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Python's words for values that the crate's messages name.
fn in_python(text: &str) -> String {
    let words = [("=true", "=True"), ("=false", "=False"), ("=none", "=None")];
    words.iter().fold(text.to_owned(), |text, (rust, python)| text.replace(rust, python))
}

/// A TypeError that names the argument.
pub(crate) fn type_error(name: &str, expected: &str, got: &Bound<'_, PyAny>) -> PyErr {
    let kind = got.get_type().name().map_or_else(|_| "?".to_owned(), |n| n.to_string());
    PyTypeError::new_err(format!("{name} must be {expected}, got {kind}"))
}
