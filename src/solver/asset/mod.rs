//! ASSET: stochastic subgradients of a linear machine on explicit features, and dual coordinate
//! ascent on the same features.
//!
//! ```text
//! min  λ/2 ‖w‖² + 1/n Σ_i p_i L(y_i, w·z_i + b)      λ = 1/Σ C_i,  p_i = n C_i / Σ C_i
//! ```
//!
//! which is `P / Σ C_i`; every p_i is 1 when all C_i are equal.
//!
//! *Method*, \[ASSET\] Algorithm 1 ([`train`]).
//! 1. `D_G²`: the mean of `d_l² (‖z_l‖² + 1)` over the first samples, at w = 0, b = 0.
//! 2. `η_j = D_X / (D_G √j)`; *strongly convex* (ASSET*): `η_j = 1/(λ j)`.
//! 3. Draw a sample, make z of it; samples come in blocks, so z is made in parallel.
//! 4. `w ← (1 - η λ) w - η p d z`, `b ← b - η p d`, d the derivative of the loss. Of values no step
//!    goes beyond where the sample's loss is 0: with `f(x)` moved by `η p d (‖z‖² + 1)`, that is the
//!    step times `min(1, L / (η p d² (‖z‖² + 1)))`.
//! 5. Project: `‖w‖ ≤ R`, `|b| ≤ B`. With `m = mean(p L(y, 0))` (1 for the hinge), `R = √(2m/λ)`,
//!    and `√(m/λ)` for classes, since the dual is at most m there. B as given, or 1 (for values the
//!    largest target) and R times the longest z of the first samples.
//! 6. From step N̄ on average the iterates, weighted by η.
//!
//! The iterate is held as a scalar times an array and its average as a combination of the same
//! array with another (`iterate.rs`): a step without violation costs one product.
//!
//! Departs from \[ASSET\] Algorithm 1 in step 4: `D_X` grows as `√(C n)`, and so do its steps, while
//! values lie as far apart as they do. A first step of a thousand times their spread leaves an average
//! of noise. Where the loss, which is never below 0, is modelled by the larger of its tangent and 0, the
//! step ends there \[ASI\]: the bounds for convex losses hold as before, and whatever the length of a
//! step is, the iterates stay bounded. Decision values of classes are told from each other by their
//! signs: there the paper's step stays.
//!
//! Departs from \[ASSET\] section 3: the bound on values uses the mean of the excesses, not the
//! largest, which holds too (w = 0 has that objective) and is smaller. From section 4: N̄ may be a
//! share of the steps ([`Average`]), since the last 100 iterates hardly average at all.
//!
//! *Method*, dual ([`ascend`]; \[HSIEH\], \[LPDSVM\]): coordinate ascent over a stored n x D
//! matrix of features, w kept; samples that do not move five times running are left out until the
//! others are done. An offset is a constant feature, penalised as LIBLINEAR does.
//!
//! *Cost* a step: O(D), and the features of its sample. *Memory*: a block of features, or all of
//! them where they fit the cache and for the dual.
//!
//! *Certificate*: the dual reports primal and dual objective; ASSET has none (its bound,
//! Theorem 1, is `D_X D_G / √N`). What a fit ends with is compared with w = 0 on some samples
//! ([`Outcome::is_better`]).

mod dual;
mod iterate;
mod panel;
mod plan;
mod saved;
mod settings;
mod source;
mod steps;
#[cfg(test)]
mod tests;
mod walk;

pub use dual::{Ascent, Solution, ascend};
pub use iterate::Iterate;
pub use settings::{Average, Settings, Task};
pub use source::Source;
pub use steps::{Outcome, State, train};
