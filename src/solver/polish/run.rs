//! Which solver is asked, and what is done when it does not do.

use super::choice::Choice;
use super::kept::Basis;
use super::steps::Shared;
use super::{dual, kept, newton};
use crate::data::check_finite;
use crate::error::Result;
use crate::float::Real;
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::{KernelRows, Polish, Polished, Start, basis_gram};
use crate::watch::{Step, StopReason, Watch};

/// Ridge on K_BB in units of the precision that kernel values are held in.
pub(super) const RIDGE: f64 = 0.125;

pub(super) fn solve<F: Real>(
    polish: &Polish,
    choice: Choice,
    rows: &dyn KernelRows<F>,
    (start, tilt): (Start<'_>, f64),
    watch: &mut Watch<'_>,
) -> Result<Polished> {
    watch.begin();
    let m = start.targets.n_outputs();
    let mut result = Polished {
        coef: start.coef.to_vec(),
        intercept: if polish.fit_intercept { start.intercept.to_vec() } else { vec![0.0; m] },
        ..Polished::nothing(0, m)
    };
    check_finite("coefficients", &result.coef, m)?;
    check_finite("intercept", &result.intercept, m)?;
    let done = if rows.n_terms() == 0 {
        constant(polish, start, watch, &mut result)
    } else {
        by_choice(polish, choice, rows, (start, tilt), watch, &mut result)
    };
    match done {
        Ok(()) if result.converged => {}
        Ok(()) => result.stop = StopReason::MaxIter,
        Err(halt) => (result.converged, result.stop) = (false, halt.into_reason()?),
    }
    Ok(result)
}

/// `result` holds what is known whenever this returns.
fn by_choice<F: Real>(
    polish: &Polish,
    choice: Choice,
    rows: &dyn KernelRows<F>,
    (start, tilt): (Start<'_>, f64),
    watch: &mut Watch<'_>,
    result: &mut Polished,
) -> Step {
    let share = RIDGE * F::epsilon().to_f64();
    let b = rows.n_terms();
    // K_BB in `f64` is for machines whose rows it leaves room for.
    let made_again = choice == Choice::Kept && b.saturating_mul(8 * b) > polish.cache_bytes;
    if made_again {
        let basis = Basis::made(rows, watch).inspect_err(|_| result.forget())?;
        let shared = Shared::without_gram(polish, (start, tilt), (b, basis.mean()), share)?;
        let basis = basis.with_ridge(shared.ridge);
        result.forget();
        if kept::solve(&shared, (rows, &basis), polish.cache_bytes, result, watch)? {
            return Ok(());
        }
    }
    let made = basis_gram(rows, watch)
        .and_then(|gram| Ok(Shared::new(polish, (start, tilt), gram, share)?));
    let shared = made.inspect_err(|_| result.forget())?;
    if choice == Choice::Dual {
        let bytes = polish.cache_bytes;
        let features = rows.n_rows().saturating_mul(dual::feature_bytes(b, polish.tol));
        // Kernel values are kept beside the features where there is room for all of both.
        let all = rows.n_rows().saturating_mul(b).saturating_mul(size_of::<F>());
        let left = Some(bytes.saturating_sub(features)).filter(|&left| left >= all).unwrap_or(0);
        result.forget();
        let mut panels = Panels::new(rows, left, watch)?;
        if dual::solve(&shared, rows, (&mut panels, bytes), result, watch)? {
            return Ok(());
        }
    }
    if choice == Choice::Kept && !made_again {
        result.forget();
        let basis = Basis::of(&shared, rows, watch).inspect_err(|_| result.forget())?;
        if kept::solve(&shared, (rows, &basis), polish.cache_bytes, result, watch)? {
            return Ok(());
        }
    }
    let panels = Panels::new(rows, polish.cache_bytes, watch);
    let together = choice == Choice::Common;
    let panels = &mut panels.inspect_err(|_| result.forget())?;
    newton::solve(&shared, (panels, together), result, watch)
}

/// The best offsets alone, when the basis is empty; one that is not to be fitted stays.
fn constant(
    polish: &Polish,
    start: Start<'_>,
    watch: &mut Watch<'_>,
    result: &mut Polished,
) -> Step {
    for output in 0..result.intercept.len() {
        watch.poll()?;
        let samples = start.samples(polish, output, polish.h);
        let offset = &mut result.intercept[output];
        let mut f = vec![*offset; start.cost.len()];
        if polish.fit_intercept {
            samples.best_offset(offset, &mut f);
        }
        result.add(&samples, 0.0, &f);
    }
    Ok(())
}
