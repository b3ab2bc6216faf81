//! How long each stretch of work takes, and which could be shared: what
//! `cargo bench --bench amdahl` reckons with. Nobody else asks.

use std::cell::Cell;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Whether anybody does.
static ASKED: AtomicBool = AtomicBool::new(false);
static FOUND: Mutex<Vec<Stretch>> = Mutex::new(Vec::new());

thread_local! {
    /// Whether this thread is at a part of a stretch.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Work that threads share, or a step of a relay.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Who shares it; none of a turn.
    pub at: Option<&'static Location<'static>>,
    /// When it began and ended.
    pub time: [Instant; 2],
    /// What each part took, where one thread had them all; of a turn to catch up, to take it, and to
    /// prepare the next where the same thread does.
    pub parts: Vec<Duration>,
}

/// Runs `work`, which nobody else may beside it, and tells its stretches in their order.
pub fn record<R>(work: impl FnOnce() -> R) -> (R, Vec<Stretch>) {
    ASKED.store(true, Ordering::Relaxed);
    let result = work();
    ASKED.store(false, Ordering::Relaxed);
    let mut found = std::mem::take(&mut *FOUND.lock().unwrap_or_else(PoisonError::into_inner));
    found.sort_by_key(|stretch| stretch.time[0]);
    (result, found)
}

fn put(stretch: Stretch) {
    FOUND.lock().unwrap_or_else(PoisonError::into_inner).push(stretch);
}

/// Whether what comes is to be told: not what is within a part.
pub(super) fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed) && !INSIDE.get()
}

/// A part of a stretch, while it lives.
pub(super) struct Part {
    before: bool,
}

impl Part {
    pub(super) fn begin() -> Self {
        Self { before: INSIDE.replace(true) }
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        INSIDE.set(self.before);
    }
}

/// Calls `work` with every part on this thread.
pub(super) fn each<T>(
    at: &'static Location<'static>,
    parts: impl Iterator<Item = T>,
    work: &mut dyn FnMut(usize, T),
) {
    let begin = Instant::now();
    let (mut last, mut took) = (begin, Vec::new());
    let part = Part::begin();
    for (i, part) in parts.enumerate() {
        work(i, part);
        let now = Instant::now();
        took.push(now - last);
        last = now;
    }
    drop(part);
    put(Stretch { at: Some(at), time: [begin, Instant::now()], parts: took });
}

/// Runs what several threads share.
pub(super) fn shared(at: &'static Location<'static>, work: &dyn Fn()) {
    let begin = Instant::now();
    work();
    put(Stretch { at: Some(at), time: [begin, Instant::now()], parts: Vec::new() });
}

/// A step of a relay, told where it is asked for.
pub(super) struct Turn(Vec<Instant>);

impl Turn {
    pub(super) fn begin(asked: bool) -> Self {
        Self(if asked { vec![Instant::now()] } else { Vec::new() })
    }

    /// The end of a piece.
    pub(super) fn next(&mut self) {
        if !self.0.is_empty() {
            self.0.push(Instant::now());
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let (Some(&first), Some(&last)) = (self.0.first(), self.0.last()) {
            let parts = self.0.windows(2).map(|pair| pair[1] - pair[0]).collect();
            put(Stretch { at: None, time: [first, last], parts });
        }
    }
}
