//! Kernel rows in bounded memory: the least recently used make room, missing ones are computed as
//! one block in parallel.
//!
//! A value has the same bits however and whenever it is computed, so neither the bound nor the
//! number of threads changes a result.

use std::sync::Arc;

use super::buffers::{Buffers, reserve};
use super::columns::Columns;
use super::halves::Halves;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::parallel::each;
use crate::simd;

const NONE: u32 = u32::MAX;

/// Rows of a working set that a thread computes at a time.
const POINTS: usize = 16;

/// Rows of the kernel matrix of some [`Columns`], up to a number of bytes.
///
/// *Cost* of a row that is missing: O(n d).
#[derive(Clone, Debug)]
pub struct RowCache<'a, F: Real> {
    columns: Columns<'a, F>,
    capacity: usize,
    used: usize,
    /// A chunk of columns holds its part of every slot, so that threads share nothing.
    chunks: Vec<Vec<F>>,
    slot_of: Vec<u32>,
    owner: Vec<u32>,
    stamp: Vec<u64>,
    clock: u64,
    computed: u64,
    buffers: Arc<Buffers<F>>,
    /// No row is kept ([`Columns::sums_by_weights`]); a slot is a column.
    by_weights: bool,
}

impl<'a, F: Real> RowCache<'a, F> {
    /// An empty cache of at most `bytes` (or one of all rows, if that is less), in the memory that
    /// an earlier cache left, which is left again. The memory is reserved here and used as it
    /// fills.
    ///
    /// # Errors
    /// `OutOfMemory` when the bound is below two rows, or the system refuses.
    pub fn new(columns: Columns<'a, F>, bytes: usize, buffers: &Arc<Buffers<F>>) -> Result<Self> {
        let (n, layout) = (columns.len(), columns.layout());
        let capacity = Self::capacity_for(&columns, bytes)?;
        let by_weights = columns.sums_by_weights();
        let len = if by_weights { 0 } else { capacity.saturating_mul(layout.width()) };
        let chunks = reserve(buffers.take(), (layout.chunks(), len, bytes / size_of::<F>()))?;
        let slot_of = try_vec("the kernel cache", n, NONE)?;
        Ok(Self {
            columns,
            capacity,
            used: 0,
            chunks,
            slot_of,
            owner: Vec::new(),
            stamp: Vec::new(),
            clock: 0,
            computed: 0,
            buffers: buffers.clone(),
            by_weights,
        })
    }

    /// Bytes of all rows of these columns.
    pub(super) fn all_bytes(columns: &Columns<'_, F>) -> usize {
        Self::row_bytes(columns).saturating_mul(columns.len())
    }

    fn row_bytes(columns: &Columns<'_, F>) -> usize {
        let layout = columns.layout();
        (layout.chunks() * layout.width()).saturating_mul(size_of::<F>())
    }

    /// How many rows of these columns fit into `bytes`.
    ///
    /// # Errors
    /// `OutOfMemory` when not even two do.
    pub fn capacity_for(columns: &Columns<'_, F>, bytes: usize) -> Result<usize> {
        let (n, row_bytes) = (columns.len(), Self::row_bytes(columns));
        if columns.sums_by_weights() {
            return Ok(n);
        }
        let capacity = (bytes / row_bytes.max(1)).min(n).min(NONE as usize - 1);
        if capacity < n.min(2) {
            let what = "two kernel rows, more than cache_size allows:";
            return Err(Error::OutOfMemory { what, bytes: row_bytes.saturating_mul(2) });
        }
        Ok(capacity)
    }

    /// The columns.
    #[must_use]
    pub fn columns(&self) -> &Columns<'a, F> {
        &self.columns
    }

    /// The most rows that it can hold.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Rows computed so far.
    #[must_use]
    pub fn computed(&self) -> u64 {
        self.computed
    }

    /// Makes the rows of these samples present, different ones and at most `capacity`; `slots`
    /// gets their slots, which stay valid until the next call.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn request(&mut self, samples: &[usize], slots: &mut Vec<u32>) -> Result<()> {
        assert!(samples.len() <= self.capacity, "rows that fit the cache");
        if self.by_weights {
            slots.clear();
            slots.extend(samples.iter().map(|&sample| sample as u32));
            return Ok(());
        }
        self.clock += 1;
        let mut missing = Vec::new();
        for &sample in samples {
            match self.slot_of[sample] {
                NONE => missing.push(sample),
                slot => self.stamp[slot as usize] = self.clock,
            }
        }
        self.fill(&missing)?;
        slots.clear();
        slots.extend(samples.iter().map(|&sample| self.slot_of[sample]));
        Ok(())
    }

    fn fill(&mut self, missing: &[usize]) -> Result<()> {
        if missing.is_empty() {
            return Ok(());
        }
        let halves = self.columns.halves(missing);
        let order = &halves.order;
        let points = self.columns.points(order)?;
        let free = self.make_room(order);
        self.computed += order.len() as u64;
        let (columns, used, layout) = (&self.columns, self.used, self.columns.layout());
        let width = layout.width();
        each(self.chunks.iter_mut(), &|chunk, values: &mut Vec<F>| {
            // Slots are written before they are read.
            if values.len() < used * width {
                values.resize(used * width, F::zero());
            }
            let (run, range) = (layout.run(chunk), layout.range(chunk));
            let (mut from, end) = halves.computed(run);
            let begin = if run == 0 { 0 } else { layout.split() };
            for at in (0..from).chain(end..order.len()) {
                let slot = &mut values[free[at] as usize * width..][..range.len()];
                if let Some(own) = columns.own(order[at]).and_then(|(own, at)| own.row(at)) {
                    slot.copy_from_slice(&own[range.start - begin..range.end - begin]);
                }
            }
            while from < end {
                // Slots one after another are filled where they are.
                let follows = |i: &usize| free[*i] as usize == free[from] as usize + i - from;
                let to = (from..end).take_while(follows).last().map_or(from, |i| i) + 1;
                let base = free[from] as usize * width;
                let rows = &mut values[base..base + (to - from) * width];
                if !columns.rows(&points, chunk, (from, to), rows) {
                    break;
                }
                from = to;
            }
            if from == end {
                return;
            }
            // Only where nothing is known beforehand.
            columns.block(&points, chunk, |point, row| {
                let at = free[point] as usize * width;
                values[at..at + row.len()].copy_from_slice(row);
            });
        });
        self.keep_own(&halves, &free);
        Ok(())
    }

    /// Gives each of these samples a slot.
    fn make_room(&mut self, samples: &[usize]) -> Vec<u32> {
        let fresh = samples.len().min(self.capacity - self.used);
        let mut free: Vec<u32> = (self.used..self.used + fresh).map(|slot| slot as u32).collect();
        self.used += fresh;
        self.owner.resize(self.used, NONE);
        self.stamp.resize(self.used, self.clock);
        if samples.len() > fresh {
            let old = |&slot: &u32| self.stamp[slot as usize] < self.clock;
            let mut oldest: Vec<u32> = (0..self.used as u32).filter(old).collect();
            oldest.sort_unstable_by_key(|&slot| (self.stamp[slot as usize], slot));
            free.extend(&oldest[..samples.len() - fresh]);
        }
        for (&slot, &sample) in free.iter().zip(samples) {
            let owner = &mut self.owner[slot as usize];
            if *owner != NONE {
                self.slot_of[*owner as usize] = NONE;
            }
            *owner = sample as u32;
            self.slot_of[sample] = slot;
            self.stamp[slot as usize] = self.clock;
        }
        free
    }

    /// Leaves what has been computed of the samples' own classes to the machines of other pairs.
    fn keep_own(&self, halves: &Halves, free: &[u32]) {
        let layout = self.columns.layout();
        let mut parts: Vec<&[F]> = Vec::new();
        for at in halves.unknown.0..halves.unknown.1 {
            let run = usize::from(halves.order[at] >= layout.split());
            parts.clear();
            for chunk in (0..layout.chunks()).filter(|&chunk| layout.run(chunk) == run) {
                let base = free[at] as usize * layout.width();
                parts.push(&self.chunks[chunk][base..base + layout.range(chunk).len()]);
            }
            if let Some((own, at)) = self.columns.own(halves.order[at]) {
                own.keep(at, &parts);
            }
        }
    }

    /// The values of present rows at some columns, which are best in rising order: a row a slot.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn among(&self, slots: &[u32], columns: &[usize]) -> Result<Vec<F>> {
        let len = slots.len().saturating_mul(columns.len());
        let mut values = try_vec("the working set", len, F::zero())?;
        let width = columns.len().max(1);
        if self.by_weights || self.columns.is_cheap() {
            let sample = |&slot: &u32| match self.by_weights {
                true => slot as usize,
                false => self.owner[slot as usize] as usize,
            };
            let samples: Vec<usize> = slots.iter().map(sample).collect();
            let part = self.columns.part(columns)?;
            let (points, layout) = (self.columns.points(&samples)?, part.layout());
            each(values.chunks_mut(POINTS * width), &|task, to: &mut [F]| {
                let (first, count) = (task * POINTS, to.len() / width);
                let mut rows = vec![F::zero(); count * layout.width()];
                for chunk in 0..layout.chunks() {
                    part.rows(&points, chunk, (first, first + count), &mut rows);
                    let range = layout.range(chunk);
                    let rows = rows.chunks_exact(layout.width());
                    for (to, row) in to.chunks_exact_mut(width).zip(rows) {
                        to[range.clone()].copy_from_slice(&row[..range.len()]);
                    }
                }
            });
            return Ok(values);
        }
        let places = self.places(columns);
        each(values.chunks_mut(width), &|at, row: &mut [F]| self.pick(slots[at], &places, row));
        Ok(values)
    }

    /// Where to pick the values of many rows at these columns.
    fn places(&self, columns: &[usize]) -> Places {
        let layout = self.columns.layout();
        let mut places = Places { chunks: Vec::new(), at: Vec::with_capacity(columns.len()) };
        for &column in columns {
            let (chunk, at) = layout.place(column);
            if places.chunks.last().is_none_or(|&(last, _)| last != chunk) {
                places.chunks.push((chunk, places.at.len()));
            }
            places.at.push(at);
        }
        places
    }

    /// The values of a present row at some columns.
    fn pick(&self, slot: u32, places: &Places, to: &mut [F]) {
        let width = self.columns.layout().width();
        let ends = places.chunks[1.min(places.chunks.len())..].iter().map(|&(_, first)| first);
        for (&(chunk, first), end) in places.chunks.iter().zip(ends.chain([places.at.len()])) {
            let values = &self.chunks[chunk][slot as usize * width..][..width];
            for (to, &at) in to[first..end].iter_mut().zip(&places.at[first..end]) {
                *to = values[at];
            }
        }
    }

    /// `sums += Σ coef · row` over present rows, given by slot; `sums` has a value a column.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn accumulate(&self, terms: &[(u32, f64)], sums: &mut [f64]) -> Result<()> {
        if self.by_weights {
            return self.columns.add_by_weights(terms, sums);
        }
        let layout = self.columns.layout();
        let width = layout.width();
        let (first, second) = sums.split_at_mut(layout.split());
        let sums = first.chunks_mut(width).chain(second.chunks_mut(width));
        each(sums, &|chunk, sums: &mut [f64]| {
            let row = |slot: u32| &self.chunks[chunk][slot as usize * width..][..sums.len()];
            let rows: Vec<(&[F], f64)> = terms.iter().map(|&(s, coef)| (row(s), coef)).collect();
            simd::add_rows(&rows, sums);
        });
        Ok(())
    }
}

/// Where the values of some columns are in every row of a cache.
#[derive(Clone, Debug)]
struct Places {
    /// Chunks, and which of the columns is the first there.
    chunks: Vec<(usize, usize)>,
    /// Place of each column in its chunk.
    at: Vec<usize>,
}

impl<F: Real> Drop for RowCache<'_, F> {
    fn drop(&mut self) {
        self.buffers.give(std::mem::take(&mut self.chunks));
    }
}

#[cfg(test)]
mod tests;
