//! Primal machines without labels: which solver, on which basis.

use std::sync::Arc;

use super::config::{PrimalConfig, PrimalSolver};
use super::found::Found;
use super::report::PrimalReport;
use super::run::{Run, SHARE_BEFORE};
use super::start::{PrimalBasis, PrimalStart};
use super::tune::tune;
use crate::config::Config as _;
use crate::data::{Gathered, Problem, Rows};
use crate::error::{Error, Result};
use crate::estimator::centre::unit;
use crate::estimator::machine::{Machine, State};
use crate::float::Real;
use crate::kernel::{AnyKernel, origin_for};
use crate::model::{KernelModel, LinearModel, Model};
use crate::watch::{Phase, Progress, StopReason, Watch};

impl PrimalConfig {
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
        &self,
        problem: &Problem<'_, F>,
        basis: &PrimalBasis<'_, F>,
        start: Option<&PrimalStart>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, PrimalReport)> {
        let config = self;
        config.check()?;
        let everything = matches!(basis, PrimalBasis::Samples);
        if config.refine && everything {
            return Err(Error::Unsupported(
                "refine=true needs a basis (basis='kmeans++', n_components=500): an expansion in \
                 all samples has nothing to gain from other points"
                    .into(),
            ));
        }
        let linear = everything && config.kernel == AnyKernel::Linear;
        let n = problem.cost().iter().filter(|&&c| c > 0.0).count();
        let by_cg = matches!(config.solver, PrimalSolver::Cg | PrimalSolver::PlainCg);
        if config.leave_one_out && (!everything || linear || by_cg) {
            return Err(Error::Unsupported(
                "leave_one_out=true needs Newton's method on an expansion in all samples: a \
                 kernel that is not 'linear', basis=none, solver='newton'"
                    .into(),
            ));
        }
        if config.leave_one_out && !config.newton_fits(n) {
            return Err(config.too_large("leave_one_out=true", n, "fewer samples"));
        }
        if everything && !linear {
            config.by_newton(n)?;
        }
        watch.limit(config.max_time, 1.0);
        watch.enter(Phase::Step, Progress { n_samples: problem.len(), ..Progress::default() });
        let run = Run { config: *config, unit: unit(config.loss, problem)?, watch };
        let found = tuned(run, problem, basis, start).map_err(|error| match error {
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
        })?;
        match basis {
            PrimalBasis::Given(points, _) => config.machine(found, points),
            PrimalBasis::Samples | PrimalBasis::Chosen(..) => {
                config.machine(found, &problem.rows())
            }
        }
    }

    /// The machine of what was found; terms are rows of `source`.
    fn machine<F: Real>(
        &self,
        found: Found,
        source: &Rows<'_, F>,
    ) -> Result<(Machine<F>, PrimalReport)> {
        let m = found.intercept.len();
        let kernel = match found.report.tuned {
            Some(tuned) => self.scaled(tuned.gamma)?.kernel,
            None => self.kernel,
        };
        let terms = match (&found.report.support, &found.points) {
            (_, Some(points)) => {
                let points: Vec<F> = points.iter().map(|&v| F::from_f64(v)).collect();
                Some(Gathered::from_values(points, source.n_cols())?)
            }
            (Some(support), None) => Some(Gathered::new(source, support)?),
            (None, None) => None,
        };
        let intercept = found.intercept.clone();
        let model = match terms {
            Some(terms) => {
                let origin = origin_for(kernel, &terms.rows()?)?;
                let model = KernelModel::of_rows(kernel, origin, terms, &found.coef, intercept)?;
                Model::Expansion(Arc::new(model))
            }
            None => {
                let d = source.n_cols();
                let coef = (0..m * d).map(|at| found.coef[at % d * m + at / d]).collect();
                Model::Linear(Arc::new(LinearModel::new(coef, intercept)?))
            }
        };
        Ok((Machine::new(model, State::None), found.report))
    }
}

/// The fit, after C and γ are tuned where that is asked for.
fn tuned<F: Real>(
    mut run: Run<'_, '_>,
    problem: &Problem<'_, F>,
    basis: &PrimalBasis<'_, F>,
    start: Option<&PrimalStart>,
) -> Result<Found> {
    let config = run.config;
    let Some(size) = config.tune else { return run.fit(problem, basis, start) };
    let tuned = run.watch.beforehand(SHARE_BEFORE, |watch| tune(&config, watch, problem, size))?;
    run.config = config.scaled(tuned.gamma)?;
    let cost: Vec<f64> = problem.cost().iter().map(|c| c * tuned.c).collect();
    let rows = problem.rows();
    let problem = Problem::new(rows.view(), problem.targets(), &cost)?;
    let mut found = run.fit(&problem, &basis.view(), start)?;
    if let (StopReason::Converged, Some(stopped)) = (found.report.stop, tuned.stopped) {
        found.report.stop = stopped;
    }
    found.report.tuned = Some(tuned);
    Ok(found)
}
