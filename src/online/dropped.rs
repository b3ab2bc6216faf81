//! Terms that a learner dropped and that the mean of the iterates still counts.
//!
//! The mean of all iterates of a learner that drops terms would hold every term there ever was;
//! its part on the terms that are left is another function altogether (the boundary of the budgeted
//! passive-aggressive learner on Adult: 24 % right instead of 84 %). What can be kept exactly
//! within a budget is the mean over a window of the last steps.
//!
//! # Method
//! 1. `2 h` places of the budget are set aside for terms that went.
//! 2. A term that goes takes a place of the newer half with what it had summed up.
//! 3. When the newer half is full, it becomes the older one, and what was older counts no more:
//!    neither these terms nor the steps of that time.
//!
//! So the mean is over all steps since between h and 2 h terms ago, and exact.

use super::weights::Weights;
use crate::error::Result;
use crate::float::Real;
use crate::simd::Packed;

/// Terms that went in the older and the newer half of the window.
#[derive(Clone, Debug)]
pub(super) struct Dropped<F: Real> {
    /// h.
    pub(super) half: usize,
    pub(super) older: Packed<F>,
    pub(super) newer: Packed<F>,
    /// Sums of the coefficients of `older`'s terms over the older half.
    pub(super) older_sums: Vec<f64>,
    /// Sums of those of `newer` over both halves.
    pub(super) newer_sums: Vec<(f64, f64)>,
}

impl<F: Real> Dropped<F> {
    pub(super) fn new(n_features: usize, places: usize) -> Result<Self> {
        Ok(Self {
            half: places / 2,
            older: Packed::new(n_features)?,
            newer: Packed::new(n_features)?,
            older_sums: Vec::new(),
            newer_sums: Vec::new(),
        })
    }

    pub(super) fn places(&self) -> usize {
        2 * self.half
    }

    pub(super) fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    /// Takes over the term in `slot`, which is about to be replaced.
    pub(super) fn take(
        &mut self,
        weights: &mut Weights,
        slot: usize,
        centers: &Packed<F>,
    ) -> Result<()> {
        if self.newer.len() == self.half {
            weights.turn_over();
            std::mem::swap(&mut self.older, &mut self.newer);
            self.older_sums = self.newer_sums.drain(..).map(|(_, newer)| newer).collect();
            self.newer.resize_stale(0)?;
        }
        if self.half == 0 {
            // No place: the steps that knew the term do not count.
            weights.turn_over();
            return Ok(());
        }
        let mut row = vec![F::zero(); centers.n_features()];
        centers.get(slot, &mut row);
        self.newer.push(&row)?;
        self.newer_sums.push(weights.sums(slot));
        Ok(())
    }

    /// Coefficients in the mean over `window` steps, of the older terms and of the newer ones.
    pub(super) fn for_prediction(&self, window: u64) -> impl Iterator<Item = f64> {
        let steps = window.max(1) as f64;
        let older = self.older_sums.iter().map(move |sum| sum / steps);
        older.chain(self.newer_sums.iter().map(move |(a, b)| (a + b) / steps))
    }
}
