//! Gradients of the pairs' values.

use super::{Block, PairwiseModel, Support};
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::load_tile;
use crate::model::chunks::in_chunks;
use crate::model::scratch::Scratch;
use crate::watch::Look;

impl<F: Real> PairwiseModel<F> {
    /// Gradients of the decision values, n x outputs x features, in parallel inside the current
    /// pool. `look` is asked between groups of terms.
    ///
    /// # Errors
    /// `LengthMismatch` of `out`, `FeatureMismatch`, `OutOfMemory`, `Unsupported` where rows consist
    /// of kernel values; those of `look`.
    pub(in crate::model) fn gradient(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
        look: Look<'_>,
    ) -> Result<()> {
        out.fill(0.0);
        self.in_groups(&mut |blocks| self.add_gradients(rows, blocks, &mut *out), look)
    }

    fn add_gradients(
        &self,
        rows: &Rows<'_, F>,
        blocks: &[Block<F>],
        out: &mut [f64],
    ) -> Result<()> {
        let Support::Vectors(kernel, _) = &self.support else {
            return Err(Error::Unsupported(
                "gradients need the kernel of rows: these rows consist of kernel values".into(),
            ));
        };
        let (d, each, k) = (self.n_features(), self.coef.nrows(), self.n_support.len());
        let width = self.n_outputs() * d;
        let work = self.row_work().saturating_mul(each);
        in_chunks((rows, d), (out, width), work, |scratch, first, out| {
            let Scratch { tile, sums, slopes, .. } = scratch;
            let len = out.len() / width;
            tile.reset(d);
            load_tile(rows, len, |i| first + i, &self.origin, tile);
            for block in blocks {
                sums.clear();
                sums.resize(len * each * d, 0.0);
                let coef = (block.coef.as_slice(), each);
                kernel.add_gradients(tile, &block.centers, coef, sums, slopes);
                for (out, sums) in out.chunks_exact_mut(width).zip(sums.chunks_exact(each * d)) {
                    for (row, sums) in sums.chunks_exact(d).enumerate() {
                        let output = output_of(block.class, row, k);
                        let to = out[output * d..][..d].iter_mut();
                        to.zip(sums).for_each(|(to, sum)| *to += sum);
                    }
                }
            }
        })
    }
}

/// The output that a class's row of coefficients counts in.
fn output_of(class: usize, row: usize, k: usize) -> usize {
    if k <= 2 {
        return 0;
    }
    let (i, j) = if row < class { (row, class) } else { (class, row + 1) };
    i * (2 * k - i - 1) / 2 + j - i - 1
}
