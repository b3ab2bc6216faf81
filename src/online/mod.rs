//! Online learners: one sample at a time, one pass, a model that may be used at any moment.
//!
//! ```text
//! f(x) = Σ_j β_j k(s_j, x),   samples (x_t, y_t) with y_t = ±1, in the order in which they come
//! mistake: y f <= 0,   loss: ℓ = max(0, 1 - y f)
//! ```
//!
//! Every learner is one implementation of [`OnlineLearner`] over one [`BudgetedExpansion`]; their
//! files hold what sets them apart and nothing else.
//!
//! # Method
//! 1. The kernel rows of the next samples are computed as one block, in parallel.
//! 2. The samples take their turns in order: `f` from the row and the coefficients of this moment,
//!    then the learner's step.
//! 3. When a sample becomes a term, its kernel values with the samples of the block still to come
//!    take their place in their rows.
//!
//! Learners that project on the terms keep their coefficients along an orthonormal basis of them,
//! and the samples of a block as coordinates along it (`src/online/basis.rs`).
//!
//! So every step sees the model that the steps before it made, as if samples came one by one, and
//! a stream may be cut into parts anywhere.
//!
//! # The mean of the iterates
//! With `average` predictions are those of `1/T Σ_t f_t`, `f_t` the model after step t, kept at O(1)
//! a change of a coefficient ([`Weights`]): over all steps for learners that drop no term. Learners
//! that drop terms set a quarter of the budget aside for terms that went, and the mean is over the last
//! steps, as far back as those terms reach (`src/online/dropped.rs`): the exact mean of a window,
//! within the budget.
//!
//! *Cost* of a step: O(B d) for the kernel row, beside the learner's own; memory O(B d), and B²/2
//! numbers for the projectrons, B² for [`NystroemOgd`]. Nothing grows with the number of samples
//! under a budget.
//!
//! *References*: each learner's page.

#![deny(clippy::wildcard_enum_match_arm)]

mod any;
mod basis;
mod block;
pub mod budget_ogd;
mod dropped;
mod expansion;
pub mod forgetron;
pub mod fourier_ogd;
mod learner;
mod model;
pub mod nystroem_ogd;
pub mod ogd;
pub mod passive_aggressive;
pub mod perceptron;
pub mod projectron;
mod saved;
pub mod sparse_pa;
mod stream;
mod weights;

pub use any::{ASIDE, AnyLearner};
pub use budget_ogd::{BudgetOgd, Sampling};
pub use expansion::{BudgetedExpansion, Turn, Update};
pub use forgetron::Forgetron;
pub use fourier_ogd::FourierOgd;
pub use learner::{BasisForm, Bound, OnlineLearner};
pub(crate) use model::model_of;
pub use nystroem_ogd::NystroemOgd;
pub use ogd::KernelOgd;
pub use passive_aggressive::PassiveAggressive;
pub use perceptron::{KernelPerceptron, RandomizedBudgetPerceptron, Stoptron};
pub use projectron::Projectron;
pub use sparse_pa::SparsePassiveAggressive;
pub use stream::{Counts, Stream};
pub use weights::Weights;
