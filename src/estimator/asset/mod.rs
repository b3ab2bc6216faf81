//! Linear machines on explicit features, trained by ASSET.

mod config;
mod estimators;
mod machine;

pub use config::{AssetConfig, AssetFeatures, AssetSolver};
pub use estimators::{AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel};
pub use machine::{AssetMachine, decide_expansion, decide_features};
