//! A partition of space, or of a projection of it, with a machine in every cell.

use rayon::prelude::*;

use super::assignment::Assignment;
use super::cell::CellMachine;
use super::chunks::in_chunks;
use super::scratch::{Scratch, with_scratch};
use crate::data::Rows;
use crate::error::{Error, Result, check_features, check_len, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::parallel::{MIN_PARALLEL_WORK, ROW_CHUNK};
use crate::simd::add_scaled_rows;
use crate::watch::Look;

/// `f(x)` of the cell whose centre is nearest to x, or `f(V x)` of that nearest to `V x`.
///
/// *Cost* of a prediction: O(K d) for the nearest of K centres and O(n d) for the n terms of one
/// cell; behind p directions V these are p in the place of d, after O(p d).
#[derive(Clone, Debug)]
pub struct CellModel<F: Real> {
    /// V, with the identity for weights.
    directions: Option<FeatureMap<F>>,
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
        let centers = Assignment::of_centers(centers, n_features)?;
        Ok(Self { directions: None, centers, cells, n_outputs })
    }

    /// The same behind directions, whose products with rows are the features of the cells.
    ///
    /// # Errors
    /// `FeatureMismatch`, `Unsupported` for features that are not such products.
    pub fn behind(mut self, directions: FeatureMap<F>) -> Result<Self> {
        check_features(self.n_inner_features(), directions.n_outputs())?;
        match &directions {
            FeatureMap::Landmarks(map) if map.kernel() == AnyKernel::Linear => {}
            FeatureMap::Landmarks(_) | FeatureMap::Fourier(_) => {
                return Err(Error::Unsupported("cells behind features that are no axes".into()));
            }
        }
        self.directions = Some(directions);
        Ok(self)
    }

    /// Number of features d of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.directions.as_ref().map_or(self.n_inner_features(), FeatureMap::n_features)
    }

    /// Number of features that the cells see.
    #[must_use]
    pub fn n_inner_features(&self) -> usize {
        self.centers.n_features()
    }

    /// The directions, where the cells are behind some.
    #[must_use]
    pub fn directions(&self) -> Option<&FeatureMap<F>> {
        self.directions.as_ref()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.n_outputs
    }

    /// Cell centres as the cells see them, K x [`CellModel::n_inner_features`] row by row.
    #[must_use]
    pub fn inner_centers(&self) -> Vec<F> {
        self.centers.centers()
    }

    /// Cell centres, K x d row by row: where directions are, in the space that they span, so that
    /// the nearest one is the same.
    #[must_use]
    pub fn centers(&self) -> Vec<F> {
        let inner = self.inner_centers();
        let Some(FeatureMap::Landmarks(map)) = &self.directions else { return inner };
        let (p, d) = (map.n_outputs(), map.n_features());
        let mut out = vec![F::zero(); self.cells.len() * d];
        for (out, center) in out.chunks_exact_mut(d).zip(inner.chunks_exact(p)) {
            for (&value, axis) in center.iter().zip(map.landmarks().chunks_exact(d)) {
                out.iter_mut().zip(axis).for_each(|(to, &a)| *to += value * a);
            }
        }
        out
    }

    /// The cells.
    #[must_use]
    pub fn cells(&self) -> &[CellMachine<F>] {
        &self.cells
    }

    pub(super) fn row_work(&self) -> usize {
        let largest = self.cells.iter().map(CellMachine::n_terms).max().unwrap_or(0);
        let each = largest.saturating_mul(self.n_outputs).saturating_add(self.cells.len());
        let own = self.directions.as_ref().map_or(0, FeatureMap::row_work);
        each.saturating_mul(self.n_inner_features()).saturating_add(own)
    }

    /// Decision values, n x outputs, in parallel inside the current pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.seen(rows, |rows| self.decide(rows, out))
    }

    /// What `work` makes of rows as the cells see them.
    fn seen<T>(
        &self,
        rows: &Rows<'_, F>,
        work: impl FnOnce(&Rows<'_, F>) -> Result<T>,
    ) -> Result<T> {
        check_features(self.n_features(), rows.n_cols())?;
        let Some(map) = &self.directions else { return work(rows) };
        let (n, p) = (rows.n_rows(), map.n_outputs());
        // What this thread keeps suffices for one row.
        let mut kept = match n {
            1 => with_scratch(|scratch| std::mem::take(&mut scratch.values)),
            _ => try_vec("projected rows", n.saturating_mul(p), F::zero())?,
        };
        kept.resize(n * p, F::zero());
        let input = (rows, map.n_features());
        in_chunks(input, (&mut kept, p), map.row_work(), |scratch, first, out| {
            map.block(rows, |i| first + i, (out, p), &mut scratch.features);
        })?;
        let done = Rows::of_slice(&kept, p).and_then(|rows| work(&rows));
        if n == 1 {
            with_scratch(|scratch| scratch.values = kept);
        }
        done
    }

    /// Decision values of rows as the cells see them.
    fn decide(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (n, m) = (rows.n_rows(), self.n_outputs);
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
        self.by_cell(rows, (out, m), |cell, scratch, group, values| {
            cell.decide(rows, group, scratch, values)
        })
    }

    /// `width` values of every row, by `work` on some rows of one cell together: a block of points
    /// against its terms.
    fn by_cell(
        &self,
        rows: &Rows<'_, F>,
        (out, width): (&mut [f64], usize),
        work: impl Fn(&CellMachine<F>, &mut Scratch<F>, &[usize], &mut [f64]) -> Result<()>
        + Sync
        + Send,
    ) -> Result<()> {
        let n = rows.n_rows();
        let of_row = self.centers.assign(rows, 1)?;
        let mut by_cell: Vec<usize> = (0..n).collect();
        by_cell.sort_unstable_by_key(|&i| (of_row[i], i));
        let groups: Vec<&[usize]> = by_cell
            .chunk_by(|&i, &j| of_row[i] == of_row[j])
            .flat_map(|group| group.chunks(ROW_CHUNK))
            .collect();
        let decide = |scratch: &mut Scratch<F>, group: &&[usize]| {
            let mut values = vec![0.0; group.len() * width];
            let cell = &self.cells[of_row[group[0]] as usize];
            work(cell, scratch, group, &mut values)?;
            Ok(values)
        };
        let values: Result<Vec<Vec<f64>>> = if self.row_work().saturating_mul(n) < MIN_PARALLEL_WORK
        {
            with_scratch(|scratch| groups.iter().map(|group| decide(scratch, group)).collect())
        } else {
            groups.par_iter().map_init(Scratch::default, decide).collect()
        };
        for (group, values) in groups.into_iter().zip(values?) {
            for (&i, values) in group.iter().zip(values.chunks_exact(width)) {
                out[i * width..][..width].copy_from_slice(values);
            }
        }
        Ok(())
    }

    /// Gradients of the decision values, n x outputs x features: those of the cell that a row lies
    /// in.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`; those of `look`, which is asked
    /// while one row is worked on.
    pub(super) fn gradient(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
        look: Look<'_>,
    ) -> Result<()> {
        let (n, m, d, p) =
            (rows.n_rows(), self.n_outputs, self.n_features(), self.n_inner_features());
        check_len("out", n.saturating_mul(m).saturating_mul(d), out.len())?;
        out.fill(0.0);
        if self.cells.is_empty() {
            return Ok(());
        }
        let mut inner = |rows: &Rows<'_, F>, out: &mut [f64]| {
            if n == 1 {
                // It may be much by itself.
                let mut cell = [0];
                self.centers.assign_into(rows, (&mut cell, 1))?;
                let cell = &self.cells[cell[0] as usize];
                return cell.gradient(rows, &[0], &mut Scratch::default(), out, &mut *look);
            }
            self.by_cell(rows, (out, m * p), |cell, scratch, group, values| {
                cell.gradient(rows, group, scratch, values, &mut || Ok(()))
            })
        };
        let Some(FeatureMap::Landmarks(map)) = &self.directions else { return inner(rows, out) };
        let mut seen = try_vec("gradients", n.saturating_mul(m).saturating_mul(p), 0.0)?;
        self.seen(rows, |rows| inner(rows, &mut seen))?;
        // Of a direction v the features count v each.
        for (out, slopes) in out.chunks_exact_mut(d).zip(seen.chunks_exact(p)) {
            let scaled: Vec<(u32, f64)> = (0..).zip(slopes.iter().copied()).collect();
            add_scaled_rows(map.landmarks(), &scaled, out);
        }
        Ok(())
    }
}
