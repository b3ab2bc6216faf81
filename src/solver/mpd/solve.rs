//! A problem solved by either update of the multipliers.

use super::basis::Basis;
use super::newton;
use super::problem::{Equality, MpdSettings, Problem, Update};
use super::run::Run;
use super::unit::Unit;
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::RowCache;
use crate::solver::exact::{MpdOutcome, Product, Solution, Trace};
use crate::watch::{Halt, Phase, Progress, Watch};

/// Solves a problem whose kernel rows `cache` has: the solution, of which `level` is only how far
/// the level of either sum may move where all of its variables are at their bounds, and what [`MpdOutcome`] says, its `parametric` being all multipliers.
///
/// # Errors
/// `InvalidParam`, those of [`Dual::check`](crate::solver::exact::Dual::check), `LengthMismatch` and `InvalidData` for constraints,
/// `Unsupported` when nothing in the box meets them, `OutOfMemory`, `Interrupted` when the observer says so.
pub fn solve<F: Real>(
    problem: &Problem<'_>,
    cache: &mut RowCache<'_, F>,
    settings: &MpdSettings,
    watch: &mut Watch<'_>,
) -> Result<(Solution, MpdOutcome)> {
    settings.check()?;
    problem.check()?;
    watch.enter(Phase::Pass, Progress { n_samples: cache.columns().len(), ..Progress::default() });
    let unit = Unit::of(problem.dual, settings);
    if unit.is_one() {
        return solve_in(problem, cache, settings, watch);
    }
    let (dual, equalities) = (unit.dual(problem.dual), unit.equalities(problem.equalities));
    let scaled = Problem { dual: &dual, equalities: &equalities, ..*problem };
    let (solution, outcome) = solve_in(&scaled, cache, &unit.settings(settings), watch)?;
    Ok(unit.back(solution, outcome))
}

fn solve_in<F: Real>(
    problem: &Problem<'_>,
    cache: &mut RowCache<'_, F>,
    settings: &MpdSettings,
    watch: &mut Watch<'_>,
) -> Result<(Solution, MpdOutcome)> {
    let dual = problem.dual;
    let size = |e: &Equality| match e.penalty {
        Some(_) => f64::INFINITY,
        None => e.scale(dual),
    };
    let sizes = problem.equalities.iter().map(size).collect();
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
        sizes,
        allowed: Vec::new(),
        largest: dual.linear.iter().fold(1.0f64, |most, z| most.max(z.abs())),
        updates: 0,
        trace: Trace::default(),
    };
    let stop = run.refresh().and_then(|()| match settings.update {
        Update::Augmented => run.augmented(settings),
        Update::Newton => newton::run(&mut run, settings),
    });
    Ok(run.finish(stop.or_else(Halt::into_reason)?))
}
