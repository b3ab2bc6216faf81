//! A run of either update: where it stands, and what both ask of it.

use super::basis::Basis;
use super::problem::{Equality, MpdSettings};
use crate::float::Real;
use crate::linalg::axpy;
use crate::parallel;
use crate::simd::LEAST_CURVATURE;
use crate::solver::exact::{Dual, MpdOutcome, Product, Solution, Trace};
use crate::watch::{Step, StopReason};

/// A ν-SVC's ρ counts at least this much as the divisor of its scores.
const LEAST_DIVISOR: f64 = 1e-3;

/// Scores are sums of numbers of the targets' size: violations are not told apart from rounding
/// below this, relative to the largest.
const LEAST_TOL: f64 = 1e-12;

pub(super) struct Run<'r, 'a, 'w, F: Real> {
    pub(super) dual: &'r Dual,
    /// The constraints as the steps see them.
    pub(super) equalities: &'r [Equality],
    pub(super) basis: &'r Basis,
    pub(super) divisor: Option<usize>,
    pub(super) product: Product<'r, 'a, 'w, F>,
    /// Effective scores `z - Kβ - F(η + ρ∘g)`, a value a variable.
    pub(super) scores: Vec<f64>,
    pub(super) beta: Vec<f64>,
    pub(super) eta: Vec<f64>,
    pub(super) rho: Vec<f64>,
    /// g.
    pub(super) excess: Vec<f64>,
    /// What a violation of each given constraint is measured by; ∞ where nothing has to be met.
    pub(super) sizes: Vec<f64>,
    /// ε_d,i.
    pub(super) allowed: Vec<f64>,
    /// The largest of 1 and z in magnitude.
    pub(super) largest: f64,
    pub(super) updates: u64,
    pub(super) trace: Trace,
}

/// Where a run stands.
pub(super) struct State {
    beta: Vec<f64>,
    f: Vec<f64>,
    eta: Vec<f64>,
    rho: Vec<f64>,
    excess: Vec<f64>,
}

impl<F: Real> Run<'_, '_, '_, F> {
    /// `Kβ` and g anew: what rounding has gathered in them goes.
    pub(super) fn refresh(&mut self) -> Step {
        self.product.recompute(&self.dual.sample, &self.beta)?;
        for (g, equality) in self.excess.iter_mut().zip(self.equalities) {
            *g = equality.excess(&self.beta);
        }
        Ok(())
    }

    pub(super) fn state(&self) -> State {
        State {
            beta: self.beta.clone(),
            f: self.product.f.clone(),
            eta: self.eta.clone(),
            rho: self.rho.clone(),
            excess: self.excess.clone(),
        }
    }

    pub(super) fn restore(&mut self, state: State) {
        let State { beta, f, eta, rho, excess } = state;
        (self.beta, self.product.f, self.eta, self.rho, self.excess) = (beta, f, eta, rho, excess);
    }

    /// ε_d of every constraint.
    pub(super) fn allow(&mut self, settings: &MpdSettings) {
        let allowed = |size: &f64| {
            (settings.constraint_tol * size.max(f64::MIN_POSITIVE)).max(settings.constraint_atol)
        };
        self.allowed = self.sizes.iter().map(allowed).collect();
    }

    /// Whether this constraint has to be met.
    pub(super) fn is_hard(&self, equality: usize) -> bool {
        self.equalities[equality].penalty.is_none()
    }

    /// `K_jj + Σ ρ_i f_ij²`.
    pub(super) fn curvature(&self, v: usize) -> f64 {
        let of = |(e, rho): (&Equality, &f64)| rho * e.column[v] * e.column[v];
        let sum: f64 = self.equalities.iter().zip(&self.rho).map(of).sum();
        (self.product.diagonal[self.dual.sample[v]] + sum).max(LEAST_CURVATURE)
    }

    /// η + ρ∘g.
    pub(super) fn effective(&self) -> Vec<f64> {
        let steps = self.rho.iter().zip(&self.excess).map(|(r, g)| r * g);
        self.eta.iter().zip(steps).map(|(eta, step)| eta + step).collect()
    }

    /// Effective scores anew.
    pub(super) fn rescore(&mut self) {
        let eta = self.effective();
        let (dual, equalities, f) = (self.dual, self.equalities, &self.product.f);
        const CHUNK: usize = 1 << 13;
        parallel::each(self.scores.chunks_mut(CHUNK), &|chunk, scores| {
            let first = chunk * CHUNK;
            for (v, score) in (first..).zip(scores.iter_mut()) {
                *score = dual.linear[v] - f[dual.sample[v]];
            }
            for (equality, &eta) in equalities.iter().zip(&eta) {
                axpy(-eta, &equality.column[first..], scores);
            }
        });
    }

    /// β_v has moved by so much: g follows.
    pub(super) fn moved(&mut self, v: usize, by: f64) {
        for (g, equality) in self.excess.iter_mut().zip(self.equalities) {
            *g += by * equality.column[v];
        }
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

    /// `max |g_i|` of the constraints that have to be met.
    fn off(&self) -> f64 {
        let given = self.basis.given(&self.excess);
        let hard = given.iter().zip(&self.sizes).filter(|(_, size)| size.is_finite());
        hard.fold(0.0, |m: f64, (g, _)| m.max(g.abs()))
    }

    /// ε_p, in the unit of the machine that is read off.
    pub(super) fn tolerance(&self, settings: &MpdSettings) -> f64 {
        let tol = settings.tol.max(LEAST_TOL * self.largest);
        let Some(at) = self.divisor else { return tol };
        let divisor = self.basis.multipliers(&self.effective())[at].abs();
        if self.updates == 0 { tol } else { tol * divisor.clamp(LEAST_DIVISOR, 1.0) }
    }

    pub(super) fn record(&mut self, settings: &MpdSettings, violation: f64) {
        if settings.record {
            self.trace.violation.push(violation);
            self.trace.constraint.push(self.off());
            self.trace.multipliers.extend(self.basis.multipliers(&self.effective()));
        }
    }

    /// How far the level of either sum may move, its variables staying at their far ends: the least
    /// score of those that can fall, the largest of those that can rise.
    fn slack(&self) -> [f64; 2] {
        let mut slack = [f64::INFINITY, f64::NEG_INFINITY];
        for v in (0..self.beta.len()).filter(|&v| self.dual.lower[v] < self.dual.upper[v]) {
            match self.dual.group(v) {
                0 => slack[0] = slack[0].min(self.scores[v]),
                _ => slack[1] = slack[1].max(self.scores[v]),
            }
        }
        slack.map(|score| if score.is_finite() { score } else { 0.0 })
    }

    pub(super) fn finish(mut self, stop: StopReason) -> (Solution, MpdOutcome) {
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
        let mut lagrangian = 0.0;
        for (i, (eta, g)) in eta.iter().zip(&self.excess).enumerate() {
            if self.is_hard(i) {
                lagrangian += eta * g;
            } else {
                objective += 0.5 * eta * g;
            }
        }
        gap += lagrangian.abs();
        let level = self.slack();
        let outcome = MpdOutcome {
            parametric: self.basis.multipliers(&eta),
            constraint: self.off(),
            updates: self.updates,
            trace: self.trace,
        };
        let (n_iter, n_rows) = (self.product.steps, self.product.cache.computed());
        let beta = self.beta;
        (Solution { beta, level, objective, gap, violation, n_iter, n_rows, stop }, outcome)
    }
}
