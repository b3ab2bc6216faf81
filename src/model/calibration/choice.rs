//! Which kind of curves suits some decision values.
//!
//! Each class's rows take turns in two halves; the curves of either half are judged by the likelihood
//! of the other's classes.

use super::{Calibration, CalibrationMethod, Outputs};
use crate::error::Result;

/// The first of equals is taken.
const METHODS: [CalibrationMethod; 3] =
    [CalibrationMethod::Sigmoid, CalibrationMethod::Temperature, CalibrationMethod::Isotonic];

/// The method whose curves are likeliest on rows that they were not fitted to; "sigmoid" where a half
/// has no row.
pub(super) fn likeliest(
    (values, outputs): (&[f64], Outputs),
    classes: &[u32],
    weights: &[f64],
) -> Result<CalibrationMethod> {
    let (m, k) = (outputs.count(), outputs.n_classes);
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
    for method in METHODS {
        let mut loss = 0.0;
        for (own, other) in [(0, 1), (1, 0)] {
            let made = Calibration::by(method, (values, outputs), classes, &halves[own])?;
            let mut p = vec![0.0; k];
            for (i, row) in
                values.chunks_exact(m).enumerate().filter(|(i, _)| halves[other][*i] > 0.0)
            {
                made.of_row(row, &mut p);
                loss -= halves[other][i] * p[classes[i] as usize].ln();
            }
        }
        if loss < best.1 {
            best = (method, loss);
        }
    }
    Ok(best.0)
}
