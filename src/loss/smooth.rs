//! Losses smoothed near their corners, for Newton's method.
//!
//! ```text
//! hinge           L_h = hub(1 - y f)
//! ε-insensitive   L_h = hub(y - f - ε) + hub(f - y - ε)
//! ```
//!
//! `hub` is that of [`pieces`](super::pieces). The squared losses are smooth already (their second
//! derivative jumps, which Newton bears): h is not used. The hinge's form is \[PRIMAL\] section
//! 4.2.

use super::AnyLoss;
use super::pieces::{Curve, Piece, Pieces, Zone};

/// A loss with two derivatives in the decision value, almost everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothed {
    /// The loss.
    pub loss: AnyLoss,
    /// Half-width of the quadratic zone at a corner, at least 0; at 0 there is none.
    pub h: f64,
}

impl Smoothed {
    /// Value and derivatives at `f`.
    #[inline]
    #[must_use]
    pub fn at(&self, y: f64, f: f64) -> Curve {
        self.loss.pieces(y).at(f, self.h)
    }

    /// Second derivative of a parabola that touches the loss at `f` and lies above it
    /// everywhere.
    #[inline]
    #[must_use]
    pub fn majorant(&self, y: f64, f: f64) -> f64 {
        self.loss.pieces(y).majorant(f, self.h)
    }

    /// Whether h changes anything.
    #[must_use]
    pub fn uses_h(&self) -> bool {
        matches!(self.loss.pieces(1.0), Pieces::Linear(_))
    }

    /// How wide the zones must be for `f` to lie in one that bends.
    #[must_use]
    pub fn reach(&self, y: f64, f: f64) -> f64 {
        self.loss.pieces(y).reach(f)
    }

    /// How far `f` may move down and up while the slope stays what it is: both 0 inside a
    /// quadratic zone. A point that lies within `tolerance` of leaving the zone counts as having
    /// left it; its range may then miss 0 by that much.
    #[must_use]
    pub fn flat_range(&self, y: f64, f: f64, tolerance: f64) -> (f64, f64) {
        self.loss.pieces(y).flat_range(f, self.h, tolerance)
    }

    /// The zone that `f` lies in.
    #[must_use]
    pub fn zone(&self, y: f64, f: f64) -> Zone {
        self.loss.pieces(y).zone(f, self.h)
    }

    /// The loss in a zone.
    #[must_use]
    pub fn piece(&self, y: f64, zone: Zone) -> Piece {
        self.loss.pieces(y).piece(zone, self.h)
    }
}
