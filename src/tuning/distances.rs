//! Blocks of distances, which serve every width, and the kernel values that they become.

use super::grid::{Grid, Shape};
use crate::data::Rows;
use crate::error::Result;
use crate::float::Real;
use crate::kernel::load_tile;
use crate::linalg;
use crate::parallel;
use crate::simd::{self, Packed, Tile};
use crate::watch::{Step, Watch};

/// Rows of a task.
pub(super) const CHUNK: usize = 64;
/// Tasks between two looks at the watch, and multiply-adds.
const WAVE: usize = 64;
const WORK_BETWEEN_LOOKS: usize = 1 << 31;

/// Packed rows of one grid, for blocks of distances.
pub(crate) fn packed<F: Real>(rows: &Grid<F>) -> Result<Packed<F>> {
    let mut set = Packed::new(rows.columns)?;
    set.extend(rows.rows(), |i, out| out.copy_from_slice(rows.row(i)))?;
    Ok(set)
}

/// Distances of some rows from all centres, padded rows into `out`'s rows.
pub(super) fn distances_of<F: Real>(
    shape: Shape,
    (rows, first): (&Grid<F>, usize),
    centers: &Packed<F>,
    (tile, padded): (&mut Tile<F>, &mut Vec<F>),
    out: &mut [F],
) -> Result<()> {
    let (m, stride) = (centers.len(), centers.padded_len());
    let len = out.len() / m.max(1);
    let all = Rows::of_slice(&rows.values, rows.columns)?;
    tile.reset(rows.columns);
    load_tile(&all, len, |i| first + i, &[], tile);
    padded.resize(len * stride, F::zero());
    shape.kernel().arguments(tile, centers, padded);
    for (to, from) in out.chunks_exact_mut(m).zip(padded.chunks_exact(stride)) {
        to.copy_from_slice(&from[..m]);
        // Rounding may take equal rows below 0, where the exponential is not defined.
        to.iter_mut().for_each(|v| *v = v.max(F::zero()));
    }
    Ok(())
}

/// D of all rows and all others, n x m.
pub(crate) fn distances<F: Real>(
    shape: Shape,
    rows: &Grid<F>,
    others: &Grid<F>,
    watch: &mut Watch<'_>,
) -> Step<Grid<F>> {
    let centers = packed(others)?;
    let mut out = Grid::zeros("distances", rows.rows(), others.rows())?;
    let m = others.rows();
    for (wave, part) in out.values.chunks_mut(WAVE * CHUNK * m).enumerate() {
        parallel::each_with(
            part.chunks_mut(CHUNK * m),
            &|| (Tile::new(rows.columns), Vec::new()),
            &|(tile, padded), at, out| {
                let first = (wave * WAVE + at) * CHUNK;
                // Rows of a grid are whole rows.
                let _ = distances_of(shape, (rows, first), &centers, (tile, padded), out);
            },
        );
        watch.glance()?;
    }
    Ok(out)
}

/// `exp(-D)` in the place of D.
pub(crate) fn into_kernel_values<F: Real>(mut distances: Grid<F>) -> Grid<F> {
    let size = CHUNK * distances.columns.max(1);
    parallel::each(distances.values.chunks_mut(size), &|_, values| {
        values.iter_mut().for_each(|v| *v = -*v);
        simd::exp_in_place(values);
    });
    distances
}

/// `exp(-γ D)`.
pub(crate) fn kernel_values(distances: &Grid, gamma: f64) -> Result<Grid> {
    let mut out = Grid::zeros("kernel values", distances.rows(), distances.columns)?;
    let size = CHUNK * distances.columns.max(1);
    let gamma = gamma as f32;
    let pairs = out.values.chunks_mut(size).zip(distances.values.chunks(size));
    parallel::each(pairs, &|_, (to, from)| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to = -gamma * from);
        simd::exp_in_place(to);
    });
    Ok(out)
}

/// `A B`, rows of A in parallel.
pub(crate) fn product(a: &Grid, b: &Grid) -> Result<Grid> {
    let mut out = Grid::zeros("a product", a.rows(), b.columns)?;
    multiply(&mut out.values, &a.values, (a.columns, b));
    Ok(out)
}

/// [`product`] of many rows, with looks at the watch.
pub(crate) fn long_product(a: &Grid, b: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
    let mut out = Grid::zeros("a product", a.rows(), b.columns)?;
    let work = a.columns.max(1) * b.columns.max(1);
    let rows = (WORK_BETWEEN_LOOKS / work).max(1).next_multiple_of(CHUNK);
    let pairs = out.values.chunks_mut(rows * b.columns.max(1));
    for (to, from) in pairs.zip(a.values.chunks(rows * a.columns.max(1))) {
        multiply(to, from, (a.columns, b));
        watch.glance()?;
    }
    Ok(out)
}

fn multiply(to: &mut [f32], from: &[f32], (columns, b): (usize, &Grid)) {
    let pairs = to.chunks_mut(CHUNK * b.columns.max(1)).zip(from.chunks(CHUNK * columns.max(1)));
    parallel::each(pairs, &|_, (to, from)| {
        let (a, b) = (linalg::matrix(from, columns), linalg::matrix(&b.values, b.columns));
        linalg::multiply(to, a, b);
    });
}
