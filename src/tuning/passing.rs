//! Products with the kernel values of many rows and some landmarks, which are made again every time
//! where they are too many to be kept.

use super::distances::{CHUNK, distances_of, packed};
use super::grid::{Grid, Shape};
use crate::error::{Result, try_vec};
use crate::linalg;
use crate::parallel;
use crate::simd::{self, Packed, Tile, zeroed};
use crate::watch::{Step, Watch};

/// Rows of a task, whose kernel values stay near the processor, and tasks between two looks at the
/// watch.
const TASK: usize = 4 * CHUNK;
const TASKS: usize = 16;
/// Kernel values that are kept, at most: those of all rows with all of the largest exact machine.
const KEPT: usize = 1 << 28;

/// `K` of rows, which count so much each, and landmarks; memory for products with q columns.
pub(super) struct Passing<'a> {
    shape: Shape,
    rows: &'a Grid,
    weights: &'a [f64],
    landmarks: Packed<f32>,
    q: usize,
    blocks: Vec<Block>,
    /// All kernel values, or none; whether they have been made.
    kept: Vec<f32>,
    made: bool,
}

/// Right sides of the rows from one on, by their kernel values.
type Fill<'a> = dyn Fn(usize, &[f32], &mut [f32]) + Sync + 'a;

/// What a task has: its rows' kernel values, what of them is summed, and the sums.
struct Block {
    tile: Tile<f32>,
    padded: Vec<f32>,
    values: Vec<f32>,
    right: Vec<f32>,
    sums: Vec<f32>,
}

impl<'a> Passing<'a> {
    pub(super) fn new(
        shape: Shape,
        (rows, landmarks): (&'a Grid, &Grid),
        (weights, q): (&'a [f64], usize),
    ) -> Result<Self> {
        Self::keeping(KEPT, shape, (rows, landmarks), (weights, q))
    }

    /// [`Passing::new`] that keeps so many values at most.
    fn keeping(
        most: usize,
        shape: Shape,
        (rows, landmarks): (&'a Grid, &Grid),
        (weights, q): (&'a [f64], usize),
    ) -> Result<Self> {
        let (landmarks, d) = (packed(landmarks)?, rows.columns);
        let (m, stride) = (landmarks.len(), landmarks.padded_len());
        let all = rows.rows().saturating_mul(m);
        let kept = zeroed("kernel values", if all <= most { all } else { 0 })?;
        let own = if kept.is_empty() { TASK * m } else { 0 };
        let blocks = (0..TASKS.min(rows.rows().div_ceil(TASK))).map(|_| {
            Ok(Block {
                tile: Tile::new(d),
                padded: try_vec("kernel values", CHUNK * stride, 0.0)?,
                values: try_vec("kernel values", own, 0.0)?,
                right: try_vec("values", TASK * q, 0.0)?,
                sums: try_vec("sums", m * q, 0.0)?,
            })
        });
        let blocks = blocks.collect::<Result<_>>()?;
        Ok(Self { shape, rows, weights, landmarks, q, blocks, kept, made: false })
    }

    /// `KᵀCY/n`.
    pub(super) fn of_values(&mut self, values: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
        let q = self.q;
        self.sum(watch, &|first, _, right| {
            right.copy_from_slice(&values.values[first * q..][..right.len()]);
        })
    }

    /// `KᵀCKa/n`.
    pub(super) fn twice(&mut self, a: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
        let (m, q) = (self.landmarks.len(), self.q);
        self.sum(watch, &|_, k, right| {
            let parts = right.chunks_mut(CHUNK * q).zip(k.chunks(CHUNK * m));
            parts.for_each(|(to, from)| {
                linalg::multiply(to, linalg::matrix(from, m), linalg::matrix(&a.values, q));
            });
        })
    }

    /// `KᵀCR/n` for the R that `fill` makes.
    fn sum(&mut self, watch: &mut Watch<'_>, fill: &Fill<'_>) -> Step<Grid> {
        let Self { shape, rows, weights, ref landmarks, q, ref mut blocks, ref mut kept, made } =
            *self;
        let (n, m) = (rows.rows(), landmarks.len());
        let mut sums = try_vec("sums", m * q, 0.0)?;
        for begin in (0..n).step_by(TASKS * TASK) {
            let end = (begin + TASKS * TASK).min(n);
            let used = &mut blocks[..(end - begin).div_ceil(TASK)];
            let before = (begin * m).min(kept.len());
            let mut panels = kept[before..].chunks_mut(TASK * m);
            let tasks = used.iter_mut().map(|block| (block, panels.next()));
            parallel::each(tasks, &|at, (block, panel)| {
                let first = begin + at * TASK;
                let last = (first + TASK).min(end);
                let Block { tile, padded, values, right, sums } = block;
                let k = &mut panel.unwrap_or(values)[..(last - first) * m];
                let right = &mut right[..(last - first) * q];
                let unknown = if made { 0 } else { k.len() };
                for (at, k) in k[..unknown].chunks_mut(CHUNK * m).enumerate() {
                    // Rows of a grid are whole rows.
                    let from = (rows, first + at * CHUNK);
                    let _ = distances_of(shape, from, landmarks, (tile, padded), k);
                    k.iter_mut().for_each(|v| *v = -*v);
                    simd::exp_in_place(k);
                }
                fill(first, k, right);
                for (row, c) in right.chunks_exact_mut(q).zip(&weights[first..last]) {
                    row.iter_mut().for_each(|v| *v *= *c as f32);
                }
                let left = linalg::matrix(k, m).transpose();
                linalg::multiply(sums, left, linalg::matrix(right, q));
            });
            for block in used {
                sums.iter_mut().zip(&block.sums).for_each(|(sum, &v)| *sum += f64::from(v));
            }
            watch.glance()?;
        }
        self.made = !self.kept.is_empty();
        sums.iter_mut().for_each(|sum| *sum /= n as f64);
        Ok(Grid::of_doubles(&sums, q))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn products_of_many_panels_are_those_of_all_rows() {
        let (n, m, q, d) = (TASKS * TASK + 2 * TASK + CHUNK + 7, 5, 2, 3);
        let mut rng = Rng::new(4);
        let mut random = |rows: usize, columns: usize| -> Grid {
            Grid { values: (0..rows * columns).map(|_| rng.normal() as f32).collect(), columns }
        };
        let (rows, landmarks, values, a) = (random(n, d), random(m, d), random(n, q), random(m, q));
        let weights: Vec<f64> = (0..n).map(|i| f64::from(1 + i as u32 % 3)).collect();
        let watch = &mut Watch::of_tests();
        let grids = (&rows, &landmarks);
        let [(once, twice), kept] = [0, n * m].map(|most| {
            let shape = Shape::Laplacian;
            let mut passing = Passing::keeping(most, shape, grids, (&weights, q)).unwrap();
            (passing.of_values(&values, watch).unwrap(), passing.twice(&a, watch).unwrap())
        });
        assert_eq!((&once, &twice), (&kept.0, &kept.1));
        let mut twins = [vec![0.0; m * q], vec![0.0; m * q]];
        for i in 0..n {
            let k: Vec<f64> = (0..m)
                .map(|j| {
                    let pairs = rows.row(i).iter().zip(landmarks.row(j));
                    (-pairs.map(|(x, z)| f64::from((x - z).abs())).sum::<f64>()).exp()
                })
                .collect();
            for c in 0..q {
                let fitted = (0..m).map(|j| k[j] * f64::from(a.values[j * q + c])).sum::<f64>();
                for (twin, v) in twins.iter_mut().zip([f64::from(values.values[i * q + c]), fitted])
                {
                    (0..m).for_each(|j| twin[j * q + c] += weights[i] * k[j] * v / n as f64);
                }
            }
        }
        for (found, twin) in [once, twice].iter().zip(&twins) {
            for (found, twin) in found.values.iter().zip(twin) {
                assert!((f64::from(*found) - twin).abs() < 2e-6, "{found} {twin}");
            }
        }
    }
}
