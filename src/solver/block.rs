//! A block of samples of a pass: what is known of their margins before their turn comes.
//!
//! A pass is sequential, but its margins need not be. The kernel values of the next P samples
//! and their margins are computed at once; then the samples take their steps in order, and every
//! change of the model is applied to the samples still to come: a new term's column from the
//! points of the block, a merged term's column by Stewart's theorem, without touching the data.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use crate::budget::Event;
use crate::data::Rows;
use crate::error::{Result, try_copy};
use crate::float::Real;
use crate::kernel::{AnyKernel, SampleRows};
use crate::model::Expansion;
use crate::parallel::{MIN_PARALLEL_BLOCK, each_if};
use crate::simd::Packed;

/// Points of one unit of parallel work inside a block ...
const PART: usize = 8;
/// ... unless the terms are so many bytes, which come from afar for every unit: then a unit is all
/// points and some of the terms.
const FAR: usize = 1 << 19;
/// Bytes of the terms of such a unit, about, of which one core's own cache holds several: a thread that
/// becomes free takes what is left of another's. And what their lines are a multiple of.
const STRIP: usize = 3 << 17;
const STRIP_LINES: usize = 8;

/// The model that a block was filled against, and which slots have changed since.
#[derive(Clone, Debug)]
pub(super) struct Snapshot<F: Real> {
    origin: Vec<F>,
    pub(super) centers: Packed<F>,
    pub(super) coef: Vec<f64>,
    pub(super) stride: usize,
    pub(super) outputs: usize,
    /// What has changed since in the centres.
    pending: Pending<F>,
}

/// Centres that are to be written into a snapshot: by the thread that reads it next, so that its lines
/// stay in that core's caches.
#[derive(Clone, Debug, Default)]
struct Pending<F> {
    slots: Vec<usize>,
    /// One after another.
    rows: Vec<F>,
    norms: Vec<[F; 2]>,
}

impl<F: Real> Snapshot<F> {
    pub(super) fn new(model: &Expansion<F>) -> Result<Self> {
        Ok(Self {
            origin: try_copy("a copy of the model", model.origin())?,
            centers: model.centers().try_clone()?,
            coef: try_copy("a copy of the model", model.padded_coef())?,
            stride: model.stride(),
            outputs: model.outputs(),
            pending: Pending::default(),
        })
    }

    /// Writes what has changed in the centres: to be done before they are read.
    fn write_pending(&mut self) {
        let Pending { slots, rows, norms } = &mut self.pending;
        let rows = rows.chunks_exact(self.centers.n_features().max(1));
        for ((&slot, row), &norms) in slots.iter().zip(rows).zip(norms.iter()) {
            self.centers.set_known(slot, row, norms);
        }
        slots.clear();
        norms.clear();
    }

    /// Notes what the model is now in the slots that have changed.
    fn sync(&mut self, model: &Expansion<F>, slots: &[usize]) -> Result<()> {
        self.centers.resize_stale(model.len())?;
        if self.stride != model.stride() {
            self.stride = model.stride();
            self.coef = model.padded_coef().to_vec();
        }
        self.write_pending();
        let Pending { slots: changed, rows, norms } = &mut self.pending;
        let d = self.centers.n_features();
        rows.resize(slots.len() * d, F::zero());
        for &slot in slots {
            if slot < model.len() {
                model.center(slot, &mut rows[changed.len() * d..][..d]);
                norms.push(model.centers().norms(slot));
                changed.push(slot);
            }
            for c in 0..self.outputs {
                let at = c * self.stride + slot;
                self.coef[at] = model.padded_coef()[at];
            }
        }
        Ok(())
    }
}

/// The snapshot with nothing pending.
pub(super) fn up_to_date<F: Real>(
    snapshot: &RwLock<Snapshot<F>>,
) -> RwLockReadGuard<'_, Snapshot<F>> {
    snapshot.write().unwrap_or_else(PoisonError::into_inner).write_pending();
    snapshot.read().unwrap_or_else(PoisonError::into_inner)
}

/// Samples `ids` with their stored kernel values against the snapshot and their margins.
#[derive(Clone, Debug)]
pub(super) struct Block<F: Real> {
    /// Samples at most.
    most: usize,
    pub(super) ids: Vec<usize>,
    /// The sample whose turn it is; those after it follow the model's changes.
    pub(super) turn: usize,
    /// The samples and what [`AnyKernel::stored`] gives for them.
    pub(super) samples: SampleRows<F>,
    /// `Σ_j β_jc k(s_j, x)`, a row of outputs a sample.
    pub(super) margins: Vec<f64>,
    kernel: AnyKernel,
    outputs: usize,
    column: Vec<F>,
    strips: Vec<F>,
    delta: Vec<f64>,
    sums: Vec<f64>,
    /// Slots changed while this block took its turns.
    pub(super) touched: Touched,
    /// What changed in the model since this block was filled: the slots that there were, each with a
    /// row of its coefficients, negative, and those that there are now.
    changes: Changes,
    before: Vec<usize>,
    lost: Vec<f64>,
    alive: Vec<usize>,
    fresh: Packed<F>,
}

/// How much of the model changed while a block was filled.
#[derive(Clone, Copy, Debug, Default)]
enum Changes {
    #[default]
    None,
    /// Some terms, which are at hand.
    Some,
    /// So much that the block is computed anew.
    Most,
}

/// A set of slots.
#[derive(Clone, Debug, Default)]
pub(super) struct Touched {
    pub(super) slots: Vec<usize>,
    is_in: Vec<bool>,
}

impl Touched {
    pub(super) fn add(&mut self, slot: usize) {
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
            samples: SampleRows::new(model.kernel(), d, AnyKernel::stored)?,
            margins: Vec::new(),
            kernel: model.kernel(),
            outputs: model.outputs(),
            column: Vec::new(),
            strips: Vec::new(),
            delta: Vec::new(),
            sums: Vec::new(),
            touched: Touched::default(),
            changes: Changes::None,
            before: Vec::new(),
            lost: Vec::new(),
            alive: Vec::new(),
            fresh: Packed::new(d)?,
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
        self.samples.load(rows, ids, &snapshot.origin);
        // Room for every term that this block and the one before it may add.
        self.samples.resize(ids.len(), snapshot.centers.len() + 2 * self.most + 2)?;
        self.compute(snapshot);
        Ok(())
    }

    fn compute(&mut self, snapshot: &Snapshot<F>) {
        let (n, outputs, stride) = (self.ids.len(), self.outputs, self.samples.stride());
        self.margins.clear();
        self.margins.resize(n * outputs, 0.0);
        let (kernel, centers) = (self.kernel, &snapshot.centers);
        let (tile, stored) = self.samples.parts();
        let (padded, line) = (centers.padded_len(), Packed::<F>::line());
        let term_bytes = tile.n_features() * size_of::<F>();
        let far = n > 0 && padded * term_bytes >= FAR;
        let lines = (STRIP / (term_bytes * line).max(1)).next_multiple_of(STRIP_LINES);
        let slots = lines.max(STRIP_LINES) * line;
        let worth = (n * centers.len()).saturating_mul(tile.n_features()) >= MIN_PARALLEL_BLOCK;
        if far {
            self.strips.resize(n * padded, F::zero());
            let strips = self.strips.chunks_mut(n * slots);
            each_if(worth, strips, &|at, strip| {
                let width = strip.len() / n;
                let range = (at * slots, at * slots + width);
                kernel.stored_part(tile, (0, n), (centers, range), (strip, width));
            });
        }
        let strips = self.strips.chunks((n * slots).max(1));
        let part = |at: usize, (stored, margins): (&mut [F], &mut [f64])| {
            let coef = &snapshot.coef[..];
            if far {
                for (first, strip) in (0..).step_by(slots).zip(strips.clone()) {
                    let width = strip.len() / n;
                    let from = strip[at * PART * width..].chunks_exact(width);
                    let rows = stored.chunks_mut(stride).zip(from);
                    rows.for_each(|(to, from)| to[first..][..width].copy_from_slice(from));
                }
                kernel.sums_of_stored((stored, stride, padded), (coef, outputs), margins);
            } else {
                let range = (at * PART, at * PART + margins.len() / outputs);
                kernel.stored_and_sums(tile, range, centers, (stored, stride), (coef, margins));
            }
        };
        let margins = self.margins.chunks_mut(PART * outputs);
        each_if(worth, stored.chunks_mut(PART * stride).zip(margins), &part);
    }

    /// Notes what changed in the model between the snapshot that this block was filled against and
    /// now, and brings the snapshot up to date: the next block may be filled against it. (Others wait
    /// for that alone; the new terms are taken from the model later.)
    pub(super) fn catch_up(
        &mut self,
        model: &Expansion<F>,
        touched: &mut Touched,
        snapshot: &mut Snapshot<F>,
    ) -> Result<()> {
        self.changes = if touched.slots.is_empty() {
            Changes::None
        } else if 2 * touched.slots.len() > model.len() {
            Changes::Most
        } else {
            let slots = touched.slots.iter().copied();
            self.alive.clear();
            self.alive.extend(slots.clone().filter(|&slot| slot < model.len()));
            self.before.clear();
            self.before.extend(slots.filter(|&slot| slot < snapshot.centers.len()));
            self.lost.clear();
            for &slot in &self.before {
                let coef = |c: usize| -snapshot.coef[c * snapshot.stride + slot];
                self.lost.extend((0..self.outputs).map(coef));
            }
            Changes::Some
        };
        snapshot.sync(model, &touched.slots)?;
        touched.clear();
        Ok(())
    }

    /// Takes over the changes noted, before the first turn.
    pub(super) fn settle(
        &mut self,
        model: &Expansion<F>,
        snapshot: &RwLock<Snapshot<F>>,
    ) -> Result<()> {
        match std::mem::take(&mut self.changes) {
            Changes::Most => self.compute(&up_to_date(snapshot)),
            Changes::Some => {
                self.forget_old();
                self.take_new(model)?;
            }
            Changes::None => {}
        }
        Ok(())
    }

    /// Takes what the terms before gave from the margins, by what is stored of them.
    fn forget_old(&mut self) {
        self.column.clear();
        let rows = self.samples.rows().chunks_exact(self.samples.stride());
        self.column.extend(rows.flat_map(|row| self.before.iter().map(|&slot| row[slot])));
        self.kernel.stored_to_values(&mut self.column);
        let lost = std::mem::take(&mut self.lost);
        self.add_columns(0, &lost);
        self.lost = lost;
    }

    /// Adds what the terms that are there now give.
    fn take_new(&mut self, model: &Expansion<F>) -> Result<()> {
        // Terms may have come and gone within one block.
        if self.alive.is_empty() {
            return Ok(());
        }
        self.fresh.set_all(self.alive.len(), |at, row| model.center(self.alive[at], row))?;
        let (n, padded) = (self.ids.len(), self.fresh.padded_len());
        self.delta.clear();
        self.delta.resize(padded * self.outputs, 0.0);
        for (at, &slot) in self.alive.iter().enumerate() {
            for c in 0..self.outputs {
                self.delta[c * padded + at] = model.coef(slot, c);
            }
        }
        let stride = self.samples.stride();
        let (tile, stored) = self.samples.parts();
        self.column.resize(n * padded, F::zero());
        self.sums.resize(n * self.outputs, 0.0);
        let out = (&mut self.column[..], padded);
        let sums = (&self.delta[..], &mut self.sums[..]);
        self.kernel.stored_and_sums(tile, (0, n), &self.fresh, out, sums);
        let rows = stored.chunks_mut(stride).zip(self.column.chunks(padded));
        for (stored, row) in rows {
            self.alive.iter().zip(row).for_each(|(&slot, &value)| stored[slot] = value);
        }
        self.margins.iter_mut().zip(&self.sums).for_each(|(f, change)| *f += change);
        Ok(())
    }

    /// The sample whose turn it is has become a term, with these coefficients.
    pub(super) fn added(&mut self, slot: usize, coef: &[f64]) -> Result<()> {
        self.touched.add(slot);
        self.column.clear();
        self.column.extend_from_slice(self.samples.wrote(self.turn, slot)?);
        self.kernel.stored_to_values(&mut self.column);
        self.add_columns(self.turn + 1, coef);
        Ok(())
    }

    /// What is stored of the sample whose turn it is and the terms; of itself, if it has just become
    /// one, nothing that means something.
    pub(super) fn stored(&self) -> &[F] {
        &self.samples.rows()[self.turn * self.samples.stride()..][..self.samples.stride()]
    }

    /// Adds `column · delta` to the margins of the samples from `first` on: `column` holds a row of
    /// kernel values for each of them, `delta` a row of outputs for each of these.
    fn add_columns(&mut self, first: usize, delta: &[f64]) {
        let width = delta.len() / self.outputs;
        if width == 0 {
            return;
        }
        let first = first.min(self.ids.len()) * self.outputs;
        let margins = self.margins[first..].chunks_exact_mut(self.outputs);
        for (margins, values) in margins.zip(self.column.chunks_exact(width)) {
            for (&k, delta) in values.iter().zip(delta.chunks_exact(self.outputs)) {
                for (f, delta) in margins.iter_mut().zip(delta) {
                    *f += delta * Real::to_f64(k);
                }
            }
        }
    }
}

impl<F: Real> Event for Block<F> {
    fn coef_changed(&mut self, slot: usize, delta: &[f64]) {
        self.touched.add(slot);
        let first = self.turn + 1;
        self.column.clear();
        let rows = self.samples.rows().chunks_exact(self.samples.stride()).skip(first);
        self.column.extend(rows.map(|row| row[slot]));
        self.kernel.stored_to_values(&mut self.column);
        self.add_columns(first, delta);
    }

    fn merged(&mut self, parts: &[(usize, f64)], coef: &[f64], gap: f64, merged: &[f64]) {
        let Some(&(into, _)) = parts.last() else { return };
        self.touched.add(into);
        // One row a point: what the parts gave, and what the merged term gives.
        self.column.clear();
        let stride = self.samples.stride();
        for row in self.samples.parts().1.chunks_exact_mut(stride).skip(self.turn + 1) {
            let mut distance = -gap;
            for &(slot, weight) in parts {
                distance += weight * row[slot].to_f64();
                self.column.push(row[slot]);
            }
            row[into] = F::from_f64(distance.max(0.0));
            self.column.push(row[into]);
        }
        self.kernel.stored_to_values(&mut self.column);
        let delta: Vec<f64> =
            coef.iter().map(|value| -value).chain(merged.iter().copied()).collect();
        self.add_columns(self.turn + 1, &delta);
    }

    fn removed(&mut self, slot: usize, last: usize) {
        self.touched.add(slot);
        self.touched.add(last);
        let stride = self.samples.stride();
        for row in self.samples.parts().1.chunks_exact_mut(stride).skip(self.turn + 1) {
            row[slot] = row[last];
        }
    }
}
