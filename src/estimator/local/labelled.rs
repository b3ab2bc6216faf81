//! Divide and conquer with labels.

use super::LocalConfig;
use crate::data::Problem;
use crate::error::Result;
use crate::estimator::labelled::{Classifier, ClassifierModel, Family, Streams, Trains, Weighted};
use crate::estimator::machine::Machine;
use crate::estimator::report::Report;
use crate::float::Real;
use crate::watch::Watch;

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
///
/// Its methods are those of [`Classifier`], its settings the fields of [`LocalConfig`].
pub type LocalBudgetSvc = Classifier<LocalConfig>;

/// A fitted [`LocalBudgetSvc`] with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type LocalBudgetSvcModel<F, L> = ClassifierModel<LocalConfig, F, L>;

impl Family for LocalConfig {
    type Report = Report;

    const CLASSIFIER: &'static str = "LocalBudgetSvc";

    fn c(&self) -> f64 {
        self.c
    }
}

impl Trains for LocalConfig {
    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.fit(problem, None, watch)
    }
}

impl Weighted for LocalConfig {}

impl Streams for LocalConfig {
    fn pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.partial_fit(problem, start, watch)
    }

    fn go_on<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &mut Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Report> {
        self.learn(problem, machine, watch)
    }
}

impl<F: Real, L> LocalBudgetSvcModel<F, L> {
    /// Number of support vectors of each cell.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.machine().sizes().unwrap_or_default()
    }
}
