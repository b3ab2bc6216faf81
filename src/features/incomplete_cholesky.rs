//! Pivoted incomplete Cholesky factor of the kernel matrix: landmarks chosen one by one, each the
//! row that those before it describe worst.
//!
//! ```text
//! K ≈ L Lᵀ,  L of n rows and D columns;     z(x) = L_SS^{-1} k_S(x),  z(x_i) = L_i
//! ```
//!
//! *Method* (\[FINE\], \[PRIMAL\] section 6.1).
//! 1. `rest_i = k(x_i, x_i)`.
//! 2. Pivot: the row of the largest `rest`. End when it is at most `tolerance` times the largest
//!    `k(x_i, x_i)`, or after `n_components` pivots.
//! 3. `L_ij = (k(x_i, x_p) - Σ_{l<j} L_il L_pl) / √rest_p`, `rest_i -= L_ij²`.
//!
//! *Cost* O(n D² + n D d) time, n D values of memory while it runs; the map keeps O(D d + D²).
//! *Certificate*: the largest `rest` bounds every entry of `K - LLᵀ`, and their sum is the trace
//! norm of it.

use rayon::prelude::*;

use super::landmarks::copy_rows;
use super::nystroem::LandmarkMap;
use crate::config::{Config, count, hyperparameters, share};
use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile, origin_for};
use crate::linalg::dot;
use crate::parallel::ROW_CHUNK;
use crate::simd::{Packed, Tile};
use crate::watch::Watch;

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
        let (identity, limits) = (|i: usize| i, (most, tolerance));
        let factor = factor(self.kernel, rows, (&identity, n), limits, &mut || {
            watch.unbroken(Watch::glance)?;
            Ok(true)
        })?;
        let Factor { index, lower: factor, rest, top } = factor;
        // A remainder is a square, and falls below 0 by rounding alone.
        let least = rest.iter().filter(|r| r.is_finite()).fold(0.0, |a: f64, &b| a.min(b));
        if index.is_empty() || least < -10.0 * F::epsilon().to_f64().sqrt() * top {
            return Err(Error::NotPositiveDefinite("the kernel matrix"));
        }
        let rank = index.len();
        let lower: Vec<f64> = index
            .iter()
            .flat_map(|&i| factor[i * most..][..rank].iter().map(|&v| v.to_f64()))
            .collect();
        let weights = inverse_transposed(&lower, rank);
        let map = LandmarkMap::new(self.kernel, (&copy_rows(rows, &index)?, d), &weights, rank)?;
        let pivots = Pivots {
            index,
            residual: largest(&rest).1,
            trace: rest.iter().map(|r| r.max(0.0)).sum(),
        };
        Ok((map, pivots))
    }
}

/// The factor, as far as it is made.
pub(crate) struct Factor<F> {
    /// The rows chosen, in order.
    pub(crate) index: Vec<usize>,
    /// L, with room for as many columns as were allowed.
    lower: Vec<F>,
    /// The diagonal of `K - LLᵀ`; -∞ for the rows chosen.
    rest: Vec<f64>,
    /// The largest `k(x, x)`.
    top: f64,
}

/// The factor of the `n` rows `row(0), row(1), ...`: of `most` columns, or fewer when what remains is
/// at most `tolerance` times the largest `k(x, x)`, or when `go_on`, asked after each, says no.
///
/// # Errors
/// `OutOfMemory`, those of `go_on`.
pub(crate) fn factor<F: Real>(
    kernel: AnyKernel,
    rows: &Rows<'_, F>,
    (row, n): (&(dyn Fn(usize) -> usize + Sync), usize),
    (most, tolerance): (usize, f64),
    go_on: &mut dyn FnMut() -> Result<bool>,
) -> Result<Factor<F>> {
    let d = rows.n_cols();
    let mut lower: Vec<F> =
        try_vec("incomplete Cholesky factor", n.saturating_mul(most), F::zero())?;
    // 1.
    let origin = origin_for(kernel, rows);
    let mut rest = try_vec("incomplete Cholesky factor", n, 0.0)?;
    rest.par_chunks_mut(ROW_CHUNK).enumerate().for_each_init(
        || (Tile::<F>::new(d), Vec::new()),
        |(tile, diagonal), (c, rest)| {
            load_tile(rows, rest.len(), |i| row(c * ROW_CHUNK + i), &origin, tile);
            kernel.diagonal(tile, diagonal);
            rest.copy_from_slice(diagonal);
        },
    );
    let top = rest.iter().fold(0.0, |a: f64, &b| a.max(b));
    let floor = top * tolerance;
    let mut index = Vec::new();
    let mut pivot_row = vec![0.0; most];
    let mut pivot_values = vec![F::zero(); d];
    for step in 0..most {
        // 2.
        let (pivot, value) = largest(&rest);
        if value.is_nan() || value <= floor || value <= 0.0 {
            break;
        }
        index.push(pivot);
        let root = value.sqrt();
        for (to, from) in pivot_row.iter_mut().zip(&lower[pivot * most..][..step]) {
            *to = (*from).to_f64();
        }
        rows.copy_row(row(pivot), &mut pivot_values);
        pivot_values.iter_mut().zip(&origin).for_each(|(v, &o)| *v -= o);
        let mut center = Packed::new(d)?;
        center.push(&pivot_values)?;
        // 3.
        let (pivot_row, stride) = (&pivot_row[..step], center.padded_len());
        let chunks = lower.par_chunks_mut(ROW_CHUNK * most);
        chunks.zip(rest.par_chunks_mut(ROW_CHUNK)).enumerate().for_each_init(
            || (Tile::new(d), vec![F::zero(); ROW_CHUNK * stride]),
            |(tile, values), (c, (part, rest))| {
                let len = rest.len();
                load_tile(rows, len, |i| row(c * ROW_CHUNK + i), &origin, tile);
                kernel.values(tile, (0, len), &center, values, stride);
                let lines = part.chunks_exact_mut(most).zip(values.chunks_exact(stride));
                for (k, ((line, value), rest)) in lines.zip(rest).enumerate() {
                    // A row already chosen is spanned: its remainder is 0 by construction.
                    if *rest == f64::NEG_INFINITY {
                        continue;
                    }
                    let entry = if c * ROW_CHUNK + k == pivot {
                        root
                    } else {
                        (value[0].to_f64() - dot(&line[..step], pivot_row)) / root
                    };
                    line[step] = F::from_f64(entry);
                    *rest -= entry * entry;
                }
            },
        );
        rest[pivot] = f64::NEG_INFINITY;
        if !go_on()? {
            break;
        }
    }
    Ok(Factor { index, lower, rest, top })
}

/// The first of the largest values, or `(0, 0.0)` when none is positive.
fn largest(rest: &[f64]) -> (usize, f64) {
    rest.iter().enumerate().fold((0, 0.0), |best, (j, &r)| if r > best.1 { (j, r) } else { best })
}

/// `L^{-T}` of a lower triangular row-major matrix.
fn inverse_transposed(lower: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    // Row j of L^{-T} is column j of L^{-1}: forward substitution with a unit vector.
    for (j, column) in out.chunks_exact_mut(n).enumerate() {
        for i in j..n {
            let unit = if i == j { 1.0 } else { 0.0 };
            let sum: f64 = (j..i).map(|k| lower[i * n + k] * column[k]).sum();
            column[i] = (unit - sum) / lower[i * n + i];
        }
    }
    out
}
