//! Machines without hyperparameters: kernels, widths, regularisation, coding and scales of the
//! features found by [`crate::tuning`], then ridge regression on all rows.

mod columns;
mod config;
mod finish;
mod fit_steps;
mod guard;
mod labelled;
mod learn;
mod report;
mod small;
mod sources;
mod train;

pub use crate::tuning::Recipe;
pub use config::AutoConfig;
pub use labelled::{AutoSvc, AutoSvcModel, AutoSvr, AutoSvrModel};
pub use learn::{LearntScales, learn_scales};
pub use report::{AutoReport, Judged};
