//! The machines on explicit features with labels and builders.

use ndarray::Array2;

use super::config::AssetConfig;
use super::machine::{AssetMachine, decide_expansion, decide_features};
use crate::config::{Builder, FromConfig};
use crate::data::{Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::labels::{classes, decode, encode};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::parallel;
use crate::watch::{Observer, Silent, Watch};

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
#[derive(Clone, Debug, PartialEq)]
pub struct AssetSvc {
    config: AssetConfig,
}

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
#[derive(Clone, Debug, PartialEq)]
pub struct AssetSvr {
    config: AssetConfig,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct AssetSvcModel<F: Real, L> {
    machine: AssetMachine<F>,
    classes: Vec<L>,
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct AssetSvrModel<F: Real> {
    machine: AssetMachine<F>,
}

impl FromConfig<AssetConfig> for AssetSvc {
    fn from_config(config: AssetConfig) -> Result<Self> {
        config.loss.expect_classes(true)?;
        Ok(Self { config })
    }
}

impl FromConfig<AssetConfig> for AssetSvr {
    fn from_config(config: AssetConfig) -> Result<Self> {
        config.loss.expect_classes(false)?;
        Ok(Self { config })
    }
}

impl AssetConfig {
    fn fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<AssetMachine<F>> {
        let cost: Vec<f64> = match weights {
            Some(weights) => weights.iter().map(|w| self.c * w).collect(),
            None => vec![self.c; rows.n_rows()],
        };
        Watch::run(parallel::thread_count(None)?, observer, |watch| {
            AssetMachine::fit(self, rows, targets, &cost, watch)
        })
    }
}

fn decide<F: Real>(machine: &AssetMachine<F>, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
    let values = Watch::run(parallel::thread_count(None)?, &mut Silent, |watch| {
        let intercept = &machine.intercept[..];
        match &machine.map {
            FeatureMap::Landmarks(map) => {
                let (coef, points) = (map.expansion(&machine.coef), map.landmarks());
                let landmarks = (points, map.n_features());
                decide_expansion(map.kernel(), landmarks, (&coef, intercept), rows, watch)
            }
            map => decide_features(map, (&machine.coef, intercept), rows, watch),
        }
    })?;
    Array2::from_shape_vec((rows.n_rows(), machine.intercept.len()), values)
        .map_err(|e| Error::Unsupported(e.to_string()))
}

impl AssetSvc {
    /// Sets hyperparameters; the loss is the hinge unless set.
    #[must_use]
    pub fn builder() -> Builder<AssetConfig, Self> {
        Builder::new(AssetConfig::default())
    }

    /// Trains on rows of any layout and labels of any sortable type, at least two different ones.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `BadLabels`, `OutOfMemory`.
    pub fn fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<AssetSvcModel<F, L>> {
        self.fit_observed(rows, labels, None, &mut Silent)
    }

    /// [`AssetSvc::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`AssetSvc::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<AssetSvcModel<F, L>> {
        let classes = classes(labels)?;
        let index = encode(labels, &classes)?;
        let targets = Targets::Classes { index: &index, n_classes: classes.len() };
        Ok(AssetSvcModel { machine: self.config.fit(rows, targets, weights, observer)?, classes })
    }
}

impl<F: Real, L: Ord + Clone> AssetSvcModel<F, L> {
    /// The label of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        let values = self.decision_function(rows)?;
        Ok(decode(values.as_slice().unwrap_or_default(), values.ncols(), &self.classes))
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class.
    ///
    /// # Errors
    /// As [`AssetSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        decide(&self.machine, rows)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// The machine itself: features, coefficients, how the fit went.
    #[must_use]
    pub fn machine(&self) -> &AssetMachine<F> {
        &self.machine
    }
}

impl AssetSvr {
    /// Sets hyperparameters; the loss is ε-insensitive with ε = 0.1 unless set.
    #[must_use]
    pub fn builder() -> Builder<AssetConfig, Self> {
        let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
        Builder::new(AssetConfig { loss, ..AssetConfig::default() })
    }

    /// Trains on rows of any layout.
    ///
    /// # Errors
    /// As [`AssetSvc::fit`].
    pub fn fit<F: Real>(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<AssetSvrModel<F>> {
        self.fit_observed(rows, values, None, &mut Silent)
    }

    /// [`AssetSvr::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// As [`AssetSvc::fit_observed`].
    pub fn fit_observed<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<AssetSvrModel<F>> {
        let machine = self.config.fit(rows, Targets::Values(values), weights, observer)?;
        Ok(AssetSvrModel { machine })
    }
}

impl<F: Real> AssetSvrModel<F> {
    /// The value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(decide(&self.machine, rows)?.into_raw_vec_and_offset().0)
    }

    /// The machine itself: features, coefficients, how the fit went.
    #[must_use]
    pub fn machine(&self) -> &AssetMachine<F> {
        &self.machine
    }
}
