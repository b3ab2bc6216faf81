//! Solvers, the one training loop that runs them, and what it reports.

mod observe;
pub mod polish;

pub use observe::{Observer, Phase, Progress, Silent, StopReason};
