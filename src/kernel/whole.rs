//! All kernel values among some columns.

use super::{Columns, Gram};
use crate::error::{Result, try_square};
use crate::float::Real;
use crate::parallel::map;
use crate::watch::{Step, Watch};

/// Points whose rows a thread computes at a time.
const POINTS: usize = 64;

/// Multiply-adds between two looks at the watch.
const WORK_BETWEEN_LOOKS: usize = 1 << 30;

impl<F: Real> Columns<'_, F> {
    /// Calls `write(i, row)` with the values of column `i` and all columns, for every column. The
    /// columns must be prepared.
    ///
    /// *Cost* O(n² d).
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch wants in between.
    pub(crate) fn all_rows(
        &self,
        watch: &mut Watch<'_>,
        mut write: impl FnMut(usize, &[F]),
    ) -> Step {
        let (n, layout) = (self.len(), self.layout());
        let rows = |part: usize| -> Result<Vec<F>> {
            let own: Vec<usize> = (part * POINTS..n.min((part + 1) * POINTS)).collect();
            let (points, width) = (self.points(&own)?, layout.width());
            let mut values = vec![F::zero(); own.len() * n];
            let mut some = vec![F::zero(); own.len() * width];
            for chunk in 0..layout.chunks() {
                self.rows(&points, chunk, (0, own.len()), &mut some);
                let range = layout.range(chunk);
                let rows = values.chunks_exact_mut(n).zip(some.chunks_exact(width));
                rows.for_each(|(to, row)| to[range.clone()].copy_from_slice(&row[..range.len()]));
            }
            Ok(values)
        };
        let parts = n.div_ceil(POINTS);
        let work = self.row_work().saturating_mul(POINTS).max(1);
        let together = (WORK_BETWEEN_LOOKS / work).max(1);
        for first in (0..parts).step_by(together) {
            let count = together.min(parts - first);
            for (part, values) in map(count, &|at| rows(first + at)).into_iter().enumerate() {
                for (i, row) in values?.chunks_exact(n).enumerate() {
                    write((first + part) * POINTS + i, row);
                }
            }
            watch.glance()?;
        }
        Ok(())
    }

    /// All values, a row a sample, where the matrix is given.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn given(&self) -> Result<Option<Vec<F>>> {
        let Gram::Given(matrix) = self.gram else { return Ok(None) };
        let n = self.len();
        let mut values = try_square("kernel matrix", n, F::zero())?;
        for (row, &i) in values.chunks_exact_mut(n.max(1)).zip(&self.index) {
            let from = matrix.row(i);
            row.iter_mut().zip(&self.index).for_each(|(to, &j)| *to = F::from_f64(from[j]));
        }
        Ok(Some(values))
    }
}
