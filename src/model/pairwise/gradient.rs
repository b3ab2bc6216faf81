//! Gradients of the pairs' values.

use super::blocks::Block;
use super::{PairwiseModel, Support};
use crate::data::Rows;
use crate::error::{Error, LARGE, Result, check_room};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::model::chunks::in_chunks;
use crate::model::decide::WORK_BETWEEN_LOOKS;
use crate::model::scratch::{Scratch, with_scratch};
use crate::parallel;
use crate::watch::Look;

/// Numbers that are set to zero between two looks.
const TOUCHED: usize = 1 << 23;

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
        // Memory that nobody has touched: many pairs and features are hundreds of megabytes.
        for part in out.chunks_mut(TOUCHED) {
            part.fill(0.0);
            look()?;
        }
        let each = self.coef.nrows().saturating_mul(self.n_features());
        let threads = parallel::thread_count(None)?.min(rows.n_rows());
        let bytes = each.saturating_mul(threads).saturating_mul(size_of::<f64>());
        if bytes > LARGE {
            check_room("gradients", bytes)?;
        }
        let work = |block: &Block<F>| block.centers.len().saturating_mul(each);
        let most = WORK_BETWEEN_LOOKS / rows.n_rows().max(1);
        self.in_groups(
            &mut |mut blocks, look| {
                while !blocks.is_empty() {
                    let mut sum = 0_usize;
                    let within = blocks.iter().take_while(|block| {
                        sum = sum.saturating_add(work(block));
                        sum <= most
                    });
                    let (some, rest) = blocks.split_at(within.count().max(1));
                    self.add_gradients(rows, some, &mut *out)?;
                    look()?;
                    blocks = rest;
                }
                Ok(())
            },
            look,
        )
    }

    /// Gradients of sums of the pairs' values at one row, classes x features into `out`: a pair i < j
    /// counts in these two classes, with its two factors. `look` is asked between groups of terms.
    ///
    /// # Errors
    /// As [`PairwiseModel::gradient`].
    pub(in crate::model) fn class_gradients(
        &self,
        row: &Rows<'_, F>,
        factors: &[(f64, f64)],
        out: &mut [f64],
        look: Look<'_>,
    ) -> Result<()> {
        let kernel = self.kernel_of_rows()?;
        let k = self.n_support.len();
        out.fill(0.0);
        with_scratch(|Scratch { tile, slopes, .. }| {
            tile.reset(self.n_features());
            load_tile(row, 1, |i| i, &self.origin, tile);
            self.in_groups(
                &mut |blocks, look| {
                    for Block { class, centers, coef } in blocks {
                        let stride = centers.padded_len();
                        let mut mixed = vec![0.0; k * stride];
                        for (own, coef) in coef.chunks_exact(stride.max(1)).enumerate() {
                            let other = if own < *class { own } else { own + 1 };
                            let (first, second) = factors[output_of(*class, own, k)];
                            let (mine, its) =
                                if class < &other { (first, second) } else { (second, first) };
                            for (class, factor) in [(*class, mine), (other, its)] {
                                let to = mixed[class * stride..][..stride].iter_mut();
                                to.zip(coef).for_each(|(to, coef)| *to += factor * coef);
                            }
                        }
                        let place = (&mut *out, k * self.n_features(), 0);
                        kernel.add_gradients(tile, centers, (&mixed, k), place, slopes);
                        look()?;
                    }
                    Ok(())
                },
                look,
            )
        })
    }

    fn kernel_of_rows(&self) -> Result<AnyKernel> {
        match self.support {
            Support::Vectors(kernel, _) => Ok(kernel),
            Support::Columns(..) => Err(Error::Unsupported(
                "gradients need the kernel of rows: these rows consist of kernel values".into(),
            )),
        }
    }

    fn add_gradients(
        &self,
        rows: &Rows<'_, F>,
        blocks: &[Block<F>],
        out: &mut [f64],
    ) -> Result<()> {
        let kernel = self.kernel_of_rows()?;
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
                let to = (sums.as_mut_slice(), each * d, 0);
                kernel.add_gradients(tile, &block.centers, coef, to, slopes);
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
