//! The constraints as orthogonal ones: what a step sees does not depend on how functions that
//! span the same space were chosen.

use super::problem::{Equality, root_mean_square};
use crate::error::{Error, Result};
use crate::linalg::axpy;

/// A column whose part beside the earlier ones is smaller than this, relative to itself, adds
/// nothing.
const COLLINEAR: f64 = 1e-10;

/// What is said of constraints that nothing in the box meets.
pub(super) const INFEASIBLE: &str = "the constraints are infeasible: for these parametric functions nu is too large, or constraint_tol is too small to be met";

/// `F = QR`, Q's columns orthogonal with mean square 1, by Gram-Schmidt steps done twice.
#[derive(Debug)]
pub(super) struct Basis {
    /// Q and `R⁻ᵀe`: the constraints that the run sees.
    pub(super) equalities: Vec<Equality>,
    /// Column j of R: entries of the equalities up to its own.
    r: Vec<Vec<f64>>,
    /// The equality that a column brought, if any.
    own: Vec<Option<usize>>,
}

impl Basis {
    /// The constraints as they are.
    pub(super) fn plain(given: &[Equality]) -> Self {
        let k = given.len();
        let unit = |j: usize| (0..=j).map(|i| if i == j { 1.0 } else { 0.0 }).collect();
        Self {
            equalities: given.to_vec(),
            r: (0..k).map(unit).collect(),
            own: (0..k).map(Some).collect(),
        }
    }

    /// The orthogonal ones. Earlier columns come first: a function that they explain gets the
    /// multiplier 0. One whose multiplier is penalised is no constraint, and stays as it is.
    ///
    /// # Errors
    /// `Unsupported` when constraints contradict each other.
    pub(super) fn orthogonal(given: &[Equality]) -> Result<Self> {
        let mut basis = Self { equalities: Vec::new(), r: Vec::new(), own: Vec::new() };
        for equality in given {
            let n = equality.column.len().max(1) as f64;
            let mut r = vec![0.0; basis.equalities.len()];
            if equality.penalty.is_some() {
                r.push(1.0);
                basis.r.push(r);
                basis.own.push(Some(basis.equalities.len()));
                basis.equalities.push(equality.clone());
                continue;
            }
            // In a unit of its own: squares of any function are floats.
            let unit = match equality.rms() {
                0.0 => 1.0,
                rms if (1e-100..1e100).contains(&rms) => 1.0,
                rms => rms,
            };
            let mut column: Vec<f64> = equality.column.iter().map(|c| c / unit).collect();
            let (size, total) = (root_mean_square(&column), equality.total / unit);
            for _ in 0..2 {
                let hard = basis.equalities.iter().zip(&mut r).filter(|(q, _)| q.penalty.is_none());
                for (q, r) in hard {
                    let dot: f64 = q.column.iter().zip(&column).map(|(q, c)| q * c).sum();
                    let by = dot / n;
                    *r += by;
                    axpy(-by, &q.column, &mut column);
                }
            }
            let left = (column.iter().map(|c| c * c).sum::<f64>() / n).sqrt();
            let known: f64 = basis.equalities.iter().zip(&r).map(|(q, r)| r * q.total).sum();
            if left > COLLINEAR * size {
                column.iter_mut().for_each(|c| *c /= left);
                let total = (total - known) / left;
                basis.own.push(Some(basis.equalities.len()));
                basis.equalities.push(Equality { column, total, penalty: None });
                r.push(left);
            } else if (total - known).abs() > COLLINEAR * known.abs().max(n * size) {
                return Err(Error::Unsupported(INFEASIBLE.into()));
            } else {
                basis.own.push(None);
            }
            r.iter_mut().for_each(|r| *r *= unit);
            basis.r.push(r);
        }
        Ok(basis)
    }

    /// `Rᵀg`: violations of the constraints as given.
    pub(super) fn given(&self, excess: &[f64]) -> Vec<f64> {
        let dot = |r: &Vec<f64>| r.iter().zip(excess).map(|(r, g)| r * g).sum();
        self.r.iter().map(dot).collect()
    }

    /// `R⁻¹η`: multipliers of the constraints as given.
    pub(super) fn multipliers(&self, eta: &[f64]) -> Vec<f64> {
        let mut rest = eta.to_vec();
        let mut given = vec![0.0; self.r.len()];
        for (j, r) in self.r.iter().enumerate().rev() {
            let Some(own) = self.own[j] else { continue };
            given[j] = rest[own] / r[own];
            axpy(-given[j], r, &mut rest);
        }
        given
    }
}
