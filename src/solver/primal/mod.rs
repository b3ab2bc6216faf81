//! Primal machines: Newton's method and conjugate gradients on the objective itself.
//!
//! ```text
//! min over f in the kernel's space (and b)   1/2 ‖f‖² + Σ_i C_i L_h(y_i, f(x_i) + b)
//! f = Σ_i β_i k(x_i, ·):   1/2 βᵀKβ + Σ_i C_i L_h(y_i, (Kβ)_i + b)
//! f = w·x:                 1/2 ‖w‖² + Σ_i C_i L_h(y_i, w·x_i + b)
//! ```
//!
//! L_h is a loss with two derivatives almost everywhere ([`crate::loss::Smoothed`]): squared
//! hinge, huberised hinge, smoothed or squared ε-insensitive, and least squares (the last with
//! ε = 0). The paper's λ is 1/(2C). How to minimise is told by [`Polish`], as for a basis that is
//! given: the reduced expansion of \[PRIMAL\] section 6.2 *is* [`Polish::solve`].
//!
//! | solver | unknowns | a step | memory |
//! |---|---|---|---|
//! | [`newton`] | β, one a sample | n_sv³/3 + n² | K and its factor |
//! | [`pcg`] | the same | one product with K | blocks of K |
//! | [`Polish::solve_exactly`] | w, on features of K's rank | as linear | K and its features |
//! | [`linear`] | w | d² a row, d³/3; or products with X when d is large | d², or a few vectors |
//!
//! References: \[PRIMAL\].

mod border;
mod distinct;
mod leave_one_out;
mod linear;
mod newton;
mod path;
mod pcg;
#[cfg(test)]
mod tests;

pub use distinct::Distinct;
pub use leave_one_out::{Criterion, criterion, leave_one_out};
pub use linear::{Linear, linear};
pub use newton::newton;
pub use pcg::{Metric, pcg};

use super::polish::{Polish, Polished, Start};
use crate::error::{Error, Result};
use crate::watch::{Step, StopReason};

/// Lengths of everything in `start`, for n samples and `unknowns` coefficients an output.
fn check(polish: &Polish, start: &Start<'_>, n: usize, unknowns: usize) -> Result<()> {
    polish.check()?;
    let m = start.targets.n_outputs();
    for (what, got, expected) in [
        ("y", start.targets.len(), n),
        ("sample_weight", start.cost.len(), n),
        ("coefficients", start.coef.len(), unknowns * m),
        ("intercept", start.intercept.len(), m),
    ] {
        if got != expected {
            return Err(Error::LengthMismatch { what, expected, got });
        }
    }
    Ok(())
}

/// A result with `unknowns` coefficients for each of m outputs, nothing found yet.
fn nothing(unknowns: usize, m: usize) -> Polished {
    Polished {
        coef: vec![0.0; unknowns * m],
        intercept: vec![0.0; m],
        smoothed: 0.0,
        primal: 0.0,
        steps: 0,
        converged: true,
        stop: StopReason::Converged,
    }
}

/// One output as a solver leaves it.
struct Solved<'a> {
    coef: &'a [f64],
    intercept: f64,
    smoothed: f64,
    primal: f64,
    steps: usize,
    converged: bool,
}

/// Puts one output into the result. Whether to go on with the next one; an error when nothing is
/// usable.
fn take(result: &mut Polished, output: usize, solved: &Solved<'_>, done: Step) -> Result<bool> {
    let m = result.intercept.len();
    for (j, &value) in solved.coef.iter().enumerate() {
        result.coef[j * m + output] = value;
    }
    result.intercept[output] = solved.intercept;
    result.smoothed += solved.smoothed;
    result.primal += solved.primal;
    result.steps = result.steps.max(solved.steps);
    match done {
        Ok(()) => {
            if !solved.converged {
                (result.converged, result.stop) = (false, StopReason::MaxIter);
            }
            Ok(true)
        }
        Err(halt) => {
            (result.converged, result.stop) = (false, halt.into_reason()?);
            Ok(false)
        }
    }
}
