//! Online classification with labels.

use ndarray::Array2;

use super::OnlineConfig;
use super::train::shares_work;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Problem, Rows, Targets};
use crate::error::{Result, try_vec};
use crate::estimator::labels::{classes, decode, encode, label_of};
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::report::Report;
use crate::estimator::saved::{self, Saved};
use crate::float::Real;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent, Watch};

/// A kernel classifier that learns from one sample at a time, to be fitted. Which learner it is, and
/// its own hyperparameters, are `learner`'s.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::OnlineSvc;
/// use budgetsvm::kernel::Gaussian;
/// use budgetsvm::online::{AnyLearner, Projectron};
///
/// // Points inside and outside a circle.
/// let point = |i: usize, j: usize| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// };
/// let label = |i: usize| if i % 2 == 0 { "in" } else { "out" };
///
/// let learner = Projectron { budget: 50, threshold: 0.1, plus_plus: true };
/// let svc = OnlineSvc::builder()
///     .learner(AnyLearner::Projectron(learner))
///     .kernel(Gaussian::new(1.0)?)
///     .build()?;
/// // A stream begins with its first rows and the labels that may come, ...
/// let first = ndarray::Array2::from_shape_fn((10, 2), |(i, j)| point(i, j));
/// let labels: Vec<_> = (0..10).map(label).collect();
/// let mut model = svc.partial_fit(&Rows::from(&first), &labels, &["out", "in"])?;
/// // ... and goes on row by row, in place.
/// for i in 10..400 {
///     let row = [point(i, 0), point(i, 1)];
///     model.learn(&Rows::of_one(&row)?, &[label(i)])?;
/// }
/// assert!(model.n_terms() <= 50);
/// assert_eq!(model.predict(&Rows::of_slice(&[0.9, 0.1, -2.0, 0.3], 2)?)?, ["in", "out"]);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineSvc {
    config: OnlineConfig,
    setup: Setup,
}

/// A classifier on its stream, with labels of type `L`.
#[derive(Clone, Debug)]
pub struct OnlineSvcModel<F: Real, L> {
    config: OnlineConfig,
    setup: Setup,
    machine: Machine<F>,
    classes: Vec<L>,
    report: Report,
}

impl FromConfig<OnlineConfig> for OnlineSvc {
    fn from_config(config: OnlineConfig, setup: Setup) -> Result<Self> {
        Ok(Self { config, setup })
    }
}

/// Calls `task` with the problem of rows and labels.
fn with_problem<F: Real, L: Ord + Clone, T>(
    (rows, labels): (&Rows<'_, F>, &[L]),
    classes: &[L],
    task: impl FnOnce(&Problem<'_, F>) -> Result<T>,
) -> Result<T> {
    let index = encode(labels, classes)?;
    let cost = try_vec("costs", labels.len(), 1.0)?;
    let targets = Targets::Classes { index: &index, n_classes: classes.len() };
    task(&Problem::new(rows.view(), targets, &cost)?)
}

impl OnlineSvc {
    /// Sets hyperparameters.
    #[must_use]
    pub fn builder() -> Builder<OnlineConfig, Self> {
        Builder::new(OnlineConfig::default())
    }

    /// Learns from the start, in `max_iter` passes; labels are of any type with an order, at least
    /// two different ones.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `BadLabels`, `OutOfMemory`, and `Unsupported` when coefficients
    /// leave the range of floats.
    pub fn fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<OnlineSvcModel<F, L>> {
        self.fit_observed(rows, labels, &mut Silent)
    }

    /// [`OnlineSvc::fit`], watched by an observer.
    ///
    /// # Errors
    /// Those of [`OnlineSvc::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        observer: &mut dyn Observer,
    ) -> Result<OnlineSvcModel<F, L>> {
        let (config, classes) = (self.setup.settled(&self.config, rows, None)?, classes(labels)?);
        let (machine, report) = with_problem((rows, labels), &classes, |problem| {
            Watch::run(self.setup.n_threads()?, observer, |watch| config.fit(problem, watch))
        })?;
        Ok(OnlineSvcModel { config, setup: self.setup.clone(), machine, classes, report })
    }

    /// Begins a stream with these rows, as they stand; every label that it will ever have is among
    /// `labels_to_come`, of which there are at least two.
    ///
    /// # Errors
    /// As [`OnlineSvc::fit`].
    pub fn partial_fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        labels_to_come: &[L],
    ) -> Result<OnlineSvcModel<F, L>> {
        let config = self.setup.settled(&self.config, rows, None)?;
        let classes = classes(labels_to_come)?;
        let (machine, report) = with_problem((rows, labels), &classes, |problem| {
            Watch::run(self.setup.n_threads()?, &mut Silent, |watch| {
                config.partial_fit(problem, (None, false), watch)
            })
        })?;
        Ok(OnlineSvcModel { config, setup: self.setup.clone(), machine, classes, report })
    }
}

impl<F: Real, L: Ord + Clone> OnlineSvcModel<F, L> {
    /// Learns from these rows in the order in which they stand, of labels known; the model is as if
    /// all rows so far had come at once. An error in rows or labels changes nothing; after
    /// `OutOfMemory`, or when coefficients have left the range of floats, a part of the rows may have
    /// been learnt from.
    ///
    /// *Cost*: that of the learner's steps; nothing is copied.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `FeatureMismatch`, `BadLabels` for a new label, `OutOfMemory`,
    /// `Unsupported` when coefficients leave the range of floats.
    pub fn learn(&mut self, rows: &Rows<'_, F>, labels: &[L]) -> Result<()> {
        self.go_on(rows, labels, false)
    }

    /// [`OnlineSvcModel::learn`], and the decision values of each row just before it was learnt
    /// from, samples x outputs: the test of a stream at no further cost.
    ///
    /// # Errors
    /// As [`OnlineSvcModel::learn`].
    pub fn test_then_learn(&mut self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Array2<f64>> {
        self.go_on(rows, labels, true)?;
        let mut values = Array2::zeros((rows.n_rows(), self.machine.n_outputs()));
        for (output, mut column) in values.columns_mut().into_iter().enumerate() {
            let name = format!("decision.{output}");
            let curve = self.report.history.iter().find(|(curve, _)| *curve == name);
            let curve = curve.map_or(&[][..], |(_, values)| values);
            column.iter_mut().zip(curve).for_each(|(to, value)| *to = *value);
        }
        Ok(values)
    }

    /// [`OnlineSvcModel::learn`] in a copy.
    ///
    /// # Errors
    /// As [`OnlineSvcModel::learn`].
    pub fn partial_fit(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        let mut next = self.clone();
        next.learn(rows, labels)?;
        Ok(next)
    }

    fn go_on(&mut self, rows: &Rows<'_, F>, labels: &[L], record: bool) -> Result<()> {
        let Self { config, setup, machine, classes, report } = self;
        *report = with_problem((rows, labels), classes, |problem| {
            if !shares_work(machine, rows.n_rows()) {
                return Watch::run_here(&mut Silent, |watch| {
                    config.learn(problem, (machine, record), watch)
                });
            }
            Watch::run(setup.n_threads()?, &mut Silent, |watch| {
                config.learn(problem, (machine, record), watch)
            })
        })?;
        Ok(())
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
    /// As [`OnlineSvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        label_of(self.machine.model()?, row, &self.classes)
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class. The first call after rows were learnt packs the terms, O(B d);
    /// [`OnlineSvcModel::test_then_learn`] does without.
    ///
    /// # Errors
    /// As [`OnlineSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.machine.decide(rows, self.setup.n_threads()?)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Number of terms, those of all classes together; 0 for a learner on features.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.machine.n_terms()
    }

    /// The machine itself: terms and coefficients.
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

impl<F: Precision, L: Label> Saved for OnlineSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let (labels, told) = (L::to_labels(&self.classes), self.report.attributes());
        saved::pack("OnlineSvc", Some(&self.config), &self.machine, &labels, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("OnlineSvc", OnlineSvc::builder().config(), archive)?;
        let report = Report::of(&mut found.told)?;
        let classes = found.classes(|k| k)?;
        let (config, machine) = (found.config, found.machine);
        Ok(Self { config, setup: Setup::default(), machine, classes, report })
    }
}
