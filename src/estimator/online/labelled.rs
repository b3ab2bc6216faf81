//! Online classification with labels.

use ndarray::Array2;

use super::OnlineConfig;
use super::train::shares_work;
use crate::data::{Problem, Rows};
use crate::error::Result;
use crate::estimator::labelled::{Classifier, ClassifierModel, Family, Streams, Trains};
use crate::estimator::machine::Machine;
use crate::estimator::report::Report;
use crate::float::Real;
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
///
/// Its methods are those of [`Classifier`], its settings the fields of [`OnlineConfig`].
pub type OnlineSvc = Classifier<OnlineConfig>;

/// An [`OnlineSvc`] on its stream, with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type OnlineSvcModel<F, L> = ClassifierModel<OnlineConfig, F, L>;

impl Family for OnlineConfig {
    type Report = Report;

    const CLASSIFIER: &'static str = "OnlineSvc";

    /// All costs are alike.
    fn c(&self) -> f64 {
        1.0
    }
}

impl Trains for OnlineConfig {
    /// Frequencies are drawn for every column.
    fn selects_columns(&self) -> bool {
        !self.learner.draws_frequencies()
    }

    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.fit(problem, watch)
    }
}

impl Streams for OnlineConfig {
    fn pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.partial_fit(problem, (start, false), watch)
    }

    fn go_on<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &mut Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Report> {
        self.learn(problem, (machine, false), watch)
    }

    fn shares_work<F: Real>(machine: &Machine<F>, n_rows: usize) -> bool {
        shares_work(machine, n_rows)
    }
}

impl OnlineSvc {
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
        self.train((rows, labels, None), observer, &OnlineConfig::train)
    }
}

impl<F: Real, L: Ord + Clone> OnlineSvcModel<F, L> {
    /// [`learn`](ClassifierModel::learn), and the decision values of each row just before it was
    /// learnt from, samples x outputs: the test of a stream at no further cost.
    ///
    /// # Errors
    /// As [`ClassifierModel::learn`].
    pub fn test_then_learn(&mut self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Array2<f64>> {
        self.go_on((rows, labels, None), &mut Silent, &|config, problem, machine, watch| {
            config.learn(problem, (machine, true), watch)
        })?;
        let mut values = Array2::zeros((rows.n_rows(), self.machine().n_outputs()));
        for (output, mut column) in values.columns_mut().into_iter().enumerate() {
            let name = format!("decision.{output}");
            let curve = self.report().history.iter().find(|(curve, _)| *curve == name);
            let curve = curve.map_or(&[][..], |(_, values)| values);
            column.iter_mut().zip(curve).for_each(|(to, value)| *to = *value);
        }
        Ok(values)
    }
}
