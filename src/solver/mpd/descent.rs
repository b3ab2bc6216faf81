//! Steps of one variable inside a working set, whose values of the matrix are at hand.

use crate::error::Error;
use crate::linalg::{Cholesky, axpy};
use crate::simd::{LEAST_CURVATURE, descents};

/// Steps of one variable, in units of the set's size, before what they crawl along is looked for.
const PATIENCE: u64 = 16;

/// A joint step costs `m³/3` multiply-adds of a factor, which go this many times faster than those
/// of a step of one variable.
const FACTOR_SPEED: f64 = 4.0;

/// Free variables of a joint step, at most: its factor takes a tenth of a second.
const MOST_JOINT: usize = 1024;

/// What the diagonal of the free variables' matrix gets on top, relative to itself.
const RIDGE: f64 = 1e-13;

/// The variables of a working set with everything that a step reads.
#[derive(Debug)]
pub(super) struct Descent {
    pub(super) beta: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    /// Effective scores.
    pub(super) scores: Vec<f64>,
    /// `K + Σ ρ_i f_i f_iᵀ` of the set, a row a variable.
    pub(super) matrix: Vec<f64>,
    /// The factor of every step, in (0, 2).
    pub(super) relaxation: f64,
    /// Steps since the last joint one.
    pub(super) waited: u64,
    /// The free variables that a joint step was taken along, and their factor.
    pub(super) joint: Option<(Vec<usize>, Cholesky)>,
}

impl Descent {
    /// Takes at most `steps` steps until the largest violation is `tol`; returns their number and
    /// whether it stopped for another reason than the number of steps.
    pub(super) fn run(&mut self, tol: f64, steps: u64) -> (u64, bool) {
        let q = self.beta.len();
        let curvature: Vec<f64> =
            (0..q).map(|t| self.matrix[t * q + t].max(LEAST_CURVATURE)).collect();
        let mut gains = vec![0.0; q];
        let mut last = (0, 0.0);
        for taken in 0..=steps {
            let row = &self.matrix[last.0 * q..][..q];
            let (most, worst) = descents(
                &mut self.scores,
                (row, last.1),
                &self.beta,
                (&self.lower, &self.upper),
                &curvature,
                &mut gains,
            );
            if taken == steps {
                break;
            }
            let found = gains.iter().position(|&gain| gain == most && gain > 0.0);
            let Some(t) = found.filter(|_| worst > tol) else { return (taken, true) };
            self.waited += 1;
            if self.waited.is_multiple_of(PATIENCE * q as u64) && self.joint_step() {
                last = (t, 0.0);
                continue;
            }
            let before = self.beta[t];
            let free = before + self.relaxation * self.scores[t] / curvature[t];
            // Onto the bound itself, not beside it by rounding.
            self.beta[t] = free.max(self.lower[t]).min(self.upper[t]);
            last = (t, self.beta[t] - before);
            if last.1 == 0.0 {
                return (taken, true);
            }
        }
        (steps, false)
    }

    /// Where steps of one variable crawl: Newton's step of all free variables at once, as far as
    /// the box allows. Whether it was taken: not while it would cost more than they did.
    fn joint_step(&mut self) -> bool {
        let q = self.beta.len();
        let inside = |t: &usize| self.lower[*t] < self.beta[*t] && self.beta[*t] < self.upper[*t];
        let free: Vec<usize> = (0..q).filter(inside).collect();
        let m = free.len();
        if !(2..=MOST_JOINT).contains(&m) {
            return false;
        }
        let known = self.joint.as_ref().is_some_and(|(of, _)| *of == free);
        if !known {
            let cost = (m as f64).powi(3) / (3.0 * FACTOR_SPEED * q as f64);
            if (self.waited as f64) < cost {
                return false;
            }
            self.waited = 0;
            let mut matrix = Vec::with_capacity(m * m);
            for &t in &free {
                matrix.extend(free.iter().map(|&u| self.matrix[t * q + u]));
            }
            let mut go_on = || Ok::<(), Error>(());
            let Ok(factor) = Cholesky::factor("a joint step", &matrix, m, RIDGE, &mut go_on) else {
                return false;
            };
            self.joint = Some((free, factor));
        }
        self.waited = 0;
        let Some((free, factor)) = &self.joint else { return false };
        let mut by: Vec<f64> = free.iter().map(|&t| self.scores[t]).collect();
        factor.solve(&mut by);
        let bound = |t: usize, by: f64| if by > 0.0 { self.upper[t] } else { self.lower[t] };
        let room = |(&t, &by): (&usize, &f64)| {
            if by == 0.0 { f64::INFINITY } else { (bound(t, by) - self.beta[t]) / by }
        };
        let rooms: Vec<f64> = free.iter().zip(&by).map(room).collect();
        let least = rooms.iter().fold(1.0, |least: f64, &room| least.min(room));
        // All the way, each as far as it may; or all together as far as the first may.
        for far in [1.0, least] {
            let to = |((&t, &by), room): ((&usize, &f64), &f64)| {
                if *room <= far { bound(t, by) } else { self.beta[t] + far * by }
            };
            let to: Vec<f64> = free.iter().zip(&by).zip(&rooms).map(to).collect();
            let mut change = vec![0.0; q];
            for (&t, to) in free.iter().zip(&to) {
                axpy(to - self.beta[t], &self.matrix[t * q..][..q], &mut change);
            }
            let gain =
                |(&t, to): (&usize, &f64)| (to - self.beta[t]) * (self.scores[t] - 0.5 * change[t]);
            if free.iter().zip(&to).map(gain).sum::<f64>() > 0.0 {
                free.iter().zip(&to).for_each(|(&t, to)| self.beta[t] = *to);
                axpy(-1.0, &change, &mut self.scores);
                return true;
            }
        }
        false
    }
}
