//! The exact solution where the budget holds every distinct row.
//!
//! With the mean of the rows `m = Σ c_i φ_i / W` and `w = m + v` the smoothed problem is, up to a
//! constant, that of a quantile about it:
//!
//! ```text
//! min over v, ρ   ½‖v‖² + 1/(νW) Σ c_i Q_h(-m·φ_i, v·φ_i - ρ)
//!
//! Q_h(y, g) = (1-ν) hub(y - g) + ν hub(g - y) = hub(y - g) + ν (g - y)
//! ```
//!
//! since `hub_h(t) - hub_h(-t) = t`. That is solved to rounding error; with ν = 1, where no row is
//! beyond its bound, v = 0.

use super::found::{Found, begun, told};
use crate::data::{Problem, SomeTargets};
use crate::error::Result;
use crate::estimator::basis::{self, ModelRows};
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::budget::part::Part;
use crate::estimator::budget::units::Units;
use crate::estimator::passes::Passes;
use crate::estimator::repeated::Repeated;
use crate::float::Real;
use crate::loss::{AnyLoss, Smoothed};
use crate::solver::primal::Distinct;
use crate::solver::smoothed::{Polish, basis_gram};
use crate::watch::{Phase, Progress, Watch};

/// The corner and the threshold agree within this share, or after so many rounds.
const AGREED: f64 = 1e-10;
const ROUNDS: usize = 50;
/// A coefficient of this share of its bound is 0 but for rounding.
const ZERO: f64 = 1e-10;

/// The machine whose terms are the distinct rows.
pub(super) fn fit<F: Real>(
    (config, nu): (&BudgetConfig, f64),
    problem: &Problem<'_, F>,
    repeated: &Repeated,
    watch: &mut Watch<'_>,
) -> Result<Found<F>> {
    let Repeated { distinct, point, cost: weights, .. } = repeated;
    let rows = problem.rows();
    let model = basis::model_on(config.kernel, &rows, distinct, 1)?;
    let n_terms = distinct.len();
    let tick = Progress { seen: problem.len(), n_samples: problem.len(), ..Progress::default() };
    watch.enter(Phase::Polish, Progress { n_terms, ..tick });
    let all = ModelRows::new(rows.view(), &model)?;
    let gram = watch.unbroken(|watch| basis_gram(&all, watch))?;
    let total: f64 = weights.iter().sum();
    // The mean of the rows, in terms of the distinct ones; its decision values; units about them.
    let mut mean = vec![0.0; n_terms];
    point.iter().zip(weights).for_each(|(&p, c)| mean[p] += c / total);
    let at = |coef: &[f64]| -> Vec<f64> {
        gram.chunks_exact(n_terms).map(|row| crate::linalg::dot(row, coef)).collect()
    };
    let seen = at(&mean);
    let (units, size) = Units::about(nu, &gram, crate::linalg::dot(&seen, &mean));
    let units = units.and(1.0, weights);
    let mut outcome = begun(1);
    let mut coef: Vec<f64> = mean.iter().map(|v| v / size).collect();
    let mut threshold = seen.iter().fold(0.0f64, |most, v| most.max(*v)) / size;
    if nu < 1.0 {
        let cost = units.costs(weights, total);
        let targets: Vec<f64> = point.iter().map(|&p| -seen[p] / size).collect();
        let targets = SomeTargets::Values(targets);
        let data = Distinct { gram: &gram, point, targets: targets.view(), cost: &cost };
        threshold = 1.0;
        for _ in 0..ROUNDS {
            let before = units.threshold(1.0 - threshold);
            let loss = AnyLoss::Quantile { quantile: 1.0 - nu };
            let h = config.smoothing * before;
            let how = Polish { loss, h, ..config.polisher(1.0) };
            let found = how.solve_exactly(data, watch)?;
            threshold = -found.intercept[0];
            coef.iter_mut().zip(&mean).for_each(|(to, v)| *to = v / size);
            coef.iter_mut().zip(&found.coef).for_each(|(to, v)| *to += v);
            let agreed = (units.threshold(1.0 - threshold) - before).abs() <= AGREED * before;
            if agreed || found.stop.is_early() {
                told(&mut outcome, &units, &found, n_terms, watch);
                break;
            }
        }
    }
    // The objective itself: that of the quantile differs by a constant.
    let decided: Vec<f64> = at(&coef);
    let norm = 0.5 * crate::linalg::dot(&decided, &coef);
    let cost = units.costs(weights, total);
    let value = |h: f64| {
        let loss = Smoothed { loss: AnyLoss::Hinge, h };
        let losses = point.iter().zip(&cost);
        let losses: f64 =
            losses.map(|(&p, c)| c * loss.at(1.0, decided[p] + 1.0 - threshold).value).sum();
        Some(units.objective(norm + units.tilt(&cost) * (1.0 - threshold) + losses))
    };
    outcome.smoothed = value(config.smoothing * units.threshold(1.0 - threshold));
    outcome.primal = value(0.0);
    // Only support vectors stay.
    let bound = |j: usize| ZERO * mean[j] / (nu * size);
    let terms: Vec<usize> = (0..n_terms).filter(|&j| coef[j].abs() > bound(j)).collect();
    let chosen: Vec<usize> = terms.iter().map(|&j| distinct[j]).collect();
    let coef: Vec<f64> = terms.iter().map(|&j| coef[j]).collect();
    let model = basis::model_on(config.kernel, &rows, &chosen, 1)?
        .with_coef(&coef, vec![1.0 - threshold])?
        .without_rows()?;
    let seen = problem.len() as u64;
    let part = Part { model, passes: Passes { seen, steps: seen }, left: None };
    Ok(Found { part, outcome, units })
}
