//! Mean rows of groups, which tell what a basis does not hold of their rows.
//!
//! ```text
//! φ'_j = P (φ_j - a φ(x̄_j)) + a φ'(x̄_j),  a = φ_jᵀφ(x̄_j) / ‖φ(x̄_j)‖²,  0 ≤ a ≤ 1
//! ```
//!
//! with the mean row `x̄_j` of a group: its own kernel values with the new points are known, and the
//! rows of the group are taken to have as much beyond the old points as they have along it on them
//! (one row has all, rows far apart have little). On points that stay nothing changes.

use super::Moments;
use super::groups::GROUPS;
use crate::data::Rows;
use crate::error::{Result, check_len, try_vec};
use crate::float::Real;
use crate::linalg::{axpy, dot};
use crate::solver::recursive::{Change, Place};

/// Bytes that the mean rows may take: of more features none are kept.
const MOST_BYTES: usize = 32 << 20;

impl Moments {
    /// The mean rows of the groups, one after another; none where they are not kept.
    #[must_use]
    pub fn middles(&self) -> &[f64] {
        &self.middles
    }

    /// With these mean rows, of so many features.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`.
    pub fn with_middles(self, middles: Vec<f64>, n_features: usize) -> Result<Self> {
        check_len("groups of a stream", self.labels.len() * n_features, middles.len())?;
        crate::data::check_finite("groups of a stream", &middles, 1)?;
        Ok(Self { middles, n_features, ..self })
    }

    /// Whether they are kept is told by the first rows.
    pub(super) fn expect(&mut self, n_features: usize) {
        let fits = n_features.saturating_mul(8 * GROUPS) <= MOST_BYTES;
        if self.labels.is_empty() && fits {
            self.n_features = n_features;
        }
    }

    /// A row joins a group whose rows have this weight with it.
    pub(super) fn centre<F: Real>(&mut self, row: &[F], group: usize, (cost, all): (f64, f64)) {
        let d = self.n_features;
        for (to, v) in self.middles[group * d..(group + 1) * d].iter_mut().zip(row) {
            *to += cost / all * (Real::to_f64(*v) - *to);
        }
    }

    /// Adds the rows of the groups of a class that are new to the mean rows.
    pub(super) fn begun<F: Real>(&mut self, rows: &Rows<'_, F>, chosen: &[usize]) -> Result<()> {
        let mut row = try_vec("groups of a stream", rows.n_cols(), F::zero())?;
        for &i in chosen.iter().filter(|_| self.n_features > 0) {
            rows.copy_row(i, &mut row);
            self.middles.extend(row.iter().map(|v| Real::to_f64(*v)));
        }
        Ok(())
    }

    /// Means on the new basis.
    pub(super) fn moved_means(
        &self,
        change: &Change,
        (held, there): (&[f64], &[f64]),
    ) -> Result<Vec<f64>> {
        let count = self.labels.len();
        if held.is_empty() || there.is_empty() {
            return change.of_each(&self.means, count);
        }
        let (old, new) = (held.len() / count, there.len() / count);
        let mut rest = self.means.clone();
        let mut shares = try_vec("groups of a stream", count, 0.0)?;
        for ((rest, own), share) in
            rest.chunks_exact_mut(self.unknowns).zip(held.chunks_exact(old)).zip(&mut shares)
        {
            let along = dot(&rest[..old], own) / dot(own, own);
            // Rows that have nothing along it are far from it.
            *share = if along > 0.0 { along.min(1.0) } else { 0.0 };
            axpy(-*share, own, &mut rest[..old]);
        }
        let mut out = change.of_each(&rest, count)?;
        let all = self.means.chunks_exact(self.unknowns).zip(there.chunks_exact(new)).zip(&shares);
        for (to, ((mean, own), share)) in out.chunks_exact_mut(change.unknowns()).zip(all) {
            for (at, (to, place)) in to.iter_mut().zip(&change.kept).enumerate() {
                match *place {
                    Place::Old(was) => *to = mean[was],
                    Place::Changed(_) => *to += share * own[at],
                }
            }
        }
        Ok(out)
    }
}
