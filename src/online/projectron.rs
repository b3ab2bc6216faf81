//! Projectron and Projectron++: what the terms can express is not stored anew \[PROJECTRON\].
//!
//! ```text
//! z(x): coordinates of x along an orthonormal basis of the terms' span (`src/online/basis.rs`)
//! f = wᵀz,   δ² = k(x,x) - zᵀz:   x = its projection + a rest of length δ, in feature space
//! ```
//!
//! # Method
//! 1. A mistake whose x is near the span, δ <= η, or too near for the basis, `δ² <= 1e-4 k(x,x)`, or
//!    that comes when B terms are held, is projected: `w += y z`. Any other becomes a term, and its
//!    rest a direction of the basis.
//! 2. Projectron++: a loss without a mistake, `0 < y f < 1`, is learnt from too when `ℓ > δ/η`:
//!    `w += y τ z`, `τ = min(1, ℓ/p, 2 (ℓ - δ/η)/p)`, `p = zᵀz` (\[PROJECTRON\] Algorithm 2).
//!
//! Departs from \[PROJECTRON\] in the second and third reason of step 1: the paper's algorithm has
//! no budget and no guard. Unguarded, δ² of terms that nearly depend on each other is rounding error;
//! -0.7 has been seen for what cannot be negative, and coefficients explode. And in the form: the
//! paper borders `K⁻¹` (its eq. 11) and finds `d = K⁻¹ k` for every projection, `β += y d`. Both are
//! the same model; in coordinates a step is O(B).
//!
//! *Cost* B²/2 multiply-adds a sample, as products of matrices; memory B²/2.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{BasisForm, Bound, OnlineLearner};
use crate::config::{hyperparameters, not_negative};
use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::dot;

/// Below this share of `k_tt` the squared distance to the span is no ground for a new term: single
/// precision kernel values are not worth more, and at 1e-8 even double ones were not.
const INDEPENDENT: f64 = 1e-4;

hyperparameters! {
    /// The projectron.
    pub struct Projectron {
        /// B >= 1.
        pub budget: usize = 200;
        /// η >= 0, a distance in feature space.
        pub threshold: f64 = 0.1;
        /// Whether it learns within the margin (Projectron++).
        pub plus_plus: bool = false;
    }
}

impl OnlineLearner for Projectron {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        let inside = turn.y * turn.f < 1.0 && self.plus_plus && self.threshold > 0.0;
        if !turn.is_mistake() && !inside {
            return Ok(Update::None);
        }
        let z = turn.coordinates;
        let p = dot(z, z);
        let delta = (turn.own - p).max(0.0).sqrt();
        let step = if turn.is_mistake() {
            // 1.
            let near = delta <= self.threshold || delta * delta <= INDEPENDENT * turn.own;
            if !near && !model.is_full(self.budget) {
                return model.add_direction(turn, delta, turn.y);
            }
            1.0
        } else {
            // 2.
            let gain = turn.loss() - delta / self.threshold;
            if gain <= 0.0 || p == 0.0 {
                return Ok(Update::None);
            }
            (turn.loss() / p).min(2.0 * gain / p).min(1.0)
        };
        model.weights.add_all(turn.y * step, z);
        Ok(Update::Coefficients)
    }

    fn bound(&self) -> Bound {
        Bound::Stays(self.budget)
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        not_negative("threshold", self.threshold)
    }

    fn basis(&self) -> BasisForm {
        BasisForm::Triangular
    }
}

#[cfg(test)]
mod tests {
    use super::super::basis::{Basis, Coordinates, KernelRows};
    use super::*;
    use crate::rng::Rng;

    /// Points so close that K is nearly singular: the coefficients still are those of least
    /// squares in feature space, by a factorization with pivots of the whole system.
    #[test]
    fn coefficients_are_those_of_least_squares() {
        let mut rng = Rng::new(3);
        let points: Vec<[f64; 2]> = (0..400).map(|_| [rng.uniform(), rng.uniform()]).collect();
        let k = |a: &[f64; 2], b: &[f64; 2]| {
            (-0.7 * ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))).exp()
        };
        let (mut basis, mut kept) = (Basis::default(), Vec::<[f64; 2]>::new());
        let mut projected = 0;
        for point in &points {
            let row: Vec<f64> = kept.iter().map(|s| k(s, point)).collect();
            let rows = KernelRows { values: &row, stride: row.len(), terms: row.len() };
            let mut all = Coordinates::default();
            all.fill(&basis, rows, (0, 1)).unwrap();
            let z = all.of(0, kept.len());
            let delta = 1.0 - z.iter().map(|v| v * v).sum::<f64>();
            assert!(delta > -1e-9);
            if delta > INDEPENDENT {
                basis.extend(z, delta.sqrt()).unwrap();
                kept.push(*point);
                continue;
            }
            projected += 1;
            let mut d = vec![0.0; kept.len()];
            basis.add_coefs(z, &mut d);
            let gram: Vec<Vec<f64>> =
                kept.iter().map(|a| kept.iter().map(|b| k(a, b)).collect()).collect();
            let best = solve(gram, row);
            for (d, b) in d.iter().zip(&best) {
                assert!((d - b).abs() < 1e-8, "{d} {b}");
            }
        }
        assert!(kept.len() >= 8 && projected > 300, "{} {projected}", kept.len());
    }

    /// Gauss with complete pivoting.
    fn solve(mut m: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
        let n = b.len();
        let mut columns: Vec<usize> = (0..n).collect();
        for i in 0..n {
            let pairs = (i..n).flat_map(|r| (i..n).map(move |c| (r, c)));
            let size = |&(r, c): &(usize, usize)| m[r][c].abs();
            let (r, c) = pairs.max_by(|x, y| size(x).total_cmp(&size(y))).unwrap();
            m.swap(i, r);
            b.swap(i, r);
            m.iter_mut().for_each(|row| row.swap(i, c));
            columns.swap(i, c);
            for r in i + 1..n {
                let factor = m[r][i] / m[i][i];
                for c in i..n {
                    m[r][c] -= factor * m[i][c];
                }
                b[r] -= factor * b[i];
            }
        }
        let mut x = vec![0.0; n];
        for i in (0..n).rev() {
            let rest: f64 = (i + 1..n).map(|c| m[i][c] * x[columns[c]]).sum();
            x[columns[i]] = (b[i] - rest) / m[i][i];
        }
        x
    }
}
