//! The width: γ by steps of a factor from where it is, while the leave-one-out error falls.

use super::distances::{distances, kernel_values};
use super::grid::{Grid, Shape};
use super::recipe::{CLIMB_STEP, CLIMB_TRIALS};
use super::reduced::{Reduced, Sought};
use crate::watch::{Step, Watch};

/// A kernel with its scales, as least squares on landmarks like it best.
#[derive(Clone, Debug)]
pub(crate) struct Tuned {
    /// Leave-one-out error as a share of the variance.
    pub(crate) error: f64,
    pub(crate) lambda: f64,
    /// One a feature, the width in them.
    pub(crate) scales: Vec<f64>,
    /// Of the landmarks, m x q.
    pub(crate) coef: Grid,
    /// The width in units of one over the mean distance.
    pub(crate) width: f64,
}

/// The mean of all values; 1 where that is 0.
fn mean(values: &[f32]) -> f64 {
    let sum: f64 = values.iter().map(|&v| f64::from(v)).sum();
    let mean = sum / values.len().max(1) as f64;
    if mean > 0.0 { mean } else { 1.0 }
}

/// Climbs from `width` with these relative scales; `rows` begin with the landmarks.
pub(crate) fn climb(
    shape: Shape,
    rows: &Grid,
    sought: &Sought<'_>,
    from: (&[f64], f64),
    watch: &mut Watch<'_>,
) -> Step<Tuned> {
    climb_at_most(CLIMB_TRIALS, shape, (rows, sought), from, watch)
}

/// [`climb`] of so many steps in either direction; of none it is least squares at this width.
pub(super) fn climb_at_most(
    trials: usize,
    shape: Shape,
    (rows, sought): (&Grid, &Sought<'_>),
    (scales, width): (&[f64], f64),
    watch: &mut Watch<'_>,
) -> Step<Tuned> {
    let scaled = rows.scaled(scales)?;
    let landmarks = scaled.range(0, sought.landmarks)?;
    let all = distances(shape, &scaled, &landmarks, watch)?;
    let own = distances(shape, &landmarks, &landmarks, watch)?;
    let unit = 1.0 / mean(&all.values);
    let mut tried: Vec<(i32, f64, Reduced)> = Vec::new();
    let mut look = |step: i32, watch: &mut Watch<'_>| -> Step<f64> {
        if let Some((.., found)) = tried.iter().find(|(at, ..)| *at == step) {
            return Ok(found.error);
        }
        let gamma = width * CLIMB_STEP.powi(step) * unit;
        let (k, k_mm) = (kernel_values(&all, gamma)?, kernel_values(&own, gamma)?);
        let found = Reduced::fit(&k, &k_mm, sought, watch)?;
        let error = found.error;
        watch.judged(error);
        tried.push((step, gamma, found));
        Ok(error)
    };
    let (mut at, mut best) = (0, look(0, watch)?);
    for direction in [1, -1] {
        let mut moved = false;
        for _ in 0..trials {
            let error = look(at + direction, watch)?;
            if error >= best {
                break;
            }
            (at, best, moved) = (at + direction, error, true);
        }
        if moved {
            break;
        }
    }
    let place = tried.iter().position(|(step, ..)| *step == at).unwrap_or(0);
    let (step, gamma, found) = tried.swap_remove(place);
    let factor = shape.scale_of(gamma);
    Ok(Tuned {
        error: found.error,
        lambda: found.lambda,
        scales: scales.iter().map(|w| w * factor).collect(),
        coef: found.coef,
        width: width * CLIMB_STEP.powi(step),
    })
}
