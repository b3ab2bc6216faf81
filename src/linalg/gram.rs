//! `M += Σ_i a_i a_iᵀ` over rows that arrive in batches, in `f64`.
//!
//! Products in `f32` are twice as fast, and the sum is then known to 1e-7 of itself: a Newton
//! step needs a jitter of that order, and the directions that the jitter damps hold the last per
//! cent of the objective (on ADULT 200 such steps were not enough where 8 are). They do for a
//! sketch.

use super::Tiles;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::parallel;
use crate::simd::add_rows;
use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

/// Rows of a batch: long enough for the matrix product to run at full speed, short enough for
/// an interrupt to be seen.
const BATCH: usize = 512;
/// Rows of a product in `f32` where the matrix is large: its rounding grows with them and with the
/// order, and must stay below the jitter that keeps the sum positive definite.
const DEPTH: usize = 64;
const LARGE: usize = 1024;
/// Rows that a task writes.
const TASK: usize = 32;

/// The lower triangle of a Gram matrix, in tiles that the pool fills in parallel. A tile
/// is summed by one task in the order of arrival: the bits do not depend on the thread count.
#[derive(Debug)]
pub(crate) struct GramAccumulator {
    n: usize,
    /// Rows that are multiplied together.
    batch: usize,
    /// Row-major, up to `batch` rows of n.
    pending: Vec<f64>,
    /// The same where products are in `f32`.
    pending_single: Vec<f32>,
    single: bool,
    held: usize,
    tiles: Tiles,
    /// Whether these hold anything.
    is_written: bool,
}

impl GramAccumulator {
    /// Zero, of order n. Memory: `BATCH`·n and about n²/2 numbers.
    pub(crate) fn new(n: usize) -> Result<Self> {
        Self::of(n, BATCH)
    }

    /// The same for this many rows in all.
    pub(crate) fn of(n: usize, rows: usize) -> Result<Self> {
        Ok(Self {
            n,
            batch: rows.clamp(1, BATCH),
            pending: Vec::new(),
            pending_single: Vec::new(),
            single: false,
            held: 0,
            tiles: Tiles::new(n)?,
            is_written: false,
        })
    }

    /// Back to zero. `single`: the products to come are in `f32` (batches are summed in `f64`
    /// all the same).
    pub(crate) fn clear(&mut self, single: bool) -> Result<()> {
        (self.held, self.single) = (0, single);
        if std::mem::take(&mut self.is_written) {
            self.tiles.clear();
        }
        let (what, len) = ("rows of the Hessian", self.batch * self.n);
        let (doubles, singles) = if single { (0, len) } else { (len, 0) };
        if (self.pending.len(), self.pending_single.len()) != (doubles, singles) {
            (self.pending, self.pending_single) = (Vec::new(), Vec::new());
            self.pending = try_vec(what, doubles, 0.0)?;
            self.pending_single = try_vec(what, singles, 0.0)?;
        }
        Ok(())
    }

    /// Room left in the batch, in rows.
    #[must_use]
    pub(crate) fn room(&self) -> usize {
        self.batch - self.held
    }

    /// Adds up to [`GramAccumulator::room`] rows: `row(i)` gives the i-th as its values and
    /// their common factor; values left out are the factor itself. Call
    /// [`GramAccumulator::flush`] when the room is 0.
    pub(crate) fn push<'r, F: Real>(
        &mut self,
        count: usize,
        row: impl Fn(usize) -> (&'r [F], f64) + Sync,
    ) {
        let (count, n) = (count.min(self.room()), self.n);
        if n == 0 {
            return;
        }
        let at = self.held * n..(self.held + count) * n;
        if self.single {
            write(&mut self.pending_single[at], n, &row);
        } else {
            write(&mut self.pending[at], n, &row);
        }
        self.held += count;
    }

    /// Multiplies the batch into the tiles. `between` runs now and then on the calling thread;
    /// its error ends the work.
    pub(crate) fn flush<E>(
        &mut self,
        mut between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.held == 0 {
            return Ok(());
        }
        self.is_written = true;
        let (n, size, held) = (self.n, self.tiles.size(), self.held);
        let (single, len) = (self.single, held * n);
        let (pending, pending_single) = (&self.pending, &self.pending_single);
        // About 20 ms of work at a time.
        let group = (1usize << 29).div_ceil(2 * held * size * size);
        let add = |at: (usize, usize), tile: &mut [f64]| {
            if single {
                add_product(&pending_single[..len], n, at, tile, size);
            } else {
                add_product(&pending[..len], n, at, tile, size);
            }
        };
        self.tiles.change(group, &add, &mut between)?;
        self.held = 0;
        Ok(())
    }

    /// Adds the lower triangle to that of the row-major matrix `out` of order n. Flush first.
    pub(crate) fn add_to(&self, out: &mut [f64]) {
        self.tiles.add_to(out);
    }

    /// The sum itself. Flush first.
    #[must_use]
    pub(crate) fn into_tiles(self) -> Tiles {
        self.tiles
    }
}

/// Rows of n values: those of `row(i)` times its factor, values left out the factor itself.
fn write<'r, S: Real, F: Real>(
    out: &mut [S],
    n: usize,
    row: &(dyn Fn(usize) -> (&'r [F], f64) + Sync),
) {
    parallel::each(out.chunks_mut(TASK * n), &|c, rows| {
        for (k, out) in rows.chunks_exact_mut(n).enumerate() {
            let (values, factor) = row(c * TASK + k);
            let factor = S::from_f64(factor);
            out[values.len()..].fill(factor);
            for (out, value) in out.iter_mut().zip(values) {
                *out = factor * S::from_f64((*value).to_f64());
            }
        }
    });
}

/// `tile += A_Iᵀ A_J` for two ranges of columns of the row-major `rows`.
fn add_product<F: Real>(rows: &[F], n: usize, at: (usize, usize), tile: &mut [f64], size: usize) {
    let (height, width) = (size.min(n - at.0), size.min(n - at.1));
    let mut product = vec![F::zero(); height * width];
    let depth = if n > LARGE && size_of::<F>() == size_of::<f32>() { DEPTH } else { BATCH };
    for rows in rows.chunks(depth * n) {
        let all = MatRef::from_row_major_slice(rows, rows.len() / n, n);
        let left = all.subcols(at.0, height).transpose();
        let right = all.subcols(at.1, width);
        let target = MatMut::from_column_major_slice_mut(&mut product, height, width);
        matmul(target, Accum::Replace, left, right, F::one(), Par::Seq);
        // (Whole columns lie one after another there too.)
        let columns = if height == size { width } else { 1 };
        let sums = tile.chunks_mut(columns * size).zip(product.chunks_exact(columns * height));
        sums.for_each(|(sum, columns)| add_rows(&[(columns, 1.0)], &mut sum[..columns.len()]));
    }
}
