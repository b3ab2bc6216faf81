//! Where the offset of a regression machine begins, and the unit of its values.
//!
//! Values are fitted about the constant of least loss, so that passes need not build that constant of
//! kernels.
//!
//! An offset that is not penalised makes the problem the same for `y` and for `y + c`; values about
//! a constant are what that means for methods that end before they converge.
//!
//! The problem with `y`, `C` and `ε` multiplied by s is the same problem with decision values
//! multiplied by s. (Where the loss is squared, C has no unit.) So whatever a solver compares with
//! decision values, a width of corners or a length of steps, is measured in a unit that follows `y`.

use crate::data::Problem;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::loss::AnyLoss;

/// Values, evenly spaced among the samples, that the constant is computed from at most.
const MOST: usize = 1 << 16;

/// About the constant of least loss, one an output: a quantile of the values as they weigh (the
/// median for a tube), their mean for a squared loss; 0 for classes.
///
/// *Cost* O(n), and a sort of 65,536 values where weights differ, an output.
pub(super) fn centre<F: Real>(loss: AnyLoss, problem: &Problem<'_, F>) -> Result<Vec<f64>> {
    let targets = problem.targets();
    let classes = loss.is_classification() || targets.are_classes();
    let one = |c| if classes { Ok(0.0) } else { of_output(loss, problem, c) };
    (0..targets.n_outputs()).map(one).collect()
}

/// What sums of costs lose, at most.
const ROUNDING: f64 = 1e-11;
/// The share of the values that are not further from their median than 1.645 units, as those of a
/// normal distribution whose standard deviation is the unit.
const WITHIN: f64 = 0.9;
const DEVIATIONS: f64 = 1.645;
/// Where that is below this share of the mean distance, nearly all values are equal, and the mean
/// distance is the unit.
const LEAST_SHARE: f64 = 1e-3;
/// Squares of what is measured by a unit are floats.
const RANGE: (f64, f64) = (1e-100, 1e100);

/// The unit of the targets: how far values spread about their median, or their size where all are
/// equal; 1 for classes. A tenth of the values may lie anywhere without a say. Of several outputs it
/// is the mean, since they share costs and corners.
///
/// *Cost* as [`centre`].
pub(super) fn unit<F: Real>(loss: AnyLoss, problem: &Problem<'_, F>) -> Result<f64> {
    let targets = problem.targets();
    if loss.is_classification() || targets.are_classes() {
        return Ok(1.0);
    }
    let outputs = targets.n_outputs();
    let mut sum = 0.0;
    for output in 0..outputs {
        sum += spread(problem, output)? / outputs as f64;
    }
    Ok(if sum > 0.0 { sum.clamp(RANGE.0, RANGE.1) } else { 1.0 })
}

fn spread<F: Real>(problem: &Problem<'_, F>, output: usize) -> Result<f64> {
    let targets = problem.targets();
    let median = quantile(problem, 0.5, &|i| targets.value(i, output))?;
    let distance = |i: usize| (targets.value(i, output) - median).abs();
    let total: f64 = problem.cost().iter().sum();
    let mean: f64 = problem.cost().iter().enumerate().map(|(i, c)| c / total * distance(i)).sum();
    let most = quantile(problem, WITHIN, &distance)? / DEVIATIONS;
    Ok(match mean {
        0.0 => median.abs(),
        mean if most < LEAST_SHARE * mean => mean,
        _ => most,
    })
}

fn of_output<F: Real>(loss: AnyLoss, problem: &Problem<'_, F>, output: usize) -> Result<f64> {
    let (targets, cost) = (problem.targets(), problem.cost());
    let values = || (0..problem.len()).map(|i| targets.value(i, output));
    let total: f64 = cost.iter().sum();
    let found = match loss.at_level(targets.level(output)).level() {
        None => values().zip(cost).map(|(y, c)| c / total * y).sum(),
        Some(q) => quantile(problem, q, &|i| targets.value(i, output))?,
    };
    // Values at both ends of the range of floats have no differences.
    let fits = values().all(|y| (y - found).is_finite());
    Ok(if fits { found } else { 0.0 })
}

/// The q-quantile, as they weigh, of up to [`MOST`] of the samples' values.
fn quantile<F: Real>(
    problem: &Problem<'_, F>,
    q: f64,
    value: &dyn Fn(usize) -> f64,
) -> Result<f64> {
    let cost = problem.cost();
    let values = (0..problem.len()).map(value);
    let counted = cost.iter().filter(|c| **c > 0.0).count();
    let step = counted.div_ceil(MOST).max(1);
    let mut chosen = try_vec("values", counted.div_ceil(step), (0.0, 0.0))?;
    let weighty = values.zip(cost).filter(|(_, c)| **c > 0.0);
    for (to, (y, &c)) in chosen.iter_mut().zip(weighty.step_by(step)) {
        *to = (y, c);
    }
    let order = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1));
    let equal = chosen.windows(2).all(|pair| pair[0].1 == pair[1].1);
    if !equal {
        chosen.sort_unstable_by(order);
    }
    // Sums of costs in any unit reach what is meant.
    let goal = q * (1.0 - ROUNDING) * chosen.iter().map(|(_, c)| c).sum::<f64>();
    let mut below = 0.0;
    let reached = chosen.iter().position(|(_, c)| {
        below += c;
        below >= goal
    });
    Ok(match reached {
        // Of equal weights the place is known before the order.
        Some(at) if equal => chosen.select_nth_unstable_by(at, order).1.0,
        reached => reached.map_or(0.0, |at| chosen[at].0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Rows, Targets};

    fn of(loss: AnyLoss, values: &[f64], cost: &[f64]) -> f64 {
        let x = ndarray::Array2::<f64>::zeros((values.len(), 1));
        let problem = Problem::new(Rows::Dense(x.view()), Targets::Values(values), cost).unwrap();
        centre(loss, &problem).unwrap()[0]
    }

    #[test]
    fn every_column_has_its_own() {
        let x = ndarray::Array2::<f64>::zeros((3, 1));
        let of = |loss, targets| {
            centre(loss, &Problem::new(Rows::Dense(x.view()), targets, &[1.0; 3]).unwrap()).unwrap()
        };
        let (values, levels) = ([1.0, -5.0, 2.0, -5.0, 6.0, 5.0], [0.1, 0.9]);
        let columns = Targets::columns(&values, 2);
        assert_eq!(of(AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, columns), [2.0, -5.0]);
        let own = Targets::Columns { values: &values, n_outputs: 2, levels: &levels };
        assert_eq!(of(AnyLoss::Quantile { quantile: 0.5 }, own), [1.0, 5.0]);
        assert_eq!(of(AnyLoss::Hinge, columns), [0.0, 0.0]);
    }

    fn loss_of(loss: AnyLoss, values: &[f64], cost: &[f64], f: f64) -> f64 {
        values.iter().zip(cost).map(|(&y, c)| c * loss.value(y, f)).sum()
    }

    #[test]
    fn no_constant_has_less_loss() {
        let mut rng = crate::rng::Rng::new(3);
        let losses = [
            AnyLoss::EpsilonInsensitive { epsilon: 0.0 },
            AnyLoss::Quantile { quantile: 0.2 },
            AnyLoss::Quantile { quantile: 0.9 },
            AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 },
        ];
        for n in [1, 2, 7, 60] {
            let values: Vec<f64> = (0..n).map(|_| 100.0 + 5.0 * rng.uniform()).collect();
            let cost: Vec<f64> = (0..n).map(|i| [0.5, 2.0, 0.0][i % 3]).collect();
            for loss in losses {
                let found = of(loss, &values, &cost);
                let least = loss_of(loss, &values, &cost, found);
                for other in values.iter().copied().chain([found - 1e-3, found + 1e-3]) {
                    let more = loss_of(loss, &values, &cost, other);
                    assert!(least <= more * (1.0 + 1e-12), "{loss:?} {n} {found} {other}");
                }
            }
        }
    }

    #[test]
    fn weights_are_copies_and_extremes_have_no_centre() {
        let median = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
        assert_eq!(of(median, &[3.0, 9.0, 4.0], &[3.0, 1.0, 0.0]), 3.0);
        assert_eq!(of(median, &[3.0, 3.0, 3.0, 9.0], &[1.0; 4]), 3.0);
        assert_eq!(of(median, &[1e308, -1e308, 1e308], &[1.0; 3]), 0.0);
        let mean = AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 };
        assert_eq!(of(mean, &[1e308, 1e308], &[1.0; 2]), 1e308);
    }
}
