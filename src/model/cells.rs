//! A partition of space with a machine in every cell.

use rayon::prelude::*;

use super::assignment::Assignment;
use super::cell::CellMachine;
use super::scratch::{Scratch, with_scratch};
use crate::data::Rows;
use crate::error::{Error, Result, check_features, check_len};
use crate::float::Real;
use crate::parallel::{MIN_PARALLEL_WORK, ROW_CHUNK};

/// `f(x)` of the cell whose centre is nearest to x.
///
/// *Cost* of a prediction: O(K d) for the nearest of K centres and O(n d) for the n terms of one
/// cell.
#[derive(Clone, Debug)]
pub struct CellModel<F: Real> {
    centers: Assignment<F>,
    cells: Vec<CellMachine<F>>,
    n_outputs: usize,
}

impl<F: Real> CellModel<F> {
    /// A model of as many cells as centres (K x d row by row); without any it is 0 everywhere.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `FeatureMismatch`, `BadLabels` for other outputs, `OutOfMemory`.
    pub fn new(
        (centers, n_features): (&[F], usize),
        cells: Vec<impl Into<CellMachine<F>>>,
        n_outputs: usize,
    ) -> Result<Self> {
        let cells: Vec<CellMachine<F>> = cells.into_iter().map(Into::into).collect();
        let rows = Rows::of_slice(centers, n_features)?;
        rows.check_finite("centers")?;
        check_len("cells", rows.n_rows(), cells.len())?;
        for cell in &cells {
            check_features(n_features, cell.n_features())?;
            if !cell.has_outputs(n_outputs) {
                return Err(Error::BadLabels(format!("a cell of other than {n_outputs} outputs")));
            }
        }
        Ok(Self { centers: Assignment::of_centers(centers, n_features)?, cells, n_outputs })
    }

    /// Number of features d.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.centers.n_features()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Cell centres, K x d row by row.
    #[must_use]
    pub fn centers(&self) -> Vec<F> {
        self.centers.centers()
    }

    /// The cells.
    #[must_use]
    pub fn cells(&self) -> &[CellMachine<F>] {
        &self.cells
    }

    pub(super) fn row_work(&self) -> usize {
        let largest = self.cells.iter().map(CellMachine::n_terms).max().unwrap_or(0);
        let each = largest.saturating_mul(self.n_outputs).saturating_add(self.cells.len());
        each.saturating_mul(self.n_features())
    }

    /// Decision values, n x outputs, in parallel inside the current pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (n, m) = (rows.n_rows(), self.n_outputs);
        check_features(self.n_features(), rows.n_cols())?;
        check_len("out", n.saturating_mul(m), out.len())?;
        out.fill(0.0);
        if self.cells.is_empty() {
            return Ok(());
        }
        if n == 1 {
            let mut cell = [0];
            self.centers.assign_into(rows, (&mut cell, 1))?;
            let cell = &self.cells[cell[0] as usize];
            return cell.decide_one(rows, out);
        }
        let of_row = self.centers.assign(rows, 1)?;
        // Rows of one cell together: a block of points against its terms.
        let mut by_cell: Vec<usize> = (0..n).collect();
        by_cell.sort_unstable_by_key(|&i| (of_row[i], i));
        let groups: Vec<&[usize]> = by_cell
            .chunk_by(|&i, &j| of_row[i] == of_row[j])
            .flat_map(|group| group.chunks(ROW_CHUNK))
            .collect();
        let decide = |scratch: &mut Scratch<F>, group: &&[usize]| {
            let mut values = vec![0.0; group.len() * m];
            let cell = &self.cells[of_row[group[0]] as usize];
            cell.decide(rows, group, scratch, &mut values)?;
            Ok(values)
        };
        let values: Result<Vec<Vec<f64>>> = if self.row_work().saturating_mul(n) < MIN_PARALLEL_WORK
        {
            with_scratch(|scratch| groups.iter().map(|group| decide(scratch, group)).collect())
        } else {
            groups.par_iter().map_init(Scratch::default, decide).collect()
        };
        for (group, values) in groups.into_iter().zip(values?) {
            for (&i, values) in group.iter().zip(values.chunks_exact(m)) {
                out[i * m..][..m].copy_from_slice(values);
            }
        }
        Ok(())
    }
}
