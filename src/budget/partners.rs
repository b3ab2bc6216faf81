//! The search for merge partners: how far every term is from one of them, and what a merge with
//! each of those that can win would lose.
//!
//! *Method*: 1. The distances, one kernel row unless they are known, with the sign of one output's
//! coefficients looked at on the way (another sign is infinitely far). 2. The nearest partner sets a bar; what is farther
//! than `distance_limit` of it cannot win. 3. What is left is judged.
//!
//! *Cost*: O(B d), and O(B) for the search. Both are cut into parts of fixed size, shared among
//! threads from [`MIN_PARALLEL_ROW`] and [`MIN_PARALLEL_SEARCH`] on: every value is the same
//! wherever it is computed, and parts are gathered in their order, so threads change no bit.
//!
//! *Where it begins to pay* (`cargo bench --bench engine -- partners`, least times of events that
//! take turns, two threads, a quiet machine of four cores). Below B d = 2¹⁷ (20 µs a row) sharing
//! costs and gains nothing that can be measured; from B d = 2¹⁸ on (60 µs: B = 5,200 at d = 50, 330
//! at d = 800) an event takes 0.53 to 0.74 of its time, but at d = 10, where memory is what it waits
//! for. The search by itself, which d is nothing to, is shared from 16,000 terms on. In a pass on
//! two threads the other one makes the rows of the samples to come, and shares only when it waits.

use std::ops::Range;

use crate::float::Real;
use crate::model::Expansion;
use crate::parallel::each_if;
use crate::simd::{self, Packed, Tile};

/// Multiply-adds (terms x features) from which on the distances of one term are shared among
/// threads (`cargo bench --bench engine`, group `partners`).
const MIN_PARALLEL_ROW: usize = 1 << 18;

/// Terms from which on partners are sought and judged by several threads (the same bench).
const MIN_PARALLEL_SEARCH: usize = 1 << 14;

/// Multiply-adds of a part of a row.
const ROW_PART: usize = 1 << 16;

/// Terms of a part of a search.
const SEARCH_PART: usize = 1 << 12;

/// How partners are judged: fills `values` of a part for its `slots` and `distances`.
pub(super) type Judge<'a, F> = dyn Fn(&mut Part<F>) + Sync + 'a;

/// From which sizes on threads share the two parts of the work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shared {
    /// Multiply-adds of a row.
    pub(super) row: usize,
    /// Terms of a search.
    pub(super) search: usize,
}

impl Default for Shared {
    fn default() -> Self {
        Self { row: MIN_PARALLEL_ROW, search: MIN_PARALLEL_SEARCH }
    }
}

/// Buffers of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Partners<F: Real> {
    pub(super) shared: Shared,
    tile: Tile<F>,
    /// Distances of all terms, padded; infinity for the term itself.
    row: Vec<F>,
    /// The term whose distances somebody has put into the row.
    known: Option<usize>,
    /// Those of the terms that may be partners; infinity for the others.
    near: Vec<F>,
    least: Vec<F>,
    parts: Vec<Part<F>>,
}

/// These slots, in increasing order, as a range, where none is left out.
pub(super) fn run(slots: &[usize]) -> Option<Range<usize>> {
    let (&first, &last) = (slots.first()?, slots.last()?);
    (last + 1 - first == slots.len()).then_some(first..last + 1)
}

/// What a part of the slots holds.
#[derive(Clone, Debug, Default)]
pub(super) struct Part<F> {
    /// Slots within the limit, in order.
    pub(super) slots: Vec<usize>,
    /// Their distances.
    pub(super) distances: Vec<F>,
    /// What a merge with them loses.
    pub(super) values: Vec<F>,
    /// Room for who judges.
    pub(super) extra: Vec<F>,
    pub(super) products: Vec<f64>,
}

impl<F: Real> Partners<F> {
    /// The distances of term `a` to all: the next search needs not measure them.
    pub(super) fn know(&mut self, a: usize, distances: &[F]) {
        self.row.clear();
        self.row.extend_from_slice(distances);
        self.known = Some(a);
    }

    /// Whether those of term `a` to this many are; nobody is told again.
    pub(super) fn knew(&mut self, a: usize, terms: usize) -> bool {
        self.known.take() == Some(a) && self.row.len() == terms
    }

    /// Measures the distances of term `a`, unless they are `known`. Returns the least of a partner;
    /// infinity when there is none.
    pub(super) fn measure(&mut self, expansion: &Expansion<F>, a: usize, known: bool) -> F {
        let (centers, kernel) = (expansion.centers(), expansion.kernel());
        let (d, len, padded) = (centers.n_features(), expansion.len(), centers.padded_len());
        if !known {
            if self.tile.n_features() != d {
                self.tile.reset(d);
            }
            kernel.load_center(centers, a, &mut self.tile);
        }
        let part = (ROW_PART / d.max(1)).max(1).next_multiple_of(4 * Packed::<F>::line());
        self.row.resize(padded, F::zero());
        self.near.resize(len, F::zero());
        self.least.clear();
        self.least.resize(padded.div_ceil(part), F::infinity());
        let signs = (expansion.outputs() == 1).then(|| expansion.coef_of(0));
        let tile = &self.tile;
        let measure = |at: usize, ((row, near), least): ((&mut [F], &mut [F]), &mut F)| {
            let first = at * part;
            if !known {
                let (slots, stride) = ((first, first + row.len()), row.len());
                kernel.stored_part(tile, (0, 1), (centers, slots), (row, stride));
            }
            if let Some(own) = a.checked_sub(first).and_then(|own| row.get_mut(own)) {
                *own = F::infinity();
            }
            *least = match signs {
                Some(coef) => {
                    let coefs = &coef[first..][..near.len()];
                    simd::same_sign_distances(coefs, coef[a], row, near)
                }
                None => {
                    near.copy_from_slice(&row[..near.len()]);
                    simd::least(near)
                }
            };
        };
        let parts = self.row.chunks_mut(part).zip(self.near.chunks_mut(part));
        let work = if known { 0 } else { padded * d };
        each_if(work >= self.shared.row, parts.zip(&mut self.least), &measure);
        simd::least(&self.least)
    }

    /// The distance to a term, whatever the signs.
    pub(super) fn distance(&self, slot: usize) -> f64 {
        self.row[slot].to_f64()
    }

    /// The first partner at most this far.
    pub(super) fn first_within(&self, distance: F) -> usize {
        simd::first_at_most(&self.near, distance)
    }

    /// The nearest of all terms, whatever the signs: the first of equals.
    pub(super) fn nearest(&self) -> usize {
        let row = &self.row[..self.near.len()];
        simd::first_at_most(row, simd::least(row))
    }

    /// Judges the partners at most `limit` away.
    pub(super) fn judge(&mut self, limit: F, judge: &Judge<'_, F>) {
        let near = &self.near;
        self.parts.resize_with(near.len().div_ceil(SEARCH_PART), Part::default);
        let judge = |at: usize, (near, part): (&[F], &mut Part<F>)| {
            part.slots.clear();
            simd::indices_at_most(near, limit, &mut part.slots);
            part.distances.clear();
            match run(&part.slots) {
                Some(run) => part.distances.extend_from_slice(&near[run]),
                None => part.distances.extend(part.slots.iter().map(|&slot| near[slot])),
            }
            part.slots.iter_mut().for_each(|slot| *slot += at * SEARCH_PART);
            part.values.clear();
            judge(part);
        };
        let parts = near.chunks(SEARCH_PART).zip(&mut self.parts);
        each_if(near.len() >= self.shared.search, parts, &judge);
    }

    /// The partner that loses least, the first of equals.
    pub(super) fn best(&self) -> Option<usize> {
        self.best_few(1).first().copied()
    }

    /// The `count` partners that lose least, in this order, the first of equals first.
    pub(super) fn best_few(&self, count: usize) -> Vec<usize> {
        self.ranked(count).into_iter().map(|(_, slot)| slot).collect()
    }

    /// The same with what they lose.
    pub(super) fn ranked(&self, count: usize) -> Vec<(F, usize)> {
        let mut best: Vec<(F, usize)> = Vec::with_capacity(count + 1);
        for part in &self.parts {
            if count == 1 && !part.values.is_empty() {
                let least = simd::least(&part.values);
                if best.first().is_none_or(|(value, _)| least < *value) {
                    let at = simd::first_at_most(&part.values, least);
                    best.clear();
                    best.push((least, part.slots[at]));
                }
                continue;
            }
            // What is not below this is not among them.
            let bar = |best: &[(F, usize)]| match best.last() {
                Some((last, _)) if best.len() == count => *last,
                _ => F::infinity(),
            };
            let mut below = bar(&best);
            for (&value, &slot) in part.values.iter().zip(&part.slots) {
                if value < below {
                    let at = best.partition_point(|(other, _)| *other <= value);
                    best.insert(at, (value, slot));
                    best.truncate(count);
                    below = bar(&best);
                }
            }
        }
        best.retain(|(value, _)| value.is_finite());
        best
    }
}

impl<F: Real> Part<F> {
    /// Pads the distances to whole lines, and says to how many.
    pub(super) fn pad(&mut self) -> usize {
        let padded = self.slots.len().next_multiple_of(Packed::<F>::line());
        self.distances.resize(padded, F::zero());
        padded
    }
}
