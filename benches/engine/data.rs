//! Synthetic data that behave as real ones do: two classes, a tenth of the labels wrong.

use budgetsvm::data::{Rows, Targets};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::Expansion;
use budgetsvm::rng::Rng;
use ndarray::Array2;

/// Rows uniform in the unit cube; class 1 above a plane through its middle.
pub(crate) struct Data {
    pub(crate) x: Array2<f32>,
    pub(crate) index: Vec<u32>,
    pub(crate) cost: Vec<f64>,
}

impl Data {
    pub(crate) fn new(n: usize, d: usize) -> Self {
        let mut rng = Rng::new(1);
        let x = Array2::from_shape_fn((n, d), |_| rng.uniform() as f32);
        let slopes: Vec<f64> = (0..d).map(|_| rng.uniform() - 0.5).collect();
        let index = x.rows().into_iter().map(|row| {
            let height: f64 = row.iter().zip(&slopes).map(|(&v, s)| (f64::from(v) - 0.5) * s).sum();
            u32::from((height > 0.0) != (rng.below(10) == 0))
        });
        Self { index: index.collect(), cost: vec![10.0; n], x }
    }

    pub(crate) fn rows(&self) -> Rows<'_, f32> {
        Rows::Dense(self.x.view())
    }

    pub(crate) fn targets(&self) -> Targets<'_> {
        Targets::Classes { index: &self.index, n_classes: 2 }
    }
}

/// A γ at which points of the unit cube are neither all alike nor all apart.
pub(crate) fn kernel(d: usize) -> AnyKernel {
    AnyKernel::Gaussian { gamma: 3.0 / d as f64 }
}

/// `terms` random terms; coefficients in [-1, 1].
pub(crate) fn expansion(d: usize, terms: usize, room: usize) -> Expansion<f32> {
    let mut rng = Rng::new(2);
    let mut made = Expansion::new(kernel(d), Vec::new(), d, 1).expect("memory");
    made.reserve(terms + room).expect("memory");
    let mut row = vec![0.0; d];
    for _ in 0..terms {
        row.iter_mut().for_each(|v| *v = rng.uniform() as f32);
        let slot = made.push(&row).expect("memory");
        made.set_coef(slot, 0, 2.0 * rng.uniform() - 1.0);
    }
    made
}
