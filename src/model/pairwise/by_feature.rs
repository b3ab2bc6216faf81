//! Decision values of wide sparse support vectors: by what rows and support vectors hold, however many
//! columns there are.
//!
//! Columns that no support vector has count in the norms of a row alone.

use super::blocks::ByFeature;
use super::{PairwiseModel, Support};
use crate::data::{Gathered, Rows};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::{SparseCenters, SparseRoom};
use crate::model::chunks::in_chunks;
use crate::model::scratch::Scratch;
use crate::parallel::Spare;
use crate::simd;

/// Multiply-adds of what is done once a support vector, about.
const WORK_OF_A_TERM: usize = 16;

impl<F: Real> PairwiseModel<F> {
    /// The support vectors by feature, where packed ones, with their zeros, would be too many numbers
    /// to be kept.
    pub(super) fn by_feature(&self) -> Result<Option<&ByFeature<F>>> {
        if self.keeps_blocks() {
            return Ok(None);
        }
        if let Some(known) = self.sparse.get() {
            return Ok(known.as_deref());
        }
        let made = self.make_by_feature()?.map(Box::new);
        // Another thread may have been quicker.
        Ok(self.sparse.get_or_init(|| made).as_deref())
    }

    fn make_by_feature(&self) -> Result<Option<ByFeature<F>>> {
        let Support::Vectors(kernel, vectors) = &self.support else { return Ok(None) };
        let Some(centers) = SparseCenters::new(*kernel, &vectors.rows()?)? else { return Ok(None) };
        let each = self.coef.nrows();
        let mut coef = try_vec("coefficients", self.coef.len(), 0.0)?;
        for (to, own) in coef.chunks_exact_mut(each.max(1)).zip(self.coef.columns()) {
            to.iter_mut().zip(own).for_each(|(to, value)| *to = *value);
        }
        Ok(Some(ByFeature { centers, coef }))
    }

    /// Decision values by these.
    pub(super) fn decide_by_feature(
        &self,
        held: &ByFeature<F>,
        rows: &Rows<'_, F>,
        out: &mut [f64],
    ) -> Result<()> {
        let (each, outputs) = (self.coef.nrows(), self.n_outputs());
        let several = self.n_support.len() > 2;
        let rooms: Spare<SparseRoom<F>> = Spare::default();
        in_chunks(
            (rows, self.n_features()),
            (out, outputs),
            self.row_work(),
            |scratch, first, out| {
                let Scratch { tile, sums, .. } = scratch;
                let mut room = rooms.take().unwrap_or_default();
                tile.reset(rows.n_cols());
                SparseCenters::load(rows, (first, out.len() / outputs), tile);
                sums.resize(each, 0.0);
                for (point, out) in out.chunks_exact_mut(outputs).enumerate() {
                    held.centers.values(tile, point, &mut room);
                    let mut terms = room.values.iter().zip(held.coef.chunks_exact(each));
                    let mut add = |count: usize, sums: &mut [f64]| {
                        sums.fill(0.0);
                        for (value, coef) in terms.by_ref().take(count) {
                            simd::add_rows(&[(coef, Real::to_f64(*value))], sums);
                        }
                    };
                    if several {
                        for (class, &count) in self.n_support.iter().enumerate() {
                            add(count, sums);
                            self.add_class(class, sums, out);
                        }
                    } else {
                        add(self.n_terms(), sums);
                        out[0] = sums[0] + self.intercept[0];
                    }
                }
                rooms.give(room);
            },
        )
    }

    /// Multiply-adds of the kernel values of a row, about.
    pub(super) fn kernel_work(&self) -> usize {
        let (terms, all) = (self.n_terms(), self.n_terms().saturating_mul(self.n_features()));
        match &self.support {
            Support::Columns(..) => terms,
            Support::Vectors(_, Gathered::Csr { values, .. })
                if !self.keeps_blocks()
                    && SparseCenters::<F>::suits(values.len() as f64 / all as f64) =>
            {
                values.len().saturating_add(terms.saturating_mul(WORK_OF_A_TERM))
            }
            Support::Vectors(..) => all,
        }
    }
}
