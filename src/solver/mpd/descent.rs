//! Steps of one variable inside a working set, whose values of the matrix are at hand.

use crate::simd::{LEAST_CURVATURE, descents};

/// The variables of a working set with everything that a step reads.
#[derive(Debug)]
pub(super) struct Descent {
    pub(super) beta: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    /// Effective scores.
    pub(super) scores: Vec<f64>,
    /// `K + Σ ρ_i f_i f_iᵀ` of the set, a row a variable.
    pub(super) matrix: Vec<f64>,
}

impl Descent {
    /// Takes at most `steps` steps until the largest violation is `tol`; returns their number and
    /// whether it stopped for another reason than the number of steps.
    pub(super) fn run(&mut self, tol: f64, steps: u64) -> (u64, bool) {
        let q = self.beta.len();
        let curvature: Vec<f64> =
            (0..q).map(|t| self.matrix[t * q + t].max(LEAST_CURVATURE)).collect();
        let mut gains = vec![0.0; q];
        let mut last = (0, 0.0);
        for taken in 0..=steps {
            let row = &self.matrix[last.0 * q..][..q];
            let (most, worst) = descents(
                &mut self.scores,
                (row, last.1),
                &self.beta,
                (&self.lower, &self.upper),
                &curvature,
                &mut gains,
            );
            if taken == steps {
                break;
            }
            let found = gains.iter().position(|&gain| gain == most && gain > 0.0);
            let Some(t) = found.filter(|_| worst > tol) else { return (taken, true) };
            let before = self.beta[t];
            let free = before + self.scores[t] / curvature[t];
            // Onto the bound itself, not beside it by rounding.
            self.beta[t] = free.max(self.lower[t]).min(self.upper[t]);
            last = (t, self.beta[t] - before);
            if last.1 == 0.0 {
                return (taken, true);
            }
        }
        (steps, false)
    }
}
