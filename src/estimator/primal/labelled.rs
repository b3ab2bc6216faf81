//! Classification and regression in the primal, with labels or values.

use super::config::PrimalConfig;
use super::report::PrimalReport;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::centre::unit;
use crate::estimator::labelled::{
    Classifier, ClassifierModel, Family, OfValues, Regressor, RegressorModel, Trains, Weighted,
};
use crate::estimator::labels::sorted;
use crate::estimator::left_out::on_its_terms;
use crate::estimator::machine::Machine;
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::watch::{Silent, Watch};

/// Classification in the primal, to be fitted; several classes one against the rest.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::{Choice, PrimalSvc};
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
/// // Newton's method on all samples; then on 10 points that are moved too.
/// let svc = PrimalSvc::builder().c(10.0).kernel(Gaussian::new(1.0)?);
/// let model = svc.clone().build()?.fit(&rows, &labels)?;
/// assert_eq!(model.predict(&rows)?, labels);
/// let small = svc.basis(Choice::KmeansPlusPlus).n_components(10).refine(true);
/// let small = small.build()?.fit(&rows, &labels)?;
/// assert_eq!((small.n_terms(), small.predict(&rows)?), (10, labels));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Classifier`], its settings the fields of [`PrimalConfig`].
pub type PrimalSvc = Classifier<PrimalConfig>;

/// A fitted [`PrimalSvc`] with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type PrimalSvcModel<F, L> = ClassifierModel<PrimalConfig, F, L>;

/// Regression in the primal, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::PrimalSvr;
/// use budgetsvm::kernel::Gaussian;
///
/// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 30.0);
/// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
/// let rows = Rows::Dense(rows.view());
/// let model = PrimalSvr::builder().c(10.0).kernel(Gaussian::new(1.0)?).build()?.fit(&rows, &values)?;
/// assert!(model.predict(&rows)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.2));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Regressor`], its settings the fields of [`PrimalConfig`].
pub type PrimalSvr = Regressor<PrimalConfig>;

/// A fitted [`PrimalSvr`]; its methods are those of [`RegressorModel`].
pub type PrimalSvrModel<F> = RegressorModel<PrimalConfig, F>;

impl Family for PrimalConfig {
    type Report = PrimalReport;

    const CLASSIFIER: &'static str = "PrimalSVC";

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

impl OfValues for PrimalConfig {
    const REGRESSOR: &'static str = "PrimalSVR";
    const COLUMNS: bool = true;

    fn of_values() -> Self {
        Self { loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, ..Self::default() }
    }
}

impl Trains for PrimalConfig {
    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    /// Least squares serve classes too, whose targets are 1 and -1.
    fn check_loss(&self, classes: bool) -> Result<()> {
        if classes && self.loss.is_least_squares() {
            return Ok(());
        }
        self.loss.expect_classes(classes)
    }

    fn left_out<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &Machine<F>,
        folds: (&[u32], usize),
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<f64>>> {
        let how = self.polish(unit(self.loss, problem)?);
        on_its_terms(&how, problem, machine, folds, watch)
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, PrimalReport)> {
        self.fit_given(problem, None, None, watch)
    }
}

impl Weighted for PrimalConfig {}

impl PrimalSvc {
    /// [`PrimalSvc::fit`] with these points as the basis.
    ///
    /// # Errors
    /// Those of [`PrimalSvc::fit`], `FeatureMismatch` for points of other features.
    pub fn fit_on<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        points: &Rows<'_, F>,
    ) -> Result<PrimalSvcModel<F, L>> {
        let scaled = self.setup().scaled(points)?;
        let points = &scaled.rows(points)?;
        self.train((rows, labels, None), &mut Silent, &|config, problem, watch| {
            config.fit_given(problem, Some(points), None, watch)
        })
    }

    /// [`PrimalSvc::fit`] beginning with a machine fitted before, for other hyperparameters or
    /// with rows appended: a basis keeps its points. Without refining the result is the same to
    /// the tolerance; only the time differs.
    ///
    /// # Errors
    /// Those of [`PrimalSvc::fit`], `BadLabels` for other classes than that machine has,
    /// `LengthMismatch` and `FeatureMismatch` where it does not fit, `Unsupported` for features
    /// that are scaled otherwise.
    pub fn fit_from<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        previous: &PrimalSvcModel<F, L>,
    ) -> Result<PrimalSvcModel<F, L>> {
        if sorted(labels) != previous.classes {
            return Err(Error::BadLabels("other classes than the machine was fitted on".into()));
        }
        let previous = &previous.fitted;
        self.setup().check_scales(&previous.machine)?;
        self.train((rows, labels, None), &mut Silent, &|config, problem, watch| {
            config.fit_given(problem, None, Some(previous), watch)
        })
    }
}

impl PrimalSvr {
    /// [`PrimalSvr::fit`] with these points as the basis.
    ///
    /// # Errors
    /// As [`PrimalSvc::fit_on`].
    pub fn fit_on<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        points: &Rows<'_, F>,
    ) -> Result<PrimalSvrModel<F>> {
        let scaled = self.setup().scaled(points)?;
        let points = &scaled.rows(points)?;
        self.train((rows, values.into(), None), &mut Silent, &|config, problem, watch| {
            config.fit_given(problem, Some(points), None, watch)
        })
    }

    /// [`PrimalSvr::fit`] beginning with a machine fitted before; see [`PrimalSvc::fit_from`].
    ///
    /// # Errors
    /// As [`PrimalSvc::fit_from`].
    pub fn fit_from<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        previous: &PrimalSvrModel<F>,
    ) -> Result<PrimalSvrModel<F>> {
        self.setup().check_scales(&previous.fitted.machine)?;
        self.train((rows, values.into(), None), &mut Silent, &|config, problem, watch| {
            config.fit_given(problem, None, Some(&previous.fitted), watch)
        })
    }
}
