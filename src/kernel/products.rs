//! Sums of kernel rows that are not stored.

use super::columns::Prepared;
use super::{AnyKernel, Columns, Gram, Points};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::load::load_any;
use crate::parallel::each;
use crate::simd::{self, Tile};

/// Features of the terms of a product that are packed at a time: a few megabytes.
const TERM_VALUES: usize = 1 << 19;

/// Targets of a product in one unit of parallel work.
const TARGETS: usize = 64;

/// Columns of which every row is kept.
const FEW: usize = 1024;

/// Terms that are read at a time where columns are held by feature.
const TERMS: usize = 512;

impl<F: Real> Columns<'_, F> {
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
        if let Prepared::Inverted(_) = &self.prepared {
            return self.part(targets)?.add_by_feature(self, terms, sums);
        }
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

    /// Whether sums of rows need no rows: `Σ coef_s x·x_s = x·w`, and what all columns have of `w`
    /// costs no more than their entries. All rows of few columns are kept at no cost.
    #[must_use]
    pub fn sums_by_weights(&self) -> bool {
        self.len() > FEW && self.is_linear_by_feature()
    }

    fn is_linear_by_feature(&self) -> bool {
        matches!(self.prepared, Prepared::Inverted(_))
            && matches!(self.gram, Gram::Kernel(AnyKernel::Linear, _))
    }

    /// `sums += Σ coef_s k(column, s)` over terms `(s, coef_s)` among the columns, at all of them,
    /// where [`Columns::sums_by_weights`].
    ///
    /// *Cost* O(entries of the terms, sorted, and entries that share a feature with them).
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn add_by_weights(&self, terms: &[(u32, f64)], sums: &mut [f64]) -> Result<()> {
        let columns: Vec<usize> = terms.iter().map(|&(s, _)| s as usize).collect();
        self.add_weighted(self, &columns, |at| terms[at].1, sums)
    }

    fn add_weighted(
        &self,
        of: &Self,
        columns: &[usize],
        coef: impl Fn(usize) -> f64,
        sums: &mut [f64],
    ) -> Result<()> {
        let (Points::Tile(tile), Prepared::Inverted(sets)) = (of.points(columns)?, &self.prepared)
        else {
            return Ok(());
        };
        let entries = (0..tile.len()).map(|i| tile.sparse_row(i).0.len()).sum();
        let mut weights = try_vec("weights", entries, (0u32, 0.0))?;
        let all = (0..tile.len()).flat_map(|i| {
            let (features, values) = tile.sparse_row(i);
            let coef = coef(i);
            features.iter().zip(values).map(move |(&f, value)| (f, coef * (*value).to_f64()))
        });
        weights.iter_mut().zip(all).for_each(|(to, weight)| *to = weight);
        // Stable: those of one feature are summed in the order of the terms.
        weights.sort_by_key(|&(feature, _)| feature);
        weights.dedup_by(|next, first| {
            let same = next.0 == first.0;
            first.1 += if same { next.1 } else { 0.0 };
            same
        });
        let layout = self.layout;
        let (first, second) = sums.split_at_mut(layout.split());
        let sums = first.chunks_mut(layout.width()).chain(second.chunks_mut(layout.width()));
        each(sums, &|chunk, sums: &mut [f64]| sets[chunk].add_products(&weights, sums));
        Ok(())
    }

    /// [`Columns::add_products`] of the terms among other columns, at all of these.
    fn add_by_feature(&self, of: &Self, terms: &[(usize, f64)], sums: &mut [f64]) -> Result<()> {
        let linear = self.is_linear_by_feature();
        for terms in terms.chunks(TERMS) {
            let columns: Vec<usize> = terms.iter().map(|&(s, _)| s).collect();
            if linear {
                self.add_weighted(of, &columns, |at| terms[at].1, sums)?;
                continue;
            }
            let (points, layout) = (of.points(&columns)?, self.layout);
            each(sums.chunks_mut(layout.width()), &|chunk, sums: &mut [f64]| {
                let mut row = vec![F::zero(); layout.width()];
                for (point, &(_, coef)) in terms.iter().enumerate() {
                    self.rows(&points, chunk, (point, point + 1), &mut row);
                    simd::add_rows(&[(&row[..], coef)], sums);
                }
            });
        }
        Ok(())
    }
}
