//! A block of a stream, learnt.

use super::familiar::Familiar;
use super::judge::{settled, solved};
use super::known::Known;
use super::learnt::{Learnt, at, points_of, with_points};
use super::proposal::{Around, Proposal};
use super::seen::{Seen, Terms};
use super::surprise::{Held, hold};
use super::unseen::{covered, spread};
use crate::data::Problem;
use crate::error::Result;
use crate::estimator::budget::config::BudgetConfig;
use crate::estimator::budget::units::Units;
use crate::estimator::coefficients;
use crate::estimator::passes::Passes;
use crate::float::Real;
use crate::kernel::origin_for;
use crate::model::KernelModel;
use crate::solver::recursive::Summary;
use crate::solver::smoothed::Polish;
use crate::solver::{Budgeted, State, run_part};
use crate::watch::{Halt, Step, Watch};

/// The first block is solved for to this tolerance.
const FIRST_TOL: f64 = 1e-4;

/// How a block is learnt.
#[derive(Clone, Copy, Debug)]
pub(super) struct How<'a> {
    /// With the smoothing in the unit of the targets.
    pub(super) config: &'a BudgetConfig,
    /// That unit.
    pub(super) unit: f64,
    /// ν of one class.
    pub(super) nu: Option<f64>,
    /// Whether the block is whole; one that is not answers for the rows of the first block so far.
    pub(super) whole: bool,
    /// How like its labels are to those of the rows before.
    pub(super) familiar: Familiar,
}

impl How<'_> {
    /// What rows before a block have come to count when it is learnt.
    fn factor<F: Real>(&self, problem: &Problem<'_, F>) -> f64 {
        self.config.forgetting.powf(problem.len() as f64)
    }

    /// The steps of the pass.
    fn steps(&self) -> Result<Budgeted> {
        let loss = self.config.loss.of_passes();
        BudgetConfig { loss, ..self.config.clone() }.solver()
    }

    /// One pass over a block; of one class by the units of the steps.
    fn pass<F: Real>(
        &self,
        (solver, mut state): (Budgeted, State<F>),
        problem: &Problem<'_, F>,
        units: Option<&Units>,
        watch: &mut Watch<'_>,
    ) -> Step<(KernelModel<F>, Passes)> {
        let rows = problem.rows();
        match units {
            Some(units) => {
                let cost = units.costs(problem.cost(), problem.cost().iter().sum());
                let steps = Problem::new(rows.view(), problem.targets(), &cost)?;
                run_part(&solver, &steps, &mut state, watch)?;
            }
            None => run_part(&solver, problem, &mut state, watch)?,
        }
        let passes = Passes { seen: state.seen(), steps: state.steps() };
        let mut model = state.model(self.config.solver)?;
        if self.whole {
            model = covered(self.config, &rows, model, watch)?;
        }
        Ok((model, passes))
    }
}

impl<F: Real> Learnt<F> {
    /// After one block more.
    pub(super) fn block(
        how: How<'_>,
        problem: &Problem<'_, F>,
        from: Option<&Self>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        match from {
            Some(from) => from.and(how, problem, watch),
            None => Self::first(how, problem, watch),
        }
    }

    /// After the first block.
    fn first(how: How<'_>, problem: &Problem<'_, F>, watch: &mut Watch<'_>) -> Step<Self> {
        let How { config, nu, whole, .. } = how;
        let rows = problem.rows();
        let cost = config.fading(problem.cost());
        let units = match nu {
            None => None,
            Some(nu) => Some(Units::new(config.kernel, nu, problem, watch)?),
        };
        let units = units.map(|units| units.and(how.factor(problem), &cost));
        let of_steps = match units {
            Some(units) => Some(units.of_steps(config, problem, watch)?),
            None => None,
        };
        let solver = how.steps()?;
        let (origin, d) = (origin_for(config.kernel, &rows)?, rows.n_cols());
        let intercept = config.beginning(problem)?;
        let state = State::new(&solver, origin, d, problem.targets().n_outputs())?;
        let state = state.with_intercept(intercept);
        let (model, passes) = how.pass((solver, state), problem, of_steps.as_ref(), watch)?;
        let mut stepped = model.coef();
        if let (Some(units), Some(of_steps)) = (units, of_steps) {
            units.take(&of_steps, &mut stepped);
        }
        let seen = Seen::new(&rows, &model, config.fit_intercept, watch)?.weigh(units.as_ref());
        let model = model.with_coef(&stepped, model.intercept().to_vec())?;
        let model = first_solution((config, how.unit), (problem, units.as_ref()), &model, watch)?;
        let points = points_of(&model, config);
        let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &model));
        let seen = spread(seen, (&rows, config.loss), &model, watch)?;
        let block = terms.block(&seen);
        let summaries = settled((&block, &rows), &points, watch)?;
        let unknowns = summaries.first().map_or(0, Summary::unknowns);
        let keeps = whole && nu.is_none();
        let moments = if keeps { Known::first((&block, &rows), unknowns, watch)? } else { None };
        Ok(Self { model, stepped, passes, summaries, moments, units })
    }

    /// After a block that is not the first.
    fn and(&self, how: How<'_>, problem: &Problem<'_, F>, watch: &mut Watch<'_>) -> Step<Self> {
        let How { config, familiar, .. } = how;
        let (rows, factor) = (problem.rows(), how.factor(problem));
        let cost = config.fading(problem.cost());
        let units = self.units.map(|units| units.and(factor, &cost));
        let terms = Terms::new(config, (problem.targets(), &cost), at(units.as_ref(), &self.model));
        let starts = points_of(&self.model, config);
        let around = Around {
            rows: &rows,
            terms: &terms,
            units: units.as_ref(),
            with_offset: config.fit_intercept,
            familiar,
        };
        let mut known = self.decayed(config, problem.len());
        let is_asked = familiar.strange && known.moments.is_some();
        let is_full = config.budget.is_some_and(|budget| self.model.n_terms() >= budget);
        let mut old = None;
        if is_asked || is_full {
            let seen = around.seen(&self.model, watch)?;
            if is_asked {
                let share = (factor, familiar.share);
                known = known.asked(&terms.block(&seen), &starts, share, watch)?;
            }
            old = Some(seen);
        }
        let mut held = None;
        if let Some(seen) = old.as_ref().filter(|_| is_full) {
            held = Some(hold((&terms.block(seen), &known), &starts, watch)?);
        }
        // Groups tell when points are to move, where labels come one after another.
        let tells = known.moments.is_none() && !familiar.strange && units.is_none();
        let priced = held.as_ref().filter(|_| tells).map_or(1.0, |held| 1.0 - held.beyond);
        let kept = held.as_ref().filter(|_| tells).map_or(1.0, Held::kept);
        let (solver, state) = self.steps_on(how, factor.min(kept))?;
        let (model, passes) = how.pass((solver, state), problem, units.as_ref(), watch)?;
        let mut proposal = Proposal::new(&around, (model, 0), (self, &known, priced), watch)?;
        let is_judged = proposal.is_new && proposal.model.n_terms() <= self.model.n_terms();
        if is_judged {
            let seen = match old.take() {
                Some(seen) => seen,
                None => around.seen(&self.model, watch)?,
            };
            let found = match held.take() {
                Some(held) => held,
                None => hold((&terms.block(&seen), &known), &starts, watch)?,
            };
            proposal = proposal.judged(&around, (&known, &found), watch)?;
            (old, held) = (Some(seen), Some(found));
        }
        if let (Some(held), Some(seen)) = (&held, &old)
            && is_full
            && tells
            && held.surprises()
        {
            let from = (self, &known, priced);
            proposal = proposal.or_traded(&around, from, (held, seen), watch)?;
        }
        let points = match (proposal.judged.take(), held, old) {
            (Some(judged), Some(held), Some(seen)) if !judged.worth_it => {
                proposal = Proposal::held(self, (seen, known))?;
                held.points(starts.len())
            }
            (Some(judged), ..) => judged.moved,
            (None, Some(held), _) if !proposal.is_new => held.points(starts.len()),
            _ => vec![None; starts.len()],
        };
        let Proposal { model, fresh, seen, known, .. } = proposal;
        let seen = spread(seen, (&rows, config.loss), &model, watch)?;
        let (points, Known { summaries, moments, .. }) =
            solved((&terms.block(&seen), &rows), known, points, watch)?;
        let mut stepped = model.coef();
        let model = with_points(&model, &points, config)?;
        // Steps go on from the best coefficients of terms that they have not made.
        let made = stepped.len() - fresh * starts.len();
        stepped[made..].copy_from_slice(&model.coef()[made..]);
        Ok(Self { model, stepped, passes, summaries, moments, units })
    }

    /// The machine of the steps, as it goes on where rows so far have come to count this much.
    fn steps_on(&self, how: How<'_>, factor: f64) -> Step<(Budgeted, State<F>)> {
        let Passes { seen, steps } = self.passes;
        // What counts less goes first when there is no room. Steps of gradient descent shrink what
        // was: they are as long as those of so many rows as count.
        let most = (1.0 / (1.0 - how.config.forgetting)).ceil() as u64;
        let of_one_class = self.units.is_some();
        let (factor, steps) = if of_one_class { (1.0, steps.min(most)) } else { (factor, steps) };
        let stepped: Vec<f64> = self.stepped.iter().map(|a| factor * a).collect();
        let model = self.model.with_coef(&stepped, self.model.intercept().to_vec())?;
        let solver = how.steps()?;
        let state = State::from_model(&solver, &model, steps, seen)?;
        Ok((solver, state))
    }
}

/// The best coefficients for the first block, of which nothing was known: as a batch fit has them.
fn first_solution<F: Real>(
    (config, unit): (&BudgetConfig, f64),
    (problem, units): (&Problem<'_, F>, Option<&Units>),
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<KernelModel<F>> {
    let how = Polish { tol: FIRST_TOL, unit, ..config.polisher(1.0) };
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
