//! The lower triangle of a symmetric matrix in square tiles, and its Cholesky factor in their place:
//! half the memory of a square matrix, and no second one while it is factored.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, MatMut, MatRef, Par};

use super::cholesky::factored;
use crate::error::{Error, Result, try_vec};
use crate::parallel;
use crate::simd::touched;

/// Tiles that something is added to between two looks at the caller.
const ADDED: usize = 1 << 10;
/// Numbers that a task clears.
const CLEARED: usize = 1 << 18;

/// Tiles (I, J), J ≤ I, one after another, each in columns; what is beyond the order is 0.
#[derive(Debug)]
pub(crate) struct Tiles {
    n: usize,
    size: usize,
    values: Vec<f64>,
    /// Where each begins.
    corners: Vec<(usize, usize)>,
}

/// Changes the tile that begins there.
type Change<'c> = dyn Fn((usize, usize), &mut [f64]) + Sync + 'c;

impl Tiles {
    /// Zero, of order n. Memory: about n²/2 numbers.
    pub(crate) fn new(n: usize) -> Result<Self> {
        let size = if n <= 256 { 64 } else { 128 };
        let corners: Vec<_> = (0..n.div_ceil(size))
            .flat_map(|i| (0..=i).map(move |j| (i * size, j * size)))
            .collect();
        let len = corners.len() * size * size;
        let values = touched("Hessian", len, &mut || Ok::<_, Error>(()))?;
        Ok(Self { n, size, values, corners })
    }

    /// The order of the matrix.
    #[must_use]
    pub(crate) fn order(&self) -> usize {
        self.n
    }

    /// Rows, and columns, of a tile.
    #[must_use]
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Back to zero.
    pub(crate) fn clear(&mut self) {
        parallel::each(self.values.chunks_mut(CLEARED), &|_, part| part.fill(0.0));
    }

    /// Up to `group` tiles at a time: where each begins, to be changed by the pool. `between` runs after
    /// every group, on the calling thread; its error ends the work.
    pub(crate) fn change<E>(
        &mut self,
        group: usize,
        work: &Change<'_>,
        mut between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let area = self.size * self.size;
        let corners = self.corners.chunks(group.max(1));
        for (tiles, corners) in self.values.chunks_mut(group.max(1) * area).zip(corners) {
            parallel::each(tiles.chunks_mut(area), &|t, tile| work(corners[t], tile));
            between()?;
        }
        Ok(())
    }

    /// Adds `value(i, j)` to the lower triangle; `between` as for [`Tiles::change`].
    pub(crate) fn add<E>(
        &mut self,
        value: &(dyn Fn(usize, usize) -> f64 + Sync),
        between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (n, size) = (self.n, self.size);
        let add = |(i0, j0): (usize, usize), tile: &mut [f64]| {
            for i in i0..(i0 + size).min(n) {
                for j in j0..(j0 + size).min(i + 1) {
                    tile[(j - j0) * size + i - i0] += value(i, j);
                }
            }
        };
        self.change(ADDED, &add, between)
    }

    /// The rows from `first` on that `out` has room for, `stride` values each, as far as the diagonal.
    pub(crate) fn copy_rows(&self, first: usize, out: &mut [f32], stride: usize) {
        let size = self.size;
        for (i, row) in (first..).zip(out.chunks_exact_mut(stride)) {
            let at = i / size;
            for (j, to) in row.iter_mut().enumerate().take(i + 1) {
                let tile = at * (at + 1) / 2 + j / size;
                *to = self.values[(tile * size + j % size) * size + i % size] as f32;
            }
        }
    }

    /// Adds the lower triangle to that of the row-major matrix `out` of order n.
    pub(crate) fn add_to(&self, out: &mut [f64]) {
        let (n, size) = (self.n, self.size);
        for (tile, &(i0, j0)) in self.values.chunks_exact(size * size).zip(&self.corners) {
            for i in i0..(i0 + size).min(n) {
                for j in j0..(j0 + size).min(i + 1) {
                    out[i * n + j] += tile[(j - j0) * size + i - i0];
                }
            }
        }
    }

    /// Puts `jitter · (M_jj + mean diagonal)` on the diagonal and L, `M + jitter·diag = LLᵀ`, in the
    /// place of M; whether every pivot was positive and finite. The bits do not depend on the thread
    /// count.
    ///
    /// *Cost* n³/3 multiply-adds; a column of tiles is copied.
    pub(crate) fn factor<E: From<Error>>(
        &mut self,
        jitter: f64,
        mut between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<bool, E> {
        let (n, size) = (self.n, self.size);
        let area = size * size;
        let on_diagonal = |j: usize| {
            let at = j / size;
            ((at * (at + 3) / 2) * size + j % size) * size + j % size
        };
        let mean = (0..n).map(|j| self.values[on_diagonal(j)]).sum::<f64>() / n.max(1) as f64;
        for j in 0..n {
            let value = &mut self.values[on_diagonal(j)];
            *value += jitter * (*value + mean);
        }
        let count = n.div_ceil(size);
        let mut panel = try_vec("panel of a factor", count.saturating_sub(1) * area, 0.0)?;
        let mut block = Vec::with_capacity(area);
        for k in 0..count {
            let width = size.min(n - k * size);
            let (before, after) = self.values.split_at_mut((k + 1) * (k + 2) / 2 * area);
            let own = before.len() - area;
            let diagonal = &mut before[own..];
            block.clear();
            block.extend(diagonal.chunks_exact(size).take(width).flat_map(|c| &c[..width]));
            if !factored(MatMut::from_column_major_slice_mut(&mut block, width, width)) {
                return Ok(false);
            }
            let columns = diagonal.chunks_exact_mut(size).zip(block.chunks_exact(width));
            columns.for_each(|(to, from)| to[..width].copy_from_slice(from));
            // The tiles below: X Lᵀ = A, that is L Xᵀ = Aᵀ.
            let lower = MatRef::from_column_major_slice(&block, width, width);
            let first = before_row(k + 1);
            let corners = &self.corners[first..];
            parallel::each(after.chunks_mut(area), &|t, tile| {
                if corners[t].1 == k * size {
                    let tile = MatMut::from_column_major_slice_mut(tile, size, size);
                    let own = tile.subcols_mut(0, width);
                    solve_lower_triangular_in_place(lower, own.transpose_mut(), Par::Seq);
                }
            });
            for (i, copy) in (k + 1..count).zip(panel.chunks_exact_mut(area)) {
                let at = (before_row(i) + k - first) * area;
                copy.copy_from_slice(&after[at..at + area]);
            }
            let panel = &panel;
            parallel::each(after.chunks_mut(area), &|t, tile| {
                let (i, j) = (corners[t].0 / size, corners[t].1 / size);
                if j > k {
                    let part = |at: usize| {
                        let values = &panel[(at - k - 1) * area..(at - k) * area];
                        MatRef::from_column_major_slice(values, size, size).subcols(0, width)
                    };
                    let target = MatMut::from_column_major_slice_mut(tile, size, size);
                    matmul(target, Accum::Add, part(i), part(j).transpose(), -1.0, Par::Seq);
                }
            });
            between()?;
        }
        Ok(true)
    }
}

/// Tiles before the first one of row I.
fn before_row(i: usize) -> usize {
    i * (i + 1) / 2
}
