mod accuracy;
mod columns;
mod exactly;
mod left_out;
mod solvers;

use std::ops::ControlFlow;

use super::*;
use crate::data::Targets;
use crate::error::Error;
use crate::loss::{AnyLoss, Smoothed};
use crate::parallel::Pool;
use crate::rng::Rng;
use crate::solver::smoothed::basis_gram;
use crate::watch::{Cancel, Progress, StopReason};

/// A Gaussian kernel on dense rows, written plainly.
pub(super) struct Dense<F> {
    pub(super) x: Vec<F>,
    pub(super) d: usize,
    pub(super) basis: Vec<F>,
    pub(super) gamma: f64,
}

impl<F: Real> KernelRows<F> for Dense<F> {
    fn n_rows(&self) -> usize {
        self.x.len() / self.d
    }
    fn n_terms(&self) -> usize {
        self.basis.len() / self.d
    }
    fn fill(&self, samples: &[usize], out: &mut [F]) {
        for (i, row) in samples.iter().zip(out.chunks_mut(self.n_terms())) {
            let x = &self.x[i * self.d..(i + 1) * self.d];
            for (out, s) in row.iter_mut().zip(self.basis.chunks(self.d)) {
                *out = F::from_f64(gaussian(x, s, self.gamma));
            }
        }
    }
    fn of_terms(&self, terms: &[u32]) -> Result<Option<Box<dyn KernelRows<F> + '_>>> {
        let point = |&term: &u32| &self.basis[term as usize * self.d..][..self.d];
        let basis = terms.iter().flat_map(point).copied().collect();
        Ok(Some(Box::new(Self { x: self.x.clone(), basis, ..*self })))
    }
    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        for (k, row) in out.chunks_mut(self.n_terms()).enumerate() {
            let a = &self.basis[(first + k) * self.d..(first + k + 1) * self.d];
            for (out, b) in row.iter_mut().zip(self.basis.chunks(self.d)) {
                *out = gaussian(a, b, self.gamma);
            }
        }
    }
}

pub(super) fn gaussian<F: Real>(a: &[F], b: &[F], gamma: f64) -> f64 {
    let mut sum = 0.0;
    for (&a, &b) in a.iter().zip(b) {
        let t = a.to_f64() - b.to_f64();
        sum += t * t;
    }
    (-gamma * sum).exp()
}

/// Random rows, a basis taken from the first of them, and targets that need the kernel.
pub(super) struct Toy<F> {
    pub(super) kernel: Dense<F>,
    pub(super) classes: Vec<u32>,
    pub(super) values: Vec<f64>,
    pub(super) cost: Vec<f64>,
    pub(super) n_classes: usize,
}

impl<F: Real> Toy<F> {
    pub(super) fn new(seed: u64, n: usize, b: usize, n_classes: usize) -> Self {
        let (mut rng, d) = (Rng::new(seed), 3);
        let x: Vec<F> =
            (0..n * d).map(|_| F::from_f64((rng.uniform() * 4.0 - 2.0) as f32 as f64)).collect();
        let mut toy = Self {
            kernel: Dense { basis: x[..b * d].to_vec(), x, d, gamma: 0.7 },
            classes: Vec::new(),
            values: Vec::new(),
            cost: (0..n).map(|_| 0.2 + 3.0 * rng.uniform()).collect(),
            n_classes,
        };
        for row in toy.kernel.x.chunks(d) {
            let wave = (2.0 * row[0].to_f64()).sin() + 0.5 * row[1].to_f64() * row[2].to_f64();
            let noisy = wave + 0.5 * (rng.uniform() - 0.5);
            toy.values.push(noisy);
            let class = ((noisy + 2.0) * n_classes as f64 / 4.0).max(0.0) as u32;
            toy.classes.push(class.min(n_classes as u32 - 1));
        }
        toy
    }

    pub(super) fn targets(&self, loss: AnyLoss) -> Targets<'_> {
        if loss.is_classification() {
            Targets::Classes { index: &self.classes, n_classes: self.n_classes }
        } else {
            Targets::Values(&self.values)
        }
    }

    pub(super) fn solve(&self, polish: &Polish, coef: &[f64]) -> Polished {
        let targets = self.targets(polish.loss);
        let intercept = vec![0.3; targets.n_outputs()];
        let start = Start { targets, cost: &self.cost, coef, intercept: &intercept };
        polish.solve(&self.kernel, start, &mut Watch::of_tests()).unwrap()
    }

    pub(super) fn random_coef(&self, loss: AnyLoss) -> Vec<f64> {
        let mut rng = Rng::new(99);
        let len = self.kernel.n_terms() * self.targets(loss).n_outputs();
        (0..len).map(|_| rng.uniform() * 4.0 - 2.0).collect()
    }
}

pub(super) const LOSSES: [AnyLoss; 6] = [
    AnyLoss::Hinge,
    AnyLoss::SquaredHinge,
    AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
    AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 },
    AnyLoss::Quantile { quantile: 0.2 },
    AnyLoss::LogLoss,
];

/// Objective and gradient (offset last) of one output, written plainly from the formula.
pub(super) fn naive<F: Real>(
    toy: &Toy<F>,
    polish: &Polish,
    output: usize,
    coef: &[f64],
    offset: f64,
) -> (f64, Vec<f64>) {
    let (n, b) = (toy.kernel.n_rows(), toy.kernel.n_terms());
    let gram = basis_gram(&toy.kernel, &mut Watch::of_tests()).unwrap();
    let mut k = vec![F::zero(); n * b];
    toy.kernel.fill(&(0..n).collect::<Vec<_>>(), &mut k);
    let (mut value, mut gradient) = (0.0, vec![0.0; b + 1]);
    for i in 0..b {
        let pull: f64 = (0..b).map(|j| gram[i * b + j] * coef[j]).sum();
        value += 0.5 * coef[i] * pull;
        gradient[i] += pull;
    }
    let (loss, targets) = (polish.final_loss(), toy.targets(polish.loss));
    for i in 0..n {
        let f: f64 = offset + (0..b).map(|j| k[i * b + j].to_f64() * coef[j]).sum::<f64>();
        let c = loss.at(targets.value(i, output), f);
        value += toy.cost[i] * c.value;
        for j in 0..b {
            gradient[j] += toy.cost[i] * c.slope * k[i * b + j].to_f64();
        }
        gradient[b] += toy.cost[i] * c.slope;
    }
    (value, gradient)
}
