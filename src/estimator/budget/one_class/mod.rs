//! One class on a budget: what most rows have in common, in a model of a given size that goes on
//! learning.
//!
//! ```text
//! min over w, ρ   ½‖w‖² - ρ + 1/(νW) Σ_i c_i L_h(ρ - f(x_i)),     W = Σ c_i,   h = smoothing · ρ
//! ```
//!
//! # Method
//!
//! 1. A small machine of some rows tells the threshold ρ roughly; in units of it the rest is a hinge
//!    machine with one label ([`super::units`]).
//! 2. Steps of gradient descent on a budget find the terms: rows beyond the threshold are added,
//!    and terms merged. Where ν leaves out too few rows to fill the budget, the steps have a larger
//!    one.
//! 3. Polishing solves for coefficients and threshold; h follows the threshold until they agree.
//!    Where the budget holds every distinct row, they are the terms, and the problem is solved to
//!    rounding error ([`exact`]).
//! 4. A stream: the recursive polish, as of the other machines on a budget ([`super::recursive`]).
//!
//! What comes out is scaled as scikit-learn's and our exact machine: the coefficients of the rows are
//! between 0 and c_i, and their sum is νW.
//!
//! # Cost
//!
//! That of a fit of [`BudgetSvc`](super::BudgetSvc) with as many terms.
//!
//! References: B. Schölkopf and others, "Estimating the support of a high-dimensional distribution",
//! Neural Computation 13, 2001; \[PRIMAL\] for the smoothing.

mod config;
mod estimator;
mod exact;
mod found;
mod train;

pub use config::OneClassConfig;
pub use estimator::{BudgetOneClassSvm, BudgetOneClassSvmModel};
