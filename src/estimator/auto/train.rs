//! The fit: rows drawn, coded and searched, the machine found fitted to all of them.

use std::sync::Arc;

use super::columns::{in_place, order, reorder};
use super::config::AutoConfig;
use super::finish::finish;
use super::report::{AutoReport, report};
use super::sources::{LEAST_HELD_OUT, Sources, held_out};
use crate::config::Config as _;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::machine::{Machine, State};
use crate::estimator::samples::samples;
use crate::float::Real;
use crate::model::calibration::{sharpness, sigmoid};
use crate::model::{CodedModel, Coding, Model};
use crate::rng::Rng;
use crate::tuning::{Chosen, Grid, Recipe, Search, Sought, Task, sketched};
use crate::watch::{StopReason, Watch};

/// Rows up to which equal ones are taken together, and their order is their own.
const SMALL: usize = 3000;
/// Rows that means and spreads are taken of, at most.
pub(super) const CODED_BY: usize = 200_000;
/// Share of the time that the search may take.
const SEARCH: f64 = 0.5;
/// Sharpness of probabilities where no rows were held out: values are about 2 P - 1.
const UNSEEN: f64 = 2.0;
/// Values that the coded rows of the search may be.
const LARGEST: usize = 1 << 25;

impl AutoConfig {
    /// Searches, and fits what was found to all rows.
    ///
    /// # Errors
    /// Those of [`AutoConfig::check`]; `Unsupported` for rows of too many features;
    /// `OutOfMemory`; `Interrupted`.
    pub fn fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AutoReport)> {
        self.check()?;
        check_width(problem, "AutoSVC and AutoSVR")?;
        let columns = order(problem)?;
        let sources = sources(problem, &columns, self.seed)?;
        let rows = problem.rows();
        let seen = sources.index.len().min(CODED_BY);
        let mut codings = vec![
            Coding::standard(&rows, &sources.index[..seen], &sources.weights[..seen])?,
            Coding::ranks(&rows, &sources.index[..seen], &sources.weights[..seen])?,
        ];
        codings.truncate(if self.recipe.ranks { 2 } else { 1 });
        watch.limit(self.max_time, SEARCH);
        let how = (columns.as_slice(), self.learn_scales, self.recipe, self.seed);
        let search = |task: &Task<'_>| Search::default().run(task, watch);
        let mut chosen = with_task(&rows, &sources, &codings, how, search)?;
        let found = chosen.parts.iter_mut().map(|(part, _)| part).chain(&mut chosen.judged);
        found.for_each(|part| part.scales = in_place(&part.scales, &columns));
        let (parts, stopped) =
            finish(self, &rows, &sources, (&codings, &mut chosen, &columns), watch)?;
        let calibration = calibration(problem.targets(), &sources, (&chosen, self.recipe.rows))?;
        let stop = stopped.or(chosen.stopped).unwrap_or(StopReason::Converged);
        let report = report(&chosen, &codings, (stop, sources.index.len()), calibration);
        let model = Model::Coded(Arc::new(CodedModel::new(parts)?));
        Ok((Machine::new(model, State::None), report))
    }
}

/// Whether so many features can be searched.
pub(super) fn check_width<F: Real>(problem: &Problem<'_, F>, what: &str) -> Result<()> {
    let (n, d) = (problem.len().min(Recipe::default().rows), problem.rows().n_cols());
    if n.saturating_mul(d) <= LARGEST {
        return Ok(());
    }
    Err(Error::Unsupported(format!(
        "X has {d} features: {what} can search {} at most on {n} rows. What takes wide rows, sparse \
         ones too: PrimalSVC or PrimalSVR with kernel='linear', AssetSVC, AssetSVR, SVC, SVR",
        LARGEST / n.max(1)
    )))
}

/// Calls `run` with the task of a search in these codings, columns in this order.
pub(super) fn with_task<F: Real, R>(
    rows: &Rows<'_, F>,
    sources: &Sources,
    codings: &[Coding],
    (columns, learn_scales, recipe, seed): (&[usize], bool, Recipe, u64),
    run: impl FnOnce(&Task<'_>) -> Result<R>,
) -> Result<R> {
    let n = sources.index.len();
    let held = held_out(n);
    let found_on = recipe.rows.min(n - held).max(1);
    let landmarks = recipe.landmarks.min(found_on / 3).max(1);
    let fitted: Vec<usize> = (0..n - held).rev().take(recipe.rows).collect();
    let held_out: Vec<usize> = if held == 0 { fitted.clone() } else { (n - held..n).collect() };
    let first: Vec<usize> = (0..found_on).collect();
    let coded = |of: &[usize]| -> Result<Vec<Grid>> {
        let chosen: Vec<usize> = of.iter().map(|&i| sources.index[i]).collect();
        let of_coding = |coding: &Coding| {
            let given: Vec<f32> = coding.coded(rows, &chosen)?;
            let mut to = Grid::zeros("coded rows", chosen.len(), columns.len())?;
            reorder(&given, columns, &mut to.values);
            Ok(to)
        };
        codings.iter().map(of_coding).collect()
    };
    let (found, weights) = few(sources.part(&first)?, seed)?;
    let whole = sources.part(&fitted)?;
    let (fitted_values, fitted_weights) = few(whole.clone(), seed)?;
    let (held_values, held_weights) = few(sources.part(&held_out)?, seed)?;
    run(&Task {
        rows: &coded(&first)?,
        sought: Sought { values: &found, weights: &weights, landmarks },
        fitted: &coded(&fitted)?,
        fitted_sought: Sought {
            values: &fitted_values,
            weights: &fitted_weights,
            landmarks: fitted.len(),
        },
        whole: &whole.0,
        held_out: &coded(&held_out)?,
        held_values: &held_values,
        held_weights: &held_weights,
        scales: learn_scales && rows.n_cols() > 1,
        recipe,
        seed,
    })
}

/// The values, or sums of them.
fn few((values, weights): (Grid, Vec<f64>), seed: u64) -> Result<(Grid, Vec<f64>)> {
    Ok((sketched(&values, seed)?.unwrap_or(values), weights))
}

/// The samples of a problem in the order drawn, with weights of mean 1.
pub(super) fn sources<F: Real>(
    problem: &Problem<'_, F>,
    columns: &[usize],
    seed: u64,
) -> Result<Sources> {
    let (mut index, mut cost) = samples(problem, SMALL, columns.iter().copied())?;
    shuffle(&mut index, &mut cost, seed);
    let mean = cost.iter().sum::<f64>() / cost.len() as f64;
    cost.iter_mut().for_each(|c| *c /= mean);
    Sources::new(problem, index, cost)
}

fn shuffle(index: &mut [usize], cost: &mut [f64], seed: u64) {
    let mut order: Vec<usize> = (0..index.len()).collect();
    Rng::new(seed).shuffle(&mut order);
    let (old, weights) = (index.to_vec(), cost.to_vec());
    for (to, from) in order.into_iter().enumerate() {
        (index[to], cost[to]) = (old[from], weights[from]);
    }
}

/// From the blend's values on rows held out.
fn calibration(
    targets: Targets<'_>,
    sources: &Sources,
    (chosen, most): (&Chosen, usize),
) -> Result<Vec<f64>> {
    let Targets::Classes { index, n_classes } = targets else { return Ok(Vec::new()) };
    let Some(values) = &chosen.held_out else {
        return Ok(if n_classes == 2 { vec![-UNSEEN, 0.0] } else { vec![UNSEEN] });
    };
    let n = sources.index.len();
    let held: Vec<usize> = if values.rows() < n && values.rows() >= LEAST_HELD_OUT {
        (n - values.rows()..n).collect()
    } else {
        (0..n).rev().take(most).collect()
    };
    let classes: Vec<u32> = held.iter().map(|&i| index[sources.index[i]]).collect();
    let weights: Vec<f64> = held.iter().map(|&i| sources.weights[i]).collect();
    let mut decided = values.clone();
    for row in decided.values.chunks_exact_mut(decided.columns) {
        row.iter_mut().zip(&sources.means).for_each(|(v, m)| *v += *m as f32);
    }
    if n_classes == 2 {
        let positive: Vec<bool> = classes.iter().map(|&c| c == 1).collect();
        let values: Vec<f64> = decided.values.iter().map(|&v| f64::from(v)).collect();
        let n = values.len().min(positive.len());
        Ok(sigmoid(&values[..n], &positive[..n], &weights[..n], || Ok(()))?.to_vec())
    } else {
        Ok(vec![sharpness(&decided.values, decided.columns, &classes, &weights)])
    }
}
