//! A block of samples of a pass: what is known of their margins before their turn comes.
//!
//! A pass is sequential, but its margins need not be. The kernel values of the next P samples
//! and their margins are computed at once; then the samples take their steps in order, and every
//! change of the model is applied to the samples still to come: a new term's column from the
//! points of the block, a merged term's column by Stewart's theorem, without touching the data.

use rayon::prelude::*;

use crate::budget::Event;
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::model::Expansion;
use crate::simd::{self, Packed, Tile};

/// Points of one unit of parallel work inside a block.
const PART: usize = 16;

/// Multiply-adds below which a block is filled by the thread that asks
/// (`cargo bench --bench engine`, group `threshold`).
const MIN_PARALLEL_BLOCK: usize = 1 << 17;

/// The model that a block was filled against, and which slots have changed since.
#[derive(Clone, Debug)]
pub(super) struct Snapshot<F: Real> {
    origin: Vec<F>,
    centers: Packed<F>,
    coef: Vec<f64>,
    stride: usize,
    outputs: usize,
    fresh: Packed<F>,
}

impl<F: Real> Snapshot<F> {
    pub(super) fn new(model: &Expansion<F>) -> Result<Self> {
        Ok(Self {
            origin: model.origin().to_vec(),
            centers: model.centers().clone(),
            coef: model.padded_coef().to_vec(),
            stride: model.stride(),
            outputs: model.outputs(),
            fresh: Packed::new(model.centers().n_features())?,
        })
    }

    /// Brings the snapshot up to date in the slots that have changed.
    fn sync(&mut self, model: &Expansion<F>, slots: &[usize]) -> Result<()> {
        self.centers.resize_stale(model.len())?;
        if self.stride != model.stride() {
            self.stride = model.stride();
            self.coef = model.padded_coef().to_vec();
        }
        for &slot in slots {
            if slot < model.len() {
                self.centers.copy_slot(slot, model.centers(), slot);
            }
            for c in 0..self.outputs {
                let at = c * self.stride + slot;
                self.coef[at] = model.padded_coef()[at];
            }
        }
        Ok(())
    }
}

/// Samples `ids` with their stored kernel values against the snapshot and their margins.
#[derive(Clone, Debug)]
pub(super) struct Block<F: Real> {
    /// Samples at most.
    most: usize,
    pub(super) ids: Vec<usize>,
    /// The sample whose turn it is; those after it follow the model's changes.
    pub(super) turn: usize,
    pub(super) tile: Tile<F>,
    /// `k(x, x)`.
    pub(super) diagonal: Vec<f64>,
    /// `Σ_j β_jc k(s_j, x)`, a row of outputs a sample.
    pub(super) margins: Vec<f64>,
    kernel: AnyKernel,
    outputs: usize,
    stored: Vec<F>,
    stride: usize,
    /// The points of the block, as centres.
    points: Packed<F>,
    points_ready: bool,
    column: Vec<F>,
    cross: Vec<F>,
    before: Vec<F>,
    after: Vec<F>,
    /// Slots changed while this block took its turns.
    pub(super) touched: Touched,
}

/// A set of slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    slots: Vec<usize>,
    is_in: Vec<bool>,
}

impl Touched {
    fn add(&mut self, slot: usize) {
        if slot >= self.is_in.len() {
            self.is_in.resize(slot + 1, false);
        }
        if !self.is_in[slot] {
            self.is_in[slot] = true;
            self.slots.push(slot);
        }
    }

    fn clear(&mut self) {
        self.slots.iter().for_each(|&slot| self.is_in[slot] = false);
        self.slots.clear();
    }
}

impl<F: Real> Block<F> {
    /// For blocks of at most `len` samples.
    pub(super) fn new(model: &Expansion<F>, len: usize) -> Result<Self> {
        let d = model.centers().n_features();
        Ok(Self {
            most: len,
            ids: Vec::new(),
            turn: 0,
            tile: Tile::new(d),
            diagonal: Vec::new(),
            margins: Vec::new(),
            kernel: model.kernel(),
            outputs: model.outputs(),
            stored: Vec::new(),
            stride: 0,
            points: Packed::new(d)?,
            points_ready: false,
            column: Vec::new(),
            cross: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            touched: Touched::default(),
        })
    }

    /// Loads the samples and computes their kernel values and margins against the snapshot.
    pub(super) fn fill(
        &mut self,
        rows: &Rows<'_, F>,
        ids: &[usize],
        snapshot: &Snapshot<F>,
    ) -> Result<()> {
        self.ids.clear();
        self.ids.extend_from_slice(ids);
        self.turn = 0;
        self.points_ready = false;
        load_tile(rows, ids.len(), |i| ids[i], &snapshot.origin, &mut self.tile);
        self.kernel.diagonal(&self.tile, &mut self.diagonal);
        // Room for every term that this block and the one before it may add.
        let terms = snapshot.centers.len() + 2 * self.most + 2;
        let stride = terms.next_multiple_of(Packed::<F>::line()).max(self.stride);
        if stride > self.stride || self.stored.len() < ids.len() * stride {
            self.stride = stride;
            self.stored = try_vec("kernel rows", ids.len().saturating_mul(stride), F::zero())?;
        }
        self.compute(snapshot);
        Ok(())
    }

    fn compute(&mut self, snapshot: &Snapshot<F>) {
        let (n, outputs, stride) = (self.ids.len(), self.outputs, self.stride);
        self.margins.clear();
        self.margins.resize(n * outputs, 0.0);
        let (kernel, tile) = (self.kernel, &self.tile);
        let part = |(at, (stored, margins)): (usize, (&mut [F], &mut [f64]))| {
            let first = at * PART;
            let range = (first, first + margins.len() / outputs);
            if outputs == 1 {
                let out = (stored, stride);
                let coef = &snapshot.coef[..];
                kernel.stored_and_sums(tile, range, &snapshot.centers, out, (coef, margins));
                return;
            }
            kernel.stored(tile, range, &snapshot.centers, stored, stride);
            let mut row = Vec::new();
            let padded = snapshot.centers.padded_len();
            for (stored, margins) in stored.chunks(stride).zip(margins.chunks_mut(outputs)) {
                row.clear();
                row.extend_from_slice(&stored[..padded]);
                kernel.stored_to_values(&mut row);
                simd::weighted_sums(&row, &snapshot.coef, margins);
            }
        };
        let work = n * snapshot.centers.len() * tile.n_features();
        let stored = &mut self.stored[..n * stride];
        if work < MIN_PARALLEL_BLOCK {
            let stored = stored.chunks_mut(PART * stride);
            stored.zip(self.margins.chunks_mut(PART * outputs)).enumerate().for_each(part);
        } else {
            let stored = stored.par_chunks_mut(PART * stride);
            stored.zip(self.margins.par_chunks_mut(PART * outputs)).enumerate().for_each(part);
        }
    }

    /// Takes over what changed in the model between the snapshot that this block was filled
    /// against and now, and brings the snapshot up to date.
    pub(super) fn catch_up(
        &mut self,
        model: &Expansion<F>,
        touched: &mut Touched,
        snapshot: &mut Snapshot<F>,
    ) -> Result<()> {
        let slots = std::mem::take(&mut touched.slots);
        if 2 * slots.len() > model.len() {
            snapshot.sync(model, &slots)?;
            self.compute(snapshot);
        } else if !slots.is_empty() {
            self.apply(model, &slots, snapshot)?;
            snapshot.sync(model, &slots)?;
        }
        touched.slots = slots;
        touched.clear();
        Ok(())
    }

    fn apply(
        &mut self,
        model: &Expansion<F>,
        slots: &[usize],
        snapshot: &mut Snapshot<F>,
    ) -> Result<()> {
        let alive: Vec<usize> = slots.iter().copied().filter(|&s| s < model.len()).collect();
        let before = snapshot.centers.len();
        let gone: Vec<usize> = slots.iter().copied().filter(|&s| s < before).collect();
        snapshot.fresh.resize_stale(alive.len())?;
        for (at, &slot) in alive.iter().enumerate() {
            snapshot.fresh.copy_slot(at, model.centers(), slot);
        }
        let gather = |slots: &[usize], coef: &[f64], stride: usize| {
            let padded = slots.len().next_multiple_of(Packed::<F>::line());
            let mut out = vec![0.0; padded * self.outputs];
            for (c, row) in out.chunks_exact_mut(padded.max(1)).enumerate() {
                row.iter_mut().zip(slots).for_each(|(o, &s)| *o = coef[c * stride + s]);
            }
            (out, padded)
        };
        let (new_coef, new_len) = gather(&alive, model.padded_coef(), model.stride());
        let (old_coef, old_len) = gather(&gone, &snapshot.coef, snapshot.stride);
        // What the changed slots gave before, and what they give now.
        let n = self.ids.len();
        self.before.clear();
        for stored in self.stored.chunks(self.stride).take(n) {
            self.before.extend(gone.iter().map(|&slot| stored[slot]));
            self.before.resize(self.before.len().next_multiple_of(old_len.max(1)), F::zero());
        }
        self.kernel.stored_to_values(&mut self.before);
        self.after.resize(n * new_len, F::zero());
        self.kernel.stored(&self.tile, (0, n), &snapshot.fresh, &mut self.after, new_len);
        for (i, stored) in self.stored.chunks_mut(self.stride).take(n).enumerate() {
            let row = &self.after[i * new_len..][..new_len];
            alive.iter().zip(row).for_each(|(&slot, &value)| stored[slot] = value);
        }
        self.kernel.stored_to_values(&mut self.after);
        let mut sums = vec![0.0; self.outputs];
        for (i, margins) in self.margins.chunks_mut(self.outputs).enumerate() {
            simd::weighted_sums(&self.before[i * old_len..][..old_len], &old_coef, &mut sums);
            margins.iter_mut().zip(&sums).for_each(|(f, s)| *f -= s);
            simd::weighted_sums(&self.after[i * new_len..][..new_len], &new_coef, &mut sums);
            margins.iter_mut().zip(&sums).for_each(|(f, s)| *f += s);
        }
        Ok(())
    }

    /// The sample whose turn it is has become a term.
    pub(super) fn added(&mut self, slot: usize) -> Result<()> {
        let n = self.ids.len();
        if !self.points_ready {
            self.points.set_points(&self.tile)?;
            self.points_ready = true;
        }
        self.cross.resize(self.points.padded_len(), F::zero());
        let range = (self.turn, self.turn + 1);
        let padded = self.cross.len();
        self.kernel.stored(&self.tile, range, &self.points, &mut self.cross, padded);
        for i in self.turn + 1..n {
            self.stored[i * self.stride + slot] = self.cross[i];
        }
        self.touched.add(slot);
        Ok(())
    }
}

impl<F: Real> Event for Block<F> {
    fn coef_changed(&mut self, slot: usize, delta: &[f64]) {
        self.touched.add(slot);
        let first = self.turn + 1;
        let n = self.ids.len();
        self.column.clear();
        self.column.extend((first..n).map(|i| self.stored[i * self.stride + slot]));
        self.kernel.stored_to_values(&mut self.column);
        let margins = self.margins[(first * self.outputs).min(n * self.outputs)..]
            .chunks_exact_mut(self.outputs);
        for (margins, &k) in margins.zip(&self.column) {
            for (f, delta) in margins.iter_mut().zip(delta) {
                *f += delta * k.to_f64();
            }
        }
    }

    fn moved(&mut self, into: usize, parts: &[(usize, f64)], gap: f64) {
        self.touched.add(into);
        for i in self.turn + 1..self.ids.len() {
            let row = &mut self.stored[i * self.stride..][..self.stride];
            let distance: f64 = parts.iter().map(|&(slot, w)| w * row[slot].to_f64()).sum();
            row[into] = F::from_f64((distance - gap).max(0.0));
        }
    }

    fn removed(&mut self, slot: usize, last: usize) {
        self.touched.add(slot);
        self.touched.add(last);
        for i in self.turn + 1..self.ids.len() {
            self.stored[i * self.stride + slot] = self.stored[i * self.stride + last];
        }
    }
}
