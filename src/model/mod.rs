//! Models `f(x) = Σ_j β_j k(s_j, x) + b`: the expansion that training edits and the fitted model
//! that predicts.

mod expansion;
mod kernel_model;

pub use expansion::{Expansion, RowScratch};
pub use kernel_model::KernelModel;
