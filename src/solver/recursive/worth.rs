//! What the terms of a basis are worth to the rows so far and a block.

use super::{Block, Summary};
use crate::error::{Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::axpy;
use crate::watch::Step;

/// What the objective of one output loses without a term, where it is a parabola about its minimum β
/// with the Hessian A: `½ β_j² / (A⁻¹)_jj`, the others being at their best (Hassibi and Stork 1993,
/// "optimal brain surgeon", equation 5). Terms go one after another, since of two that are near each
/// other either is worth little.
#[derive(Clone, Debug)]
pub struct Worth {
    /// A⁻¹, of the terms that are left.
    inverse: Vec<f64>,
    /// The minimum without those that are gone.
    pub(super) point: Vec<f64>,
}

impl Worth {
    /// What the objective loses without term j.
    #[must_use]
    pub fn of(&self, j: usize) -> f64 {
        let own = self.inverse[j * self.point.len() + j];
        if own > 0.0 { 0.5 * self.point[j] * self.point[j] / own } else { 0.0 }
    }

    /// Term j goes; the others are at their best without it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn without(&mut self, j: usize) -> Result<()> {
        let n = self.point.len();
        let mut column = try_vec("column", n, 0.0)?;
        column.copy_from_slice(&self.inverse[j * n..(j + 1) * n]);
        let own = column[j];
        if own > 0.0 {
            axpy(-self.point[j] / own, &column, &mut self.point);
            for (row, c) in self.inverse.chunks_exact_mut(n).zip(&column) {
                axpy(-c / own, &column, row);
            }
        }
        // To the bit, where rounding left something.
        self.point[j] = 0.0;
        Ok(())
    }
}

impl<F: Real> Block<'_, F> {
    /// What the terms are worth to one output, where `point` is the minimum of penalty, summary and
    /// block.
    ///
    /// # Errors
    /// `OutOfMemory`, `NotPositiveDefinite`, and what `between` says.
    pub fn worth(
        &self,
        summary: &Summary,
        (output, point): (usize, &[f64]),
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Worth> {
        let n = point.len();
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let samples = self.samples(output, self.loss.h);
        let zone: Vec<_> = (f.iter().enumerate())
            .map(|(i, &f)| (i, samples.at(i, f).curvature))
            .filter(|row| row.1 > 0.0)
            .collect();
        let mut curved = summary.hessian.clone();
        axpy(1.0, self.penalty, &mut curved);
        let factor = self.direct(&zone, &curved, n, between)?;
        let mut inverse = try_square("inverse", n, 0.0)?;
        inverse.iter_mut().step_by(n + 1).for_each(|v| *v = 1.0);
        factor.solve_columns(&mut inverse, between)?;
        Ok(Worth { inverse, point: point.to_vec() })
    }

    /// The slopes of the rows' losses at a point, costs in them.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn slopes(&self, output: usize, point: &[f64]) -> Result<Vec<f64>> {
        let mut f = try_vec("margins", self.cost.len(), 0.0)?;
        self.decide(point, &mut f);
        let samples = self.samples(output, self.loss.h);
        for (i, f) in f.iter_mut().enumerate() {
            *f = if self.cost[i] > 0.0 { samples.at(i, *f).slope } else { 0.0 };
        }
        Ok(f)
    }
}
