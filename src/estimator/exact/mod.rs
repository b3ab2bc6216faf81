//! Exact machines, and estimators with labels or targets over them.

mod fitted;
mod labelled;
mod machine;
mod one_class;
mod pairs;
mod semiparametric;
mod svc;
mod svr;

pub use fitted::ExactMachine;
pub use machine::{ExactConfig, ExactKind, ExactMpd, ExactSolver, ExactTargets};
pub use one_class::{OneClassSvm, OneClassSvmModel};
pub use semiparametric::{
    Functions, SemiparametricSvc, SemiparametricSvcModel, SemiparametricSvr, SemiparametricSvrModel,
};
pub use svc::{NuSvc, Svc, SvcModel};
pub use svr::{NuSvr, Svr, SvrModel};
