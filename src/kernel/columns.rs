//! Training rows prepared to be compared with any of themselves: the columns of kernel rows.

use std::sync::Arc;

use super::Gram;
use super::halves::{Halves, Own};
use super::inverted::{self, Inverted, Room};
use super::layout::{COLUMN_CHUNK, Layout};
use super::load::{load_any, load_sparse, pack};
use crate::error::Result;
use crate::float::Real;
use crate::parallel::map;
use crate::simd::{Packed, Tile};
use crate::watch::{Step, Watch};

/// CSR rows are packed, with their zeros, only up to this many bytes; else points are.
const PACKED_BYTES: usize = 256 << 20;

/// Features up to which computing values costs less than fetching them one by one.
const CHEAP: usize = 64;

/// Points whose values a thread computes before it passes them on: they stay in its first cache.
const POINTS: usize = 8;

/// Values that are prepared between two looks at the watch.
const VALUES_BETWEEN_LOOKS: usize = 1 << 25;

/// Some of the samples of a [`Gram`], as columns.
#[derive(Clone, Debug)]
pub struct Columns<'a, F: Real> {
    pub(super) gram: Gram<'a>,
    /// The sample behind each column.
    pub(super) index: Vec<usize>,
    pub(super) layout: Layout,
    pub(super) origin: Vec<f64>,
    /// Largest squared norm of all samples, of which these may be a part.
    largest: f64,
    pub(super) prepared: Prepared<F>,
    /// What is known of the rows of either class.
    own: Option<[Arc<Own<F>>; 2]>,
}

/// What the columns are prepared as, a set a chunk.
#[derive(Clone, Debug)]
pub(super) enum Prepared<F: Real> {
    /// Written out.
    Packed(Vec<Arc<Packed<F>>>),
    /// Held by feature: rows of few entries.
    Inverted(Vec<Arc<Inverted<F>>>),
    /// Read as they come; points are packed instead.
    Not,
}

/// Samples whose kernel rows are wanted.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "a caller has one of them at a time, on its stack")]
pub enum Points<F: Real> {
    /// For packed columns, and sparse for those held by feature.
    Tile(Tile<F>),
    /// For columns that are read as they come.
    Packed(Packed<F>),
    /// Rows of a given matrix.
    Given(Vec<usize>),
}

impl<'a, F: Real> Columns<'a, F> {
    /// Prepares the samples `index`.
    ///
    /// *Cost* O(n d) time and, packed, memory.
    ///
    /// # Errors
    /// `OutOfMemory`, and what the watch wants in between.
    pub fn new(gram: Gram<'a>, index: Vec<usize>, watch: &mut Watch<'_>) -> Step<Self> {
        let first = index.first().copied().unwrap_or(0);
        let mut columns = Self::cut(gram, index, (first, COLUMN_CHUNK), watch)?;
        columns.raise(columns.largest);
        Ok(columns)
    }

    /// Whether `n` samples are prepared.
    pub(crate) fn prepares(gram: &Gram<'_>, n: usize) -> bool {
        match gram {
            Gram::Given(_) => false,
            Gram::Kernel(_, rows) => {
                rows.is_dense()
                    || inverted::suits(rows)
                    || n.saturating_mul(rows.n_cols()).saturating_mul(size_of::<F>())
                        <= PACKED_BYTES
            }
        }
    }

    /// One of several parts of some samples, in chunks of `width` and with the origin of the
    /// others: that of the sample `first`. [`Columns::keep`] makes their values alike.
    pub(super) fn cut(
        gram: Gram<'a>,
        index: Vec<usize>,
        (first, width): (usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let layout = Layout::of(index.len(), width);
        let (origin, prepared) = (Vec::new(), Prepared::Not);
        let mut columns = Self { gram, index, layout, origin, largest: 0.0, prepared, own: None };
        let Gram::Kernel(kernel, rows) = gram else { return Ok(columns) };
        if rows.is_dense() && kernel.is_translation_invariant() && first < rows.n_rows() {
            rows.all_of_row(first, |value| {
                columns.origin.push(value);
                true
            });
        }
        let samples = |chunk: usize| &columns.index[layout.range(chunk)];
        if inverted::suits(&rows) {
            let sets = in_waves(layout.chunks(), width, watch, &|chunk| {
                Inverted::new(&rows, samples(chunk), kernel).map(Arc::new)
            })?;
            columns.largest = sets.iter().fold(0.0, |most, set| most.max(set.largest()));
            columns.prepared = Prepared::Inverted(sets);
        } else if Self::prepares(&gram, columns.index.len()) {
            let work = width.saturating_mul(rows.n_cols());
            let sets = in_waves(layout.chunks(), work, watch, &|chunk| {
                pack::<F>(&rows, &columns.origin, samples(chunk)).map(Arc::new)
            })?;
            columns.largest = sets.iter().fold(0.0, |most, set| most.max(set.max_sq_norm()));
            columns.prepared = Prepared::Packed(sets);
        } else {
            for samples in columns.index.chunks(COLUMN_CHUNK) {
                for &sample in samples {
                    let mut norm = 0.0;
                    rows.all_of_row(sample, |value| {
                        norm += value * value;
                        true
                    });
                    columns.largest = columns.largest.max(norm);
                }
                watch.glance()?;
            }
        }
        Ok(columns)
    }

    /// The same way to every value, whichever chunk or part it is computed in.
    fn raise(&mut self, largest: f64) {
        self.largest = largest;
        if let Prepared::Packed(sets) = &mut self.prepared {
            sets.iter_mut().for_each(|set| Arc::make_mut(set).raise_max_sq_norm(largest));
        }
    }

    /// Has these samples count as a part of others, the largest squared norm of which is given,
    /// and their rows be kept.
    pub(super) fn keep(&mut self, largest: f64, own: Arc<Own<F>>) {
        self.raise(largest);
        self.own = Some([own.clone(), own]);
    }

    pub(super) fn largest(&self) -> f64 {
        self.largest
    }

    /// The columns of two classes.
    pub(super) fn join(first: &Self, second: &Self) -> Self {
        let known = first.own.as_ref().zip(second.own.as_ref());
        Self {
            gram: first.gram,
            index: [first.index.as_slice(), &second.index].concat(),
            layout: Layout::join(first.layout, second.layout),
            origin: first.origin.clone(),
            largest: first.largest,
            prepared: match (&first.prepared, &second.prepared) {
                (Prepared::Packed(first), Prepared::Packed(second)) => {
                    Prepared::Packed(first.iter().chain(second).cloned().collect())
                }
                (Prepared::Inverted(first), Prepared::Inverted(second)) => {
                    Prepared::Inverted(first.iter().chain(second).cloned().collect())
                }
                _ => Prepared::Not,
            },
            own: known.map(|(first, second)| [first[0].clone(), second[0].clone()]),
        }
    }

    /// Some of these columns, in this order: their kernel values have the same bits as here.
    ///
    /// *Cost* O(part d).
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn part(&self, columns: &[usize]) -> Result<Self> {
        let layout = Layout::one(columns.len());
        let index = self.samples(columns);
        let chunks = 0..layout.chunks();
        let prepared = match (&self.prepared, self.gram) {
            (Prepared::Packed(_), _) => {
                let gather = |chunk| self.gather(&columns[layout.range(chunk)]).map(Arc::new);
                Prepared::Packed(map(chunks.len(), &gather).into_iter().collect::<Result<_>>()?)
            }
            (Prepared::Inverted(_), Gram::Kernel(kernel, rows)) => {
                let invert =
                    |chunk| Inverted::new(&rows, &index[layout.range(chunk)], kernel).map(Arc::new);
                Prepared::Inverted(map(chunks.len(), &invert).into_iter().collect::<Result<_>>()?)
            }
            (Prepared::Inverted(_) | Prepared::Not, _) => Prepared::Not,
        };
        Ok(Self {
            gram: self.gram,
            layout,
            own: None,
            index,
            origin: self.origin.clone(),
            largest: self.largest,
            prepared,
        })
    }

    /// Some columns as one packed set.
    pub(super) fn gather(&self, columns: &[usize]) -> Result<Packed<F>> {
        let Gram::Kernel(_, rows) = self.gram else { return Packed::new(0) };
        let mut set;
        if let Prepared::Packed(packed) = &self.prepared {
            set = Packed::new(rows.n_cols())?;
            set.resize_stale(columns.len())?;
            for (slot, &c) in columns.iter().enumerate() {
                let (chunk, at) = self.layout.place(c);
                set.copy_slot(slot, &packed[chunk], at);
            }
        } else {
            set = pack(&rows, &self.origin, &self.samples(columns))?;
        }
        set.raise_max_sq_norm(self.largest);
        Ok(set)
    }

    /// The sample behind each column.
    #[must_use]
    pub fn index(&self) -> &[usize] {
        &self.index
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    /// What is to be computed of the rows of these columns.
    pub(super) fn halves(&self, columns: &[usize]) -> Halves {
        match &self.own {
            Some(own) => Halves::new(columns, self.layout.split(), own),
            None => Halves::all(columns),
        }
    }

    /// What is known of the run of columns that a column is part of, and its place there.
    pub(super) fn own(&self, column: usize) -> Option<(&Own<F>, usize)> {
        let own = self.own.as_ref()?;
        Some(match column.checked_sub(self.layout.split()) {
            None => (&own[0], column),
            Some(at) => (&own[1], at),
        })
    }

    /// Number of columns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Numbers that a value is computed from.
    pub(super) fn n_features(&self) -> usize {
        match self.gram {
            Gram::Kernel(_, rows) => rows.n_cols(),
            Gram::Given(_) => 1,
        }
    }

    /// Whether a value is computed sooner than it is found among rows that no fast memory holds.
    pub(super) fn is_cheap(&self) -> bool {
        matches!(self.prepared, Prepared::Packed(_)) && self.n_features() <= CHEAP
    }

    /// Multiply-adds of one kernel row, about.
    #[must_use]
    pub fn row_work(&self) -> usize {
        match &self.prepared {
            Prepared::Inverted(sets) => sets.iter().map(|set| set.work()).sum(),
            Prepared::Packed(_) | Prepared::Not => self.len().saturating_mul(self.n_features() + 4),
        }
    }

    /// The samples behind some columns.
    fn samples(&self, columns: &[usize]) -> Vec<usize> {
        columns.iter().map(|&column| self.index[column]).collect()
    }

    /// The samples behind these columns as points.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn points(&self, columns: &[usize]) -> Result<Points<F>> {
        let Gram::Kernel(_, rows) = self.gram else {
            return Ok(Points::Given(self.samples(columns)));
        };
        let mut tile = Tile::new(rows.n_cols());
        let sample = |i: usize| self.index[columns[i]];
        match &self.prepared {
            Prepared::Not => return self.gather(columns).map(Points::Packed),
            Prepared::Packed(_) => {
                load_any(&rows, columns.len(), sample, &self.origin, &mut tile);
            }
            Prepared::Inverted(_) => load_sparse(&rows, columns.len(), sample, &mut tile),
        }
        Ok(Points::Tile(tile))
    }

    /// Kernel values of the points and the columns of one chunk, unless the points are a tile:
    /// `write(point, values)` for every point.
    pub fn block(&self, points: &Points<F>, chunk: usize, mut write: impl FnMut(usize, &[F])) {
        let range = self.layout.range(chunk);
        let (first, len) = (range.start, range.len());
        let mut values = Vec::new();
        match (points, self.gram) {
            (Points::Packed(centers), Gram::Kernel(kernel, rows)) => {
                let mut tile = Tile::new(rows.n_cols());
                load_any(&rows, len, |i| self.index[first + i], &self.origin, &mut tile);
                let stride = centers.padded_len();
                values.resize(len * stride, F::zero());
                kernel.values(&tile, (0, len), centers, &mut values, stride);
                let mut row = vec![F::zero(); len];
                for point in 0..centers.len() {
                    let column = values[point..].iter().step_by(stride);
                    row.iter_mut().zip(column).for_each(|(to, &v)| *to = v);
                    write(point, &row);
                }
            }
            (Points::Given(samples), Gram::Given(matrix)) => {
                for (point, &sample) in samples.iter().enumerate() {
                    values.clear();
                    let columns = &self.index[range.clone()];
                    values.extend(columns.iter().map(|&c| F::from_f64(matrix[(sample, c)])));
                    write(point, &values);
                }
            }
            // A tile is for `rows`; points come from `points` of these columns.
            _ => {}
        }
    }

    /// Kernel values of the points `from..to` of a tile and the columns of one chunk, in rows of as
    /// many values as a chunk keeps; false, and nothing written, for other points.
    pub fn rows(
        &self,
        points: &Points<F>,
        chunk: usize,
        (from, to): (usize, usize),
        out: &mut [F],
    ) -> bool {
        let (Points::Tile(tile), Gram::Kernel(kernel, _)) = (points, self.gram) else {
            return false;
        };
        let width = self.layout.width();
        match &self.prepared {
            Prepared::Packed(sets) => {
                let rows = out.chunks_mut(POINTS * width);
                for (rows, first) in rows.zip((from..to).step_by(POINTS)) {
                    let last = (first + POINTS).min(to);
                    kernel.values(tile, (first, last), &sets[chunk], rows, width);
                }
            }
            Prepared::Inverted(sets) => {
                let (kernel, mut room) = ((kernel, self.largest), Room::default());
                for (row, point) in out.chunks_mut(width).zip(from..to) {
                    sets[chunk].values(kernel, (tile, point), &mut room, row);
                }
            }
            Prepared::Not => return false,
        }
        true
    }

    /// `k(x, x)` of every column, as the rows hold it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn diagonal(&self) -> Result<Vec<f64>> {
        match self.gram {
            Gram::Given(matrix) => {
                Ok(self.index.iter().map(|&i| F::from_f64(matrix[(i, i)]).to_f64()).collect())
            }
            Gram::Kernel(kernel, _) if kernel.is_translation_invariant() => {
                Ok(vec![1.0; self.len()])
            }
            Gram::Kernel(kernel, rows) => {
                let (mut tile, mut part, mut all) = (Tile::<F>::new(rows.n_cols()), vec![], vec![]);
                for samples in self.index.chunks(self.layout.width()) {
                    match &self.prepared {
                        Prepared::Inverted(_) => {
                            load_sparse(&rows, samples.len(), |i| samples[i], &mut tile);
                        }
                        Prepared::Packed(_) | Prepared::Not => {
                            load_any(&rows, samples.len(), |i| samples[i], &self.origin, &mut tile);
                        }
                    }
                    kernel.diagonal(&tile, &mut part);
                    all.extend(part.iter().map(|&v| F::from_f64(v).to_f64()));
                }
                Ok(all)
            }
        }
    }
}

/// `prepare` of every chunk, in parallel, with looks at the watch; `work` values are prepared a
/// chunk.
fn in_waves<T: Send>(
    chunks: usize,
    work: usize,
    watch: &mut Watch<'_>,
    prepare: &(dyn Fn(usize) -> Result<T> + Sync),
) -> Step<Vec<T>> {
    let at_once = (VALUES_BETWEEN_LOOKS / work.max(1)).max(1);
    let mut prepared = Vec::new();
    for first in (0..chunks).step_by(at_once) {
        for set in map(at_once.min(chunks - first), &|chunk| prepare(first + chunk)) {
            prepared.push(set?);
        }
        watch.glance()?;
    }
    Ok(prepared)
}
