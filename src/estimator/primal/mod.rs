//! Machines solved in the primal: linear, on all samples' kernel functions, or on a basis.

mod basis;
mod builder;
mod config;
mod fitted;
mod machine;
mod reduced;
mod run;
mod svc;
mod svr;
mod trials;
mod tune;

pub use builder::PrimalBuilder;
pub use config::{Choice, PrimalConfig, PrimalSolver};
pub use fitted::PrimalTold;
pub use machine::{PrimalBasis, PrimalMachine, PrimalStart, primal_decision};
pub use svc::{PrimalSvc, PrimalSvcModel};
pub use svr::{PrimalSvr, PrimalSvrModel};
pub use tune::Tuned;
