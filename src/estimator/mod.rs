//! The public face: estimators with builders, over every room below.
//!
//! [`BudgetSvc`] and [`BudgetSvr`] are what most code needs; [`Svc`] is the exact machine,
//! [`PrimalSvc`] and [`PrimalSvr`] are solved in the primal, [`AssetSvc`] and [`AssetSvr`] are linear
//! on explicit features.
//! [`Machine`] and [`Config`], [`ExactMachine`] and [`ExactConfig`] are the layer beneath, without
//! labels, that the Python bindings use.

mod asset;
mod asset_config;
mod asset_machines;
mod basis;
mod builder;
mod combine;
mod config;
mod exact;
mod exact_pairs;
mod exact_svc;
mod json;
mod labels;
mod limits;
mod local;
mod machine;
pub mod online;
mod part;
mod primal;
mod primal_basis;
mod primal_config;
mod primal_machines;
mod primal_reduced;
mod primal_run;
mod primal_trials;
mod primal_tune;
mod report;
mod saving;
mod score;
pub mod summary;
mod svc;
mod svr;
mod train;

pub use asset::{AssetMachine, decide_expansion, decide_features};
pub use asset_config::{AssetConfig, AssetFeatures, AssetSolver};
pub use asset_machines::{AssetBuilder, AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel};
pub use builder::{Builder, FromConfig};
pub use config::{Config, Maintenance};
pub use exact::{ExactConfig, ExactKind, ExactMachine, ExactSolver, ExactTargets, exact_decision};
pub use exact_svc::{Svc, SvcModel};
pub use local::{LocalConfig, LocalMachine, local_precision};
pub use machine::Machine;
pub use online::{OnlineConfig, OnlineMachine};
pub use primal::{PrimalBasis, PrimalMachine, PrimalStart, primal_decision};
pub use primal_config::{Choice, PrimalConfig, PrimalSolver};
pub use primal_machines::{
    PrimalBuilder, PrimalSvc, PrimalSvcModel, PrimalSvr, PrimalSvrModel, PrimalTold,
};
pub use primal_tune::Tuned;
pub use report::Report;
pub use svc::{BudgetSvc, BudgetSvcModel};
pub use svr::{BudgetSvr, BudgetSvrModel};
pub use train::Start;
