//! Losses smoothed near their corners, for Newton's method.
//!
//! ```text
//! hinge           L_h = hub(1 - y f)
//! ε-insensitive   L_h = hub(y - f - ε) + hub(f - y - ε)
//! quantile        L_h = q hub(y - f) + (1 - q) hub(f - y)
//! ```
//!
//! `hub` is that of [`pieces`](super::pieces). The squared losses are smooth already (their second
//! derivative jumps, which Newton bears): h is not used. The hinge's form is \[PRIMAL\] section
//! 4.2.

use super::AnyLoss;
use super::curve::Curve;
use super::pieces::{Piece, Pieces, Zone};

/// A curvature below this bends nothing: the parabola's minimum would be far out of reach.
const LEAST_CURVATURE: f64 = 1e-13;

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

    /// Whether it is one quadratic function in each zone: a Newton step that left no zone then ends
    /// at the minimum.
    #[must_use]
    pub fn has_zones(&self) -> bool {
        self.loss.pieces(1.0).has_zones()
    }

    /// Whether it is made of parabolas that do not depend on h.
    #[must_use]
    pub fn is_squared(&self) -> bool {
        self.has_zones() && !self.uses_h()
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

    /// The loss in a zone, where it has zones.
    #[must_use]
    pub fn piece(&self, y: f64, zone: Zone) -> Piece {
        self.loss.pieces(y).piece(zone, self.h)
    }

    /// The quadratic function with the slope and the curvature that the loss has at `f`.
    #[must_use]
    pub fn model(&self, y: f64, f: f64) -> Piece {
        let Curve { slope, curvature, .. } = self.at(y, f);
        if curvature > LEAST_CURVATURE {
            Piece::Quadratic { curvature, target: f - slope / curvature }
        } else if slope == 0.0 {
            Piece::Nothing
        } else {
            Piece::Linear(slope)
        }
    }
}
