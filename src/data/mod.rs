//! Samples as the caller holds them, checked once: rows, the training problem, sample orders and passes.

mod csr;
mod gathered;
mod order;
mod passes;
mod problem;
mod rows;
mod scales;
mod selection;
mod stratified;
pub mod svmlight;

pub use csr::{Csr, Indices};
pub use gathered::Gathered;
pub use order::SampleOrder;
pub use passes::{Pass, passes};
pub use problem::{Problem, Targets};
pub(crate) use problem::{SomeTargets, pick};
pub use rows::{AnyRows, Point, RowFloat, Rows};
pub(crate) use rows::{check_finite, each_rows};
pub use scales::Scales;
pub use selection::Selection;
pub(crate) use stratified::StratifiedSample;
