//! Reduced expansions: a basis chosen or given, the best coefficients on it, better points.
//!
//! # Method
//!
//! 1. The points: chosen among the samples ([`basis`]), or given.
//! 2. The best coefficients on them, which is polishing.
//! 3. Asked to refine: the points move together with their coefficients ([`Refine`], as for the
//!    budgeted machines), are rounded to the precision of the rows, and step 2 once more. What has
//!    the lower objective is kept. A basis of every sample stays: it spans the minimum already.
//!
//! References: \[PRIMAL\] section 6.2; step 3 ours.
//!
//! [`Refine`]: crate::solver::refine::Refine

use ndarray::ArrayView2;

use super::basis;
use super::config::Choice;
use super::found::PrimalMachine;
use super::run::{Run, SHARE_BEFORE, machine};
use super::start::PrimalStart;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::basis::{ModelRows, model_on};
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::polish::{Polished, Start};
use crate::watch::Phase;

/// The share of `max_time` after which refining gives way to the last polish.
const REFINE_TIME: f64 = 0.9;

impl Run<'_, '_> {
    pub(super) fn chosen<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        choice: Choice,
        count: usize,
    ) -> Result<PrimalMachine> {
        let mut samples = self.choose(problem, choice, count)?;
        samples.sort_unstable();
        let m = problem.targets().n_outputs();
        let model = model_on(self.config.kernel, &problem.rows(), &samples, m)?;
        let solved = self.reduced(problem, &model)?;
        if samples.len() == problem.cost().iter().filter(|&&c| c > 0.0).count() {
            return Ok(machine(solved, Some(samples)));
        }
        self.refined(problem, &model, machine(solved, Some(samples)))
    }

    fn choose<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        choice: Choice,
        count: usize,
    ) -> Result<Vec<usize>> {
        let config = &self.config;
        self.watch
            .beforehand(SHARE_BEFORE, |watch| basis::choose(config, watch, problem, choice, count))
    }

    pub(super) fn given<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        (points, count): (&Rows<'_, F>, usize),
        start: Option<&PrimalStart>,
    ) -> Result<PrimalMachine> {
        let (expected, got) = (problem.rows().n_cols(), points.n_cols());
        if expected != got {
            return Err(Error::FeatureMismatch { expected, got });
        }
        points.check_finite("basis")?;
        let mut terms: Vec<usize> = (0..points.n_rows()).collect();
        if terms.len() > count {
            let (flat, equal) = (vec![0.0; terms.len()], vec![1.0; terms.len()]);
            let all = Problem::new(points.view(), Targets::Values(&flat), &equal)?;
            terms = self.choose(&all, Choice::Cholesky, count)?;
            terms.sort_unstable();
        }
        let m = problem.targets().n_outputs();
        let mut model = model_on(self.config.kernel, points, &terms, m)?;
        if let Some(start) = start {
            start.check(terms.len(), m)?;
            model = model.with_coef(&start.coef, start.intercept.clone())?;
        }
        let solved = self.reduced(problem, &model)?;
        self.refined(problem, &model, machine(solved, Some(terms)))
    }

    /// Step 2.
    fn reduced<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
    ) -> Result<Polished> {
        self.watch.tick.n_terms = model.n_terms();
        let x = problem.rows();
        let rows = ModelRows::new(x.view(), model)?;
        let coef = model.coef();
        let start = Start {
            targets: problem.targets(),
            cost: problem.cost(),
            coef: &coef,
            intercept: model.intercept(),
        };
        self.config.polish().solve(&rows, start, self.watch)
    }

    /// Step 3, where it was asked for.
    fn refined<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
        before: PrimalMachine,
    ) -> Result<PrimalMachine> {
        if !self.config.refine || before.stop.is_early() || model.n_terms() == 0 {
            return Ok(before);
        }
        (self.watch.phase, self.watch.steps_before) = (Phase::Refine, before.n_iter);
        let start = model.with_coef(&before.coef, before.intercept.clone())?;
        self.watch.limit(self.config.max_time, REFINE_TIME);
        let moved = self.config.refiner().solve(problem, &start, self.watch)?;
        self.watch.limit(self.config.max_time, 1.0);
        self.watch.steps_before += moved.evaluations;
        let points = moved.model.centers();
        let (terms, d) = (moved.model.n_terms(), moved.model.n_features());
        let rows = ArrayView2::from_shape((terms, d), &points)
            .map_err(|e| Error::Unsupported(e.to_string()))?;
        let all: Vec<usize> = (0..terms).collect();
        let intercept = moved.model.intercept().to_vec();
        let model = model_on(self.config.kernel, &Rows::Dense(rows), &all, intercept.len())?
            .with_coef(&moved.model.coef(), intercept)?;
        let last = self.reduced(problem, &model)?;
        let stop = [moved.stop, last.stop].into_iter().find(|stop| stop.is_early());
        let n_iter = self.watch.steps_before + last.steps;
        let better = last.smoothed <= before.objective[0];
        let mut found = if better { machine(last, None) } else { before };
        if better {
            found.points = Some(points.iter().map(|v| Real::to_f64(*v)).collect());
        }
        (found.n_iter, found.stop) = (n_iter, stop.unwrap_or(found.stop));
        Ok(found)
    }
}
