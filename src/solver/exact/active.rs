//! Shrinking: large problems are solved on a part of their samples, the rest is looked at again.
//!
//! # Method
//! 1. The first part is every few samples; the variables of all others stay where they start.
//! 2. The part is solved (its kernel rows have no other columns); each part more exactly.
//! 3. `f` of the samples outside moves by the variables that have changed, without stored rows
//!    ([`Columns::add_products`]): it is now that of the whole problem, and so is the violation.
//! 4. The next part is every sample with a variable that violates the optimality conditions at
//!    the level found, and those nearest to do so. Nothing is taken for settled: what is outside
//!    now comes back when its score says so.
//! 5. Where samples are many, step 3 would take most of the time, and memory would not hold the rows
//!    of all that violate at first. So parts are of at most [`LIMIT`] samples for each free one, the
//!    worst; and most samples are *far*: f of these is that of an earlier β until the others are
//!    nearly solved, then it moves by what has changed since. Far is at first all but every few
//!    samples, later what is farthest from violating anything.
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
const PARTS: u32 = 20;
const MANY_PARTS: u32 = 60;

/// A part is solved to this share of the violation, the next to this share of that share ...
const FALL: f64 = 0.1;

/// ... down to this: a part solved much further would be solved again after the next look outside.
const LEAST_FALL: f64 = 0.01;

/// Samples from which on most are far, and parts are limited.
const MANY: usize = 1 << 15;

/// One sample in so many is near, about.
const NEAR: usize = 4;

/// The far samples are looked at when the violation of the near ones has fallen to this share.
const NEARLY: f64 = 0.1;

/// Samples of a part for each one with a free variable, at most; but as many as memory holds all
/// rows of.
const LIMIT: usize = 4;

/// The place of a sample outside the part: kernel rows are numbered by `u32` too.
const OUTSIDE: u32 = u32::MAX;

/// The whole problem and where it stands.
struct Whole<'w, 'a, F: Real> {
    dual: &'w Dual,
    columns: &'w Columns<'a, F>,
    beta: Vec<f64>,
    /// `Kβ`, a value a sample; of a sample that is far, less what is pending.
    f: Vec<f64>,
    /// None where samples are few.
    far: Vec<bool>,
    /// What β of every sample has moved by since the far ones were looked at; as many as `far`.
    pending: Vec<f64>,
    /// Of the last part.
    level: [f64; 2],
    objective: f64,
    steps: u64,
    n_rows: u64,
    drift: f64,
    /// Level and objective where a stop left `f` of the samples outside the last part as it was.
    outdated: Option<([f64; 2], f64)>,
}

/// Multiply-adds that a stop waits for, so that it can tell how far the optimum is.
const LAST_WORK: u64 = 1 << 32;

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
        far: Vec::new(),
        pending: Vec::new(),
        level: [0.0; 2],
        objective: 0.0,
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
        let many = n >= MANY && !spread;
        let (parts, least_fall, most) = match many {
            true => (MANY_PARTS, FALL, (space.0 / size_of::<F>()).isqrt()),
            false => (PARTS, LEAST_FALL, n),
        };
        // 5.
        let mut until = settings.tol.max(NEARLY * self.violation());
        if many {
            self.far = try_vec("the far samples", n, false)?;
            self.far.iter_mut().enumerate().for_each(|(i, far)| *far = i % NEAR != 0);
            self.pending = try_vec("the far samples", n, 0.0)?;
        }
        for part in 1.. {
            let mut now = self.violation();
            let over = part > parts || idle > 0 || self.steps >= settings.max_iter;
            if self.some_are_far() && (now <= until || over) {
                if let Err(halt) = self.look_far(watch) {
                    self.outdated = Some((self.level, self.objective));
                    return Err(halt);
                }
                now = self.violation();
                let last = active;
                active = if part <= parts { self.choose(&last, most) } else { every(1) };
                if now > settings.tol && !over {
                    until = settings.tol.max(NEARLY * now);
                    self.leave_far(&last, &active);
                }
            }
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
            fall = (fall * FALL).max(least_fall);
            active = if part < parts && idle == 0 { self.choose(&active, most) } else { every(1) };
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
        self.level = read_off(&dual, &run.beta, &run.product.f).0;
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
                self.objective += by * (mean - dual.linear[local]);
            }
        }
        active.iter().zip(&run.product.f).for_each(|(&i, &f)| self.f[i] = f);
        self.drift += run.drift;
        self.steps = run.product.steps;
        self.n_rows += run.product.cache.computed();
        drop(cache);
        let terms = active.iter().copied().zip(change).filter(|(_, by)| *by != 0.0);
        let terms: Vec<(usize, f64)> = terms.collect();
        let some_are_far = self.some_are_far();
        if some_are_far {
            terms.iter().for_each(|&(i, by)| self.pending[i] += by);
        }
        let outside = |i: &usize| place[*i] == OUTSIDE && !self.is_far(*i);
        let outside: Vec<usize> = (0..self.f.len()).filter(outside).collect();
        let early = stop.is_early();
        let work = |n: usize, terms: usize| (self.work(n) as u64).saturating_mul(terms as u64);
        let mut last_work = work(outside.len(), terms.len());
        if early && some_are_far {
            let pending = self.pending.iter().filter(|by| **by != 0.0).count();
            let far = self.far.iter().filter(|far| **far).count();
            last_work = last_work.saturating_add(work(far, pending));
        }
        let added = match early {
            false => self.add(&outside, &terms, watch),
            true if last_work > LAST_WORK => Err(Halt::Stop(stop)),
            true => Ok(watch.unbroken(|watch| {
                self.add(&outside, &terms, watch)?;
                self.look_far(watch)
            })?),
        };
        let stop = match added {
            Ok(()) => stop,
            Err(halt) => {
                self.outdated = Some((self.level, self.objective));
                halt.into_reason()?
            }
        };
        Ok((moved, stop))
    }

    #[inline]
    fn is_far(&self, sample: usize) -> bool {
        self.far.get(sample) == Some(&true)
    }

    fn some_are_far(&self) -> bool {
        self.far.contains(&true)
    }

    /// 5. `f` of the far samples; none is far then.
    fn look_far(&mut self, watch: &mut Watch<'_>) -> Step {
        let far: Vec<usize> = (0..self.far.len()).filter(|&i| self.far[i]).collect();
        let pending = self.pending.iter().copied().enumerate().filter(|(_, by)| *by != 0.0);
        let terms: Vec<(usize, f64)> = pending.collect();
        self.add(&far, &terms, watch)?;
        self.far.fill(false);
        self.pending.fill(0.0);
        Ok(())
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
        self.objective = read_off(self.dual, &self.beta, &self.f).1;
        added
    }

    fn score(&self, v: usize) -> f64 {
        self.dual.linear[v] - self.f[self.dual.sample[v]]
    }

    /// The violation as it stands. The scores are nowhere held: there may be millions of them.
    fn violation(&self) -> f64 {
        let near = |v: usize| !self.is_far(self.dual.sample[v]);
        violation(&extremes_by(self.dual, &self.beta, |v| self.score(v), near))
    }

    /// 4. The next part, after `last`: of those that are not far, about `most` of them or [`LIMIT`].
    fn choose(&self, last: &[usize], most: usize) -> Vec<usize> {
        let n = self.f.len();
        let (mut badness, worst) = self.badness(last);
        let must = badness.iter().filter(|b| **b >= 0.0).count();
        let free = self.free();
        let most = most.max(LIMIT * free.iter().filter(|free| **free).count());
        let wanted = (must + must / 4 + SPARE).min(most);
        if wanted == most {
            let always = badness.iter_mut().zip(&free).filter(|(_, free)| **free);
            always.for_each(|(bad, _)| *bad = f64::INFINITY);
        }
        let mut active: Vec<usize> = (0..n).filter(|&i| !self.is_far(i)).collect();
        if wanted >= active.len() - active.len() / 5 {
            return active;
        }
        worst_first(&mut active, &badness, wanted);
        active.extend(worst);
        active.sort_unstable();
        active.dedup();
        active
    }

    /// 5. Most samples that are nowhere near violating anything are far from now on.
    fn leave_far(&mut self, last: &[usize], active: &[usize]) {
        let (badness, worst) = self.badness(last);
        let mut near: Vec<usize> = (0..self.f.len()).collect();
        let wanted = (near.len() / NEAR).max(2 * active.len());
        worst_first(&mut near, &badness, wanted);
        self.far.fill(true);
        let free = self.free().into_iter().enumerate().filter(|(_, free)| *free).map(|(i, _)| i);
        let stay = near.into_iter().chain(worst).chain(active.iter().copied()).chain(free);
        stay.for_each(|i| self.far[i] = false);
    }

    /// Whether a variable of each sample is between its bounds.
    fn free(&self) -> Vec<bool> {
        let mut free = vec![false; self.f.len()];
        for v in 0..self.dual.len() {
            let (rises, falls) = self.moves(v);
            free[self.dual.sample[v]] |= rises && falls;
        }
        free
    }

    fn moves(&self, v: usize) -> (bool, bool) {
        (self.beta[v] < self.dual.upper[v], self.beta[v] > self.dual.lower[v])
    }

    /// How far beyond the level of the part `last` the score of each sample is, where it matters; and
    /// the samples of the worst pair of all.
    fn badness(&self, last: &[usize]) -> (Vec<f64>, Vec<usize>) {
        let n = self.f.len();
        let mut was_in = vec![false; n];
        last.iter().for_each(|&i| was_in[i] = true);
        let dual = self.dual;
        // The level of either sum, over the part that was solved; the worst pair of all.
        let mut solved = [(f64::NEG_INFINITY, f64::INFINITY); 2];
        let mut worst = [(f64::NEG_INFINITY, f64::INFINITY, 0, 0); 2];
        let near = |v: &usize| !self.is_far(dual.sample[*v]);
        for v in (0..dual.len()).filter(near) {
            let (rises, falls) = self.moves(v);
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
        for v in (0..dual.len()).filter(near) {
            let (rises, falls) = self.moves(v);
            let over = self.score(v) - level[dual.group(v)];
            let bad = &mut badness[dual.sample[v]];
            *bad = if rises { bad.max(over) } else { *bad };
            *bad = if falls { bad.max(-over) } else { *bad };
        }
        (badness, worst.iter().flat_map(|&(_, _, first, second)| [first, second]).collect())
    }
}

/// Keeps so many of the samples, those of the largest badness.
fn worst_first(samples: &mut Vec<usize>, badness: &[f64], wanted: usize) {
    if wanted < samples.len() {
        let worse = |a: &usize, b: &usize| badness[*b].total_cmp(&badness[*a]).then(a.cmp(b));
        samples.select_nth_unstable_by(wanted.max(1) - 1, worse);
        samples.truncate(wanted);
    }
}
