//! The machines as users of the crate have them. One program: what is generic over floats is compiled
//! once for all of its files.

mod checkpoint;
mod estimator;
mod estimator_exact;
mod estimator_online;
mod estimator_primal;
mod estimator_setup;
mod exact;
mod saved;
mod sweep;

use budgetsvm::rng::Rng;
use ndarray::Array2;

/// Three rings, this wide.
fn rings(n: usize, width: f64) -> (Array2<f64>, Vec<i32>) {
    let mut rng = Rng::new(1);
    let labels: Vec<i32> = (0..n).map(|i| [-7, 0, 12][i % 3]).collect();
    let mut rows = Array2::zeros((n, 2));
    for i in 0..n {
        let angle = std::f64::consts::TAU * rng.uniform();
        let radius = 1.0 + (i % 3) as f64 + width * (rng.uniform() - 0.5);
        rows[(i, 0)] = radius * angle.cos();
        rows[(i, 1)] = radius * angle.sin();
    }
    (rows, labels)
}
