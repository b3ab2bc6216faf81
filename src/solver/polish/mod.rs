//! Polish: the best coefficients for a basis that is given.
//!
//! ```text
//! min over β in R^B (and b)   1/2 βᵀ K_BB β + Σ_i C_i L_h(y_i, (K_nB β)_i + b)
//! ```
//!
//! Budget maintenance finds good basis points and leaves noisy coefficients. Here the points
//! stay and the coefficients are solved for, by Newton's method in the reduced primal; the
//! offset `b` is not penalised. L_h is the loss smoothed over a width h ([`Smoothed`]). Several
//! outputs (one against the rest) share the kernel values and nothing else.
//!
//! # Method
//!
//! 1. Start from the trained coefficients times the scalar that is best for them: a scalar of 0
//!    is the zero model, so a bad start costs nothing.
//! 2. h starts wide and falls by a constant factor a step to its final value: each minimiser is
//!    a good start for the next, and few steps are needed.
//! 3. Gradient and Hessian at the margins f held: `g = K_BB β + K_nBᵀ r`, `r_i = C_i L_h'`, and
//!    `H = K_BB + K_nBᵀ D K_nB`, `D_i = C_i L_h''`. Only rows in the quadratic zone enter H. While
//!    h falls, every k-th of them, with k times the weight and multiplied in `f32`, is enough for
//!    a direction (a Newton sketch); at the final h they all enter, except after a short step:
//!    then the zone of a width 3h is taken, so that the next one is longer.
//! 4. `d = -(H + jitter)⁻¹ g` by Cholesky. The jitter is of the order of the rounding in H: a
//!    nearly singular K_BB is harmless, and d is a descent direction all the same. With an
//!    offset the border `K_nBᵀ D 1`, `1ᵀ D 1` belongs to H; when the zone is empty the offset's
//!    diagonal entry is replaced by the mean one.
//! 5. Line search on the objective itself, which is piecewise quadratic along d: once `K_nB d`
//!    is known, a trial costs O(n). Margins are updated, not recomputed.
//! 6. Stop at the final h when the decrease that Newton's model predicts, with the exact Hessian,
//!    is below `tol` of the objective.
//! 7. Stopped from outside, return the better of the start and what was reached, as the final h
//!    sees them. An empty basis leaves the offset alone to be found.
//!
//! When the basis holds every distinct training sample, [`Polish::solve_exactly`] solves the
//! same problem to rounding error.
//!
//! # Cost
//!
//! A step reads K_nB twice (once for `K_nB d`, once for the rows with `r ≠ 0`), 4nB flops at
//! most, and adds qB² for the q rows in the quadratic zone and B³/3 for the factor. K_nB is kept
//! when it fits `cache_bytes`, most of it when half of it or more fits, else its blocks are made
//! again: all of them once a step, and those rows once more that have `r ≠ 0`. Memory: that cache
//! or a few blocks, 2n numbers an output, half a B×B matrix an output and two of them (outputs
//! are taken in groups that bound this).
//!
//! The watch is asked between blocks, between panels of a factor, and every few matrix tiles.
//!
//! # Certificate
//!
//! `gᵀH⁻¹g/2`, the predicted decrease, is at most `tol · objective` when `converged` is set. For
//! exact H and no change of zone it equals the distance of the objective to its minimum.
//!
//! # Determinism
//!
//! Rows are cut into blocks of fixed size, and partial sums are added in the order of the
//! blocks: the result has the same bits for every number of threads, and whether K_nB was kept
//! or not.
//!
//! References: \[PRIMAL\] sections 4.2 (huberised hinge), 6.2 (reduced expansion), Appendix B
//! (offset); \[BSCA\] for the basis.

mod constant;
mod curvature;
mod newton;
mod output;
pub(super) mod panels;
pub(super) mod ray;
mod steps;
#[cfg(test)]
mod tests;

pub use panels::basis_gram;

use crate::data::Targets;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::loss::{AnyLoss, Smoothed};
use crate::watch::{StopReason, Watch};

/// Blocks of K_nB: kernel values between samples and basis.
pub trait KernelRows<F: Real>: Sync {
    /// Number of samples n.
    fn n_rows(&self) -> usize;
    /// Number of basis points B.
    fn n_terms(&self) -> usize;
    /// Kernel values of these samples with the basis, row-major samples x B. The same values
    /// whatever the other samples are. Called from several threads, with up to
    /// [`crate::parallel::ROW_CHUNK`] samples.
    fn fill(&self, samples: &[usize], out: &mut [F]);
    /// Rows `first..` of K_BB, row-major, as many as `out` holds. Called from several threads.
    fn fill_gram(&self, first: usize, out: &mut [f64]);
}

/// How to polish.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polish {
    /// The loss.
    pub loss: AnyLoss,
    /// Whether there is an offset, not penalised.
    pub fit_intercept: bool,
    /// Final half-width of the smoothed zone, > 0 (squared losses do not use it).
    pub h: f64,
    /// Newton steps at most, all widths together.
    pub max_steps: usize,
    /// Stop when the decrease predicted is at most this share of the objective, > 0.
    pub tol: f64,
    /// K_nB is kept when it needs no more bytes than this.
    pub cache_bytes: usize,
}

impl Default for Polish {
    fn default() -> Self {
        Self {
            loss: AnyLoss::Hinge,
            fit_intercept: false,
            h: 0.05,
            max_steps: 50,
            tol: 1e-4,
            cache_bytes: 128 << 20,
        }
    }
}

/// Coefficients found.
#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    /// B x m, term-major: the m outputs of a term together.
    pub coef: Vec<f64>,
    /// One an output; 0 without an offset.
    pub intercept: Vec<f64>,
    /// Smoothed objective at the final h, summed over the outputs. NaN when the work was stopped
    /// before any margins were known.
    pub smoothed: f64,
    /// The same with the loss itself.
    pub primal: f64,
    /// Newton steps (the largest number over the outputs).
    pub steps: usize,
    /// Whether every output met the stopping criterion.
    pub converged: bool,
    /// `Converged`, `MaxIter`, or what the watch said.
    pub stop: StopReason,
}

/// What is given to [`Polish::solve`] beside the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Targets of the n samples.
    pub targets: Targets<'a>,
    /// C_i of the n samples.
    pub cost: &'a [f64],
    /// Trained coefficients, B x m, term-major.
    pub coef: &'a [f64],
    /// Trained offsets, m; read when there is an offset to fit.
    pub intercept: &'a [f64],
}

impl Polish {
    /// Polishes `start` on the basis behind `rows`.
    ///
    /// # Errors
    /// `InvalidParam` for h, `tol` or ε out of range, `LengthMismatch`, `NonFinite` when kernel
    /// values or coefficients are not finite, `OutOfMemory`, and `Interrupted` when the watcher
    /// said so. Any other stop is a result.
    pub fn solve<F: Real>(
        &self,
        rows: &dyn KernelRows<F>,
        start: Start<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Polished> {
        self.check()?;
        let (n, b, m) = (rows.n_rows(), rows.n_terms(), start.targets.n_outputs());
        for (what, got, expected) in [
            ("y", start.targets.len(), n),
            ("sample_weight", start.cost.len(), n),
            ("coefficients", start.coef.len(), b * m),
            ("intercept", start.intercept.len(), m),
        ] {
            if got != expected {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        newton::solve(self, rows, start, watch)
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        self.loss.check()?;
        for (name, value) in [("h", self.h), ("tol", self.tol)] {
            if !(value.is_finite() && value > 0.0) {
                return Err(Error::param(name, "a finite number > 0", value));
            }
        }
        Ok(())
    }

    /// The loss at the final width.
    pub(crate) fn final_loss(&self) -> Smoothed {
        Smoothed { loss: self.loss, h: self.h }
    }
}
