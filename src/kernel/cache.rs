//! Kernel rows in bounded memory: the least recently used make room, missing ones are computed as
//! one block in parallel.
//!
//! A value has the same bits however and whenever it is computed, so neither the bound nor the
//! number of threads changes a result.

use std::sync::Arc;

use rayon::prelude::*;

use super::buffers::{Buffers, reserve};
use super::columns::{COLUMN_CHUNK, Columns};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::simd;

const NONE: u32 = u32::MAX;

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
    buffers: Option<Arc<Buffers<F>>>,
}

impl<'a, F: Real> RowCache<'a, F> {
    /// An empty cache of at most `bytes` (or one of all rows, if that is less). The memory is
    /// reserved here and used as it fills.
    ///
    /// # Errors
    /// `OutOfMemory` when the bound is below two rows, or the system refuses.
    pub fn new(columns: Columns<'a, F>, bytes: usize) -> Result<Self> {
        Self::build(columns, bytes, None)
    }

    /// As [`RowCache::new`], in the memory that an earlier cache left, which is left again.
    ///
    /// # Errors
    /// As [`RowCache::new`].
    pub fn reusing(
        columns: Columns<'a, F>,
        bytes: usize,
        buffers: &Arc<Buffers<F>>,
    ) -> Result<Self> {
        Self::build(columns, bytes, Some(buffers.clone()))
    }

    fn build(
        columns: Columns<'a, F>,
        bytes: usize,
        buffers: Option<Arc<Buffers<F>>>,
    ) -> Result<Self> {
        let n = columns.len();
        let capacity = Self::capacity_for(n, bytes)?;
        let left = buffers.as_ref().map_or_else(Vec::new, |buffers| buffers.take());
        let len = capacity.saturating_mul(COLUMN_CHUNK);
        let chunks = reserve(left, (n.div_ceil(COLUMN_CHUNK), len, bytes / size_of::<F>()))?;
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
            buffers,
        })
    }

    fn row_bytes(n: usize) -> usize {
        n.next_multiple_of(COLUMN_CHUNK).saturating_mul(size_of::<F>())
    }

    /// How many rows of `n` columns fit into `bytes`.
    ///
    /// # Errors
    /// `OutOfMemory` when not even two do.
    pub fn capacity_for(n: usize, bytes: usize) -> Result<usize> {
        let row_bytes = Self::row_bytes(n);
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

    /// Bytes in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.capacity() * size_of::<F>()).sum()
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
        let points = self.columns.points(missing)?;
        let fresh = missing.len().min(self.capacity - self.used);
        let mut free: Vec<u32> = (self.used..self.used + fresh).map(|slot| slot as u32).collect();
        self.used += fresh;
        self.owner.resize(self.used, NONE);
        self.stamp.resize(self.used, self.clock);
        if missing.len() > fresh {
            let old = |&slot: &u32| self.stamp[slot as usize] < self.clock;
            let mut oldest: Vec<u32> = (0..self.used as u32).filter(old).collect();
            oldest.sort_unstable_by_key(|&slot| (self.stamp[slot as usize], slot));
            free.extend(&oldest[..missing.len() - fresh]);
        }
        for (&slot, &sample) in free.iter().zip(missing) {
            let owner = &mut self.owner[slot as usize];
            if *owner != NONE {
                self.slot_of[*owner as usize] = NONE;
            }
            *owner = sample as u32;
            self.slot_of[sample] = slot;
            self.stamp[slot as usize] = self.clock;
        }
        self.computed += missing.len() as u64;
        let (columns, used) = (&self.columns, self.used);
        self.chunks.par_iter_mut().enumerate().for_each(|(chunk, values)| {
            // Slots are written before they are read.
            if values.len() < used * COLUMN_CHUNK {
                values.resize(used * COLUMN_CHUNK, F::zero());
            }
            let mut from = 0;
            while from < free.len() {
                // Slots one after another are filled where they are.
                let follows = |i: &usize| free[*i] as usize == free[from] as usize + i - from;
                let to = (from..free.len()).take_while(follows).last().map_or(from, |i| i) + 1;
                let base = free[from] as usize * COLUMN_CHUNK;
                let rows = &mut values[base..base + (to - from) * COLUMN_CHUNK];
                if !columns.rows(&points, chunk, (from, to), rows) {
                    break;
                }
                from = to;
            }
            if from == free.len() {
                return;
            }
            columns.block(&points, chunk, |point, row| {
                let at = free[point] as usize * COLUMN_CHUNK;
                values[at..at + row.len()].copy_from_slice(row);
            });
        });
        Ok(())
    }

    /// One value of a present row.
    #[inline]
    #[must_use]
    pub fn value(&self, slot: u32, column: usize) -> F {
        self.chunks[column / COLUMN_CHUNK][slot as usize * COLUMN_CHUNK + column % COLUMN_CHUNK]
    }

    /// The values of a present row at `columns`; quick where they rise.
    pub fn pick(&self, slot: u32, columns: &[usize], to: &mut [F]) {
        let base = slot as usize * COLUMN_CHUNK;
        let mut at = 0;
        while at < columns.len() {
            let chunk = columns[at] / COLUMN_CHUNK;
            let first = chunk * COLUMN_CHUNK;
            let values = &self.chunks[chunk][base..base + COLUMN_CHUNK];
            for (to, &column) in to[at..].iter_mut().zip(&columns[at..]) {
                let Some(&value) = values.get(column.wrapping_sub(first)) else { break };
                *to = value;
                at += 1;
            }
        }
    }

    /// `sums += Σ coef · row` over present rows, given by slot; `sums` has a value a column.
    pub fn accumulate(&self, terms: &[(u32, f64)], sums: &mut [f64]) {
        sums.par_chunks_mut(COLUMN_CHUNK).zip(&self.chunks).for_each(|(sums, values)| {
            let row = |&(slot, coef): &(u32, f64)| {
                (&values[slot as usize * COLUMN_CHUNK..][..sums.len()], coef)
            };
            let rows: Vec<(&[F], f64)> = terms.iter().map(row).collect();
            simd::add_rows(&rows, sums);
        });
    }
}

impl<F: Real> Drop for RowCache<'_, F> {
    fn drop(&mut self) {
        if let Some(buffers) = &self.buffers {
            buffers.give(std::mem::take(&mut self.chunks));
        }
    }
}

#[cfg(test)]
mod tests;
