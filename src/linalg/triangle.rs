//! The lower triangle of a symmetric matrix, row after row: what files hold of it.

use crate::error::{Result, try_square};

/// That of a row-major matrix of order n.
pub(crate) fn lower(matrix: &[f64], n: usize) -> impl Iterator<Item = f64> + '_ {
    let rows = matrix.chunks_exact(n.max(1)).enumerate();
    rows.flat_map(|(i, row)| row[..=i].iter().copied())
}

/// All of a matrix of order n, of which this is the lower triangle.
///
/// # Errors
/// `OutOfMemory`, naming `what`.
pub(crate) fn mirrored(what: &'static str, lower: &[f64], n: usize) -> Result<Vec<f64>> {
    let mut out = try_square(what, n, 0.0)?;
    let mut values = lower.iter();
    for i in 0..n {
        for (j, value) in (0..=i).zip(&mut values) {
            (out[i * n + j], out[j * n + i]) = (*value, *value);
        }
    }
    Ok(out)
}
