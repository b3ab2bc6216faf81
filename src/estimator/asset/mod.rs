//! Linear machines on explicit features, trained by ASSET.

mod config;
mod labelled;
mod landmarks;
mod train;

pub use config::{AssetConfig, AssetFeatures, AssetSolver};
pub use labelled::{AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel};
pub use train::AssetReport;
