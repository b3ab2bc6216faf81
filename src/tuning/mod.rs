//! Machines that tune themselves: coding of the inputs, width, regularisation and the scale of every
//! feature, found by least squares on a few landmarks.
//!
//! ```text
//! k(x, z) = exp(-D(w∘x, w∘z)),   D the squared or the absolute distance, w one scale a feature
//! ```
//!
//! # Method
//!
//! 1. Two codings of the inputs, standardised or by ranks; each with a Gaussian and a Laplacian:
//!    the width by climbing, λ by exact leave-one-out residuals of least squares on landmarks
//!    ([`Reduced`]), which cost one decomposition for all λ. The better coding a kernel is kept.
//! 2. Scales by the average squared gradient of the function found ([`outer`]), a few rounds
//!    (recursive feature machines \[RFM\], the diagonal).
//! 3. Scales by descent along the gradient of a two-fold validation error ([`descend`]), from what
//!    two powers of these squares say: steep scales may have lost a feature that matters, flat ones
//!    are far from good ones. The end of the lower error is kept.
//! 4. The candidates meet on rows that none of this has seen, each with its λ and width about the
//!    ones found ([`Candidate::judge`]): a basis of few landmarks prefers scales that are too smooth.
//! 5. The best of each kernel are blended by weights that are not negative ([`blend`]).
//!
//! Of many outputs random sums are searched ([`sketched`]).
//!
//! A machine of few terms does not keep those that were drawn: they move ([`moved`]).
//!
//! All of it works on a bounded number of rows; what is fitted to all rows afterwards is the
//! estimator's ([`ridge`]). Numbers of the recipe are in [`recipe`].
//!
//! # References
//!
//! \[RFM\], and \[PRIMAL\] section 6.3 for descent with respect to hyperparameters.

mod aim;
mod blend;
mod choose;
mod climb;
mod descend;
mod distances;
mod grid;
mod learn;
mod moved;
mod outer;
mod passing;
pub(crate) mod recipe;
mod reduced;
pub(crate) mod ridge;
#[cfg(test)]
mod ridge_tests;
mod search;
mod sketch;
#[cfg(test)]
mod tests;

pub(crate) use aim::Aim;
pub(crate) use choose::Candidate;
pub(crate) use grid::{Grid, Shape};
pub(crate) use learn::{Learnt, learn, steps as steps_to_learn};
pub(crate) use moved::{Moved, few, moved, solved_few, values_of};
pub use recipe::Recipe;
pub(crate) use reduced::{Reduced, Sought};
pub(crate) use search::{Chosen, Search, Task};
pub(crate) use sketch::sketched;
