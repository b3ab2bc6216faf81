//! Training rows prepared to be compared with any of themselves: the columns of kernel rows.

use std::sync::Arc;

use super::Gram;
use super::halves::{Halves, Own};
use super::layout::{COLUMN_CHUNK, Layout};
use super::load::{load_any, pack};
use crate::error::Result;
use crate::float::Real;
use crate::parallel::each;
use crate::simd::{Packed, Tile};

/// CSR rows are packed, with their zeros, only up to this many bytes; else points are.
const PACKED_BYTES: usize = 256 << 20;

/// Points whose values a thread computes before it passes them on: they stay in its first cache.
const POINTS: usize = 8;

/// Features of the terms of a product that are packed at a time: a few megabytes.
const TERM_VALUES: usize = 1 << 19;

/// Targets of a product in one unit of parallel work.
const TARGETS: usize = 64;

/// Some of the samples of a [`Gram`], as columns.
#[derive(Clone, Debug)]
pub struct Columns<'a, F: Real> {
    gram: Gram<'a>,
    /// The sample behind each column.
    index: Vec<usize>,
    layout: Layout,
    origin: Vec<f64>,
    /// Largest squared norm of all samples, of which these may be a part.
    largest: f64,
    /// One set a chunk; none where points are packed instead.
    packed: Vec<Arc<Packed<F>>>,
    /// What is known of the rows of either class.
    own: Option<[Arc<Own<F>>; 2]>,
}

/// Samples whose kernel rows are wanted.
#[derive(Clone, Debug)]
pub enum Points<F: Real> {
    /// For packed columns.
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
    /// `OutOfMemory`.
    pub fn new(gram: Gram<'a>, index: Vec<usize>) -> Result<Self> {
        let first = index.first().copied().unwrap_or(0);
        let mut columns = Self::cut(gram, index, (first, COLUMN_CHUNK))?;
        columns.raise(columns.largest);
        Ok(columns)
    }

    /// Whether `n` samples are packed.
    pub(super) fn packs(gram: &Gram<'_>, n: usize) -> bool {
        match gram {
            Gram::Given(_) => false,
            Gram::Kernel(_, rows) => {
                rows.is_dense()
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
    ) -> Result<Self> {
        let layout = Layout::of(index.len(), width);
        let (origin, packed) = (Vec::new(), Vec::new());
        let mut columns = Self { gram, index, layout, origin, largest: 0.0, packed, own: None };
        let Gram::Kernel(kernel, rows) = gram else { return Ok(columns) };
        if rows.is_dense() && kernel.is_translation_invariant() && first < rows.n_rows() {
            rows.all_of_row(first, |value| {
                columns.origin.push(value);
                true
            });
        }
        if Self::packs(&gram, columns.index.len()) {
            for chunk in 0..layout.chunks() {
                let samples = &columns.index[layout.range(chunk)];
                let set: Packed<F> = pack(&rows, &columns.origin, samples)?;
                columns.largest = columns.largest.max(set.max_sq_norm());
                columns.packed.push(Arc::new(set));
            }
        } else {
            for &sample in &columns.index {
                let mut norm = 0.0;
                rows.all_of_row(sample, |value| {
                    norm += value * value;
                    true
                });
                columns.largest = columns.largest.max(norm);
            }
        }
        Ok(columns)
    }

    /// The same way to every value, whichever chunk or part it is computed in.
    fn raise(&mut self, largest: f64) {
        self.largest = largest;
        for set in &mut self.packed {
            Arc::make_mut(set).raise_max_sq_norm(largest);
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
            packed: first.packed.iter().chain(&second.packed).cloned().collect(),
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
        let mut packed = Vec::new();
        if !self.packed.is_empty() {
            for chunk in 0..layout.chunks() {
                packed.push(Arc::new(self.gather(&columns[layout.range(chunk)])?));
            }
        }
        Ok(Self {
            gram: self.gram,
            layout,
            own: None,
            index: self.samples(columns),
            origin: self.origin.clone(),
            largest: self.largest,
            packed,
        })
    }

    /// Some columns as one packed set.
    fn gather(&self, columns: &[usize]) -> Result<Packed<F>> {
        let Gram::Kernel(_, rows) = self.gram else { return Packed::new(0) };
        let mut set;
        if self.packed.is_empty() {
            set = pack(&rows, &self.origin, &self.samples(columns))?;
        } else {
            set = Packed::new(rows.n_cols())?;
            set.resize_stale(columns.len())?;
            for (slot, &c) in columns.iter().enumerate() {
                let (chunk, at) = self.layout.place(c);
                set.copy_slot(slot, &self.packed[chunk], at);
            }
        }
        set.raise_max_sq_norm(self.largest);
        Ok(set)
    }

    /// `sums_t += Σ coef_s k(column_t, column_s)` over the terms `(s, coef_s)`, a value for each of
    /// `targets`; no row is stored. Inside the current pool.
    ///
    /// *Cost* O(targets terms d); a few megabytes.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn add_products(
        &self,
        targets: &[usize],
        terms: &[(usize, f64)],
        sums: &mut [f64],
    ) -> Result<()> {
        let at_once = (TERM_VALUES / self.n_features().max(1)).clamp(64, 1 << 14);
        for terms in terms.chunks(at_once) {
            let columns: Vec<usize> = terms.iter().map(|&(s, _)| s).collect();
            let centers = self.gather(&columns)?;
            let mut coef: Vec<f64> = terms.iter().map(|&(_, coef)| coef).collect();
            coef.resize(centers.padded_len().max(coef.len()), 0.0);
            let parts = sums.chunks_mut(TARGETS).zip(targets.chunks(TARGETS));
            each(parts, &|_, (sums, targets): (&mut [f64], &[usize])| match self.gram {
                Gram::Kernel(kernel, rows) => {
                    let mut tile = Tile::new(rows.n_cols());
                    let sample = |i: usize| self.index[targets[i]];
                    load_any(&rows, targets.len(), sample, &self.origin, &mut tile);
                    let mut out = vec![0.0; targets.len()];
                    kernel.sums(
                        &tile,
                        (0, targets.len()),
                        &centers,
                        (&coef, 1),
                        (&mut out, &mut Vec::new()),
                    );
                    sums.iter_mut().zip(out).for_each(|(sum, by)| *sum += by);
                }
                Gram::Given(matrix) => {
                    for (sum, &target) in sums.iter_mut().zip(targets) {
                        let row = self.index[target];
                        let value = |s: usize| F::from_f64(matrix[(self.index[s], row)]).to_f64();
                        *sum += terms.iter().map(|&(s, coef)| coef * value(s)).sum::<f64>();
                    }
                }
            });
        }
        Ok(())
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
    fn n_features(&self) -> usize {
        match self.gram {
            Gram::Kernel(_, rows) => rows.n_cols(),
            Gram::Given(_) => 1,
        }
    }

    /// Multiply-adds of one kernel row, about.
    #[must_use]
    pub fn row_work(&self) -> usize {
        self.len().saturating_mul(self.n_features() + 4)
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
        if self.packed.is_empty() {
            return self.gather(columns).map(Points::Packed);
        }
        let mut tile = Tile::new(rows.n_cols());
        load_any(&rows, columns.len(), |i| self.index[columns[i]], &self.origin, &mut tile);
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
        for (rows, first) in out.chunks_mut(POINTS * width).zip((from..to).step_by(POINTS)) {
            let last = (first + POINTS).min(to);
            kernel.values(tile, (first, last), &self.packed[chunk], rows, width);
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
                    load_any(&rows, samples.len(), |i| samples[i], &self.origin, &mut tile);
                    kernel.diagonal(&tile, &mut part);
                    all.extend(part.iter().map(|&v| F::from_f64(v).to_f64()));
                }
                Ok(all)
            }
        }
    }
}
