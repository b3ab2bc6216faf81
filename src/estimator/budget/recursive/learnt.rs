//! One expansion of a stream, block by block.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::data::{Gathered, Problem, Rows, SomeTargets, Targets};
use crate::error::{Result, check_room, try_vec};
use crate::estimator::basis::ModelRows;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::passes::Passes;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::loss::Smoothed;
use crate::model::KernelModel;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::recursive::{Block, Change, Place, Summary};
use crate::solver::smoothed::{KernelRows as _, basis_gram};
use crate::solver::{State, run_part};
use crate::watch::{Step, Watch};

/// Samples that the summary of a batch fit is made of, for each term.
const SAMPLES_A_TERM: usize = 16;
/// Bytes that the summaries of a batch fit may take.
const MOST_BYTES: usize = 64 << 20;

/// What must be free beside the summaries, products' own buffers among it.
const SPARE_BYTES: usize = 64 << 20;

/// An expansion with the coefficients that are best for the blocks so far, and what they say.
#[derive(Clone, Debug)]
pub(in crate::estimator::budget) struct Learnt<F: Real> {
    /// With the coefficients that are best.
    pub(in crate::estimator::budget) model: KernelModel<F>,
    /// The coefficients that the steps of the passes have come to, B x outputs. They go on from
    /// these: from the best ones few rows make a step, and the basis falls behind.
    pub(in crate::estimator::budget) stepped: Vec<f64>,
    pub(in crate::estimator::budget) passes: Passes,
    /// One an output.
    pub(in crate::estimator::budget) summaries: Vec<Summary>,
}

/// A model as the recursion sees it: kernel values among its terms, and of rows with them.
struct Seen<F: Real> {
    penalty: Vec<f64>,
    features: Vec<F>,
}

impl<F: Real> Seen<F> {
    fn new(
        rows: &Rows<'_, F>,
        model: &KernelModel<F>,
        with_offset: bool,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let all = ModelRows::new(rows.view(), model)?;
        let gram = basis_gram(&all, watch)?;
        Ok(Self {
            penalty: bordered(&gram, model.n_terms(), with_offset)?,
            features: features(&all, rows.n_rows())?,
        })
    }
}

/// K with a row and a column of 0 for the offset, if there is one.
fn bordered(gram: &[f64], terms: usize, with_offset: bool) -> Result<Vec<f64>> {
    let order = terms + usize::from(with_offset);
    let mut out = try_vec("kernel matrix", order * order, 0.0)?;
    if terms > 0 {
        for (to, from) in out.chunks_exact_mut(order).zip(gram.chunks_exact(terms)) {
            to[..terms].copy_from_slice(from);
        }
    }
    Ok(out)
}

/// Kernel values of `count` rows with the terms.
fn features<F: Real>(rows: &ModelRows<'_, F>, count: usize) -> Result<Vec<F>> {
    let terms = rows.n_terms();
    let mut out = try_vec("kernel values", count * terms, F::zero())?;
    if terms > 0 {
        parallel::each(out.chunks_mut(ROW_CHUNK * terms), &|c, out| {
            let first = c * ROW_CHUNK;
            let samples: Vec<usize> = (first..first + out.len() / terms).collect();
            rows.fill(&samples, out);
        });
    }
    Ok(out)
}

impl<F: Real> Learnt<F> {
    /// After one block more.
    pub(super) fn block(
        config: &BudgetConfig,
        problem: &Problem<'_, F>,
        from: Option<&Self>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let rows = problem.rows();
        let loss = config.loss.of_passes();
        let solver = BudgetConfig { loss, ..config.clone() }.solver()?;
        let mut state = match from {
            Some(from) => {
                let Passes { seen, steps } = from.passes;
                let model = from.model.with_coef(&from.stepped, from.model.intercept().to_vec())?;
                State::from_model(&solver, &model, steps, seen)?
            }
            None => {
                let (origin, d) = (origin_for(config.kernel, &rows), rows.n_cols());
                let outputs = problem.targets().n_outputs();
                let intercept = vec![config.beginning(problem)?; outputs];
                State::new(&solver, origin, d, outputs)?.with_intercept(intercept)
            }
        };
        run_part(&solver, problem, &mut state, watch)?;
        let passes = Passes { seen: state.seen(), steps: state.steps() };
        let model = state.model(config.solver)?;
        let (outputs, stepped) = (model.n_outputs(), model.coef());
        let seen = Seen::new(&rows, &model, config.fit_intercept, watch)?;
        let unknowns = model.n_terms() + usize::from(config.fit_intercept);
        let mut summaries = match from {
            Some(from) => from.moved(&model, config.fit_intercept, watch)?,
            None => (0..outputs).map(|_| Summary::new(unknowns)).collect::<Result<_>>()?,
        };
        if config.forgetting < 1.0 {
            let factor = config.forgetting.powf(problem.len() as f64);
            summaries.iter_mut().for_each(|summary| summary.decay(factor));
        }
        let block = block_of(config, (problem.targets(), problem.cost()), &seen);
        let solved = side_by_side(watch, outputs, &|output, between| {
            let mut summary = summaries[output].clone();
            let start = if from.is_some() {
                summary.minimum(&seen.penalty)?
            } else {
                let mut start = try_vec("coefficients", unknowns, 0.0)?;
                if config.fit_intercept {
                    start[unknowns - 1] = model.intercept()[output];
                }
                start
            };
            let point = block.solve(&summary, output, start, between)?;
            block.absorb(&mut summary, output, &point, between)?;
            Ok((point, summary))
        })?;
        let (points, summaries): (Vec<_>, Vec<_>) = solved.into_iter().unzip();
        Ok(Self { model: with_points(&model, &points, config)?, stepped, passes, summaries })
    }

    /// The coefficients that are best with these rows too, on the basis as it is.
    pub(super) fn answer(
        &self,
        config: &BudgetConfig,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<KernelModel<F>> {
        let seen = Seen::new(&problem.rows(), &self.model, config.fit_intercept, watch)?;
        let block = block_of(config, (problem.targets(), problem.cost()), &seen);
        let start = points_of(&self.model, config);
        let points = side_by_side(watch, start.len(), &|output, between| {
            block.solve(&self.summaries[output], output, start[output].clone(), between)
        })?;
        Ok(with_points(&self.model, &points, config)?)
    }

    /// The summaries in the basis of `model`.
    fn moved(
        &self,
        model: &KernelModel<F>,
        with_offset: bool,
        watch: &mut Watch<'_>,
    ) -> Step<Vec<Summary>> {
        let old = self.model.n_terms();
        let (mut kept, changed) = places(&self.model, model)?;
        let mut cross = Vec::new();
        if !changed.is_empty() {
            let centers = model.centers()?;
            let points = Gathered::new(&centers.rows()?, &changed)?;
            let values = ModelRows::new(points.rows()?, &self.model)?;
            let values = features(&values, changed.len())?;
            for row in values.chunks_exact(old.max(1)) {
                cross.extend(row.iter().map(|&v| Real::to_f64(v)));
                if with_offset {
                    cross.push(0.0);
                }
            }
        }
        if with_offset {
            kept.push(Place::Old(old));
        }
        let centers = self.model.centers()?;
        let all = ModelRows::new(centers.rows()?, &self.model)?;
        let penalty = bordered(&basis_gram(&all, watch)?, old, with_offset)?;
        let change = Change::new(kept, &penalty, cross, with_offset, &mut || watch.glance())?;
        if change.is_none() {
            return Ok(self.summaries.clone());
        }
        side_by_side(watch, self.summaries.len(), &|output, _| {
            Ok(self.summaries[output].moved(&change)?)
        })
    }
}

/// Where each term of `new` is in `old`, and those that are nowhere there.
fn places<F: Real>(old: &KernelModel<F>, new: &KernelModel<F>) -> Result<(Vec<Place>, Vec<usize>)> {
    let d = new.n_features();
    let (from, to) = (old.shifted_centers()?, new.shifted_centers()?);
    let key = |row: &[F]| {
        let mut hasher = DefaultHasher::new();
        row.iter().for_each(|&v| Real::to_f64(v).to_bits().hash(&mut hasher));
        hasher.finish()
    };
    let mut found: HashMap<u64, usize> = HashMap::new();
    for (term, row) in from.chunks_exact(d).enumerate() {
        found.entry(key(row)).or_insert(term);
    }
    let (mut kept, mut changed) = (Vec::new(), Vec::new());
    for (term, row) in to.chunks_exact(d).enumerate() {
        // Of two terms at one point only one is what it was.
        let at = found.remove(&key(row)).filter(|&at| from[at * d..(at + 1) * d] == *row);
        kept.push(at.map_or(Place::Changed(changed.len()), Place::Old));
        if at.is_none() {
            changed.push(term);
        }
    }
    Ok((kept, changed))
}

fn block_of<'a, F: Real>(
    config: &BudgetConfig,
    (targets, cost): (Targets<'a>, &'a [f64]),
    seen: &'a Seen<F>,
) -> Block<'a, F> {
    Block {
        features: &seen.features,
        targets,
        cost,
        loss: Smoothed { loss: config.loss, h: config.smoothing },
        penalty: &seen.penalty,
        with_offset: config.fit_intercept,
    }
}

/// Unknowns of each output.
fn points_of<F: Real>(model: &KernelModel<F>, config: &BudgetConfig) -> Vec<Vec<f64>> {
    let point = |output: usize| {
        let mut point = model.coef_of(output).to_vec();
        point.extend(config.fit_intercept.then(|| model.intercept()[output]));
        point
    };
    (0..model.n_outputs()).map(point).collect()
}

/// The model with these unknowns.
fn with_points<F: Real>(
    model: &KernelModel<F>,
    points: &[Vec<f64>],
    config: &BudgetConfig,
) -> Result<KernelModel<F>> {
    let (terms, outputs) = (model.n_terms(), points.len());
    let mut coef = try_vec("coefficients", terms * outputs, 0.0)?;
    for (output, point) in points.iter().enumerate() {
        for (term, value) in point[..terms].iter().enumerate() {
            coef[term * outputs + output] = *value;
        }
    }
    let offset = |point: &Vec<f64>| if config.fit_intercept { point[terms] } else { 0.0 };
    model.with_coef(&coef, points.iter().map(offset).collect())
}

/// Work on one output, which asks now and then whether to go on.
type OfOutput<'a, T> = dyn Fn(usize, &mut dyn FnMut() -> Step) -> Step<T> + Sync + 'a;

/// Calls `work` for every output, side by side where there are several.
fn side_by_side<T: Send>(
    watch: &mut Watch<'_>,
    outputs: usize,
    work: &OfOutput<'_, T>,
) -> Step<Vec<T>> {
    if outputs == 1 {
        return Ok(vec![work(0, &mut || watch.glance())?]);
    }
    watch.all_side_by_side(outputs, |output, watch| work(output, &mut || watch.glance()))
}

/// What a batch fit, whose solution `model` is, leaves for a stream that goes on from it; none where
/// it would take too much room. The Hessian is made of some of the rows, evenly chosen; the gradient
/// is that of the solution.
pub(in crate::estimator::budget) fn summaries_of_fit<F: Real>(
    config: &BudgetConfig,
    problem: &Problem<'_, F>,
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<Option<Vec<Summary>>> {
    let (terms, outputs) = (model.n_terms(), model.n_outputs());
    let unknowns = terms + usize::from(config.fit_intercept);
    if unknowns.saturating_mul(unknowns).saturating_mul(8 * outputs) > MOST_BYTES || terms == 0 {
        return Ok(None);
    }
    // A fit is of use without it: where memory is short it is left out.
    if check_room("summary of a stream", SPARE_BYTES).is_err() {
        return Ok(None);
    }
    let every = problem.len().div_ceil(SAMPLES_A_TERM * terms).max(1);
    let chosen: Vec<usize> = (0..problem.len()).step_by(every).collect();
    let rows = Gathered::new(&problem.rows(), &chosen)?;
    let seen = Seen::new(&rows.rows()?, model, config.fit_intercept, watch)?;
    let targets = SomeTargets::new(problem.targets(), chosen.iter().copied());
    let cost: Vec<f64> = chosen.iter().map(|&i| every as f64 * problem.cost()[i]).collect();
    let block = block_of(config, (targets.view(), &cost), &seen);
    let points = points_of(model, config);
    let made = side_by_side(watch, outputs, &|output, between| {
        let mut summary = Summary::new(unknowns)?;
        block.absorb(&mut summary, output, &points[output], between)?;
        summary.settle(&seen.penalty, &points[output]);
        Ok(summary)
    })?;
    Ok(Some(made))
}
