//! What a stream learnt ahead of a whole block, for answers.

use std::sync::{Arc, OnceLock};

use super::learnt::Learnt;
use crate::float::Real;

/// What was made of some of the rows that wait, once it was asked for; a copy of a stream has a copy.
#[derive(Clone, Debug)]
pub(super) struct Ahead<F: Real>(OnceLock<Made<F>>);

/// Parts that learnt rows that wait; none where these do not surprise.
pub(super) type Parts<F> = Option<Arc<Vec<Learnt<F>>>>;

#[derive(Clone, Debug)]
struct Made<F: Real> {
    /// Of the rows that wait.
    rows: usize,
    parts: Parts<F>,
}

impl<F: Real> Default for Ahead<F> {
    fn default() -> Self {
        Self(OnceLock::new())
    }
}

impl<F: Real> Ahead<F> {
    /// What was made of so many rows.
    pub(super) fn of(&self, rows: usize) -> Option<Parts<F>> {
        self.0.get().filter(|made| made.rows == rows).map(|made| made.parts.clone())
    }

    /// Keeps what was made of so many rows, unless another thread was quicker, with the same.
    pub(super) fn keep(&self, rows: usize, parts: Parts<F>) -> Parts<F> {
        let _ = self.0.set(Made { rows, parts: parts.clone() });
        parts
    }

    /// Forgets what is not of so many rows.
    pub(super) fn forget_others(&mut self, rows: usize) {
        if self.0.get().is_some_and(|made| made.rows != rows) {
            self.0.take();
        }
    }
}
