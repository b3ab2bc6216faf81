//! One cell: its support vectors, the update of Algorithm 1 and the pruning of Algorithm 2.

use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::{Expansion, RowScratch};
use crate::simd::{Tile, weighted_sums};

/// Which stages of pruning run before the largest weights are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Pruning {
    /// (a), (b) and (c).
    #[default]
    All,
    /// (a) and (c).
    Step,
    /// (b) and (c).
    Margin,
    /// (c) alone.
    Weight,
}

/// What is known of a sample beside its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) class: u32,
    pub(super) cost: f64,
    pub(super) id: u64,
}

impl Sample {
    /// +1 or -1 for an output of `m`.
    fn sign(&self, output: usize, m: usize) -> f64 {
        let positive = if m == 1 { self.class == 1 } else { self.class as usize == output };
        if positive { 1.0 } else { -1.0 }
    }
}

/// Buffers of a thread.
pub(super) struct Workspace<F: Real> {
    pub(super) tile: Tile<F>,
    scratch: RowScratch<F>,
    row: Vec<F>,
    diagonal: Vec<f64>,
    f: Vec<f64>,
    delta: Vec<f64>,
}

impl<F: Real> Workspace<F> {
    pub(super) fn new(n_features: usize, outputs: usize) -> Self {
        Self {
            tile: Tile::new(n_features),
            scratch: RowScratch::default(),
            row: vec![F::zero(); n_features],
            diagonal: Vec::new(),
            f: vec![0.0; outputs],
            delta: vec![0.0; outputs],
        }
    }
}

/// Support vectors with their signed weights, samples and `k(s, s)`.
#[derive(Clone, Debug)]
pub(super) struct Cell<F: Real> {
    pub(super) expansion: Expansion<F>,
    pub(super) samples: Vec<Sample>,
    /// When each came to the cell: slots are in no order, since the last takes the place of one
    /// that goes.
    pub(super) arrivals: Vec<u64>,
    diagonal: Vec<f64>,
    /// Samples that have come.
    came: u64,
}

impl<F: Real> Cell<F> {
    pub(super) fn new(kernel: AnyKernel, n_features: usize, outputs: usize) -> Result<Self> {
        let expansion = Expansion::new(kernel, Vec::new(), n_features, outputs)?;
        let (samples, arrivals, diagonal) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { expansion, samples, arrivals, diagonal, came: 0 })
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Adds a stored sample, which came then, with its weights: what a file holds.
    pub(super) fn restore(
        &mut self,
        row: &[F],
        (sample, arrival): (Sample, u64),
        weights: &[f64],
    ) -> Result<()> {
        let slot = self.expansion.push(row)?;
        for (c, &weight) in weights.iter().enumerate() {
            self.expansion.set_coef(slot, c, weight);
        }
        let wide: Vec<f64> = row.iter().map(|&v| Real::to_f64(v)).collect();
        self.diagonal.push(self.expansion.kernel().eval(&wide, &wide));
        self.samples.push(sample);
        self.arrivals.push(arrival);
        self.came = self.came.max(arrival.saturating_add(1));
        Ok(())
    }

    /// Decision values of the points of a tile, points x outputs.
    pub(super) fn decide(&self, tile: &Tile<F>, out: &mut [f64]) {
        if self.len() == 0 {
            out.fill(0.0);
            return;
        }
        let (expansion, m) = (&self.expansion, self.expansion.outputs());
        if m == 1 {
            let coef = (&expansion.padded_coef()[..expansion.centers().padded_len()], 1);
            let (kernel, out) = (expansion.kernel(), (out, &mut Vec::new()));
            kernel.sums(tile, (0, tile.len()), expansion.centers(), coef, out);
            return;
        }
        let stride = expansion.centers().padded_len();
        let mut values = vec![F::zero(); tile.len() * stride];
        let kernel = expansion.kernel();
        kernel.values(tile, (0, tile.len()), expansion.centers(), &mut values, stride);
        for (row, out) in values.chunks_exact(stride).zip(out.chunks_exact_mut(m)) {
            self.sums(row, out);
        }
    }

    /// `Σ_j α_jc k_j` for every output.
    fn sums(&self, kernel_row: &[F], out: &mut [f64]) {
        let (coef, stride) = (self.expansion.padded_coef(), self.expansion.stride());
        for (c, out) in out.iter_mut().enumerate() {
            let coef = &coef[c * stride..][..kernel_row.len()];
            weighted_sums(kernel_row, coef, std::slice::from_mut(out));
        }
    }

    /// Method, 2: the sample that the workspace's tile holds.
    pub(super) fn update(&mut self, sample: Sample, work: &mut Workspace<F>) -> Result<()> {
        if sample.cost <= 0.0 {
            return Ok(());
        }
        let m = self.expansion.outputs();
        self.decide(&work.tile, &mut work.f);
        self.expansion.kernel().diagonal(&work.tile, &mut work.diagonal);
        let own = work.diagonal[0];
        // Nothing can be learnt from it: no weight would be more than 0.
        if !own.is_finite() {
            return Err(Error::OutOfRange { what: "X" });
        }
        let place = self.samples.iter().position(|stored| stored.id == sample.id);
        let mut moved = false;
        for c in 0..m {
            let (y, z) = (sample.sign(c, m), work.f[c]);
            let old = place.map_or(0.0, |slot| self.expansion.coef(slot, c));
            work.delta[c] = if y * z < 1.0 { step(y, old, z, own, sample.cost) - old } else { 0.0 };
            moved |= work.delta[c] != 0.0;
        }
        if !moved {
            return Ok(());
        }
        let slot = match place {
            Some(slot) => slot,
            None => {
                work.tile.copy_row(0, &mut work.row);
                let slot = self.expansion.push(&work.row)?;
                self.samples.push(sample);
                self.arrivals.push(self.came);
                self.came += 1;
                self.diagonal.push(own);
                slot
            }
        };
        for (c, delta) in work.delta.iter().enumerate() {
            self.expansion.set_coef(slot, c, self.expansion.coef(slot, c) + delta);
        }
        Ok(())
    }

    /// Method, 3.
    pub(super) fn prune(&mut self, budget: usize, pruning: Pruning, work: &mut Workspace<F>) {
        if self.len() <= budget {
            return;
        }
        if matches!(pruning, Pruning::All | Pruning::Step) {
            self.steps(work);
        }
        if self.len() > budget && matches!(pruning, Pruning::All | Pruning::Margin) {
            let mut margins: Vec<f64> = (0..self.len()).map(|j| self.margin(j, work)).collect();
            let mut best = margins.clone();
            best.sort_unstable_by(|a, b| b.total_cmp(a));
            let threshold = best[budget - 1].min(0.0);
            for slot in (0..self.len()).rev() {
                if margins[slot] < threshold {
                    margins.swap_remove(slot);
                    self.remove(slot);
                }
            }
        }
        while self.len() > budget {
            // The oldest of equals, many of which are at their bound.
            let least = (0..self.len()).min_by(|&a, &b| {
                let weights = self.expansion.weight(a).total_cmp(&self.expansion.weight(b));
                weights.then(self.arrivals[a].cmp(&self.arrivals[b]))
            });
            self.remove(least.unwrap_or(0));
        }
    }

    /// Stage (a): the step on every stored sample, as they came, then out with zeros.
    fn steps(&mut self, work: &mut Workspace<F>) {
        let m = self.expansion.outputs();
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.sort_unstable_by_key(|&slot| self.arrivals[slot]);
        for slot in order {
            self.expansion.stored_row(slot, &mut work.scratch);
            self.expansion.kernel().stored_to_values(&mut work.scratch.row);
            let mut f = std::mem::take(&mut work.f);
            self.sums(&work.scratch.row, &mut f);
            let sample = self.samples[slot];
            for (c, &z) in f.iter().enumerate() {
                let old = self.expansion.coef(slot, c);
                let new = step(sample.sign(c, m), old, z, self.diagonal[slot], sample.cost);
                self.expansion.set_coef(slot, c, new);
            }
            work.f = f;
        }
        for slot in (0..self.len()).rev() {
            if self.expansion.weight(slot) == 0.0 {
                self.remove(slot);
            }
        }
    }

    /// The least `y_c f_c` of a stored sample.
    fn margin(&self, slot: usize, work: &mut Workspace<F>) -> f64 {
        let m = self.expansion.outputs();
        self.expansion.stored_row(slot, &mut work.scratch);
        self.expansion.kernel().stored_to_values(&mut work.scratch.row);
        self.sums(&work.scratch.row, &mut work.f);
        let signed = work.f.iter().enumerate().map(|(c, f)| self.samples[slot].sign(c, m) * f);
        signed.fold(f64::INFINITY, f64::min)
    }

    fn remove(&mut self, slot: usize) {
        self.expansion.swap_remove(slot);
        self.samples.swap_remove(slot);
        self.arrivals.swap_remove(slot);
        self.diagonal.swap_remove(slot);
    }
}

/// `y clip(y α + (1 - y z)/k(x,x), 0, C)`.
fn step(y: f64, alpha: f64, z: f64, own: f64, cost: f64) -> f64 {
    // A point of no length moves nothing, whatever its weight.
    if own <= 0.0 {
        return alpha;
    }
    y * (y * alpha + (1.0 - y * z) / own).clamp(0.0, cost)
}
