//! Pivoted Cholesky factor of a symmetric positive semidefinite matrix: its numerical rank and
//! the rows that span it.

use rayon::prelude::*;

use super::dot64;
use crate::error::{Error, try_vec};

/// Rows of a task.
const CHUNK: usize = 64;

/// `M ≈ LLᵀ` with L of n rows and `rank` columns.
#[derive(Clone, Debug)]
pub(crate) struct PivotedCholesky {
    /// Columns of the factor.
    pub(crate) rank: usize,
    /// The rows chosen, in order: the largest remaining diagonal each time.
    #[cfg_attr(not(test), expect(dead_code, reason = "tests look at it"))]
    pub(crate) pivots: Vec<usize>,
    /// L, row-major n x rank, its rows in the order of the matrix.
    pub(crate) factor: Vec<f64>,
}

/// Factors the n x n row-major `matrix` until the largest remaining diagonal entry is at most
/// `tolerance` times the largest diagonal entry.
///
/// Cost n·rank² multiply-adds, memory n² + n·rank while it runs. `between` runs on the calling
/// thread after every column; its error ends the work. Rows do not meet, so the bits do not
/// depend on the thread count.
///
/// # Errors
/// Those of `between`; `OutOfMemory`.
pub(crate) fn pivoted_cholesky<E: From<Error>>(
    matrix: &[f64],
    n: usize,
    tolerance: f64,
    mut between: impl FnMut() -> std::result::Result<(), E>,
) -> std::result::Result<PivotedCholesky, E> {
    let mut rest: Vec<f64> = (0..n).map(|j| matrix[j * n + j]).collect();
    let floor = tolerance * rest.iter().fold(0.0, |a: f64, &b| a.max(b));
    let mut wide = try_vec("pivoted Cholesky factor", n * n, 0.0)?;
    let mut pivots = Vec::new();
    let mut pivot_row = vec![0.0; n];
    let largest = |rest: &[f64]| {
        rest.iter()
            .enumerate()
            .fold((0, 0.0), |best, (j, &r)| if r > best.1 { (j, r) } else { best })
    };
    for step in 0..n {
        let (pivot, value) = largest(&rest);
        if value <= floor || value <= 0.0 {
            break;
        }
        pivots.push(pivot);
        let root = value.sqrt();
        pivot_row[..step].copy_from_slice(&wide[pivot * n..pivot * n + step]);
        let (pivot_row, chunks) = (&pivot_row[..step], wide.par_chunks_mut(CHUNK * n));
        chunks.zip(rest.par_chunks_mut(CHUNK)).enumerate().for_each(|(c, (rows, rest))| {
            for (k, (row, rest)) in rows.chunks_exact_mut(n).zip(rest).enumerate() {
                // A row already chosen is spanned: its remainder is 0 by construction.
                if *rest == f64::NEG_INFINITY {
                    continue;
                }
                let i = c * CHUNK + k;
                let entry = if i == pivot {
                    root
                } else {
                    (matrix[i * n + pivot] - dot64(&row[..step], pivot_row)) / root
                };
                row[step] = entry;
                *rest -= entry * entry;
            }
        });
        between()?;
        rest[pivot] = f64::NEG_INFINITY;
    }
    let rank = pivots.len();
    let mut factor = try_vec("pivoted Cholesky factor", n * rank, 0.0)?;
    for i in 0..n {
        factor[i * rank..(i + 1) * rank].copy_from_slice(&wide[i * n..i * n + rank]);
    }
    Ok(PivotedCholesky { rank, pivots, factor })
}
