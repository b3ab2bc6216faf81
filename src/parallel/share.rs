//! Work shared among the threads of the current pool.
//!
//! What is shared is a `dyn` function: rayon's own adaptors copy a closure's body three or four
//! times (for each way that it may come to run), which most of the build would go into. A part is
//! large, and a call through a pointer is nothing to it.

use rayon::prelude::*;

/// Whether the caller is in a pool of several threads. Outside of one it works alone: rayon would
/// make a pool of its own, which does not survive a fork.
fn shared() -> bool {
    rayon::current_thread_index().is_some() && rayon::current_num_threads() > 1
}

/// Calls `work` with every part and its number.
pub(crate) fn each<T: Send>(parts: impl Iterator<Item = T>, work: &(dyn Fn(usize, T) + Sync)) {
    each_if(true, parts, work);
}

/// [`each`] where it is worth sharing, else on the calling thread.
pub(crate) fn each_if<T: Send>(
    worth: bool,
    parts: impl Iterator<Item = T>,
    work: &(dyn Fn(usize, T) + Sync),
) {
    if !(worth && shared()) {
        return parts.enumerate().for_each(|(i, part)| work(i, part));
    }
    let parts: Vec<T> = parts.collect();
    parts.into_par_iter().enumerate().for_each(|(i, part)| work(i, part));
}

/// [`each`] with something that a thread makes once for several parts, such as its buffers.
pub(crate) fn each_with<T: Send, S>(
    parts: impl Iterator<Item = T>,
    make: &(dyn Fn() -> S + Sync),
    work: &(dyn Fn(&mut S, usize, T) + Sync),
) {
    if !shared() {
        let mut own = make();
        return parts.enumerate().for_each(|(i, part)| work(&mut own, i, part));
    }
    let parts: Vec<T> = parts.collect();
    let parts = parts.into_par_iter().enumerate();
    parts.for_each_init(make, |own, (i, part)| work(own, i, part));
}

/// What `work` gives for every number below `count`, in their order.
pub(crate) fn map<R: Send>(count: usize, work: &(dyn Fn(usize) -> R + Sync)) -> Vec<R> {
    if !shared() {
        return (0..count).map(work).collect();
    }
    (0..count).into_par_iter().map(work).collect()
}
