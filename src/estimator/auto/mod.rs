//! Machines without hyperparameters: kernels, widths, regularisation, coding and scales of the
//! features found by [`crate::tuning`], then ridge regression on all rows.

mod config;
mod finish;
mod train;

pub use config::AutoConfig;
pub use train::{AutoReport, Judged};
