//! Several quantiles of one value: an output each, on shared terms.
//!
//! ```text
//! min  Σ_q ( ½‖w_q‖² + Σ_i C_i L_q(y_i, f_q(x_i)) ),   L_q(y, f) = max(q (y - f), (1 - q) (f - y))
//! ```
//!
//! Each output is solved for by itself, so that two may cross where rows are few. What is predicted
//! are the values in rising order: for no row is the mean loss over the quantiles larger for it, and
//! they never cross (Chernozhukov, Fernández-Val, Galichon, *Econometrica* 78, 2010).

use serde_json::{Map, Value, json};

use super::config::BudgetConfig;
use crate::config::side_by_side;
use crate::data::{Problem, SomeTargets, Targets};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::loss::AnyLoss;

/// The hyperparameter of one quantile, and that of several.
const ONE: &str = "quantile";
const SEVERAL: &str = "quantiles";

impl BudgetConfig {
    /// Whether several quantiles rise, each in (0, 1), and are what the loss asks for.
    pub(super) fn check_levels(&self) -> Result<()> {
        if self.quantiles.is_empty() {
            return Ok(());
        }
        if !matches!(self.loss, AnyLoss::Quantile { .. }) {
            return Err(Error::Unsupported("quantiles need loss='quantile'".into()));
        }
        self.quantiles.iter().try_for_each(|&quantile| AnyLoss::Quantile { quantile }.check())?;
        match self.quantiles.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => Err(Error::param(ONE, "a list that rises", pair[1])),
            None => Ok(()),
        }
    }

    /// The values of a problem for every quantile, where there are several.
    pub(super) fn leveled<F: Real>(&self, problem: &Problem<'_, F>) -> Result<Option<SomeTargets>> {
        if self.quantiles.is_empty() {
            return Ok(None);
        }
        match problem.targets() {
            Targets::Values(values) => Ok(Some(SomeTargets::of_levels(values, &self.quantiles)?)),
            Targets::Columns { levels, .. } if levels == self.quantiles => Ok(None),
            Targets::Columns { .. } | Targets::Classes { .. } => Err(Error::Unsupported(
                "several quantiles are of one value a row: fit a machine a column of y".into(),
            )),
        }
    }

    /// The hyperparameters that a file holds: as in Python, one or several quantiles have one name.
    pub(super) fn kept_levels(&self) -> Map<String, Value> {
        let mut kept = side_by_side(self);
        if let Some(several) = kept.remove(SEVERAL).filter(|_| !self.quantiles.is_empty()) {
            kept.insert(ONE.into(), several);
        }
        kept
    }
}

/// What a file has by one name, by two.
pub(in crate::estimator) fn apart(params: &mut Map<String, Value>) {
    if let Some(Value::Array(several)) = params.get(ONE).cloned() {
        let middle = several.get(several.len() / 2).cloned().unwrap_or_default();
        params.insert(SEVERAL.into(), Value::Array(several));
        params.insert(ONE.into(), middle);
    }
}

/// A stream's hyperparameters from before there were several quantiles.
pub(super) fn or_none(config: &mut Map<String, Value>) {
    config.entry(SEVERAL).or_insert_with(|| json!([]));
}
