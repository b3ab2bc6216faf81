//! The end of a small problem: a linear system in place of thousands of steps.
//!
//! Near the optimum the steps of SMO no longer change which variables are at a bound, and each
//! decade of the violation costs as many as the one before. Then the rest of the way is one step of
//! Newton's method over the free variables F:
//!
//! ```text
//! min ½ δᵀK_FF δ - rᵀδ   with the sums kept,   r = z - f:   K_FF δ + Aλ = r,   Aᵀδ = c
//! ```
//!
//! # Method
//! 1. `K_FF = LLᵀ`, with a jitter of rounding size (copies of a sample make K_FF singular), whose
//!    effect a second solve with the residual takes away.
//! 2. A variable that would leave its box is pinned: it is to move to its bound, one column more of
//!    A. The factor stays; λ has as many values as A has columns.
//! 3. The step is kept if the violation is smaller after it, else all is as it was.

use super::select::violation;
use super::working::Working;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, dot};
use crate::simd::add_rows;
use crate::watch::Look;

/// Variables that are pinned at most.
const MOST_PINNED: usize = 24;
/// Of the diagonal.
const JITTER: f64 = 1e-14;
/// A factor may cost this many multiply-adds, and as many times those of the steps so far.
const LEAST_WORK: u64 = 1 << 22;
const TIMES: u64 = 16;

impl<F: Real> Working<F> {
    /// Leaps over the free variables, if that pays after so many steps; the violation that is left
    /// of `before`.
    pub(super) fn leap(&mut self, steps: u64, before: f64) -> Result<f64> {
        // Both marks of a free variable are the same; those of a bound, or of the kink, are not.
        let q = self.beta.len();
        let free: Vec<usize> = (0..q).filter(|&t| self.up[t] == self.down[t]).collect();
        let size = free.len() as u64;
        let paid = steps.saturating_mul(q as u64).saturating_mul(TIMES);
        if size < 2 || size.pow(3) / 3 > LEAST_WORK.max(paid) {
            return Ok(before);
        }
        let mut matrix = try_vec("kernel matrix", free.len() * free.len(), 0.0)?;
        for (row, &t) in matrix.chunks_exact_mut(free.len()).zip(&free) {
            let values = &self.kernel[t * self.stride..][..q];
            row.iter_mut().zip(&free).for_each(|(to, &u)| *to = values[u].to_f64());
        }
        // 1.
        let none: Look<'_> = &mut || Ok(());
        let made = Cholesky::factor("kernel matrix", &matrix, free.len(), JITTER, none);
        let factor = match made {
            Ok(factor) => factor,
            Err(Error::NotPositiveDefinite(_)) => return Ok(before),
            Err(error) => return Err(error),
        };
        let Some(delta) = self.step_within(&free, (&matrix, &factor)) else { return Ok(before) };
        // 3.
        let (beta, scores) = (self.beta.clone(), self.scores.clone());
        let moves = free.iter().zip(&delta).map(|(&t, &by)| {
            let to = (beta[t] + by).clamp(self.floor(t), self.ceiling(t));
            (t, to)
        });
        let moves: Vec<(usize, f64)> = moves.collect();
        let row = |t: usize| &self.kernel[t * self.stride..][..q];
        let rows: Vec<_> = moves.iter().map(|&(t, to)| (row(t), beta[t] - to)).collect();
        add_rows(&rows, &mut self.scores);
        for &(t, to) in &moves {
            self.beta[t] = to;
            self.mark(t);
        }
        let after = violation(&self.extremes());
        if after < before {
            return Ok(after);
        }
        (self.beta, self.scores) = (beta, scores);
        free.iter().for_each(|&t| self.mark(t));
        Ok(before)
    }

    /// The step with as many variables pinned as leave their box; none where they are too many.
    fn step_within(&self, free: &[usize], system: (&[f64], &Cholesky)) -> Option<Vec<f64>> {
        let n = free.len();
        let mut solved = Solved { system, columns: Vec::new() };
        let mut targets = Vec::new();
        for (a, b) in self.ranges {
            let of = |t: &usize| f64::from(u8::from((a..b).contains(t)));
            let column: Vec<f64> = free.iter().map(of).collect();
            if column.contains(&1.0) {
                solved.add(column);
                targets.push(0.0);
            }
        }
        let right: Vec<f64> = free.iter().map(|&t| self.scores[t] + self.up[t]).collect();
        let plain = solved.solve(&right);
        for _ in 0..MOST_PINNED {
            let delta = solved.constrained(&plain, &targets)?;
            // 2. The one that comes to its bound first.
            let mut first = (1.0, None);
            for (at, (&t, &by)) in free.iter().zip(&delta).enumerate() {
                let bound = if by > 0.0 { self.ceiling(t) } else { self.floor(t) };
                let room = bound - self.beta[t];
                // A pinned one is off by rounding.
                if by.abs() > room.abs() * (1.0 + 1e-9) && room / by < first.0 {
                    first = (room / by, Some((at, room)));
                }
            }
            let Some((at, room)) = first.1 else { return Some(delta) };
            let mut column = vec![0.0; n];
            column[at] = 1.0;
            solved.add(column);
            targets.push(room);
        }
        None
    }
}

/// `K⁻¹` of some columns.
struct Solved<'m> {
    system: (&'m [f64], &'m Cholesky),
    /// A column of A and K⁻¹ of it.
    columns: Vec<(Vec<f64>, Vec<f64>)>,
}

impl Solved<'_> {
    /// K⁻¹ of a column, with the residual solved for again.
    fn solve(&self, right: &[f64]) -> Vec<f64> {
        let (matrix, factor) = self.system;
        let n = right.len();
        let mut solution = right.to_vec();
        factor.solve(&mut solution);
        let rows = matrix.chunks_exact(n).zip(right);
        let mut rest: Vec<f64> = rows.map(|(row, r)| r - dot(row, &solution)).collect();
        factor.solve(&mut rest);
        solution.iter_mut().zip(rest).for_each(|(s, r)| *s += r);
        solution
    }

    fn add(&mut self, column: Vec<f64>) {
        let solution = self.solve(&column);
        self.columns.push((column, solution));
    }

    /// `δ = K⁻¹(r - Aλ)` with `Aᵀδ = c`, given K⁻¹r.
    fn constrained(&self, plain: &[f64], targets: &[f64]) -> Option<Vec<f64>> {
        let q = self.columns.len();
        let mut system: Vec<Vec<f64>> = Vec::with_capacity(q);
        for ((column, _), target) in self.columns.iter().zip(targets) {
            let mut row: Vec<f64> = self.columns.iter().map(|(_, s)| dot(column, s)).collect();
            row.push(dot(column, plain) - target);
            system.push(row);
        }
        let multipliers = eliminate(system)?;
        let mut delta = plain.to_vec();
        for ((_, solution), by) in self.columns.iter().zip(multipliers) {
            delta.iter_mut().zip(solution).for_each(|(d, s)| *d -= by * s);
        }
        delta.iter().all(|d| d.is_finite()).then_some(delta)
    }
}

/// The solution of a few equations, rows with their right sides at the end; none of a singular
/// system.
fn eliminate(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let q = rows.len();
    for k in 0..q {
        let pivot = (k..q).max_by(|&a, &b| rows[a][k].abs().total_cmp(&rows[b][k].abs()))?;
        rows.swap(k, pivot);
        let (above, below) = rows.split_at_mut(k + 1);
        let top = &above[k];
        if top[k] == 0.0 || !top[k].is_finite() {
            return None;
        }
        for row in below {
            let by = row[k] / top[k];
            row.iter_mut().zip(top).skip(k).for_each(|(v, t)| *v -= by * t);
        }
    }
    let mut solution = vec![0.0; q];
    for k in (0..q).rev() {
        let known: f64 = (k + 1..q).map(|j| rows[k][j] * solution[j]).sum();
        solution[k] = (rows[k][q] - known) / rows[k][k];
    }
    Some(solution)
}
