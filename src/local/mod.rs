//! Divide and conquer: a partition of space learnt online, and a budgeted machine in every cell.
//!
//! ```text
//! f(x) = Σ_j α_j k(s_j, x)  over the support vectors of the cell whose centre is nearest to x
//! ```
//!
//! # Method
//!
//! 1. *Divide* (\[DCONLINE\] Algorithm 3). The first K samples become centres, each with its own
//!    set of support vectors that holds this sample with the weight `y min(C, 1/k(x,x))`. Later
//!    samples go to the nearest centre, which moves a share of the way towards them. With
//!    `overlap` > 1 a sample is also learnt from in the cells of the next nearest centres, which
//!    stay where they are.
//! 2. *Update* (Algorithm 1). With `z = f(x)`: if `y z < 1`, take the coordinate step of the dual,
//!    `α ← y clip(y α + (1 - y z)/k(x,x), 0, C)`, α = 0 for a sample that is not stored.
//! 3. *Prune* (Algorithm 2) when a set holds more than `budget`: (a) the same step on every stored
//!    sample in the order of their arrival, now also where `y z ≥ 1`, so that weights can fall to 0 and be dropped; (b) if that
//!    is not enough, drop the worst of those on the wrong side, `y f < min(0, the n-th best)`;
//!    (c) if that is not enough, keep the n largest `|α|`, of equals the newest.
//!
//! Several classes are one against the rest within the cell: coefficients for every class on
//! shared rows. A stored row is then judged by the least `y_c f_c` of its classes in (b), and by
//! the norm of its coefficients in (c).
//!
//! *Departs from \[DCONLINE\]*: Algorithm 1 mixes signed and unsigned α, put right here; the first
//! weight of a centre, `y` in the listing, is kept inside the box; in (a) the step has no guard
//! `y z < 1`, behind which weights could only grow. `overlap` is ours (1 is the paper's): a cell
//! of few samples knows nothing of what lies just beyond its boundary, and with 15 samples a cell
//! that costs more than the division is worth.
//!
//! # Cost
//!
//! A sample: K distances and one kernel row of each of its cells, O(K d + overlap n d). Pruning is
//! O(n² d) and happens when a step adds a row to a full cell. Prediction is O(K d + n d) whatever
//! the overlap. Memory O(K n d).
//!
//! # Determinism
//!
//! A chunk of samples is assigned in order, by one thread; then the cells take their samples in
//! order of arrival, in parallel. No cell sees another: the result is that of one thread, and of
//! any cut of the stream into chunks.
//!
//! References: \[DCONLINE\].

mod cell;
mod saved;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use rayon::prelude::*;

use crate::config::at_least;
use crate::data::{Rows, check_finite};
use crate::error::{Error, Result, check_features, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::model::assignment::Assignment;
use crate::model::{CellModel, KernelModel, Model};
use crate::parallel::ROW_CHUNK;
use crate::simd::Tile;
use crate::watch::{Step, Watch};
pub use cell::Pruning;
use cell::{Cell, Sample, Workspace};

/// Samples of the first chunk, and what a chunk should take: between two looks at the watch.
const FIRST_CHUNK: usize = 256;
const CHUNK_TIME: Duration = Duration::from_millis(60);
const LARGEST_CHUNK: usize = 1 << 15;

/// How to divide and conquer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Local {
    /// The kernel of the cells; cells are divided by the Euclidean distance.
    pub kernel: AnyKernel,
    /// Number of cells K, at least 1.
    pub n_clusters: usize,
    /// The most support vectors of a cell, at least 1.
    pub budget: usize,
    /// The share of the way that a centre moves towards its sample, in [0, 1].
    pub center_step: f64,
    /// Cells that learn from a sample, the nearest ones, at least 1.
    pub overlap: usize,
    /// Which stages of pruning run before the largest are kept.
    pub pruning: Pruning,
}

impl Local {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        at_least(1, "n_clusters", self.n_clusters)?;
        at_least(1, "budget", self.budget)?;
        at_least(1, "overlap", self.overlap)?;
        if !(0.0..=1.0).contains(&self.center_step) {
            return Err(Error::param("center_step", "in [0, 1]", self.center_step));
        }
        Ok(())
    }
}

/// Cells and their machines under training.
#[derive(Clone, Debug)]
pub struct LocalModel<F: Real> {
    local: Local,
    outputs: usize,
    assignment: Assignment<F>,
    cells: Vec<Cell<F>>,
    /// Samples seen.
    seen: u64,
}

/// Samples to learn from.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a, 'r, F: Real> {
    /// The rows.
    pub rows: &'a Rows<'r, F>,
    /// The class of each row; 1 is positive when there is one output.
    pub classes: &'a [u32],
    /// C of each row.
    pub cost: &'a [f64],
    /// The rows to take, in this order.
    pub order: &'a [usize],
    /// Whether a row that is met again is the same sample as before (passes of a fit), by its
    /// index plus this number.
    pub first_id: u64,
    /// What to do with them.
    pub task: Task,
}

/// What samples are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Centres and cells learn from them.
    Learn,
    /// Centres alone do: cells will be machines of another kind.
    Divide,
}

impl<F: Real> LocalModel<F> {
    /// No cell yet.
    ///
    /// # Errors
    /// Those of [`Local::check`], `OutOfMemory`.
    pub fn new(local: Local, n_features: usize, outputs: usize) -> Result<Self> {
        local.check()?;
        let assignment = Assignment::new(n_features, local.n_clusters)?;
        Ok(Self { local, outputs, assignment, cells: Vec::new(), seen: 0 })
    }

    /// Begins with these centres, K x d row by row, which have no support vectors yet.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `InvalidParam` for more than `n_clusters`, `OutOfMemory`.
    pub fn with_centers(mut self, centers: &[F]) -> Result<Self> {
        let d = self.assignment.n_features();
        if centers.is_empty() || !centers.len().is_multiple_of(d) {
            let (expected, got) = (self.local.n_clusters.saturating_mul(d), centers.len());
            return Err(Error::LengthMismatch { what: "centers", expected, got });
        }
        check_finite("centers", centers, d)?;
        if centers.len() / d > self.local.n_clusters {
            let expected = format!(">= {}, the centers given", centers.len() / d);
            return Err(Error::param("n_clusters", expected, self.local.n_clusters));
        }
        for center in centers.chunks_exact(d) {
            self.open(center)?;
        }
        Ok(self)
    }

    fn open(&mut self, center: &[F]) -> Result<()> {
        self.assignment.push(center)?;
        self.cells.push(Cell::new(self.local.kernel, center.len(), self.outputs)?);
        Ok(())
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.assignment.n_features()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.outputs
    }

    /// The configuration.
    #[must_use]
    pub fn local(&self) -> Local {
        self.local
    }

    /// Samples seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Cell centres, K x d row by row.
    #[must_use]
    pub fn centers(&self) -> Vec<F> {
        self.assignment.centers()
    }

    /// Support vectors of each cell.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        self.cells.iter().map(Cell::len).collect()
    }

    /// Replaces the configuration by one that differs in what training may change between calls.
    ///
    /// # Errors
    /// Those of [`Local::check`], `Unsupported` for another kernel or number of cells, `InvalidParam`
    /// for a budget that a cell exceeds.
    pub fn reconfigure(&mut self, local: Local) -> Result<()> {
        local.check()?;
        if local.kernel != self.local.kernel || local.n_clusters != self.local.n_clusters {
            return Err(Error::Unsupported(
                "training can only go on with the same kernel, gamma and n_clusters".into(),
            ));
        }
        let largest = self.sizes().into_iter().max().unwrap_or(0);
        if local.budget < largest {
            let expected =
                format!(">= {largest}, the support vectors of a cell that training goes on from");
            return Err(Error::param("budget", expected, local.budget));
        }
        self.local = local;
        Ok(())
    }

    /// Learns from the batch.
    ///
    /// # Errors
    /// `FeatureMismatch`, `OutOfMemory`; what the watch says, with what has been learnt so far.
    pub fn learn(&mut self, batch: &Batch<'_, '_, F>, watch: &mut Watch<'_>) -> Step {
        let got = batch.rows.n_cols();
        check_features(self.n_features(), got)?;
        let (mut done, mut size) = (0, FIRST_CHUNK);
        let mut row = try_vec("a row", got, F::zero())?;
        let mut tile = Tile::new(got);
        let mut near = Vec::new();
        while done < batch.order.len() {
            let started = watch.elapsed();
            let chunk = &batch.order[done..(done + size).min(batch.order.len())];
            // 1. Divide, in order.
            let mut queues = vec![Vec::new(); self.cells.len()];
            let learns = batch.task == Task::Learn;
            for part in chunk.chunks(ROW_CHUNK) {
                load_tile(batch.rows, part.len(), |i| part[i], &[], &mut tile);
                for (place, &sample) in part.iter().enumerate() {
                    tile.copy_row(place, &mut row);
                    let opens =
                        self.cells.len() < self.local.n_clusters && batch.cost[sample] > 0.0;
                    // Its own cell is the nearest of a sample that opens one.
                    let cells = if learns { self.local.overlap } else { 1 };
                    let others = cells - usize::from(opens);
                    self.assignment.nearest(&tile, place, others, &mut near);
                    if opens {
                        self.open(&row)?;
                        queues.push(if learns { vec![sample] } else { Vec::new() });
                    } else if let Some(&cell) = near.first() {
                        self.assignment.pull(cell as usize, &row, self.local.center_step);
                    }
                    if learns {
                        near.iter().for_each(|&cell| queues[cell as usize].push(sample));
                    }
                }
            }
            // 2. and 3. The cells, in parallel.
            let (budget, pruning) = (self.local.budget, self.local.pruning);
            self.cells
                .par_iter_mut()
                .zip(&queues)
                .filter(|(_, queue)| !queue.is_empty())
                .try_for_each_init(
                    || Workspace::new(got, self.outputs),
                    |workspace, (cell, queue)| -> Result<()> {
                        for &row in queue {
                            let sample = Sample {
                                class: batch.classes[row],
                                cost: batch.cost[row],
                                id: batch.first_id + row as u64,
                            };
                            load_tile(batch.rows, 1, |_| row, &[], &mut workspace.tile);
                            cell.update(sample, workspace)?;
                            cell.prune(budget, pruning, workspace);
                        }
                        Ok(())
                    },
                )?;
            done += chunk.len();
            self.seen += chunk.len() as u64;
            let time = watch.elapsed().saturating_sub(started);
            watch.tick.seen = done;
            if done < batch.order.len() {
                watch.poll()?;
            }
            match time {
                time if time < CHUNK_TIME / 2 => size = (2 * size).min(LARGEST_CHUNK),
                time if time > CHUNK_TIME => size = (size / 2).max(1),
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows of each cell that it learns from, ascending: each row is in those of its nearest
    /// `overlap` centres.
    ///
    /// # Errors
    /// `FeatureMismatch`, `OutOfMemory`.
    pub fn members(&self, rows: &Rows<'_, F>) -> Result<Vec<Vec<usize>>> {
        let most = self.local.overlap.min(self.cells.len()).max(1);
        let mut members = vec![Vec::new(); self.cells.len()];
        for (i, cells) in self.assignment.assign(rows, most)?.chunks_exact(most).enumerate() {
            for (place, &cell) in cells.iter().enumerate() {
                if place == 0 || cell != cells[0] {
                    members[cell as usize].push(i);
                }
            }
        }
        Ok(members)
    }

    /// What predicts.
    ///
    /// # Errors
    /// `Unsupported` when coefficients have left the range of floats, `OutOfMemory`.
    pub fn model(&self) -> Result<Model<F>> {
        let offsets = || vec![0.0; self.outputs];
        let cells: Result<Vec<_>> = self
            .cells
            .iter()
            .map(|cell| KernelModel::from_expansion(&cell.expansion, 1.0, offsets()))
            .collect();
        let centers = (self.centers(), self.n_features());
        let model = CellModel::new((&centers.0, centers.1), cells?, self.outputs)?;
        Ok(Model::Cells(Arc::new(model)))
    }
}
