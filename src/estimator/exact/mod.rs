//! Exact machines, and a classifier with labels over them.

mod fitted;
mod machine;
mod pairs;
mod svc;

pub use fitted::ExactMachine;
pub use machine::{ExactConfig, ExactKind, ExactMpd, ExactSolver, ExactTargets, exact_decision};
pub use svc::{Svc, SvcModel};
