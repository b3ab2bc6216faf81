//! Which solver polishes what: thresholds measured by `benches/python/polish.py`.

use super::common;
use crate::data::Targets;
use crate::solver::smoothed::Polish;

/// Terms from which on features that outputs share are worth their making, and outputs.
const DUAL: (usize, usize) = (100, 3);
/// Terms, or kernel values between samples and terms, from which on Hessians cost more than products
/// with the rows that matter.
const KEPT_TERMS: usize = 800;
const KEPT_VALUES: usize = 1 << 26;

/// The `tol` below which conjugate gradients take more steps than Hessians are worth.
const LEAST_TOL: f64 = 1e-9;

/// A solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Newton's method with Hessians.
    Newton,
    /// The same steps along directions from one sum for all columns of values.
    Common,
    /// Coordinate ascent in the dual on features that outputs share.
    Dual,
    /// Newton's method by conjugate gradients on the rows that matter.
    Kept,
}

impl Choice {
    /// For n samples and b terms.
    pub(super) fn of(polish: &Polish, targets: Targets<'_>, (n, b): (usize, usize)) -> Self {
        let m = targets.n_outputs();
        // A loss without zones has no coordinate that rests; an offset is a constraint on all; and
        // one loss is all that a pass knows.
        let one = targets.level(0).is_none();
        let coordinates = !polish.fit_intercept && polish.final_loss().has_zones() && one;
        let values = !targets.are_classes() && !polish.loss.is_classification();
        if values && m >= common::COLUMNS && b <= common::MOST_TERMS && polish.tol >= LEAST_TOL {
            Self::Common
        } else if b >= DUAL.0 && m >= DUAL.1 && coordinates {
            Self::Dual
        } else if b >= KEPT_TERMS || n.saturating_mul(b) >= KEPT_VALUES {
            Self::Kept
        } else {
            Self::Newton
        }
    }
}
