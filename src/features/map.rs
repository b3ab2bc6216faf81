//! Fitted maps, and how blocks of rows go through them.

use super::fourier::FourierMap;
use super::nystroem::LandmarkMap;
use super::scratch::Scratch;
use crate::data::Rows;
use crate::error::{Error, Result, check_len};
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK};
use crate::watch::{Step, Watch};

/// Multiply-adds between two looks at the watch: 10 to 50 ms.
const WORK_BETWEEN_LOOKS: usize = 1 << 30;

/// A fitted feature map.
#[derive(Clone, Debug)]
pub enum FeatureMap<F: Real> {
    /// `z(x) = Wᵀ k_S(x)`.
    Landmarks(LandmarkMap<F>),
    /// Random waves.
    Fourier(FourierMap<F>),
}

impl<F: Real> FeatureMap<F> {
    /// Number of features d of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        match self {
            Self::Landmarks(map) => map.n_features(),
            Self::Fourier(map) => map.n_features(),
        }
    }

    /// Number of features D that come out.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Landmarks(map) => map.n_outputs(),
            Self::Fourier(map) => map.n_outputs(),
        }
    }

    /// Multiply-adds of a row, about.
    #[must_use]
    pub fn row_work(&self) -> usize {
        match self {
            Self::Landmarks(map) => map.n_landmarks() * (map.n_features() + map.n_outputs()),
            Self::Fourier(map) => map.n_outputs() * (map.n_features() + 16),
        }
    }

    /// Maps the rows `row(0), row(1), ...` one after another into `out`, `width` values each of
    /// which those from [`FeatureMap::n_outputs`] on are set to 0. The caller has checked that the
    /// rows have [`FeatureMap::n_features`] columns; `width` is at least the number of outputs.
    pub fn block(
        &self,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        (out, width): (&mut [F], usize),
        scratch: &mut Scratch<F>,
    ) {
        scratch.points.reset(self.n_features());
        match self {
            Self::Landmarks(map) => map.block(rows, row, (out, width), scratch),
            Self::Fourier(map) => map.block(rows, row, (out, width), scratch),
        }
    }

    /// Maps all rows into `out`, n x `width` row-major, in parallel inside the current pool;
    /// columns from [`FeatureMap::n_outputs`] on are 0. The same bits for any cut of the rows and
    /// any number of threads.
    ///
    /// # Errors
    /// `NonFinite`; `FeatureMismatch`; `LengthMismatch` of `out`; `InvalidParam` when `width` is too
    /// small; `Interrupted`.
    pub fn transform(
        &self,
        rows: &Rows<'_, F>,
        (out, width): (&mut [F], usize),
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        rows.check_finite("X")?;
        self.transform_some(rows, (&|i| i, rows.n_rows()), (out, width), watch)
    }

    /// [`FeatureMap::transform`] of the `count` rows `row(0), row(1), ...`.
    ///
    /// # Errors
    /// As there, but for `NonFinite`: rows are not looked at before.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn transform_some(
        &self,
        rows: &Rows<'_, F>,
        some: (&(dyn Fn(usize) -> usize + Sync), usize),
        out: (&mut [F], usize),
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        watch.unbroken(|watch| self.transform_until(rows, some, out, watch))
    }

    /// [`FeatureMap::transform_some`] for those who can do without the rest when the watch says so.
    ///
    /// # Errors
    /// As there; what the watch says.
    pub fn transform_until(
        &self,
        rows: &Rows<'_, F>,
        (row, count): (&(dyn Fn(usize) -> usize + Sync), usize),
        (out, width): (&mut [F], usize),
        watch: &mut Watch<'_>,
    ) -> Step {
        if rows.n_cols() != self.n_features() {
            let (expected, got) = (self.n_features(), rows.n_cols());
            return Err(Error::FeatureMismatch { expected, got }.into());
        }
        if width < self.n_outputs() || width == 0 {
            let least = self.n_outputs().max(1);
            return Err(Error::param("n_components", format!(">= {least}"), width).into());
        }
        check_len("out", count.saturating_mul(width), out.len())?;
        let chunk_work = self.row_work().max(1).saturating_mul(ROW_CHUNK);
        let group = (WORK_BETWEEN_LOOKS / chunk_work).clamp(1, 1 << 12);
        for (g, part) in out.chunks_mut(group * ROW_CHUNK * width).enumerate() {
            let base = g * group * ROW_CHUNK;
            parallel::each_with(
                part.chunks_mut(ROW_CHUNK * width),
                &Scratch::default,
                &|scratch, c, out| {
                    let first = base + c * ROW_CHUNK;
                    self.block(rows, |i| row(first + i), (out, width), scratch);
                },
            );
            watch.glance()?;
        }
        Ok(())
    }
}
