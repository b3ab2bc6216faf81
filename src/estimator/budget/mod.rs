//! Machines on a budget: classes or values, shared terms or terms of each output's own.

mod combine;
pub(super) mod config;
mod hold_out;
mod part;
mod svc;
mod svr;
pub(super) mod train;

pub use config::{BudgetConfig, Maintenance};
pub use svc::{BudgetSvc, BudgetSvcModel};
pub use svr::{BudgetSvr, BudgetSvrModel};
pub use train::Start;
