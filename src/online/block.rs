//! The kernel rows of the next samples, computed at once and kept true to the model.

use rayon::prelude::*;

use super::basis::{Coordinates, KernelRows};
use super::expansion::BudgetedExpansion;
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::simd::{Packed, Tile};

/// Points of one unit of parallel work inside a block.
const PART: usize = 16;

/// Multiply-adds below which a block is filled by the thread that asks
/// (`cargo bench --bench engine`, group `threshold`).
const MIN_PARALLEL_BLOCK: usize = 1 << 17;

/// Kernel rows of a run of samples against the terms.
#[derive(Clone, Debug)]
pub(super) struct Block<F: Real> {
    kernel: AnyKernel,
    pub(super) tile: Tile<F>,
    /// `k(x, x)`.
    pub(super) own: Vec<f64>,
    rows: Vec<F>,
    stride: usize,
    len: usize,
    /// The samples of the block, as centres: made when the first of them becomes a term.
    points: Packed<F>,
    points_ready: bool,
    cross: Vec<F>,
    /// Along the model's basis, if it has one.
    coordinates: Coordinates,
}

impl<F: Real> Block<F> {
    pub(super) fn new(model: &BudgetedExpansion<F>) -> Result<Self> {
        Ok(Self {
            kernel: model.kernel(),
            tile: Tile::new(model.n_features()),
            own: Vec::new(),
            rows: Vec::new(),
            stride: 0,
            len: 0,
            points: Packed::new(model.n_features())?,
            points_ready: false,
            cross: Vec::new(),
            coordinates: Coordinates::default(),
        })
    }

    /// Loads the samples `ids` and computes their kernel rows, in parallel inside the current pool.
    pub(super) fn fill(
        &mut self,
        rows: &Rows<'_, F>,
        ids: &[usize],
        model: &BudgetedExpansion<F>,
    ) -> Result<()> {
        self.len = ids.len();
        self.points_ready = false;
        let line = Packed::<F>::line();
        // Every sample of the block may become a term.
        let most = if model.map().is_some() { model.row_len() } else { model.len() + ids.len() };
        let stride = most.next_multiple_of(line);
        if stride > self.stride {
            // Doubled, so that a growing model does not allocate at every block.
            self.stride = stride.max(2 * self.stride.min(1 << 12));
        }
        let needed = ids.len().saturating_mul(self.stride);
        if self.rows.len() < needed {
            self.rows = try_vec("kernel rows", needed, F::zero())?;
        }
        if let Some(map) = model.map() {
            // z(x)·z(x) of paired waves.
            self.own.clear();
            self.own.resize(ids.len(), 1.0);
            let (rows_out, width) = (&mut self.rows[..needed], self.stride);
            // A block is less than what `FeatureMap::transform` gives to one thread.
            rows_out.par_chunks_mut(PART * width).enumerate().for_each_init(
                || map.scratch(),
                |scratch, (part, out)| {
                    map.block(rows, |i| ids[part * PART + i], (out, width), scratch);
                },
            );
            return Ok(());
        }
        load_tile(rows, ids.len(), |i| ids[i], &model.origin, &mut self.tile);
        self.kernel.diagonal(&self.tile, &mut self.own);
        let (kernel, tile, stride) = (self.kernel, &self.tile, self.stride);
        let part = |(at, rows): (usize, &mut [F])| {
            let range = (at * PART, at * PART + rows.len() / stride);
            kernel.values(tile, range, &model.centers, rows, stride);
        };
        let work = ids.len().saturating_mul(model.len()).saturating_mul(tile.n_features());
        let rows = &mut self.rows[..needed];
        if work < MIN_PARALLEL_BLOCK {
            rows.chunks_mut(PART * stride).enumerate().for_each(part);
        } else {
            rows.par_chunks_mut(PART * stride).enumerate().for_each(part);
        }
        self.project(0, model)
    }

    /// Finds the coordinates of the samples from `first` on, if the model has a basis.
    pub(super) fn project(&mut self, first: usize, model: &BudgetedExpansion<F>) -> Result<()> {
        let Some(basis) = model.basis() else { return Ok(()) };
        let rows = KernelRows { values: &self.rows, stride: self.stride, terms: model.len() };
        self.coordinates.fill(basis, rows, (first, self.len))
    }

    /// The coordinates of one sample; none for a model without a basis.
    pub(super) fn coordinates(&self, turn: usize, model: &BudgetedExpansion<F>) -> &[f64] {
        match model.basis() {
            Some(basis) => self.coordinates.of(turn, basis.len()),
            None => &[],
        }
    }

    /// The kernel row of one sample, padded to whole lines; beyond `len` values it is stale.
    pub(super) fn row(&self, turn: usize, len: usize) -> &[F] {
        let padded = len.next_multiple_of(Packed::<F>::line());
        &self.rows[turn * self.stride..][..padded]
    }

    /// The sample whose turn it is has become the term in `slot`: the samples to come follow.
    pub(super) fn wrote(
        &mut self,
        turn: usize,
        slot: usize,
        model: &BudgetedExpansion<F>,
    ) -> Result<()> {
        if !self.points_ready {
            let mut row = vec![F::zero(); self.tile.n_features()];
            self.points.resize_stale(self.len)?;
            for i in 0..self.len {
                self.tile.copy_row(i, &mut row);
                self.points.set(i, &row);
            }
            self.points_ready = true;
        }
        let padded = self.points.padded_len();
        self.cross.resize(padded, F::zero());
        let range = (turn, turn + 1);
        self.kernel.values(&self.tile, range, &self.points, &mut self.cross, padded);
        for i in turn + 1..self.len {
            self.rows[i * self.stride + slot] = self.cross[i];
        }
        if let Some(basis) = model.basis() {
            let rows = KernelRows { values: &self.rows, stride: self.stride, terms: model.len() };
            self.coordinates.append(basis, rows, (turn + 1, self.len))?;
        }
        Ok(())
    }
}
