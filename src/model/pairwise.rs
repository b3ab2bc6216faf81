//! Decision values of exact machines: one output, or one a pair of classes.

use std::sync::{Arc, OnceLock};

use ndarray::Array2;

use super::chunks::in_chunks;
use super::kernel_model::check_origin;
use super::scratch::{Scratch, with_values};
use crate::data::{Gathered, Rows};
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile, origin_for};
use crate::parallel::{self, MIN_PARALLEL_WORK, ROW_CHUNK};
use crate::simd::{self, Packed, Tile};
use crate::watch::Look;
use blocks::{Block, ByFeature, SharedBlock};
pub(crate) use votes::{by_class, voted};

/// Support vectors of a packed block, fewer when rows are wide.
const BLOCK: usize = 1024;

/// Values of the blocks that are packed at a time, about: they stay in the caches.
const GROUP_VALUES: usize = 1 << 20;

/// Sparse support vectors of more entries than this, written out densely, are not kept packed.
const KEPT_VALUES: usize = 1 << 24;

/// Sums of classes, of rows that are decided together, about.
const PARTS_TOGETHER: usize = 1 << 22;

/// Points whose kernel values a thread computes before it sums them.
const POINTS: usize = 8;

/// The largest magnitude of a feature in single precision.
const SINGLE_MOST: f64 = 1e12;

/// What the terms of a pairwise machine are.
#[derive(Clone, Debug)]
pub enum Support<F: Real> {
    /// Rows, compared by a kernel.
    Vectors(AnyKernel, Gathered<F>),
    /// Columns of the kernel values, of so many, that a row consists of.
    Columns(Vec<usize>, usize),
}

/// Support vectors and what their kernel values count.
///
/// With more than two classes the support vectors are sorted by class and `coef` is laid out as
/// in \[LIBSVM\]: a support vector of class i counts `coef[j - 1]` against j > i and `coef[j]`
/// against j < i.
///
/// *Cost* of a prediction: O(B d) a row and O(B k) for k classes.
#[derive(Clone, Debug)]
pub struct PairwiseModel<F: Real> {
    support: Support<F>,
    origin: Vec<F>,
    /// Support vectors of each class; with fewer than three entries there is one output.
    n_support: Vec<usize>,
    /// 1 x B, or (classes - 1) x B.
    coef: Array2<f64>,
    /// One offset an output.
    intercept: Vec<f64>,
    /// The support vectors, packed when the model first decides.
    blocks: OnceLock<Vec<Block<F>>>,
    /// The same in blocks that classes share, where it decides by those.
    shared: OnceLock<Vec<SharedBlock<F>>>,
    /// The same by feature, where they are sparse and would be too large with their zeros.
    sparse: OnceLock<Option<Box<ByFeature<F>>>>,
    /// The same in single precision, made when it first decides about such rows.
    single: OnceLock<Option<Arc<PairwiseModel<f32>>>>,
}

/// What is done with some blocks, looking up now and then.
type Group<'w, F> = dyn FnMut(&[Block<F>], Look<'_>) -> Result<()> + 'w;

impl<F: Real> PairwiseModel<F> {
    /// A model of these support vectors; `n_support` says how many each class has.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `InvalidParam` of the kernel, `InvalidData` for a column that
    /// is not there.
    pub fn new(
        support: Support<F>,
        n_support: Vec<usize>,
        coef: Array2<f64>,
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let origin = match &support {
            Support::Vectors(kernel, rows) => origin_for(*kernel, &rows.rows()?)?,
            Support::Columns(..) => Vec::new(),
        };
        Self::at(origin, support, n_support, coef, intercept)
    }

    /// [`PairwiseModel::new`] with points moved by `origin` (empty: nothing).
    pub(super) fn at(
        origin: Vec<F>,
        support: Support<F>,
        n_support: Vec<usize>,
        coef: Array2<f64>,
        intercept: Vec<f64>,
    ) -> Result<Self> {
        let terms = match &support {
            Support::Vectors(kernel, rows) => {
                kernel.check()?;
                let rows = rows.rows()?;
                rows.check_finite("support_vectors_")?;
                check_origin(&origin, rows.n_cols())?;
                rows.n_rows()
            }
            Support::Columns(columns, width) => {
                if let Some(column) = columns.iter().find(|column| *column >= width) {
                    let reason = format!("sample {column} of {width}");
                    return Err(Error::InvalidData { what: "support_", reason });
                }
                columns.len()
            }
        };
        let (blocks, shared) = (OnceLock::new(), OnceLock::new());
        let (sparse, single) = (OnceLock::new(), OnceLock::new());
        let model =
            Self { support, origin, n_support, coef, intercept, blocks, shared, sparse, single };
        let per_term = model.n_support.len().max(2) - 1;
        let each = model.n_support.iter().fold(0, |sum: usize, n| sum.saturating_add(*n));
        for (what, expected, got) in [
            ("n_support_", terms, each),
            ("dual_coef_", terms, model.coef.ncols()),
            ("dual_coef_", per_term, model.coef.nrows()),
            ("intercept_", outputs_of(model.n_support.len()), model.intercept.len()),
        ] {
            check_len(what, expected, got)?;
        }
        let values = model.coef.iter().chain(&model.intercept);
        if !values.into_iter().all(|v| v.is_finite()) {
            return Err(Error::NonFinite { what: "dual_coef_", row: 0, column: 0 });
        }
        Ok(model)
    }

    /// The same support vectors with other coefficients.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`.
    pub fn with_coef(&self, coef: Array2<f64>) -> Result<Self> {
        let (origin, support) = (self.origin.clone(), self.support.clone());
        Self::at(origin, support, self.n_support.clone(), coef, self.intercept.clone())
    }

    /// What the terms are.
    #[must_use]
    pub fn support(&self) -> &Support<F> {
        &self.support
    }

    pub(super) fn origin(&self) -> &[F] {
        &self.origin
    }

    /// Number of terms B.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.coef.ncols()
    }

    /// Number of features d (of kernel values, where these are what rows consist of).
    #[must_use]
    pub fn n_features(&self) -> usize {
        match &self.support {
            Support::Vectors(_, Gathered::Dense(rows)) => rows.ncols(),
            Support::Vectors(_, Gathered::Csr { n_cols, .. }) => *n_cols,
            Support::Columns(_, width) => *width,
        }
    }

    /// Number of outputs: 1, or k (k - 1) / 2 for k > 2 classes.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.intercept.len()
    }

    /// Support vectors of each class.
    #[must_use]
    pub fn n_support(&self) -> &[usize] {
        &self.n_support
    }

    /// Coefficients, 1 x B or (classes - 1) x B.
    #[must_use]
    pub fn coef(&self) -> &Array2<f64> {
        &self.coef
    }

    /// Offsets, one an output.
    #[must_use]
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// Multiply-adds of a row.
    pub(super) fn row_work(&self) -> usize {
        let sums = self.n_terms().saturating_mul(self.coef.nrows());
        self.kernel_work().saturating_add(sums)
    }

    /// Decision values, n x outputs (positive: class i of the pair i < j), in parallel inside the
    /// current pool: kernel values in the model's precision, their sums in `f64`. The same bits
    /// for any cut of the rows and any number of threads. `look` is asked between groups of terms.
    ///
    /// # Errors
    /// `LengthMismatch` of `out`, `FeatureMismatch`, `OutOfMemory`; those of `look`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64], look: Look<'_>) -> Result<()> {
        let width = self.classes().saturating_mul(self.coef.nrows());
        let n = rows.n_rows();
        check_len("out", n.saturating_mul(self.n_outputs()), out.len())?;
        if self.n_support.len() > 2 && self.keeps_blocks() {
            return self.decide_pairs(rows, out);
        }
        if let Some(held) = self.by_feature()? {
            return self.decide_by_feature(held, rows, out);
        }
        with_values(n.saturating_mul(width), |parts| {
            let add = &mut |blocks: &[Block<F>], _: Look<'_>| {
                self.add(rows, blocks, (&mut *parts, width))
            };
            self.in_groups(add, look)?;
            self.combine(parts, out);
            Ok(())
        })
    }

    /// Calls `work` with all blocks, some at a time.
    fn in_groups(&self, work: &mut Group<'_, F>, look: Look<'_>) -> Result<()> {
        if self.keeps_blocks() {
            return work(self.blocks()?, look);
        }
        let ranges = self.ranges();
        let mut ranges = ranges.as_slice();
        while let [(_, (first, _)), ..] = ranges {
            // Those that end within the bound, one at least.
            let end = first + GROUP_VALUES / self.n_features().max(1);
            let within = ranges.iter().take_while(|(_, (_, last))| *last <= end);
            let (group, rest) = ranges.split_at(within.count().max(1));
            ranges = rest;
            work(&self.pack(group)?, &mut *look)?;
            look()?;
        }
        Ok(())
    }

    /// Classes that sums are made of, where there are more than two.
    fn classes(&self) -> usize {
        if self.n_support.len() > 2 { self.n_support.len() } else { 1 }
    }

    pub(super) fn keeps_blocks(&self) -> bool {
        match &self.support {
            Support::Vectors(_, Gathered::Csr { .. }) => {
                self.n_terms().saturating_mul(self.n_features()) <= KEPT_VALUES
            }
            Support::Vectors(_, Gathered::Dense(_)) | Support::Columns(..) => true,
        }
    }

    /// Rows that are decided together at least: enough to be worth what is packed for them, and
    /// not so many that the sums of all their classes are large.
    pub(super) fn rows_together(&self) -> usize {
        if self.keeps_blocks() {
            return ROW_CHUNK;
        }
        let sums = self.classes().saturating_mul(self.coef.nrows()).max(1);
        (PARTS_TOGETHER / sums).clamp(ROW_CHUNK, 1 << 10)
    }

    fn blocks(&self) -> Result<&[Block<F>]> {
        if let Some(blocks) = self.blocks.get() {
            return Ok(blocks);
        }
        let blocks = self.pack(&self.ranges())?;
        // Another thread may have been quicker.
        Ok(self.blocks.get_or_init(|| blocks))
    }

    fn terms_of_a_block(&self) -> usize {
        (GROUP_VALUES / self.n_features().max(1)).clamp(16, BLOCK)
    }

    /// The terms of each block, and their class.
    fn ranges(&self) -> Vec<(usize, (usize, usize))> {
        let step = self.terms_of_a_block();
        let (mut ranges, mut first) = (Vec::new(), 0);
        let classes = self.classes();
        for class in 0..classes {
            let end = if classes > 1 { first + self.n_support[class] } else { self.n_terms() };
            while first < end {
                let last = (first + step).min(end);
                ranges.push((class, (first, last)));
                first = last;
            }
        }
        ranges
    }

    fn pack(&self, ranges: &[(usize, (usize, usize))]) -> Result<Vec<Block<F>>> {
        let pack = |&(class, (first, last)): &(usize, (usize, usize))| {
            let centers = self.centers(first, last)?;
            let stride = centers.padded_len();
            let mut coef = try_vec("coefficients", stride * self.coef.nrows(), 0.0)?;
            for (row, to) in self.coef.rows().into_iter().zip(coef.chunks_exact_mut(stride)) {
                for (to, &value) in to.iter_mut().zip(row.iter().skip(first).take(last - first)) {
                    *to = value;
                }
            }
            Ok(Block { class, centers, coef })
        };
        // A prediction of little work is on no pool's thread.
        if self.n_terms().saturating_mul(self.n_features()) < MIN_PARALLEL_WORK {
            return ranges.iter().map(pack).collect();
        }
        parallel::map(ranges.len(), &|at| pack(&ranges[at])).into_iter().collect()
    }

    /// The terms `first..last`, packed.
    fn centers(&self, first: usize, last: usize) -> Result<Packed<F>> {
        let rows = match &self.support {
            Support::Vectors(_, rows) => Some(rows.rows()?),
            Support::Columns(..) => None,
        };
        let mut centers = Packed::new(rows.as_ref().map_or(1, Rows::n_cols))?;
        centers.extend(last - first, |i, center| {
            let Some(rows) = &rows else { return };
            rows.copy_row(first + i, center);
            center.iter_mut().zip(&self.origin).for_each(|(v, &o)| *v -= o);
        })?;
        Ok(centers)
    }

    /// Adds what these blocks count to `parts`, `width` sums a row.
    fn add(
        &self,
        rows: &Rows<'_, F>,
        blocks: &[Block<F>],
        (parts, width): (&mut [f64], usize),
    ) -> Result<()> {
        let each = self.coef.nrows();
        let input = (rows, self.n_features());
        in_chunks(input, (parts, width), self.row_work(), |scratch, first, parts| {
            let Scratch { tile, values, sums, .. } = scratch;
            sums.resize(ROW_CHUNK * each, 0.0);
            tile.reset(rows.n_cols());
            let len = parts.len() / width;
            load_tile(rows, len, |i| first + i, &self.origin, tile);
            let mut term = 0;
            for block in blocks {
                match &self.support {
                    Support::Vectors(kernel, _) => {
                        sums_of(*kernel, (block, each), tile, values, sums);
                    }
                    Support::Columns(columns, _) => {
                        let columns = &columns[term..term + block.centers.len()];
                        picked(columns, (block, each), tile, values, sums);
                    }
                }
                term += block.centers.len();
                for (part, sums) in parts.chunks_exact_mut(width).zip(sums.chunks_exact(each)) {
                    let to = &mut part[block.class * each..][..each];
                    to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
                }
            }
        })
    }

    fn combine(&self, parts: &[f64], out: &mut [f64]) {
        let (k, each) = (self.n_support.len(), self.coef.nrows());
        if k <= 2 {
            out.iter_mut().zip(parts).for_each(|(out, part)| *out = part + self.intercept[0]);
            return;
        }
        let outputs = self.intercept.len();
        for (part, out) in parts.chunks_exact(k * each).zip(out.chunks_exact_mut(outputs)) {
            let mut output = 0;
            for i in 0..k {
                for j in i + 1..k {
                    let sum = part[i * each + j - 1] + part[j * each + i];
                    out[output] = sum + self.intercept[output];
                    output += 1;
                }
            }
        }
    }
}

impl PairwiseModel<f64> {
    /// The same in single precision, where kernel values in it are as good as single precision
    /// rows can have them: where no square of a difference overflows, and no power of a product
    /// loses digits.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn single(&self) -> Result<Option<Arc<PairwiseModel<f32>>>> {
        if let Some(known) = self.single.get() {
            return Ok(known.clone());
        }
        let made = match &self.support {
            Support::Vectors(kernel, rows) if suits_single(*kernel, rows) => {
                let support = Support::Vectors(*kernel, rows.cast()?);
                let origin = self.origin.iter().map(|&v| v as f32).collect();
                let (n_support, coef) = (self.n_support.clone(), self.coef.clone());
                let intercept = self.intercept.clone();
                let model = PairwiseModel::at(origin, support, n_support, coef, intercept)?;
                Some(Arc::new(model))
            }
            Support::Vectors(..) | Support::Columns(..) => None,
        };
        Ok(self.single.get_or_init(|| made).clone())
    }
}

fn suits_single(kernel: AnyKernel, rows: &Gathered<f64>) -> bool {
    let small = |v: &f64| v.abs() <= SINGLE_MOST;
    kernel.gaussian_gamma().is_some_and(|gamma| (1e-20..=1e20).contains(&gamma))
        && match rows {
            Gathered::Dense(rows) => rows.iter().all(small),
            Gathered::Csr { values, .. } => values.iter().all(small),
        }
}

fn outputs_of(classes: usize) -> usize {
    match classes {
        0..=2 => 1,
        k => k * (k - 1) / 2,
    }
}

/// What one block adds to every point of a tile: a value for each of `each` rows of coefficients.
fn sums_of<F: Real>(
    kernel: AnyKernel,
    (block, each): (&Block<F>, usize),
    tile: &Tile<F>,
    values: &mut Vec<F>,
    sums: &mut [f64],
) {
    let len = tile.len();
    if each == 1 {
        let to = (&mut sums[..len], values);
        kernel.sums(tile, (0, len), &block.centers, (&block.coef, 1), to);
        return;
    }
    let stride = block.centers.padded_len();
    values.resize(POINTS * stride, F::zero());
    for from in (0..len).step_by(POINTS) {
        let to = (from + POINTS).min(len);
        kernel.values(tile, (from, to), &block.centers, values, stride);
        let out = &mut sums[from * each..to * each];
        let values = &values[..(to - from) * stride];
        simd::weighted_sums_of(values, to - from, (&block.coef, each), out);
    }
}

/// The same where the points consist of kernel values.
fn picked<F: Real>(
    columns: &[usize],
    (block, each): (&Block<F>, usize),
    tile: &Tile<F>,
    values: &mut Vec<F>,
    sums: &mut [f64],
) {
    let mut row = vec![F::zero(); tile.n_features()];
    values.clear();
    values.resize(block.centers.padded_len(), F::zero());
    for (i, out) in sums.chunks_exact_mut(each).take(tile.len()).enumerate() {
        tile.copy_row(i, &mut row);
        values.iter_mut().zip(columns).for_each(|(v, &column)| *v = row[column]);
        simd::weighted_sums(values, &block.coef, out);
    }
}

mod blocks;
mod by_feature;
mod gradient;
mod pairs;
#[cfg(test)]
mod tests;
mod votes;
