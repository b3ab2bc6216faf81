//! The loop of the augmented Lagrangian, and what both updates share.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::basis::{Basis, INFEASIBLE};
use super::descent::Descent;
use super::newton;
use super::problem::{Equality, MpdSettings, Problem, Update};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::RowCache;
use crate::simd::LEAST_CURVATURE;
use crate::solver::exact::{Dual, MpdOutcome, Product, Solution, Trace};
use crate::watch::{Halt, Phase, Step, StopReason, Tick, Watch};

/// τ of the first round, in units of the largest score.
const FIRST_TOL: f64 = 0.1;

/// By how much τ falls at an update of the multipliers.
const TOL_FACTOR: f64 = 0.3;

/// By how much violations of the constraints must fall, else ρ rises as much.
const GROWTH: f64 = 4.0;

/// By how much ρ rises in all, at most: the multipliers converge for any ρ > 0, and steps of one
/// variable along the constraints crawl as ρ grows.
const MOST_GROWTH: f64 = 1e6;

/// Inner steps between two looks at the watch: some milliseconds.
const STEPS_BETWEEN_LOOKS: u64 = 1 << 13;

/// When multipliers reach this many times the largest score and the constraints are not met, the
/// dual function has no bound: nothing in the box meets them.
const MOST_MULTIPLIER: f64 = 1e6;

/// Updates of the multipliers in a row that bring the constraints no nearer, at most: ρ has grown
/// to its end then, and what is left is rounding.
const STALLED: u32 = 20;

/// A violation of this size, in the unit of `constraint_tol`, counts as met but for rounding.
const ROUNDING: f64 = 1e-8;

/// A ν-SVC's ρ counts at least this much as the divisor of its scores.
const LEAST_DIVISOR: f64 = 1e-3;

/// Solves a problem whose kernel rows `cache` has: the solution, of which `level` is left at 0,
/// and what [`MpdOutcome`] says, its `parametric` being all multipliers.
///
/// # Errors
/// `InvalidParam`, those of [`Dual::check`], `LengthMismatch` and `InvalidData` for constraints,
/// `Unsupported` when nothing in the box meets them, `OutOfMemory`, `Interrupted` when the observer says so.
pub fn solve<F: Real>(
    problem: &Problem<'_>,
    cache: &mut RowCache<'_, F>,
    settings: &MpdSettings,
    watch: &mut Watch<'_>,
) -> Result<(Solution, MpdOutcome)> {
    settings.check()?;
    problem.check()?;
    watch.enter(Phase::Pass, Tick { n_samples: cache.columns().len(), ..Tick::default() });
    let dual = problem.dual;
    let basis = match settings.update {
        Update::Augmented => Basis::orthogonal(problem.equalities)?,
        Update::Newton => Basis::plain(problem.equalities),
    };
    let k = basis.equalities.len();
    // 1. β = η = 0, the nearest points of the box.
    let beta: Vec<f64> =
        dual.lower.iter().zip(&dual.upper).map(|(&l, &u)| 0.0f64.max(l).min(u)).collect();
    let mut run = Run {
        dual,
        equalities: &basis.equalities,
        basis: &basis,
        divisor: problem.divisor,
        product: Product::new(cache, watch)?,
        scores: try_vec("scores", dual.len(), 0.0)?,
        beta,
        eta: vec![0.0; k],
        rho: vec![0.0; k],
        excess: vec![0.0; k],
        allowed: problem
            .equalities
            .iter()
            .map(|e| settings.constraint_tol * e.scale(dual).max(f64::MIN_POSITIVE))
            .collect(),
        updates: 0,
        trace: Trace::default(),
    };
    run.refresh()?;
    let stop = match settings.update {
        Update::Augmented => run.augmented(settings),
        Update::Newton => newton::run(&mut run, settings),
    };
    Ok(run.finish(stop.or_else(Halt::into_reason)?))
}

pub(super) struct Run<'r, 'a, 'w, F: Real> {
    pub(super) dual: &'r Dual,
    /// The constraints as the steps see them.
    pub(super) equalities: &'r [Equality],
    basis: &'r Basis,
    divisor: Option<usize>,
    pub(super) product: Product<'r, 'a, 'w, F>,
    /// Effective scores `z - Kβ - F(η + ρ∘g)`, a value a variable.
    pub(super) scores: Vec<f64>,
    pub(super) beta: Vec<f64>,
    pub(super) eta: Vec<f64>,
    rho: Vec<f64>,
    /// g.
    pub(super) excess: Vec<f64>,
    /// ε_d,i.
    allowed: Vec<f64>,
    pub(super) updates: u64,
    trace: Trace,
}

impl<F: Real> Run<'_, '_, '_, F> {
    /// `Kβ` and g anew: what rounding has gathered in them goes.
    pub(super) fn refresh(&mut self) -> Result<()> {
        self.product.recompute(&self.dual.sample, &self.beta)?;
        for (g, equality) in self.excess.iter_mut().zip(self.equalities) {
            *g = equality.excess(&self.beta);
        }
        Ok(())
    }

    /// η + ρ∘g.
    fn effective(&self) -> Vec<f64> {
        let steps = self.rho.iter().zip(&self.excess).map(|(r, g)| r * g);
        self.eta.iter().zip(steps).map(|(eta, step)| eta + step).collect()
    }

    /// Effective scores anew.
    pub(super) fn rescore(&mut self) {
        let eta = self.effective();
        let (dual, equalities, f) = (self.dual, self.equalities, &self.product.f);
        const CHUNK: usize = 1 << 13;
        self.scores.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, scores)| {
            let first = chunk * CHUNK;
            for (at, score) in scores.iter_mut().enumerate() {
                let v = first + at;
                *score = dual.linear[v] - f[dual.sample[v]];
            }
            for (equality, &eta) in equalities.iter().zip(&eta) {
                let column = &equality.column[first..];
                scores.iter_mut().zip(column).for_each(|(score, f)| *score -= eta * f);
            }
        });
    }

    /// How much a variable's score violates the conditions of the box.
    #[inline]
    pub(super) fn badness(&self, v: usize) -> f64 {
        let score = self.scores[v];
        let held = if score > 0.0 {
            self.beta[v] >= self.dual.upper[v]
        } else {
            self.beta[v] <= self.dual.lower[v]
        };
        if held { 0.0 } else { score.abs() }
    }

    /// The largest violation of the conditions of the box.
    pub(super) fn violation(&self) -> f64 {
        (0..self.beta.len()).map(|v| self.badness(v)).fold(0.0, f64::max)
    }

    /// `max |g_i| / ε_d,i`: 1 or less when the constraints are met.
    pub(super) fn infeasibility(&self) -> f64 {
        self.basis
            .given(&self.excess)
            .iter()
            .zip(&self.allowed)
            .map(|(g, e)| g.abs() / e)
            .fold(0.0, f64::max)
    }

    /// ε_p, in the unit of the machine that is read off.
    pub(super) fn tolerance(&self, settings: &MpdSettings) -> f64 {
        let Some(at) = self.divisor else { return settings.tol };
        let divisor = self.basis.multipliers(&self.effective())[at].abs();
        if self.updates == 0 {
            settings.tol
        } else {
            settings.tol * divisor.clamp(LEAST_DIVISOR, 1.0)
        }
    }

    pub(super) fn record(&mut self, settings: &MpdSettings, violation: f64) {
        if settings.record {
            self.trace.violation.push(violation);
            let given = self.basis.given(&self.excess);
            self.trace.constraint.push(given.iter().fold(0.0, |m: f64, g| m.max(g.abs())));
            self.trace.multipliers.extend(self.basis.multipliers(&self.effective()));
        }
    }

    fn augmented(&mut self, settings: &MpdSettings) -> Step<StopReason> {
        let n = self.beta.len().max(1) as f64;
        let mean = self.product.diagonal.iter().sum::<f64>() / self.product.f.len().max(1) as f64;
        let mean = if mean > 0.0 { mean } else { 1.0 };
        let largest = self.dual.linear.iter().fold(1.0f64, |m, z| m.max(z.abs()));
        for (rho, equality) in self.rho.iter_mut().zip(self.equalities) {
            // Where the box is small, a multiplier of the scores' size is still one step away.
            *rho = (mean / n).max(largest / equality.most(self.dual));
        }
        let most_rho: Vec<f64> = self.rho.iter().map(|rho| MOST_GROWTH * rho).collect();
        let mut tau = if self.eta.is_empty() { 0.0 } else { FIRST_TOL * largest };
        let size = settings.working_set.min(self.product.cache.capacity()).max(1);
        let (mut set, mut last) = (Vec::new(), f64::INFINITY);
        let (mut fresh, mut idle) = (false, 0);
        let (mut nearest, mut stalled) = (f64::INFINITY, 0);
        loop {
            self.rescore();
            let now = self.violation();
            self.record(settings, now);
            let least = self.tolerance(settings);
            tau = tau.max(least);
            // A working set that cannot move is as solved as rounding lets it be.
            if now <= tau || idle > 1 {
                let off = self.infeasibility();
                if off <= 1.0 && (tau <= least || idle > 1) {
                    if fresh {
                        let met = now <= tau;
                        return Ok(if met { StopReason::Converged } else { StopReason::MaxIter });
                    }
                    self.refresh()?;
                    (fresh, idle) = (true, 0);
                    continue;
                }
                // 3. The multipliers.
                self.eta = self.effective();
                let score = self.product.f.iter().fold(largest, |m, f| m.max(f.abs()));
                if off > 1.0 && self.eta.iter().any(|eta| eta.abs() > MOST_MULTIPLIER * score) {
                    // Multipliers that only rounding drives are no sign of an empty box.
                    if off * settings.constraint_tol <= ROUNDING {
                        return Ok(StopReason::MaxIter);
                    }
                    return Err(Error::Unsupported(INFEASIBLE.into()).into());
                }
                if off < 0.9 * nearest {
                    (nearest, stalled) = (off, 0);
                } else if off > 1.0 {
                    stalled += 1;
                    // What is more than rounding goes on: the multipliers tell in the end.
                    if stalled > STALLED && off * settings.constraint_tol <= ROUNDING {
                        return Ok(StopReason::MaxIter);
                    }
                }
                if off > 1.0 && off > last / GROWTH {
                    let rho = self.rho.iter_mut().zip(&most_rho);
                    rho.for_each(|(rho, most)| *rho = (GROWTH * *rho).min(*most));
                }
                last = off;
                tau = least.max(TOL_FACTOR * tau);
                self.updates += 1;
                (fresh, idle) = (false, 0);
                if self.product.steps >= settings.max_iter {
                    return Ok(StopReason::MaxIter);
                }
                continue;
            }
            if self.product.steps >= settings.max_iter {
                return Ok(StopReason::MaxIter);
            }
            self.product.look(&self.beta)?;
            // 2. A working set.
            set = self.select(size, tau, &set);
            let moved = self.round(&set, tau.max(0.1 * now), settings.max_iter)?;
            idle = if moved { 0 } else { idle + 1 };
        }
    }

    /// `K_jj + Σ ρ_i f_ij²`.
    fn curvature(&self, v: usize) -> f64 {
        let of = |(e, rho): (&Equality, &f64)| rho * e.column[v] * e.column[v];
        let sum: f64 = self.equalities.iter().zip(&self.rho).map(of).sum();
        (self.product.diagonal[self.dual.sample[v]] + sum).max(LEAST_CURVATURE)
    }

    /// The decrease that a step of one variable brings.
    fn gain(&self, v: usize) -> f64 {
        let (score, curvature) = (self.scores[v], self.curvature(v));
        let to = (self.beta[v] + score / curvature).max(self.dual.lower[v]);
        let by = to.min(self.dual.upper[v]) - self.beta[v];
        by * (score - 0.5 * curvature * by)
    }

    /// At most `size` variables: half the last set, free variables first, and those of most gain.
    fn select(&self, size: usize, tol: f64, last: &[usize]) -> Vec<usize> {
        if size >= self.beta.len() {
            return (0..self.beta.len()).collect();
        }
        let candidates: Vec<(f64, usize)> = (0..self.beta.len())
            .filter(|&v| self.badness(v) > tol)
            .map(|v| (self.gain(v), v))
            .collect();
        let mut candidates = candidates;
        let larger = |a: &(f64, usize), b: &(f64, usize)| {
            b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal).then(a.1.cmp(&b.1))
        };
        let free =
            |v: usize| self.beta[v] < self.dual.upper[v] && self.beta[v] > self.dual.lower[v];
        let keep = if size < 8 { 0 } else { size / 2 };
        // `last` ends with its newest variables.
        let newest = last.iter().rev().copied();
        let kept = newest.clone().filter(|&v| free(v)).chain(newest.filter(|&v| !free(v)));
        let mut set: Vec<usize> = kept.take(keep).collect();
        set.reverse();
        let mut taken = set.clone();
        taken.sort_unstable();
        candidates.retain(|(_, v)| taken.binary_search(v).is_err());
        let quota = size - set.len();
        if candidates.len() > quota {
            candidates.select_nth_unstable_by(quota - 1, larger);
            candidates.truncate(quota);
        }
        candidates.sort_unstable_by(larger);
        set.extend(candidates.iter().map(|(_, v)| v));
        set
    }

    /// One working set: its rows, its steps, f and g. Whether anything moved.
    fn round(&mut self, set: &[usize], tol: f64, max_iter: u64) -> Step<bool> {
        let mut samples: Vec<usize> = set.iter().map(|&v| self.dual.sample[v]).collect();
        samples.sort_unstable();
        samples.dedup();
        let mut slots = Vec::new();
        self.product.fetch(&samples, &mut slots, &self.beta)?;
        let mut descent = self.descent(set, &samples, &slots)?;
        let mut said = Ok(());
        loop {
            let left = max_iter.saturating_sub(self.product.steps).min(STEPS_BETWEEN_LOOKS);
            let (steps, done) = descent.run(tol, left);
            self.product.steps += steps;
            if done || self.product.steps >= max_iter {
                break;
            }
            said = self.product.look_again();
            if said.is_err() {
                break;
            }
        }
        let mut change = vec![0.0; samples.len()];
        let mut moved = false;
        for (&v, &beta) in set.iter().zip(&descent.beta) {
            let by = beta - self.beta[v];
            if by != 0.0 {
                moved = true;
                self.beta[v] = beta;
                for (g, equality) in self.excess.iter_mut().zip(self.equalities) {
                    *g += by * equality.column[v];
                }
                if let Ok(at) = samples.binary_search(&self.dual.sample[v]) {
                    change[at] += by;
                }
            }
        }
        let terms = slots.iter().zip(&change).filter(|(_, c)| **c != 0.0);
        let terms: Vec<(u32, f64)> = terms.map(|(&slot, &c)| (slot, c)).collect();
        self.product.cache.accumulate(&terms, &mut self.product.f);
        said.map(|()| moved)
    }

    fn descent(&self, set: &[usize], samples: &[usize], slots: &[u32]) -> Result<Descent> {
        let q = set.len();
        let pick = |list: &[f64]| set.iter().map(|&v| list[v]).collect::<Vec<_>>();
        let columns: Vec<Vec<f64>> = self.equalities.iter().map(|e| pick(&e.column)).collect();
        let sample: Vec<usize> = set.iter().map(|&v| self.dual.sample[v]).collect();
        let mut matrix = try_vec("the working set", q * q, 0.0)?;
        let (cache, diagonal, rho) = (&*self.product.cache, &self.product.diagonal, &self.rho);
        matrix.par_chunks_mut(q.max(1)).enumerate().for_each(|(t, row)| {
            let slot = samples.binary_search(&sample[t]).map_or(0, |at| slots[at]);
            row.iter_mut().zip(&sample).for_each(|(to, &c)| *to = cache.value(slot, c).to_f64());
            row[t] = diagonal[sample[t]];
            for (column, rho) in columns.iter().zip(rho) {
                let factor = rho * column[t];
                row.iter_mut().zip(column).for_each(|(to, f)| *to += factor * f);
            }
        });
        Ok(Descent {
            beta: pick(&self.beta),
            lower: pick(&self.dual.lower),
            upper: pick(&self.dual.upper),
            scores: pick(&self.scores),
            matrix,
        })
    }

    fn finish(mut self, stop: StopReason) -> (Solution, MpdOutcome) {
        self.rescore();
        let violation = self.violation();
        let eta = self.effective();
        let (mut objective, mut gap) = (0.0, 0.0);
        for v in 0..self.beta.len() {
            let f = self.product.f[self.dual.sample[v]];
            objective += self.beta[v] * (0.5 * f - self.dual.linear[v]);
            let (slope, beta) = (self.scores[v], self.beta[v]);
            let bound = if slope > 0.0 { self.dual.upper[v] } else { self.dual.lower[v] };
            if slope != 0.0 && bound != beta {
                gap += slope * (bound - beta);
            }
        }
        gap += eta.iter().zip(&self.excess).map(|(eta, g)| eta * g).sum::<f64>().abs();
        let outcome = MpdOutcome {
            parametric: self.basis.multipliers(&eta),
            constraint: self.basis.given(&self.excess).iter().fold(0.0, |m: f64, g| m.max(g.abs())),
            updates: self.updates,
            trace: self.trace,
        };
        let (n_iter, n_rows) = (self.product.steps, self.product.cache.computed());
        let level = [0.0; 2];
        let beta = self.beta;
        (Solution { beta, level, objective, gap, violation, n_iter, n_rows, stop }, outcome)
    }
}
