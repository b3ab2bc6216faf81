//! Primal machines without labels: which solver, on which basis.

use super::config::{PrimalConfig, PrimalSolver};
use super::found::PrimalMachine;
use super::run::{Run, SHARE_BEFORE};
use super::start::{PrimalBasis, PrimalStart};
use super::tune::tune;
use crate::config::Config as _;
use crate::data::{Problem, Rows};
use crate::error::{Error, Result, try_vec};
use crate::estimator::basis::model_on;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::{Phase, StopReason, Tick, Watch};

impl PrimalMachine {
    /// Trains on all samples whose cost is positive; `start` changes how long it takes, and where
    /// a basis that is given is refined also where it leads. A basis still to be chosen begins
    /// without one.
    ///
    /// # Errors
    /// `InvalidParam`, `FeatureMismatch` for a basis given with other features, `LengthMismatch`
    /// for a start of another size, `Unsupported` when Newton's method does not fit the memory
    /// allowed or a machine without a basis is to be refined, `NonFinite`, `OutOfMemory`,
    /// `Interrupted`; `Unsupported` for a kernel that shows not to be positive definite, and
    /// `InvalidData` for rows whose products overflow.
    pub fn fit<F: Real>(
        config: &PrimalConfig,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        config.check()?;
        let everything = matches!(basis, PrimalBasis::Samples);
        if config.refine && everything {
            return Err(Error::Unsupported(
                "refine=True needs a basis (basis='kmeans++', n_components=500): an expansion in \
                 all samples has nothing to gain from other points"
                    .into(),
            ));
        }
        let linear = everything && config.kernel == AnyKernel::Linear;
        let n = problem.cost().iter().filter(|&&c| c > 0.0).count();
        let by_cg = matches!(config.solver, PrimalSolver::Cg | PrimalSolver::PlainCg);
        if config.leave_one_out && (!everything || linear || by_cg) {
            return Err(Error::Unsupported(
                "leave_one_out=True needs Newton's method on an expansion in all samples: a \
                 kernel that is not 'linear', basis=None, solver='newton'"
                    .into(),
            ));
        }
        if config.leave_one_out && !config.newton_fits(n) {
            return Err(config.too_large("leave_one_out=True", n, "fewer samples"));
        }
        if everything && !linear {
            config.by_newton(n)?;
        }
        watch.limit(config.max_time, 1.0);
        watch.enter(Phase::Step, Tick { n_samples: problem.len(), ..Tick::default() });
        let run = Run { config: *config, watch };
        Self::run(run, problem, basis, start).map_err(|error| match error {
            Error::NotPositiveDefinite(_) if linear => Error::InvalidData {
                what: "X",
                reason: "its products leave the range of floating point numbers: scale it".into(),
            },
            Error::NotPositiveDefinite(_) => Error::Unsupported(format!(
                "kernel='{}' is not positive definite on these samples with these parameters, so \
                 that the objective need not have a minimum",
                config.kernel.name()
            )),
            error => error,
        })
    }

    fn run<F: Real>(
        mut run: Run<'_, '_>,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
    ) -> Result<Self> {
        let config = run.config;
        let Some(size) = config.tune else { return run.fit(problem, basis, start) };
        let tuned =
            run.watch.beforehand(SHARE_BEFORE, |watch| tune(&config, watch, problem, size))?;
        run.config = config.scaled(tuned.gamma)?;
        let cost: Vec<f64> = problem.cost().iter().map(|c| c * tuned.c).collect();
        let rows = problem.rows();
        let problem = Problem::new(rows.view(), problem.targets(), &cost)?;
        let machine = run.fit(&problem, &basis.view(), start)?;
        let stop = match machine.stop {
            StopReason::Converged => tuned.stopped.unwrap_or(StopReason::Converged),
            stop => stop,
        };
        Ok(Self { tuned: Some(tuned), stop, ..machine })
    }
}

/// Decision values of an expansion on these points, samples x outputs. `coef` is terms x outputs.
/// Call it inside [`crate::parallel::run`].
///
/// # Errors
/// `LengthMismatch`, `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
pub fn primal_decision<F: Real>(
    kernel: AnyKernel,
    points: &Rows<'_, F>,
    (coef, intercept): (&[f64], &[f64]),
    rows: &Rows<'_, F>,
) -> Result<Vec<f64>> {
    rows.check_finite("X")?;
    let all: Vec<usize> = (0..points.n_rows()).collect();
    let model = model_on(kernel, points, &all, intercept.len())?;
    let model = model.with_coef(coef, intercept.to_vec())?;
    let mut values = try_vec("decision values", rows.n_rows() * intercept.len(), 0.0)?;
    model.decision(rows, &mut values)?;
    Ok(values)
}
