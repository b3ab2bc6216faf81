//! Machines on a budget: classes, values or one class, shared terms or terms of each output's own.

pub(super) mod against_rest;
mod combine;
pub(super) mod config;
mod distributed;
mod grid;
mod halving;
pub(super) mod hold_out;
mod labelled;
mod levels;
mod one_class;
mod part;
mod recursive;
mod search;
pub(super) mod train;
mod tune;
mod units;
mod validation;

pub use config::{BudgetConfig, Maintenance};
pub use distributed::SumsOfMachine;
pub use grid::{Grid, Judged as GridJudged, Place};
pub use halving::Fold;
pub use labelled::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel};
pub(super) use levels::apart;
pub use one_class::{BudgetOneClassSvm, BudgetOneClassSvmModel, OneClassConfig};
pub use recursive::Recursive;
pub use search::Found;
pub use train::Start;
