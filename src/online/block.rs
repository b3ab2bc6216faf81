//! The kernel rows of the next samples, and their coordinates along the model's basis.

use super::basis::{Coordinates, KernelRows};
use super::expansion::BudgetedExpansion;
use crate::data::Rows;
use crate::error::Result;
use crate::features::Scratch;
use crate::float::Real;
use crate::kernel::{AnyKernel, SampleRows};
use crate::parallel::{MIN_PARALLEL_BLOCK, each_if, each_with};
use crate::simd::Packed;

/// Samples of one unit of parallel work inside a block: so many share none.
pub(super) const PART: usize = 16;

/// The next samples: rows of kernel values, or of features, and coordinates.
#[derive(Clone, Debug)]
pub(super) struct Block<F: Real> {
    pub(super) samples: SampleRows<F>,
    coordinates: Coordinates,
}

impl<F: Real> Block<F> {
    pub(super) fn new(model: &BudgetedExpansion<F>) -> Result<Self> {
        let samples = SampleRows::new(model.kernel(), model.n_features(), AnyKernel::values)?;
        Ok(Self { samples, coordinates: Coordinates::default() })
    }

    /// Loads the samples `ids` and computes their rows, in parallel inside the current pool.
    pub(super) fn fill(
        &mut self,
        rows: &Rows<'_, F>,
        ids: &[usize],
        model: &BudgetedExpansion<F>,
    ) -> Result<()> {
        let samples = &mut self.samples;
        // Every sample of the block may become a term.
        let most = if model.map().is_some() { model.row_len() } else { model.len() + ids.len() };
        // Doubled, so that a growing model does not allocate at every block.
        let doubled = if most > samples.stride() { 2 * samples.stride().min(1 << 12) } else { 0 };
        samples.resize(ids.len(), most.max(doubled))?;
        let stride = samples.stride();
        if let Some(map) = model.map() {
            // z(x)·z(x) of paired waves.
            samples.diagonal.clear();
            samples.diagonal.resize(ids.len(), 1.0);
            // A block is less than what `FeatureMap::transform` gives to one thread.
            let fill = |scratch: &mut Scratch<F>, part: usize, out: &mut [F]| {
                map.block(rows, |i| ids[part * PART + i], (out, stride), scratch);
            };
            each_with(samples.parts().1.chunks_mut(PART * stride), &Scratch::default, &fill);
            return Ok(());
        }
        samples.load(rows, ids, model.origin());
        let (kernel, (tile, values)) = (model.kernel(), samples.parts());
        let part = |at: usize, rows: &mut [F]| {
            let range = (at * PART, at * PART + rows.len() / stride);
            kernel.values(tile, range, model.terms.centers(), rows, stride);
        };
        let work = ids.len().saturating_mul(model.len()).saturating_mul(tile.n_features());
        let shared = ids.len() > PART && work >= MIN_PARALLEL_BLOCK;
        each_if(shared, values.chunks_mut(PART * stride), &part);
        self.project(0, model)
    }

    /// Finds the coordinates of the samples from `first` on, if the model has a basis.
    pub(super) fn project(&mut self, first: usize, model: &BudgetedExpansion<F>) -> Result<()> {
        let Some(basis) = model.basis() else { return Ok(()) };
        let rows = kernel_rows(&self.samples, model);
        self.coordinates.fill(basis, rows, (first, self.samples.len()))
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
        &self.samples.rows()[turn * self.samples.stride()..][..padded]
    }

    /// The sample whose turn it is has become the term in `slot`: the samples to come follow.
    pub(super) fn wrote(
        &mut self,
        turn: usize,
        slot: usize,
        model: &BudgetedExpansion<F>,
    ) -> Result<()> {
        self.samples.wrote(turn, slot)?;
        if let Some(basis) = model.basis() {
            let rows = kernel_rows(&self.samples, model);
            self.coordinates.append(basis, rows, (turn + 1, self.samples.len()))?;
        }
        Ok(())
    }
}

fn kernel_rows<'a, F: Real>(
    samples: &'a SampleRows<F>,
    model: &BudgetedExpansion<F>,
) -> KernelRows<'a, F> {
    KernelRows { values: samples.rows(), stride: samples.stride(), terms: model.len() }
}
