//! What the search chose, fitted to all rows.
//!
//! # Method
//!
//! 1. Up to [`DOUBLE`] rows, each of them a term: the system is factored in double precision, kernel
//!    values too. Beyond, [`ridge`] solves it by conjugate gradients; on few landmarks the normal
//!    equations are factored.
//! 2. With a time limit the machine on the search's rows comes first, for when the time is over.
//! 3. What was found is asked about rows ([`Guard`]). While it is worse there than the candidate that
//!    was chosen, or than a constant, λ grows; then the search's rows alone are fitted; in the end it
//!    is a constant, and the user is told.

use super::config::AutoConfig;
use super::fit_steps::FitSteps;
use super::guard::{Finished, Guard, constant, constant_advice};
use super::small::Small;
use super::sources::{Part, Sources, coded, held_out};
use crate::data::Rows;
use crate::error::Result;
use crate::float::Real;
use crate::model::{Coding, KernelModel};
use crate::tuning::ridge::Solution;
use crate::tuning::{Aim, Candidate, Chosen, Grid, Sought, ridge};
use crate::watch::{Step, StopReason, Watch};

/// Rows up to which the system of all rows is factored in double precision.
const DOUBLE: usize = 4096;
/// Kernel values and multiply-adds up to which the normal equations of landmarks are factored.
const NORMAL_VALUES: usize = 24_000_000;
const NORMAL_WORK: u64 = 20_000_000_000;
/// What λ is multiplied by while the machine is worse than the candidate.
const RAISES: [f64; 4] = [1.0, 10.0, 100.0, 1000.0];

/// Fits the chosen parts to all rows; `chosen` then says which they are.
pub(super) fn finish<F: Real>(
    config: &AutoConfig,
    rows: &Rows<'_, F>,
    sources: &Sources,
    (codings, chosen, columns): (&[Coding], &mut Chosen, &[usize]),
    watch: &mut Watch<'_>,
) -> Result<Finished<F>> {
    let n = sources.index.len();
    let steps = FitSteps::new(config, n, rows.n_cols());
    if let Some(budget) = config.budget.filter(|&budget| Small::<F>::takes(budget, n))
        && config.recipe.moved
    {
        let (recipe, seed) = (config.recipe, config.seed);
        let small = Small { rows, sources, codings, columns, terms: budget, recipe, seed, steps };
        return small.finish(chosen, config.max_time, watch);
    }
    let most = config.most_terms(n);
    // One term leaves no room for a second part.
    chosen.parts.truncate(if most > 1 { usize::MAX } else { 1 });
    let plan = Plan { config, rows, sources, codings, columns, most, steps };
    watch.limit(config.max_time, 1.0);
    plan.finish(chosen, watch)
}

/// What the parts are fitted to and with.
struct Plan<'a, 'r, F: Real> {
    config: &'a AutoConfig,
    rows: &'a Rows<'r, F>,
    sources: &'a Sources,
    codings: &'a [Coding],
    columns: &'a [usize],
    /// Terms of a part, of all parts together where there is a budget.
    most: usize,
    steps: FitSteps,
}

/// Parts fitted, and what they were fitted with.
struct Fitted<F: Real> {
    parts: Vec<Part<F>>,
    candidates: Vec<(Candidate, f64)>,
    converged: bool,
}

impl<F: Real> Plan<'_, '_, F> {
    fn finish(&self, chosen: &mut Chosen, watch: &mut Watch<'_>) -> Result<Finished<F>> {
        let (n, recipe) = (self.sources.index.len(), self.config.recipe);
        let seen = n.min(recipe.rows);
        let fall = recipe.fall(recipe.rows.min(n - held_out(n)).max(1), n);
        // Few terms cannot do what those of the candidate do.
        let candidate = chosen.held_out.as_ref().filter(|_| self.most >= seen);
        let guard = Guard::new(self.rows, self.sources, (candidate, Aim::Values));
        let from = chosen.parts.clone();
        let mut stopped = None;
        let mut first = None;
        if self.config.max_time.is_some() && seen < n {
            first = heard(self.fit(&from, (seen, 1.0), watch), &mut stopped)?.flatten();
        }
        let mut found = None;
        for by in RAISES {
            if stopped.is_some() {
                break;
            }
            let fitted = heard(self.fit(&from, (n, fall * by), watch), &mut stopped)?.flatten();
            if let Some(fitted) = fitted
                && watch.unbroken(|watch| guard.admits(&fitted.parts, watch))?
            {
                found = Some(fitted);
                break;
            }
        }
        let mut advice = None;
        if found.is_none() && first.is_none() && stopped.is_none() {
            first = heard(self.fit(&from, (seen, 1.0), watch), &mut stopped)?.flatten();
        }
        let found = match found.or(first) {
            Some(found) => found,
            None => watch.unbroken(|watch| self.few(&from, seen, watch))?,
        };
        let Fitted { mut parts, candidates, converged } = found;
        let constant_alone = Guard::new(self.rows, self.sources, (None, Aim::Values));
        if !watch.unbroken(|watch| constant_alone.admits(&parts, watch))? {
            parts = vec![constant(self.sources, &parts[0])?];
            chosen.parts = vec![(candidates[0].0.clone(), 1.0)];
            advice = constant_advice();
        } else {
            chosen.parts = candidates;
        }
        if stopped.is_none() && !converged {
            stopped = Some(StopReason::MaxIter);
        }
        Ok(Finished { parts, stopped, advice })
    }

    /// Terms of a part of this weight.
    fn terms(&self, weight: f64) -> usize {
        match self.config.budget {
            Some(_) => ((self.most as f64 * weight) as usize).max(1),
            None => self.most,
        }
    }

    /// The parts by the first `n` samples, each λ times `by`; none where one is no number.
    fn fit(
        &self,
        from: &[(Candidate, f64)],
        (n, by): (usize, f64),
        watch: &mut Watch<'_>,
    ) -> Step<Option<Fitted<F>>> {
        let solve = |part: &Candidate, coding: &Coding, terms: usize, watch: &mut Watch<'_>| {
            fit(part, self.rows, (self.sources, n, terms), (coding, self.columns), watch)
        };
        self.each(from, (n, by), &solve, watch)
    }

    /// The parts on few landmarks, in any time.
    fn few(&self, from: &[(Candidate, f64)], n: usize, watch: &mut Watch<'_>) -> Step<Fitted<F>> {
        let most = self.config.recipe.landmarks;
        let solve = |part: &Candidate, coding: &Coding, terms: usize, watch: &mut Watch<'_>| {
            let coded = coded(self.rows, &self.sources.index[..n], (coding, self.columns), watch)?;
            normal(part, (&coded, terms.min(most)), self.sources, watch)
        };
        match self.each(from, (n.min(most), 1.0), &solve, watch)? {
            Some(fitted) => Ok(fitted),
            // What is no number becomes a constant afterwards.
            None => {
                let zero = |_: &Candidate, _: &Coding, terms: usize, _: &mut Watch<'_>| {
                    let coef = vec![0.0; terms * self.sources.means.len()];
                    Ok(Solution { coef, converged: true })
                };
                let fitted = self.each(from, (1, 1.0), &zero, watch)?;
                fitted.ok_or_else(|| crate::error::Error::NotPositiveDefinite("landmarks").into())
            }
        }
    }

    /// Parts of what `solve` finds for each candidate on at most `most` terms.
    fn each(
        &self,
        from: &[(Candidate, f64)],
        (most, by): (usize, f64),
        solve: &dyn Fn(&Candidate, &Coding, usize, &mut Watch<'_>) -> Step<Solution>,
        watch: &mut Watch<'_>,
    ) -> Step<Option<Fitted<F>>> {
        let total: f64 = from.iter().map(|(_, weight)| weight).sum();
        let (mut parts, mut candidates, mut converged) = (Vec::new(), Vec::new(), true);
        let mut means = self.sources.means.clone();
        for (part, weight) in from {
            let part = Candidate { lambda: by * part.lambda, ..part.clone() };
            let share = *weight / total;
            let coding = self.codings[part.coding].with_scales(part.scales.clone())?;
            let terms = self.terms(share).min(most);
            let solution = solve(&part, &coding, terms, watch)?;
            let by = share * self.sources.unit;
            let coef: Vec<f64> = solution.coef.iter().map(|v| by * v).collect();
            if !coef.iter().all(|v| v.is_finite()) {
                return Ok(None);
            }
            converged &= solution.converged;
            let terms = coef.len() / means.len();
            let (kernel, d) = (part.shape.kernel(), self.rows.n_cols());
            let in_place: Vec<usize> = (0..d).collect();
            let how = (&coding, in_place.as_slice());
            let centers: Grid<F> = coded(self.rows, &self.sources.index[..terms], how, watch)?;
            let intercept = std::mem::replace(&mut means, vec![0.0; self.sources.means.len()]);
            let model =
                KernelModel::from_parts(kernel, Vec::new(), (centers.values, d), &coef, intercept)?;
            parts.push((coding, model));
            candidates.push((part, *weight));
            watch.step_done(self.steps.each);
        }
        Ok(Some(Fitted { parts, candidates, converged }))
    }
}

/// What was done, unless it was stopped, which is noted.
fn heard<T>(done: Step<T>, stopped: &mut Option<StopReason>) -> Result<Option<T>> {
    match done {
        Ok(done) => Ok(Some(done)),
        Err(halt) => {
            *stopped = Some(halt.into_reason()?);
            Ok(None)
        }
    }
}

/// Coefficients of the first `terms` of these coded rows, by the normal equations, whose time does
/// not hang on how many columns there are.
fn normal(
    part: &Candidate,
    (coded, terms): (&Grid, usize),
    sources: &Sources,
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    let n = coded.rows();
    let values = sources.values.range(0, n)?;
    let sought = Sought { values: &values, weights: &sources.weights[..n], landmarks: terms };
    let landmarks = coded.range(0, terms)?;
    let point = (part.lambda, 0);
    let coef = Aim::Values.solve(part.shape, (coded, &landmarks), &sought, point, watch)?;
    let coef: Vec<f64> = coef.values.iter().map(|&v| f64::from(v)).collect();
    Ok(Solution { coef, converged: true })
}

/// Coefficients of the first `terms` samples, fitted to the first `n`, with the columns in this order:
/// sums of others round otherwise.
fn fit<F: Real>(
    part: &Candidate,
    rows: &Rows<'_, F>,
    (sources, n, terms): (&Sources, usize, usize),
    (coding, columns): (&Coding, &[usize]),
    watch: &mut Watch<'_>,
) -> Step<Solution> {
    let values = sources.values.range(0, n)?;
    let sought =
        Sought { values: &values, weights: &sources.weights[..n], landmarks: terms.min(n) };
    if terms >= n && n <= DOUBLE {
        let coded: Grid<f64> = coded(rows, &sources.index[..n], (coding, columns), watch)?;
        let k = ridge::kernel(part.shape, &coded, watch)?;
        return ridge::factored(&k, &sought, part.lambda, watch);
    }
    let coded: Grid = coded(rows, &sources.index[..n], (coding, columns), watch)?;
    let work = (n as u64).saturating_mul((terms as u64).pow(2));
    if terms >= n {
        let k = ridge::kernel(part.shape, &coded, watch)?;
        ridge::on_all(&k, &sought, part.lambda, watch)
    } else if n.saturating_mul(terms) <= NORMAL_VALUES && work <= NORMAL_WORK {
        normal(part, (&coded, terms), sources, watch)
    } else {
        let landmarks = coded.range(0, terms)?;
        ridge::on_landmarks(part.shape, (&coded, &landmarks), &sought, part.lambda, watch)
    }
}
