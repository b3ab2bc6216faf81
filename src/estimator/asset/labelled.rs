//! The machines on explicit features with labels or values.

use std::time::Duration;

use serde_json::{Value, json};

use super::config::AssetConfig;
use super::train::AssetReport;
use crate::error::Result;
use crate::estimator::labelled::{
    Classifier, ClassifierModel, Family, OfValues, Regressor, RegressorModel, Told, Weighted,
};
use crate::estimator::machine::Machine;
use crate::estimator::saved::Attributes;
use crate::float::Real;
use crate::loss::AnyLoss;

/// Classification on explicit features, to be fitted; several classes one against the rest.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::{AssetSolver, AssetSvc};
/// use budgetsvm::kernel::Gaussian;
///
/// // Points inside and outside a circle.
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// });
/// let labels: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
/// let rows = Rows::Dense(rows.view());
///
/// let svc = AssetSvc::builder().c(10.0).kernel(Gaussian::new(1.0)?).n_components(30);
/// let model = svc.clone().build()?.fit(&rows, &labels)?;
/// assert_eq!(model.predict(&rows)?, labels);
/// // The same features, solved to a tolerance.
/// let dual = svc.solver(AssetSolver::Dual { tol: 1e-3, shrinking: true }).build()?;
/// assert_eq!(dual.fit(&rows, &labels)?.predict(&rows)?, labels);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Classifier`], its settings the fields of [`AssetConfig`].
pub type AssetSvc = Classifier<AssetConfig>;

/// A fitted [`AssetSvc`] with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type AssetSvcModel<F, L> = ClassifierModel<AssetConfig, F, L>;

/// Regression on explicit features, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::AssetSvr;
/// use budgetsvm::kernel::Gaussian;
///
/// let rows = ndarray::Array2::from_shape_fn((400, 1), |(i, _)| i as f64 / 60.0);
/// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
/// let rows = Rows::Dense(rows.view());
/// let svr = AssetSvr::builder().c(10.0).kernel(Gaussian::new(1.0)?).n_components(20).build()?;
/// let model = svr.fit(&rows, &values)?;
/// assert!(model.predict(&rows)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.3));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Regressor`], its settings the fields of [`AssetConfig`].
pub type AssetSvr = Regressor<AssetConfig>;

/// A fitted [`AssetSvr`]; its methods are those of [`RegressorModel`].
pub type AssetSvrModel<F> = RegressorModel<AssetConfig, F>;

impl Family for AssetConfig {
    type Report = AssetReport;

    const CLASSIFIER: &'static str = "AssetSVC";

    fn c(&self) -> f64 {
        self.c
    }

    fn tube(&self) -> Option<f64> {
        self.loss.tube()
    }

    fn is_logistic(&self) -> bool {
        self.loss == AnyLoss::LogLoss
    }
}

impl OfValues for AssetConfig {
    const REGRESSOR: &'static str = "AssetSVR";
    const COLUMNS: bool = true;

    fn of_values() -> Self {
        let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
        Self { loss, fit_intercept: true, ..Self::default() }
    }
}

impl Weighted for AssetConfig {}

impl Told for AssetReport {
    fn attributes<F: Real>(&self, _c: f64, _machine: &Machine<F>) -> Attributes {
        let time = self.history.iter().map(Duration::as_secs_f64).collect();
        let (primal, dual) = (self.objective.map(|o| o.0), self.objective.map(|o| o.1));
        let objective = json!({"primal": primal, "dual": dual});
        Attributes::of_fit((self.n_iter, self.stop), &[("time".to_owned(), time)], objective)
    }

    fn of<F: Real>(told: &mut Attributes, _machine: &Machine<F>) -> Result<Self> {
        let objective: Value = told.take("objective_")?;
        let history = told.take_history()?;
        let times = history.iter().find(|(name, _)| name == "time").map(|(_, times)| times);
        let duration = |&time: &f64| Duration::try_from_secs_f64(time).unwrap_or_default();
        Ok(Self {
            n_iter: told.take("n_iter_")?,
            stop: told.take_stop()?,
            history: times.into_iter().flatten().map(duration).collect(),
            objective: objective["primal"].as_f64().zip(objective["dual"].as_f64()),
            advice: None,
        })
    }
}
