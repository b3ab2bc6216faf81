//! A Cholesky factor in `f32`: what preconditions needs to be no nearer, and takes a quarter of the
//! memory to read.

use faer::linalg::triangular_solve::{
    solve_lower_triangular_in_place, solve_upper_triangular_in_place,
};
use faer::{MatMut, MatRef, Par};

use super::Tiles;
use crate::error::{Error, Result, try_square, try_vec};
use crate::parallel;
use crate::simd::{add_wide, wide_products};
use crate::watch::{Reader, Words};

/// Columns of a panel.
const PANEL: usize = 128;
/// Rows, and columns, of the factor that a task reads.
const STRIP: usize = 16;
const COLUMN_STRIP: usize = 1024;

/// L, in panels of rows that end with the panel's block on the diagonal.
#[derive(Clone, Debug)]
pub(crate) struct Single {
    n: usize,
    panels: Vec<Vec<f32>>,
    /// The panels' blocks on the diagonal once more, in `f64`: every solution reads them twice.
    blocks: Vec<Vec<f64>>,
}

/// The block on the diagonal of a panel.
fn square(panel: &[f32], (first, width): (usize, usize)) -> Result<Vec<f64>> {
    let mut square = try_square("preconditioner", width, 0.0)?;
    let rows = panel.chunks_exact(first + width).zip(square.chunks_exact_mut(width));
    rows.for_each(|(from, to)| {
        to.iter_mut().zip(&from[first..]).for_each(|(to, &v)| *to = f64::from(v));
    });
    Ok(square)
}

/// Whether a panel's part of a solution is worth the pool.
fn worth(p: usize) -> bool {
    parallel::MIN_PARALLEL_BLOCK <= p * PANEL * PANEL
}

impl Single {
    /// The factor rounded, from its tiles; `between` runs on the calling thread after every panel, and
    /// its error ends the work.
    pub(crate) fn new<E: From<Error>>(
        factor: &Tiles,
        mut between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let n = factor.order();
        let mut panels = Vec::with_capacity(n.div_ceil(PANEL));
        let mut blocks = Vec::with_capacity(n.div_ceil(PANEL));
        for first in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - first);
            let stride = first + width;
            let mut panel = try_vec("preconditioner", width * stride, 0.0)?;
            parallel::each(panel.chunks_mut(STRIP * stride), &|strip, rows| {
                factor.copy_rows(first + strip * STRIP, rows, stride);
            });
            blocks.push(square(&panel, (first, width))?);
            panels.push(panel);
            between()?;
        }
        Ok(Self { n, panels, blocks })
    }

    /// For a checkpoint.
    pub(crate) fn put(&self, words: &mut Words) {
        words.put(self.n as u64);
        for panel in &self.panels {
            let two = |pair: &[f32]| {
                let bits = |at: usize| u64::from(pair.get(at).map_or(0, |v| v.to_bits()));
                bits(0) << 32 | bits(1)
            };
            words.put_all(panel.chunks(2).map(two));
        }
    }

    /// What [`Single::put`] put, of so many unknowns.
    pub(crate) fn read(n: usize, reader: &mut Reader) -> Result<Self> {
        if reader.take_count(n)? != n {
            return Err(Reader::bad());
        }
        let (mut panels, mut blocks) = (Vec::new(), Vec::new());
        for first in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - first);
            let size = width * (first + width);
            let words = reader.take_all()?;
            if words.len() != size.div_ceil(2) {
                return Err(Reader::bad());
            }
            let both = words.iter().flat_map(|&two| [(two >> 32) as u32, two as u32]);
            let panel: Vec<f32> = both.take(size).map(f32::from_bits).collect();
            blocks.push(square(&panel, (first, width))?);
            panels.push(panel);
        }
        Ok(Self { n, panels, blocks })
    }

    /// Where the rows of a panel end.
    fn stride(&self, p: usize) -> usize {
        (p * PANEL + PANEL).min(self.n)
    }

    /// Overwrites a right side by `L⁻ᵀ L⁻¹` times it, in `f64`, by the pool where the matrix is large:
    /// two passes over the factor, cut into fixed parts.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.solve_lower(x);
        self.solve_upper(x);
    }

    /// By `L⁻¹` times it.
    fn solve_lower(&self, x: &mut [f64]) {
        for (p, panel) in self.panels.iter().enumerate() {
            let (first, stride) = (p * PANEL, self.stride(p));
            let (known, rest) = x.split_at_mut(first);
            let target = &mut rest[..stride - first];
            let parts = target.chunks_mut(STRIP).zip(panel.chunks(STRIP * stride));
            parallel::each_if(worth(p), parts, &|_, (target, rows)| {
                let rows: Vec<&[f32]> =
                    rows.chunks_exact(stride).map(|row| &row[..first]).collect();
                let mut products = [0.0; STRIP];
                let products = &mut products[..rows.len()];
                wide_products(&rows, known, products);
                target.iter_mut().zip(products).for_each(|(x, product)| *x -= *product);
            });
            let width = stride - first;
            let block = MatRef::from_row_major_slice(&self.blocks[p], width, width);
            let target = MatMut::from_column_major_slice_mut(target, width, 1);
            solve_lower_triangular_in_place(block, target, Par::Seq);
        }
    }

    /// By `L⁻ᵀ` times it.
    pub(crate) fn solve_upper(&self, x: &mut [f64]) {
        for (p, panel) in self.panels.iter().enumerate().rev() {
            let (first, stride) = (p * PANEL, self.stride(p));
            let (others, rest) = x.split_at_mut(first);
            let target = &mut rest[..stride - first];
            let width = stride - first;
            let block = MatRef::from_row_major_slice(&self.blocks[p], width, width);
            let column = MatMut::from_column_major_slice_mut(&mut *target, width, 1);
            solve_upper_triangular_in_place(block.transpose(), column, Par::Seq);
            let by: Vec<f64> = target.iter().map(|x| -x).collect();
            parallel::each_if(worth(p), others.chunks_mut(COLUMN_STRIP), &|part, others| {
                let from = part * COLUMN_STRIP;
                let rows = panel.chunks_exact(stride);
                let rows: Vec<&[f32]> = rows.map(|row| &row[from..][..others.len()]).collect();
                add_wide(&rows, &by, others);
            });
        }
    }
}
