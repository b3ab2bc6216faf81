//! The loop of the augmented Lagrangian.

use std::cmp::Ordering;

use super::basis::INFEASIBLE;
use super::descent::Descent;
use super::problem::{Equality, MpdSettings};
use super::run::Run;
use crate::error::{Error, Result, try_square};
use crate::float::Real;
use crate::linalg::axpy;
use crate::parallel;
use crate::solver::exact::Held;
use crate::watch::{Halt, Step, StopReason};

/// τ of the first round, in units of the largest score.
const FIRST_TOL: f64 = 0.1;

/// By how much τ falls at an update of the multipliers.
const TOL_FACTOR: f64 = 0.3;

/// By how much violations of the constraints must fall, else ρ rises as much.
const GROWTH: f64 = 4.0;

/// By how much ρ rises in all, at most: the multipliers converge for any ρ > 0, and steps of one
/// variable along the constraints crawl as ρ grows.
const MOST_GROWTH: f64 = 1e6;

/// When multipliers reach this many times the largest score and the constraints are not met, the
/// dual function has no bound: nothing in the box meets them.
const MOST_MULTIPLIER: f64 = 1e6;

/// Updates of the multipliers in a row that bring the constraints no nearer, at most: ρ has grown
/// to its end then, and what is left is rounding.
const STALLED: u32 = 20;

/// A violation of this size, in the unit of `constraint_tol`, counts as met but for rounding.
const ROUNDING: f64 = 1e-8;

/// A problem of up to this many samples ...
const SMALL: usize = 1024;

/// ... is solved on to this violation, relative to the largest score, and to this one of the
/// constraints, relative to their sizes,
const REFINED: f64 = 1e-11;

/// for at most this many times the steps that the thresholds took.
const REFINING: u64 = 20;

/// ρ, at most: sums of it with a kernel value, and products with a violation, are floats.
const MOST_RHO: f64 = 1e304;

/// Where rounds begin: the first τ, and how far each ρ may grow.
struct Rounds {
    tau: f64,
    most_rho: Vec<f64>,
}

impl<F: Real> Run<'_, '_, '_, F> {
    pub(super) fn augmented(&mut self, settings: &MpdSettings) -> Step<StopReason> {
        let n = self.beta.len().max(1) as f64;
        let mean = self.product.diagonal.iter().sum::<f64>() / self.product.f.len().max(1) as f64;
        let mean = if mean > 0.0 { mean } else { 1.0 };
        for (rho, equality) in self.rho.iter_mut().zip(self.equalities) {
            *rho = match equality.penalty {
                Some(penalty) => 1.0 / penalty,
                // Where the box is small, a multiplier of the scores' size is still one step away.
                None => (mean / n).max(self.largest / equality.most(self.dual)).min(MOST_RHO),
            };
        }
        let most = |(rho, equality): (&f64, &Equality)| match equality.penalty {
            Some(_) => *rho,
            None => (MOST_GROWTH * rho).min(MOST_RHO),
        };
        let constrained = (0..self.eta.len()).any(|i| self.is_hard(i));
        let rounds = Rounds {
            tau: if constrained { FIRST_TOL * self.largest } else { 0.0 },
            most_rho: self.rho.iter().zip(self.equalities).map(most).collect(),
        };
        self.allow(settings);
        let stop = self.rounds(settings, &rounds)?;
        if stop != StopReason::Converged || !settings.refine || self.product.f.len() > SMALL {
            return Ok(stop);
        }
        // A small problem is solved on, and what ends that is no reason to warn.
        let (before, met) = (self.state(), settings);
        let score = self.scores.iter().fold(self.largest, |most, s| most.max(s.abs()));
        let settings = MpdSettings {
            tol: met.tol.min(REFINED * score),
            constraint_tol: met.constraint_tol.min(REFINED),
            constraint_atol: 0.0,
            max_iter: met.max_iter.min(self.product.steps.saturating_mul(REFINING) + 1000),
            ..*met
        };
        let rounds = Rounds { tau: met.tol, ..rounds };
        self.allow(&settings);
        let said = self.rounds(&settings, &rounds);
        self.allow(met);
        if !matches!(said, Ok(StopReason::Converged)) {
            self.rescore();
            if self.violation() > self.tolerance(met) || self.infeasibility() > 1.0 {
                self.restore(before);
            }
        }
        match said {
            Ok(_) | Err(Halt::Stop(_) | Halt::Fail(Error::Unsupported(_))) => {
                Ok(StopReason::Converged)
            }
            Err(halt) => Err(halt),
        }
    }

    fn rounds(&mut self, settings: &MpdSettings, of: &Rounds) -> Step<StopReason> {
        let mut tau = of.tau;
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
                for (i, eta) in self.effective().into_iter().enumerate() {
                    if self.is_hard(i) {
                        self.eta[i] = eta;
                    }
                }
                let score = self.product.f.iter().fold(self.largest, |m, f| m.max(f.abs()));
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
                    let rho = self.rho.iter_mut().zip(&of.most_rho);
                    rho.for_each(|(rho, most)| *rho = (GROWTH * *rho).min(*most));
                }
                last = off;
                tau = least.max(TOL_FACTOR * tau);
                self.updates += 1;
                (fresh, idle) = (false, 0);
                // Where no step is left, multipliers alone may go on and on.
                self.product.look(&self.beta)?;
                if self.product.steps >= settings.max_iter {
                    return Ok(StopReason::MaxIter);
                }
                continue;
            }
            if self.product.steps >= settings.max_iter || !now.is_finite() {
                return Ok(StopReason::MaxIter);
            }
            self.product.look(&self.beta)?;
            // 2. A working set.
            set = self.select(size, tau, &set);
            // What has little room brings little gain: the worst of all need not be among them.
            let worst = set.iter().map(|&v| self.badness(v)).fold(0.0, f64::max);
            let (inner, relaxation) = (tau.max(0.1 * worst), settings.relaxation);
            let moved = self.round((&set, relaxation), inner, settings.max_iter)?;
            idle = if moved { 0 } else { idle + 1 };
        }
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
        let bad = (0..self.beta.len()).filter(|&v| self.badness(v) > tol);
        let mut candidates: Vec<(f64, usize)> = bad.map(|v| (self.gain(v), v)).collect();
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
    fn round(&mut self, (set, relaxation): (&[usize], f64), tol: f64, max_iter: u64) -> Step<bool> {
        let samples = set.iter().map(|&v| self.dual.sample[v]).collect();
        let held = self.product.fetch(samples, &self.beta)?;
        let mut descent = Descent { relaxation, ..self.descent(set, &held)? };
        // Over-relaxed, a variable alone would be stepped to and fro.
        let single = set.len() == 1;
        let said = self.product.inner_steps(max_iter, |steps| match single {
            true => (descent.run(tol, 1).0, true),
            false => descent.run(tol, steps),
        });
        let mut moves = Vec::new();
        for (&v, &beta) in set.iter().zip(&descent.beta) {
            let by = beta - self.beta[v];
            if by != 0.0 {
                self.beta[v] = beta;
                self.moved(v, by);
                moves.push((self.dual.sample[v], by));
            }
        }
        self.product.follow(&held, &moves)?;
        said.map(|()| !moves.is_empty())
    }

    fn descent(&self, set: &[usize], held: &Held) -> Result<Descent> {
        let q = set.len();
        let pick = |list: &[f64]| set.iter().map(|&v| list[v]).collect::<Vec<_>>();
        let columns: Vec<Vec<f64>> = self.equalities.iter().map(|e| pick(&e.column)).collect();
        let sample: Vec<usize> = set.iter().map(|&v| self.dual.sample[v]).collect();
        let mut matrix = try_square("the working set", q, 0.0)?;
        let (diagonal, rho) = (&self.product.diagonal, &self.rho);
        let slots: Vec<u32> = sample.iter().map(|&c| held.slot(c)).collect();
        let values = self.product.cache.among(&slots, &sample)?;
        parallel::each(matrix.chunks_mut(q.max(1)), &|t, row| {
            row.iter_mut().zip(&values[t * q..]).for_each(|(to, value)| *to = (*value).to_f64());
            row[t] = diagonal[sample[t]];
            for (column, rho) in columns.iter().zip(rho) {
                axpy(rho * column[t], column, row);
            }
        });
        Ok(Descent {
            beta: pick(&self.beta),
            lower: pick(&self.dual.lower),
            upper: pick(&self.dual.upper),
            scores: pick(&self.scores),
            matrix,
            relaxation: 1.0,
            waited: 0,
            joint: None,
        })
    }
}
