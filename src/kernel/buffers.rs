//! Memory of kernel caches that come one after another.

use std::sync::Arc;

use crate::error::{Error, Result, check_room_behind};
use crate::float::Real;
use crate::parallel::Spare;

/// Buffers that a dropped [`super::RowCache`] leaves to the next: fresh pages can cost more than
/// the kernel values that a small problem writes to them.
///
/// A cache takes the whole of what another left, and drops what it has no use for: what is kept
/// here and what is in use never exceed the bounds of the caches alive at the same time.
#[derive(Debug, Default)]
pub struct Buffers<F> {
    left: Spare<Vec<Vec<F>>>,
}

impl<F: Real> Buffers<F> {
    /// What one cache left, if any did.
    pub(super) fn take(&self) -> Vec<Vec<F>> {
        self.left.take().unwrap_or_default()
    }

    pub(super) fn give(&self, buffers: Vec<Vec<F>>) {
        self.left.give(buffers);
    }
}

/// `count` buffers with room for `len` values each and for at most `total` together, from those
/// `left` where they suit. What is in them has no meaning.
pub(super) fn reserve<F: Real>(
    mut left: Vec<Vec<F>>,
    (count, len, total): (usize, usize, usize),
) -> Result<Vec<Vec<F>>> {
    let mut excess = total.saturating_sub(count.saturating_mul(len));
    let mut buffers = Vec::new();
    let bytes = count.saturating_mul(len).saturating_mul(size_of::<F>());
    let full = || Error::OutOfMemory { what: "the kernel cache", bytes };
    for _ in 0..count {
        let suits =
            |buffer: &Vec<F>| (len..=len.saturating_add(excess)).contains(&buffer.capacity());
        let buffer = match left.pop().filter(suits) {
            Some(buffer) => buffer,
            None => {
                let mut buffer = Vec::new();
                buffer.try_reserve_exact(len).map_err(|_| full())?;
                buffer
            }
        };
        excess -= (buffer.capacity() - len).min(excess);
        buffers.push(buffer);
    }
    check_room_behind("the kernel cache", bytes)?;
    Ok(buffers)
}

/// Buffers of either precision, shared by its clones.
#[derive(Clone, Debug, Default)]
pub struct AnyBuffers {
    /// For rows in `f32`.
    pub single: Arc<Buffers<f32>>,
    /// For rows in `f64`.
    pub double: Arc<Buffers<f64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_used_again_within_the_bound() {
        let pool = Buffers::<f32>::default();
        let first = reserve(pool.take(), (2, 100, 250)).unwrap();
        let places: Vec<*const f32> = first.iter().map(|b| b.as_ptr()).collect();
        pool.give(first);
        let second = reserve(pool.take(), (2, 90, 200)).unwrap();
        assert_eq!(second.iter().map(|b| b.as_ptr()).rev().collect::<Vec<_>>(), places);
        pool.give(second);
        // The first would take 40 too many, of which only 30 are allowed; then nothing is left.
        let third = reserve(pool.take(), (3, 60, 210)).unwrap();
        assert!(third.iter().map(Vec::capacity).sum::<usize>() <= 210);
        assert!(third.iter().all(|b| b.capacity() >= 60));
        assert!(pool.take().is_empty());
    }
}
