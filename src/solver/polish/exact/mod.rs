//! The exact solution when the basis holds every distinct training sample.
//!
//! ```text
//! K = A Aᵀ,   min over w in R^r (and b)   1/2 ‖w‖² + Σ_i C_i L_h(y_i, a_i·w + b)
//! ```
//!
//! # Method
//!
//! 1. Pivoted Cholesky of the kernel matrix of the distinct samples gives features A of
//!    numerical rank r: however singular K is, `H = I + Aᵀ D A` (bordered for b) is not.
//! 2. Newton with line search while h falls, as in [the module above](super).
//! 3. At the final h the objective is piecewise quadratic: once the zones stay, a full step ends
//!    at the minimum up to rounding. Where the objective is too flat to compare, a step is judged
//!    by the norm of the gradient.
//! 4. When no sample lies in a quadratic zone, the minimum may be an interval of b. The middle
//!    is taken (the finite end when one end is infinite).
//! 5. `β_j = -Σ C_i L_h'(y_i, f_i)` over the samples that equal distinct sample j.
//!
//! The minimiser is unique, so order, copies and weights of samples make no difference beyond
//! rounding: a sample of weight k is k copies of it.
//!
//! Cost: D²r for the features of D distinct samples and Dr² + r³/3 a step. Certificate: the norm
//! of the gradient is at most 1e-12 of the sum of the norms of its terms.

mod machine;

use machine::{Features, Machine};

use super::watch::{Halt, Watch};
use super::{Polish, Polished, Watcher};
use crate::data::Targets;
use crate::error::{Error, Result};
use crate::linalg::pivoted_cholesky;
use crate::solver::StopReason;

/// Relative diagonal left when the rank of K is found.
const RANK_TOL: f64 = 1e-14;
/// Samples that repeat some distinct points.
#[derive(Clone, Copy, Debug)]
pub struct Distinct<'a> {
    /// Kernel matrix of the D distinct points, row-major D x D.
    pub gram: &'a [f64],
    /// The distinct point that each of the n samples equals.
    pub point: &'a [usize],
    /// Targets of the n samples.
    pub targets: Targets<'a>,
    /// C_i of the n samples.
    pub cost: &'a [f64],
}

impl Polish {
    /// Solves the smoothed problem on all samples to rounding error; `tol` and `max_steps` are
    /// not used. The result has one term a distinct point. Call it inside
    /// [`crate::parallel::run`].
    ///
    /// # Errors
    /// As [`Polish::solve`].
    pub fn solve_exactly(&self, data: Distinct<'_>, watcher: &mut Watcher<'_>) -> Result<Polished> {
        self.check()?;
        let (n, size, m) = (data.point.len(), data.gram.len().isqrt(), data.targets.n_outputs());
        for (what, got, expected) in [
            ("y", data.targets.len(), n),
            ("sample_weight", data.cost.len(), n),
            ("kernel matrix", data.gram.len(), size * size),
        ] {
            if got != expected {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        if let Some(bad) = data.gram.iter().position(|v| !v.is_finite()) {
            let (row, column) = (bad / size, bad % size);
            return Err(Error::NonFinite { what: "kernel matrix", row, column });
        }
        if let Some(bad) = data.point.iter().find(|&&p| p >= size) {
            let reason = format!("distinct point {bad} of {size}");
            return Err(Error::InvalidData { what: "X", reason });
        }
        let mut watch = Watch::new(watcher);
        let mut result = Polished {
            coef: vec![0.0; size * m],
            intercept: vec![0.0; m],
            smoothed: 0.0,
            primal: 0.0,
            steps: 0,
            converged: true,
            stop: StopReason::Converged,
        };
        let factor = match pivoted_cholesky(data.gram, size, RANK_TOL, || watch.poll()) {
            Ok(factor) => factor,
            Err(Halt::Fail(error)) => return Err(error),
            Err(Halt::Stop(reason)) => {
                (result.converged, result.stop) = (false, reason);
                (result.smoothed, result.primal) = (f64::NAN, f64::NAN);
                return Ok(result);
            }
        };
        // A kernel matrix of zeros: one feature that is always 0.
        let zeros = vec![0.0; size];
        let features = if factor.rank > 0 {
            Features { rows: &factor.factor, rank: factor.rank, size }
        } else {
            Features { rows: &zeros, rank: 1, size }
        };
        for output in 0..m {
            let mut machine = Machine::new(self, data, features, output)?;
            let done = machine.minimise(&mut watch);
            result.take_exact(&machine, output);
            match done {
                Ok(()) if machine.converged => {}
                Ok(()) => (result.converged, result.stop) = (false, StopReason::MaxIter),
                Err(Halt::Fail(error)) => return Err(error),
                Err(Halt::Stop(reason)) => {
                    (result.converged, result.stop) = (false, reason);
                    break;
                }
            }
        }
        Ok(result)
    }
}

impl Polished {
    fn take_exact(&mut self, machine: &Machine<'_>, output: usize) {
        let m = self.intercept.len();
        let samples = machine.samples(machine.polish.h);
        // Step 5.
        for i in 0..machine.f.len() {
            if samples.cost[i] > 0.0 {
                self.coef[machine.data.point[i] * m + output] -= samples.at(i, machine.f[i]).slope;
            }
        }
        let penalty = machine.penalty();
        self.intercept[output] = machine.w[machine.features.rank];
        self.smoothed += penalty + samples.loss_at(&machine.f);
        self.primal += penalty + samples.plain_loss_at(&machine.f);
        self.steps = self.steps.max(machine.steps);
    }
}
