//! The machines on explicit features with labels and builders.

use std::time::Duration;

use ndarray::Array2;
use serde_json::{Value, json};

use super::config::AssetConfig;
use super::train::AssetReport;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::Result;
use crate::estimator::labels::{classes, decode, encode, label_of};
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::saved::{self, Attributes, Saved};
use crate::estimator::setup::ClassWeighted;
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::model::persist::{Archive, Label, Labels};
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
    setup: Setup,
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
    setup: Setup,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct AssetSvcModel<F: Real, L> {
    settled: Settled,
    machine: Machine<F>,
    report: AssetReport,
    classes: Vec<L>,
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct AssetSvrModel<F: Real> {
    settled: Settled,
    machine: Machine<F>,
    report: AssetReport,
}

impl FromConfig<AssetConfig> for AssetSvc {
    fn from_config(config: AssetConfig, setup: Setup) -> Result<Self> {
        config.loss.expect_classes(true)?;
        Ok(Self { config, setup })
    }
}

impl FromConfig<AssetConfig> for AssetSvr {
    fn from_config(config: AssetConfig, setup: Setup) -> Result<Self> {
        config.loss.expect_classes(false)?;
        Ok(Self { config, setup })
    }
}

impl ClassWeighted for AssetSvc {}

/// What streams go on with beside the machine.
#[derive(Clone, Debug)]
struct Settled {
    config: AssetConfig,
    setup: Setup,
}

impl Settled {
    fn new<F: Real>(
        config: &AssetConfig,
        setup: &Setup,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
    ) -> Result<Self> {
        Ok(Self { config: setup.settled(config, rows, weights)?, setup: setup.clone() })
    }

    fn fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<(Machine<F>, AssetReport)> {
        let cost = self.setup.cost(self.config.c, weights, (targets, rows.n_rows()))?;
        Watch::run(self.setup.n_threads()?, observer, |watch| {
            self.config.fit(rows, targets, &cost, watch)
        })
    }

    /// A pass over new rows, the first ones where there is no machine.
    fn partial_fit<F: Real>(
        &self,
        machine: Option<&Machine<F>>,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        self.setup.check_stream()?;
        let cost = self.setup.cost(self.config.c, None, (targets, rows.n_rows()))?;
        Watch::run(self.setup.n_threads()?, &mut Silent, |watch| {
            self.config.partial_fit(machine, rows, targets, &cost, watch)
        })
    }
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
        let settled = Settled::new(&self.config, &self.setup, rows, weights)?;
        let (machine, report) = settled.fit(rows, targets, weights, observer)?;
        Ok(AssetSvcModel { settled, machine, report, classes })
    }

    /// Begins a stream: one pass over its first rows, among whose samples landmarks are chosen.
    /// `classes` are all that the stream will have, sorted.
    ///
    /// # Errors
    /// Those of [`AssetSvc::fit`], `BadLabels` for a label that is not among `classes`,
    /// `Unsupported` with the dual and with balanced classes.
    pub fn partial_fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        classes: &[L],
    ) -> Result<AssetSvcModel<F, L>> {
        let classes = self::classes(classes)?;
        let index = encode(labels, &classes)?;
        let targets = Targets::Classes { index: &index, n_classes: classes.len() };
        let settled = Settled::new(&self.config, &self.setup, rows, None)?;
        let (machine, report) = settled.partial_fit(None, rows, targets)?;
        Ok(AssetSvcModel { settled, machine, report, classes })
    }
}

impl<F: Real, L: Ord + Clone> AssetSvcModel<F, L> {
    /// Goes on with one pass over new rows.
    ///
    /// # Errors
    /// Those of [`AssetSvc::partial_fit`], `FeatureMismatch`.
    pub fn partial_fit(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        let index = encode(labels, &self.classes)?;
        let targets = Targets::Classes { index: &index, n_classes: self.classes.len() };
        let (machine, report) = self.settled.partial_fit(Some(&self.machine), rows, targets)?;
        let (settled, classes) = (self.settled.clone(), self.classes.clone());
        Ok(Self { settled, machine, report, classes })
    }

    /// The label of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        let values = self.decision_function(rows)?;
        Ok(decode(values.as_slice().unwrap_or_default(), values.ncols(), &self.classes))
    }

    /// The label of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`AssetSvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        label_of(self.machine.model()?, row, &self.classes)
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class.
    ///
    /// # Errors
    /// As [`AssetSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.settled.setup.n_threads()?)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// The machine itself: features and coefficients.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.machine
    }

    /// How the fit went.
    #[must_use]
    pub fn report(&self) -> &AssetReport {
        &self.report
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
        let settled = Settled::new(&self.config, &self.setup, rows, weights)?;
        let (machine, report) = settled.fit(rows, Targets::Values(values), weights, observer)?;
        Ok(AssetSvrModel { settled, machine, report })
    }

    /// Begins a stream: one pass over its first rows, among whose samples landmarks are chosen.
    ///
    /// # Errors
    /// Those of [`AssetSvr::fit`], `Unsupported` with the dual.
    pub fn partial_fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
    ) -> Result<AssetSvrModel<F>> {
        let settled = Settled::new(&self.config, &self.setup, rows, None)?;
        let (machine, report) = settled.partial_fit(None, rows, Targets::Values(values))?;
        Ok(AssetSvrModel { settled, machine, report })
    }
}

impl<F: Real> AssetSvrModel<F> {
    /// Goes on with one pass over new rows.
    ///
    /// # Errors
    /// Those of [`AssetSvr::partial_fit`], `FeatureMismatch`.
    pub fn partial_fit(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<Self> {
        let (machine, report) =
            self.settled.partial_fit(Some(&self.machine), rows, Targets::Values(values))?;
        Ok(Self { settled: self.settled.clone(), machine, report })
    }

    /// The value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.machine.decide(rows, self.settled.setup.n_threads()?)?.into_raw_vec_and_offset().0)
    }

    /// The value of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`AssetSvrModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<f64> {
        self.machine.model()?.decide_one(row, |values| Ok(values[0]))
    }

    /// The machine itself: features and coefficients.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.machine
    }

    /// How the fit went.
    #[must_use]
    pub fn report(&self) -> &AssetReport {
        &self.report
    }
}

impl AssetReport {
    fn attributes(&self) -> Attributes {
        let time = self.history.iter().map(Duration::as_secs_f64).collect();
        let (primal, dual) = (self.objective.map(|o| o.0), self.objective.map(|o| o.1));
        let objective = json!({"primal": primal, "dual": dual});
        Attributes::of_fit((self.n_iter, self.stop), &[("time".to_owned(), time)], objective)
    }

    fn of(told: &mut Attributes) -> Result<Self> {
        let objective: Value = told.take("objective_")?;
        let history = told.take_history()?;
        let times = history.iter().find(|(name, _)| name == "time").map(|(_, times)| times);
        let duration = |&time: &f64| Duration::try_from_secs_f64(time).unwrap_or_default();
        Ok(Self {
            n_iter: told.take("n_iter_")?,
            stop: told.take_stop()?,
            history: times.into_iter().flatten().map(duration).collect(),
            objective: objective["primal"].as_f64().zip(objective["dual"].as_f64()),
        })
    }
}

impl<F: Precision, L: Label> Saved for AssetSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let (labels, told) = (L::to_labels(&self.classes), self.report.attributes());
        saved::pack("AssetSVC", Some(&self.settled.config), &self.machine, &labels, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("AssetSVC", AssetSvc::builder().config(), archive)?;
        let report = AssetReport::of(&mut found.told)?;
        let classes = found.classes(|k| k)?;
        let settled = Settled { config: found.config, setup: Setup::default() };
        Ok(Self { settled, machine: found.machine, report, classes })
    }
}

impl<F: Precision> Saved for AssetSvrModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        let told = self.report.attributes();
        saved::pack("AssetSVR", Some(&self.settled.config), &self.machine, &Labels::None, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("AssetSVR", AssetSvr::builder().config(), archive)?;
        let report = AssetReport::of(&mut found.told)?;
        found.without_classes()?;
        let settled = Settled { config: found.config, setup: Setup::default() };
        Ok(Self { settled, machine: found.machine, report })
    }
}
