//! Exact machines, and estimators with labels or targets over them.

mod fitted;
mod functions;
mod labelled;
mod machine;
mod one_class;
mod pairs;
mod samples;
mod semiparametric;
mod semiparametric_one_class;
mod svc;
mod svr;

pub use fitted::ExactMachine;
pub use functions::Functions;
pub(super) use machine::Care;
pub use machine::{ExactConfig, ExactKind, ExactMpd, ExactSolver, ExactTargets};
pub use one_class::{OneClassSvm, OneClassSvmModel};
pub use semiparametric::{
    SemiparametricNuSvc, SemiparametricNuSvr, SemiparametricSvc, SemiparametricSvcModel,
    SemiparametricSvr, SemiparametricSvrModel,
};
pub use semiparametric_one_class::{SemiparametricOneClassSvm, SemiparametricOneClassSvmModel};
pub use svc::{NuSvc, Svc, SvcModel};
pub use svr::{NuSvr, Svr, SvrModel};
