//! Machines on explicit features: a feature map, a linear machine on it, one fit for both.
//!
//! Problems of no more samples than `n_components` have their equal rows merged (costs added) and
//! sorted first: a weight then means the same as repeating a row, and the order of the rows means
//! nothing.

use std::cmp::Ordering;
use std::time::Duration;

use rayon::prelude::*;

use super::config::{AssetConfig, AssetFeatures, AssetSolver};
use crate::config::{Config as _, megabytes};
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::dots;
use crate::model::KernelModel;
use crate::parallel::ROW_CHUNK;
use crate::rng::Rng;
use crate::solver::asset::{Ascent, Source, State, Task, ascend, train};
use crate::watch::{StopReason, Watch};

/// A trained machine.
#[derive(Clone, Debug)]
pub struct AssetMachine<F: Real> {
    /// The features.
    pub map: FeatureMap<F>,
    /// outputs x D.
    pub coef: Vec<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
    /// What a stream goes on from (stochastic).
    pub state: Option<State>,
    /// Passes made.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Time at the end of every pass (stochastic).
    pub history: Vec<Duration>,
    /// Primal and dual objective (dual).
    pub objective: Option<(f64, f64)>,
}

impl<F: Real> AssetMachine<F> {
    /// Fits the feature map and trains on it.
    ///
    /// # Errors
    /// Those of [`AssetConfig::check`] and [`Problem::new`]; `OutOfMemory`; `Interrupted`.
    pub fn fit(
        config: &AssetConfig,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        config.check()?;
        let problem = Problem::new(rows.view(), targets, cost)?;
        watch.limit(config.max_time, 1.0);
        let (index, cost) = samples(&problem, config.n_components)?;
        let map = match config.features {
            AssetFeatures::Nystroem { .. } => {
                FeatureMap::Landmarks(config.nystroem().fit_among(rows, &index, watch)?)
            }
            AssetFeatures::Fourier { .. } => {
                FeatureMap::Fourier(config.fourier().fit(rows.n_cols())?)
            }
        };
        let total = cost.iter().sum();
        let task = Task { targets, index: &index, cost: &cost, total };
        let passes = config.passes();
        Self::train(config, map, rows, &task, (None, Some(passes)), watch)
    }

    /// One pass over new rows, from `start` (a map and a state) or from scratch.
    ///
    /// # Errors
    /// As [`AssetMachine::fit`]; `FeatureMismatch`; `LengthMismatch` for a state of another size;
    /// `Unsupported` with the dual. The map of `start` stays, whatever features are asked for.
    pub fn partial_fit(
        config: &AssetConfig,
        start: Option<(FeatureMap<F>, State)>,
        rows: &Rows<'_, F>,
        targets: Targets<'_>,
        cost: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        config.check()?;
        if matches!(config.solver, AssetSolver::Dual { .. }) {
            return Err(Error::Unsupported(
                "partial_fit needs solver='asset': coordinate ascent wants all rows at once".into(),
            ));
        }
        let problem = Problem::new(rows.view(), targets, cost)?;
        watch.limit(config.max_time, 1.0);
        let (index, cost) = samples(&problem, 0)?;
        let (map, state) = match start {
            Some((map, state)) => {
                if map.n_features() != rows.n_cols() {
                    let (expected, got) = (map.n_features(), rows.n_cols());
                    return Err(Error::FeatureMismatch { expected, got });
                }
                let outputs = targets.n_outputs();
                let expected = outputs * map.n_outputs();
                let wrong = |w: &[f64], b: &[f64]| w.len() != expected || b.len() != outputs;
                if wrong(&state.weights, &state.intercept)
                    || wrong(&state.mean, &state.mean_intercept)
                {
                    let got = state.weights.len();
                    return Err(Error::LengthMismatch { what: "coef", expected, got });
                }
                (map, Some(state))
            }
            None => {
                let map = match config.features {
                    AssetFeatures::Nystroem { .. } => {
                        let map = config.nystroem().fit_among(rows, &index, watch)?;
                        FeatureMap::Landmarks(map)
                    }
                    AssetFeatures::Fourier { .. } => {
                        FeatureMap::Fourier(config.fourier().fit(rows.n_cols())?)
                    }
                };
                (map, None)
            }
        };
        let sum: f64 = cost.iter().sum();
        let seen = state.as_ref().map_or(0, |s| s.samples) as f64 + cost.len() as f64;
        let expected = config.n_expected.map_or(seen, |n| n as f64);
        let total = sum / cost.len() as f64 * expected;
        let task = Task { targets, index: &index, cost: &cost, total };
        Self::train(config, map, rows, &task, (state.as_ref(), None), watch)
    }

    fn train(
        config: &AssetConfig,
        map: FeatureMap<F>,
        rows: &Rows<'_, F>,
        task: &Task<'_>,
        (start, passes): (Option<&State>, Option<usize>),
        watch: &mut Watch<'_>,
    ) -> Result<Self> {
        match config.solver {
            AssetSolver::Stochastic { .. } => {
                // Kept features pay from the second pass on.
                let bytes = if passes > Some(1) { megabytes(config.cache_size) } else { 0 };
                let mut source = Source::new(&map, rows.view(), task.index, bytes, watch)?;
                // Streams go on with other draws than they began with.
                let mut rng = Rng::stream(config.seed, start.map_or(0, |s| s.steps));
                let settings = config.settings(passes.unwrap_or(1), passes.is_none());
                let found = train(&settings, &mut source, task, start, &mut rng, watch)?;
                Ok(Self {
                    coef: found.coef,
                    intercept: found.intercept,
                    state: Some(found.state),
                    n_iter: found.history.len(),
                    stop: found.stop,
                    history: found.history,
                    objective: None,
                    map,
                })
            }
            AssetSolver::Dual { tol, shrinking } => {
                let source = Source::new(&map, rows.view(), task.index, usize::MAX, watch)?;
                let settings = Ascent {
                    loss: config.loss,
                    fit_intercept: config.fit_intercept,
                    max_iter: config.passes(),
                    tol,
                    shrinking,
                    seed: config.seed,
                };
                let found = ascend(&settings, &source, task, watch)?;
                Ok(Self {
                    coef: found.coef,
                    intercept: found.intercept,
                    state: None,
                    n_iter: found.n_iter,
                    stop: found.stop,
                    history: vec![watch.elapsed()],
                    objective: Some((found.primal, found.dual)),
                    map,
                })
            }
        }
    }
}

/// The samples of positive cost, and their costs. When there are at most `merge_up_to`, equal ones
/// are merged and all are sorted.
fn samples<F: Real>(
    problem: &Problem<'_, F>,
    merge_up_to: usize,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let cost = problem.cost();
    let mut index = try_vec("the samples", problem.len(), 0)?;
    index.clear();
    index.extend((0..problem.len()).filter(|&i| cost[i] > 0.0));
    let d = problem.rows().n_cols();
    if index.len() > merge_up_to {
        let cost = index.iter().map(|&i| cost[i]).collect();
        return Ok((index, cost));
    }
    let mut values = try_vec("the samples", index.len().saturating_mul(d), F::zero())?;
    for (row, &i) in values.chunks_exact_mut(d).zip(&index) {
        problem.rows().copy_row(i, row);
    }
    let target = |i: usize| match problem.targets() {
        Targets::Classes { index, .. } => f64::from(index[i]),
        Targets::Values(y) => y[i],
    };
    // Everything is finite, and both zeros compare as equal.
    let compare = |a: usize, b: usize| {
        let pairs = values[a * d..][..d].iter().zip(&values[b * d..][..d]);
        let rows = pairs.map(|(x, y)| x.partial_cmp(y).unwrap_or(Ordering::Equal));
        rows.fold(Ordering::Equal, Ordering::then)
            .then(target(index[a]).total_cmp(&target(index[b])))
    };
    let mut places: Vec<usize> = (0..index.len()).collect();
    places.sort_by(|&a, &b| compare(a, b));
    let (mut merged, mut costs): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut last = None;
    for place in places {
        match (last, costs.last_mut()) {
            (Some(previous), Some(sum)) if compare(previous, place) == Ordering::Equal => {
                *sum += cost[index[place]];
            }
            _ => {
                merged.push(index[place]);
                costs.push(cost[index[place]]);
                last = Some(place);
            }
        }
    }
    Ok((merged, costs))
}

/// Decision values, n x outputs, of `Σ_j coef_jc k(s_j, x) + b_c`: \[ASSET\] section 2.4.
/// `landmarks` is s x d, `coef` s x outputs.
///
/// # Errors
/// Those of [`KernelModel::from_parts`] and [`KernelModel::decision`].
pub fn decide_expansion<F: Real>(
    kernel: AnyKernel,
    landmarks: (&[F], usize),
    (coef, intercept): (&[f64], &[f64]),
    rows: &Rows<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Vec<f64>> {
    rows.check_finite("X")?;
    let (values, d) = landmarks;
    let shifts = kernel.is_translation_invariant() && matches!(rows, Rows::Dense(_));
    let origin = if shifts { values.get(..d).unwrap_or_default().to_vec() } else { Vec::new() };
    let mut shifted = values.to_vec();
    for row in shifted.chunks_exact_mut(d.max(1)) {
        row.iter_mut().zip(&origin).for_each(|(v, &o)| *v -= o);
    }
    let model = KernelModel::from_parts(kernel, origin, (&shifted, d), coef, intercept.to_vec())?;
    let outputs = intercept.len();
    let mut out = try_vec("decision values", rows.n_rows().saturating_mul(outputs), 0.0)?;
    let work = model.n_terms() * d.max(1) * ROW_CHUNK;
    let group = ((1usize << 31) / work.max(1)).clamp(1, 1 << 12) * ROW_CHUNK;
    for (g, part) in out.chunks_mut(group * outputs).enumerate() {
        let first = g * group;
        model.decision(&rows.range(first, first + part.len() / outputs), part)?;
        watch.unbroken(Watch::glance)?;
    }
    Ok(out)
}

/// Decision values, n x outputs, of `coef_c·z(x) + b_c`; `coef` is outputs x D.
///
/// # Errors
/// `FeatureMismatch`, `LengthMismatch`, `NonFinite`, `OutOfMemory`, `Interrupted`.
pub fn decide_features<F: Real>(
    map: &FeatureMap<F>,
    (coef, intercept): (&[f64], &[f64]),
    rows: &Rows<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Vec<f64>> {
    rows.check_finite("X")?;
    let (width, outputs) = (map.n_outputs(), intercept.len());
    if coef.len() != width * outputs || outputs == 0 {
        let expected = width * outputs.max(1);
        return Err(Error::LengthMismatch { what: "coef", expected, got: coef.len() });
    }
    if rows.n_cols() != map.n_features() {
        let (expected, got) = (map.n_features(), rows.n_cols());
        return Err(Error::FeatureMismatch { expected, got });
    }
    let mut out = try_vec("decision values", rows.n_rows().saturating_mul(outputs), 0.0)?;
    let work = map.row_work().max(1) * ROW_CHUNK;
    let group = ((1usize << 31) / work).clamp(1, 1 << 12) * ROW_CHUNK;
    for (g, part) in out.chunks_mut(group * outputs).enumerate() {
        part.par_chunks_mut(ROW_CHUNK * outputs).enumerate().for_each_init(
            || (map.scratch(), vec![F::zero(); ROW_CHUNK * width]),
            |(scratch, features), (c, out)| {
                let first = g * group + c * ROW_CHUNK;
                let len = out.len() / outputs;
                let features = &mut features[..len * width];
                map.block(rows, |i| first + i, (&mut *features, width), scratch);
                for (out, z) in out.chunks_exact_mut(outputs).zip(features.chunks_exact(width)) {
                    for ((f, w), b) in out.iter_mut().zip(coef.chunks_exact(width)).zip(intercept) {
                        dots(z, w, std::slice::from_mut(f));
                        *f += b;
                    }
                }
            },
        );
        watch.unbroken(Watch::glance)?;
    }
    Ok(out)
}
