//! The halves of a row in the machine of a pair of classes: what is known of them, and what is
//! still to be computed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::float::Real;

/// Rows of a class among its own samples, kept for good once they are computed.
#[derive(Debug)]
pub(super) struct Own<F> {
    rows: Vec<OnceLock<Box<[F]>>>,
    /// Bytes that are left, to all classes together.
    room: Arc<AtomicUsize>,
}

impl<F: Real> Own<F> {
    pub(super) fn new(n: usize, room: Arc<AtomicUsize>) -> Arc<Self> {
        Arc::new(Self { rows: (0..n).map(|_| OnceLock::new()).collect(), room })
    }

    pub(super) fn row(&self, sample: usize) -> Option<&[F]> {
        self.rows[sample].get().map(AsRef::as_ref)
    }

    /// Keeps a row if there is room for it; one that is there already is the same.
    pub(super) fn keep(&self, sample: usize, parts: &[&[F]]) {
        let bytes = self.rows.len() * size_of::<F>();
        let take = |left: usize| left.checked_sub(bytes);
        if self.room.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
            return;
        }
        if self.rows[sample].set(parts.concat().into()).is_err() {
            self.room.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

/// Samples in the order of what is to be computed for them: those of the first class whose own
/// half is known, the others of it, those of the second class that are not known, and the rest.
pub(super) struct Halves {
    pub(super) order: Vec<usize>,
    /// Where the second and the fourth of these begin.
    pub(super) unknown: (usize, usize),
}

impl Halves {
    /// Everything is computed.
    pub(super) fn all(samples: &[usize]) -> Self {
        Self { order: samples.to_vec(), unknown: (0, samples.len()) }
    }

    pub(super) fn new<F: Real>(samples: &[usize], split: usize, own: &[Arc<Own<F>>; 2]) -> Self {
        let rank = |&sample: &usize| match sample.checked_sub(split) {
            None => usize::from(own[0].row(sample).is_none()),
            Some(at) => 2 + usize::from(own[1].row(at).is_some()),
        };
        let mut ranked: Vec<(usize, usize)> = samples.iter().map(|s| (rank(s), *s)).collect();
        ranked.sort_by_key(|&(rank, _)| rank);
        let below = |limit: usize| ranked.partition_point(|&(rank, _)| rank < limit);
        let unknown = (below(1), below(3));
        Self { order: ranked.into_iter().map(|(_, sample)| sample).collect(), unknown }
    }

    /// The range of samples whose values with a run of columns (the first class's, the second's)
    /// are to be computed.
    pub(super) fn computed(&self, run: usize) -> (usize, usize) {
        if run == 0 { (self.unknown.0, self.order.len()) } else { (0, self.unknown.1) }
    }
}
