//! Hyperparameters, which come as JSON: the crate reads what files hold.

use budgetsvm::config::Config;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{
    AssetSvc, AssetSvr, AutoConfig, BudgetSvc, BudgetSvr, ExactConfig, LocalConfig, OneClassConfig,
    OnlineConfig, PrimalSvc, PrimalSvr,
};
use budgetsvm::features::{Fourier, IncompleteCholesky, Nystroem};
use pyo3::prelude::*;

use crate::enter::enter_briefly;

/// The hyperparameters of a training call, checked.
pub(crate) fn read<C: Config + Default>(json: &str) -> PyResult<C> {
    enter_briefly(|| C::from_json(json))
}

/// Cells of a "local" machine of these hyperparameters that is fitted to `n` rows of so many classes.
#[pyfunction]
pub(crate) fn local_clusters(config: &str, n: usize, n_classes: usize) -> PyResult<usize> {
    read::<LocalConfig>(config).map(|config| config.clusters_for((n, n_classes)))
}

/// All hyperparameters of a family as JSON: its defaults, with the changes of `config` (checked).
#[pyfunction]
#[pyo3(signature = (family, config = "{}"))]
pub(crate) fn hyperparameters(family: &str, config: &str) -> PyResult<String> {
    fn changed<C: Config>(defaults: &C, config: &str) -> Result<String> {
        Ok(defaults.changed(config)?.to_json())
    }
    enter_briefly(|| match family {
        "budget_svc" => changed(BudgetSvc::builder().config(), config),
        "budget_svr" => changed(BudgetSvr::builder().config(), config),
        "one_class" => changed(&OneClassConfig::default(), config),
        "online" => changed(&OnlineConfig::default(), config),
        "local" => changed(&LocalConfig::default(), config),
        "asset_svc" => changed(AssetSvc::builder().config(), config),
        "asset_svr" => changed(AssetSvr::builder().config(), config),
        "auto" => changed(&AutoConfig::default(), config),
        "primal_svc" => changed(PrimalSvc::builder().config(), config),
        "primal_svr" => changed(PrimalSvr::builder().config(), config),
        "exact" => changed(&ExactConfig::default(), config),
        "nystroem" => changed(&Nystroem::default(), config),
        "fourier" => changed(&Fourier::default(), config),
        "cholesky" => changed(&IncompleteCholesky::default(), config),
        _ => Err(Error::Unsupported(format!("no family of machines '{family}'"))),
    })
}
