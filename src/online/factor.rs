//! The Gram matrix of the terms as `K = L Lᵀ`, grown a row a term.
//!
//! ```text
//! d = K⁻¹ k by   L g = k,   Lᵀ d = g;        δ² = k_xx - gᵀg  (squared distance to the span)
//! a new term:    L ← [L, 0; gᵀ, δ]
//! ```
//!
//! Departs from [PROJECTRON] eq. 11, which borders the inverse: the factor costs the same B²
//! operations a projection and half the memory, a new term costs nothing beyond g, which is known,
//! and both solves are backward stable, so nothing grows that a guard would have to see. δ² is a
//! difference of squares and falls below 0 only by rounding.
//!
//! *Cost* B²/2 multiply-adds for δ², as many again for d.

use crate::error::{Error, Result};
use crate::simd::{add_scaled_rows, dots};

/// `L`, row i of i + 1 values after another.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Factor {
    pub(super) rows: Vec<f64>,
    pub(super) len: usize,
}

impl Factor {
    fn row(&self, i: usize) -> &[f64] {
        &self.rows[i * (i + 1) / 2..][..=i]
    }

    /// `g` with `L g = k`, in place.
    pub(super) fn forward(&self, k: &mut [f64]) {
        for i in 0..self.len {
            let row = self.row(i);
            let mut known = [0.0];
            dots(&row[..i], &k[..i], &mut known);
            k[i] = (k[i] - known[0]) / row[i];
        }
    }

    /// `d` with `Lᵀ d = g`, in place.
    pub(super) fn backward(&self, g: &mut [f64]) {
        for i in (0..self.len).rev() {
            let row = self.row(i);
            g[i] /= row[i];
            let d = g[i];
            add_scaled_rows(&row[..i], &[(0, -d)], &mut g[..i]);
        }
    }

    /// Borders L by `g` and `δ > 0`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn push(&mut self, g: &[f64], delta: f64) -> Result<()> {
        self.rows.try_reserve(self.len + 1).map_err(|_| Error::OutOfMemory {
            what: "the factor of the kernel matrix",
            bytes: 8 * (self.rows.len() + self.len + 1),
        })?;
        self.rows.extend_from_slice(g);
        self.rows.push(delta);
        self.len += 1;
        Ok(())
    }
}
