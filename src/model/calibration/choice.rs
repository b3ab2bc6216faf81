//! Which kind of curves suits some decision values.
//!
//! Each class's rows take turns in two halves; the curves of either half are judged by the likelihood
//! of the other's classes. Rows of one class with the same values are one row of their weights' sum: a
//! row that stands there twice must not be judged by itself.

use std::cmp::Ordering;

use super::curves::CalibrationMethod;
use crate::error::Result;
use crate::watch::Look;

/// The first of equals is taken.
const METHODS: [CalibrationMethod; 3] =
    [CalibrationMethod::Sigmoid, CalibrationMethod::Temperature, CalibrationMethod::Isotonic];

/// Probabilities of all rows, n x k, by the curves of a method and of weights.
type Probabilities<'p> = dyn Fn(CalibrationMethod, &[f64], Look<'_>) -> Result<Vec<f64>> + 'p;

/// The method whose curves are likeliest on rows that they were not fitted to; "sigmoid" where a half
/// has no row.
pub(super) fn likeliest(
    values: &[f64],
    (classes, k): (&[u32], usize),
    weights: &[f64],
    look: Look<'_>,
    probabilities: &Probabilities<'_>,
) -> Result<CalibrationMethod> {
    let side = sides(values, (classes, k), weights);
    look()?;
    let halves = [0, 1].map(|half| -> Vec<f64> {
        weights.iter().zip(&side).map(|(&w, &side)| if side == half { w } else { 0.0 }).collect()
    });
    if halves.iter().any(|half| half.iter().all(|&w| w <= 0.0)) {
        return Ok(METHODS[0]);
    }
    let mut best = (METHODS[0], f64::INFINITY);
    // Of two classes a temperature is a sigmoid with one number less.
    for method in METHODS.into_iter().filter(|&m| k > 2 || m != CalibrationMethod::Temperature) {
        let mut loss = 0.0;
        for (own, other) in [(0, 1), (1, 0)] {
            let p = probabilities(method, &halves[own], &mut *look)?;
            for ((row, &class), &weight) in p.chunks_exact(k).zip(classes).zip(&halves[other]) {
                if weight > 0.0 {
                    loss -= weight * row[class as usize].ln();
                }
            }
            look()?;
        }
        if loss < best.1 {
            best = (method, loss);
        }
    }
    Ok(best.0)
}

/// The half of every row that has a weight.
fn sides(values: &[f64], (classes, k): (&[u32], usize), weights: &[f64]) -> Vec<usize> {
    let n = classes.len();
    let m = values.len() / n.max(1);
    let row = |i: usize| &values[i * m..(i + 1) * m];
    let mut order: Vec<usize> = (0..n).filter(|&i| weights[i] > 0.0).collect();
    order.sort_unstable_by(|&a, &b| {
        let by_value = row(a).iter().zip(row(b)).map(|(a, b)| a.total_cmp(b));
        let first = by_value.fold(classes[a].cmp(&classes[b]), Ordering::then);
        first.then(a.cmp(&b))
    });
    // The first row like this one.
    let mut like: Vec<usize> = (0..n).collect();
    for pair in order.windows(2) {
        if classes[pair[0]] == classes[pair[1]] && row(pair[0]) == row(pair[1]) {
            like[pair[1]] = like[pair[0]];
        }
    }
    let mut met = vec![0usize; k];
    let mut side = vec![0usize; n];
    for i in (0..n).filter(|&i| weights[i] > 0.0) {
        if like[i] == i {
            met[classes[i] as usize] += 1;
            side[i] = met[classes[i] as usize] % 2;
        } else {
            side[i] = side[like[i]];
        }
    }
    side
}

#[cfg(test)]
mod tests {
    use super::sides;

    #[test]
    fn a_row_that_stands_there_twice_is_in_one_half() {
        // Of two outputs; the third is the first once more, the fourth of another class.
        let values = [1.0, 0.5, 2.0, 0.5, 1.0, 0.5, 1.0, 0.5, 3.0, 0.5];
        let classes = [0, 0, 0, 1, 0];
        let twice = sides(&values, (&classes, 2), &[1.0; 5]);
        assert_eq!(twice, [1, 0, 1, 1, 1]);
        // As a weight of it would have them, and a row of weight 0 is no row.
        assert_eq!(sides(&values, (&classes, 2), &[2.0, 1.0, 0.0, 1.0, 1.0])[4], 1);
        assert_eq!(sides(&values, (&classes, 2), &[1.0, 0.0, 1.0, 1.0, 1.0])[4], 0);
    }
}
