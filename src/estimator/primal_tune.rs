//! C and γ by the gradient of the leave-one-out criterion, and by leave-one-out errors.
//!
//! # Method
//!
//! 1. On a part of the samples, `min V(log C, log γ)` by L-BFGS on the gradient of
//!    [`crate::solver::primal::criterion`].
//! 2. Each evaluation is a few Newton steps from the coefficients of the last one: coefficients
//!    and hyperparameters are found together.
//! 3. Of classes, what is wanted is few errors, and the criterion, which has a gradient, asks for
//!    small values of the squared hinge: smoother machines. So the last word is that of the errors
//!    themselves, leave-one-out, at 15 places around its minimum.
//!
//! Cost: an evaluation is about a dozen times |Q|³ multiply-adds in step 2, half of that in step 3;
//! at most 20 are made, and 15.
//!
//! References: \[PRIMAL\] section 6.3.

use std::ops::ControlFlow;

use super::basis::{ModelRows, model_on};
use super::primal::{Run, Shuffled};
use super::primal_config::PrimalConfig;
use crate::data::{Problem, Targets};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::Lbfgs;
use crate::solver::StopReason;
use crate::solver::polish::{Polish, Start, Watcher, basis_gram};
use crate::solver::primal::{Criterion, criterion, leave_one_out, newton};

const MEMORY: usize = 5;
const MAX_EVALUATIONS: usize = 20;
const TOL: f64 = 1e-3;
/// The rest of `max_time` is for the machine itself.
const SHARE_OF_TIME: f64 = 0.5;
/// How far log C and log γ may go from where they begin.
const RANGE: f64 = 9.0;
/// Where errors are counted: factors of γ and of C at the criterion's minimum.
const GAMMAS: [f64; 5] = [0.5, 0.71, 1.0, 1.41, 2.0];
const COSTS: [f64; 3] = [0.25, 1.0, 4.0];

/// Factors of every C_i and of γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Factor of C.
    pub c: f64,
    /// Factor of γ.
    pub gamma: f64,
    /// Evaluations made.
    pub evaluations: usize,
    /// Why tuning ended before it was done, if it did.
    pub stopped: Option<StopReason>,
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

/// Whether the kernel and the loss are such as can be tuned.
pub(super) fn check(config: &PrimalConfig) -> Result<()> {
    with_gamma(config.kernel, 1.0)?;
    if config.polish().final_loss().uses_h() {
        return Err(Error::Unsupported(
            "tune=True needs a squared loss (loss='squared_hinge', 'squared_epsilon_insensitive' \
             or 'least_squares'), whose leave-one-out values have a gradient"
                .into(),
        ));
    }
    Ok(())
}

/// Factors of C and γ by the criterion and by the errors on at most `size` samples.
pub(super) fn tune<F: Real>(
    run: &mut Run<'_>,
    problem: &Problem<'_, F>,
    size: usize,
) -> Result<Tuned> {
    let config = run.config;
    let part = Shuffled::new(problem, config.seed).first(size);
    let (n, m) = (part.samples.len(), problem.targets().n_outputs());
    if !config.newton_fits(n) {
        return Err(config.too_large(n));
    }
    // What C multiplies; the scale is of no consequence.
    let mean = part.cost.iter().sum::<f64>() / n as f64;
    let weight: Vec<f64> = part.cost.iter().map(|c| c / mean).collect();
    let (coef, intercept) = (vec![0.0; n * m], vec![0.0; m]);
    let polish = config.polish();
    let mut trials =
        Trials { run, problem, part, polish, coef, intercept, evaluations: 0, stopped: None };
    let mut best = (f64::INFINITY, [0.0, 0.0]);
    let search = Lbfgs { memory: MEMORY, max_evaluations: MAX_EVALUATIONS, tol: TOL };
    // About one natural unit of change where the criterion changes by a tenth of a sample's loss.
    let curvature = 4.0 / n as f64;
    // 1.
    let found = search.minimise(&mut [0.0, 0.0], &[curvature, curvature], |x, gradient| {
        let found = trials.criterion([x[0], x[1]], &weight)?;
        gradient.copy_from_slice(&[found.by_log_c, found.by_log_gamma]);
        if found.value < best.0 {
            best = (found.value, [x[0], x[1]]);
        }
        Ok(found.value)
    });
    match found {
        // The time for it is over: what has been found counts.
        Err(Error::Interrupted) if trials.stopped.is_some() => {}
        found => drop(found?),
    }
    let [c, gamma] = match problem.targets() {
        Targets::Values(_) => best.1,
        Targets::Classes { .. } => trials.fewest_errors(best.1, &weight)?,
    };
    let (evaluations, stopped) = (trials.evaluations, trials.stopped);
    Ok(Tuned { c: c.exp(), gamma: gamma.exp(), evaluations, stopped })
}

/// Machines on the part of the samples, each begun with the coefficients of the last.
struct Trials<'t, 'r, 'p, F: Real> {
    run: &'t mut Run<'r>,
    problem: &'t Problem<'p, F>,
    part: Shuffled,
    polish: Polish,
    coef: Vec<f64>,
    intercept: Vec<f64>,
    evaluations: usize,
    /// Why there are to be no more of them, when the caller says so or time presses.
    stopped: Option<StopReason>,
}

impl<F: Real> Trials<'_, '_, '_, F> {
    /// Solves at `log C, log γ` (added to where they began) and hands over the kernel matrix, the
    /// solution and the one to ask whether to go on.
    fn solve<T>(
        &mut self,
        [c, gamma]: [f64; 2],
        ask: impl FnOnce(&Polish, &[f64], Start<'_>, &mut Watcher<'_>) -> Result<T>,
    ) -> Result<T> {
        self.evaluations += 1;
        let kernel = with_gamma(self.run.config.kernel, gamma.exp())?;
        let (rows, m) = (self.problem.rows(), self.problem.targets().n_outputs());
        let model = model_on(kernel, &rows, &self.part.samples, m)?;
        let all = ModelRows::of_some(rows.view(), &self.part.samples, &model)?;
        let (run, stopped) = (&mut *self.run, &mut self.stopped);
        let mut poll = || {
            let flow = run.watch(0, f64::NAN);
            let reason = match flow {
                ControlFlow::Break(reason) => Some(reason),
                ControlFlow::Continue(()) => {
                    run.limited.spent(SHARE_OF_TIME).then_some(StopReason::MaxTime)
                }
            };
            *stopped = stopped.or(reason.filter(|r| *r != StopReason::Interrupted));
            if reason.is_some() || stopped.is_some() { Err(Error::Interrupted) } else { Ok(()) }
        };
        let gram = basis_gram(&all, &mut poll)?;
        let cost: Vec<f64> = self.part.cost.iter().map(|cost| cost * c.exp()).collect();
        let mut watcher = |_: usize, _: f64| match poll() {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(StopReason::Interrupted),
        };
        let (targets, cost) = (self.part.targets(), cost.as_slice());
        let start = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        let solved = newton(&self.polish, &gram, start, &mut watcher)?;
        (self.coef, self.intercept) = (solved.coef, solved.intercept);
        let solution = Start { targets, cost, coef: &self.coef, intercept: &self.intercept };
        ask(&self.polish, &gram, solution, &mut watcher)
    }

    fn criterion(&mut self, x: [f64; 2], weight: &[f64]) -> Result<Criterion> {
        if x.iter().any(|v| v.abs() > RANGE) {
            return Ok(Criterion { value: f64::INFINITY, ..Criterion::default() });
        }
        self.solve(x, |polish, gram, solution, watcher| {
            criterion(polish, gram, solution, weight, watcher)
        })
    }

    /// Method, 3: the neighbour of `x` with the fewest errors, the nearest of several.
    fn fewest_errors(&mut self, x: [f64; 2], weight: &[f64]) -> Result<[f64; 2]> {
        let mut best = ((f64::INFINITY, f64::INFINITY), x);
        for gamma in GAMMAS {
            for c in COSTS {
                let place = [x[0] + f64::ln(c), x[1] + f64::ln(gamma)];
                let errors = match self.errors(place, weight) {
                    Err(Error::Interrupted) if self.stopped.is_some() => return Ok(best.1),
                    errors => errors?,
                };
                let far = f64::ln(c).abs() + f64::ln(gamma).abs();
                if (errors, far) < best.0 {
                    best = ((errors, far), place);
                }
            }
        }
        Ok(best.1)
    }

    /// Weight of the samples that the machines without them put into another class.
    fn errors(&mut self, x: [f64; 2], weight: &[f64]) -> Result<f64> {
        let left_out = self.solve(x, leave_one_out)?;
        let Targets::Classes { index, .. } = self.part.targets() else { return Ok(0.0) };
        let m = self.problem.targets().n_outputs();
        let wrong = |(&class, f): (&u32, &[f64])| match m {
            1 => (class == 1) != (f[0] > 0.0),
            _ => f.iter().any(|&other| other > f[class as usize]),
        };
        let judged = index.iter().zip(left_out.chunks_exact(m)).map(wrong);
        Ok(judged.zip(weight).map(|(wrong, w)| if wrong { *w } else { 0.0 }).sum())
    }
}

impl PrimalConfig {
    /// The same with γ times this factor.
    pub(super) fn scaled(&self, factor: f64) -> Result<Self> {
        Ok(Self { kernel: with_gamma(self.kernel, factor)?, ..*self })
    }
}
