//! The nearest centre, and centres that follow their samples (learning vector quantisation).

use super::chunks::in_chunks;
use super::scratch::Scratch;
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::simd::{Packed, Tile, first_at_most, least};

/// `‖x - s‖²` is what the Gaussian kernel of this γ keeps.
const SQUARED_DISTANCE: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 };

/// Packed centres, at most as many as there is room for.
#[derive(Clone, Debug)]
pub(crate) struct Assignment<F: Real> {
    centers: Packed<F>,
    distances: Vec<F>,
    moved: Vec<F>,
}

impl<F: Real> Assignment<F> {
    pub(crate) fn new(n_features: usize, most: usize) -> Result<Self> {
        let mut centers = Packed::new(n_features)?;
        // Room is taken when the centres come: a stream may be shorter than K.
        centers.reserve(most.min(1024))?;
        Ok(Self { centers, distances: Vec::new(), moved: Vec::new() })
    }

    pub(crate) fn n_features(&self) -> usize {
        self.centers.n_features()
    }

    pub(crate) fn len(&self) -> usize {
        self.centers.len()
    }

    pub(crate) fn push(&mut self, center: &[F]) -> Result<()> {
        self.centers.push(center)?;
        self.distances = try_vec("distances", self.centers.padded_len(), F::zero())?;
        Ok(())
    }

    /// Centres, K x d row by row.
    pub(crate) fn of_centers(centers: &[F], n_features: usize) -> Result<Self> {
        let mut all = Self::new(n_features, centers.len() / n_features)?;
        centers.chunks_exact(n_features).try_for_each(|center| all.push(center))?;
        Ok(all)
    }

    /// The centres, K x d row by row.
    pub(crate) fn centers(&self) -> Vec<F> {
        let d = self.n_features();
        let mut out = vec![F::zero(); self.len() * d];
        out.chunks_exact_mut(d).enumerate().for_each(|(k, row)| self.centers.get(k, row));
        out
    }

    /// Up to `most` centres nearest to a point of the tile, the nearest first (the first of
    /// equals), into `cells`.
    pub(crate) fn nearest(
        &mut self,
        tile: &Tile<F>,
        point: usize,
        most: usize,
        cells: &mut Vec<u32>,
    ) {
        let mut distances = std::mem::take(&mut self.distances);
        cells.clear();
        nearest(&self.centers, (tile, point), most, &mut distances, |cell| cells.push(cell));
        self.distances = distances;
    }

    /// Moves a centre the share `step` of the way to `row`.
    pub(crate) fn pull(&mut self, cell: usize, row: &[F], step: f64) {
        if step == 0.0 {
            return;
        }
        let (step, rest) = (F::from_f64(step), F::from_f64(1.0 - step));
        self.moved.resize(row.len(), F::zero());
        self.centers.get(cell, &mut self.moved);
        self.moved.iter_mut().zip(row).for_each(|(m, &x)| *m = rest * *m + step * x);
        self.centers.set(cell, &self.moved);
    }

    /// The `most` nearest cells of each row, n x most, the nearest first; the nearest again in
    /// places for which there is no cell.
    pub(crate) fn assign(&self, rows: &Rows<'_, F>, most: usize) -> Result<Vec<u32>> {
        let mut cells = try_vec("cells", rows.n_rows().saturating_mul(most), 0u32)?;
        self.assign_into(rows, (&mut cells, most))?;
        Ok(cells)
    }

    /// [`Assignment::assign`] into `cells`, which are 0.
    pub(super) fn assign_into(
        &self,
        rows: &Rows<'_, F>,
        (cells, most): (&mut [u32], usize),
    ) -> Result<()> {
        let (d, work) = (self.n_features(), self.len().saturating_mul(self.n_features()));
        in_chunks((rows, d), (cells, most), work, |scratch, first, cells| {
            let Scratch { tile, values, .. } = scratch;
            tile.reset(d);
            load_tile(rows, cells.len() / most, |i| first + i, &[], tile);
            values.resize(self.centers.padded_len(), F::zero());
            for (point, cells) in cells.chunks_exact_mut(most).enumerate() {
                let mut found = 0;
                nearest(&self.centers, (tile, point), most, values, |cell| {
                    cells[found] = cell;
                    found += 1;
                });
                let first = cells[0];
                cells[found.max(1)..].fill(first);
            }
        })
    }
}

/// Tells the `most` nearest centres, one after the other.
fn nearest<F: Real>(
    centers: &Packed<F>,
    (tile, point): (&Tile<F>, usize),
    most: usize,
    distances: &mut [F],
    mut found: impl FnMut(u32),
) {
    if centers.is_empty() {
        return;
    }
    let padded = centers.padded_len();
    SQUARED_DISTANCE.stored(tile, (point, point + 1), centers, &mut distances[..padded], padded);
    let distances = &mut distances[..centers.len()];
    for place in 0..most.min(distances.len()) {
        let closest = least(distances);
        // Centres beyond the range of floats are no neighbours.
        if place > 0 && !closest.is_finite() {
            return;
        }
        let cell = first_at_most(distances, closest);
        found(cell as u32);
        distances[cell] = F::infinity();
    }
}
