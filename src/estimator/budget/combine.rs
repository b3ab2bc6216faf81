//! Several machines' outcomes as one.

use super::part::{Outcome, Part, Trained};
use crate::estimator::report::{Entry, Kind};
use crate::float::Real;
use crate::watch::StopReason;

/// The parts in order, and what they tell together: terms and objectives added, shares averaged,
/// the longest time, the least welcome reason to stop.
pub(super) fn combine<F: Real>(trained: Vec<Trained<F>>) -> (Vec<Part<F>>, Outcome) {
    let (parts, outcomes): (Vec<_>, Vec<_>) =
        trained.into_iter().map(|t| (t.part, t.outcome)).unzip();
    let sum = |value: fn(&Outcome) -> Option<f64>| outcomes.iter().map(value).sum::<Option<f64>>();
    let rank = |stop: StopReason| match stop {
        StopReason::Converged => 0,
        StopReason::EarlyStopping => 1,
        StopReason::MaxIter => 2,
        StopReason::MaxTime => 3,
        StopReason::Callback => 4,
    };
    let passes = entries(&outcomes, Kind::Pass);
    let polish = entries(&outcomes, Kind::Polish);
    let refine = entries(&outcomes, Kind::Refine);
    let outcome = Outcome {
        n_iter: outcomes.iter().map(|o| o.n_iter).max().unwrap_or(1),
        stop: outcomes
            .iter()
            .map(|o| o.stop)
            .max_by_key(|stop| rank(*stop))
            .unwrap_or(StopReason::Converged),
        entries: [passes, polish, refine].concat(),
        smoothed: sum(|o| o.smoothed),
        primal: sum(|o| o.primal),
        advice: outcomes.iter().find_map(|o| o.advice.clone()),
    };
    (parts, outcome)
}

/// Entry by entry; a machine that ended early counts on with its last.
fn entries(outcomes: &[Outcome], kind: Kind) -> Vec<Entry> {
    let of_kind = |o: &Outcome| -> Vec<Entry> {
        o.entries.iter().filter(|e| e.kind == kind).copied().collect()
    };
    let all: Vec<Vec<Entry>> =
        outcomes.iter().map(of_kind).filter(|entries| !entries.is_empty()).collect();
    let longest = all.iter().map(Vec::len).max().unwrap_or(0);
    let k = all.len() as f64;
    let merge = |at: usize| {
        let each = || all.iter().map(|entries| entries[at.min(entries.len() - 1)]);
        Entry {
            kind,
            time: each().map(|e| e.time).fold(0.0, f64::max),
            n_terms: each().map(|e| e.n_terms).sum(),
            moved: each().map(|e| e.moved).sum::<f64>() / k,
            maintained: each().map(|e| e.maintained).sum::<f64>() / k,
            degradation: each().map(|e| e.degradation).sum(),
            primal: each().map(|e| e.primal).sum(),
            dual: each().map(|e| e.dual).sum(),
            score: each().map(|e| e.score).sum::<f64>() / k,
        }
    };
    (0..longest).map(merge).collect()
}
