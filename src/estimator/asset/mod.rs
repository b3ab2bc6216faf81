//! Linear machines on explicit features, trained by ASSET.

mod config;
mod estimators;
mod train;

pub use config::{AssetConfig, AssetFeatures, AssetSolver};
pub use estimators::{AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel};
pub use train::AssetReport;
