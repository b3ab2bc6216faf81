//! Maps on landmarks, and the Nyström map: eigenvectors of the landmarks' kernel matrix.
//!
//! ```text
//! K_SS = Q Λ Qᵀ,     z(x) = Λ^{-1/2} Qᵀ k_S(x),     Z Zᵀ = K_·S K_SS⁺ K_S·
//! ```
//!
//! *Method* (\[ASSET\] eq. 7, \[NYSTROEM\]).
//! 1. Draw s rows as landmarks.
//! 2. Their kernel matrix in `f64`, whatever the input is: small eigenvalues live on its digits.
//! 3. Keep the D largest eigenvalues of those above `threshold` times the largest.
//! 4. `W = Q Λ^{-1/2}`; a row's features are `Wᵀ k_S(x)`.
//!
//! Departs from \[ASSET\] section 4.1: its threshold of 1e-16 is absolute and below rounding. An
//! error η of the kernel values comes out as η / √(threshold) at worst, so the threshold is
//! relative and by default 1e-6 for `f32` rows and 1e-12 for `f64` rows.
//!
//! *Prediction* (\[ASSET\] section 2.4): `f(x) = γ·z(x) = Σ_j (Wγ)_j k(s_j, x)`, an expansion on
//! the landmarks.

use super::landmarks::{copy_rows, draw_landmarks};
use super::scratch::{Scratch, multiply, unpack, unpad};
use crate::config::{Config, count, hyperparameters, optional, share};
use crate::data::{Rows, check_finite};
use crate::error::{Error, Result, try_collect, try_copy, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
#[cfg(feature = "train")]
use crate::linalg::symmetric_eigen;
use crate::parallel::{self, ROW_CHUNK};
use crate::rng::Rng;
use crate::simd::{Packed, Tile, zeroed};
use crate::watch::Watch;

/// Multiply-adds of the landmarks' kernel matrix between two looks at the watch, a row of each
/// chunk.
const WORK_BETWEEN_LOOKS: usize = 1 << 21;
/// Values that a tile of landmarks holds at most, where it has several rows: 16 MB.
const TILE_VALUES: usize = 1 << 21;

hyperparameters! {
    /// What a Nyström map is fitted with.
    #[derive(Copy)]
    pub struct Nystroem {
        /// The kernel.
        pub kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 };
        /// Features that come out, at least 1 (fewer when the landmarks do not span as many).
        pub n_components: usize = 100;
        /// Landmarks s, at least `n_components`; none: as many.
        pub n_landmarks: Option<usize> = None;
        /// Eigenvalues below this share of the largest are dropped, in [0, 1); none: 1e-6 for
        /// `f32` rows, 1e-12 for `f64` rows.
        #[serde(rename = "eigenvalue_threshold")]
        pub threshold: Option<f64> = None;
        /// Seed of the landmarks.
        #[serde(rename = "random_state")]
        pub seed: u64 = 0;
    }
}

impl Config for Nystroem {
    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        count("n_components", self.n_components)?;
        if let Some(s) = self.n_landmarks
            && s < self.n_components
        {
            let expected = format!(">= n_components = {}", self.n_components);
            return Err(Error::param("n_landmarks", expected, s));
        }
        optional(share, "eigenvalue_threshold", self.threshold)
    }
}

#[cfg(feature = "train")]
impl Nystroem {
    /// Draws landmarks among all rows and fits the map: it, and which rows its landmarks are.
    ///
    /// # Errors
    /// As [`Nystroem::fit_on`].
    pub fn fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(LandmarkMap<F>, Vec<usize>)> {
        rows.check_finite("X")?;
        self.fit_among(rows, &try_collect("landmarks", 0..rows.n_rows())?, watch)
    }

    /// [`Nystroem::fit`] with the landmarks drawn among the rows `among`.
    ///
    /// # Errors
    /// As [`Nystroem::fit_on`].
    pub fn fit_among<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        among: &[usize],
        watch: &mut Watch<'_>,
    ) -> Result<(LandmarkMap<F>, Vec<usize>)> {
        self.check()?;
        let count = self.n_landmarks.unwrap_or(self.n_components);
        let chosen = draw_landmarks(among, count, &mut Rng::new(self.seed))?;
        let map = self.fit_on(&copy_rows(rows, &chosen)?, rows.n_cols(), watch)?;
        Ok((map, chosen))
    }

    /// The map on these landmarks, s x d row-major.
    ///
    /// # Errors
    /// `InvalidParam`; `InvalidData` without landmarks; `NotPositiveDefinite` when no eigenvalue
    /// is positive; `OutOfMemory`; `Interrupted`.
    pub fn fit_on<F: Real>(
        &self,
        landmarks: &[F],
        d: usize,
        watch: &mut Watch<'_>,
    ) -> Result<LandmarkMap<F>> {
        self.check()?;
        let s = landmarks.len() / d.max(1);
        // 2.
        let matrix = kernel_matrix(self.kernel, landmarks, d, watch)?;
        // 3.
        let what = "the kernel matrix of the landmarks";
        let eigen = watch.unbroken(|watch| {
            watch.poll()?;
            symmetric_eigen(what, matrix, s, || watch.poll())
        })?;
        let largest = eigen.values.first().copied().unwrap_or(0.0);
        let share =
            self.threshold.unwrap_or(if size_of::<F>() == size_of::<f32>() { 1e-6 } else { 1e-12 });
        // Rounding of the decomposition itself: what is below is noise, or negative.
        let floor = largest * share.max(4.0 * f64::EPSILON * (s as f64).sqrt());
        let positive = eigen.values.iter().filter(|&&v| v > 0.0 && v >= floor).count();
        let rank = positive.min(self.n_components);
        if rank == 0 {
            return Err(Error::NotPositiveDefinite(what));
        }
        // 4.
        let mut weights = try_vec("Nyström weights", s * rank, 0.0)?;
        for (to, from) in weights.chunks_exact_mut(rank).zip(eigen.vectors.chunks_exact(s)) {
            for ((w, q), value) in to.iter_mut().zip(from).zip(&eigen.values) {
                *w = q / value.sqrt();
            }
        }
        LandmarkMap::new(self.kernel, (landmarks, d), &weights, rank)
    }
}

/// The full kernel matrix of rows in `f64`.
pub(super) fn kernel_matrix<F: Real>(
    kernel: AnyKernel,
    landmarks: &[F],
    d: usize,
    watch: &mut Watch<'_>,
) -> Result<Vec<f64>> {
    let s = landmarks.len() / d.max(1);
    if s == 0 || s * d != landmarks.len() {
        let reason = format!("{s} landmarks of {d} features, at least 1 of each");
        return Err(Error::InvalidData { what: "X", reason });
    }
    let what = "kernel matrix of the landmarks";
    let origin = match kernel.is_translation_invariant() {
        true => try_collect(what, landmarks[..d].iter().map(|v| Real::to_f64(*v)))?,
        false => Vec::new(),
    };
    let packed: Packed<f64> = pack(landmarks, d, &origin)?;
    let stride = packed.padded_len();
    let mut out = zeroed(what, s.saturating_mul(s))?;
    let chunk = (TILE_VALUES / d).clamp(1, ROW_CHUNK);
    let rows = (WORK_BETWEEN_LOOKS / s.saturating_mul(d + 16)).max(1) * chunk;
    for (part, out) in out.chunks_mut(rows * s).enumerate() {
        let buffers = || {
            let mut tile = Tile::new(d);
            tile.set_aside(chunk)?;
            Ok((tile, try_vec(what, chunk * stride, 0.0)?))
        };
        parallel::try_each_with(out.chunks_mut(chunk * s), &buffers, &|(tile, values), c, out| {
            let (first, len) = (part * rows + c * chunk, out.len() / s);
            tile.fill_dense(len, |i, row| packed.get(first + i, row));
            kernel.values(tile, (0, len), &packed, values, stride);
            for (to, from) in out.chunks_exact_mut(s).zip(values.chunks_exact(stride)) {
                to.copy_from_slice(&from[..s]);
            }
            Ok(())
        })?;
        watch.unbroken(Watch::glance)?;
    }
    Ok(out)
}

/// `z(x) = Wᵀ k_S(x)` with s landmarks and D columns of W.
#[derive(Clone, Debug)]
pub struct LandmarkMap<F: Real> {
    kernel: AnyKernel,
    /// s x d, as given.
    landmarks: Vec<F>,
    /// The landmarks as dense rows are compared with them, and what both are moved by.
    dense: (Packed<F>, Vec<F>),
    /// The landmarks as sparse rows are compared with them; none where that is the same.
    sparse: Option<Box<Packed<F>>>,
    /// One "centre" a column of W.
    weights: Packed<F>,
}

impl<F: Real> LandmarkMap<F> {
    /// A map from its landmarks, s x d row-major, and W, s x `outputs` row-major.
    ///
    /// # Errors
    /// `InvalidParam` of the kernel, `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn new(
        kernel: AnyKernel,
        (landmarks, d): (&[F], usize),
        weights: &[f64],
        outputs: usize,
    ) -> Result<Self> {
        kernel.check()?;
        let s = landmarks.len() / d.max(1);
        if s == 0 || s * d != landmarks.len() {
            let (expected, got) = ((s * d).max(d), landmarks.len());
            return Err(Error::LengthMismatch { what: "landmarks", expected, got });
        }
        if outputs == 0 || s.checked_mul(outputs) != Some(weights.len()) {
            let (expected, got) = (s.saturating_mul(outputs.max(1)), weights.len());
            return Err(Error::LengthMismatch { what: "weights", expected, got });
        }
        check_finite("landmarks", landmarks, d)?;
        let columns = try_collect("weights", weights.iter().map(|&w| F::from_f64(w)))?;
        check_finite("weights", &columns, outputs)?;
        let origin = match kernel.is_translation_invariant() {
            true => try_copy("landmarks", &landmarks[..d])?,
            false => Vec::new(),
        };
        let plain = pack(landmarks, d, &[])?;
        let (dense, sparse) = match origin.is_empty() {
            true => (plain, None),
            false => (pack(landmarks, d, &origin)?, Some(Box::new(plain))),
        };
        let mut packed = Packed::new(s)?;
        packed.extend(outputs, |j, column| {
            let own = columns.iter().skip(j).step_by(outputs);
            column.iter_mut().zip(own).for_each(|(to, &w)| *to = w);
        })?;
        Ok(Self {
            kernel,
            landmarks: try_copy("landmarks", landmarks)?,
            dense: (dense, origin),
            sparse,
            weights: packed,
        })
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.kernel
    }

    /// Number of features d of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.dense.0.n_features()
    }

    /// Number of landmarks s.
    #[must_use]
    pub fn n_landmarks(&self) -> usize {
        self.dense.0.len()
    }

    /// Number of features D that come out.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.weights.len()
    }

    /// The landmarks, s x d.
    #[must_use]
    pub fn landmarks(&self) -> &[F] {
        &self.landmarks
    }

    /// W, s x D row-major.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn weights(&self) -> Result<Vec<F>> {
        let (s, columns) = (self.n_landmarks(), unpack(&self.weights)?);
        let mut out = try_vec("weights", columns.len(), F::zero())?;
        for (l, row) in out.chunks_exact_mut(self.n_outputs()).enumerate() {
            row.iter_mut().zip(columns.iter().skip(l).step_by(s)).for_each(|(to, &w)| *to = w);
        }
        Ok(out)
    }

    /// The coefficients `Wγ` of the expansion on the landmarks that `γ·z(x)` is, for every row γ
    /// of `gamma` (D values each): s values an output, s x outputs row-major. \[ASSET\] section
    /// 2.4.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn expansion(&self, gamma: &[f64]) -> Result<Vec<f64>> {
        let (s, rank) = (self.n_landmarks(), self.n_outputs());
        let outputs = gamma.len() / rank;
        let weights = self.weights()?;
        let mut out = try_vec("coefficients", s.saturating_mul(outputs), 0.0)?;
        for (to, w) in out.chunks_exact_mut(outputs.max(1)).zip(weights.chunks_exact(rank)) {
            for (value, gamma) in to.iter_mut().zip(gamma.chunks_exact(rank)) {
                *value = crate::linalg::dot(w, gamma);
            }
        }
        Ok(out)
    }

    pub(super) fn block(
        &self,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        (out, width): (&mut [F], usize),
        scratch: &mut Scratch<F>,
    ) {
        let len = out.len() / width;
        let s = self.n_landmarks();
        let (landmarks, origin) = match (&self.sparse, rows) {
            (Some(plain), Rows::Csr(_)) => (&**plain, &[][..]),
            _ => (&self.dense.0, &self.dense.1[..]),
        };
        load_tile(rows, len, row, origin, &mut scratch.points);
        let stride = landmarks.padded_len();
        scratch.values.resize(len * stride, F::zero());
        let values = &mut scratch.values;
        self.kernel.values(&scratch.points, (0, len), landmarks, values, stride);
        scratch.inner.reset(s);
        scratch.inner.fill_dense(len, |i, to| to.copy_from_slice(&values[i * stride..][..s]));
        multiply(&scratch.inner, len, &self.weights, &mut scratch.padded);
        unpad(&scratch.padded, &self.weights, (out, width));
    }
}

/// Rows in the precision of `F`, moved by `origin` (empty: not moved).
fn pack<S: Real, F: Real>(rows: &[S], d: usize, origin: &[F]) -> Result<Packed<F>> {
    let mut packed = Packed::new(d)?;
    packed.extend(rows.len() / d, |i, to| {
        to.iter_mut()
            .zip(&rows[i * d..][..d])
            .for_each(|(to, v)| *to = F::from_f64(Real::to_f64(*v)));
        to.iter_mut().zip(origin).for_each(|(v, &o)| *v -= o);
    })?;
    Ok(packed)
}
