//! Least squares on landmarks: every λ and the exact leave-one-out residuals from one decomposition.
//!
//! ```text
//! (KᵀCK/n + λ K_mm) a = KᵀCY/n,      K n x m kernel values, C the weights (of mean 1), Y centred
//! ```
//!
//! # Method
//!
//! 1. `K_mm + jitter = LLᵀ`, `P = C^½ K L⁻ᵀ`: the ridge becomes λ times the identity.
//! 2. `PᵀP/n = V diag(e) Vᵀ`, rows `q_i = Vᵀ p_i`.
//! 3. For every λ: `f = Q diag(1/(e + λ)) QᵀY/n`, `H_ii = Σ_j q_ij²/(e_j + λ)/n + c_i/n`.
//! 4. Left out, row i is missed by `(y_i - f_i)/(1 - H_ii)`. Landmarks are fitted with their own
//!    kernel columns, so they do not count in the criterion.
//!
//! *Cost* `O(n m² + m³)`, whatever the number of λ.

use super::distances::{CHUNK, product};
use super::grid::Grid;
use super::recipe::{JITTER, LAMBDA_STEP, LAMBDAS, LEAST_LEFT};
use crate::error::try_square;
use crate::linalg::{self, Cholesky, GramAccumulator, symmetric_eigen};
use crate::parallel;
use crate::watch::{Step, Watch};

/// What is to be fitted: values, n x q, their weights, and how many of the first rows are landmarks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sought<'a> {
    /// Centred by their weighted means.
    pub(crate) values: &'a Grid,
    /// Of mean 1.
    pub(crate) weights: &'a [f64],
    /// The first rows.
    pub(crate) landmarks: usize,
}

/// The best λ.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    /// Leave-one-out error as a share of the variance.
    pub(crate) error: f64,
    /// λ.
    pub(crate) lambda: f64,
    /// All that were tried, and their errors.
    pub(crate) lambdas: Vec<f64>,
    pub(crate) errors: Vec<f64>,
    /// a, m x q.
    pub(crate) coef: Grid,
}

/// The λ tried.
pub(crate) fn lambdas() -> Vec<f64> {
    let steps = ((LAMBDAS.1 - LAMBDAS.0) / LAMBDA_STEP) as usize;
    (0..=steps).map(|i| 10f64.powf(LAMBDAS.0 + LAMBDA_STEP * i as f64)).collect()
}

/// `L⁻ᵀ` of `K_mm + jitter = LLᵀ`, m x m.
pub(crate) fn whitening(k_mm: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
    let m = k_mm.rows();
    let matrix: Vec<f64> = k_mm.values.iter().map(|&v| f64::from(v)).collect();
    let ask = &mut || watch.glance();
    let what = "kernel matrix of the landmarks";
    let inverse = Cholesky::factor_small(what, &matrix, m, JITTER, ask)?.inverse_lower()?;
    drop(matrix);
    let mut out = Grid::zeros("whitening", m, m)?;
    for (j, row) in inverse.chunks_exact(m.max(1)).enumerate() {
        row[..=j].iter().enumerate().for_each(|(i, &v)| out.values[i * m + j] = v as f32);
    }
    watch.glance()?;
    Ok(out)
}

/// `AᵀA` of the rows times the roots of their weights, in `f64`, full.
pub(crate) fn gram(rows: &Grid, roots: Option<&[f64]>, watch: &mut Watch<'_>) -> Step<Vec<f64>> {
    let m = rows.columns;
    let mut sums = GramAccumulator::new(m)?;
    sums.clear(true)?;
    let mut first = 0;
    while first < rows.rows() {
        let count = sums.room().min(rows.rows() - first);
        let root = |i: usize| roots.map_or(1.0, |roots| roots[first + i]);
        sums.push(count, |i| (rows.row(first + i), root(i)));
        sums.flush(|| watch.glance())?;
        first += count;
    }
    let mut out = try_square("a Gram matrix", m, 0.0)?;
    sums.add_to(&mut out);
    for i in 0..m {
        for j in 0..i {
            out[j * m + i] = out[i * m + j];
        }
    }
    Ok(out)
}

/// `AᵀB` with weights, m x q, summed over chunks of rows in their order.
pub(crate) fn cross(a: &Grid, b: &Grid, weights: Option<&[f64]>) -> Vec<f64> {
    let (m, q) = (a.columns, b.columns);
    let size = 4 * CHUNK;
    let parts = parallel::map(a.rows().div_ceil(size), &|c| {
        let (first, last) = (c * size, ((c + 1) * size).min(a.rows()));
        let mut right = b.values[first * q..last * q].to_vec();
        if let Some(weights) = weights {
            for (row, c) in right.chunks_exact_mut(q).zip(&weights[first..last]) {
                row.iter_mut().for_each(|v| *v *= *c as f32);
            }
        }
        let mut sums = vec![0.0f32; m * q];
        let left = linalg::matrix(&a.values[first * m..last * m], m).transpose();
        linalg::multiply(&mut sums, left, linalg::matrix(&right, q));
        sums
    });
    let mut out = vec![0.0; m * q];
    for part in parts {
        out.iter_mut().zip(part).for_each(|(sum, v)| *sum += f64::from(v));
    }
    out
}

/// `M⁻¹` times the columns of `right`, m x q, of the factor of M.
pub(crate) fn solved(factor: &Cholesky, mut right: Vec<f64>, q: usize) -> Vec<f64> {
    let m = factor.order();
    let mut columns = vec![0.0; m * q];
    for (j, row) in right.chunks_exact(q).enumerate() {
        row.iter().enumerate().for_each(|(c, &v)| columns[c * m + j] = v);
    }
    factor.solve(&mut columns);
    for (j, row) in right.chunks_exact_mut(q).enumerate() {
        row.iter_mut().enumerate().for_each(|(c, v)| *v = columns[c * m + j]);
    }
    right
}

impl Reduced {
    /// Fits `sought` to the kernel values K (n x m) and K_mm (m x m).
    ///
    /// # Errors
    /// What the watch says; `OutOfMemory`; `NotPositiveDefinite` for values that are not finite.
    pub(crate) fn fit(
        k: &Grid,
        k_mm: &Grid,
        sought: &Sought<'_>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (n, m, q) = (k.rows(), k.columns, sought.values.columns);
        let share = 1.0 / n as f64;
        // 1.
        let inverse = whitening(k_mm, watch)?;
        let p = product(k, &inverse)?;
        // 2.
        let roots: Vec<f64> = sought.weights.iter().map(|c| (c * share).sqrt()).collect();
        let matrix = gram(&p, Some(&roots), watch)?;
        let eigen = symmetric_eigen("leave-one-out", matrix, m, || watch.glance())?;
        let values: Vec<f64> = eigen.values.iter().map(|e| e.max(0.0)).collect();
        let vectors = Grid::of_doubles(&eigen.vectors, m);
        let rotated = product(&p, &vectors)?;
        let right = cross(&rotated, sought.values, Some(sought.weights));
        // 3.
        let tried = lambdas();
        let count = tried.len();
        let mut coefs = Grid::zeros("coefficients", m, count * q)?;
        let mut shrunk = Grid::zeros("coefficients", m, count)?;
        for j in 0..m {
            for (l, lambda) in tried.iter().enumerate() {
                let by = share / (values[j] + lambda);
                shrunk.values[j * count + l] = by as f32;
                for c in 0..q {
                    coefs.values[(j * count + l) * q + c] = (by * right[j * q + c]) as f32;
                }
            }
        }
        let errors = errors(&rotated, (&coefs, &shrunk), sought, count);
        watch.glance()?;
        // 4.
        let best = (0..count).min_by(|&a, &b| errors[a].total_cmp(&errors[b])).unwrap_or(0);
        let mut own = Grid::zeros("coefficients", m, q)?;
        for j in 0..m {
            let from = &coefs.values[(j * count + best) * q..][..q];
            own.values[j * q..][..q].copy_from_slice(from);
        }
        let coef = product(&inverse, &product(&vectors, &own)?)?;
        let (error, lambda) = (errors[best], tried[best]);
        Ok(Self { error, lambda, lambdas: tried, errors, coef })
    }
}

/// Leave-one-out errors for every λ as shares of the variance.
fn errors(
    rotated: &Grid,
    (coefs, shrunk): (&Grid, &Grid),
    sought: &Sought<'_>,
    count: usize,
) -> Vec<f64> {
    let (n, m, q) = (rotated.rows(), rotated.columns, sought.values.columns);
    // With few rows all count, or none would.
    let first = if 2 * n > 3 * sought.landmarks { sought.landmarks } else { 0 };
    let parts = parallel::map((n - first).div_ceil(CHUNK), &|c| {
        let (from, to) = (first + c * CHUNK, (first + (c + 1) * CHUNK).min(n));
        let rows = &rotated.values[from * m..to * m];
        let mut fitted = vec![0.0f32; (to - from) * count * q];
        let coefs = linalg::matrix(&coefs.values, coefs.columns);
        linalg::multiply(&mut fitted, linalg::matrix(rows, m), coefs);
        let squares: Vec<f32> = rows.iter().map(|v| v * v).collect();
        let mut leverage = vec![0.0f32; (to - from) * count];
        let shrunk = linalg::matrix(&shrunk.values, count);
        linalg::multiply(&mut leverage, linalg::matrix(&squares, m), shrunk);
        let mut sums = vec![0.0f64; count + 1];
        let each = fitted.chunks_exact(count * q).zip(leverage.chunks_exact(count));
        for (i, (fitted, leverage)) in (from..to).zip(each) {
            let (y, weight) = (sought.values.row(i), sought.weights[i]);
            sums[count] += weight * y.iter().map(|&y| f64::from(y).powi(2)).sum::<f64>();
            for (l, row) in fitted.chunks_exact(q).enumerate() {
                let own = weight * f64::from(leverage[l]) + weight / n as f64;
                let left = (1.0 - own).max(LEAST_LEFT);
                let square: f64 = row.iter().zip(y).map(|(&f, &y)| f64::from(y - f).powi(2)).sum();
                sums[l] += weight * square / (left * left);
            }
        }
        sums
    });
    let mut sums = vec![0.0; count + 1];
    for part in parts {
        sums.iter_mut().zip(part).for_each(|(s, p)| *s += p);
    }
    let variance = sums.pop().filter(|v| *v > 0.0).unwrap_or(1.0);
    sums.into_iter().map(|sum| sum / variance).collect()
}
