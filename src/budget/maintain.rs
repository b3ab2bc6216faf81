//! The choice of maintenance, and the one who does it.

use super::event::Event;
use super::merge_search::MergeSearch;
use super::merging::Merging;
use super::projection::Projection;
use super::removal::{remove, smallest};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Expansion;
use crate::rng::Rng;

/// How a model over its budget is brought back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyMaintenance {
    /// Merge the smallest term with its best partner (Gaussian kernel only).
    Merge {
        /// How the merged point is found.
        search: MergeSearch,
    },
    /// Merge the smallest term with its `size - 1` best partners at once (Gaussian kernel only).
    MultiMerge {
        /// Terms merged at one event, at least 2.
        size: usize,
        /// How pairs are judged.
        search: MergeSearch,
    },
    /// Remove the term of least `|β|`.
    RemoveSmallest,
    /// Remove a random term.
    RemoveRandom,
    /// Remove the oldest term.
    RemoveOldest,
    /// Project the cheapest term onto the others.
    Project,
    /// Refuse new terms once the budget is full.
    Stop,
}

impl AnyMaintenance {
    /// Whether this maintenance works with this kernel.
    ///
    /// # Errors
    /// `Unsupported`, naming what works; `InvalidParam` for a merge of fewer than two.
    pub fn check(&self, kernel: AnyKernel) -> Result<()> {
        match self {
            Self::Merge { .. } | Self::MultiMerge { .. }
                if !matches!(kernel, AnyKernel::Gaussian { .. }) =>
            {
                Err(Error::Unsupported(format!(
                    "maintenance by merging works with kernel='rbf' only, got kernel='{}'; use \
                     maintenance='project', 'remove-smallest', 'remove-random', 'remove-oldest' \
                     or 'stop', or kernel='rbf'",
                    kernel.name()
                )))
            }
            Self::MultiMerge { size, .. } if *size < 2 => {
                Err(Error::param("merge_size", ">= 2", size))
            }
            _ => Ok(()),
        }
    }

    /// Terms by which one event shortens the model.
    #[must_use]
    pub fn terms_an_event(&self) -> usize {
        match self {
            Self::MultiMerge { size, .. } => size - 1,
            _ => 1,
        }
    }
}

/// A maintenance with the state it keeps.
#[derive(Clone, Debug)]
pub struct Maintainer<F: Real> {
    policy: AnyMaintenance,
    rng: Rng,
    merging: Merging<F>,
    projection: Projection,
}

impl<F: Real> Maintainer<F> {
    /// A maintainer for an expansion with this kernel.
    ///
    /// # Errors
    /// As [`AnyMaintenance::check`].
    pub fn new(policy: AnyMaintenance, kernel: AnyKernel, seed: u64) -> Result<Self> {
        policy.check(kernel)?;
        Ok(Self {
            policy,
            rng: Rng::stream(seed, 1),
            merging: Merging::default(),
            projection: Projection::default(),
        })
    }

    /// The maintenance in use.
    #[must_use]
    pub fn policy(&self) -> AnyMaintenance {
        self.policy
    }

    /// Brings the expansion, whose last slot is the newest term, back to at most `budget` terms
    /// and returns the sum of the squared weight degradations of all outputs (in units of the
    /// coefficients, whatever scale they count by), or `None` when nothing was done.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn reduce(
        &mut self,
        expansion: &mut Expansion<F>,
        budget: usize,
        event: &mut dyn Event,
    ) -> Result<Option<f64>> {
        if self.policy == AnyMaintenance::Project {
            return self.projection.reduce(expansion, budget, event);
        }
        let mut total = None;
        while expansion.len() > budget {
            let degradation = match self.policy {
                AnyMaintenance::Merge { search } => {
                    self.merging.merge(expansion, 2, search, event)?
                }
                AnyMaintenance::MultiMerge { size, search } => {
                    self.merging.merge(expansion, size, search, event)?
                }
                AnyMaintenance::RemoveRandom => {
                    // One of the old terms: the newest is last and stays.
                    let slot = self.rng.below((expansion.len() - 1).max(1));
                    remove(expansion, slot, event)
                }
                AnyMaintenance::RemoveOldest => {
                    let oldest = (0..expansion.len()).min_by_key(|&s| expansion.stamp(s));
                    remove(expansion, oldest.unwrap_or(0), event)
                }
                AnyMaintenance::Stop => remove(expansion, expansion.len() - 1, event),
                AnyMaintenance::RemoveSmallest | AnyMaintenance::Project => {
                    remove(expansion, smallest(expansion), event)
                }
            };
            *total.get_or_insert(0.0) += degradation;
        }
        Ok(total)
    }

    /// Removes a term whose coefficients are all 0.
    pub fn remove_zero(
        &mut self,
        expansion: &mut Expansion<F>,
        slot: usize,
        event: &mut dyn Event,
    ) {
        self.projection.forget(slot);
        remove(expansion, slot, event);
    }
}
