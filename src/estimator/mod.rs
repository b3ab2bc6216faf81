//! The public face: estimators with builders, over every room below.
//!
//! [`BudgetSvc`] and [`BudgetSvr`] are what most code needs; [`Svc`] is the exact machine,
//! [`PrimalSvc`] and [`PrimalSvr`] are solved in the primal, [`AssetSvc`] and [`AssetSvr`] are linear
//! on explicit features; [`OnlineSvc`] learns row by row, [`LocalBudgetSvc`] divides and conquers.
//! [`Machine`] and [`BudgetConfig`], [`ExactMachine`] and [`ExactConfig`] are the layer beneath, without
//! labels, that the Python bindings use.

mod asset;
mod auto;
mod basis;
mod budget;
mod caution;
mod centre;
mod checkpoint;
mod coefficients;
mod exact;
mod kernels;
mod labelled;
mod labels;
mod left_out;
mod local;
mod machine;
pub mod online;
mod passes;
mod piece;
mod precision;
mod primal;
mod reduced;
mod repeated;
mod report;
mod samples;
mod saved;
mod scaled;
pub mod scales;
mod score;
mod selected;
mod setup;
pub mod summary;

pub use crate::model::sigmoid;
pub use asset::{
    AssetConfig, AssetFeatures, AssetReport, AssetSolver, AssetSvc, AssetSvcModel, AssetSvr,
    AssetSvrModel,
};
pub use auto::{
    AutoConfig, AutoReport, AutoSvc, AutoSvcModel, AutoSvr, AutoSvrModel, Judged, LearntScales,
    Recipe, learn_scales,
};
pub use budget::{
    BudgetConfig, BudgetOneClassSvm, BudgetOneClassSvmModel, BudgetSvc, BudgetSvcModel, BudgetSvr,
    BudgetSvrModel, Fold, Found, Grid, GridJudged, Maintenance, OneClassConfig, Place, Recursive,
    Start, SumsOfMachine,
};
pub use caution::Caution;
pub use checkpoint::Checkpoint;
pub use exact::{
    ExactConfig, ExactKind, ExactMachine, ExactMpd, ExactSolver, ExactTargets, Functions, NuSvc,
    NuSvr, OneClassSvm, OneClassSvmModel, SemiparametricNuSvc, SemiparametricNuSvr,
    SemiparametricOneClassSvm, SemiparametricOneClassSvmModel, SemiparametricSvc,
    SemiparametricSvcModel, SemiparametricSvr, SemiparametricSvrModel, Svc, SvcModel, Svr,
    SvrModel,
};
pub use labelled::{
    Classifier, ClassifierModel, Family, LabelSetsModel, OfValues, Regressor, RegressorModel,
    Streams, Told, Trains, Weighted,
};
pub use local::{Cells, LocalBudgetSvc, LocalBudgetSvcModel, LocalConfig};
pub use machine::{Machine, State};
pub use online::{OnlineConfig, OnlineSvc, OnlineSvcModel};
pub use passes::Passes;
pub use precision::{AnyMachine, Precision};
pub use primal::{
    Choice, PrimalBasis, PrimalConfig, PrimalReport, PrimalSolver, PrimalStart, PrimalSvc,
    PrimalSvcModel, PrimalSvr, PrimalSvrModel, Tuned,
};
pub use reduced::ReducedLeastSquares;
pub use report::Report;
pub use saved::{FileInfo, Saved, inspect};
pub use selected::SelectedRows;
pub use setup::{ClassWeighted, KernelConfig};
