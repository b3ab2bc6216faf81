//! The machine of one class on a budget, with its builder.

use ndarray::Array3;

use super::config::OneClassConfig;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::{Result, try_vec};
use crate::estimator::caution::Caution;
use crate::estimator::labelled::{Family, Fitted, GoOn, Streams, Train, Trains};
use crate::estimator::machine::Machine;
use crate::estimator::precision::Precision;
use crate::estimator::report::Report;
use crate::estimator::saved::{self, Saved};
use crate::float::Real;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent, Watch};

/// What most rows have in common and which are unlike them, with a bounded number of support
/// vectors, to be fitted.
///
/// ```
/// use budgetsvm::BudgetOneClassSvm;
/// use budgetsvm::data::Rows;
///
/// // Points of a ring.
/// let rows = ndarray::Array2::from_shape_fn((1000, 2), |(i, j)| {
///     let a = i as f64 * 0.7;
///     if j == 0 { a.cos() } else { a.sin() }
/// });
/// let svm = BudgetOneClassSvm::builder().budget(30).nu(0.05).gamma(2.0).build()?;
/// let mut model = svm.fit(&Rows::from(&rows))?;
/// assert!(model.n_terms() <= 30);
/// let new = Rows::of_slice(&[0.8, 0.6, 0.0, 0.0], 2)?;
/// assert_eq!(model.predict(&new)?, [true, false]);
/// model.learn(&Rows::from(&rows))?;
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetOneClassSvm {
    config: OneClassConfig,
    setup: Setup,
}

/// A fitted [`BudgetOneClassSvm`].
#[derive(Clone, Debug)]
pub struct BudgetOneClassSvmModel<F: Real> {
    fitted: Fitted<OneClassConfig, F>,
}

impl Family for OneClassConfig {
    type Report = Report;

    const CLASSIFIER: &'static str = "BudgetOneClassSVM";

    fn c(&self) -> f64 {
        1.0
    }
}

impl Trains for OneClassConfig {
    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    fn train<F: Real>(
        &self,
        problem: &crate::data::Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.fit(problem, watch)
    }
}

impl Streams for OneClassConfig {
    fn pass<F: Real>(
        &self,
        problem: &crate::data::Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.partial_fit(problem, start, watch)
    }
}

impl FromConfig<OneClassConfig> for BudgetOneClassSvm {
    fn from_config(config: OneClassConfig, setup: Setup) -> Result<Self> {
        Ok(Self { config, setup })
    }
}

/// All rows are of one class.
fn labels<F: Real>(rows: &Rows<'_, F>) -> Result<Vec<u32>> {
    try_vec("class indices", rows.n_rows(), 1)
}

fn of_one(index: &[u32]) -> Targets<'_> {
    Targets::Classes { index, n_classes: 2 }
}

impl BudgetOneClassSvm {
    /// Sets hyperparameters.
    #[must_use]
    pub fn builder() -> Builder<OneClassConfig, Self> {
        Builder::new(OneClassConfig::default())
    }

    /// Finds the support of rows of any layout.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `OutOfMemory`.
    pub fn fit<F: Real>(&self, rows: &Rows<'_, F>) -> Result<BudgetOneClassSvmModel<F>> {
        self.fit_observed(rows, None, &mut Silent)
    }

    /// [`BudgetOneClassSvm::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvm::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<BudgetOneClassSvmModel<F>> {
        let train: &Train<'_, OneClassConfig, F> = &OneClassConfig::train;
        let (index, how) = (labels(rows)?, (&self.config, &self.setup));
        let fitted = Fitted::train(how, (rows, of_one(&index), weights), observer, train)?;
        Ok(BudgetOneClassSvmModel { fitted })
    }

    /// Begins a stream with these rows.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvm::fit`].
    pub fn partial_fit<F: Real>(&self, rows: &Rows<'_, F>) -> Result<BudgetOneClassSvmModel<F>> {
        self.partial_fit_observed(rows, None, &mut Silent)
    }

    /// [`BudgetOneClassSvm::partial_fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvm::fit_observed`].
    pub fn partial_fit_observed<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<BudgetOneClassSvmModel<F>> {
        let (index, how) = (labels(rows)?, (&self.config, &self.setup));
        let fitted = Fitted::begin(how, (rows, of_one(&index), weights), observer)?;
        Ok(BudgetOneClassSvmModel { fitted })
    }
}

impl<F: Real> BudgetOneClassSvmModel<F> {
    /// Goes on learning with these rows. An error changes nothing.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvm::fit`], `FeatureMismatch`, `Unsupported` without a summary of
    /// the rows so far.
    pub fn learn(&mut self, rows: &Rows<'_, F>) -> Result<()> {
        self.learn_observed(rows, None, &mut Silent)
    }

    /// [`BudgetOneClassSvmModel::learn`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvmModel::learn`], and `Interrupted` when the observer says so.
    pub fn learn_observed(
        &mut self,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.fitted.learn((rows, of_one(&labels(rows)?), weights), observer)
    }

    /// [`BudgetOneClassSvmModel::learn`] in a copy.
    ///
    /// # Errors
    /// As [`BudgetOneClassSvmModel::learn`].
    pub fn partial_fit(&self, rows: &Rows<'_, F>) -> Result<Self> {
        let mut next = self.clone();
        next.learn(rows)?;
        Ok(next)
    }

    /// Keeps the terms and solves for coefficients and threshold on these rows.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`].
    pub fn polish(&self, rows: &Rows<'_, F>) -> Result<Self> {
        self.polish_observed(rows, None, &mut Silent)
    }

    /// [`BudgetOneClassSvmModel::polish`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetOneClassSvmModel::polish`], and `Interrupted` when the observer says so.
    pub fn polish_observed(
        &self,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let polish: &GoOn<'_, OneClassConfig, F> = &|config, problem, machine, watch| {
            let report;
            (*machine, report) = config.polish(problem, machine, watch)?;
            Ok(report)
        };
        let mut next = self.clone();
        let index = labels(rows)?;
        next.fitted.go_on((rows, of_one(&index), weights), (true, observer), polish)?;
        Ok(next)
    }

    /// The signed distance of every row from the boundary, not normalised: positive inside.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        self.fitted.values(rows)
    }

    /// [`BudgetOneClassSvmModel::decision_function`] into `out`; of few rows without an allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.fitted.decide_into(rows, out)
    }

    /// Gradients of the decision values in the rows, samples x outputs x features.
    ///
    /// # Errors
    /// Those of [`crate::model::Model::gradient`].
    pub fn gradient(&self, rows: &Rows<'_, F>) -> Result<Array3<f64>> {
        self.fitted.gradient(rows)
    }

    /// Whether every row is inside, or on the boundary.
    ///
    /// # Errors
    /// As [`BudgetOneClassSvmModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<bool>> {
        Ok(self.decision_function(rows)?.iter().map(|value| *value >= 0.0).collect())
    }

    /// [`BudgetOneClassSvmModel::predict`] of one row, on the calling thread.
    ///
    /// # Errors
    /// As [`BudgetOneClassSvmModel::decision_function`].
    pub fn predict_one(&self, row: &[F]) -> Result<bool> {
        self.machine().model()?.decide_one(row, |values| Ok(values[0] >= 0.0))
    }

    /// The threshold: scores without it are decision values plus this.
    ///
    /// # Errors
    /// `OutOfMemory` when it is first asked for after a stream.
    pub fn offset(&self) -> Result<f64> {
        Ok(-self.machine().model()?.intercept()[0])
    }

    /// The same model without the summary of its rows: a small file, to be served. Training does not
    /// go on from it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn without_summary(&self) -> Result<Self> {
        let mut next = self.clone();
        next.fitted.machine = next.fitted.machine.without_summary()?;
        Ok(next)
    }

    /// Number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.machine().n_terms()
    }

    /// What may disappoint in this fit; of a loaded machine nothing is known.
    #[must_use]
    pub fn cautions(&self) -> &[Caution] {
        &self.fitted.cautions
    }

    /// The machine itself: terms, coefficients, offset.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.fitted.machine
    }

    /// What the last training call tells.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.fitted.report
    }
}

impl<F: Precision> Saved for BudgetOneClassSvmModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        let told = self.fitted.attributes();
        self.fitted.to_archive(OneClassConfig::CLASSIFIER, &Labels::None, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let kind = OneClassConfig::CLASSIFIER;
        let mut found = saved::unpack(kind, &OneClassConfig::default(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        found.without_classes(false)?;
        Ok(Self { fitted })
    }
}
