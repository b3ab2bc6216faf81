//! Products of row-major matrices, on the calling thread.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::{Accum, MatMut, MatRef, Par};

use crate::float::Real;

/// Rows of `columns` values each, one after another.
pub(crate) fn matrix<F>(rows: &[F], columns: usize) -> MatRef<'_, F> {
    MatRef::from_row_major_slice(rows, rows.len() / columns, columns)
}

/// `out = A B`, row-major.
pub(crate) fn multiply<F: Real>(out: &mut [F], a: MatRef<'_, F>, b: MatRef<'_, F>) {
    let out = MatMut::from_row_major_slice_mut(out, a.nrows(), b.ncols());
    matmul(out, Accum::Replace, a, b, F::one(), Par::Seq);
}

/// The lower triangle of `A Bᵀ`, of as many rows each, row-major; the rest of `out` stays.
pub(crate) fn multiply_lower<F: Real>(out: &mut [F], a: MatRef<'_, F>, b: MatRef<'_, F>) {
    let all = BlockStructure::Rectangular;
    triangular_matmul(
        MatMut::from_row_major_slice_mut(out, a.nrows(), b.nrows()),
        BlockStructure::TriangularLower,
        Accum::Replace,
        a,
        all,
        b.transpose(),
        all,
        F::one(),
        Par::Seq,
    );
}
