//! How well a model does on a held out part.

use crate::data::{Problem, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::model::KernelModel;

/// Accuracy for classes, R² for values; samples weigh by their cost.
pub(super) fn score<F: Real>(model: &KernelModel<F>, problem: &Problem<'_, F>) -> Result<f64> {
    let outputs = model.n_outputs();
    let mut values = try_vec("decision values", problem.len().saturating_mul(outputs), 0.0)?;
    model.decision(&problem.rows(), &mut values)?;
    Ok(score_of(&values, problem.targets(), problem.cost()))
}

/// Accuracy, or R², of decision values of samples that weigh so much; NaN where all weigh nothing.
pub(super) fn score_of(values: &[f64], targets: Targets<'_>, weights: &[f64]) -> f64 {
    let total: f64 = weights.iter().sum();
    let weighed = weights.iter().zip(values.chunks_exact(targets.n_outputs())).enumerate();
    match targets {
        Targets::Classes { index, .. } => {
            let right = weighed.filter(|(i, (_, f))| class(f) == index[*i] as usize);
            right.map(|(_, (c, _))| c).sum::<f64>() / total
        }
        Targets::Values(targets) => {
            let mean = targets.iter().zip(weights).map(|(y, c)| c * y).sum::<f64>() / total;
            let (mut residual, mut spread) = (0.0, 0.0);
            for (i, (c, f)) in weighed {
                residual += c * (targets[i] - f[0]).powi(2);
                spread += c * (targets[i] - mean).powi(2);
            }
            // Constant targets: only a perfect fit is worth something.
            if spread > 0.0 { 1.0 - residual / spread } else { -residual }
        }
    }
}

/// The class of a row of decision values: the first of the largest.
pub(super) fn class(values: &[f64]) -> usize {
    match values {
        [value] => usize::from(*value > 0.0),
        _ => (1..values.len()).fold(0, |best, c| if values[c] > values[best] { c } else { best }),
    }
}
