//! Machines on a budget: classes or values, shared terms or terms of each output's own.

mod against_rest;
mod combine;
pub(super) mod config;
pub(super) mod hold_out;
mod labelled;
mod part;
mod recursive;
pub(super) mod train;

pub use config::{BudgetConfig, Maintenance};
pub use labelled::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel};
pub use recursive::Recursive;
pub use train::Start;
