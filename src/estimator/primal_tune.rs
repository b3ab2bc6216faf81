//! C and γ by the gradient of the leave-one-out criterion.
//!
//! # Method
//!
//! 1. On a part of the samples, `min V(log C, log γ)` by L-BFGS on the gradient of
//!    [`crate::solver::primal::criterion`].
//! 2. Each evaluation is a few Newton steps from the coefficients of the last one: coefficients
//!    and hyperparameters are found together.
//!
//! Cost: an evaluation is about a dozen times |Q|³ multiply-adds; at most 20 are made.
//!
//! References: \[PRIMAL\] section 6.3.

use std::ops::ControlFlow;

use super::basis::{ModelRows, model_on};
use super::primal::{Run, Shuffled};
use super::primal_config::PrimalConfig;
use crate::data::Problem;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::Lbfgs;
use crate::solver::StopReason;
use crate::solver::polish::{Polish, Start, basis_gram};
use crate::solver::primal::{criterion, newton};

const MEMORY: usize = 5;
const MAX_EVALUATIONS: usize = 20;
const TOL: f64 = 1e-3;
/// How far log C and log γ may go from where they begin.
const RANGE: f64 = 9.0;

/// Factors of every C_i and of γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Factor of C.
    pub c: f64,
    /// Factor of γ.
    pub gamma: f64,
    /// Evaluations made.
    pub evaluations: usize,
}

fn with_gamma(kernel: AnyKernel, factor: f64) -> Result<AnyKernel> {
    match kernel {
        AnyKernel::Gaussian { gamma } => Ok(AnyKernel::Gaussian { gamma: gamma * factor }),
        AnyKernel::Laplacian { gamma } => Ok(AnyKernel::Laplacian { gamma: gamma * factor }),
        _ => Err(Error::Unsupported(format!(
            "tune=True needs kernel='rbf' or 'laplacian', got kernel='{}'",
            kernel.name()
        ))),
    }
}

/// Factors of C and γ that minimise the criterion on at most `size` samples.
pub(super) fn tune<F: Real>(
    run: &mut Run<'_>,
    problem: &Problem<'_, F>,
    size: usize,
) -> Result<Tuned> {
    let config = run.config;
    let part = Shuffled::new(problem, config.seed).first(size);
    let (n, m) = (part.samples.len(), problem.targets().n_outputs());
    with_gamma(config.kernel, 1.0)?;
    if !config.newton_fits(n) {
        return Err(config.too_large(n));
    }
    // Weights: what C multiplies. Their scale is of no consequence.
    let mean = part.cost.iter().sum::<f64>() / n as f64;
    let weight: Vec<f64> = part.cost.iter().map(|c| c / mean).collect();
    let (mut coef, mut intercept) = (vec![0.0; n * m], vec![0.0; m]);
    let mut evaluations = 0;
    let mut best = (f64::INFINITY, [0.0, 0.0]);
    let polish: Polish = config.polish();
    let mut point = [0.0, 0.0];
    let evaluate = |x: &[f64], gradient: &mut [f64]| -> Result<f64> {
        if x.iter().any(|v| v.abs() > RANGE) {
            gradient.fill(0.0);
            return Ok(f64::INFINITY);
        }
        let kernel = with_gamma(config.kernel, x[1].exp())?;
        let model = model_on(kernel, &problem.rows(), &part.samples, m)?;
        let rows = problem.rows();
        let all = ModelRows::of_some(rows.view(), &part.samples, &model)?;
        let gram = basis_gram(&all, || run.poll())?;
        let cost: Vec<f64> = part.cost.iter().map(|c| c * x[0].exp()).collect();
        let mut watcher = |_: usize, _: f64| match run.poll() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(StopReason::Interrupted),
        };
        let start =
            Start { targets: part.targets(), cost: &cost, coef: &coef, intercept: &intercept };
        let solved = newton(&polish, &gram, start, &mut watcher)?;
        (coef, intercept) = (solved.coef, solved.intercept);
        let solution =
            Start { targets: part.targets(), cost: &cost, coef: &coef, intercept: &intercept };
        let found = criterion(&polish, &gram, solution, &weight, &mut watcher)?;
        gradient.copy_from_slice(&[found.by_log_c, found.by_log_gamma]);
        evaluations += 1;
        if found.value < best.0 {
            best = (found.value, [x[0], x[1]]);
        }
        Ok(found.value)
    };
    let search = Lbfgs { memory: MEMORY, max_evaluations: MAX_EVALUATIONS, tol: TOL };
    // About one natural unit of change where the criterion changes by a tenth of a sample's loss.
    let curvature = 4.0 / n as f64;
    search.minimise(&mut point, &[curvature, curvature], evaluate)?;
    let [c, gamma] = best.1;
    Ok(Tuned { c: c.exp(), gamma: gamma.exp(), evaluations })
}

impl PrimalConfig {
    /// The same with γ times this factor.
    pub(super) fn scaled(&self, factor: f64) -> Result<Self> {
        Ok(Self { kernel: with_gamma(self.kernel, factor)?, ..*self })
    }
}
