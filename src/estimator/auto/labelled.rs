//! Machines without hyperparameters, with labels or values.

use ndarray::Array2;
use serde_json::{Value, json};

use super::config::AutoConfig;
use super::report::{AutoReport, Judged};
use crate::data::{Problem, Rows};
use crate::error::{Error, Result};
use crate::estimator::labelled::{
    Classifier, ClassifierModel, Family, OfValues, Regressor, RegressorModel, Told, Trains,
    Weighted,
};
use crate::estimator::machine::Machine;
use crate::estimator::saved::Attributes;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::Watch;

/// A classifier without a choice to make, to be fitted: Python's `AutoSVC` on numbers.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::AutoSvc;
///
/// // Points inside and outside a circle, and a feature that says nothing.
/// let rows = ndarray::Array2::from_shape_fn((300, 3), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     [r * a.cos(), 50.0 * r * a.sin(), (i * i % 7) as f64][j]
/// });
/// let labels: Vec<bool> = (0..300).map(|i| i % 2 == 0).collect();
///
/// let model = AutoSvc::builder().build()?.fit(&Rows::from(&rows), &labels)?;
/// assert_eq!(model.predict(&Rows::of_slice(&[0.9, 5.0, 3.0, -2.0, 15.0, 3.0], 3)?)?, [true, false]);
/// assert!(model.probabilities(&Rows::of_one(&[0.9, 5.0, 3.0])?)?[(0, 1)] > 0.5);
/// assert!(model.report().feature_scales()[2] < 0.5);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Classifier`], its settings the fields of [`AutoConfig`].
pub type AutoSvc = Classifier<AutoConfig>;

/// A fitted [`AutoSvc`] with labels of type `L`; its methods are those of [`ClassifierModel`].
pub type AutoSvcModel<F, L> = ClassifierModel<AutoConfig, F, L>;

/// Regression without a choice to make, to be fitted: Python's `AutoSVR` on numbers.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::AutoSvr;
///
/// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 30.0);
/// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
/// let model = AutoSvr::builder().build()?.fit(&Rows::from(&rows), &values)?;
/// assert!((model.predict_one(&[1.0])? - 1.0_f64.sin()).abs() < 0.05);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
///
/// Its methods are those of [`Regressor`], its settings the fields of [`AutoConfig`].
pub type AutoSvr = Regressor<AutoConfig>;

/// A fitted [`AutoSvr`]; its methods are those of [`RegressorModel`].
pub type AutoSvrModel<F> = RegressorModel<AutoConfig, F>;

impl Family for AutoConfig {
    type Report = AutoReport;

    const CLASSIFIER: &'static str = "AutoSVC";

    /// C is found.
    fn c(&self) -> f64 {
        1.0
    }
}

impl OfValues for AutoConfig {
    const REGRESSOR: &'static str = "AutoSVR";

    fn of_values() -> Self {
        Self::default()
    }
}

impl Trains for AutoConfig {
    fn own_kernel(&mut self) -> Option<&mut AnyKernel> {
        None
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AutoReport)> {
        self.fit(problem, watch)
    }
}

impl Weighted for AutoConfig {}

impl<F: Real, L: Ord + Clone> AutoSvcModel<F, L> {
    /// Probabilities of the classes, samples x classes: of two a sigmoid of the decision value, of
    /// several the softmax of theirs, fitted to rows that the search held out.
    ///
    /// # Errors
    /// As [`ClassifierModel::predict`].
    pub fn probabilities(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        let values = self.decision_function(rows)?;
        let k = self.classes().len();
        let mut shares = Array2::zeros((values.nrows(), k));
        for (of, mut to) in values.rows().into_iter().zip(shares.rows_mut()) {
            match self.report().calibration[..] {
                [a, b] if k == 2 => {
                    to[1] = 1.0 / (1.0 + (a * of[0] + b).exp());
                    to[0] = 1.0 - to[1];
                }
                [sharpness] if k > 2 => {
                    let most = of.iter().fold(f64::NEG_INFINITY, |m, v| m.max(*v));
                    let each = of.iter().map(|v| (sharpness * (v - most)).exp());
                    to.iter_mut().zip(each).for_each(|(to, v)| *to = v);
                    let total = to.sum();
                    to.iter_mut().for_each(|v| *v /= total);
                }
                _ => return Err(Error::Format("calibration".into())),
            }
        }
        Ok(shares)
    }
}

/// The word among these that a text is.
fn word(text: &Value, known: &[&'static str]) -> Result<&'static str> {
    let bad = || Error::Format("leaderboard_".into());
    known.iter().find(|word| text == *word).copied().ok_or_else(bad)
}

impl Told for AutoReport {
    fn attributes<F: Real>(&self, _c: f64, _machine: &Machine<F>) -> Attributes {
        let line = |one: &Judged| {
            json!({
                "kernel": one.kernel, "coding": one.coding, "scales": one.scales,
                "lambda": one.lambda, "error": one.error, "weight": one.weight,
            })
        };
        Attributes::default()
            .put("n_iter_", json!(1))
            .put("stop_reason_", json!(self.stop.name()))
            .put_history(&self.history)
            .put("leaderboard_", self.judged.iter().map(line).collect())
            .put("gamma_", json!(self.gammas))
            .put("C_", json!(self.costs))
            .put("_calibration", json!(self.calibration))
            .put_doubles("feature_scales_", self.feature_scales())
    }

    /// Of two classes the more probable.
    fn class(&self, values: &[f64]) -> Option<usize> {
        match (values, &self.calibration[..]) {
            ([value], [a, b]) => Some(usize::from(a * value + b < 0.0)),
            _ => None,
        }
    }

    /// The scales of the kernels together; a table of text or with missing values is Python's.
    fn of<F: Real>(told: &mut Attributes, machine: &Machine<F>) -> Result<Self> {
        if told.has("_plans") {
            let plans: Vec<Value> = told.take("_plans")?;
            if plans.iter().any(|plan| plan["missing"] != json!(0)) {
                return Err(Error::Unsupported(
                    "the file holds a machine of a table with columns of text or missing values: \
                     Python's budgetsvm.load reads it"
                        .into(),
                ));
            }
        }
        let lines: Vec<Value> = told.take("leaderboard_")?;
        let number = |line: &Value, name: &str| line[name].as_f64().unwrap_or(f64::NAN);
        let judged = |line: &Value| {
            Ok(Judged {
                kernel: word(&line["kernel"], &["rbf", "laplacian"])?,
                coding: word(&line["coding"], &["standard", "ranks"])?,
                scales: word(&line["scales"], &["width", "gradient products", "descent"])?,
                lambda: number(line, "lambda"),
                error: number(line, "error"),
                weight: number(line, "weight"),
            })
        };
        let mut optional = |name: &str| match told.has(name) {
            true => told.take::<Vec<f64>>(name),
            false => Ok(Vec::new()),
        };
        let (gammas, costs) = (optional("gamma_")?, optional("C_")?);
        let calibration: Vec<f64> = told.take("_calibration")?;
        let scales = told.take_doubles("feature_scales_")?;
        let finite = calibration.iter().all(|v| v.is_finite());
        if scales.len() != machine.n_features() || !finite || calibration.len() > 2 {
            return Err(Error::Format("feature_scales_ and calibration".into()));
        }
        let history = told.take_history()?;
        let parts = lines.iter().filter(|line| number(line, "weight") > 0.0).count();
        Ok(Self {
            stop: told.take_stop()?,
            judged: lines.iter().map(judged).collect::<Result<_>>()?,
            scales: vec![scales; parts.max(1)],
            gammas,
            costs,
            calibration,
            advice: None,
            history,
        })
    }
}
