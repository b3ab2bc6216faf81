//! Which kind of curves suits some decision values.
//!
//! Each class's rows take turns in two halves; the curves of either half are judged by the likelihood
//! of the other's classes.

use super::curves::CalibrationMethod;
use crate::error::Result;

/// The first of equals is taken.
const METHODS: [CalibrationMethod; 3] =
    [CalibrationMethod::Sigmoid, CalibrationMethod::Temperature, CalibrationMethod::Isotonic];

/// Probabilities of all rows, n x k, by the curves of a method and of weights.
type Probabilities<'p> = dyn Fn(CalibrationMethod, &[f64]) -> Result<Vec<f64>> + 'p;

/// The method whose curves are likeliest on rows that they were not fitted to; "sigmoid" where a half
/// has no row.
pub(super) fn likeliest(
    (classes, k): (&[u32], usize),
    weights: &[f64],
    probabilities: &Probabilities<'_>,
) -> Result<CalibrationMethod> {
    let mut met = vec![0usize; k];
    let mut side = vec![0usize; classes.len()];
    for ((side, &class), _) in side.iter_mut().zip(classes).zip(weights).filter(|(_, w)| **w > 0.0)
    {
        met[class as usize] += 1;
        *side = met[class as usize] % 2;
    }
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
            let p = probabilities(method, &halves[own])?;
            for ((row, &class), &weight) in p.chunks_exact(k).zip(classes).zip(&halves[other]) {
                if weight > 0.0 {
                    loss -= weight * row[class as usize].ln();
                }
            }
        }
        if loss < best.1 {
            best = (method, loss);
        }
    }
    Ok(best.0)
}
