//! Where the offset of a regression machine begins: values are fitted about the constant of least
//! loss, so that passes need not build that constant of kernels.
//!
//! An offset that is not penalised makes the problem the same for `y` and for `y + c`; values about
//! a constant are what that means for methods that end before they converge.

use crate::data::{Problem, Targets};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::loss::AnyLoss;

/// Values, evenly spaced among the samples, that the constant is computed from at most.
const MOST: usize = 1 << 16;

/// About the constant of least loss: a quantile of the values as they weigh (the median for a
/// tube), their mean for a squared loss; 0 for classes.
///
/// *Cost* O(n), and a sort of 65,536 values.
pub(super) fn centre<F: Real>(loss: AnyLoss, problem: &Problem<'_, F>) -> Result<f64> {
    let Targets::Values(values) = problem.targets() else { return Ok(0.0) };
    let cost = problem.cost();
    let total: f64 = cost.iter().sum();
    let found = match loss.level() {
        None => values.iter().zip(cost).map(|(y, c)| c / total * y).sum(),
        Some(q) => {
            let counted = cost.iter().filter(|c| **c > 0.0).count();
            let step = counted.div_ceil(MOST).max(1);
            let mut chosen = try_vec("values", counted.div_ceil(step), (0.0, 0.0))?;
            let weighty = values.iter().zip(cost).filter(|(_, c)| **c > 0.0);
            for (to, (&y, &c)) in chosen.iter_mut().zip(weighty.step_by(step)) {
                *to = (y, c);
            }
            chosen.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let goal = q * chosen.iter().map(|(_, c)| c).sum::<f64>();
            let mut below = 0.0;
            let reached = chosen.iter().find(|(_, c)| {
                below += c;
                below >= goal
            });
            reached.map_or(0.0, |(y, _)| *y)
        }
    };
    // Values at both ends of the range of floats have no differences.
    let fits = values.iter().all(|y| (y - found).is_finite());
    Ok(if fits { found } else { 0.0 })
}

/// Values about a constant; classes have none.
pub(super) fn about(targets: Targets<'_>, centre: f64) -> Result<Option<Vec<f64>>> {
    let Targets::Values(values) = targets else { return Ok(None) };
    if centre == 0.0 {
        return Ok(None);
    }
    let mut moved = try_vec("values", values.len(), 0.0)?;
    moved.iter_mut().zip(values).for_each(|(to, y)| *to = y - centre);
    Ok(Some(moved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Rows;

    fn of(loss: AnyLoss, values: &[f64], cost: &[f64]) -> f64 {
        let x = ndarray::Array2::<f64>::zeros((values.len(), 1));
        let problem = Problem::new(Rows::Dense(x.view()), Targets::Values(values), cost).unwrap();
        centre(loss, &problem).unwrap()
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
