//! One class as a hinge machine with one label and a tilted offset, in units in which its threshold
//! is about 1.
//!
//! ```text
//! min over w, ρ   ½‖w‖² - ρ + 1/(νW) Σ_i c_i L_h(ρ - f_i)          W = Σ c_i
//!
//! with w = u w', ρ = u (1 - b), C_i = c_i / (u ν W), divided by u², up to a constant:
//!
//! min over w', b  ½‖w'‖² + b/u + Σ_i C_i hinge_h(f'_i + b)          1/u = ν Σ C_i
//! ```
//!
//! The hinge is at its corner where `f = ρ`, whatever u is. Steps of passes leave the offset at 0:
//! with u near ρ their violations are those of one class. With costs `c_i / (u ν)`, which do not
//! depend on the rows to come, and the penalty times W it is the same: so a stream holds it.

use serde::{Deserialize, Serialize};

use crate::config::{at_most_one, positive};
use crate::data::{Gathered, Problem, SomeTargets};
use crate::error::Result;
use crate::estimator::basis::{ModelRows, model_on};
use crate::estimator::budget::config::BudgetConfig;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::model::KernelModel;
use crate::solver::smoothed::{Polish, Polished, Start, basis_gram};
use crate::watch::Watch;

/// Rows that tell the first threshold, and terms for it, at most.
const ROWS: usize = 2048;
const TERMS: usize = 256;
/// Values that these rows are, at most, and as few rows as wide ones may be: this comes before a
/// limit can be heard.
const VALUES: usize = 1 << 22;
const FEW: usize = 64;
/// Steps are for a ν by which so many rows a term are left out at least: those that ν itself leaves
/// out would leave terms unused.
const VIOLATIONS: f64 = 2.0;
/// The corner and the threshold agree where the threshold has moved by less than this share, or
/// after so many rounds.
const AGREED: f64 = 0.05;
const ROUNDS: usize = 6;
/// Width of the corner for it.
const WIDTH: f64 = 0.1;
/// A threshold below this share of the mean k(x, x) counts as this.
const LEAST: f64 = 1e-3;

/// The least threshold with this kernel matrix.
fn least(gram: &[f64]) -> f64 {
    let n = gram.len().isqrt();
    let diagonal = gram.iter().step_by(n + 1).map(|v| v.abs()).sum::<f64>() / n.max(1) as f64;
    (LEAST * diagonal).max(f64::MIN_POSITIVE.sqrt())
}

/// How a machine of one class stands to the hinge machine that stands for it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Units {
    /// ν.
    pub(super) nu: f64,
    /// u, about the threshold ρ, > 0.
    unit: f64,
    /// W, as much of it as is not forgotten.
    weight: f64,
    /// The least threshold, in units of u.
    least: f64,
}

impl Units {
    /// Of no rows yet: u is the threshold of a small machine of some of these.
    pub(super) fn new<F: Real>(
        kernel: AnyKernel,
        nu: f64,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let weighty: Vec<usize> = (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
        let most = (VALUES / problem.rows().n_cols().max(1)).clamp(FEW, ROWS);
        let chosen: Vec<usize> =
            weighty.iter().step_by(weighty.len().div_ceil(most)).copied().collect();
        let rows = Gathered::new(&problem.rows(), &chosen)?;
        let rows = rows.rows()?;
        let basis: Vec<usize> =
            (0..chosen.len()).step_by(chosen.len().div_ceil(TERMS.min(most / 4))).collect();
        let model = model_on(kernel, &rows, &basis, 1)?;
        let all = ModelRows::new(rows.view(), &model)?;
        let gram = watch.unbroken(|watch| basis_gram(&all, watch))?;
        let b = basis.len();
        // About the mean of the decision values of all coefficients alike.
        let (first, mean) = Self::about(nu, &gram, gram.iter().sum::<f64>() / (b * b) as f64);
        let weight: f64 = chosen.iter().map(|&i| problem.cost()[i]).sum();
        let own: Vec<f64> = chosen.iter().map(|&i| problem.cost()[i]).collect();
        let cost = first.costs(&own, weight);
        let targets = SomeTargets::Classes { index: vec![1; chosen.len()], n_classes: 2 };
        let coef = vec![1.0 / (mean * b as f64); b];
        let start = Start { targets: targets.view(), cost: &cost, coef: &coef, intercept: &[0.0] };
        let polish =
            Polish { loss: AnyLoss::Hinge, fit_intercept: true, h: WIDTH, ..Polish::default() };
        let tilt = first.tilt(&cost);
        let found =
            watch.unbroken(|watch| Ok(polish.solve_tilted(&all, (start, tilt), watch)?))?;
        Ok(Self::about(nu, &gram, mean * (1.0 - found.intercept[0])).0)
    }

    /// The units of steps that are to find so many terms.
    pub(super) fn of_steps<F: Real>(
        &self,
        config: &BudgetConfig,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let share = VIOLATIONS * config.budget.unwrap_or(0) as f64 / problem.len() as f64;
        let nu = share.min(1.0);
        if nu <= self.nu {
            return Ok(*self);
        }
        let units = Self::new(config.kernel, nu, problem, watch)?;
        Ok(Self { weight: self.weight, ..units })
    }

    /// Coefficients of other units in these.
    pub(super) fn take(&self, other: &Self, coef: &mut [f64]) {
        if self.unit != other.unit {
            coef.iter_mut().for_each(|v| *v *= other.unit / self.unit);
        }
    }

    /// Whether the threshold at this offset is too near to 0 to say much.
    pub(super) fn is_low(&self, offset: f64) -> bool {
        1.0 - offset < self.least
    }

    /// Of no rows yet: u is a mean of decision values that is known, with this kernel matrix.
    pub(super) fn about(nu: f64, gram: &[f64], value: f64) -> (Self, f64) {
        let least = least(gram);
        let unit = value.max(least);
        (Self { nu, unit, weight: 0.0, least: least / unit }, unit)
    }

    /// Coefficients and offset of a model's terms for these rows, with corners as wide as the
    /// threshold says.
    pub(super) fn solve<F: Real>(
        &self,
        how: &Polish,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Polished> {
        let (rows, targets) = (problem.rows(), problem.targets());
        let cost = self.costs(problem.cost(), problem.cost().iter().sum());
        let all = ModelRows::new(rows.view(), model)?;
        let (mut coef, mut intercept) = (model.coef(), model.intercept().to_vec());
        let mut rounds = 0..ROUNDS;
        loop {
            let before = self.threshold(intercept[0]);
            let start = Start { targets, cost: &cost, coef: &coef, intercept: &intercept };
            let polish = Polish { h: how.h * before, ..*how };
            let found = polish.solve_tilted(&all, (start, self.tilt(&cost)), watch)?;
            let agreed = (self.threshold(found.intercept[0]) - before).abs() <= AGREED * before;
            if agreed || found.stop.is_early() || rounds.next().is_none() {
                return Ok(found);
            }
            (coef, intercept) = (found.coef, found.intercept);
        }
    }

    /// With rows of these weights more, the past decayed by this.
    #[must_use]
    pub(super) fn and(self, decay: f64, cost: &[f64]) -> Self {
        Self { weight: decay * self.weight + cost.iter().sum::<f64>(), ..self }
    }

    /// W.
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    /// Costs of samples of these weights; `of` is W, or 1 where the penalty counts W times.
    pub(super) fn costs(&self, weights: &[f64], of: f64) -> Vec<f64> {
        let factor = 1.0 / (self.unit * self.nu * of);
        weights.iter().map(|c| factor * c).collect()
    }

    /// What one unit of the offset costs beside the loss, with these costs.
    pub(super) fn tilt(&self, costs: &[f64]) -> f64 {
        self.nu * costs.iter().sum::<f64>()
    }

    /// The threshold in units of u at this offset, or the least that corners are measured by.
    pub(super) fn threshold(&self, offset: f64) -> f64 {
        (1.0 - offset).max(self.least)
    }

    /// The objective of the first problem, of the second's.
    pub(super) fn objective(&self, value: f64) -> f64 {
        self.unit * self.unit * value - self.unit
    }

    /// The machine with Σ α = νW, as scikit-learn's: `f - ρ` in units of u is positive inside.
    pub(super) fn outside<F: Real>(&self, model: &KernelModel<F>) -> Result<KernelModel<F>> {
        let factor = self.nu * self.weight * self.unit;
        let coef: Vec<f64> = model.coef().iter().map(|v| factor * v).collect();
        model.with_coef(&coef, model.intercept().iter().map(|b| factor * (b - 1.0)).collect())
    }

    /// Whether these are numbers that a file may hold.
    pub(super) fn check(&self) -> Result<()> {
        at_most_one("nu", self.nu)?;
        positive("unit", self.unit)?;
        positive("weight", self.weight)?;
        at_most_one("least", self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Smoothed;

    #[test]
    fn the_hinge_machine_is_the_machine_of_one_class() {
        let units = Units { nu: 0.3, unit: 0.07, weight: 0.0, least: 1e-3 };
        let weights = [1.0, 0.5, 3.0, 0.0];
        let units = units.and(0.5, &[2.0]).and(1.0, &weights);
        assert_eq!(units.weight(), 6.5);
        let units = Units { weight: 0.0, ..units }.and(1.0, &weights);
        // Any decision values, half their squared norm and a threshold.
        let (f, norm, rho, h) = ([0.05, 0.3, 0.061, 0.0], 0.02, 0.064, 0.004);
        let loss = |h: f64, t: f64| Smoothed { loss: AnyLoss::Hinge, h }.at(1.0, 1.0 - t).value;
        let plain: f64 = f.iter().zip(&weights).map(|(f, c)| c * loss(h, rho - f)).sum();
        let wanted = norm - rho + plain / (0.3 * 4.5);
        let cost = units.costs(&weights, units.weight());
        let (u, b) = (0.07, 1.0 - rho / 0.07);
        assert!((units.tilt(&cost) - 1.0 / u).abs() < 1e-12);
        let losses = f.iter().zip(&cost).map(|(f, c)| c * loss(h / u, 1.0 - (f / u + b)));
        let value = norm / (u * u) + units.tilt(&cost) * b + losses.sum::<f64>();
        assert!((units.objective(value) - wanted).abs() < 1e-12);
    }
}
