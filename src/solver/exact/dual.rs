//! The problem, and what a solution tells.

use crate::error::{Error, Result};
use crate::watch::StopReason;

/// `min ½ βᵀKβ - zᵀβ` in a box, with the sum (or one sum a sign) of the start kept.
///
/// A variable belongs to a sample; two of one sample (regression) share its kernel row.
#[derive(Clone, Debug)]
pub struct Dual {
    /// Row and column of K of every variable.
    pub sample: Vec<usize>,
    /// Lower bounds, finite or -∞.
    pub lower: Vec<f64>,
    /// Upper bounds, finite or ∞.
    pub upper: Vec<f64>,
    /// z.
    pub linear: Vec<f64>,
    /// A feasible point; it fixes the sums.
    pub start: Vec<f64>,
    /// Whether the variables of either sign (`lower < 0` or not) keep a sum of their own.
    pub two_sums: bool,
}

impl Dual {
    /// Number of variables.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sample.len()
    }

    /// The sum that a variable belongs to: 0 or 1.
    #[inline]
    #[must_use]
    pub fn group(&self, variable: usize) -> usize {
        usize::from(self.two_sums && self.lower[variable] < 0.0)
    }

    /// Whether lengths agree, numbers are no NaN and the start is feasible.
    ///
    /// # Errors
    /// `LengthMismatch`, `InvalidData`.
    pub fn check(&self) -> Result<()> {
        let n = self.len();
        for (what, list) in [
            ("lower", &self.lower),
            ("upper", &self.upper),
            ("linear", &self.linear),
            ("start", &self.start),
        ] {
            if list.len() != n {
                return Err(Error::LengthMismatch { what, expected: n, got: list.len() });
            }
        }
        for v in 0..n {
            let inside = self.lower[v] <= self.start[v] && self.start[v] <= self.upper[v];
            if !(inside && self.start[v].is_finite() && self.linear[v].is_finite()) {
                let reason = format!("variable {v} does not start inside its box");
                return Err(Error::InvalidData { what: "dual problem", reason });
            }
        }
        Ok(())
    }
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Solution {
    /// β.
    pub beta: Vec<f64>,
    /// The multiplier b of the sum, or of either sign's sum: the score of the free variables.
    pub level: [f64; 2],
    /// `½ βᵀKβ - zᵀβ`.
    pub objective: f64,
    /// Duality gap: the objective is at most this far above the optimum (∞ without upper bounds,
    /// unless every score is on the right side).
    pub gap: f64,
    /// Largest score that can rise minus least that can fall; at most `tol` when converged.
    pub violation: f64,
    /// SMO steps.
    pub n_iter: u64,
    /// Kernel rows computed.
    pub n_rows: u64,
    /// Why it ended.
    pub stop: StopReason,
}

impl Solution {
    /// The start of a problem whose scores there was no time to compute: anything may be the level.
    pub(super) fn unknown(dual: &Dual, start: Vec<f64>, stop: StopReason) -> Self {
        Self {
            beta: start,
            // Where they are divided by the half of their distance, by 1.
            level: if dual.two_sums { [-1.0, 1.0] } else { [0.0; 2] },
            objective: f64::NAN,
            gap: f64::INFINITY,
            violation: f64::INFINITY,
            n_iter: 0,
            n_rows: 0,
            stop,
        }
    }
}

/// A level between the largest score that can rise and the least that can fall, as far as there are
/// such scores.
pub(super) fn between(most: f64, least: f64) -> f64 {
    match (most.is_finite(), least.is_finite()) {
        (true, true) => f64::midpoint(most, least),
        (true, false) => most,
        (false, true) => least,
        (false, false) => 0.0,
    }
}

/// Level, objective and gap at β with `f = Kβ` (a value a sample).
pub(super) fn read_off(dual: &Dual, beta: &[f64], f: &[f64]) -> ([f64; 2], f64, f64) {
    let score = |v: usize| dual.linear[v] - f[dual.sample[v]];
    let groups = if dual.two_sums { 2 } else { 1 };
    let mut level = [0.0; 2];
    for (group, level) in level.iter_mut().enumerate().take(groups) {
        let (mut sum, mut free) = (0.0, 0usize);
        let (mut most, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
        for v in (0..dual.len()).filter(|&v| dual.group(v) == group) {
            let (rises, falls) = (beta[v] < dual.upper[v], beta[v] > dual.lower[v]);
            if rises && falls {
                sum += score(v);
                free += 1;
            } else if rises {
                most = most.max(score(v));
            } else if falls {
                least = least.min(score(v));
            }
        }
        *level = if free > 0 { sum / free as f64 } else { between(most, least) };
    }
    if groups == 1 {
        level[1] = level[0];
    }
    let (mut objective, mut gap) = (0.0, 0.0);
    for v in 0..dual.len() {
        objective += beta[v] * (0.5 * f[dual.sample[v]] - dual.linear[v]);
        let slope = score(v) - level[dual.group(v)];
        let room = if slope > 0.0 { dual.upper[v] - beta[v] } else { dual.lower[v] - beta[v] };
        if slope != 0.0 && room != 0.0 {
            gap += slope * room;
        }
    }
    (level, objective, gap)
}
