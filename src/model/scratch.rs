//! What rows go through on their way to decision values: every thread keeps it from one call to the
//! next, so that one row is predicted without an allocation.

use std::any::Any;
use std::cell::{Cell, RefCell};

use crate::error::{Result, try_vec};
use crate::features;
use crate::float::Real;
use crate::kernel::SlopeRoom;
use crate::simd::Tile;

/// More values than this are given back, not kept.
const KEPT_VALUES: usize = 1 << 16;

/// Room for a chunk of rows. What is in it is of no meaning to the next who uses it.
#[derive(Debug, Default)]
pub(crate) struct Scratch<F: Real> {
    pub(super) tile: Tile<F>,
    pub(super) values: Vec<F>,
    pub(super) sums: Vec<f64>,
    pub(super) features: features::Scratch<F>,
    pub(super) slopes: SlopeRoom<F>,
}

#[derive(Default)]
struct Both {
    single: Scratch<f32>,
    double: Scratch<f64>,
}

thread_local! {
    static SCRATCH: Cell<Option<Box<Both>>> = const { Cell::new(None) };
    static VALUES: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
    static SINGLE: RefCell<Vec<Vec<f32>>> = const { RefCell::new(Vec::new()) };
}

/// Calls `work` with the scratch of this thread. It holds a chunk of rows of little work, thus not
/// much; within `work` there is another.
pub(super) fn with_scratch<F: Real, T>(work: impl FnOnce(&mut Scratch<F>) -> T) -> T {
    let mut both = SCRATCH.try_with(Cell::take).ok().flatten().unwrap_or_default();
    let mine: &mut dyn Any = if F::NAME == f32::NAME { &mut both.single } else { &mut both.double };
    let done = match mine.downcast_mut() {
        Some(scratch) => work(scratch),
        None => work(&mut Scratch::default()),
    };
    // A thread that ends keeps nothing.
    let _ = SCRATCH.try_with(|kept| kept.set(Some(both)));
    done
}

/// Calls `work` with `len` zeros, from memory that this thread keeps if they are few.
///
/// # Errors
/// `OutOfMemory`, and those of `work`.
pub(super) fn with_values<T>(len: usize, work: impl FnOnce(&mut [f64]) -> Result<T>) -> Result<T> {
    with_room(len, work)
}

/// [`with_values`] of either precision.
///
/// # Errors
/// As there.
pub(super) fn with_room<F: Real, T>(
    len: usize,
    work: impl FnOnce(&mut [F]) -> Result<T>,
) -> Result<T> {
    if len > KEPT_VALUES {
        return work(&mut try_vec("values on their way", len, F::zero())?);
    }
    let mut values: Vec<F> = with_kept(Vec::pop).flatten().unwrap_or_default();
    values.clear();
    values.resize(len, F::zero());
    let done = work(&mut values);
    with_kept(|kept| kept.push(values));
    done
}

/// Calls `work` with the memory that this thread keeps; a thread that ends keeps nothing.
fn with_kept<F: Real, T>(work: impl FnOnce(&mut Vec<Vec<F>>) -> T) -> Option<T> {
    let run = |kept: &mut dyn Any| kept.downcast_mut().map(work);
    let done = if F::NAME == f32::NAME {
        SINGLE.try_with(|kept| run(&mut *kept.borrow_mut()))
    } else {
        VALUES.try_with(|kept| run(&mut *kept.borrow_mut()))
    };
    done.ok().flatten()
}
