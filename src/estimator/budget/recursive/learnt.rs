//! One expansion of a stream, block by block.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::familiar::Familiar;
use super::known::{Known, solution};
use super::seen::{Seen, Terms, bordered, features, side_by_side};
use super::surprise::hold;
use crate::data::{Gathered, Problem};
use crate::error::{Result, try_vec};
use crate::estimator::basis::ModelRows;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::budget::units::Units;
use crate::estimator::passes::Passes;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::recursive::{Block, Change, Moments, Place, Summary};
use crate::solver::smoothed::basis_gram;
use crate::watch::{Step, Watch};

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
    /// Whether a class begins with rows of which this knows nothing.
    pub(super) fn begins(&self, familiar: Familiar) -> bool {
        familiar.begins && self.moments.is_some()
    }

    /// What is known when so many rows more have come.
    pub(super) fn decayed(&self, config: &BudgetConfig, rows: usize) -> Known {
        let (mut summaries, mut moments) = (self.summaries.clone(), self.moments.clone());
        if config.forgetting < 1.0 {
            let factor = config.forgetting.powf(rows as f64);
            summaries.iter_mut().for_each(|summary| summary.decay(factor));
            moments.iter_mut().for_each(|moments| moments.decay(factor));
        }
        Known::new(summaries, moments)
    }

    /// Calls `work` on these rows as a block on the basis as it is, what is known before it, and the
    /// units of one class with it.
    fn beside<T>(
        &self,
        (config, familiar): (&BudgetConfig, Familiar),
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
        work: impl FnOnce(&Block<'_, F>, (&Known, Option<&Units>), &mut Watch<'_>) -> Step<T>,
    ) -> Step<T> {
        let cost = config.fading(problem.cost());
        let factor = config.forgetting.powf(problem.len() as f64);
        let units = self.units.map(|units| units.and(factor, &cost));
        let seen = Seen::new(&problem.rows(), &self.model, config.fit_intercept, watch)?;
        let seen = seen.weigh(units.as_ref());
        let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &self.model));
        let block = terms.block(&seen);
        let mut known = self.decayed(config, problem.len());
        if familiar.strange {
            let starts = points_of(&self.model, config);
            known = known.asked(&block, &starts, (factor, familiar.share), watch)?;
        }
        work(&block, (&known, units.as_ref()), watch)
    }

    /// The coefficients that are best with these rows too, on the basis as it is.
    pub(super) fn answer(
        &self,
        (config, familiar): (&BudgetConfig, Familiar),
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<KernelModel<F>> {
        let starts = points_of(&self.model, config);
        self.beside((config, familiar), problem, watch, |block, (known, units), watch| {
            let points = side_by_side(watch, starts.len(), &|output, between| {
                solution(block, known, output, Some(starts[output].clone()), between)
            })?;
            Ok(outside(units, with_points(&self.model, &points, config)?)?)
        })
    }

    /// Whether these rows surprise.
    pub(super) fn is_surprised(
        &self,
        (config, familiar): (&BudgetConfig, Familiar),
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let starts = points_of(&self.model, config);
        self.beside((config, familiar), problem, watch, |block, (known, _), watch| {
            Ok(hold((block, known), &starts, watch)?.surprises())
        })
    }

    /// The model as others see it.
    pub(in crate::estimator::budget) fn outside(&self) -> Result<KernelModel<F>> {
        outside(self.units.as_ref(), self.model.clone())
    }

    /// How the basis of `model` follows from this one, and whether it is another.
    pub(super) fn change(
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
pub(super) fn with_points<F: Real>(
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
