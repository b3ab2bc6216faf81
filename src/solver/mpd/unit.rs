//! Targets so large that sums and products of scores would leave the range of floats: the problem
//! divided by a power of two, which changes no bit of what it leaves in range.
//!
//! With `β = uβ'`, `z = uz'` and the box and the totals divided likewise the problem is the same,
//! and multipliers, scores and violations are u times those of the divided one.

use super::problem::{Equality, MpdSettings};
use crate::solver::exact::{Dual, MpdOutcome, Solution};

/// Targets up to this are left as they are, and larger ones divided until they are below.
const LARGE: f64 = 1e100;

/// No bound of the box is divided below this: it would lose bits.
const LEAST_BOUND: f64 = 1e-290;

/// u.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Unit(f64);

impl Unit {
    pub(super) fn of(dual: &Dual) -> Self {
        let most = dual.linear.iter().fold(0.0f64, |most, z| most.max(z.abs()));
        let bounds = dual.lower.iter().chain(&dual.upper).map(|b| b.abs());
        let least = bounds.filter(|b| *b > 0.0).fold(f64::INFINITY, f64::min);
        let wanted = (most / LARGE).min(least / LEAST_BOUND);
        Self(if wanted > 1.0 { wanted.log2().floor().exp2() } else { 1.0 })
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
        MpdSettings {
            tol: self.into_own(settings.tol),
            constraint_atol: self.into_own(settings.constraint_atol),
            ..*settings
        }
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
