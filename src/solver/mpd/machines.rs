//! The five machines, plain and semi-parametric, with or without an offset.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::problem::{Equality, MpdSettings, Problem};
use super::solve::solve;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::{AnyBuffers, AnyColumns, Buffers, Columns, RowCache};
use crate::solver::exact::{Dual, Fitted, Kind, MpdOutcome, Part, Solution, dual, fitted, lean};
use crate::watch::Watch;

/// What a machine `f(x) = Σ coef_i k(x_i, x) + intercept + Σ_j c_j φ_j(x)` has beside the kernel.
#[derive(Clone, Copy, Debug)]
pub struct Form<'a> {
    /// Whether there is an offset. One class has no other way to be: there it is always fitted.
    pub intercept: bool,
    /// λ, where λb²/2 is added to what is minimised; `None`: the offset costs nothing.
    pub penalty: Option<f64>,
    /// φ_j of every sample of the [`Part`]'s matrix: samples x functions, finite.
    pub functions: Option<ArrayView2<'a, f64>>,
}

impl Form<'_> {
    /// Constraints of a part, and which of them is the ν of a ν-machine.
    fn equalities(&self, part: &Part<'_, '_>, dual: &Dual) -> Result<(Vec<Equality>, Places)> {
        let sign = |v: usize| if dual.group(v) == 0 { 1.0 } else { -1.0 };
        let sum = |column: &[f64]| column.iter().zip(&dual.start).map(|(f, b)| f * b).sum();
        let mut all = Vec::new();
        let mut places = Places { intercept: None, nu: None, functions: 0 };
        if self.intercept || matches!(part.kind, Kind::OneClass(_)) {
            places.intercept = Some(all.len());
            let column = vec![1.0; dual.len()];
            let penalty = self.penalty.filter(|_| !matches!(part.kind, Kind::OneClass(_)));
            // What is penalised is no sum that has to be kept.
            let total = if penalty.is_some() { 0.0 } else { sum(&column) };
            all.push(Equality { column, total, penalty });
        }
        if dual.two_sums {
            places.nu = Some(all.len());
            let column: Vec<f64> = (0..dual.len()).map(sign).collect();
            all.push(Equality { total: sum(&column), column, penalty: None });
        }
        places.functions = all.len();
        let Some(functions) = self.functions else { return Ok((all, places)) };
        for j in 0..functions.ncols() {
            let value = |&sample: &usize| functions.get((part.columns.index()[sample], j)).copied();
            let column: Option<Vec<f64>> = dual.sample.iter().map(value).collect();
            let column = column.ok_or(Error::LengthMismatch {
                what: "functions",
                expected: part.columns.index().iter().max().map_or(0, |m| m + 1),
                got: functions.nrows(),
            })?;
            all.push(Equality { column, total: 0.0, penalty: None });
        }
        Ok((all, places))
    }
}

/// Which constraint is what.
struct Places {
    intercept: Option<usize>,
    nu: Option<usize>,
    functions: usize,
}

impl Places {
    /// Whether all variables of either sum have to be at their bounds: the smaller class of a ν-SVC
    /// whose ν is the largest that there is. Then the multipliers of the two sums are not unique,
    /// and the level of such a sum is the least that will do, as in the other solver.
    fn tight(&self, dual: &Dual, equalities: &[Equality]) -> [bool; 2] {
        let free = self.intercept.is_some_and(|at| equalities[at].penalty.is_none());
        if !(free && self.nu.is_some()) {
            return [false; 2];
        }
        [0, 1].map(|group| {
            (0..dual.len())
                .filter(|&v| dual.group(v) == group)
                .all(|v| dual.start[v] == if group == 0 { dual.upper[v] } else { dual.lower[v] })
        })
    }
}

/// Trains one machine.
///
/// # Errors
/// `InvalidParam`, `LengthMismatch`, `InvalidData`, `Unsupported` for functions whose constraints no
/// α of this ν meets,
/// `OutOfMemory`, `Interrupted`.
pub fn fit(
    part: Part<'_, '_>,
    form: &Form<'_>,
    settings: &MpdSettings,
    watch: &mut Watch<'_>,
) -> Result<Fitted> {
    let dual = dual(&part)?;
    let (equalities, places) = form.equalities(&part, &dual)?;
    // ν-SVC is divided by its ρ = |η|: so is what its scores may be off.
    let divisor = places.nu.filter(|_| matches!(part.kind, Kind::NuClasses(..)));
    let problem = Problem { dual: &dual, equalities: &equalities, divisor };
    let (kind, n, bytes) = (part.kind, part.columns.index().len(), part.cache_bytes);
    let AnyBuffers { single, double } = &part.buffers;
    let (mut solution, mut outcome) = match part.columns {
        AnyColumns::Single(columns) => run(columns, (bytes, single), &problem, settings, watch)?,
        AnyColumns::Double(columns) => run(columns, (bytes, double), &problem, settings, watch)?,
    };
    let eta = outcome.parametric;
    let offset = places.intercept.map_or(0.0, |at| eta[at]);
    let tilt = places.nu.map_or(0.0, |at| eta[at]);
    let tight = places.tight(&dual, &equalities);
    let slack = |group: usize| if tight[group] { solution.level[group] } else { 0.0 };
    solution.level = [offset + tilt + slack(0), offset - tilt + slack(1)];
    if tight.contains(&true) {
        lean(&kind, &dual, &mut solution.level);
    }
    outcome.parametric = eta[places.functions..].to_vec();
    let mut machine = fitted(&kind, &dual, solution, n);
    if matches!(kind, Kind::NuClasses(..)) {
        outcome.parametric.iter_mut().for_each(|c| *c /= machine.width);
    }
    machine.mpd = Some(outcome);
    Ok(machine)
}

fn run<F: Real>(
    columns: Columns<'_, F>,
    (bytes, buffers): (usize, &Arc<Buffers<F>>),
    problem: &Problem<'_>,
    settings: &MpdSettings,
    watch: &mut Watch<'_>,
) -> Result<(Solution, MpdOutcome)> {
    let mut cache = RowCache::new(columns, bytes, buffers)?;
    solve(problem, &mut cache, settings, watch)
}
