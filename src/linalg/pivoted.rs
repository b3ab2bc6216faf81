//! Pivoted Cholesky factor of a symmetric positive semidefinite matrix, column by column: its
//! numerical rank and the rows that span it.
//!
//! 1. `rest_i = M_ii`.
//! 2. Pivot: the row of the largest `rest`. End when it is at most `tolerance` times the largest
//!    diagonal entry, or after as many pivots as are allowed.
//! 3. `L_ij = (M_ip - Σ_{l<j} L_il L_pl) / √rest_p`, `rest_i -= L_ij²`.

use super::dot;
use crate::error::{Error, try_vec};
use crate::float::Real;
use crate::parallel;
use crate::simd::zeroed;

/// Rows of a task.
const CHUNK: usize = 64;

/// `M ≈ LLᵀ` with a column of L for every pivot.
#[derive(Clone, Debug)]
pub(crate) struct PivotedCholesky<F> {
    /// The rows chosen, in order: the largest remaining diagonal each time.
    pub(crate) pivots: Vec<usize>,
    /// The diagonal of `M - LLᵀ`; -∞ for the rows chosen.
    pub(crate) rest: Vec<f64>,
    /// L, with room for `most` columns.
    lower: Vec<F>,
    most: usize,
}

impl<F: Real> PivotedCholesky<F> {
    /// The factor of the matrix with this diagonal, of `most` columns at most. `column` writes the
    /// matrix's column of a row; `go_on` is asked after every column of the factor.
    ///
    /// Cost n·most² multiply-adds, memory n·most. Rows do not meet, so the bits do not depend on
    /// the thread count.
    pub(crate) fn new<E: From<Error>>(
        what: &'static str,
        diagonal: Vec<f64>,
        (most, tolerance): (usize, f64),
        mut column: impl FnMut(usize, &mut [F]) -> Result<(), E>,
        go_on: &mut dyn FnMut() -> Result<bool, E>,
    ) -> Result<Self, E> {
        let n = diagonal.len();
        let floor = tolerance * diagonal.iter().fold(0.0, |a: f64, &b| a.max(b));
        let mut lower: Vec<F> = zeroed(what, n.saturating_mul(most))?;
        let mut values = try_vec(what, n, F::zero())?;
        let (mut rest, mut pivots) = (diagonal, Vec::new());
        for step in 0..most {
            let (pivot, value) = largest(&rest);
            if value <= floor || value <= 0.0 {
                break;
            }
            pivots.push(pivot);
            let root = value.sqrt();
            let pivot_row: Vec<f64> =
                lower[pivot * most..][..step].iter().map(|&v| v.to_f64()).collect();
            column(pivot, &mut values)?;
            let parts = lower.chunks_mut(CHUNK * most).zip(rest.chunks_mut(CHUNK));
            parallel::each(parts, &|c, (rows, rest)| {
                for (k, (row, rest)) in rows.chunks_exact_mut(most).zip(rest).enumerate() {
                    // A row already chosen is spanned: its remainder is 0 by construction.
                    if *rest == f64::NEG_INFINITY {
                        continue;
                    }
                    let i = c * CHUNK + k;
                    let entry = if i == pivot {
                        root
                    } else {
                        (values[i].to_f64() - dot(&row[..step], &pivot_row)) / root
                    };
                    row[step] = F::from_f64(entry);
                    *rest -= entry * entry;
                }
            });
            rest[pivot] = f64::NEG_INFINITY;
            if !go_on()? {
                break;
            }
        }
        Ok(Self { pivots, rest, lower, most })
    }

    /// Columns of the factor.
    pub(crate) fn rank(&self) -> usize {
        self.pivots.len()
    }

    /// Row i of L.
    pub(crate) fn row(&self, i: usize) -> &[F] {
        &self.lower[i * self.most..][..self.rank()]
    }

    /// The largest remaining diagonal entry, or 0 when none is positive.
    pub(crate) fn residual(&self) -> f64 {
        largest(&self.rest).1
    }
}

/// [`PivotedCholesky::new`] of the n x n row-major `matrix`, of as many columns as it takes. `between`
/// runs on the calling thread after every column; its error ends the work.
pub(crate) fn pivoted_cholesky<E: From<Error>>(
    matrix: &[f64],
    n: usize,
    tolerance: f64,
    mut between: impl FnMut() -> Result<(), E>,
) -> Result<PivotedCholesky<f64>, E> {
    let diagonal = (0..n).map(|j| matrix[j * n + j]).collect();
    let column = |pivot: usize, out: &mut [f64]| {
        out.iter_mut().enumerate().for_each(|(i, to)| *to = matrix[i * n + pivot]);
        Ok(())
    };
    let go_on = &mut || between().map(|()| true);
    PivotedCholesky::new("pivoted Cholesky factor", diagonal, (n, tolerance), column, go_on)
}

/// The first of the largest values, or `(0, 0.0)` when none is positive.
fn largest(rest: &[f64]) -> (usize, f64) {
    rest.iter().enumerate().fold((0, 0.0), |best, (j, &r)| if r > best.1 { (j, r) } else { best })
}
