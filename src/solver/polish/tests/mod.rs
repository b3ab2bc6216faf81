mod timing;

use super::*;
use crate::rng::Rng;

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
    fn fill(&self, first: usize, last: usize, out: &mut [F]) {
        for (i, row) in (first..last).zip(out.chunks_mut(self.n_terms())) {
            let x = &self.x[i * self.d..(i + 1) * self.d];
            for (out, s) in row.iter_mut().zip(self.basis.chunks(self.d)) {
                *out = F::from_f64(gaussian(x, s, self.gamma));
            }
        }
    }
    fn basis_gram(&self) -> Vec<f64> {
        let points = || self.basis.chunks(self.d);
        points().flat_map(|a| points().map(|b| gaussian(a, b, self.gamma))).collect()
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
