//! Exact machines: sequential minimal optimisation of the dual on working sets.
//!
//! Every machine here is one problem in the signed variables `β` (a class-signed `α`, or one of
//! the two of a regression sample):
//!
//! ```text
//! min ½ βᵀKβ - zᵀβ     l ≤ β ≤ u,   1ᵀβ = e   (ν-machines: one sum a sign)
//! ```
//!
//! # Method
//! 1. `f = Kβ` and the scores `s = z - f` are kept in `f64`; the violation is the largest score
//!    of a variable that can rise minus the least of one that can fall.
//! 2. A working set of the worst violators and half of the last one, free variables first; their
//!    kernel rows come as one block computed in parallel ([`crate::kernel::RowCache`]).
//! 3. Inside it, pairs by second order information \[FAN\], until the set's own violation is a
//!    tenth of the problem's. The two variables of a regression's sample count as one.
//! 4. One pass over the rows of the variables that moved updates f.
//!
//! From 2048 samples on these rounds run on a part of the samples at a time, and what was left out
//! is looked at again until the violation of the whole is below the tolerance (the module
//! `active`; \[LIBSVM\] calls it shrinking).
//!
//! A problem whose variables all fit one working set is plain SMO; a small one is then solved on
//! to about 1e-10.
//!
//! *Cost* of a round over n samples (the part's): O(q n d) for q new rows, O(q n) for f, O(q) an inner step. *Memory*: the
//! cache's bound, O(n) numbers, O(q²) for the working set.
//!
//! *Certificate*: [`Solution::gap`] bounds how far the objective is above the optimum:
//! `Σ max over β' in [l, u] of (s - b)(β' - β)`.
//!
//! *References*: \[LIBSVM\] (problems, stopping), \[FAN\] (selection), \[THUNDER\] (working sets).

mod active;
mod dual;
mod leap;
mod machines;
mod product;
mod rounds;
mod select;
mod smo;
mod whole;
mod working;

pub use dual::{Dual, Solution};
pub use machines::{Fitted, Kind, MpdOutcome, Part, Trace, fit};
pub(super) use machines::{dual, fitted, lean};
pub(super) use product::{Held, Product};
pub use rounds::Settings;
pub use smo::solve;

#[cfg(test)]
mod tests;
