//! Feature maps: rows z(x) of D numbers whose products approximate a kernel,
//! `z(x)·z(x') ≈ k(x, x')`.
//!
//! A linear machine on z(x) is then an approximate kernel machine. Maps on landmarks are those of
//! Nyström ([`nystroem`]) and of the incomplete Cholesky factor; without any there are random waves
//! ([`fourier`]).
//!
//! *Method.*
//! 1. A configuration ([`FitFeatureMap`]) draws or chooses what it needs from the rows and gives a
//!    [`FeatureMap`].
//! 2. The map takes rows in blocks: a block of kernel values (or products with the frequencies)
//!    from the packed engine, then its product with the normalising matrix, by the same engine:
//!    every number is one chain of multiply-adds, so the bits depend neither on the cut of the rows
//!    nor on the number of threads.
//!
//! *Cost* a row: O(s d + s D) for s landmarks, O(D d) for Fourier features; to fit, O(s² d + s³)
//! for Nyström, O(n D² + n D d) for incomplete Cholesky. *Memory* O(s d + s D), whatever n.
//!
//! References: \[ASSET\] section 2.3, \[NYSTROEM\], \[RFF\], \[ORF\], \[FINE\].

#![deny(clippy::wildcard_enum_match_arm)]

pub mod fourier;
#[cfg(feature = "train")]
pub mod incomplete_cholesky;
mod landmarks;
#[cfg(feature = "train")]
mod leading;
mod map;
pub mod nystroem;
mod scratch;
#[cfg(test)]
mod tests;

pub use fourier::{Fourier, FourierMap, Waves};
#[cfg(feature = "train")]
pub use incomplete_cholesky::{IncompleteCholesky, Pivots};
pub use landmarks::draw_landmarks;
#[cfg(feature = "train")]
pub(crate) use leading::{Directions, leading_directions};
pub use map::FeatureMap;
pub use nystroem::{LandmarkMap, Nystroem};
pub use scratch::Scratch;

use crate::data::Rows;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::watch::Watch;

#[cfg(feature = "train")]
/// A feature map that is still to be fitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FitFeatureMap {
    /// On landmarks, by the eigenvectors of their kernel matrix.
    Nystroem(Nystroem),
    /// Random waves.
    Fourier(Fourier),
    /// On landmarks chosen one by one.
    IncompleteCholesky(IncompleteCholesky),
}

#[cfg(feature = "train")]
impl FitFeatureMap {
    /// Fits the map to `rows`.
    ///
    /// # Errors
    /// `InvalidParam`, `InvalidData` without rows, `NonFinite`, `Unsupported` or
    /// `NotPositiveDefinite` for a kernel that the map cannot have, `OutOfMemory`, `Interrupted`.
    pub fn fit<F: Real>(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<FeatureMap<F>> {
        match self {
            Self::Nystroem(config) => {
                config.fit(rows, watch).map(|(map, _)| FeatureMap::Landmarks(map))
            }
            Self::Fourier(config) => {
                if rows.n_rows() == 0 {
                    return Err(Error::InvalidData { what: "X", reason: "0 rows".into() });
                }
                rows.check_finite("X")?;
                config.fit(rows.n_cols(), watch).map(FeatureMap::Fourier)
            }
            Self::IncompleteCholesky(config) => {
                config.fit(rows, watch).map(|(map, _)| FeatureMap::Landmarks(map))
            }
        }
    }
}
