//! The best coefficients for the terms of a model, and better terms.

use super::basis::ModelRows;
use crate::data::Problem;
use crate::error::Result;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::refine::{Refine, Refined};
use crate::solver::smoothed::{KernelRows, Polish, Polished, Start};
use crate::watch::{StopReason, Watch};

/// The share of `max_time` after which refining gives way to the last polish.
const REFINE_TIME: f64 = 0.9;

/// Polishes a model, beginning with the coefficients that it has.
pub(super) fn polish<F: Real>(
    how: &Polish,
    problem: &Problem<'_, F>,
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let rows = problem.rows();
    polish_on(how, problem, (&ModelRows::new(rows.view(), model)?, model), watch)
}

/// The same on kernel values that are there.
pub(super) fn polish_on<F: Real>(
    how: &Polish,
    problem: &Problem<'_, F>,
    (rows, model): (&dyn KernelRows<F>, &KernelModel<F>),
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    let (coef, cost) = (model.coef(), problem.cost());
    // Values far from 0 are solved for about the offset: sums in the float of the rows lose less.
    let (targets, intercept) = (problem.targets(), model.intercept());
    let centred = how.fit_intercept && !how.loss.is_classification();
    let moved = if centred { targets.less(intercept)? } else { None };
    let Some(moved) = moved else {
        return how.solve(rows, Start { targets, cost, coef: &coef, intercept }, watch);
    };
    let zero = vec![0.0; intercept.len()];
    let start = Start { targets: moved.view(), cost, coef: &coef, intercept: &zero };
    let mut found = how.solve(rows, start, watch)?;
    found.intercept.iter_mut().zip(intercept).for_each(|(b, centre)| *b += centre);
    Ok(found)
}

/// How a model is refined.
pub(super) struct Refinement {
    pub(super) refine: Refine,
    pub(super) polish: Polish,
    /// Seconds of the whole fit.
    pub(super) max_time: Option<f64>,
}

/// A model whose points have moved.
pub(super) struct Moved<F: Real> {
    pub(super) model: KernelModel<F>,
    /// The best coefficients for its points.
    pub(super) polished: Polished,
    /// Whether the smoothed objective is no higher than it was; else what was is to be kept.
    pub(super) better: bool,
    /// What ended the work early.
    pub(super) stop: Option<StopReason>,
}

impl Refinement {
    /// Moves the points of a polished model, whose smoothed objective is given, and polishes
    /// again: first `settle` makes the model that is to be polished of the one refined.
    pub(super) fn run<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (model, smoothed): (&KernelModel<F>, f64),
        watch: &mut Watch<'_>,
        settle: impl FnOnce(Refined<F>, &mut Watch<'_>) -> Result<KernelModel<F>>,
    ) -> Result<Moved<F>> {
        watch.limit(self.max_time, REFINE_TIME);
        let refined = self.refine.solve(problem, model, watch)?;
        watch.limit(self.max_time, 1.0);
        let ended = refined.stop;
        let model = settle(refined, watch)?;
        let polished = polish(&self.polish, problem, &model, watch)?;
        let stop = [ended, polished.stop].into_iter().find(|stop| stop.is_early());
        Ok(Moved { better: polished.smoothed <= smoothed, model, polished, stop })
    }
}
