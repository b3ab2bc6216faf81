//! Machines solved in the primal: linear, on all samples' kernel functions, or on a basis.

mod basis;
mod config;
mod found;
mod given;
mod labelled;
mod machine;
mod reduced;
mod report;
mod run;
mod start;
mod trials;
mod tune;

pub use config::{Choice, PrimalConfig, PrimalSolver};
pub use labelled::{PrimalSvc, PrimalSvcModel, PrimalSvr, PrimalSvrModel};
pub use report::{PrimalReport, Tuned};
pub use start::{PrimalBasis, PrimalStart};
