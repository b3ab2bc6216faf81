//! Regression on a budget.

use std::path::Path;

use super::config::BudgetConfig;
use super::machine::Machine;
use super::saving;
use super::train::Start;
use crate::config::{Builder, FromConfig};
use crate::data::{Problem, Rows, Targets};
use crate::error::Result;
use crate::estimator::report::Report;
use crate::loss::AnyLoss;
use crate::model::persist::{Labels, Stored};
use crate::parallel;
use crate::watch::{Silent, Watch};

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
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct BudgetSvrModel<F: Stored> {
    config: BudgetConfig,
    machine: Machine<F>,
    report: Report,
}

impl FromConfig<BudgetConfig> for BudgetSvr {
    fn from_config(config: BudgetConfig) -> Result<Self> {
        config.loss.expect_classes(false)?;
        Ok(Self { config })
    }
}

fn train<F: Stored>(
    config: &BudgetConfig,
    rows: &Rows<'_, F>,
    values: &[f64],
    train: impl FnOnce(&Problem<'_, F>, &mut Watch<'_>) -> Result<(Machine<F>, Report)> + Send,
) -> Result<BudgetSvrModel<F>> {
    let cost = vec![config.c; values.len()];
    let problem = Problem::new(rows.view(), Targets::Values(values), &cost)?;
    let threads = parallel::thread_count(None)?;
    let (machine, report) = Watch::run(threads, &mut Silent, |watch| train(&problem, watch))?;
    Ok(BudgetSvrModel { config: config.clone(), machine, report })
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
    pub fn fit<F: Stored>(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<BudgetSvrModel<F>> {
        train(&self.config, rows, values, |problem, watch| {
            Machine::fit(&self.config, problem, Start::default(), watch)
        })
    }
}

impl<F: Stored> BudgetSvrModel<F> {
    /// The predicted value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.machine.decide(rows)?.into_iter().collect())
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
        train(&self.config, rows, values, |problem, watch| {
            Machine::partial_fit(&self.config, problem, Some(&self.machine), watch)
        })
    }

    /// Keeps the terms and solves for their coefficients on these rows.
    ///
    /// # Errors
    /// Those of [`Problem::new`].
    pub fn polish(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<Self> {
        train(&self.config, rows, values, |problem, watch| {
            self.machine.polish(&self.config, problem, watch)
        })
    }

    /// Writes a safetensors file, whole or not at all; Python's `budgetsvm.load` reads it too.
    ///
    /// # Errors
    /// `InvalidParam` unless `path` ends in `.safetensors`, `Io`.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        let parts = (&self.machine, Labels::None, &self.report);
        saving::save("BudgetSVR", &self.config, parts, path.as_ref())
    }

    /// Reads the file of a regression machine of this precision.
    ///
    /// # Errors
    /// `Io`, `Format`, `OutOfMemory`.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let saving::Loaded { config, machine, report, .. } =
            saving::load::<F>("BudgetSVR", path.as_ref())?;
        Ok(Self { config, machine, report })
    }
}
