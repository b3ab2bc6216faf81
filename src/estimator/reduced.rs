//! Least squares on a few rows as terms: every λ and the exact leave-one-out errors at the price of
//! one fit.

use super::basis::{HeldRows, ModelRows, model_on};
use crate::data::{Problem, Targets};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::KernelModel;
use crate::tuning::{Grid, Reduced, Sought};
use crate::watch::{Step, Watch};

/// What least squares on landmarks came to.
///
/// ```text
/// min over a   1/W Σ w_i (y_i - k(S, x_i)·a - ȳ)² + λ aᵀK_SS a,   W = Σ w_i, ȳ the mean of y
/// ```
///
/// ```
/// use budgetsvm::data::{Problem, Rows, Targets};
/// use budgetsvm::estimator::ReducedLeastSquares;
/// use budgetsvm::kernel::AnyKernel;
/// use budgetsvm::watch::{Silent, Watch};
///
/// let x = ndarray::Array2::from_shape_fn((300, 1), |(i, _)| (i * 89 % 300) as f64 / 50.0);
/// let y: Vec<f64> = x.iter().map(|x| x.sin()).collect();
/// let weights = vec![1.0; 300];
/// let problem = Problem::new(Rows::from(&x), Targets::Values(&y), &weights)?;
/// // Whether γ = 1 or γ = 100 is the better width, by one decomposition each.
/// let error = |gamma: f64| {
///     let kernel = AnyKernel::Gaussian { gamma };
///     Watch::run(1, &mut Silent, |watch| ReducedLeastSquares::fit(kernel, &problem, 30, watch))
/// };
/// let (wide, narrow) = (error(1.0)?, error(100.0)?);
/// assert!(wide.error < 1e-3 && wide.error < narrow.error);
/// assert_eq!(wide.errors.len(), wide.lambdas.len());
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReducedLeastSquares<F: Real> {
    /// The best λ, and its leave-one-out error as a share of the variance of the targets.
    pub lambda: f64,
    /// That error.
    pub error: f64,
    /// All λ tried.
    pub lambdas: Vec<f64>,
    /// Their errors: of the rows that are no landmarks, unless these are most of all.
    pub errors: Vec<f64>,
    /// The machine of the best λ: of values, or of ±1 a class.
    pub model: KernelModel<F>,
}

impl<F: Real> ReducedLeastSquares<F> {
    /// Fits with the first `landmarks` rows as terms; the costs of the problem are weights.
    ///
    /// *Cost* O(n m (m + d) + m³), m landmarks, whatever the number of λ.
    ///
    /// # Errors
    /// `InvalidParam` unless there are from 1 to n landmarks, `NotPositiveDefinite` for a kernel
    /// that is not on these rows, `OutOfMemory`, `Interrupted` (and where the watch says to stop).
    pub fn fit(
        kernel: AnyKernel,
        problem: &Problem<'_, F>,
        landmarks: usize,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        kernel.check()?;
        let n = problem.len();
        if landmarks == 0 || landmarks > n {
            return Err(Error::param("landmarks", format!(">= 1 and <= {n}"), landmarks));
        }
        let aim = Aim::new(problem)?;
        let (found, model) = watch.unbroken(|watch| aim.fit(kernel, problem, landmarks, watch))?;
        let q = aim.means.len();
        let coef: Vec<f64> = found.coef.values.iter().map(|&a| f64::from(a) * aim.spread).collect();
        debug_assert_eq!(coef.len(), landmarks * q);
        let model = model.with_coef(&coef, aim.means)?;
        let Reduced { error, lambda, errors, lambdas, .. } = found;
        Ok(Self { lambda, error, lambdas, errors, model })
    }
}

/// Targets less their means, in units of their spread where they are values.
pub(super) struct Aim {
    pub(super) values: Grid,
    /// Of mean 1.
    pub(super) weights: Vec<f64>,
    pub(super) means: Vec<f64>,
    pub(super) spread: f64,
}

impl Aim {
    pub(super) fn new<F: Real>(problem: &Problem<'_, F>) -> Result<Self> {
        let (targets, n) = (problem.targets(), problem.len());
        let total: f64 = problem.cost().iter().sum();
        let weights: Vec<f64> = problem.cost().iter().map(|c| c * n as f64 / total).collect();
        let q = targets.n_outputs();
        let mean = |f: &dyn Fn(usize) -> f64| {
            weights.iter().enumerate().map(|(i, w)| w * f(i)).sum::<f64>() / n as f64
        };
        let means: Vec<f64> = (0..q).map(|c| mean(&|i| targets.value(i, c))).collect();
        let spread = match targets {
            Targets::Classes { .. } => 1.0,
            Targets::Values(_) | Targets::Columns { .. } => {
                let square = |c: usize| mean(&|i| (targets.value(i, c) - means[c]).powi(2));
                (0..q).map(square).sum::<f64>().sqrt()
            }
        };
        let spread = if spread > 0.0 && spread.is_finite() { spread } else { 1.0 };
        let mut values = Grid::zeros("targets", n, q)?;
        for (i, row) in values.values.chunks_exact_mut(q).enumerate() {
            for (c, v) in row.iter_mut().enumerate() {
                *v = ((targets.value(i, c) - means[c]) / spread) as f32;
            }
        }
        Ok(Self { values, weights, means, spread })
    }

    /// With the first m rows as terms; coefficients of values in units of the spread, and a model
    /// on those rows without them.
    pub(super) fn fit<F: Real>(
        &self,
        kernel: AnyKernel,
        problem: &Problem<'_, F>,
        m: usize,
        watch: &mut Watch<'_>,
    ) -> Step<(Reduced, KernelModel<F>)> {
        let (n, rows) = (problem.len(), problem.rows());
        let landmarks: Vec<usize> = (0..m).collect();
        let model = model_on(kernel, &rows, &landmarks, self.means.len())?;
        let held = HeldRows::new(ModelRows::new(rows.view(), &model)?, usize::MAX, watch)?;
        let values = held.values();
        // λ are tried for kernels of values of about 1.
        let mean = (0..m).map(|j| Real::to_f64(values[j * m + j])).sum::<f64>() / m as f64;
        let scale = if mean > 0.0 { mean } else { 1.0 };
        let mut k = Grid::zeros("kernel values", n, m)?;
        for (to, v) in k.values.iter_mut().zip(values) {
            *to = (Real::to_f64(*v) / scale) as f32;
        }
        let sought = Sought { values: &self.values, weights: &self.weights, landmarks: m };
        let mut found = Reduced::fit(&k, &k.range(0, m)?, &sought, watch)?;
        // In units of the kernel as it is.
        found.lambda *= scale;
        found.lambdas.iter_mut().for_each(|lambda| *lambda *= scale);
        found.coef.values.iter_mut().for_each(|a| *a = (f64::from(*a) / scale) as f32);
        Ok((found, model))
    }
}
