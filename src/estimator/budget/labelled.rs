//! Machines on a budget with labels or values.

use super::config::{BudgetConfig, FOLD_TOL};
use super::train::Start;
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::labelled::{
    Classifier, ClassifierModel, Family, OfValues, Regressor, RegressorModel, Streams, Trains,
    Weighted,
};
use crate::estimator::left_out::on_its_terms;
use crate::estimator::machine::Machine;
use crate::estimator::report::Report;
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::solver::smoothed::Polish;
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
///
/// Its methods are those of [`Classifier`], its settings the fields of [`BudgetConfig`].
pub type BudgetSvc = Classifier<BudgetConfig>;

/// A fitted [`BudgetSvc`] with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type BudgetSvcModel<F, L> = ClassifierModel<BudgetConfig, F, L>;

/// Kernel support vector regression with a bounded number of support vectors, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::BudgetSvr;
/// use budgetsvm::kernel::Gaussian;
///
/// let rows = ndarray::Array2::from_shape_fn((300, 1), |(i, _)| i as f64 / 50.0);
/// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
/// let rows = Rows::Dense(rows.view());
///
/// let svr = BudgetSvr::builder().budget(20).c(10.0).kernel(Gaussian::new(1.0)?).build()?;
/// let model = svr.fit(&rows, &values)?;
/// let predicted = model.predict(&rows)?;
/// assert!(predicted.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.2));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Regressor`], its settings the fields of [`BudgetConfig`].
pub type BudgetSvr = Regressor<BudgetConfig>;

/// A fitted [`BudgetSvr`]; its methods are those of [`RegressorModel`].
pub type BudgetSvrModel<F> = RegressorModel<BudgetConfig, F>;

impl Family for BudgetConfig {
    type Report = Report;

    const CLASSIFIER: &'static str = "BudgetSVC";

    fn c(&self) -> f64 {
        self.c
    }

    fn tube(&self) -> Option<f64> {
        self.loss.tube()
    }

    fn rises(&self) -> bool {
        self.quantiles.len() > 1
    }

    fn kept(&self) -> serde_json::Map<String, serde_json::Value> {
        self.kept_levels()
    }

    fn is_logistic(&self) -> bool {
        self.loss == AnyLoss::LogLoss
    }
}

impl OfValues for BudgetConfig {
    const REGRESSOR: &'static str = "BudgetSVR";
    const COLUMNS: bool = true;

    /// In units of y: the tube of the default epsilon is 0.1 wide.
    fn of_values() -> Self {
        let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
        Self { loss, smoothing: 0.05, fit_intercept: true, ..Self::default() }
    }
}

impl Trains for BudgetConfig {
    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    fn check_loss(&self, classes: bool) -> Result<()> {
        self.loss.expect_classes(classes)
    }

    fn left_out<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &Machine<F>,
        folds: (&[u32], usize),
        watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<f64>>> {
        if !self.polishing || self.budget.is_none() {
            return Ok(None);
        }
        let how = Polish { tol: FOLD_TOL, ..self.polisher(self.unit(problem)?) };
        on_its_terms(&how, problem, machine, folds, watch)
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.fit(problem, Start::default(), watch)
    }
}

impl Weighted for BudgetConfig {}

impl Streams for BudgetConfig {
    fn pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.partial_fit(problem, start, watch)
    }
}

/// Keeps the terms and solves for their coefficients.
fn polish<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    machine: &mut Machine<F>,
    watch: &mut Watch<'_>,
) -> Result<Report> {
    let report;
    (*machine, report) = config.polish(problem, machine, watch)?;
    Ok(report)
}

impl<F: Real, L: Ord + Clone> BudgetSvcModel<F, L> {
    /// The same model without what its stream has learnt: a small file, to be served. Training goes
    /// on from it with its terms in place of the rows.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn without_summary(&self) -> Result<Self> {
        let mut next = self.clone();
        next.fitted.machine = next.fitted.machine.without_summary()?;
        Ok(next)
    }

    /// Keeps the terms and solves for their coefficients on these rows, of labels known.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `BadLabels` for a new label.
    pub fn polish(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        self.polish_observed(rows, labels, None, &mut Silent)
    }

    /// [`BudgetSvcModel::polish`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetSvcModel::polish`], and `Interrupted` when the observer says so.
    pub fn polish_observed(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut next = self.clone();
        next.go_on((rows, labels, weights), observer, &polish)?;
        Ok(next)
    }
}

impl<F: Real> BudgetSvrModel<F> {
    /// As [`BudgetSvcModel::without_summary`].
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn without_summary(&self) -> Result<Self> {
        let mut next = self.clone();
        next.fitted.machine = next.fitted.machine.without_summary()?;
        Ok(next)
    }

    /// Keeps the terms and solves for their coefficients on these rows.
    ///
    /// # Errors
    /// Those of [`Problem::new`].
    pub fn polish<'v>(&self, rows: &Rows<'_, F>, values: impl Into<Targets<'v>>) -> Result<Self> {
        self.polish_observed(rows, values, None, &mut Silent)
    }

    /// [`BudgetSvrModel::polish`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetSvrModel::polish`], and `Interrupted` when the observer says so.
    pub fn polish_observed<'v>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut next = self.clone();
        next.go_on((rows, values.into(), weights), observer, &polish)?;
        Ok(next)
    }
}
