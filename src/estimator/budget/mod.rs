//! Machines on a budget: classes, values or one class, shared terms or terms of each output's own.

pub(super) mod against_rest;
mod combine;
pub(super) mod config;
pub(super) mod hold_out;
mod labelled;
mod one_class;
mod part;
mod recursive;
pub(super) mod train;
mod units;

pub use config::{BudgetConfig, Maintenance};
pub use labelled::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel};
pub use one_class::{BudgetOneClassSvm, BudgetOneClassSvmModel, OneClassConfig};
pub use recursive::Recursive;
pub use train::Start;
