//! Machines on explicit features: a feature map, a linear machine on it, one fit for both.
//!
//! Problems of no more samples than `n_components` have their equal rows merged (costs added) and
//! sorted first: a weight then means the same as repeating a row, and the order of the rows means
//! nothing.

use std::sync::Arc;
use std::time::Duration;

use super::config::{AssetConfig, AssetFeatures, AssetSolver};
use crate::config::{Config as _, megabytes};
use crate::data::{Problem, Rows, SomeTargets, Targets};
use crate::error::{Error, Result};
use crate::estimator::centre::{centre, unit};
use crate::estimator::labelled::{Streams, Trains};
use crate::estimator::machine::{self, Machine};
use crate::estimator::samples::samples;
use crate::features::FeatureMap;
use crate::float::Real;
use crate::model::{FeatureModel, Model};
use crate::rng::Rng;
use crate::solver::asset::{Ascent, Source, State, Task, ascend, train};
use crate::watch::{StopReason, Watch};

/// How a training went.
#[derive(Clone, Debug, PartialEq)]
pub struct AssetReport {
    /// Passes made.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Time at the end of every pass (stochastic).
    pub history: Vec<Duration>,
    /// Primal and dual objective (dual).
    pub objective: Option<(f64, f64)>,
    /// What to do about a fit that did not converge.
    pub advice: Option<String>,
}

impl AssetConfig {
    /// Fits the feature map and trains on it.
    ///
    /// # Errors
    /// Those of [`AssetConfig::check`] and [`Problem::new`]; `OutOfMemory`; `Interrupted`.
    pub fn fit<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        self.train(&Problem::new(rows.view(), targets, cost)?, watch)
    }

    /// The feature map of rows, its landmarks drawn among those of `index`.
    fn map<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        index: &[usize],
        watch: &mut Watch<'_>,
    ) -> Result<FeatureMap<F>> {
        match self.features {
            AssetFeatures::Nystroem { .. } => {
                Ok(FeatureMap::Landmarks(self.nystroem().fit_among(rows, index, watch)?.0))
            }
            AssetFeatures::Fourier { .. } => {
                Ok(FeatureMap::Fourier(self.fourier().fit(rows.n_cols(), watch)?))
            }
        }
    }

    /// One pass over new rows, from a machine trained before or from scratch.
    ///
    /// # Errors
    /// As [`AssetConfig::fit`]; `FeatureMismatch`; `BadLabels` for other classes; `Unsupported` with
    /// the dual, or after it. The map of `start` stays, whatever features are asked for.
    pub fn partial_fit<F: Real>(
        &self,
        start: Option<&Machine<F>>,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        self.pass(&Problem::new(rows.view(), targets, cost)?, start, watch)
    }

    /// Values are fitted about `centre`, one an output, which the offset is then moved by.
    fn solve<F: Real>(
        &self,
        map: FeatureMap<F>,
        rows: &Rows<'_, F>,
        (task, centre, unit): (&Task<'_>, &[f64], f64),
        (start, passes): (Option<&State>, Option<usize>),
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        let moved = task.targets.less(centre)?;
        let targets = moved.as_ref().map_or(task.targets, SomeTargets::view);
        let task = &Task { targets, ..*task };
        let (weights, state, report) = match self.solver {
            AssetSolver::Stochastic { .. } => {
                // Kept features pay from the second pass on.
                let bytes = if passes > Some(1) { megabytes(self.cache_size) } else { 0 };
                let mut source = Source::new(&map, rows.view(), task.index, bytes, watch)?;
                // Streams go on with other draws than they began with.
                let mut rng = Rng::stream(self.seed, start.map_or(0, |s| s.steps));
                let settings = self.settings(passes.unwrap_or(1), passes.is_none());
                let found = train(&settings, &mut source, task, start, &mut rng, watch)?;
                let report = AssetReport {
                    n_iter: found.history.len(),
                    stop: found.stop,
                    history: found.history,
                    objective: None,
                    advice: (passes.is_some() && !found.is_better && !found.stop.is_early()).then(|| {
                        format!(
                            "Stochastic subgradients did not converge in {} passes: a constant has a \
                             lower objective. Raise max_iter, lower C, or take solver='dual'.",
                            self.passes()
                        )
                    }),
                };
                (
                    (found.coef, found.intercept),
                    machine::State::Asset(found.state.moved(centre), None),
                    report,
                )
            }
            AssetSolver::Dual { tol, shrinking } => {
                let source = Source::new(&map, rows.view(), task.index, usize::MAX, watch)?;
                let settings = Ascent {
                    loss: self.loss,
                    fit_intercept: self.fit_intercept,
                    max_iter: self.passes(),
                    tol: tol * unit,
                    shrinking,
                    seed: self.seed,
                };
                let found = ascend(&settings, &source, task, watch)?;
                let report = AssetReport {
                    n_iter: found.n_iter,
                    stop: found.stop,
                    history: vec![watch.elapsed()],
                    objective: Some((found.primal, found.dual)),
                    advice: (found.stop == StopReason::MaxIter).then(|| {
                        format!(
                            "Coordinate ascent did not reach tol={tol} in {} passes: raise max_iter or \
                             tol, or scale the features.",
                            found.n_iter
                        )
                    }),
                };
                ((found.coef, found.intercept), machine::State::None, report)
            }
        };
        let (coef, mut intercept) = weights;
        intercept.iter_mut().zip(centre).for_each(|(b, centre)| *b += centre);
        if !coef.iter().chain(&intercept).all(|v| v.is_finite()) {
            return Err(Error::Unsupported(
                "training left the range of floating point numbers: scale the features, or bring \
                 C, gamma and sample_weight into a sensible range"
                    .into(),
            ));
        }
        let dense = matches!(rows, Rows::Dense(_));
        let model = FeatureModel::new((map, self.kernel), coef, intercept, dense)?;
        Ok((Machine::new(Model::Features(Arc::new(model)), state), report))
    }
}

impl Trains for AssetConfig {
    /// Frequencies are drawn for every column.
    fn selects_columns(&self) -> bool {
        matches!(self.features, AssetFeatures::Nystroem { .. })
    }

    fn own_kernel(&mut self) -> Option<&mut crate::kernel::AnyKernel> {
        Some(&mut self.kernel)
    }

    fn check_loss(&self, classes: bool) -> Result<()> {
        self.loss.expect_classes(classes)
    }

    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        self.check()?;
        watch.limit(self.max_time, 1.0);
        let (index, cost) = samples(problem, self.n_components, 0..problem.rows().n_cols())?;
        let (rows, targets) = (problem.rows(), problem.targets());
        let map = self.map(&rows, &index, watch)?;
        let total = cost.iter().sum();
        let centre = match self.fit_intercept {
            true => centre(self.loss, problem)?,
            false => vec![0.0; targets.n_outputs()],
        };
        let task = Task { targets, index: &index, cost: &cost, total };
        let unit = unit(self.loss, problem)?;
        self.solve(map, &rows, (&task, &centre, unit), (None, Some(self.passes())), watch)
    }
}

impl Streams for AssetConfig {
    fn pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        self.check()?;
        if matches!(self.solver, AssetSolver::Dual { .. }) {
            return Err(Error::Unsupported(
                "partial_fit needs solver='asset': coordinate ascent wants all rows at once".into(),
            ));
        }
        watch.limit(self.max_time, 1.0);
        self.pass_on_landmarks(problem, start, watch)
    }
}

impl AssetConfig {
    /// One pass over new rows, on the features and from the state that there are.
    pub(super) fn one_pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        known: Option<(&FeatureMap<F>, &State)>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        let (index, cost) = samples(problem, 0, 0..0)?;
        let (rows, targets) = (problem.rows(), problem.targets());
        let (map, state) = match known {
            Some((map, state)) => (map.clone(), Some(state)),
            None => (self.map(&rows, &index, watch)?, None),
        };
        let centre = match &state {
            _ if !self.fit_intercept => vec![0.0; targets.n_outputs()],
            Some(state) if !self.loss.is_classification() => state.mean_intercept.clone(),
            _ => centre(self.loss, problem)?,
        };
        let back: Vec<f64> = centre.iter().map(|b| -b).collect();
        let state = state.map(|state| state.moved(&back));
        let sum: f64 = cost.iter().sum();
        let seen = state.as_ref().map_or(0, |s| s.samples) as f64 + cost.len() as f64;
        let expected = self.n_expected.map_or(seen, |n| n as f64);
        let total = sum / cost.len() as f64 * expected;
        let task = Task { targets, index: &index, cost: &cost, total };
        self.solve(map, &rows, (&task, &centre, 1.0), (state.as_ref(), None), watch)
    }
}

/// The map and the state of a machine that new rows fit.
pub(super) fn go_on<'m, F: Real>(
    machine: &'m Machine<F>,
    problem: &Problem<'_, F>,
) -> Result<(&'m FeatureMap<F>, &'m State)> {
    machine.check_fits(problem)?;
    match (machine.model()?.map(), machine.state()) {
        (Some(map), machine::State::Asset(state, _)) => Ok((map, state)),
        _ => Err(Error::Unsupported(
            "partial_fit cannot go on from a fit with solver='dual': fit with solver='asset' first"
                .into(),
        )),
    }
}
