use super::tests::{LOSSES, polish};
use super::{Linear, linear};
use crate::data::{Rows, Targets};
use crate::rng::Rng;
use crate::solver::smoothed::{Polish, Start};
use crate::watch::Watch;

/// Rows wider than there are many, nearly orthogonal: passes over dual coordinates end at the
/// minimum that a factor finds; `tol` bounds the distance.
#[test]
fn dual_coordinates_end_at_the_minimum_of_wide_rows() {
    let (n, d) = (60, 300);
    let mut rng = Rng::new(4);
    let x: Vec<f64> =
        (0..n * d).map(|_| if rng.below(10) == 0 { 0.2 + rng.uniform() } else { 0.0 }).collect();
    let rows = Rows::of_slice(&x, d).unwrap();
    let values: Vec<f64> = (0..n).map(|i| 3.0 + x[i * d..][..7].iter().sum::<f64>()).collect();
    let index: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 4 == 0)).collect();
    let cost: Vec<f64> = (0..n).map(|i| [10.0, 1.0, 0.0, 3.0][i % 4]).collect();
    for loss in LOSSES {
        for fit_intercept in [false, true] {
            let targets = match loss.is_classification() {
                true => Targets::Classes { index: &index, n_classes: 2 },
                false => Targets::from(&values[..]),
            };
            let (coef, intercept) = (vec![0.0; d], [0.0]);
            let start = Start { targets, cost: &cost, coef: &coef, intercept: &intercept };
            let by = |method, tol| {
                let polish = Polish { tol, max_steps: 1000, ..polish(loss, fit_intercept, 0.1) };
                linear(&polish, method, &rows, start, &mut Watch::of_tests()).unwrap()
            };
            let best = by(Linear::Direct, 1e-9);
            for tol in [1e-3, 1e-6] {
                let found = by(Linear::Truncated, tol);
                assert!(found.converged, "{loss:?} {fit_intercept}");
                let off = found.smoothed / best.smoothed - 1.0;
                assert!((-1e-7..=tol).contains(&off), "{loss:?} {fit_intercept} {tol}: {off}");
            }
        }
    }
}
