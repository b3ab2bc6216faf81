//! Where a solver's features come from: kept, or made block by block.

use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{self, sq_norms};
use crate::watch::{Halt, Step, Watch};

/// Features of the samples `index` of some rows.
#[derive(Debug)]
pub struct Source<'a, F: Real> {
    map: &'a FeatureMap<F>,
    rows: Rows<'a, F>,
    index: &'a [usize],
    kept: Vec<F>,
    block: Vec<F>,
    /// `‖z‖²` of the rows of either.
    norms: Vec<F>,
}

impl<'a, F: Real> Source<'a, F> {
    /// All features at once when they take at most `bytes` (whatever the time, if that is all that
    /// there could be), else none yet.
    ///
    /// # Errors
    /// `FeatureMismatch`, `OutOfMemory`, `Interrupted`.
    pub fn new(
        map: &'a FeatureMap<F>,
        rows: Rows<'a, F>,
        index: &'a [usize],
        bytes: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        let (kept, block, norms) = (Vec::new(), Vec::new(), Vec::new());
        let mut made = Self { map, rows, index, kept, block, norms };
        let width = map.n_outputs();
        let values = index.len().saturating_mul(width);
        if values.saturating_mul(size_of::<F>()) <= bytes {
            made.kept = try_vec("features (lower n_components or cache_size)", values, F::zero())?;
            let row = |i: usize| index[i];
            let out = (&mut made.kept[..], width);
            match map.transform_until(&rows, (&row, index.len()), out, watch) {
                Ok(()) => {}
                // Without them: whoever goes on asks the watch first.
                Err(Halt::Stop(_)) if bytes < usize::MAX => made.kept = Vec::new(),
                Err(Halt::Stop(_)) => {
                    let out = (&mut made.kept[..], width);
                    map.transform_some(&rows, (&row, index.len()), out, watch)?;
                }
                Err(Halt::Fail(error)) => return Err(error),
            }
            if !made.kept.is_empty() {
                made.norms = try_vec("features", index.len(), F::zero())?;
                norms_of(&made.kept, width, &mut made.norms);
            }
        }
        Ok(made)
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// Features of a sample.
    #[must_use]
    pub fn width(&self) -> usize {
        self.map.n_outputs()
    }

    /// All features, n x D, where they are kept.
    #[must_use]
    pub fn all(&self) -> Option<&[F]> {
        (!self.kept.is_empty()).then_some(&self.kept)
    }

    /// Prepares the samples of `order` for [`Source::row`].
    ///
    /// # Errors
    /// As [`Source::new`]; what the watch says.
    pub fn load(&mut self, order: &[usize], watch: &mut Watch<'_>) -> Step {
        if !self.kept.is_empty() {
            return Ok(());
        }
        let width = self.width();
        self.block.resize(order.len() * width, F::zero());
        let row = |i: usize| self.index[order[i]];
        let out = (&mut self.block[..], width);
        self.map.transform_until(&self.rows, (&row, order.len()), out, watch)?;
        self.norms.resize(order.len(), F::zero());
        norms_of(&self.block, width, &mut self.norms);
        Ok(())
    }

    /// Features of a sample, where all are kept.
    fn kept(&self, sample: usize) -> Option<&[F]> {
        let width = self.width();
        self.all().map(|all| &all[sample * width..][..width])
    }

    /// Asks for the features of sample `order[at]`, if there is one, where all are kept: they are in
    /// no cache.
    pub fn prefetch(&self, order: &[usize], at: usize) {
        if let Some(row) = order.get(at).and_then(|&sample| self.kept(sample)) {
            one_a_line(row).for_each(simd::prefetch);
        }
    }

    /// Reads the features of the first samples of `order`, where all are kept, into the caches that
    /// the threads of a processor share: for a thread that has nothing else to do while another
    /// takes the steps before.
    pub fn warm(&self, order: &[usize]) {
        const BYTES: usize = 4 << 20;
        let most = BYTES / (self.width() * size_of::<F>()).max(1);
        let rows = order.iter().take(most).filter_map(|&sample| self.kept(sample));
        let sum = rows.flat_map(one_a_line).fold(F::zero(), |sum, &v| sum + v);
        std::hint::black_box(sum);
    }

    /// Features of sample `order[at]` of the last [`Source::load`].
    #[must_use]
    pub fn row(&self, order: &[usize], at: usize) -> &[F] {
        let width = self.width();
        self.kept(order[at]).unwrap_or_else(|| &self.block[at * width..][..width])
    }

    /// Its squared norm: one for all outputs.
    #[must_use]
    pub fn sq_norm(&self, order: &[usize], at: usize) -> f64 {
        Real::to_f64(self.norms[if self.kept.is_empty() { at } else { order[at] }])
    }
}

fn norms_of<F: Real>(rows: &[F], width: usize, norms: &mut [F]) {
    let tasks = norms.chunks_mut(ROW_CHUNK).zip(rows.chunks((ROW_CHUNK * width).max(1)));
    parallel::each(tasks, &|_, (norms, rows)| sq_norms(rows, width, norms));
}

/// A value of every line of the caches that the row lies in.
fn one_a_line<F>(row: &[F]) -> impl Iterator<Item = &F> {
    const LINE: usize = 64;
    row.iter().step_by(LINE / size_of::<F>())
}
