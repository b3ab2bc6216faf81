//! Regression on a budget.

use super::config::BudgetConfig;
use super::train::Start;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::machine::{Machine, Precision};
use crate::estimator::report::Report;
use crate::estimator::saved::{self, Saved};
use crate::loss::AnyLoss;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent, Watch};

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
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetSvr {
    config: BudgetConfig,
    setup: Setup,
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct BudgetSvrModel<F: Precision> {
    config: BudgetConfig,
    setup: Setup,
    machine: Machine<F>,
    report: Report,
}

impl FromConfig<BudgetConfig> for BudgetSvr {
    fn from_config(config: BudgetConfig, setup: Setup) -> Result<Self> {
        config.loss.expect_classes(false)?;
        Ok(Self { config, setup })
    }
}

fn train<F: Precision>(
    (config, setup): (BudgetConfig, &Setup),
    rows: &Rows<'_, F>,
    (values, weights): (&[f64], Option<&[f64]>),
    observer: &mut dyn Observer,
    train: impl FnOnce(&BudgetConfig, &Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, Report)>
    + Send,
) -> Result<BudgetSvrModel<F>> {
    let targets = Targets::Values(values);
    let cost = setup.cost(config.c, weights, (targets, values.len()))?;
    let problem = Problem::new(rows.view(), targets, &cost)?;
    let threads = setup.n_threads()?;
    let (machine, report) = Watch::run(threads, observer, |watch| train(&config, &problem, watch))?;
    Ok(BudgetSvrModel { config, setup: setup.clone(), machine, report })
}

impl BudgetSvr {
    /// Sets hyperparameters; the loss is ε-insensitive with ε = 0.1 unless set.
    #[must_use]
    pub fn builder() -> Builder<BudgetConfig, Self> {
        // In units of y: the tube of the default epsilon is 0.1 wide.
        Builder::new(BudgetConfig {
            loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
            smoothing: 0.05,
            ..BudgetConfig::default()
        })
    }

    /// Trains on rows of any layout.
    ///
    /// # Errors
    /// Those of [`Problem::new`], `OutOfMemory`.
    pub fn fit<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
    ) -> Result<BudgetSvrModel<F>> {
        self.fit_observed(rows, values, None, &mut Silent)
    }

    /// [`BudgetSvr::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`BudgetSvr::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<BudgetSvrModel<F>> {
        let config = self.setup.settled(&self.config, rows, weights)?;
        train((config, &self.setup), rows, (values, weights), observer, |config, problem, watch| {
            config.fit(problem, Start::default(), watch)
        })
    }
}

impl<F: Precision> BudgetSvrModel<F> {
    /// The predicted value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.machine.decide(rows, self.setup.n_threads()?)?.into_iter().collect())
    }

    /// The value of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`BudgetSvrModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<f64> {
        self.machine.model()?.decide_one(row, |values| Ok(values[0]))
    }

    /// [`BudgetSvrModel::predict`] into `out`; of few rows without an allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn predict_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.machine.model()?.predict_into(rows, out, self.setup.n_threads()?)
    }

    /// Number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.machine.n_terms()
    }

    /// The machine itself: support vectors, coefficients, offset.
    #[must_use]
    pub fn machine(&self) -> &Machine<F> {
        &self.machine
    }

    /// What the last training call tells.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Goes on with one pass over new rows; no polishing.
    ///
    /// # Errors
    /// Those of [`Problem::new`].
    pub fn partial_fit(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<Self> {
        self.go_on(rows, values, |config, problem, watch| {
            config.partial_fit(problem, Some(&self.machine), watch)
        })
    }

    /// Keeps the terms and solves for their coefficients on these rows.
    ///
    /// # Errors
    /// Those of [`Problem::new`].
    pub fn polish(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<Self> {
        self.go_on(rows, values, |config, problem, watch| {
            config.polish(problem, &self.machine, watch)
        })
    }

    fn go_on(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        how: impl FnOnce(&BudgetConfig, &Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, Report)>
        + Send,
    ) -> Result<Self> {
        train((self.config.clone(), &self.setup), rows, (values, None), &mut Silent, how)
    }
}

impl<F: Precision> Saved for BudgetSvrModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        let told = self.report.attributes();
        saved::pack("BudgetSVR", Some(&self.config), &self.machine, &Labels::None, told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("BudgetSVR", BudgetSvr::builder().config(), archive)?;
        let report = Report::of(&mut found.told)?;
        found.without_classes()?;
        let (config, machine) = (found.config, found.machine);
        Ok(Self { config, setup: Setup::default(), machine, report })
    }
}
