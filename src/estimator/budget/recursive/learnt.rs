//! One expansion of a stream, block by block.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::familiar::Familiar;
use super::judge::{judge, settled, solution, solved};
use super::known::Known;
use super::seen::{Seen, Terms, bordered, features, side_by_side};
use super::unseen::{covered, spread};
use crate::data::{Gathered, Problem};
use crate::error::{Result, try_vec};
use crate::estimator::basis::ModelRows;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::budget::units::Units;
use crate::estimator::coefficients;
use crate::estimator::passes::Passes;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::model::KernelModel;
use crate::solver::recursive::{Change, Moments, Place, Summary};
use crate::solver::smoothed::{Polish, basis_gram};
use crate::solver::{State, run_part};
use crate::watch::{Halt, Step, Watch};

/// The first block is solved for to this tolerance.
const FIRST_TOL: f64 = 1e-4;

/// How a block is learnt.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    pub(super) config: &'a BudgetConfig,
    /// ν of one class.
    pub(super) nu: Option<f64>,
    /// Whether the block is whole; one that is not answers for the rows of the first block so far.
    pub(super) whole: bool,
    /// How like its labels are to those of the rows before.
    pub(super) familiar: Familiar,
}

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
    /// Of classes, from the first row of a stream on.
    pub(in crate::estimator::budget) moments: Option<Moments>,
    /// Of one class.
    pub(in crate::estimator::budget) units: Option<Units>,
}

impl<F: Real> Learnt<F> {
    /// After one block more.
    pub(super) fn block(
        How { config, nu, whole, familiar }: How<'_>,
        problem: &Problem<'_, F>,
        from: Option<&Self>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let rows = problem.rows();
        let factor = config.forgetting.powf(problem.len() as f64);
        let units = match (nu, from) {
            (None, _) => None,
            (Some(_), Some(from)) => from.units,
            (Some(nu), None) => Some(Units::new(config.kernel, nu, problem, watch)?),
        };
        let cost = config.fading(problem.cost());
        let units = units.map(|units| units.and(factor, &cost));
        let loss = config.loss.of_passes();
        let solver = BudgetConfig { loss, ..config.clone() }.solver()?;
        let mut state = match from {
            Some(from) => {
                let Passes { seen, steps } = from.passes;
                // What counts less goes first when there is no room. Steps of gradient descent
                // shrink what was: they are as long as those of so many rows as count.
                let most = (1.0 / (1.0 - config.forgetting)).ceil() as u64;
                let (factor, steps) =
                    if units.is_some() { (1.0, steps.min(most)) } else { (factor, steps) };
                let stepped: Vec<f64> = from.stepped.iter().map(|a| factor * a).collect();
                let model = from.model.with_coef(&stepped, from.model.intercept().to_vec())?;
                State::from_model(&solver, &model, steps, seen)?
            }
            None => {
                let (origin, d) = (origin_for(config.kernel, &rows), rows.n_cols());
                let outputs = problem.targets().n_outputs();
                let intercept = config.beginning(problem)?;
                State::new(&solver, origin, d, outputs)?.with_intercept(intercept)
            }
        };
        let of_steps = match (units, from) {
            (Some(units), None) => Some(units.of_steps(config, problem, watch)?),
            (units, _) => units,
        };
        match of_steps {
            Some(units) => {
                let cost = units.costs(problem.cost(), problem.cost().iter().sum());
                let steps = Problem::new(rows.view(), problem.targets(), &cost)?;
                run_part(&solver, &steps, &mut state, watch)?;
            }
            None => run_part(&solver, problem, &mut state, watch)?,
        }
        let passes = Passes { seen: state.seen(), steps: state.steps() };
        let mut model = state.model(config.solver)?;
        if whole {
            model = covered(config, &rows, model, watch)?;
        }
        let (outputs, mut stepped) = (model.n_outputs(), model.coef());
        if let (Some(units), Some(of_steps)) = (units, of_steps) {
            units.take(&of_steps, &mut stepped);
        }
        let seen = Seen::new(&rows, &model, config.fit_intercept, watch)?.weigh(units.as_ref());
        let Some(from) = from else {
            let model = model.with_coef(&stepped, model.intercept().to_vec())?;
            let model = first_solution(config, (problem, units.as_ref()), &model, watch)?;
            let points = points_of(&model, config);
            let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &model));
            let seen = spread(seen, (&rows, config.loss), &model, watch)?;
            let block = terms.block(&seen);
            let summaries = settled((&block, &rows), &points, watch)?;
            let unknowns = summaries.first().map_or(0, Summary::unknowns);
            let keeps = whole && nu.is_none();
            let moments =
                if keeps { Known::first((&block, &rows), unknowns, watch)? } else { None };
            return Ok(Self { model, stepped, passes, summaries, moments, units });
        };
        let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &from.model));
        let block = terms.block(&seen);
        let known = from.decayed(config, problem.len());
        let (basis, is_new) = from.change((&model, &seen), config.fit_intercept, watch)?;
        let is_judged = is_new && model.n_terms() <= from.model.n_terms();
        let is_asked = familiar.strange && known.moments.is_some();
        let held = if is_judged || is_asked {
            let held = Seen::new(&rows, &from.model, config.fit_intercept, watch)?;
            Some(held.weigh(units.as_ref()))
        } else {
            None
        };
        let known = match &held {
            Some(held) if is_asked => {
                let solutions = points_of(&from.model, config);
                known.asked(&terms.block(held), &solutions, (factor, familiar.share), watch)?
            }
            _ => known,
        };
        let moved = known.moved(&basis, (&from.model, &model), watch)?;
        let mut points = vec![None; outputs];
        if let Some(held) = held.filter(|_| is_judged) {
            let old = terms.block(&held);
            let judged = judge(familiar, (&old, &known), (&block, &moved), watch)?;
            points = if judged.worth_it { judged.moved } else { judged.held };
            if !judged.worth_it {
                let held = spread(held, (&rows, config.loss), &from.model, watch)?;
                let old = terms.block(&held);
                let (points, Known { summaries, moments, .. }) =
                    solved((&old, &rows), known, points, watch)?;
                let model = with_points(&from.model, &points, config)?;
                let stepped = from.stepped.clone();
                return Ok(Self { model, stepped, passes, summaries, moments, units });
            }
        }
        let seen = spread(seen, (&rows, config.loss), &model, watch)?;
        let (points, Known { summaries, moments, .. }) =
            solved((&terms.block(&seen), &rows), moved, points, watch)?;
        let model = with_points(&model, &points, config)?;
        Ok(Self { model, stepped, passes, summaries, moments, units })
    }

    /// Whether a class begins with rows of which this knows nothing.
    pub(super) fn begins(&self, familiar: Familiar) -> bool {
        familiar.begins && self.moments.is_some()
    }

    /// What is known when so many rows more have come.
    fn decayed(&self, config: &BudgetConfig, rows: usize) -> Known {
        let (mut summaries, mut moments) = (self.summaries.clone(), self.moments.clone());
        if config.forgetting < 1.0 {
            let factor = config.forgetting.powf(rows as f64);
            summaries.iter_mut().for_each(|summary| summary.decay(factor));
            moments.iter_mut().for_each(|moments| moments.decay(factor));
        }
        Known::new(summaries, moments)
    }

    /// The coefficients that are best with these rows too, on the basis as it is.
    pub(super) fn answer(
        &self,
        (config, familiar): (&BudgetConfig, Familiar),
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<KernelModel<F>> {
        let cost = config.fading(problem.cost());
        let factor = config.forgetting.powf(problem.len() as f64);
        let units = self.units.map(|units| units.and(factor, &cost));
        let seen = Seen::new(&problem.rows(), &self.model, config.fit_intercept, watch)?;
        let seen = seen.weigh(units.as_ref());
        let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &self.model));
        let block = terms.block(&seen);
        let mut known = self.decayed(config, problem.len());
        let starts = points_of(&self.model, config);
        if familiar.strange {
            known = known.asked(&block, &starts, (factor, familiar.share), watch)?;
        }
        let points = side_by_side(watch, starts.len(), &|output, between| {
            solution(&block, &known, output, Some(starts[output].clone()), between)
        })?;
        Ok(outside(units.as_ref(), with_points(&self.model, &points, config)?)?)
    }

    /// The model as others see it.
    pub(in crate::estimator::budget) fn outside(&self) -> Result<KernelModel<F>> {
        outside(self.units.as_ref(), self.model.clone())
    }

    /// How the basis of `model` follows from this one, and whether it is another.
    fn change(
        &self,
        (model, seen): (&KernelModel<F>, &Seen<F>),
        with_offset: bool,
        watch: &mut Watch<'_>,
    ) -> Step<(Change, bool)> {
        let old = self.model.n_terms();
        let (mut kept, changed) = places(&self.model, model)?;
        let mut cross = Vec::new();
        if !changed.is_empty() {
            let centers = model.centers()?;
            let points = Gathered::new(&centers.rows()?, &changed)?;
            let values = ModelRows::new(points.rows()?, &self.model)?;
            let values = features(&values, changed.len(), watch)?;
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
        let gram = seen.gram(model.n_terms())?;
        let among = |&i: &usize| changed.iter().map(move |&j| (i, j));
        let among = changed.iter().flat_map(among).map(|(i, j)| gram[i * model.n_terms() + j]);
        let (cross, among) = (cross, among.collect());
        let change =
            Change::new(kept, &penalty, (cross, among), with_offset, &mut || watch.glance())?;
        let is_new = !change.is_none() || old != model.n_terms();
        Ok((change, is_new))
    }
}

/// The units of one class, with the offset that tells the threshold.
pub(super) fn at<'a, F: Real>(
    units: Option<&'a Units>,
    model: &KernelModel<F>,
) -> Option<(&'a Units, f64)> {
    units.map(|units| (units, model.intercept()[0]))
}

fn outside<F: Real>(units: Option<&Units>, model: KernelModel<F>) -> Result<KernelModel<F>> {
    match units {
        Some(units) => units.outside(&model),
        None => Ok(model),
    }
}

/// The best coefficients for the first block, of which nothing was known: as a batch fit has them.
fn first_solution<F: Real>(
    config: &BudgetConfig,
    (problem, units): (&Problem<'_, F>, Option<&Units>),
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<KernelModel<F>> {
    let how = Polish { tol: FIRST_TOL, ..config.polisher() };
    let cost = config.fading(problem.cost());
    let rows = problem.rows();
    let problem = Problem::new(rows.view(), problem.targets(), &cost)?;
    let polished = match units {
        Some(units) => units.solve(&how, &problem, model, watch)?,
        None => coefficients::polish(&how, &problem, model, watch)?,
    };
    if polished.stop.is_early() {
        return Err(Halt::Stop(polished.stop));
    }
    Ok(model.with_coef(&polished.coef, polished.intercept)?)
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

/// Unknowns of each output.
pub(super) fn points_of<F: Real>(model: &KernelModel<F>, config: &BudgetConfig) -> Vec<Vec<f64>> {
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
