//! C and γ by the gradient of the leave-one-out criterion, and by leave-one-out errors.
//!
//! # Method
//!
//! 1. A first look, on a few samples: V, the criterion [`crate::solver::primal::criterion`], at the
//!    C and γ given and at 20 places around C = 10 and the γ at which two samples' kernel value is
//!    a half on average, so that nothing hangs on where the caller begins.
//! 2. On a larger part, from the best of them, `min V(log C, log γ)` by L-BFGS on its gradient.
//! 3. Each evaluation is a few Newton steps from the coefficients of the last one: coefficients
//!    and hyperparameters are found together.
//! 4. Of classes, what is wanted is few errors, and the criterion, which has a gradient, asks for
//!    small values of the squared hinge: smoother machines. So the last word is that of the errors
//!    themselves, leave-one-out, at 15 places around its minimum, and at the place of the first look
//!    with the best cross entropy, where the squared hinge may see nothing but large values.
//!
//! The C and γ given are looked at in every step, so that nothing worse is returned. Rare classes are
//! up to a half of the samples; weights undo that.
//!
//! Cost: an evaluation is about a dozen times |Q|³ multiply-adds in step 2, half of that in step 4;
//! at most 21 are made, and 17.
//!
//! References: \[PRIMAL\] section 6.3.

use super::config::PrimalConfig;
use super::report::Tuned;
use super::run::Shuffled;
use super::trials::Trials;
use crate::data::{Problem, Targets};
use crate::error::Result;
use crate::float::Real;
use crate::linalg::Lbfgs;
use crate::watch::{Step, Watch};

/// Logs of the factors of the C and γ given.
const GIVEN: [f64; 2] = [0.0, 0.0];
const MEMORY: usize = 5;
const MAX_EVALUATIONS: usize = 20;
const TOL: f64 = 1e-3;
/// How far log C and log γ may go from where L-BFGS begins.
const RANGE: f64 = 9.0;
/// Samples of the first look, and where it looks: log C, and log γ beside that of the data.
const FIRST_SAMPLES: usize = 200;
const FIRST_COSTS: [f64; 4] = [-4.6, 0.0, 4.6, 9.2];
const FIRST_GAMMAS: [f64; 5] = [-4.0, -2.0, 0.0, 2.0, 4.0];
/// How far from C = 1 and from the γ of the data the logs of those given may be, to be looked at:
/// further away leave-one-out values may be rounding errors alone.
const SANE: (f64, f64) = (14.0, 10.0);
/// Where errors are counted: factors of γ and of C at the criterion's minimum.
const GAMMAS: [f64; 5] = [0.5, 0.71, 1.0, 1.41, 2.0];
const COSTS: [f64; 3] = [0.25, 1.0, 4.0];

/// Factors of C and γ by the criterion and by the errors on at most `size` samples.
pub(super) fn tune<F: Real>(
    config: &PrimalConfig,
    watch: &mut Watch<'_>,
    problem: &Problem<'_, F>,
    size: usize,
) -> Result<Tuned> {
    let n = size.min(problem.cost().iter().filter(|&&c| c > 0.0).count());
    if !config.newton_fits(n) {
        return Err(config.too_large("tune=true", n, "a smaller tune_size"));
    }
    // 1.
    let first = Shuffled::some(problem, config.seed, FIRST_SAMPLES.min(n))?;
    let mut trials = Trials::new(config, watch, problem, first);
    let looked = first_look(&mut trials)?;
    let (from, given) = (looked.least, looked.given);
    let mut trials = trials.on(Shuffled::some(problem, config.seed, n)?);
    let mut best = (f64::INFINITY, from);
    if given && from != GIVEN {
        let value = trials.criterion(GIVEN).map(|found| found.value);
        if let Some(value) = trials.unless_stopped(value)? {
            best = (value, GIVEN);
        }
    }
    let search = Lbfgs { memory: MEMORY, max_evaluations: MAX_EVALUATIONS, tol: TOL, unit: 1.0 };
    // About one natural unit of change where the criterion changes by a tenth of a sample's loss.
    let curvature = 4.0 / n as f64;
    // 2.
    let found = search.minimise(&mut from.clone(), &[curvature, curvature], &mut |x, gradient| {
        if x.iter().zip(&from).any(|(x, from)| (x - from).abs() > RANGE) {
            return Ok(f64::INFINITY);
        }
        let found = trials.criterion([x[0], x[1]])?;
        gradient.copy_from_slice(&[found.by_log_c, found.by_log_gamma]);
        if found.value < best.0 {
            best = (found.value, [x[0], x[1]]);
        }
        Ok(found.value)
    });
    trials.unless_stopped(found)?;
    let [c, gamma] = match problem.targets() {
        Targets::Values(_) | Targets::Columns { .. } => best.1,
        Targets::Classes { .. } => fewest_errors(&mut trials, best.1, &looked)?,
    };
    let (evaluations, stopped) = (trials.evaluations(), trials.stopped());
    Ok(Tuned { c: c.exp(), gamma: gamma.exp(), evaluations, stopped })
}

/// What the first look has found.
struct FirstLook {
    /// The place with the least criterion, the one given unless another is better.
    least: [f64; 2],
    /// Of classes, the place with the best score.
    best: [f64; 2],
    /// Whether the place given may be looked at.
    given: bool,
}

/// Method, 1.
fn first_look<F: Real>(trials: &mut Trials<'_, '_, '_, F>) -> Result<FirstLook> {
    let mut found = FirstLook { least: GIVEN, best: GIVEN, given: false };
    let (mut least, mut best) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut look = || -> Step {
        let (cost, gamma) = (trials.log_cost(), trials.log_gamma_of_the_data()?);
        found.given = cost.abs() < SANE.0 && gamma.abs() < SANE.1;
        let grid = FIRST_GAMMAS.iter().flat_map(|g| FIRST_COSTS.map(|c| [c - cost, g + gamma]));
        for place in found.given.then_some(GIVEN).into_iter().chain(grid) {
            let value = trials.criterion(place)?.value;
            if value < least {
                (least, found.least) = (value, place);
            }
            let score = if trials.of_classes() { trials.score(place)? } else { continue };
            if score > best {
                (best, found.best) = (score, place);
            }
        }
        Ok(())
    };
    let looked = look();
    trials.unless_stopped(looked)?;
    Ok(found)
}

/// Method, 4: the neighbour of `x` with the fewest errors, the nearest of several; the places of the
/// first look where these have fewer.
fn fewest_errors<F: Real>(
    trials: &mut Trials<'_, '_, '_, F>,
    x: [f64; 2],
    looked: &FirstLook,
) -> Result<[f64; 2]> {
    let mut best = ((f64::INFINITY, f64::INFINITY), x);
    let neighbours = GAMMAS.iter().flat_map(|&gamma| COSTS.map(|c| [c.ln(), f64::ln(gamma)]));
    let around = neighbours.map(|[c, gamma]| ([x[0] + c, x[1] + gamma], c.abs() + gamma.abs()));
    let others = [Some(looked.best), looked.given.then_some(GIVEN)].into_iter().flatten();
    for (place, far) in around.chain(others.map(|place| (place, f64::INFINITY))) {
        let errors = trials.errors(place);
        let Some(errors) = trials.unless_stopped(errors)? else { return Ok(best.1) };
        if (errors, far) < best.0 {
            best = ((errors, far), place);
        }
    }
    Ok(best.1)
}
