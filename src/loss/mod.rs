//! Losses `L(y, f)`: what a decision value `f` costs at a target `y` ([`AnyLoss`] has the formulas).
//!
//! A loss is seen in three ways: as a value and a direction for stochastic gradients
//! ([`AnyLoss::value`], [`AnyLoss::violation`]), as a box and a step for coordinate ascent
//! in the dual ([`AnyLoss::dual_step`]), and smoothed, with two derivatives, for Newton's method
//! in the primal and for coordinate ascent in its dual ([`Smoothed`]). Losses know numbers only; the cost `C_i` of a sample multiplies
//! outside, except in the dual, where it is the box.
//!
//! Nobody else asks which loss it is: a loss says of which corners it is made
//! (`pieces`), and what else can be done with it are questions below.
//!
//! References: \[BSCA\] Alg. 2 for the steps, \[PRIMAL\] section 4.2 for the smoothing.

#![deny(clippy::wildcard_enum_match_arm)]

mod any;
mod conjugate;
mod curve;
mod curves;
mod dual;
mod log_loss;
mod pieces;
mod smooth;
#[cfg(test)]
mod tests;

pub use any::AnyLoss;
pub(crate) use conjugate::Conjugate;
pub use curve::Curve;
pub(crate) use curves::{Curves, by_loss};
pub use pieces::{Piece, Zone};
pub use smooth::Smoothed;
