//! Cholesky factor of a symmetric positive definite matrix, with a growing jitter when it is
//! not quite one.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, solve};
use faer::{MatMut, MatRef, Par, Spec};

use crate::error::{Error, Result, try_vec};

/// Times the jitter grows (each time a hundredfold) before the factorization is given up.
const ATTEMPTS: usize = 8;
const GROWTH: f64 = 100.0;

/// `M + jitter·diag = LLᵀ`.
#[derive(Clone, Debug)]
pub struct Cholesky {
    n: usize,
    /// Row-major, the strict upper triangle is not defined.
    lower: Vec<f64>,
    jitter: f64,
}

impl Cholesky {
    /// Factors the n x n row-major `matrix`, whose lower triangle alone is read.
    ///
    /// The diagonal gets `jitter · (M_jj + mean diagonal)` on top, `jitter ≥ 0`; while a pivot is
    /// not positive the jitter grows a hundredfold (from 1e-15 if it was 0). With
    /// u = 2.2e-16 the factor is backward stable; cost n³/3 multiply-adds.
    ///
    /// # Errors
    /// `NotPositiveDefinite`, naming `what`, when no jitter helps (NaN, large negative
    /// eigenvalues); `OutOfMemory`.
    pub fn factor(what: &'static str, matrix: &[f64], n: usize, jitter: f64) -> Result<Self> {
        let mut lower = try_vec(what, n * n, 0.0)?;
        let mean = (0..n).map(|j| matrix[j * n + j]).sum::<f64>() / n.max(1) as f64;
        let mut jitter = jitter;
        for _ in 0..ATTEMPTS {
            lower.copy_from_slice(matrix);
            for j in 0..n {
                lower[j * n + j] += jitter * (lower[j * n + j] + mean);
            }
            if factor_in_place(&mut lower, n) {
                return Ok(Self { n, lower, jitter });
            }
            jitter = (jitter * GROWTH).max(1e-15);
        }
        Err(Error::NotPositiveDefinite(what))
    }

    /// The jitter that was used.
    #[must_use]
    pub fn jitter(&self) -> f64 {
        self.jitter
    }

    /// Order of the matrix.
    #[must_use]
    pub fn order(&self) -> usize {
        self.n
    }

    /// Overwrites `rhs` (length n) by the solution of `(M + jitter·diag) x = rhs`.
    pub fn solve(&self, rhs: &mut [f64]) {
        let lower = MatRef::from_row_major_slice(&self.lower, self.n, self.n);
        let rhs = MatMut::from_column_major_slice_mut(rhs, self.n, 1);
        let mut memory = MemBuffer::new(solve::solve_in_place_scratch::<f64>(self.n, 1, Par::Seq));
        solve::solve_in_place(lower, rhs, Par::Seq, MemStack::new(&mut memory));
    }
}

/// Whether every pivot was positive and finite.
fn factor_in_place(lower: &mut [f64], n: usize) -> bool {
    let params = Spec::<factor::LltParams, f64>::default();
    let mut memory = MemBuffer::new(factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
    let matrix = MatMut::from_row_major_slice_mut(lower, n, n);
    let done = factor::cholesky_in_place(
        matrix,
        factor::LltRegularization::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        params,
    )
    .is_ok();
    done && (0..n).all(|j| lower[j * n + j].is_finite())
}
