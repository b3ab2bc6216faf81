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

use super::basis;
use super::config::Choice;
use super::found::Found;
use super::run::{Run, SHARE_BEFORE, machine};
use super::start::PrimalStart;
use crate::data::{Gathered, Problem, Rows, Targets};
use crate::error::{Result, check_features};
use crate::estimator::basis::model_on;
use crate::estimator::coefficients::{self, Refinement};
use crate::float::Real;
use crate::kernel::origin_for;
use crate::model::KernelModel;
use crate::solver::smoothed::Polished;
use crate::watch::Phase;

impl Run<'_, '_> {
    pub(super) fn chosen<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        choice: Choice,
        count: usize,
    ) -> Result<Found> {
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
        let (config, unit) = (&self.config, self.unit);
        self.watch.beforehand(SHARE_BEFORE, |watch| {
            basis::choose((config, unit), watch, problem, choice, count)
        })
    }

    pub(super) fn given<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        (points, count): (&Rows<'_, F>, usize),
        start: Option<&PrimalStart>,
    ) -> Result<Found> {
        check_features(problem.rows().n_cols(), points.n_cols())?;
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
        coefficients::polish(&self.config.polish(self.unit), problem, model, self.watch)
    }

    /// Step 3, where it was asked for.
    fn refined<F: Real>(
        &mut self,
        problem: &Problem<'_, F>,
        model: &KernelModel<F>,
        before: Found,
    ) -> Result<Found> {
        if !self.config.refine || before.report.stop.is_early() || model.n_terms() == 0 {
            return Ok(before);
        }
        (self.watch.tick.phase, self.watch.steps_before) = (Phase::Refine, before.report.n_iter);
        let start = model.with_coef(&before.coef, before.intercept.clone())?;
        let config = &self.config;
        let (refine, polish) = (config.refiner(self.unit), config.polish(self.unit));
        let refinement = Refinement { refine, polish, max_time: config.max_time };
        let smoothed = before.report.smoothed;
        let mut points = None;
        let moved = refinement.run(problem, (&start, smoothed), self.watch, |refined, watch| {
            watch.steps_before += refined.evaluations;
            // On its points as they are handed out: rounded to the precision of the rows.
            let rows = points.insert(refined.model.centers()?);
            let (coef, intercept) = (refined.model.coef(), refined.model.intercept().to_vec());
            let origin = origin_for(refined.model.kernel(), &rows.rows()?)?;
            KernelModel::of_rows(refined.model.kernel(), origin, rows.clone(), &coef, intercept)
        })?;
        let n_iter = self.watch.steps_before + moved.polished.steps;
        let mut found = before;
        if moved.better {
            found = machine(moved.polished, None);
            if let Some(Gathered::Dense(points)) = points {
                found.points = Some(points.iter().map(|v| Real::to_f64(*v)).collect());
            }
        }
        let report = &mut found.report;
        (report.n_iter, report.stop) = (n_iter, moved.stop.unwrap_or(report.stop));
        Ok(found)
    }
}
