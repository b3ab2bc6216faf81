//! How well a model does on a held out part.

use crate::data::{Problem, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::model::{KernelModel, sigmoid};

/// What [`score_of`] says of a model; samples weigh by their cost.
pub(super) fn score<F: Real>(
    model: &KernelModel<F>,
    problem: &Problem<'_, F>,
    loss: AnyLoss,
) -> Result<f64> {
    let outputs = model.n_outputs();
    let mut values = try_vec("decision values", problem.len().saturating_mul(outputs), 0.0)?;
    model.decision(&problem.rows(), &mut values)?;
    Ok(score_of(&values, problem.targets(), problem.cost(), loss))
}

/// Of decision values of samples that weigh so much: accuracy for classes, R² for values (of several
/// columns their mean), the share of samples whose labels are all right for columns of labels, minus
/// the mean loss for quantiles; NaN where all weigh nothing.
pub(super) fn score_of(
    values: &[f64],
    targets: Targets<'_>,
    weights: &[f64],
    loss: AnyLoss,
) -> f64 {
    let outputs = targets.n_outputs();
    let total: f64 = weights.iter().sum();
    let weighed = weights.iter().zip(values.chunks_exact(outputs)).enumerate();
    match targets {
        Targets::Classes { index, .. } => {
            let right = weighed.filter(|(i, (_, f))| class(f) == index[*i] as usize);
            right.map(|(_, (c, _))| c).sum::<f64>() / total
        }
        Targets::Columns { values: own, .. } if loss.is_classification() => {
            let right = |(y, f): (&f64, &f64)| (*y > 0.0) == (*f > 0.0);
            let all = weighed.zip(own.chunks_exact(outputs));
            let all = all.filter(|((_, (_, f)), y)| y.iter().zip(*f).all(right));
            all.map(|((_, (c, _)), _)| c).sum::<f64>() / total
        }
        Targets::Columns { .. } if targets.level(0).is_some() => {
            let of = |i, f: &[f64]| {
                let own = |(c, &f): (usize, &f64)| {
                    loss.at_level(targets.level(c)).value(targets.value(i, c), f)
                };
                f.iter().enumerate().map(own).sum::<f64>() / outputs as f64
            };
            -weighed.map(|(i, (c, f))| c * of(i, f)).sum::<f64>() / total
        }
        Targets::Values(_) | Targets::Columns { .. } => {
            let one = |output| r2(values, (targets, weights), output, total);
            (0..outputs).map(one).sum::<f64>() / outputs as f64
        }
    }
}

/// A score that is largest in expectation where the values rise with the true shares. Of classes and
/// labels it is minus the mean cross entropy: each class against the rest, through a sigmoid that is
/// fitted to the values, so that a rare class counts though it never wins. Of values it is
/// [`score_of`].
///
/// # Errors
/// `OutOfMemory`.
pub(super) fn proper_score_of(
    values: &[f64],
    targets: Targets<'_>,
    weights: &[f64],
    loss: AnyLoss,
) -> Result<f64> {
    if !loss.is_classification() {
        return Ok(score_of(values, targets, weights, loss));
    }
    let m = targets.n_outputs();
    let judged: Vec<usize> = (0..weights.len()).filter(|&i| weights[i] > 0.0).collect();
    let own: Vec<f64> = judged.iter().map(|&i| weights[i]).collect();
    let total: f64 = own.iter().sum();
    let mut entropy = 0.0;
    for output in 0..m {
        let positive: Vec<bool> = judged.iter().map(|&i| targets.value(i, output) > 0.0).collect();
        let f: Vec<f64> = judged.iter().map(|&i| values[i * m + output]).collect();
        if !f.iter().all(|f| f.is_finite()) {
            return Ok(f64::NEG_INFINITY);
        }
        entropy += cross_entropy(&f, &positive, &own)?;
    }
    Ok(-entropy / total)
}

/// The cross entropy of values through the best rising sigmoid.
fn cross_entropy(values: &[f64], positive: &[bool], weights: &[f64]) -> Result<f64> {
    // Rows and weight of either side. Weights are in a unit in which each row of a side counts as one
    // at least: the sigmoid takes them for numbers of rows.
    let side = |wanted: bool| -> (f64, f64) {
        let own = positive.iter().zip(weights).filter(|(p, _)| **p == wanted);
        own.fold((0.0, 0.0), |(n, sum), (_, w)| (n + 1.0, sum + w))
    };
    let (yes, no) = (side(true), side(false));
    if yes.0 == 0.0 || no.0 == 0.0 {
        return Ok(0.0);
    }
    let unit = (yes.0 / yes.1).max(no.0 / no.1);
    let counts: Vec<f64> = weights.iter().map(|w| unit * w).collect();
    let [mut a, mut b] = sigmoid(values, positive, &counts, || Ok(()))?;
    if a > 0.0 {
        // Values that fall where the shares rise tell nothing.
        (a, b) = (0.0, (no.1 / yes.1).ln());
    }
    let each = values.iter().zip(positive).zip(weights);
    Ok(each
        .map(|((f, positive), w)| {
            let z = if *positive { a * f + b } else { -(a * f + b) };
            w * (z.max(0.0) + (-z.abs()).exp().ln_1p())
        })
        .sum())
}

/// R² of an output.
fn r2(values: &[f64], (targets, weights): (Targets<'_>, &[f64]), output: usize, total: f64) -> f64 {
    let samples = || weights.iter().enumerate().map(|(i, c)| (c, targets.value(i, output)));
    let mean = samples().map(|(c, y)| c * y).sum::<f64>() / total;
    let (mut residual, mut spread) = (0.0, 0.0);
    for ((c, y), f) in samples().zip(values.iter().skip(output).step_by(targets.n_outputs())) {
        residual += c * (y - f).powi(2);
        spread += c * (y - mean).powi(2);
    }
    // Constant targets: only a perfect fit is worth something.
    if spread > 0.0 { 1.0 - residual / spread } else { -residual }
}

/// The class of a row of decision values: the first of the largest.
pub(super) fn class(values: &[f64]) -> usize {
    match values {
        [value] => usize::from(*value > 0.0),
        _ => (1..values.len()).fold(0, |best, c| if values[c] > values[best] { c } else { best }),
    }
}
