//! The fit: rows drawn, coded and searched, the machine found fitted to all of them.

use std::sync::Arc;

use super::columns::{in_place, order};
use super::config::AutoConfig;
use super::finish::finish;
use super::fit_steps::FitSteps;
use super::guard::Finished;
use super::report::{AutoReport, report};
use super::sources::{Sources, coded, held_out, in_turn, judged};
use crate::config::Config as _;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::machine::{Machine, State};
use crate::estimator::samples::samples;
use crate::float::Real;
use crate::model::calibration::{sharpness, sigmoid};
use crate::model::{CodedModel, Coding, KernelModel, Model};
use crate::rng::Rng;
use crate::tuning::{Chosen, Grid, Recipe, Search, Sought, Task, sketched};
use crate::watch::{Halt, StopReason, Watch};

/// Rows up to which equal ones are taken together, and their order is their own.
const SMALL: usize = 3000;
/// Rows that means and spreads are taken of, at most.
pub(super) const CODED_BY: usize = 200_000;
/// Share of the time that the search may take.
const SEARCH: f64 = 0.5;
/// Sharpness of probabilities where no rows were held out: values are about 2 P - 1.
const UNSEEN: f64 = 2.0;
/// Weight of a class, in mean rows, below which probabilities are not fitted to the rows held out.
const LEAST_OF_A_CLASS: f64 = 2.0;
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
        watch.limit(self.max_time, SEARCH);
        let (columns, sources) = watch.unbroken(|watch| {
            let columns = order(problem, watch)?;
            let sources = sources(problem, &columns, self.seed)?;
            watch.glance()?;
            Ok((columns, sources))
        })?;
        let rows = problem.rows();
        let codings = self.codings(&rows, &sources, watch)?;
        let how = (columns.as_slice(), self.learn_scales, self.recipe, self.seed);
        let scales = learns(self.learn_scales, &rows);
        let searched = Search::steps(&self.recipe, codings.len(), scales);
        let fitted = FitSteps::new(self, sources.index.len(), rows.n_cols()).all();
        let (done, history) = watch.search(searched + fitted, |watch| -> Result<_> {
            let search =
                |task: &Task<'_>, watch: &mut Watch<'_>| Search::default().run(task, watch);
            let mut chosen = with_task(&rows, &sources, &codings, how, (&mut *watch, search))?;
            let found = chosen.parts.iter_mut().map(|(part, _)| part).chain(&mut chosen.judged);
            found.for_each(|part| part.scales = in_place(&part.scales, &columns));
            watch.reached(searched);
            let finished = finish(self, &rows, &sources, (&codings, &mut chosen, &columns), watch)?;
            Ok((chosen, finished))
        });
        let (chosen, Finished { mut parts, stopped, advice }) = done?;
        let calibration = calibration(problem.targets(), &sources, (&chosen, self.recipe.rows))?;
        let calibration = match calibration[..] {
            [a, b] => absorb_sigmoid_shift([a, b], &mut parts[0].1)?,
            _ => calibration,
        };
        let early = stopped.filter(|reason| reason.is_early());
        let stop = early.or(chosen.stopped).or(stopped).unwrap_or(StopReason::Converged);
        let advice = advice.or_else(|| time_advice(stop, &chosen));
        let told = (calibration, advice);
        let mut report = report(&chosen, &codings, (stop, sources.index.len()), told);
        let curve = |at: usize| history.iter().map(|entry| entry[at]).collect();
        report.history = vec![("error".into(), curve(1)), ("time".into(), curve(0))];
        let model = Model::Coded(Arc::new(CodedModel::new(parts)?));
        Ok((Machine::new(model, State::None), report))
    }

    /// The codings of the columns: the standard one in any time, ranks while there is time.
    fn codings<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        sources: &Sources,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Coding>> {
        let seen = sources.index.len().min(CODED_BY);
        let (index, weights) = (&sources.index[..seen], &sources.weights[..seen]);
        let standard = watch
            .unbroken(|watch| Coding::standard(rows, index, weights, &mut || watch.glance()))?;
        let mut codings = vec![standard];
        if self.recipe.ranks {
            match Coding::ranks(rows, index, weights, &mut || watch.glance()) {
                Ok(ranks) => codings.push(ranks),
                Err(Halt::Stop(_)) => {}
                Err(Halt::Fail(error)) => return Err(error),
            }
        }
        Ok(codings)
    }
}

/// What is said where the time was over before the search or the fit.
fn time_advice(stop: StopReason, chosen: &Chosen) -> Option<String> {
    let which = match chosen.stopped {
        Some(StopReason::MaxTime) => "the search, so that kernels and scales are the first found",
        _ => "the fit to all rows, so that the machine knows some of them alone",
    };
    (stop == StopReason::MaxTime).then(|| {
        format!(
            "max_time ended {which}: the machine may be far from the best; give max_time several \
             times as many seconds, give fewer rows or columns, or take SVC, SVR, BudgetSVC or \
             BudgetSVR, which search nothing"
        )
    })
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
    (watch, run): (&mut Watch<'_>, impl FnOnce(&Task<'_>, &mut Watch<'_>) -> Result<R>),
) -> Result<R> {
    let n = sources.index.len();
    let held = held_out(n);
    let found_on = recipe.rows.min(n - held).max(1);
    let landmarks = recipe.landmarks.min(found_on / 3).max(1);
    let in_turn = in_turn(n, columns.len());
    let last = if in_turn { n } else { n - held };
    let fitted: Vec<usize> = (0..last).rev().take(recipe.rows).collect();
    let held_out: Vec<usize> =
        if held == 0 || in_turn { fitted.clone() } else { (n - held..n).collect() };
    let first: Vec<usize> = (0..found_on).collect();
    let mut all_coded = |of: &[usize]| -> Result<Vec<Grid>> {
        let chosen: Vec<usize> = of.iter().map(|&i| sources.index[i]).collect();
        let of_coding = |coding: &Coding| {
            watch.unbroken(|watch| coded(rows, &chosen, (coding, columns), watch))
        };
        codings.iter().map(of_coding).collect()
    };
    let (rows_found, rows_fitted, rows_held) =
        (all_coded(&first)?, all_coded(&fitted)?, all_coded(&held_out)?);
    let (found, weights) = few(sources.part(&first)?, seed)?;
    let whole = sources.part(&fitted)?;
    let (fitted_values, fitted_weights) = few(whole.clone(), seed)?;
    let (held_values, held_weights) = few(sources.part(&held_out)?, seed)?;
    let task = Task {
        rows: &rows_found,
        sought: Sought { values: &found, weights: &weights, landmarks },
        fitted: &rows_fitted,
        fitted_sought: Sought {
            values: &fitted_values,
            weights: &fitted_weights,
            landmarks: fitted.len(),
        },
        whole: &whole.0,
        held_out: &rows_held,
        held_values: &held_values,
        held_weights: &held_weights,
        in_turn,
        scales: learns(learn_scales, rows),
        recipe,
        seed,
    };
    run(&task, watch)
}

/// Whether scales are learnt: one feature needs none.
fn learns<F: Real>(learn_scales: bool, rows: &Rows<'_, F>) -> bool {
    learn_scales && rows.n_cols() > 1
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

/// Adds `b / a` to the model's offset and returns the sigmoid `1 / (1 + exp(a f))` of the new values.
/// Probabilities stay the same, and a value is positive exactly where the second class is the more
/// probable one.
fn absorb_sigmoid_shift<F: Real>([a, b]: [f64; 2], model: &mut KernelModel<F>) -> Result<Vec<f64>> {
    let by = b / a;
    // The values carry no information about the class if the probability does not rise with them.
    if a >= 0.0 || !by.is_finite() {
        return Ok(vec![-UNSEEN, 0.0]);
    }
    let intercept = model.intercept().iter().map(|v| v + by).collect();
    *model = model.with_coef(&model.coef(), intercept)?;
    Ok(vec![a, 0.0])
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
    let held = judged(sources.index.len(), (values.rows(), most));
    let classes: Vec<u32> = held.iter().map(|&i| index[sources.index[i]]).collect();
    let weights: Vec<f64> = held.iter().map(|&i| sources.weights[i]).collect();
    let mut decided = values.clone();
    for row in decided.values.chunks_exact_mut(decided.columns) {
        row.iter_mut().zip(&sources.means).for_each(|(v, m)| *v += *m as f32);
    }
    if n_classes == 2 {
        let positive: Vec<bool> = classes.iter().map(|&c| c == 1).collect();
        let of = |side: bool| -> f64 {
            positive.iter().zip(&weights).filter(|(p, _)| **p == side).map(|(_, w)| w).sum()
        };
        // Rows that hardly count for a class say nothing of where it begins.
        if of(true).min(of(false)) < LEAST_OF_A_CLASS {
            return Ok(vec![-UNSEEN, 0.0]);
        }
        let values: Vec<f64> = decided.values.iter().map(|&v| f64::from(v)).collect();
        let n = values.len().min(positive.len());
        Ok(sigmoid(&values[..n], &positive[..n], &weights[..n], || Ok(()))?.to_vec())
    } else {
        let look = &mut || Ok(());
        Ok(vec![sharpness(&decided.values, decided.columns, &classes, &weights, look)?])
    }
}
