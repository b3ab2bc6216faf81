//! Limited-memory BFGS with a diagonal start, for smooth functions of many variables.
//!
//! # Method
//!
//! 1. `d = -H g`, H by the two-loop recursion over the last pairs of moves s and gradient
//!    changes y, begun with `γ D`: D the caller's inverse curvatures, `γ = sᵀy / yᵀDy`.
//! 2. A step along d by doubling and bisection to the weak Wolfe conditions (Lewis and Overton
//!    2013), after which `sᵀy > 0` and H stays positive definite; a point that only decreases
//!    enough is taken all the same. Where none is found the pairs go; where some are the caller's to keep,
//!    which may be of another function, that is soon said.
//! 3. Stop when the value fell by less than `tol` of itself over the last few steps.
//!
//! The point only ever moves downhill: whatever ends the search, `x` is the best point seen.

use std::collections::VecDeque;
use std::mem::swap;

use super::{Pairs, long_dot};

const SUFFICIENT_DECREASE: f64 = 1e-4;
const SLOPE_LEFT: f64 = 0.9;
const MAX_TRIALS: usize = 25;
/// Cosine of a move and the change of the gradient below which a pair, held in single precision, would not
/// say how much curvature there is.
const LEAST_CURVED: f64 = 1e-8;
/// Kept pairs that need a step halved so often are of no use.
const MAX_HALVINGS: usize = 2;
/// Steps over which the decrease is judged: a single short one says little.
const WINDOW: usize = 5;

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Lbfgs {
    /// Pairs remembered, at least 1.
    pub(crate) memory: usize,
    /// Evaluations at most.
    pub(crate) max_evaluations: usize,
    /// Least decrease over a few steps, as a share of the value.
    pub(crate) tol: f64,
    /// The unit of the root of the value, for the length of a first step.
    pub(crate) unit: f64,
}

/// What the search came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Descent {
    /// The value at the point reached.
    pub(crate) value: f64,
    /// Evaluations made.
    pub(crate) evaluations: usize,
    /// Whether the decrease has become small (or no step goes down any more).
    pub(crate) converged: bool,
}

/// A point with value and gradient.
#[derive(Clone)]
struct Place {
    x: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
}

/// The value at a point; fills the gradient.
type Function<'a, E> = dyn FnMut(&[f64], &mut [f64]) -> Result<f64, E> + 'a;

impl Lbfgs {
    /// Minimises from `x`. `evaluate(x, gradient)` gives the value and fills the gradient; an
    /// error ends the search with `x` at the best point so far.
    pub(crate) fn minimise<E>(
        &self,
        x: &mut [f64],
        inverse_curvature: &[f64],
        evaluate: &mut Function<'_, E>,
    ) -> Result<Descent, E> {
        self.minimise_from(x, (inverse_curvature, &mut Pairs::new(self.memory)), evaluate)
    }

    /// The same from what a search before has left of pairs, of a function that was about this one.
    pub(crate) fn minimise_from<E>(
        &self,
        x: &mut [f64],
        (inverse_curvature, pairs): (&[f64], &mut Pairs),
        evaluate: &mut Function<'_, E>,
    ) -> Result<Descent, E> {
        let mut here = Place { x: x.to_vec(), gradient: vec![0.0; x.len()], value: 0.0 };
        here.value = evaluate(&here.x, &mut here.gradient)?;
        let (mut trial, mut next) = (here.clone(), here.clone());
        let mut left = self.max_evaluations.saturating_sub(1);
        let mut values = VecDeque::from([here.value]);
        let mut converged = false;
        while left > 0 && !converged {
            let mut direction = step_1_direction(&here.gradient, pairs, inverse_curvature);
            let mut slope = long_dot(&direction, &here.gradient);
            let falls = slope < 0.0 && slope.is_finite();
            if !falls && !pairs.is_empty() {
                pairs.clear();
                direction = step_1_direction(&here.gradient, pairs, inverse_curvature);
                slope = long_dot(&direction, &here.gradient);
            }
            if !(slope < 0.0 && slope.is_finite()) {
                converged = true;
                break;
            }
            // Before the first pair only the diagonal of the curvature is known: a short step.
            let mut t =
                if pairs.is_empty() { 1.0f64.min(self.unit / (-slope).sqrt()) } else { 1.0 };
            let (mut low, mut high) = (0.0, f64::INFINITY);
            let mut found = false;
            // Step 2.
            for trials in 0..MAX_TRIALS.min(left) {
                if !found && trials > MAX_HALVINGS && pairs.has_kept() {
                    break;
                }
                for ((trial, &x), &d) in trial.x.iter_mut().zip(&here.x).zip(&direction) {
                    *trial = x + t * d;
                }
                trial.value = evaluate(&trial.x, &mut trial.gradient)?;
                left -= 1;
                // A value that is not a number counts as too high.
                if trial.value <= here.value + SUFFICIENT_DECREASE * t * slope {
                    let steep = long_dot(&direction, &trial.gradient) < SLOPE_LEFT * slope;
                    if !found || trial.value <= next.value {
                        swap(&mut trial, &mut next);
                        x.copy_from_slice(&next.x);
                    }
                    found = true;
                    if !steep {
                        break;
                    }
                    low = t;
                } else if found {
                    break;
                } else {
                    high = t;
                }
                t = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * t };
            }
            if !found {
                converged = left > 0 && pairs.is_empty();
                pairs.clear();
                continue;
            }
            remember(pairs, inverse_curvature, (&here, &next));
            swap(&mut here, &mut next);
            values.push_back(here.value);
            if values.len() > WINDOW
                && let Some(before) = values.pop_front()
            {
                converged = before - here.value <= self.tol * here.value.abs();
            }
        }
        let evaluations = self.max_evaluations.max(1) - left;
        Ok(Descent { value: here.value, evaluations, converged })
    }
}

fn step_1_direction(gradient: &[f64], pairs: &Pairs, inverse: &[f64]) -> Vec<f64> {
    let mut d: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let scale = pairs.scale(inverse);
    pairs.times_inverse(&mut d, |d| {
        d.iter_mut().zip(inverse).for_each(|(d, i)| *d *= scale * i);
    });
    d
}

/// Adds the pair of a step, if it has curvature: judged in units of the variables' own curvature, which
/// the units of the variables and of the value do not change.
fn remember(pairs: &mut Pairs, inverse: &[f64], (from, to): (&Place, &Place)) {
    let difference = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a - b).collect();
    let (s, y): (Vec<f64>, Vec<f64>) =
        (difference(&to.x, &from.x), difference(&to.gradient, &from.gradient));
    let sy = long_dot(&s, &y);
    let curved = |i: &f64| if *i > 0.0 { i.recip() } else { 0.0 };
    let moved: f64 = s.iter().zip(inverse).map(|(s, i)| s * s * curved(i)).sum();
    let changed: f64 = y.iter().zip(inverse).map(|(y, i)| y * y * i).sum();
    // A pair without curvature would make H indefinite.
    if sy > LEAST_CURVED * (moved * changed).sqrt() {
        pairs.push(&s, &y);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> Result<f64, Infallible> {
        gradient.fill(0.0);
        let mut value = 0.0;
        for i in 0..x.len() - 1 {
            let (a, b) = (1.0 - x[i], x[i + 1] - x[i] * x[i]);
            value += a * a + 100.0 * b * b;
            gradient[i] += -2.0 * a - 400.0 * x[i] * b;
            gradient[i + 1] += 200.0 * b;
        }
        Ok(value)
    }

    const SEARCH: Lbfgs = Lbfgs { memory: 10, max_evaluations: 500, tol: 1e-15, unit: 1.0 };

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let mut x = vec![-1.2, 1.0, -1.0, 0.5];
        let found = SEARCH.minimise(&mut x, &[1.0; 4], &mut rosenbrock).unwrap();
        assert!(found.value < 1e-12 && found.evaluations < 200, "{found:?}");
        assert!(x.iter().all(|v| (v - 1.0).abs() < 1e-5), "{x:?}");
    }

    #[test]
    fn pairs_of_a_search_are_of_use_to_the_next() {
        let parts = |keeps: bool| {
            let (mut x, mut pairs) = (vec![-1.2, 1.0, -1.0, 0.5], Pairs::new(10));
            let few = Lbfgs { max_evaluations: 12, ..SEARCH };
            for _ in 0..6 {
                if !keeps {
                    pairs.clear();
                }
                few.minimise_from(&mut x, (&[1.0; 4], &mut pairs), &mut rosenbrock).unwrap();
            }
            rosenbrock(&x, &mut [0.0; 4]).unwrap()
        };
        let (with, without) = (parts(true), parts(false));
        assert!(with < 1e-6 * without, "{with} {without}");
    }

    /// Kept pairs that say of a direction that it has next to no curvature are not believed for long.
    #[test]
    fn kept_pairs_that_mislead_are_forgotten() {
        let (mut x, mut pairs) = (vec![-1.2, 1.0, -1.0, 0.5], Pairs::new(10));
        for k in 0..4 {
            let unit: [f64; 4] = std::array::from_fn(|i| f64::from(i == k));
            pairs.push(&unit, &unit.map(|v| 1e-3 * v));
        }
        pairs.keep();
        let before = rosenbrock(&x, &mut [0.0; 4]).unwrap();
        // One evaluation of the start, three by the pairs, and a few without.
        let few = Lbfgs { max_evaluations: 12, ..SEARCH };
        let found = few.minimise_from(&mut x, (&[1e-3; 4], &mut pairs), &mut rosenbrock).unwrap();
        assert!(!pairs.has_kept() && found.value < 0.5 * before, "{found:?} {before}");
    }

    /// With the exact inverse curvature of a separable quadratic the second step is the last.
    #[test]
    fn the_diagonal_start_is_used() {
        let curvature = [1e-4, 1.0, 1e6];
        let mut quadratic = |x: &[f64], gradient: &mut [f64]| {
            for i in 0..3 {
                gradient[i] = curvature[i] * (x[i] - 2.0);
            }
            Ok::<_, Infallible>((0..3).map(|i| 0.5 * (x[i] - 2.0) * gradient[i]).sum())
        };
        let few = Lbfgs { max_evaluations: 14, ..SEARCH };
        let mut x = vec![0.0; 3];
        let scaled = few.minimise(&mut x, &curvature.map(f64::recip), &mut quadratic).unwrap();
        assert!(scaled.value < 1e-12, "{scaled:?}");
        let mut x = vec![0.0; 3];
        let plain = few.minimise(&mut x, &[1.0; 3], &mut quadratic).unwrap();
        assert!(plain.value > 1e-6, "{plain:?}");
    }

    #[test]
    fn an_error_leaves_the_best_point() {
        let mut calls = 0;
        let mut x = vec![-1.2, 1.0];
        let start = rosenbrock(&x, &mut [0.0; 2]).unwrap();
        let stopped = SEARCH.minimise(&mut x, &[1.0; 2], &mut |x, gradient| {
            calls += 1;
            if calls > 20 { Err("stop") } else { rosenbrock(x, gradient).map_err(|_| "never") }
        });
        assert_eq!(stopped, Err("stop"));
        assert!(rosenbrock(&x, &mut [0.0; 2]).unwrap() < start);
    }
}
