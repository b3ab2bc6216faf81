//! Classification on a budget.

use super::config::BudgetConfig;
use super::train::Start;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::labels::{encode, label_of, sorted};
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::report::Report;
use crate::estimator::saved::{self, Saved};
use crate::estimator::score::class;
use crate::estimator::setup::ClassWeighted;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent, Watch};

/// A kernel support vector classifier with a bounded number of support vectors, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::BudgetSvc;
/// use budgetsvm::kernel::Gaussian;
///
/// // Points inside and outside a circle.
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// });
/// let labels: Vec<&str> = (0..400).map(|i| if i % 2 == 0 { "in" } else { "out" }).collect();
/// let rows = Rows::from(&rows);
///
/// let svc = BudgetSvc::builder().budget(20).c(10.0).kernel(Gaussian::new(1.0)?).build()?;
/// let model = svc.fit(&rows, &labels)?;
/// assert!(model.n_terms() <= 20);
/// assert_eq!(model.predict(&rows)?, labels);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetSvc {
    config: BudgetConfig,
    setup: Setup,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct BudgetSvcModel<F: Precision, L> {
    config: BudgetConfig,
    setup: Setup,
    machine: Machine<F>,
    classes: Vec<L>,
    report: Report,
}

impl FromConfig<BudgetConfig> for BudgetSvc {
    fn from_config(config: BudgetConfig, setup: Setup) -> Result<Self> {
        config.loss.expect_classes(true)?;
        Ok(Self { config, setup })
    }
}

impl ClassWeighted for BudgetSvc {}

impl BudgetSvc {
    /// Sets hyperparameters.
    #[must_use]
    pub fn builder() -> Builder<BudgetConfig, Self> {
        Builder::new(BudgetConfig::default())
    }

    /// Trains on rows of any layout and labels of any type with an order, at least two different ones.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `BadLabels`, `OutOfMemory`.
    pub fn fit<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<BudgetSvcModel<F, L>> {
        self.fit_observed(rows, labels, None, &mut Silent)
    }

    /// [`BudgetSvc::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetSvc::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<BudgetSvcModel<F, L>> {
        let classes = sorted(labels);
        let index = encode(labels, &classes)?;
        let targets = Targets::Classes { index: &index, n_classes: classes.len() };
        let config = self.setup.settled(&self.config, rows, weights)?;
        let cost = self.setup.cost(config.c, weights, (targets, labels.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let (machine, report) = Watch::run(self.setup.n_threads()?, observer, |watch| {
            config.fit(&problem, Start::default(), watch)
        })?;
        Ok(BudgetSvcModel { config, setup: self.setup.clone(), machine, classes, report })
    }
}

impl<F: Precision, L: Ord + Clone> BudgetSvcModel<F, L> {
    /// The label of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        let values = self.decision_function(rows)?;
        let label = |row: &[f64]| self.classes[class(row)].clone();
        let outputs = values.ncols();
        Ok(values.as_slice().unwrap_or_default().chunks_exact(outputs).map(label).collect())
    }

    /// The label of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`BudgetSvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        label_of(self.machine.model()?, row, &self.classes)
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class.
    ///
    /// # Errors
    /// As [`BudgetSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<ndarray::Array2<f64>> {
        self.machine.decide(rows, self.setup.n_threads()?)
    }

    /// [`BudgetSvcModel::decision_function`] into `out`, row by row; of few rows without an
    /// allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.machine.model()?.predict_into(rows, out, self.setup.n_threads()?)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.machine.n_terms()
    }

    /// The machine itself: support vectors, coefficients, offsets.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.machine
    }

    /// What the last training call tells.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Goes on with one pass over new rows, of labels known; no polishing.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `BadLabels` for a new label.
    pub fn partial_fit(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        self.setup.check_stream()?;
        let (config, machine) = (&self.config, &self.machine);
        self.go_on(rows, labels, |problem, watch| config.partial_fit(problem, Some(machine), watch))
    }

    /// Keeps the terms and solves for their coefficients on these rows.
    ///
    /// # Errors
    /// As [`BudgetSvcModel::partial_fit`].
    pub fn polish(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        let (config, machine) = (&self.config, &self.machine);
        self.go_on(rows, labels, |problem, watch| config.polish(problem, machine, watch))
    }

    fn go_on(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        train: impl FnOnce(&Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, Report)> + Send,
    ) -> Result<Self> {
        let index = encode(labels, &self.classes)?;
        let targets = Targets::Classes { index: &index, n_classes: self.classes.len() };
        let cost = self.setup.cost(self.config.c, None, (targets, labels.len()))?;
        let problem = Problem::new(rows.view(), targets, &cost)?;
        let threads = self.setup.n_threads()?;
        let (machine, report) = Watch::run(threads, &mut Silent, |watch| train(&problem, watch))?;
        let Self { config, setup, classes, .. } = self.clone();
        Ok(Self { config, setup, machine, classes, report })
    }
}

impl<F: Precision, L: Label> Saved for BudgetSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let (labels, told) = (L::to_labels(&self.classes), self.report.attributes());
        saved::pack("BudgetSVC", Some(&self.config), &self.machine, &labels, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("BudgetSVC", BudgetSvc::builder().config(), archive)?;
        let report = Report::of(&mut found.told)?;
        let classes = found.classes(|k| k)?;
        let (config, machine) = (found.config, found.machine);
        Ok(Self { config, setup: Setup::default(), machine, classes, report })
    }
}
