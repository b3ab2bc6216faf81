//! Pivoted incomplete Cholesky factor of the kernel matrix: landmarks chosen one by one, each the
//! row that those before it describe worst.
//!
//! ```text
//! K ≈ L Lᵀ,  L of n rows and D columns;     z(x) = L_SS^{-1} k_S(x),  z(x_i) = L_i
//! ```
//!
//! *Method* (\[FINE\], \[PRIMAL\] section 6.1): a pivoted Cholesky factor (`PivotedCholesky`), which
//! ends after `n_components` pivots, or where the largest diagonal entry of `K - LLᵀ` is at most
//! `tol` times the largest `k(x, x)`.
//!
//! *Cost* O(n D² + n D d) time, n D values of memory while it runs; the map keeps O(D d + D²).
//! *Certificate*: the largest `rest` bounds every entry of `K - LLᵀ`, and their sum is the trace
//! norm of it.

use super::landmarks::copy_rows;
use super::nystroem::LandmarkMap;
use crate::config::{Config, count, hyperparameters, share};
use crate::data::Rows;
use crate::error::{Error, Result, try_copy, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile, origin_for};
use crate::linalg::{PivotedCholesky, dot};
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::{Packed, Tile, zeroed};
use crate::watch::Watch;

/// Columns of the inverse between two looks at the watch.
const WAVE: usize = 64;

hyperparameters! {
    /// What an incomplete Cholesky factor is made with.
    #[derive(Copy)]
    pub struct IncompleteCholesky {
        /// The kernel.
        pub kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 };
        /// The most pivots, at least 1.
        pub n_components: usize = 100;
        /// The largest remaining diagonal entry, relative to the largest one, that ends it; in
        /// [0, 1).
        #[serde(rename = "tol")]
        pub tolerance: f64 = 1e-6;
    }
}

impl Config for IncompleteCholesky {
    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        count("n_components", self.n_components)?;
        share("tol", self.tolerance)
    }
}

/// How the factor came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Pivots {
    /// The rows chosen, in order.
    pub index: Vec<usize>,
    /// Largest diagonal entry of `K - LLᵀ`.
    pub residual: f64,
    /// Sum of the diagonal of `K - LLᵀ`.
    pub trace: f64,
}

impl IncompleteCholesky {
    /// Chooses the pivots among `rows` and makes the map.
    ///
    /// # Errors
    /// `InvalidParam`; `InvalidData` without rows; `NotPositiveDefinite` when `k(x, x)` is not
    /// positive for any row, or the kernel matrix of the rows shows not to be positive definite;
    /// `OutOfMemory`; `Interrupted`.
    pub fn fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(LandmarkMap<F>, Pivots)> {
        self.check()?;
        let (n, d) = (rows.n_rows(), rows.n_cols());
        if n == 0 || d == 0 {
            let reason = format!("{n} rows of {d} features, at least 1 of each");
            return Err(Error::InvalidData { what: "X", reason });
        }
        rows.check_finite("X")?;
        let most = self.n_components.min(n);
        // Differences of kernel values are noise below their own rounding.
        let tolerance = self.tolerance.max(8.0 * F::epsilon().to_f64());
        let what = "incomplete Cholesky factor";
        let (identity, limits) = (|i: usize| i, (most, tolerance));
        let (factor, top) = factor(self.kernel, rows, (&identity, n), limits, &mut || {
            watch.unbroken(Watch::glance)?;
            Ok(true)
        })?;
        let (rank, rest) = (factor.rank(), &factor.rest);
        // A remainder is a square, and falls below 0 by rounding alone.
        let least = rest.iter().filter(|r| r.is_finite()).fold(0.0, |a: f64, &b| a.min(b));
        if rank == 0 || least < -10.0 * F::epsilon().to_f64().sqrt() * top {
            return Err(Error::NotPositiveDefinite("the kernel matrix"));
        }
        let index = try_copy(what, &factor.pivots)?;
        let mut lower = try_vec(what, rank.saturating_mul(rank), 0.0)?;
        for (to, &i) in lower.chunks_exact_mut(rank).zip(&index) {
            to.iter_mut().zip(factor.row(i)).for_each(|(to, v)| *to = Real::to_f64(*v));
        }
        let weights = inverse_transposed(&lower, rank, watch)?;
        let map = LandmarkMap::new(self.kernel, (&copy_rows(rows, &index)?, d), &weights, rank)?;
        let pivots = Pivots {
            index,
            residual: factor.residual(),
            trace: rest.iter().map(|r| r.max(0.0)).sum(),
        };
        Ok((map, pivots))
    }
}

/// The factor of the kernel matrix of the `n` rows `row(0), row(1), ...`, and the largest `k(x, x)`:
/// of `most` columns, or fewer when what remains is at most `tolerance` times that, or when `go_on`,
/// asked after each, says no.
pub(crate) fn factor<F: Real>(
    kernel: AnyKernel,
    rows: &Rows<'_, F>,
    (row, n): (&(dyn Fn(usize) -> usize + Sync), usize),
    limits: (usize, f64),
    go_on: &mut dyn FnMut() -> Result<bool>,
) -> Result<(PivotedCholesky<F>, f64)> {
    let d = rows.n_cols();
    let what = "incomplete Cholesky factor";
    let origin = origin_for(kernel, rows)?;
    let mut diagonal = try_vec(what, n, 0.0)?;
    let buffers = || (Tile::<F>::new(d), Vec::new());
    parallel::each_with(diagonal.chunks_mut(ROW_CHUNK), &buffers, &|(tile, values), c, out| {
        load_tile(rows, out.len(), |i| row(c * ROW_CHUNK + i), &origin, tile);
        kernel.diagonal(tile, values);
        out.copy_from_slice(values);
    });
    let top = diagonal.iter().fold(0.0, |a: f64, &b| a.max(b));
    let mut pivot_values = try_vec(what, d, F::zero())?;
    let column = |pivot: usize, out: &mut [F]| {
        rows.copy_row(row(pivot), &mut pivot_values);
        pivot_values.iter_mut().zip(&origin).for_each(|(v, &o)| *v -= o);
        let mut center = Packed::new(d)?;
        center.push(&pivot_values)?;
        let stride = center.padded_len();
        let buffers = || (Tile::new(d), vec![F::zero(); ROW_CHUNK * stride]);
        parallel::each_with(out.chunks_mut(ROW_CHUNK), &buffers, &|(tile, values), c, out| {
            load_tile(rows, out.len(), |i| row(c * ROW_CHUNK + i), &origin, tile);
            kernel.values(tile, (0, out.len()), &center, values, stride);
            out.iter_mut().zip(values.iter().step_by(stride)).for_each(|(to, &k)| *to = k);
        });
        Ok(())
    };
    Ok((PivotedCholesky::new(what, diagonal, limits, column, go_on)?, top))
}

/// `L^{-T}` of a lower triangular row-major matrix.
fn inverse_transposed(lower: &[f64], n: usize, watch: &mut Watch<'_>) -> Result<Vec<f64>> {
    let mut out = zeroed("inverse of a factor", n.saturating_mul(n))?;
    // Row j of L^{-T} is column j of L^{-1}: forward substitution with a unit vector.
    for (wave, columns) in out.chunks_mut((WAVE * n).max(1)).enumerate() {
        parallel::each(columns.chunks_exact_mut(n.max(1)), &|at, column| {
            let j = wave * WAVE + at;
            for i in j..n {
                let unit = if i == j { 1.0 } else { 0.0 };
                let row = &lower[i * n..][..=i];
                column[i] = (unit - dot(&row[j..i], &column[j..i])) / row[i];
            }
        });
        watch.unbroken(Watch::glance)?;
    }
    Ok(out)
}
