//! Models `f(x) = Σ_j β_j k(s_j, x) + b`: the expansion that training edits, the fitted model
//! that predicts, and the files that hold it.

mod expansion;
mod kernel_model;
mod pairwise;
pub mod persist;

pub use expansion::{Expansion, RowScratch};
pub use kernel_model::KernelModel;
pub use pairwise::PairwiseModel;
