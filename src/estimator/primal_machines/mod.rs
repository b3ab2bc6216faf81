//! The primal machines with labels and builders.

mod builder;
mod fitted;
mod svc;
mod svr;

pub use builder::PrimalBuilder;
pub use fitted::PrimalTold;
pub use svc::{PrimalSvc, PrimalSvcModel};
pub use svr::{PrimalSvr, PrimalSvrModel};
