//! Machines solved in the primal: linear, on all samples' kernel functions, or on a basis.

mod basis;
mod config;
mod fitted;
mod found;
mod machine;
mod reduced;
mod run;
mod start;
mod svc;
mod svr;
mod trials;
mod tune;

pub use config::{Choice, PrimalConfig, PrimalSolver};
pub use fitted::PrimalReport;
pub use found::Tuned;
pub use start::{PrimalBasis, PrimalStart};
pub use svc::{PrimalSvc, PrimalSvcModel};
pub use svr::{PrimalSvr, PrimalSvrModel};
