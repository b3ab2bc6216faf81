//! Cholesky factor of a symmetric positive definite matrix, with a growing jitter when it is
//! not quite one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::{factor, solve};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_inverse::invert_lower_triangular;
use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::reborrow::ReborrowMut;
use faer::{Accum, MatMut, MatRef, Par, Spec};

use crate::error::{Error, Result, try_square, try_vec};
use crate::parallel;
use crate::simd::zeroed;

/// Times the jitter grows (each time a hundredfold) before the factorization is given up.
pub(crate) const ATTEMPTS: usize = 8;
pub(crate) const GROWTH: f64 = 100.0;
/// Columns of a panel, and rows of a strip.
const PANEL: usize = 128;
/// Right sides that one task solves together, and tasks between two looks at the caller.
const COLUMNS: usize = 32;
const WAVE: usize = 4;
/// Up to this order a copy is not worth sharing.
const SMALL: usize = 4 * PANEL;
/// Systems of up to this order are factored and solved by plain loops: faer's dispatch and buffers
/// cost more than the arithmetic.
const MAX_UNBLOCKED_ORDER: usize = 16;
/// Numbers that are copied between two looks at the caller.
const COPIED: usize = 1 << 24;

/// `M + jitter·diag = LLᵀ`.
#[derive(Clone, Debug)]
pub(crate) struct Cholesky {
    n: usize,
    /// Row-major, the strict upper triangle is not defined.
    lower: Vec<f64>,
}

impl Cholesky {
    /// Factors the n x n row-major `matrix`, whose lower triangle alone is read.
    ///
    /// The diagonal gets `jitter · (M_jj + mean diagonal)` on top, `jitter ≥ 0`; while a pivot is
    /// not positive the jitter grows a hundredfold (from 1e-15 if it was 0). With
    /// u = 2.2e-16 the factor is backward stable; cost n³/3 multiply-adds.
    ///
    /// Panels have a fixed width and the pool updates what is right of them in fixed strips: the
    /// bits do not depend on the thread count. `between` runs on the calling thread after every
    /// panel; its error ends the work.
    ///
    /// # Errors
    /// Those of `between`; `NotPositiveDefinite`, naming `what`, when no jitter helps (NaN, large
    /// negative eigenvalues); `OutOfMemory`.
    pub(crate) fn factor<E: From<Error>>(
        what: &'static str,
        matrix: &[f64],
        n: usize,
        jitter: f64,
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        Self::with(factor_block, (what, matrix, n, jitter), between)
    }

    /// [`Cholesky::factor`] whose blocks on the diagonal are in columns, for which faer has vector
    /// code: several times as fast where the order is small, with other rounding.
    pub(crate) fn factor_small<E: From<Error>>(
        what: &'static str,
        matrix: &[f64],
        n: usize,
        jitter: f64,
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        Self::with(factor_columns, (what, matrix, n, jitter), between)
    }

    fn with<E: From<Error>>(
        of_block: OfBlock,
        (what, matrix, n, jitter): (&'static str, &[f64], usize, f64),
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let mut lower = zeroed(what, n.saturating_mul(n))?;
        let mean = (0..n).map(|j| matrix[j * n + j]).sum::<f64>() / n.max(1) as f64;
        let mut jitter = jitter;
        for _ in 0..ATTEMPTS {
            let per_look = (COPIED / n.max(1)).max(1);
            for (at, some) in lower.chunks_mut((per_look * n).max(1)).enumerate() {
                if at > 0 {
                    between()?;
                }
                // The memory is new: where it is written first the system gives it, which takes as
                // long as the copying, and is shared so.
                parallel::each_if(n > SMALL, some.chunks_mut(PANEL * n), &|strip, rows| {
                    for (row, to) in rows.chunks_exact_mut(n).enumerate() {
                        let i = at * per_look + strip * PANEL + row;
                        to[..=i].copy_from_slice(&matrix[i * n..][..=i]);
                    }
                });
            }
            for j in 0..n {
                lower[j * n + j] += jitter * (lower[j * n + j] + mean);
            }
            let factored = if n <= MAX_UNBLOCKED_ORDER {
                between()?;
                factor_unblocked(&mut lower, n)
            } else {
                factor_in_place(of_block, &mut lower, n, between)?
            };
            if factored {
                return Ok(Self { n, lower });
            }
            jitter = (jitter * GROWTH).max(1e-15);
        }
        Err(Error::NotPositiveDefinite(what).into())
    }

    /// Overwrites the right sides, each of length n, one after another, by the solutions of
    /// `(M + jitter·diag) x = rhs`.
    pub(crate) fn solve(&self, rhs: &mut [f64]) {
        let (n, count) = (self.n, rhs.len() / self.n.max(1));
        if n <= MAX_UNBLOCKED_ORDER {
            return rhs
                .chunks_exact_mut(n.max(1))
                .for_each(|side| solve_unblocked(&self.lower, side));
        }
        let lower = MatRef::from_row_major_slice(&self.lower, n, n);
        let rhs = MatMut::from_column_major_slice_mut(rhs, n, count);
        let mut memory = MemBuffer::new(solve::solve_in_place_scratch::<f64>(n, count, Par::Seq));
        solve::solve_in_place(lower, rhs, Par::Seq, MemStack::new(&mut memory));
    }

    /// The order of the matrix.
    pub(crate) fn order(&self) -> usize {
        self.n
    }

    /// The factor L, row-major; what is right of the diagonal is not defined.
    pub(crate) fn lower(&self) -> &[f64] {
        &self.lower
    }

    /// L⁻¹, row-major.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn inverse_lower(&self) -> Result<Vec<f64>> {
        let mut out = zeroed("inverse of a factor", self.n.saturating_mul(self.n))?;
        let lower = MatRef::from_row_major_slice(&self.lower, self.n, self.n);
        let to = MatMut::from_row_major_slice_mut(&mut out, self.n, self.n);
        invert_lower_triangular(to, lower, Par::Seq);
        Ok(out)
    }

    /// Overwrites right sides, one after another, by L⁻¹ times them.
    pub(crate) fn solve_lower(&self, rhs: &mut [f64]) {
        let lower = MatRef::from_row_major_slice(&self.lower, self.n, self.n);
        let count = rhs.len() / self.n.max(1);
        let rhs = MatMut::from_column_major_slice_mut(rhs, self.n, count);
        solve_lower_triangular_in_place(lower, rhs, Par::Seq);
    }

    /// Overwrites a right side by L⁻ᵀ times it.
    pub(crate) fn solve_upper(&self, rhs: &mut [f64]) {
        let lower = MatRef::from_row_major_slice(&self.lower, self.n, self.n);
        let rhs = MatMut::from_column_major_slice_mut(rhs, self.n, 1);
        solve_upper_triangular_in_place(lower.transpose(), rhs, Par::Seq);
    }

    /// [`Cholesky::solve`] of many, which the pool takes in fixed groups; `between` runs on the
    /// calling thread now and then, and its error ends the work.
    pub(crate) fn solve_columns<E>(
        &self,
        columns: &mut [f64],
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_group(columns, &|group| self.solve(group), between)
    }

    /// [`Cholesky::solve_lower`] of many, likewise.
    pub(crate) fn solve_lower_columns<E>(
        &self,
        columns: &mut [f64],
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_group(columns, &|group| self.solve_lower(group), between)
    }

    fn each_group<E>(
        &self,
        columns: &mut [f64],
        work: &(dyn Fn(&mut [f64]) + Sync),
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let group = COLUMNS * self.n.max(1);
        for wave in columns.chunks_mut(WAVE * group) {
            parallel::each(wave.chunks_mut(group), &|_, group| work(group));
            between()?;
        }
        Ok(())
    }
}

/// Factors row by row and returns whether every pivot was positive and finite.
fn factor_unblocked(lower: &mut [f64], n: usize) -> bool {
    for i in 0..n {
        let (above, row) = lower.split_at_mut(i * n);
        for j in 0..i {
            let known: f64 = (0..j).map(|k| row[k] * above[j * n + k]).sum();
            row[j] = (row[j] - known) / above[j * n + j];
        }
        let pivot = row[i] - row[..i].iter().map(|v| v * v).sum::<f64>();
        if !(pivot > 0.0 && pivot.is_finite()) {
            return false;
        }
        row[i] = pivot.sqrt();
    }
    true
}

/// Solves `L Lᵀ x = side` and overwrites the right side by x.
fn solve_unblocked(lower: &[f64], side: &mut [f64]) {
    let n = side.len();
    for i in 0..n {
        let known: f64 = (0..i).map(|k| lower[i * n + k] * side[k]).sum();
        side[i] = (side[i] - known) / lower[i * n + i];
    }
    for i in (0..n).rev() {
        let known: f64 = (i + 1..n).map(|k| lower[k * n + i] * side[k]).sum();
        side[i] = (side[i] - known) / lower[i * n + i];
    }
}

/// Whether every pivot was positive and finite.
fn factor_in_place<E: From<Error>>(
    of_block: OfBlock,
    lower: &mut [f64],
    n: usize,
    between: &mut dyn FnMut() -> std::result::Result<(), E>,
) -> std::result::Result<bool, E> {
    if n == 0 {
        return Ok(true);
    }
    // A matrix of one panel has no next one.
    let ahead = if n > PANEL { PANEL } else { 0 };
    let mut diagonal = try_square("panel of a factor", PANEL.min(n), 0.0)?;
    let mut panel: Vec<f64> = try_vec("panel of a factor", n.saturating_sub(PANEL) * PANEL, 0.0)?;
    let mut ahead = Mutex::new(try_square("panel of a factor", ahead, 0.0)?);
    let top = &mut lower[..PANEL.min(n) * n];
    if !factor_top(of_block, (top, n), 0, &mut diagonal) {
        return Ok(false);
    }
    for first in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - first);
        let left = first + width;
        let below = &mut lower[left * n..];
        // The panel below, a strip a task: X L₁₁ᵀ = A, that is L₁₁ Xᵀ = Aᵀ. A copy of it is what
        // the strips then read of each other.
        let block = MatRef::from_row_major_slice(&diagonal[..width * width], width, width);
        let panel = &mut panel[..below.len() / n * width];
        let strips = below.chunks_mut(PANEL * n).zip(panel.chunks_mut(PANEL * width));
        parallel::each(strips, &|_, (strip, copy)| {
            for (to, from) in copy.chunks_exact_mut(width).zip(strip.chunks_exact(n)) {
                to.copy_from_slice(&from[first..left]);
            }
            let rows = copy.len() / width;
            let transposed = MatMut::from_column_major_slice_mut(copy, width, rows);
            solve_lower_triangular_in_place(block, transposed, Par::Seq);
            for (from, to) in copy.chunks_exact(width).zip(strip.chunks_exact_mut(n)) {
                to[first..left].copy_from_slice(from);
            }
        });
        // Later strips are longer. The first is the next panel's top, whose block on the diagonal
        // is factored while others are at the rest: alone, it would keep all of them waiting.
        let panel = &*panel;
        let good = AtomicBool::new(true);
        parallel::each(below.chunks_mut(PANEL * n), &|s, strip| {
            let panel = &panel[..((s + 1) * PANEL * width).min(panel.len())];
            update_strip(strip, n, left, panel, width);
            if s == 0 {
                let mut ahead = ahead.lock().unwrap_or_else(PoisonError::into_inner);
                good.store(factor_top(of_block, (strip, n), left, &mut ahead), Ordering::Relaxed);
            }
        });
        if !good.into_inner() {
            return Ok(false);
        }
        std::mem::swap(&mut diagonal, ahead.get_mut().unwrap_or_else(PoisonError::into_inner));
        between()?;
    }
    Ok(true)
}

/// Factors the block on the diagonal of the rows that a panel begins with, the first column of which
/// is `first`, in place and in `block`; whether every pivot was positive and finite.
fn factor_top(
    of_block: OfBlock,
    (rows, n): (&mut [f64], usize),
    first: usize,
    block: &mut [f64],
) -> bool {
    let width = rows.len() / n;
    let block = &mut block[..width * width];
    for (to, from) in block.chunks_exact_mut(width).zip(rows.chunks_exact(n)) {
        to.copy_from_slice(&from[first..first + width]);
    }
    let good = of_block(block, width);
    for (from, to) in block.chunks_exact(width).zip(rows.chunks_exact_mut(n)) {
        to[first..first + width].copy_from_slice(from);
    }
    good
}

/// `A -= X Pᵀ` on and left of the diagonal of a strip, of which X is the last rows of P.
fn update_strip(strip: &mut [f64], n: usize, left: usize, panel: &[f64], width: usize) {
    let rows = strip.len() / n;
    let before = panel.len() / width - rows;
    let all = MatRef::from_row_major_slice(panel, before + rows, width);
    let own = all.subrows(before, rows);
    let mut target = MatMut::from_row_major_slice_mut(strip, rows, n);
    let (earlier, last) = (left, left + before);
    if before > 0 {
        let part = target.rb_mut().subcols_mut(earlier, before);
        matmul(part, Accum::Add, own, all.subrows(0, before).transpose(), -1.0, Par::Seq);
    }
    triangular_matmul(
        target.rb_mut().subcols_mut(last, rows),
        BlockStructure::TriangularLower,
        Accum::Add,
        own,
        BlockStructure::Rectangular,
        own.transpose(),
        BlockStructure::Rectangular,
        -1.0,
        Par::Seq,
    );
}

/// Factors one block on the diagonal, of which the lower triangle alone is read and written.
type OfBlock = fn(&mut [f64], usize) -> bool;

fn factor_block(block: &mut [f64], n: usize) -> bool {
    factored(MatMut::from_row_major_slice_mut(block, n, n))
}

fn factor_columns(block: &mut [f64], n: usize) -> bool {
    transpose(block, n);
    let done = factored(MatMut::from_column_major_slice_mut(block, n, n));
    transpose(block, n);
    done
}

fn transpose(block: &mut [f64], n: usize) {
    for i in 0..n {
        for j in 0..i {
            block.swap(i * n + j, j * n + i);
        }
    }
}

/// Factors in place; whether every pivot was positive and finite.
pub(super) fn factored(mut matrix: MatMut<'_, f64>) -> bool {
    let n = matrix.nrows();
    let params = Spec::<factor::LltParams, f64>::default();
    let mut memory = MemBuffer::new(factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, params));
    let done = factor::cholesky_in_place(
        matrix.rb_mut(),
        factor::LltRegularization::default(),
        Par::Seq,
        MemStack::new(&mut memory),
        params,
    )
    .is_ok();
    done && (0..n).all(|j| matrix[(j, j)].is_finite())
}
