//! A classifier of at most 30 terms on two interlocking half circles: fit, score, save, load.
//! `cargo run --example two_moons`

use budgetsvm::data::Rows;
use budgetsvm::error::Result;
use budgetsvm::kernel::Gaussian;
use budgetsvm::rng::Rng;
use budgetsvm::{BudgetSvc, Saved as _};
use ndarray::Array2;

/// `n` noisy points of each half circle, in turns, and their labels.
fn two_moons(n: usize, seed: u64) -> (Array2<f32>, Vec<String>) {
    let mut rng = Rng::new(seed);
    let mut points = Array2::zeros((2 * n, 2));
    let mut labels = Vec::with_capacity(2 * n);
    for (i, mut point) in points.rows_mut().into_iter().enumerate() {
        let angle = std::f64::consts::PI * rng.uniform();
        let mut noise = || 0.2 * (rng.uniform() + rng.uniform() - 1.0);
        let (x, y, label) = match i % 2 {
            0 => (angle.cos(), angle.sin(), "upper"),
            _ => (1.0 - angle.cos(), 0.5 - angle.sin(), "lower"),
        };
        point[0] = (x + noise()) as f32;
        point[1] = (y + noise()) as f32;
        labels.push(label.to_owned());
    }
    (points, labels)
}

fn accuracy(predicted: &[String], labels: &[String]) -> f64 {
    let right = predicted.iter().zip(labels).filter(|(p, l)| p == l).count();
    right as f64 / labels.len() as f64
}

/// Number of terms, accuracy on new points, and the same after a round through a file.
fn run() -> Result<(usize, f64, f64)> {
    let (points, labels) = two_moons(2000, 0);
    let (new_points, new_labels) = two_moons(500, 1);
    let new_rows = Rows::Dense(new_points.view());

    let svc = BudgetSvc::builder().budget(30).c(10.0).kernel(Gaussian::new(2.0)?).build()?;
    let model = svc.fit(&Rows::Dense(points.view()), &labels)?;
    let score = accuracy(&model.predict(&new_rows)?, &new_labels);

    let name = format!("budgetsvm-two-moons-{}.safetensors", std::process::id());
    let path = std::env::temp_dir().join(name);
    model.save(&path)?;
    let loaded = budgetsvm::BudgetSvcModel::<f32, String>::load(&path);
    // The file may stay: it lies among the temporary ones.
    drop(std::fs::remove_file(&path));
    let again = accuracy(&loaded?.predict(&new_rows)?, &new_labels);
    Ok((model.n_terms(), score, again))
}

fn main() -> Result<()> {
    let (terms, score, again) = run()?;
    println!("{terms} terms, accuracy {score:.3} on new points, {again:.3} when loaded again");
    Ok(())
}

#[test]
fn the_example_separates_the_moons() {
    assert!(
        matches!(run(), Ok((terms, score, again)) if terms <= 30 && score > 0.98 && again == score)
    );
}
