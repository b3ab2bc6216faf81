//! Which solver polishes what: thresholds measured by `benches/python/polish.py`.

use crate::solver::smoothed::Polish;

/// Terms from which on features that outputs share are worth their making, and outputs.
const DUAL: (usize, usize) = (100, 3);
/// Terms, or kernel values between samples and terms, from which on Hessians cost more than products
/// with the rows that matter.
const KEPT_TERMS: usize = 800;
const KEPT_VALUES: usize = 1 << 26;

/// A solver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Newton's method with Hessians.
    Newton,
    /// Coordinate ascent in the dual on features that outputs share.
    Dual,
    /// Newton's method by conjugate gradients on the rows that matter.
    Kept,
}

impl Choice {
    /// For n samples, b terms and m outputs.
    pub(super) fn of(polish: &Polish, (n, b, m): (usize, usize, usize)) -> Self {
        // A loss without zones has no coordinate that rests; an offset is a constraint on all.
        let coordinates = !polish.fit_intercept && polish.final_loss().has_zones();
        if b >= DUAL.0 && m >= DUAL.1 && coordinates {
            Self::Dual
        } else if b >= KEPT_TERMS || n.saturating_mul(b) >= KEPT_VALUES {
            Self::Kept
        } else {
            Self::Newton
        }
    }
}
