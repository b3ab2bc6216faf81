//! The unit of the targets: the problem divided by how far they spread about their mean.
//!
//! With `β = uβ'`, `z = uz'` and the box and the totals divided likewise the problem is the same,
//! and multipliers, scores and violations are u times those of the divided one.
//! Thresholds are for the divided problem, so that `y`, `C` and `ε` in other units are the same problem.
//! Labels, all of one size, are their own unit.

use super::problem::{Equality, MpdSettings};
use crate::solver::exact::{Dual, MpdOutcome, Solution};

/// Divided targets are no larger than this: sums and products of their scores are floats.
const LARGE: f64 = 1e100;

/// No bound of the box is divided below the first, where it would lose bits, or beyond the second.
const LEAST_BOUND: f64 = 1e-290;
const MOST_BOUND: f64 = 1e300;

/// Whether tolerances are for the targets as they are given.
fn is_absolute(settings: &MpdSettings) -> bool {
    settings.constraint_atol > 0.0
}

/// u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(f64);

impl Unit {
    /// That of a problem. An absolute tolerance of the constraints, as the papers have it, is for the
    /// targets as they are given: then only what floats hold badly is divided, by a power of two.
    pub(super) fn of(dual: &Dual, settings: &MpdSettings) -> Self {
        let n = dual.linear.len().max(1) as f64;
        let most = dual.linear.iter().fold(0.0f64, |most, z| most.max(z.abs()));
        let bounds = dual.lower.iter().chain(&dual.upper).map(|b| b.abs());
        let bounds = bounds.filter(|b| *b > 0.0 && b.is_finite());
        let (least, largest) =
            bounds.fold((f64::INFINITY, 0.0f64), |(a, z), b| (a.min(b), z.max(b)));
        if is_absolute(settings) {
            let wanted = (most / LARGE).min(least / LEAST_BOUND);
            return Self(if wanted > 1.0 { wanted.log2().floor().exp2() } else { 1.0 });
        }
        if most == 0.0 || dual.linear.iter().all(|z| z.abs() == most) {
            return Self(if most > 0.0 { most } else { 1.0 });
        }
        let mean = dual.linear.iter().map(|z| z / n).sum::<f64>();
        let spread = dual.linear.iter().map(|z| (z - mean).abs() / n).sum::<f64>();
        let unit = spread.min(least / LEAST_BOUND).max(largest / MOST_BOUND).max(most / LARGE);
        Self(if unit.is_normal() { unit } else { 1.0 })
    }

    pub(super) fn is_one(self) -> bool {
        self.0 == 1.0
    }

    pub(super) fn into_own(self, value: f64) -> f64 {
        value / self.0
    }

    fn list(self, values: &[f64]) -> Vec<f64> {
        values.iter().map(|&value| self.into_own(value)).collect()
    }

    pub(super) fn dual(self, dual: &Dual) -> Dual {
        Dual {
            sample: dual.sample.clone(),
            lower: self.list(&dual.lower),
            upper: self.list(&dual.upper),
            linear: self.list(&dual.linear),
            start: self.list(&dual.start),
            two_sums: dual.two_sums,
        }
    }

    pub(super) fn equalities(self, given: &[Equality]) -> Vec<Equality> {
        let own = |e: &Equality| Equality { total: self.into_own(e.total), ..e.clone() };
        given.iter().map(own).collect()
    }

    pub(super) fn settings(self, settings: &MpdSettings) -> MpdSettings {
        let tol = match is_absolute(settings) {
            true => self.into_own(settings.tol),
            false => settings.tol,
        };
        MpdSettings { tol, constraint_atol: self.into_own(settings.constraint_atol), ..*settings }
    }

    /// What the divided problem's solution says of the problem itself.
    pub(super) fn back(
        self,
        mut solution: Solution,
        mut outcome: MpdOutcome,
    ) -> (Solution, MpdOutcome) {
        let Self(u) = self;
        let times = |values: &mut Vec<f64>| values.iter_mut().for_each(|value| *value *= u);
        times(&mut solution.beta);
        (solution.objective, solution.gap) = (solution.objective * u * u, solution.gap * u * u);
        solution.violation *= u;
        solution.level = solution.level.map(|level| level * u);
        times(&mut outcome.parametric);
        outcome.constraint *= u;
        let trace = &mut outcome.trace;
        [&mut trace.violation, &mut trace.constraint, &mut trace.multipliers]
            .into_iter()
            .for_each(times);
        (solution, outcome)
    }
}
