//! What stands between the user's rows and a machine of rows whose features are scaled.

use crate::data::{Gathered, Scales};
use crate::error::{Result, check_features, check_len};
use crate::float::Real;

/// Factors of the features, and the points of the terms in the user's units where they are rows of
/// the user's: the machine behind holds them scaled.
#[derive(Clone, Debug)]
pub struct Scaling<F: Real> {
    scales: Scales,
    given: Option<Gathered<F>>,
}

impl<F: Real> Scaling<F> {
    /// Of terms that are `given`, or that nobody gave.
    ///
    /// # Errors
    /// `LengthMismatch` for points of other features.
    pub fn new(scales: Scales, given: Option<Gathered<F>>) -> Result<Self> {
        if let Some(given) = &given {
            scales.check(given.rows()?.n_cols())?;
        }
        Ok(Self { scales, given })
    }

    /// The factors.
    #[must_use]
    pub fn scales(&self) -> &Scales {
        &self.scales
    }

    /// The points of the terms, where they are rows of the user's.
    #[must_use]
    pub fn given(&self) -> Option<&Gathered<F>> {
        self.given.as_ref()
    }

    /// Points of the machine behind, in the user's units.
    pub(super) fn points(&self, scaled: Option<Gathered<F>>) -> Option<Gathered<F>> {
        scaled.map(|scaled| self.given.clone().unwrap_or_else(|| self.scales.undone(scaled)))
    }

    /// Whether a machine of so many features with these points may stand behind.
    pub(super) fn check(&self, n_features: usize, points: Option<Gathered<F>>) -> Result<()> {
        check_features(n_features, self.scales.values().len())?;
        let (Some(given), Some(points)) = (&self.given, points) else { return Ok(()) };
        check_len("support_vectors_", points.rows()?.n_rows(), given.rows()?.n_rows())
    }
}
