//! Primal machines: Newton's method and conjugate gradients on the objective itself.
//!
//! ```text
//! min over f in the kernel's space (and b)   1/2 ‖f‖² + Σ_i C_i L_h(y_i, f(x_i) + b)
//! f = Σ_i β_i k(x_i, ·):   1/2 βᵀKβ + Σ_i C_i L_h(y_i, (Kβ)_i + b)
//! f = w·x:                 1/2 ‖w‖² + Σ_i C_i L_h(y_i, w·x_i + b)
//! ```
//!
//! L_h is a loss with two derivatives almost everywhere ([`crate::loss::Smoothed`]). The paper's λ
//! is 1/(2C). How to minimise is told by [`Polish`], as for a basis that is
//! given: the reduced expansion of \[PRIMAL\] section 6.2 *is* [`Polish::solve`].
//!
//! | solver | unknowns | a step | memory |
//! |---|---|---|---|
//! | [`newton`] | β, one a sample | n_sv³/3 + n² | K and its factor |
//! | [`pcg`] | the same | one product with K | blocks of K |
//! | [`Polish::solve_exactly`] | w, on features of K's rank | as linear | K and its features |
//! | [`linear`] | w | d² a row, d³/3; or passes and products when d is large | d², or a few vectors |
//!
//! References: \[PRIMAL\].
//!
//! [`Polish`]: crate::solver::smoothed::Polish
//! [`Polish::solve`]: crate::solver::smoothed::Polish::solve
//! [`Polish::solve_exactly`]: crate::solver::smoothed::Polish::solve_exactly

mod border;
#[cfg(test)]
mod coordinate_tests;
mod coordinates;
mod distinct;
mod leave_one_out;
mod linear;
mod newton;
mod path;
mod pcg;
mod place;
mod rows;
#[cfg(test)]
mod tests;
mod zones;

pub use distinct::Distinct;
pub use leave_one_out::{Criterion, criterion, leave_one_out};
pub use linear::{Linear, linear};
pub use newton::newton;
pub use pcg::{Metric, pcg};
