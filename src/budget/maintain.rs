//! The choice of maintenance, and the one who does it.

use super::event::Event;
use super::merge_search::MergeSearch;
use super::merging::Merging;
use super::projection::Projection;
use super::removal::remove;
use crate::config::at_least;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Expansion;
use crate::rng::Rng;
use crate::watch::{Reader, Words};

/// How a model over its budget is brought back to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnyMaintenance {
    /// Merge the smallest term with its `size - 1` best partners at once (Gaussian kernel only).
    Merge {
        /// Terms merged at one event, at least 2.
        size: usize,
        /// How pairs are judged, and the merged point of two is found.
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
        match *self {
            Self::Merge { size, .. } => {
                if kernel.gaussian_gamma().is_none() {
                    return Err(Error::Unsupported(format!(
                        "maintenance by merging works with kernel='rbf' only, got kernel='{}'; use \
                         maintenance='project', 'remove-smallest', 'remove-random', \
                         'remove-oldest' or 'stop', or kernel='rbf'",
                        kernel.name()
                    )));
                }
                at_least(2, "merge_size", size)
            }
            Self::RemoveSmallest
            | Self::RemoveRandom
            | Self::RemoveOldest
            | Self::Project
            | Self::Stop => Ok(()),
        }
    }

    /// Whether it may be asked once for many new terms, all of which it looks at alike.
    #[must_use]
    pub fn looks_at_all(&self) -> bool {
        match self {
            Self::Merge { .. } | Self::RemoveSmallest => true,
            Self::RemoveRandom | Self::RemoveOldest | Self::Project | Self::Stop => false,
        }
    }

    /// Whether a full model takes no new term, so that no sample need be tried for one.
    #[must_use]
    pub fn refuses_new_terms(&self) -> bool {
        match self {
            Self::Stop => true,
            Self::Merge { .. }
            | Self::RemoveSmallest
            | Self::RemoveRandom
            | Self::RemoveOldest
            | Self::Project => false,
        }
    }
}

/// A maintenance with the state it keeps.
#[derive(Clone, Debug)]
pub struct Maintainer<F: Real>(State<F>);

/// What each of them keeps.
#[derive(Clone, Debug)]
enum State<F: Real> {
    Merging { size: usize, search: MergeSearch, rows: Box<Merging<F>> },
    Projection(Projection),
    Removal(Removal),
}

/// Which term goes.
#[derive(Clone, Debug)]
enum Removal {
    Smallest,
    Random(Rng),
    Oldest,
    Newest,
}

impl Removal {
    fn slot<F: Real>(&mut self, expansion: &mut Expansion<F>) -> usize {
        match self {
            Self::Smallest => expansion.lightest(),
            // One of the old terms: the newest is last and stays.
            Self::Random(rng) => rng.below((expansion.len() - 1).max(1)),
            Self::Oldest => {
                let oldest = (0..expansion.len()).min_by_key(|&s| expansion.stamp(s));
                oldest.unwrap_or(0)
            }
            Self::Newest => expansion.len() - 1,
        }
    }
}

impl<F: Real> Maintainer<F> {
    /// A maintainer for an expansion with this kernel.
    ///
    /// # Errors
    /// As [`AnyMaintenance::check`].
    pub fn new(policy: AnyMaintenance, kernel: AnyKernel, seed: u64) -> Result<Self> {
        policy.check(kernel)?;
        let state = match policy {
            AnyMaintenance::Merge { size, search } => {
                State::Merging { size, search, rows: Box::default() }
            }
            AnyMaintenance::RemoveSmallest => State::Removal(Removal::Smallest),
            AnyMaintenance::RemoveRandom => State::Removal(Removal::Random(Rng::stream(seed, 1))),
            AnyMaintenance::RemoveOldest => State::Removal(Removal::Oldest),
            AnyMaintenance::Project => State::Projection(Projection::default()),
            AnyMaintenance::Stop => State::Removal(Removal::Newest),
        };
        Ok(Self(state))
    }

    /// Has threads share the search for merge partners from other sizes on: multiply-adds of the
    /// row of distances, and terms. For the bench that chose those.
    #[doc(hidden)]
    #[must_use]
    pub fn sharing_from(mut self, row: usize, search: usize) -> Self {
        if let State::Merging { rows, .. } = &mut self.0 {
            rows.share_from(row, search);
        }
        self
    }

    /// The distances of term `slot` to all terms as the kernel stores them, one for each; that to
    /// itself is not looked at. What [`Maintainer::reduce`] does next may need them.
    pub(crate) fn know(&mut self, slot: usize, distances: &[F]) {
        if let State::Merging { rows, .. } = &mut self.0 {
            rows.know(slot, distances);
        }
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
        let mut total = None;
        match &mut self.0 {
            State::Projection(projection) => return projection.reduce(expansion, budget, event),
            State::Merging { size, search, rows } => {
                while expansion.len() > budget {
                    *total.get_or_insert(0.0) += rows.merge(expansion, *size, *search, event)?;
                }
            }
            State::Removal(removal) => {
                while expansion.len() > budget {
                    let slot = removal.slot(expansion);
                    *total.get_or_insert(0.0) += remove(expansion, slot, event);
                }
            }
        }
        Ok(total)
    }

    /// What a checkpoint has of it.
    pub fn put(&self, words: &mut Words) {
        match &self.0 {
            State::Projection(projection) => projection.put(words),
            State::Removal(Removal::Random(rng)) => {
                rng.place().iter().for_each(|&word| words.put(word))
            }
            State::Merging { .. }
            | State::Removal(Removal::Smallest | Removal::Oldest | Removal::Newest) => {}
        }
    }

    /// What [`Maintainer::put`] put.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn read(&mut self, reader: &mut Reader) -> Result<()> {
        match &mut self.0 {
            State::Projection(projection) => projection.read(reader)?,
            State::Removal(Removal::Random(rng)) => {
                *rng = Rng::at([reader.take()?, reader.take()?, reader.take()?, reader.take()?]);
            }
            State::Merging { .. }
            | State::Removal(Removal::Smallest | Removal::Oldest | Removal::Newest) => {}
        }
        Ok(())
    }

    /// Removes a term whose coefficients are all 0.
    pub fn remove_zero(
        &mut self,
        expansion: &mut Expansion<F>,
        slot: usize,
        event: &mut dyn Event,
    ) {
        if let State::Projection(projection) = &mut self.0 {
            projection.forget(slot);
        }
        remove(expansion, slot, event);
    }
}
