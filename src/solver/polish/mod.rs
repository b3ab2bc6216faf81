//! Polish: the best coefficients for a basis that is given.
//!
//! ```text
//! min over β in R^B (and b)   1/2 βᵀ K_BB β + Σ_i C_i L_h(y_i, (K_nB β)_i + b)
//! ```
//!
//! Budget maintenance finds good basis points and leaves noisy coefficients. Here the points
//! stay and the coefficients are solved for, by Newton's method in the reduced primal. Several
//! outputs (one against the rest) share the kernel values and nothing else.
//!
//! Three solvers; `choice` says which, by sizes. Where one does not come to its end the next goes on
//! from there.
//!
//! - Newton's method with Hessians, below: small problems. Several columns of values share one sum
//!   that stands for their Hessians (`common`).
//! - Coordinate ascent in the dual on features that outputs share (`dual`): several outputs.
//! - Newton's method by conjugate gradients on the rows that matter (`kept`): many samples or
//!   terms.
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
//! Where the samples are in parts that are elsewhere, the same is done by rounds (`rounds`) on sums of
//! the parts (`sums`).
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
//! References: \[PRIMAL\] sections 4.2 (huberised hinge), 6.2 (reduced expansion), Appendix B
//! (offset); \[BSCA\] for the basis.

mod apart;
mod choice;
mod common;
mod curvature;
mod dual;
mod held;
mod kept;
mod line;
mod newton;
mod output;
mod prune;
mod rounds;
mod row;
mod run;
mod steps;
mod sums;
#[cfg(test)]
mod tests;

pub use rounds::{Basis, Rounds, Settled, SumsOf};
pub use sums::{place_len, sums_len};

use super::smoothed::{KernelRows, Polish, Polished, Start, basis_gram};
use crate::config::not_negative;
use crate::error::{Result, check_len};
use crate::float::Real;
use crate::watch::Watch;

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
        self.solve_tilted(rows, (start, 0.0), watch)
    }

    /// The same of the objective with `tilt` times the offset added, which there must be: that of one
    /// class, whose threshold the tilt holds up.
    ///
    /// # Errors
    /// As [`Polish::solve`]; `InvalidParam` for a tilt that is negative or not finite.
    pub fn solve_tilted<F: Real>(
        &self,
        rows: &dyn KernelRows<F>,
        (start, tilt): (Start<'_>, f64),
        watch: &mut Watch<'_>,
    ) -> Result<Polished> {
        start.check(self, rows.n_rows(), rows.n_terms())?;
        not_negative("tilt", tilt)?;
        let choice = choice::Choice::of(self, start.targets, (rows.n_rows(), rows.n_terms()));
        run::solve(self, choice, rows, (start, tilt), watch)
    }

    /// What would be decided about each sample by coefficients solved for without its fold, n x m,
    /// beginning with those given: about the best ones. `folds` names one of `n_folds` for every
    /// sample. The folds share their pairs and kernel rows.
    ///
    /// # Errors
    /// As [`Polish::solve`]; an early stop, too, is an error.
    pub fn left_out<F: Real>(
        &self,
        rows: &dyn KernelRows<F>,
        start: Start<'_>,
        (folds, n_folds): (&[u32], usize),
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>> {
        start.check(self, rows.n_rows(), rows.n_terms())?;
        check_len("folds", rows.n_rows(), folds.len())?;
        watch.unbroken(|watch| {
            let gram = basis_gram(rows, watch)?;
            let ridge = run::RIDGE * F::epsilon().to_f64();
            let shared = steps::Shared::new(self, (start, 0.0), gram, ridge)?;
            let size = (rows.n_rows(), rows.n_terms());
            if choice::Choice::of(self, start.targets, size) == choice::Choice::Dual
                && let Some(values) = dual::left_out(&shared, rows, (start, folds, n_folds), watch)?
            {
                return Ok(values);
            }
            kept::left_out(&shared, rows, (start, folds, n_folds), watch)
        })
    }
}
