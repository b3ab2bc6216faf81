//! Work shared among the threads of the current pool.
//!
//! Rayon is entered in one place, with a `dyn` function of a number: its adaptors copy a closure's
//! body three or four times (for each way that it may come to run), which most of the build would
//! go into. A part is large; a call through a pointer and an empty lock are nothing to it.

use std::panic::Location;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::spare::Spare;
use super::trace;
use crate::error::{Error, Result};

/// Whether the caller is in a pool of several threads. Outside of one it works alone: rayon would
/// make a pool of its own, which does not survive a fork.
fn shared() -> bool {
    threads() > 1
}

/// Threads of the pool that the caller is in; outside of one, itself.
pub(super) fn threads() -> usize {
    rayon::current_thread_index().map_or(1, |_| rayon::current_num_threads())
}

/// One part at a time goes to whoever is free: rayon by itself hands out several, of which a thread
/// that wakes up late finds none left.
#[track_caller]
fn for_each(count: usize, work: &(dyn Fn(usize) + Sync)) {
    let parts = (0..count).into_par_iter().with_max_len(1);
    if !trace::is_asked() {
        return parts.for_each(work);
    }
    let told = |part: usize| {
        let _part = trace::Part::begin();
        work(part);
    };
    trace::shared(Location::caller(), &|| parts.clone().for_each(told));
}

/// Calls `work` with every part and its number.
#[track_caller]
pub(crate) fn each<T: Send>(parts: impl Iterator<Item = T>, work: &(dyn Fn(usize, T) + Sync)) {
    each_if(true, parts, work);
}

/// [`each`] where it is worth sharing, else on the calling thread.
#[track_caller]
pub(crate) fn each_if<T: Send>(
    worth: bool,
    parts: impl Iterator<Item = T>,
    work: &(dyn Fn(usize, T) + Sync),
) {
    if worth && !shared() && trace::is_asked() {
        return trace::each(Location::caller(), parts, &mut |i, part| work(i, part));
    }
    // One part alone is nothing to share, and to hand it out costs as much as a small problem.
    let alone = parts.size_hint().1.is_some_and(|count| count <= 1);
    if alone || !(worth && shared()) {
        return parts.enumerate().for_each(|(i, part)| work(i, part));
    }
    let parts: Vec<_> = parts.map(|part| Mutex::new(Some(part))).collect();
    for_each(parts.len(), &|i| {
        let part = parts[i].lock().unwrap_or_else(PoisonError::into_inner).take();
        part.into_iter().for_each(|part| work(i, part));
    });
}

/// [`each`] with something that is made once for several parts, such as a thread's buffers.
#[track_caller]
pub(crate) fn each_with<T: Send, S: Send>(
    parts: impl Iterator<Item = T>,
    make: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, usize, T) + Sync),
) {
    if !shared() && !trace::is_asked() {
        let mut own = make();
        return parts.enumerate().for_each(|(i, part)| work(&mut own, i, part));
    }
    let idle = Spare::default();
    each(parts, &|i, part| {
        let mut own = idle.take().unwrap_or_else(make);
        work(&mut own, i, part);
        idle.give(own);
    });
}

/// [`each_with`] of work that may fail: the first error by the order of the parts. Parts that no
/// thread has begun by then are left out.
///
/// # Errors
/// Those of `make` and `work`.
#[track_caller]
pub(crate) fn try_each_with<T: Send, S: Send>(
    parts: impl Iterator<Item = T>,
    make: &(dyn Fn() -> Result<S> + Sync),
    work: &(dyn Fn(&mut S, usize, T) -> Result<()> + Sync),
) -> Result<()> {
    let failed: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let idle = Spare::default();
    each(parts, &|i, part| {
        let guard = || failed.lock().unwrap_or_else(PoisonError::into_inner);
        if guard().as_ref().is_some_and(|(first, _)| *first < i) {
            return;
        }
        let made = idle.take().map_or_else(make, Ok);
        let done = made.and_then(|mut own| work(&mut own, i, part).map(|()| idle.give(own)));
        if let Err(error) = done {
            let mut failed = guard();
            if failed.as_ref().is_none_or(|(first, _)| i < *first) {
                *failed = Some((i, error));
            }
        }
    });
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.map_or(Ok(()), |(_, error)| Err(error))
}

/// What `work` gives for every number below `count`, in their order.
#[track_caller]
pub(crate) fn map<R: Send>(count: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if !shared() && trace::is_asked() {
        let mut found = Vec::with_capacity(count);
        trace::each(Location::caller(), 0..count, &mut |_, i| found.push(work(i)));
        return found;
    }
    if count <= 1 || !shared() {
        return (0..count).map(work).collect();
    }
    let found: Vec<_> = (0..count).map(|_| Mutex::new(None)).collect();
    for_each(count, &|i| {
        *found[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(work(i));
    });
    found.into_iter().filter_map(|one| one.into_inner().ok().flatten()).collect()
}
