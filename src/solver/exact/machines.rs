//! The five machines as [`Dual`] problems, and what is read off their solutions.

use super::dual::{Dual, Solution};
use super::rounds::Settings;
use super::smo::solve;
use crate::error::{Error, Result};
use crate::kernel::{AnyBuffers, AnyColumns};
use crate::watch::{StopReason, Watch};

/// A machine and its targets; costs are those of [`Part`].
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// C-SVC: whether each sample is of the positive class.
    Classes(&'a [bool]),
    /// ν-SVC, with ν in (0, 1].
    NuClasses(&'a [bool], f64),
    /// ε-SVR, with ε >= 0.
    Values(&'a [f64], f64),
    /// ν-SVR, with ν in (0, 1].
    NuValues(&'a [f64], f64),
    /// One class, with ν in (0, 1].
    OneClass(f64),
}

/// Some samples of a kernel matrix, to train one machine on.
#[derive(Clone, Debug)]
pub struct Part<'g, 'a> {
    /// The samples of this machine, and the precision of their kernel rows.
    pub columns: AnyColumns<'g>,
    /// The machine.
    pub kind: Kind<'a>,
    /// Upper bound of every sample's α, > 0: `C_i`, or the weight alone for ν-SVC and one class.
    pub cost: Vec<f64>,
    /// Bytes that kernel rows may take.
    pub cache_bytes: usize,
    /// Memory that machines trained one after another share.
    pub buffers: AnyBuffers,
}

/// A trained machine `f(x) = Σ coef_i k(x_i, x) + intercept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// A coefficient a sample of the part; 0 unless it is a support vector.
    pub coef: Vec<f64>,
    /// The offset.
    pub intercept: f64,
    /// Half the width of the tube of ν-SVR, ρ of ν-SVC (before the division); else 0.
    pub width: f64,
    /// `½ βᵀKβ - zᵀβ` of the dual problem solved (ν-SVC: before the division by ρ).
    pub objective: f64,
    /// How far that is above the optimum, at most.
    pub gap: f64,
    /// Largest violation of the optimality conditions.
    pub violation: f64,
    /// SMO steps.
    pub n_iter: u64,
    /// Kernel rows computed.
    pub n_rows: u64,
    /// Why it ended.
    pub stop: StopReason,
    /// What MPD alone knows.
    pub mpd: Option<MpdOutcome>,
}

impl Fitted {
    /// The machine of `n` samples whose training was stopped before it began: no support vector.
    pub(crate) fn unfinished(n: usize, stop: StopReason) -> Self {
        Self {
            coef: vec![0.0; n],
            intercept: 0.0,
            width: 1.0,
            objective: 0.0,
            gap: f64::INFINITY,
            violation: f64::INFINITY,
            n_iter: 0,
            n_rows: 0,
            stop,
            mpd: None,
        }
    }
}

/// What [`crate::solver::mpd`] tells beyond the machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MpdOutcome {
    /// Parameters of the parametric functions, in their order.
    pub parametric: Vec<f64>,
    /// Largest violation of an equality constraint.
    pub constraint: f64,
    /// Updates of the multipliers.
    pub updates: u64,
    /// What was recorded, if anything.
    pub trace: Trace,
}

/// The course of a run, a value a step; empty unless asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Largest violation of the box's optimality conditions, before the step.
    pub violation: Vec<f64>,
    /// Largest violation of an equality constraint, before the step.
    pub constraint: Vec<f64>,
    /// Multipliers, one after another, before the step.
    pub multipliers: Vec<f64>,
}

/// Trains one machine.
///
/// # Errors
/// `LengthMismatch`, `Unsupported` for a ν-SVC of one class, `OutOfMemory`, `Interrupted`.
pub fn fit(part: Part<'_, '_>, settings: &Settings, watch: &mut Watch<'_>) -> Result<Fitted> {
    let mut dual = dual(&part)?;
    let Part { columns, kind, cost, cache_bytes: bytes, buffers } = part;
    // The problem has the costs.
    drop(cost);
    let (n, problem) = (columns.index().len(), &mut dual);
    let AnyBuffers { single, double } = &buffers;
    let mut solution = match columns {
        AnyColumns::Single(columns) => solve(problem, columns, (bytes, single), settings, watch)?,
        AnyColumns::Double(columns) => solve(problem, columns, (bytes, double), settings, watch)?,
    };
    lean(&kind, &dual, &mut solution.level);
    Ok(fitted(&kind, &dual, solution, n))
}

/// What is said where no α but 0 meets the sums of ν.
const NU_OF_ONE_CLASS: &str =
    "specified nu is infeasible: all samples with positive weights belong to the same class";

/// Gives `total` out in order, to each up to its bound, as \[LIBSVM\] starts ν-machines.
fn spread(bounds: impl Iterator<Item = f64>, mut total: f64) -> Vec<f64> {
    bounds
        .map(|bound| {
            let share = bound.min(total);
            total -= share;
            share
        })
        .collect()
}

/// The problem of a part.
pub(in crate::solver) fn dual(part: &Part<'_, '_>) -> Result<Dual> {
    let (n, cost) = (part.columns.index().len(), part.cost.as_slice());
    let targets = match part.kind {
        Kind::Classes(y) | Kind::NuClasses(y, _) => y.len(),
        Kind::Values(y, _) | Kind::NuValues(y, _) => y.len(),
        Kind::OneClass(_) => n,
    };
    for (what, got) in [("y", targets), ("sample_weight", cost.len())] {
        if got != n {
            return Err(Error::LengthMismatch { what, expected: n, got });
        }
    }
    let signed = |y: &[bool]| {
        let lower = y.iter().zip(cost).map(|(&p, &c)| if p { 0.0 } else { -c }).collect();
        let upper = y.iter().zip(cost).map(|(&p, &c)| if p { c } else { 0.0 }).collect();
        (lower, upper)
    };
    let pairs = || {
        let lower = (0..2 * n).map(|v| if v < n { 0.0 } else { -cost[v - n] }).collect();
        let upper = (0..2 * n).map(|v| if v < n { cost[v] } else { 0.0 }).collect();
        (lower, upper)
    };
    let sample: Vec<usize> = match part.kind {
        Kind::Values(..) | Kind::NuValues(..) => (0..n).chain(0..n).collect(),
        Kind::Classes(_) | Kind::NuClasses(..) | Kind::OneClass(_) => (0..n).collect(),
    };
    Ok(match part.kind {
        Kind::Classes(y) => {
            let (lower, upper) = signed(y);
            let linear = y.iter().map(|&p| if p { 1.0 } else { -1.0 }).collect();
            Dual { sample, lower, upper, linear, start: vec![0.0; n], two_sums: false }
        }
        Kind::NuClasses(y, nu) => {
            let (lower, upper) = signed(y);
            let bound = |wanted: bool| {
                y.iter().zip(cost).map(move |(&p, &c)| if p == wanted { c } else { 0.0 })
            };
            let most = [true, false].map(|wanted| bound(wanted).sum::<f64>());
            if most.contains(&0.0) {
                return Err(Error::Unsupported(NU_OF_ONE_CLASS.into()));
            }
            // A larger ν than the smaller class allows is the largest that it does. Its α are
            // exactly at their bounds then: no rounding makes one of them free.
            let total = (nu * cost.iter().sum::<f64>() / 2.0).min(most[0]).min(most[1]);
            let share = |wanted: bool, most: f64| match total < most {
                true => spread(bound(wanted), total),
                false => bound(wanted).collect(),
            };
            let (plus, minus) = (share(true, most[0]), share(false, most[1]));
            let start = plus.iter().zip(&minus).map(|(p, m)| p - m).collect();
            Dual { sample, lower, upper, linear: vec![0.0; n], start, two_sums: true }
        }
        Kind::Values(y, epsilon) => {
            let (lower, upper) = pairs();
            let linear = (0..2 * n)
                .map(|v| if v < n { y[v] - epsilon } else { y[v - n] + epsilon })
                .collect();
            let start = vec![0.0; 2 * n];
            Dual { sample, lower, upper, linear, start, two_sums: false }
        }
        Kind::NuValues(y, nu) => {
            let (lower, upper) = pairs();
            let linear = y.iter().chain(y).copied().collect();
            let total = nu * cost.iter().sum::<f64>() / 2.0;
            let half = spread(cost.iter().copied(), total);
            let start = half.iter().copied().chain(half.iter().map(|s| -s)).collect();
            Dual { sample, lower, upper, linear, start, two_sums: true }
        }
        Kind::OneClass(nu) => {
            let start = spread(cost.iter().copied(), nu * cost.iter().sum::<f64>());
            let (lower, upper) = (vec![0.0; n], cost.to_vec());
            Dual { sample, lower, upper, linear: vec![0.0; n], start, two_sums: false }
        }
    })
}

/// Where ν is larger than the smaller class allows, all of its α are at their bounds, and its level
/// may be any beyond the nearest: these machines are the C-SVCs, divided by their C, of all C up to
/// 1/ρ of the nearest. This takes C = 1, or the largest where that is less.
pub(in crate::solver) fn lean(kind: &Kind<'_>, dual: &Dual, level: &mut [f64; 2]) {
    let &Kind::NuClasses(_, nu) = kind else { return };
    let sums = [dual.upper.iter().sum::<f64>(), -dual.lower.iter().sum::<f64>()];
    let asked = nu * (sums[0] + sums[1]) / 2.0;
    let beyond = sums.map(|sum| asked > sum * (1.0 + 1e-12));
    if level[1] - level[0] < 2.0 {
        match beyond {
            [true, _] => level[0] = level[1] - 2.0,
            [_, true] => level[1] = level[0] + 2.0,
            _ => {}
        }
    }
}

/// What the solution says of a machine over `n` samples.
pub(in crate::solver) fn fitted(
    kind: &Kind<'_>,
    dual: &Dual,
    solution: Solution,
    n: usize,
) -> Fitted {
    let Solution { beta, level, objective, gap, violation, n_iter, n_rows, stop } = solution;
    let mut coef = vec![0.0; n];
    for (&sample, beta) in dual.sample.iter().zip(&beta) {
        coef[sample] += beta;
    }
    let mut intercept = f64::midpoint(level[0], level[1]);
    let mut width = 0.0;
    match kind {
        // Free variables of class + have f + b = ρ, those of class - have -ρ: divide by ρ.
        Kind::NuClasses(..) => {
            width = (level[1] - level[0]) / 2.0;
            // Stopped before there was a ρ: the multipliers as they are.
            if stop.is_early() && width <= 0.0 {
                width = 1.0;
            }
            coef.iter_mut().for_each(|c| *c /= width);
            intercept /= width;
        }
        Kind::NuValues(..) => width = (level[0] - level[1]) / 2.0,
        Kind::Classes(..) | Kind::Values(..) | Kind::OneClass(..) => {}
    }
    Fitted { coef, intercept, width, objective, gap, violation, n_iter, n_rows, stop, mpd: None }
}
