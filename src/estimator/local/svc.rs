//! Divide and conquer with labels.

use ndarray::Array2;

use super::LocalConfig;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::labels::{classes, decode, encode, label_of};
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::report::Report;
use crate::estimator::saved::{self, Saved};
use crate::estimator::setup::ClassWeighted;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent, Watch};

/// A classifier of cells, each with a machine on a budget, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::LocalBudgetSvc;
/// use budgetsvm::kernel::Gaussian;
///
/// // Points inside and outside a circle.
/// let point = |i: usize, j: usize| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// };
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| point(i, j));
/// let labels: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
///
/// let svc = LocalBudgetSvc::builder();
/// let svc = svc.n_clusters(4).budget(20).c(10.0).kernel(Gaussian::new(1.0)?).build()?;
/// let mut model = svc.fit(&Rows::from(&rows), &labels)?;
/// model.learn(&Rows::of_one(&[0.0, 1.0])?, &[true])?;
/// assert!(model.sizes().iter().all(|&size| size <= 20));
/// assert_eq!(model.predict(&Rows::of_slice(&[0.9, 0.1, -2.0, 0.3], 2)?)?, [true, false]);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LocalBudgetSvc {
    config: LocalConfig,
    setup: Setup,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct LocalBudgetSvcModel<F: Precision, L> {
    config: LocalConfig,
    setup: Setup,
    machine: Machine<F>,
    classes: Vec<L>,
    report: Report,
}

impl FromConfig<LocalConfig> for LocalBudgetSvc {
    fn from_config(config: LocalConfig, setup: Setup) -> Result<Self> {
        Ok(Self { config, setup })
    }
}

impl ClassWeighted for LocalBudgetSvc {}

/// Calls `task` with the problem of rows and labels.
fn with_problem<F: Precision, L: Ord + Clone, T>(
    (config, setup): (&LocalConfig, &Setup),
    (rows, labels): (&Rows<'_, F>, &[L]),
    (classes, weights): (&[L], Option<&[f64]>),
    task: impl FnOnce(&Problem<'_, F>) -> Result<T>,
) -> Result<T> {
    let index = encode(labels, classes)?;
    let targets = Targets::Classes { index: &index, n_classes: classes.len() };
    let cost = setup.cost(config.c, weights, (targets, labels.len()))?;
    task(&Problem::new(rows.view(), targets, &cost)?)
}

impl LocalBudgetSvc {
    /// Sets hyperparameters.
    #[must_use]
    pub fn builder() -> Builder<LocalConfig, Self> {
        Builder::new(LocalConfig::default())
    }

    /// Trains on rows of any layout and labels of any type with an order, at least two different ones.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `BadLabels`, `OutOfMemory`.
    pub fn fit<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<LocalBudgetSvcModel<F, L>> {
        self.fit_observed(rows, labels, None, &mut Silent)
    }

    /// [`LocalBudgetSvc::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`LocalBudgetSvc::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<LocalBudgetSvcModel<F, L>> {
        let config = self.setup.settled(&self.config, rows, weights)?;
        let (setup, classes) = (self.setup.clone(), classes(labels)?);
        let with = ((&config, &setup), (rows, labels), (&classes[..], weights));
        let (machine, report) = with_problem(with.0, with.1, with.2, |problem| {
            Watch::run(setup.n_threads()?, observer, |watch| config.fit(problem, None, watch))
        })?;
        Ok(LocalBudgetSvcModel { config, setup, machine, classes, report })
    }

    /// Begins a stream with these rows, as they stand; every label that it will ever have is among
    /// `labels_to_come`, of which there are at least two.
    ///
    /// # Errors
    /// As [`LocalBudgetSvc::fit`]; `Unsupported` for cells that are no streams, and for balanced
    /// classes.
    pub fn partial_fit<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        labels_to_come: &[L],
    ) -> Result<LocalBudgetSvcModel<F, L>> {
        self.setup.check_stream()?;
        let config = self.setup.settled(&self.config, rows, None)?;
        let (setup, classes) = (self.setup.clone(), classes(labels_to_come)?);
        let with = ((&config, &setup), (rows, labels), (&classes[..], None));
        let (machine, report) = with_problem(with.0, with.1, with.2, |problem| {
            let threads = setup.n_threads()?;
            Watch::run(threads, &mut Silent, |watch| config.partial_fit(problem, None, watch))
        })?;
        Ok(LocalBudgetSvcModel { config, setup, machine, classes, report })
    }
}

impl<F: Precision, L: Ord + Clone> LocalBudgetSvcModel<F, L> {
    /// Learns from these rows in the order in which they stand, of labels known; nothing is copied.
    /// An error in rows or labels changes nothing.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `FeatureMismatch`, `BadLabels` for a new label, `OutOfMemory`;
    /// `Unsupported` for cells that are no streams, and for balanced classes.
    pub fn learn(&mut self, rows: &Rows<'_, F>, labels: &[L]) -> Result<()> {
        let Self { config, setup, machine, classes, report } = self;
        setup.check_stream()?;
        let with = ((&*config, &*setup), (rows, labels), (&classes[..], None));
        *report = with_problem(with.0, with.1, with.2, |problem| {
            let threads = setup.n_threads()?;
            Watch::run(threads, &mut Silent, |watch| config.learn(problem, machine, watch))
        })?;
        Ok(())
    }

    /// [`LocalBudgetSvcModel::learn`] in a copy.
    ///
    /// # Errors
    /// As [`LocalBudgetSvcModel::learn`].
    pub fn partial_fit(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        let mut next = self.clone();
        next.learn(rows, labels)?;
        Ok(next)
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
    /// As [`LocalBudgetSvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        label_of(self.machine.model()?, row, &self.classes)
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class. The first call after rows were learnt packs the terms.
    ///
    /// # Errors
    /// As [`LocalBudgetSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.setup.n_threads()?)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Number of support vectors of each cell.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.machine.sizes().unwrap_or_default()
    }

    /// The machine itself.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.machine
    }

    /// What the last training call tells.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

impl<F: Precision, L: Label> Saved for LocalBudgetSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let (labels, told) = (L::to_labels(&self.classes), self.report.attributes());
        saved::pack("LocalBudgetSvc", Some(&self.config), &self.machine, &labels, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found =
            saved::unpack("LocalBudgetSvc", LocalBudgetSvc::builder().config(), archive)?;
        let report = Report::of(&mut found.told)?;
        let classes = found.classes(|k| k)?;
        let (config, machine) = (found.config, found.machine);
        Ok(Self { config, setup: Setup::default(), machine, classes, report })
    }
}
