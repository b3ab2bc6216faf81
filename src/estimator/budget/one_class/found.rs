//! What a fit of one class comes to, on the way.

use crate::estimator::budget::part::{Outcome, Part};
use crate::estimator::budget::units::Units;
use crate::estimator::report::{Entry, Kind};
use crate::float::Real;
use crate::solver::smoothed::Polished;
use crate::watch::{StopReason, Watch};

/// What to do about a threshold of about 0.
const LOW: &str = "The threshold is about 0: more rows than nu allows have next to nothing in common \
     with the terms. Lower gamma, raise budget or nu, or, with kernel='linear', use another kernel.";

/// What came of rows: a model in the units, and how.
pub(super) struct Found<F: Real> {
    pub(super) part: Part<F>,
    pub(super) outcome: Outcome,
    pub(super) units: Units,
}

/// The outcome before anything is known.
pub(super) fn begun(n_iter: usize) -> Outcome {
    Outcome {
        n_iter,
        stop: StopReason::Converged,
        entries: Vec::new(),
        smoothed: None,
        primal: None,
        advice: None,
    }
}

/// What polishing adds to the outcome.
pub(super) fn told(
    outcome: &mut Outcome,
    units: &Units,
    polished: &Polished,
    n_terms: usize,
    watch: &Watch<'_>,
) {
    let low = units.is_low(polished.intercept[0]);
    let known = |value: f64| Some(units.objective(value)).filter(|v| v.is_finite());
    (outcome.smoothed, outcome.primal) = (known(polished.smoothed), known(polished.primal));
    outcome.advice = if polished.stop == StopReason::MaxIter {
        Some(format!(
            "Polishing did not converge in {} Newton steps: scale the features, or raise smoothing.",
            polished.steps
        ))
    } else {
        low.then(|| LOW.into())
    };
    let primal = outcome.primal.unwrap_or(f64::NAN);
    outcome.entries.push(Entry { primal, ..Entry::new(Kind::Polish, watch.elapsed(), n_terms) });
    if polished.stop.is_early() {
        outcome.stop = polished.stop;
    }
}
