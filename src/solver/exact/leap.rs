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

use super::rounds::Run;
use super::select::{extremes, violation};
use crate::error::Error;
use crate::float::Real;
use crate::linalg::{Cholesky, dot};
use crate::watch::{Look, Step};

/// Variables that are pinned at most.
const MOST_PINNED: usize = 24;
/// Of the diagonal.
const JITTER: f64 = 1e-14;
/// A factor may cost this many multiply-adds, and as many times those of the steps so far.
const LEAST_WORK: u64 = 1 << 22;
const TIMES: u64 = 16;

impl<F: Real> Run<'_, '_, '_, F> {
    /// Leaps over the free variables, if that pays; the violation that is left of `before`.
    pub(super) fn leap(&mut self, before: f64) -> Step<f64> {
        let dual = self.dual;
        let inside = |v: usize| self.beta[v] < dual.upper[v] && self.beta[v] > dual.lower[v];
        let mut free: Vec<usize> = (0..dual.len()).filter(|&v| inside(v)).collect();
        let size = free.len() as u64;
        let paid = self.product.steps.saturating_mul(dual.len() as u64).saturating_mul(TIMES);
        if size < 2 || size.pow(3) / 3 > LEAST_WORK.max(paid) {
            return Ok(before);
        }
        free.sort_by_key(|&v| dual.sample[v]);
        let samples: Vec<usize> = free.iter().map(|&v| dual.sample[v]).collect();
        let held = self.product.fetch(samples.clone(), &self.beta)?;
        let slots: Vec<u32> = samples.iter().map(|&sample| held.slot(sample)).collect();
        let values = self.product.cache.among(&slots, &samples)?;
        let matrix: Vec<f64> = values.iter().map(|&v| Real::to_f64(v)).collect();
        // 1.
        let none: Look<'_> = &mut || Ok(());
        let made = Cholesky::factor("kernel matrix", &matrix, free.len(), JITTER, none);
        let factor = match made {
            Ok(factor) => factor,
            Err(Error::NotPositiveDefinite(_)) => return Ok(before),
            Err(error) => return Err(error.into()),
        };
        let Some(delta) = self.step_within(&free, (&matrix, &factor)) else { return Ok(before) };
        // 3.
        let (beta, f, drift) = (self.beta.clone(), self.product.f.clone(), self.drift);
        let mut moves = Vec::new();
        for (&v, &by) in free.iter().zip(&delta) {
            let to = (self.beta[v] + by).clamp(dual.lower[v], dual.upper[v]);
            moves.push((dual.sample[v], to - self.beta[v]));
            self.beta[v] = to;
        }
        let added = self.product.follow(&held, &moves)? * self.largest;
        self.drift += f64::EPSILON * added;
        self.rescore();
        let after = violation(&extremes(dual, &self.beta, &self.scores));
        if after < before {
            return Ok(after);
        }
        (self.beta, self.product.f, self.drift) = (beta, f, drift);
        self.rescore();
        Ok(before)
    }

    /// The step with as many variables pinned as leave their box; none where they are too many.
    fn step_within(&self, free: &[usize], system: (&[f64], &Cholesky)) -> Option<Vec<f64>> {
        let (dual, n) = (self.dual, free.len());
        let mut solved = Solved { system, columns: Vec::new() };
        let mut targets = Vec::new();
        for group in 0..if dual.two_sums { 2 } else { 1 } {
            let of = |&v: &usize| f64::from(u8::from(dual.group(v) == group));
            let column: Vec<f64> = free.iter().map(of).collect();
            if column.contains(&1.0) {
                solved.add(column);
                targets.push(0.0);
            }
        }
        let right: Vec<f64> = free.iter().map(|&v| self.scores[v]).collect();
        let plain = solved.solve(&right);
        for _ in 0..MOST_PINNED {
            let delta = solved.constrained(&plain, &targets)?;
            // 2. The one that comes to its bound first.
            let mut first = (1.0, None);
            for (at, (&v, &by)) in free.iter().zip(&delta).enumerate() {
                let bound = if by > 0.0 { dual.upper[v] } else { dual.lower[v] };
                let room = bound - self.beta[v];
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
