//! What a machine of few terms is to come near: values, or the sides of classes.
//!
//! ```text
//! values    min over a of Σ_i c_i (y_i - f_i)²/n + λ aᵀK_mm a
//! sides     min over a of Σ_i c_i max(0, 1 - y_i f_i)²/n + λ aᵀK_mm a,     y_i = ±1
//! ```
//!
//! Few terms cannot make every row ±1; on the right side of its margin no row asks for more.
//!
//! # Method
//!
//! A side is a value that moves: with `t_i = y_i` where `y_i f_i < 1`, else `f_i`, least squares on
//! `t` never raise the sum, and their matrix is the same every time: it is decomposed once.
//! Extrapolated as in \[NESTEROV\], which begins again where a step turns back.
//!
//! # References
//!
//! \[NESTEROV\] Nesterov. A method of solving a convex programming problem with convergence rate
//! O(1/k²). Soviet Mathematics Doklady 27, 1983.

use super::distances::{distances, into_kernel_values, product};
use super::grid::{Grid, Shape};
use super::recipe::{MOVE_JITTER, SIDES_NEAR, SIDES_WORK};
use super::reduced::{Sought, cross, gram, solved};
use crate::linalg::Cholesky;
use crate::watch::{Step, Watch};

/// What is sought of rows whose values are less their means.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Aim<'a> {
    /// The values.
    Values,
    /// The sides that values ±1 say: the means of these, one an output.
    Sides(&'a [f64]),
}

impl Aim<'_> {
    /// In place of the values found, what they are too large by: nothing where a side is kept.
    pub(crate) fn too_large(self, found: &mut Grid, values: &Grid) {
        let q = found.columns;
        match self {
            Self::Values => {
                found.values.iter_mut().zip(&values.values).for_each(|(f, y)| *f -= y);
            }
            Self::Sides(means) => {
                let rows = found.values.chunks_exact_mut(q).zip(values.values.chunks_exact(q));
                for (found, values) in rows {
                    for ((f, &y), &mean) in found.iter_mut().zip(values).zip(means) {
                        let mean = mean as f32;
                        let kept = (y + mean) * (*f + mean) >= 1.0;
                        *f = if kept { 0.0 } else { *f - y };
                    }
                }
            }
        }
    }

    /// Mean square of what is missed, as a share of the values'.
    pub(crate) fn share_missed(self, found: &Grid, values: &Grid, weights: &[f64]) -> f64 {
        let mut left = found.clone();
        self.too_large(&mut left, values);
        let q = found.columns;
        let squares = |grid: &Grid| -> f64 {
            let each = grid.values.chunks_exact(q).zip(weights);
            each.map(|(row, c)| c * row.iter().map(|&v| f64::from(v).powi(2)).sum::<f64>()).sum()
        };
        let (missed, whole) = (squares(&left), squares(values));
        if whole > 0.0 { missed / whole } else { missed }
    }

    /// Coefficients of the landmarks, m x q, for scaled rows; sides by so many steps at most.
    ///
    /// *Cost* `O(n m² + m³)`, and `O(n m q)` a step.
    pub(crate) fn solve(
        self,
        shape: Shape,
        (rows, landmarks): (&Grid, &Grid),
        sought: &Sought<'_>,
        (lambda, steps): (f64, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Grid> {
        let (n, m, q) = (rows.rows(), landmarks.rows(), sought.values.columns);
        let share = 1.0 / n as f64;
        let k = into_kernel_values(distances(shape, rows, landmarks, watch)?);
        let k_mm = into_kernel_values(distances(shape, landmarks, landmarks, watch)?);
        let roots: Vec<f64> = sought.weights.iter().map(|c| (c * share).sqrt()).collect();
        let mut normal = gram(&k, Some(&roots), watch)?;
        for (v, k) in normal.iter_mut().zip(&k_mm.values) {
            *v += lambda * f64::from(*k);
        }
        let ask = &mut || watch.glance();
        let factor = Cholesky::factor_small("landmarks", &normal, m, MOVE_JITTER, ask)?;
        drop(normal);
        let coef = |values: &Grid| -> Vec<f64> {
            let right = cross(&k, values, Some(sought.weights));
            solved(&factor, right.iter().map(|v| v * share).collect(), q)
        };
        let mut best = coef(sought.values);
        let steps = match self {
            Self::Values => 0,
            Self::Sides(_) => {
                let work = (n as u64 * (m * q) as u64).max(1);
                (steps as u64).min(SIDES_WORK / work) as usize
            }
        };
        let (mut at, mut pace) = (best.clone(), 1.0f64);
        for _ in 0..steps {
            // t = f - what it is too large by.
            let mut wanted = product(&k, &Grid::of_doubles(&at, q))?;
            let mut left = wanted.clone();
            self.too_large(&mut left, sought.values);
            wanted.values.iter_mut().zip(&left.values).for_each(|(t, l)| *t -= l);
            let next = coef(&wanted);
            let (mut turn, mut moved, mut size) = (0.0, 0.0, 0.0);
            for ((new, old), at) in next.iter().zip(&best).zip(&at) {
                turn += (at - new) * (new - old);
                moved += (new - old).powi(2);
                size += new.powi(2);
            }
            let after =
                if turn > 0.0 { 1.0 } else { 0.5 * (1.0 + (1.0 + 4.0 * pace * pace).sqrt()) };
            let by = if turn > 0.0 { 0.0 } else { (pace - 1.0) / after };
            for ((at, new), old) in at.iter_mut().zip(&next).zip(&best) {
                *at = new + by * (new - old);
            }
            (best, pace) = (next, after);
            watch.glance()?;
            if moved <= SIDES_NEAR * SIDES_NEAR * size {
                break;
            }
        }
        Ok(Grid::of_doubles(&best, q))
    }
}
