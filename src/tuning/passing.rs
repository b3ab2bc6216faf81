//! Products with the kernel values of many rows and some landmarks, which are made again every time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::distances::{CHUNK, distances_of, packed};
use super::grid::{Grid, Shape};
use crate::error::{Result, try_vec};
use crate::linalg;
use crate::parallel;
use crate::simd::{self, Packed, Tile};
use crate::watch::{Step, Watch};

/// Rows of a task, whose kernel values stay near the processor, and tasks between two looks at the
/// watch, whose sums are one.
const TASK: usize = 4 * CHUNK;
const TASKS: usize = 16;

/// `K` of rows, which count so much each, and landmarks.
pub(super) struct Passing<'a> {
    shape: Shape,
    rows: &'a Grid,
    weights: &'a [f64],
    landmarks: Packed<f32>,
    /// Memory of threads that rest.
    idle: Mutex<Vec<Block>>,
}

/// A thread's memory, and how many rows are in it.
struct Block {
    tile: Tile<f32>,
    padded: Vec<f32>,
    values: Vec<f32>,
    right: Vec<f32>,
    rows: usize,
}

impl<'a> Passing<'a> {
    pub(super) fn new(
        shape: Shape,
        (rows, landmarks): (&'a Grid, &Grid),
        weights: &'a [f64],
    ) -> Result<Self> {
        let (landmarks, idle) = (packed(landmarks)?, Mutex::default());
        Ok(Self { shape, rows, weights, landmarks, idle })
    }

    /// `KᵀCY/n`.
    pub(super) fn of_values(&self, values: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
        let q = values.columns;
        self.sum(q, watch, &|block, (first, last)| {
            block.right[..(last - first) * q].copy_from_slice(&values.values[first * q..last * q]);
        })
    }

    /// `KᵀCKa/n`.
    pub(super) fn twice(&self, a: &Grid, watch: &mut Watch<'_>) -> Step<Grid> {
        let (m, q) = (self.landmarks.len(), a.columns);
        self.sum(q, watch, &|block, _| {
            let (to, from) = (&mut block.right[..block.rows * q], &block.values[..block.rows * m]);
            let parts = to.chunks_mut(CHUNK * q).zip(from.chunks(CHUNK * m));
            parts.for_each(|(to, from)| {
                linalg::multiply(to, linalg::matrix(from, m), linalg::matrix(&a.values, q));
            });
        })
    }

    /// `KᵀCR/n` for the R that `fill` makes of some rows' kernel values.
    fn sum(
        &self,
        q: usize,
        watch: &mut Watch<'_>,
        fill: &(dyn Fn(&mut Block, (usize, usize)) + Sync),
    ) -> Step<Grid> {
        let (n, m) = (self.rows.rows(), self.landmarks.len());
        let share = 1.0 / n as f64;
        let (mut sums, mut panel) = (try_vec("sums", m * q, 0.0)?, try_vec("sums", m * q, 0.0)?);
        self.make_blocks(q)?;
        let mut parts = try_vec("sums", TASKS.min(n.div_ceil(TASK)) * m * q, 0.0_f32)?;
        for begin in (0..n).step_by(TASKS * TASK) {
            let end = (begin + TASKS * TASK).min(n);
            let parts = &mut parts[..(end - begin).div_ceil(TASK) * m * q];
            parallel::each(parts.chunks_mut(m * q), &|at, out| {
                let first = begin + at * TASK;
                let range = (first, (first + TASK).min(end));
                // There are as many as threads.
                let Some(mut block) = self.idle().pop() else { return };
                self.load(&mut block, range);
                fill(&mut block, range);
                let right = &mut block.right[..block.rows * q];
                for (row, c) in right.chunks_exact_mut(q).zip(&self.weights[first..range.1]) {
                    row.iter_mut().for_each(|v| *v *= *c as f32);
                }
                let left = linalg::matrix(&block.values[..block.rows * m], m).transpose();
                linalg::multiply(out, left, linalg::matrix(right, q));
                self.idle().push(block);
            });
            panel.fill(0.0);
            for part in parts.chunks(m * q) {
                panel.iter_mut().zip(part).for_each(|(sum, &v)| *sum += f64::from(v));
            }
            sums.iter_mut().zip(&panel).for_each(|(s, v)| *s += share * v);
            watch.glance()?;
        }
        Ok(Grid::of_doubles(&sums, q))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Block>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One for every thread, for so many columns.
    fn make_blocks(&self, q: usize) -> Result<()> {
        let (d, m) = (self.rows.columns, self.landmarks.len());
        let mut idle = self.idle();
        while idle.len() < rayon::current_num_threads() {
            idle.push(Block {
                tile: Tile::new(d),
                padded: try_vec("kernel values", CHUNK * self.landmarks.padded_len(), 0.0)?,
                values: try_vec("kernel values", TASK * m, 0.0)?,
                right: try_vec("values", TASK * q, 0.0)?,
                rows: 0,
            });
        }
        Ok(())
    }

    /// Kernel values of these rows.
    fn load(&self, block: &mut Block, (first, last): (usize, usize)) {
        let m = self.landmarks.len();
        block.rows = last - first;
        let Block { tile, padded, values, .. } = block;
        for (at, out) in values[..(last - first) * m].chunks_mut(CHUNK * m).enumerate() {
            let from = (self.rows, first + at * CHUNK);
            // Rows of a grid are whole rows.
            let _ = distances_of(self.shape, from, &self.landmarks, (tile, padded), out);
            out.iter_mut().for_each(|v| *v = -*v);
            simd::exp_in_place(out);
        }
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
        let passing = Passing::new(Shape::Laplacian, (&rows, &landmarks), &weights).unwrap();
        let once = passing.of_values(&values, watch).unwrap();
        let twice = passing.twice(&a, watch).unwrap();
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
