//! Values of the pairs of several classes, some rows at a time.
//!
//! 1. The kernel values of a few rows with all support vectors.
//! 2. The sums of one class after another: a sum for each other class, whose coefficients are those
//!    of the class's support vectors against it.
//! 3. They are added to the values of the pairs that the class is in. No sum of another class is
//!    held.
//!
//! A block of packed support vectors is of one class, and step 2 a matrix product. Where classes have
//! fewer support vectors than a line of numbers holds, most of such a block would be padding: then a
//! block is of several classes, and a support vector adds its own coefficients.

use super::blocks::{Block, SharedBlock};
use super::{POINTS, PairwiseModel, Support, picked, sums_of};
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::load_tile;
use crate::model::chunks::in_chunks;
use crate::model::scratch::Scratch;
use crate::simd::{self, Tile};

/// Support vectors of a class below which, on average, classes share blocks.
const FEW: usize = 16;

impl<F: Real> PairwiseModel<F> {
    /// Whether classes share blocks.
    fn shares_blocks(&self) -> bool {
        self.n_terms() < FEW.saturating_mul(self.n_support.len())
    }

    /// Decision values of more than two classes, whose blocks are kept.
    pub(super) fn decide_pairs(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let to = (out, self.n_outputs());
        let input = (rows, self.n_features());
        let load = |scratch: &mut Scratch<F>, first: usize, len: usize| {
            scratch.tile.reset(rows.n_cols());
            load_tile(rows, len, |i| first + i, &self.origin, &mut scratch.tile);
        };
        if self.shares_blocks() {
            let blocks = self.shared_blocks()?;
            return in_chunks(input, to, self.row_work(), |scratch, first, out| {
                load(scratch, first, out.len() / self.n_outputs());
                self.add_shared(blocks, scratch, out);
            });
        }
        let blocks = self.blocks()?;
        in_chunks(input, to, self.row_work(), |scratch, first, out| {
            load(scratch, first, out.len() / self.n_outputs());
            self.add_own(blocks, scratch, out);
        })
    }

    /// Steps 1 to 3 where a block is of one class.
    fn add_own(&self, blocks: &[Block<F>], scratch: &mut Scratch<F>, out: &mut [f64]) {
        let Scratch { tile, values, sums, .. } = scratch;
        let (each, len) = (self.coef.nrows(), tile.len());
        sums.resize(2 * len * each, 0.0);
        let (of_block, of_class) = sums.split_at_mut(len * each);
        let (mut blocks, mut term) = (blocks.iter().peekable(), 0);
        for class in 0..self.n_support.len() {
            of_class.fill(0.0);
            while let Some(block) = blocks.next_if(|block| block.class == class) {
                let end = term + block.centers.len();
                match &self.support {
                    Support::Vectors(kernel, _) => {
                        sums_of(*kernel, (block, each), tile, values, of_block);
                    }
                    Support::Columns(columns, _) => {
                        picked(&columns[term..end], (block, each), tile, values, of_block);
                    }
                }
                term = end;
                of_class.iter_mut().zip(&*of_block).for_each(|(to, sum)| *to += sum);
            }
            let rows = of_class.chunks_exact(each).zip(out.chunks_exact_mut(self.n_outputs()));
            rows.for_each(|(sums, out)| self.add_class(class, sums, out));
        }
    }

    /// Steps 1 to 3 where a block is of several classes.
    fn add_shared(&self, blocks: &[SharedBlock<F>], scratch: &mut Scratch<F>, out: &mut [f64]) {
        let Scratch { tile, values, sums, .. } = scratch;
        let (each, len, outputs) = (self.coef.nrows(), tile.len(), self.n_outputs());
        sums.resize(each, 0.0);
        for block in blocks {
            let stride = block.centers.padded_len();
            for from in (0..len).step_by(POINTS) {
                let to = (from + POINTS).min(len);
                values.resize(POINTS * stride, F::zero());
                if stride > 0 {
                    self.support.values(block, (tile, from, to), values);
                }
                let rows = out[from * outputs..to * outputs].chunks_exact_mut(outputs);
                for (point, out) in rows.enumerate() {
                    let values = &values[point * stride..][..stride];
                    let mut terms = values.iter().zip(block.coef.chunks_exact(each));
                    for class in block.classes.clone() {
                        sums.fill(0.0);
                        for (value, coef) in terms.by_ref().take(self.n_support[class]) {
                            simd::add_rows(&[(coef, Real::to_f64(*value))], sums);
                        }
                        self.add_class(class, sums, out);
                    }
                }
            }
        }
    }

    /// Step 3 of a row. Classes come in their order: the first of a pair sets its value, the second
    /// adds its sum and the offset.
    pub(super) fn add_class(&self, class: usize, sums: &[f64], out: &mut [f64]) {
        let k = self.n_support.len();
        // The pair (i, class), from i = 0 on, and the sum against i.
        let mut at = class.wrapping_sub(1);
        for (i, sum) in sums[..class].iter().enumerate() {
            out[at] = out[at] + sum + self.intercept[at];
            at += k - 2 - i;
        }
        // The pairs (class, j) are one after another.
        let first = class * (2 * k - class - 1) / 2;
        out[first..first + k - 1 - class].copy_from_slice(&sums[class..]);
    }

    fn shared_blocks(&self) -> Result<&[SharedBlock<F>]> {
        if let Some(blocks) = self.shared.get() {
            return Ok(blocks);
        }
        let blocks = self.pack_shared()?;
        // Another thread may have been quicker.
        Ok(self.shared.get_or_init(|| blocks))
    }

    fn pack_shared(&self) -> Result<Vec<SharedBlock<F>>> {
        let (each, most) = (self.coef.nrows(), self.terms_of_a_block());
        let (mut blocks, mut first, mut class) = (Vec::new(), 0, 0);
        while class < self.n_support.len() {
            let (begin, mut len) = (class, 0);
            while class < self.n_support.len() && (len == 0 || len + self.n_support[class] <= most)
            {
                len += self.n_support[class];
                class += 1;
            }
            let centers = self.centers(first, first + len)?;
            let mut coef = try_vec("coefficients", len.saturating_mul(each), 0.0)?;
            for (term, to) in coef.chunks_exact_mut(each).enumerate() {
                let own = self.coef.column(first + term);
                to.iter_mut().zip(own).for_each(|(to, value)| *to = *value);
            }
            blocks.push(SharedBlock { classes: begin..class, first, centers, coef });
            first += len;
        }
        Ok(blocks)
    }
}

impl<F: Real> Support<F> {
    /// Kernel values of the points `from..to` of a tile with the terms of a block, padded rows.
    fn values(
        &self,
        block: &SharedBlock<F>,
        (tile, from, to): (&Tile<F>, usize, usize),
        out: &mut Vec<F>,
    ) {
        let stride = block.centers.padded_len();
        match self {
            Self::Vectors(kernel, _) => {
                kernel.values(tile, (from, to), &block.centers, out, stride);
            }
            Self::Columns(columns, width) => {
                let picked = POINTS * stride;
                out.resize(picked + width, F::zero());
                let (values, row) = out.split_at_mut(picked);
                for (point, values) in (from..to).zip(values.chunks_exact_mut(stride)) {
                    tile.copy_row(point, row);
                    let columns = &columns[block.first..][..block.centers.len()];
                    values.iter_mut().zip(columns).for_each(|(v, &column)| *v = row[column]);
                }
                out.truncate(picked);
            }
        }
    }
}
