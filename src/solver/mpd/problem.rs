//! Equality constraints of a dual problem, and when a run stops.

use crate::config::{count, not_negative, positive};
use crate::error::{Error, Result, check_len};
use crate::solver::exact::Dual;

/// One constraint `Σ_v column_v β_v = total`.
#[derive(Clone, Debug, PartialEq)]
pub struct Equality {
    /// A value a variable.
    pub column: Vec<f64>,
    /// The right-hand side.
    pub total: f64,
    /// λ > 0 where the constraint's multiplier b costs `λb²/2`: then nothing has to be met, and
    /// `b = (Σ column β - total) / λ`, as if `column columnᵀ / λ` were added to K.
    pub penalty: Option<f64>,
}

impl Equality {
    /// Whether it fits the problem.
    ///
    /// # Errors
    /// `LengthMismatch`, `InvalidData` for NaN or infinity.
    pub(super) fn check(&self, dual: &Dual) -> Result<()> {
        check_len("constraint", dual.len(), self.column.len())?;
        if !(self.total.is_finite() && self.column.iter().all(|v| v.is_finite())) {
            let reason = "NaN or infinity".into();
            return Err(Error::InvalidData { what: "parametric functions", reason });
        }
        self.penalty.map_or(Ok(()), |penalty| positive("intercept_penalty", penalty))
    }

    /// Root mean square of the column, also where the squares leave the range of floats.
    pub(super) fn rms(&self) -> f64 {
        root_mean_square(&self.column)
    }

    /// What a violation is measured by: the size of what is summed, but no more than 1 in the
    /// column's own unit.
    pub(super) fn scale(&self, dual: &Dual) -> f64 {
        self.total.abs().max(self.rms().min(self.most(dual)))
    }

    /// The largest sum that the box allows, about.
    pub(super) fn most(&self, dual: &Dual) -> f64 {
        let bound = |v: usize| dual.lower[v].abs().max(dual.upper[v].abs());
        let term = |v: usize| self.column[v].abs() * bound(v);
        (0..dual.len()).filter(|&v| self.column[v] != 0.0).map(term).sum()
    }

    /// `Σ_v column_v β_v - total`.
    pub(super) fn excess(&self, beta: &[f64]) -> f64 {
        self.column.iter().zip(beta).map(|(f, b)| f * b).sum::<f64>() - self.total
    }
}

/// Of any finite values.
pub(super) fn root_mean_square(values: &[f64]) -> f64 {
    let of = |unit: f64| {
        let sum = values.iter().map(|v| (v / unit) * (v / unit)).sum::<f64>();
        unit * (sum / values.len().max(1) as f64).sqrt()
    };
    let plain = of(1.0);
    if plain > 1e-150 && plain < 1e150 {
        return plain;
    }
    match values.iter().fold(0.0f64, |most, v| most.max(v.abs())) {
        0.0 => 0.0,
        most => of(most),
    }
}

/// How multipliers are updated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Update {
    /// The augmented Lagrangian's, which converges.
    #[default]
    Augmented,
    /// The paper's diagonal Newton step, by estimates of the dual function's curvature.
    Newton,
}

/// When to stop, and how to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MpdSettings {
    /// ε_p, > 0: violation of the box's optimality conditions at which β is optimal for η, in units of
    /// the spread of the targets.
    pub tol: f64,
    /// ε_d, > 0: violation of a constraint that is let pass, relative to `max(|e_i|, rms(f_i))`
    /// (or to the largest sum that the box allows, if that is less).
    pub constraint_tol: f64,
    /// The same as it stands, >= 0, as the paper has it; the larger of both counts.
    pub constraint_atol: f64,
    /// Steps of one variable, at most.
    pub max_iter: u64,
    /// The update of the multipliers.
    pub update: Update,
    /// Variables of a working set, >= 1; the paper's is 1. [`Update::Newton`] knows no other.
    pub working_set: usize,
    /// The factor of every step, in (0, 2): above 1 it is over-relaxed (\[SOR\]).
    pub relaxation: f64,
    /// Whether a small problem is solved further than the thresholds, so that its answer does not
    /// depend on the order of the samples. [`Update::Newton`] does not.
    pub refine: bool,
    /// Whether violations and multipliers are recorded, a value a working set.
    pub record: bool,
}

impl MpdSettings {
    /// Whether every number is in its range.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        positive("tol", self.tol)?;
        positive("constraint_tol", self.constraint_tol)?;
        not_negative("constraint_atol", self.constraint_atol)?;
        if !(self.relaxation > 0.0 && self.relaxation < 2.0) {
            return Err(Error::param("relaxation", "> 0 and < 2", self.relaxation));
        }
        count("working_set", self.working_set)
    }
}

/// A dual problem with its constraints; of the [`Dual`] the box, z and the samples count alone.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a> {
    /// Box and linear term.
    pub dual: &'a Dual,
    /// The constraints.
    pub equalities: &'a [Equality],
    /// The constraint by whose multiplier ε_p is multiplied where that is below 1: the ρ that a
    /// ν-SVC is divided by.
    pub divisor: Option<usize>,
}

impl Problem<'_> {
    pub(super) fn check(&self) -> Result<()> {
        self.dual.check()?;
        self.equalities.iter().try_for_each(|equality| equality.check(self.dual))
    }
}
