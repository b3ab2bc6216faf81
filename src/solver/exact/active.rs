//! Shrinking: large problems are solved on a part of their samples, the rest is looked at again.
//!
//! # Method
//! 1. The first part is every few samples; the variables of all others stay where they start.
//! 2. The part is solved (its kernel rows have no other columns); each part more exactly.
//! 3. `f` of the samples outside moves by the variables that have changed, without stored rows
//!    ([`Columns::add_products`]): it is now that of the whole problem, and so is the violation.
//! 4. The next part is every sample with a variable that violates the optimality conditions at
//!    the level found, and those nearest to do so. Nothing is taken for settled: what is outside
//!    now comes back when its score says so. Where memory does not hold the rows of so many samples,
//!    it is those of free variables and the worst of the others, [`LIMIT`] times as many at most:
//!    most of them violate no longer when these have moved (on 255,244 samples of two classes of
//!    covtype with 9,150 support vectors, 53,000 violated after the first part).
//!
//! Every part holds the pair of largest violation, so every part moves; after [`PARTS`] of them
//! the whole problem is one.

use std::sync::Arc;

use super::dual::{Dual, Solution, between, read_off};
use super::product::{Product, WORK_BETWEEN_LOOKS, steps_told};
use super::rounds::{DRIFT, Goal, Run, Settings};
use super::select::{extremes_by, violation};

use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::{Buffers, Columns, RowCache};
use crate::watch::{Halt, Step, StopReason, Watch};

/// Samples from which on parts pay.
pub(super) const LEAST: usize = 2048;

/// The first part is this share of the samples.
const FIRST: usize = 16;

/// Samples of a part beyond those that must be in it, at least.
const SPARE: usize = 512;

/// Parts of some of the samples, at most.
const PARTS: u32 = 40;

/// A part is solved to this share of the violation, the next to this share of that share ...
const FALL: f64 = 0.1;

/// ... down to this: a part solved much further would be solved again after the next look outside.
const LEAST_FALL: f64 = 0.01;

/// ... or to this, where violators had to be left out: they will move it again.
const LIMITED_FALL: f64 = 0.03;

/// Samples of a part for each one with a free variable, at most, where their rows do not fit.
const LIMIT: usize = 4;

/// The place of a sample outside the part: kernel rows are numbered by `u32` too.
const OUTSIDE: u32 = u32::MAX;

/// The whole problem and where it stands.
struct Whole<'w, 'a, F: Real> {
    dual: &'w Dual,
    columns: &'w Columns<'a, F>,
    beta: Vec<f64>,
    /// `Kβ`, a value a sample.
    f: Vec<f64>,
    steps: u64,
    n_rows: u64,
    drift: f64,
    /// Level and objective where a stop left `f` of the samples outside the last part as it was.
    outdated: Option<([f64; 2], f64)>,
}

/// Multiply-adds that a stop waits for, so that it can tell how far the optimum is.
const LAST_WORK: usize = 1 << 32;

/// As [`super::solve`].
pub(super) fn solve<F: Real>(
    dual: &mut Dual,
    columns: &Columns<'_, F>,
    space: (usize, &Arc<Buffers<F>>),
    settings: &Settings,
    watch: &mut Watch<'_>,
) -> Result<Solution> {
    let n = columns.len();
    let beta = std::mem::take(&mut dual.start);
    let mut whole = Whole {
        dual,
        columns,
        beta,
        f: try_vec("scores", n, 0.0)?,
        steps: 0,
        n_rows: 0,
        drift: 0.0,
        outdated: None,
    };
    if let Err(halt) = whole.recompute(watch) {
        return Ok(Solution::unknown(dual, whole.beta, halt.into_reason()?));
    }
    let stop = whole.parts(space, settings, watch).or_else(Halt::into_reason)?;
    let mut violation = whole.violation();
    let Whole { dual, beta, f, n_rows, steps, outdated, .. } = whole;
    let (mut level, mut objective, mut gap) = read_off(dual, &beta, &f);
    if let Some(known) = outdated {
        ((level, objective), (violation, gap)) = (known, (f64::INFINITY, f64::INFINITY));
    }
    Ok(Solution { beta, level, objective, gap, violation, n_iter: steps, n_rows, stop })
}

impl<F: Real> Whole<'_, '_, F> {
    fn parts(
        &mut self,
        space: (usize, &Arc<Buffers<F>>),
        settings: &Settings,
        watch: &mut Watch<'_>,
    ) -> Step<StopReason> {
        let n = self.f.len();
        let every = |step: usize| (0..n).step_by(step).collect::<Vec<_>>();
        // 1. Unless the sums that the variables keep are already spread over all.
        let spread = self.beta.iter().any(|b| *b != 0.0);
        let mut active = every(if spread { 1 } else { FIRST.min(n / (LEAST / 2)) });
        let (mut fall, mut fresh, mut idle) = (FALL, false, 0);
        // Samples whose kernel rows all fit.
        let fit = (space.0 / size_of::<F>()).isqrt();
        for part in 1.. {
            let now = self.violation();
            if now <= settings.tol {
                if fresh || self.drift <= DRIFT * settings.tol {
                    return Ok(StopReason::Converged);
                }
                // What rounding has gathered in f is removed before the last word.
                self.recompute(watch)?;
                fresh = true;
                continue;
            }
            if self.steps >= settings.max_iter || idle > 2 {
                return Ok(StopReason::MaxIter);
            }
            let tol = settings.tol.max(fall * now);
            let goal = Goal { settings: Settings { tol, refine: false, ..*settings }, part: true };
            let (moved, stop) = self.solve_part(&active, space, &goal, watch)?;
            if stop.is_early() {
                return Ok(stop);
            }
            idle = if moved { 0 } else { idle + 1 };
            let (next, limited) = self.choose(&active, fit);
            fall = (fall * FALL).max(if limited { LIMITED_FALL } else { LEAST_FALL });
            active = if part < PARTS && idle == 0 { next } else { every(1) };
        }
        Ok(StopReason::MaxIter)
    }

    /// 2. and 3.; whether anything moved and why it ended.
    fn solve_part(
        &mut self,
        active: &[usize],
        (bytes, buffers): (usize, &Arc<Buffers<F>>),
        goal: &Goal,
        watch: &mut Watch<'_>,
    ) -> Step<(bool, StopReason)> {
        // Where each sample is among the active ones.
        let mut place = try_vec("the active samples", self.f.len(), OUTSIDE)?;
        active.iter().enumerate().for_each(|(at, &i)| place[i] = at as u32);
        let variables: Vec<usize> =
            (0..self.dual.len()).filter(|&v| place[self.dual.sample[v]] != OUTSIDE).collect();
        let pick = |list: &[f64]| variables.iter().map(|&v| list[v]).collect::<Vec<_>>();
        let dual = Dual {
            sample: variables.iter().map(|&v| place[self.dual.sample[v]] as usize).collect(),
            lower: pick(&self.dual.lower),
            upper: pick(&self.dual.upper),
            linear: pick(&self.dual.linear),
            start: pick(&self.beta),
            two_sums: self.dual.two_sums,
        };
        let mut cache = RowCache::new(self.columns.part(active)?, bytes, buffers)?;
        let f = active.iter().map(|&i| self.f[i]).collect();
        let product = Product::part(&mut cache, f, self.steps, &mut *watch)?;
        let mut run = Run::new(&dual, product, dual.start.clone())?;
        let stop = run.rounds(goal).or_else(Halt::into_reason)?;
        let (level, _, _) = read_off(&dual, &run.beta, &run.product.f);
        let mut objective = read_off(self.dual, &self.beta, &self.f).1;
        let mut change = vec![0.0; active.len()];
        let mut moved = false;
        for (local, &v) in variables.iter().enumerate() {
            let by = run.beta[local] - dual.start[local];
            if by != 0.0 {
                moved = true;
                change[dual.sample[local]] += by;
                self.beta[v] = run.beta[local];
                // `½ (β + Δ)ᵀK(β + Δ) = ½ βᵀKβ + ½ Δᵀ(f + f')`, and Δ is 0 outside.
                let at = dual.sample[local];
                let mean = f64::midpoint(self.f[active[at]], run.product.f[at]);
                objective += by * (mean - dual.linear[local]);
            }
        }
        active.iter().zip(&run.product.f).for_each(|(&i, &f)| self.f[i] = f);
        self.drift += run.drift;
        self.steps = run.product.steps;
        self.n_rows += run.product.cache.computed();
        drop(cache);
        let terms = active.iter().copied().zip(change).filter(|(_, by)| *by != 0.0);
        let terms: Vec<(usize, f64)> = terms.collect();
        let outside: Vec<usize> = (0..self.f.len()).filter(|&i| place[i] == OUTSIDE).collect();
        let last_work = self.work(outside.len()).saturating_mul(terms.len());
        let added = match stop.is_early() {
            false => self.add(&outside, &terms, watch),
            true if last_work > LAST_WORK => Err(Halt::Stop(stop)),
            true => Ok(watch.unbroken(|watch| self.add(&outside, &terms, watch))?),
        };
        let stop = match added {
            Ok(()) => stop,
            Err(halt) => {
                self.outdated = Some((level, objective));
                halt.into_reason()?
            }
        };
        Ok((moved, stop))
    }

    /// Multiply-adds of one term at so many samples.
    fn work(&self, targets: usize) -> usize {
        (self.columns.row_work() / self.f.len().max(1)).saturating_mul(targets)
    }

    /// `f += K terms` at some samples; as it was where it is stopped.
    fn add(&mut self, targets: &[usize], terms: &[(usize, f64)], watch: &mut Watch<'_>) -> Step {
        let at_once = (WORK_BETWEEN_LOOKS / self.work(targets.len()).max(1)).max(16);
        let mut sums: Vec<f64> = targets.iter().map(|&i| self.f[i]).collect();
        for terms in terms.chunks(at_once) {
            self.columns.add_products(targets, terms, &mut sums)?;
            self.n_rows += terms.len() as u64;
            watch.tick.iteration = steps_told(self.steps);
            watch.tick.n_terms = terms.len();
            watch.poll()?;
        }
        targets.iter().zip(sums).for_each(|(&i, sum)| self.f[i] = sum);
        let size: f64 = terms.iter().map(|(_, by)| by.abs()).sum();
        self.drift += f64::EPSILON * size;
        Ok(())
    }

    fn recompute(&mut self, watch: &mut Watch<'_>) -> Step {
        let mut total = vec![0.0; self.f.len()];
        for (&i, &beta) in self.dual.sample.iter().zip(&self.beta) {
            total[i] += beta;
        }
        let terms: Vec<(usize, f64)> =
            total.into_iter().enumerate().filter(|(_, by)| *by != 0.0).collect();
        if terms.is_empty() {
            self.f.fill(0.0);
            self.drift = 0.0;
            return Ok(());
        }
        let all: Vec<usize> = (0..self.f.len()).collect();
        let before = (std::mem::replace(&mut self.f, vec![0.0; all.len()]), self.drift);
        self.drift = 0.0;
        let added = self.add(&all, &terms, watch);
        if added.is_err() {
            (self.f, self.drift) = before;
        }
        added
    }

    fn score(&self, v: usize) -> f64 {
        self.dual.linear[v] - self.f[self.dual.sample[v]]
    }

    /// The violation as it stands. The scores are nowhere held: there may be millions of them.
    fn violation(&self) -> f64 {
        violation(&extremes_by(self.dual, &self.beta, |v| self.score(v)))
    }

    /// 4. The next part, after `last`, and whether there would be more if memory held the rows of
    /// more than `fit` samples.
    fn choose(&self, last: &[usize], fit: usize) -> (Vec<usize>, bool) {
        let n = self.f.len();
        let mut was_in = vec![false; n];
        last.iter().for_each(|&i| was_in[i] = true);
        let (dual, beta) = (self.dual, &self.beta);
        let moves = |v: usize| (beta[v] < dual.upper[v], beta[v] > dual.lower[v]);
        // The level of either sum, over the part that was solved; the worst pair of all.
        let mut solved = [(f64::NEG_INFINITY, f64::INFINITY); 2];
        let mut worst = [(f64::NEG_INFINITY, f64::INFINITY, 0, 0); 2];
        for v in 0..dual.len() {
            let (rises, falls) = moves(v);
            let (group, i, score) = (dual.group(v), dual.sample[v], self.score(v));
            let (most, least, first, second) = &mut worst[group];
            if rises && score > *most {
                (*most, *first) = (score, i);
            }
            if falls && score < *least {
                (*least, *second) = (score, i);
            }
            if was_in[i] {
                let (most, least) = &mut solved[group];
                *most = if rises { most.max(score) } else { *most };
                *least = if falls { least.min(score) } else { *least };
            }
        }
        let level = solved.map(|(most, least)| between(most, least));
        let mut badness = vec![f64::NEG_INFINITY; n];
        let mut free = vec![false; n];
        for v in 0..dual.len() {
            let (rises, falls) = moves(v);
            free[dual.sample[v]] |= rises && falls;
            let over = self.score(v) - level[dual.group(v)];
            let bad = &mut badness[dual.sample[v]];
            *bad = if rises { bad.max(over) } else { *bad };
            *bad = if falls { bad.max(-over) } else { *bad };
        }
        let must = badness.iter().filter(|b| **b >= 0.0).count();
        let most = fit.max(LIMIT * free.iter().filter(|free| **free).count());
        let wanted = (must + must / 4 + SPARE).min(most);
        let limited = must > wanted;
        if limited {
            let always = badness.iter_mut().zip(&free).filter(|(_, free)| **free);
            always.for_each(|(bad, _)| *bad = f64::INFINITY);
        }
        let mut active: Vec<usize> = (0..n).collect();
        if wanted >= n - n / 5 {
            return (active, limited);
        }
        active.select_nth_unstable_by(wanted - 1, |a, b| {
            badness[*b].total_cmp(&badness[*a]).then(a.cmp(b))
        });
        active.truncate(wanted);
        active.extend(worst.iter().flat_map(|&(_, _, first, second)| [first, second]));
        active.sort_unstable();
        active.dedup();
        (active, limited)
    }
}
