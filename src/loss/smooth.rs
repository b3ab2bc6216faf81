//! Losses smoothed near their corners, for Newton's method: value and derivatives, a parabola above
//! the loss, where its slope is constant, and the quadratic function that it is in each zone.
//!
//! ```text
//! hinge           L_h = hub(1 - y f)
//! ε-insensitive   L_h = hub(y - f - ε) + hub(f - y - ε)
//! quantile        L_h = q hub(y - f) + (1 - q) hub(f - y)
//! ```
//!
//! `hub` is that of [`pieces`](super::pieces). The squared losses are smooth already (their second
//! derivative jumps, which Newton bears): h is not used. A loss without corners has no zones. The
//! hinge's form is \[PRIMAL\] section 4.2.

use super::AnyLoss;
use super::curve::Curve;
use super::pieces::{Corner, Piece, Pieces, Zone, hub, sum};
use crate::simd::Tube;

/// A curvature below this bends nothing: the parabola's minimum would be far out of reach.
const LEAST_CURVATURE: f64 = 1e-13;

/// Where a decision value lies beside a corner.
const FLAT: u8 = 0;
const CURVED: u8 = 1;
const STEEP: u8 = 2;
const SIDES: u8 = 3;

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
    #[inline(always)]
    #[must_use]
    pub fn at(&self, y: f64, f: f64) -> Curve {
        self.loss.pieces(y).at(f, self.h)
    }

    /// The loss as two rounded corners about the target, where it is that.
    pub(crate) fn tube(&self) -> Option<Tube> {
        let tube = |edge, below, above| Some(Tube { edge, below, above, h: self.h });
        match self.loss {
            AnyLoss::EpsilonInsensitive { epsilon } => tube(epsilon, 1.0, 1.0),
            AnyLoss::Quantile { quantile } => tube(0.0, quantile, 1.0 - quantile),
            AnyLoss::Hinge
            | AnyLoss::SquaredHinge
            | AnyLoss::LogLoss
            | AnyLoss::SquaredEpsilonInsensitive { .. } => None,
        }
    }

    /// Second derivative of a parabola that touches the loss at `f` and lies above it
    /// everywhere: `slope/(t + h)` for a rounded corner.
    #[inline]
    #[must_use]
    pub fn majorant(&self, y: f64, f: f64) -> f64 {
        let h = self.h;
        match self.loss.pieces(y) {
            Pieces::Linear(corners) => {
                let bend = |t: f64| {
                    let curvature = hub(t, h).slope / (t + h).max(f64::MIN_POSITIVE);
                    Curve { curvature, ..Curve::default() }
                };
                sum(corners, f, bend).curvature
            }
            Pieces::Squared(_) | Pieces::Parabola { .. } => self.at(y, f).curvature,
            Pieces::Smooth(loss) => loss.majorant(f),
        }
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
        !matches!(self.loss.pieces(1.0), Pieces::Smooth(_))
    }

    /// Whether it is made of parabolas that do not depend on h.
    #[must_use]
    pub fn is_squared(&self) -> bool {
        self.has_zones() && !self.uses_h()
    }

    /// How wide the zones must be for `f` to lie in one that bends.
    #[must_use]
    pub fn reach(&self, y: f64, f: f64) -> f64 {
        match self.loss.pieces(y) {
            Pieces::Linear((corner, None)) | Pieces::Squared((corner, None)) => corner.t(f).abs(),
            Pieces::Linear((Corner { center, .. }, Some(_)))
            | Pieces::Squared((Corner { center, .. }, Some(_)))
            | Pieces::Parabola { center } => (f - center).abs(),
            Pieces::Smooth(_) => f.abs(),
        }
    }

    /// How far `f` may move down and up while the slope stays what it is: both 0 inside a
    /// quadratic zone. A point that lies within `tolerance` of leaving the zone counts as having
    /// left it; its range may then miss 0 by that much.
    #[must_use]
    pub fn flat_range(&self, y: f64, f: f64, tolerance: f64) -> (f64, f64) {
        let Some(((first, second), rounded)) = self.loss.pieces(y).corners() else {
            return (0.0, 0.0);
        };
        let h = self.h;
        let range = |corner: Corner| {
            let t = corner.t(f);
            // How far t may move.
            let (low, high) = if rounded && t >= h - tolerance {
                (h - t, f64::INFINITY)
            } else if rounded && t <= tolerance - h {
                (f64::NEG_INFINITY, -h - t)
            } else if !rounded && t <= tolerance {
                (f64::NEG_INFINITY, -t)
            } else {
                (0.0, 0.0)
            };
            if corner.sign > 0.0 { (low, high) } else { (-high, -low) }
        };
        let a = range(first);
        second.map_or(a, |second| {
            let b = range(second);
            (a.0.max(b.0), a.1.min(b.1))
        })
    }

    /// The zone that `f` lies in.
    #[must_use]
    pub fn zone(&self, y: f64, f: f64) -> Zone {
        let Some(((first, second), rounded)) = self.loss.pieces(y).corners() else {
            return Zone(CURVED);
        };
        let h = if rounded { self.h } else { 0.0 };
        let side = |corner: Corner| {
            let t = corner.t(f);
            if t <= -h {
                FLAT
            } else if rounded && t >= h {
                STEEP
            } else {
                CURVED
            }
        };
        Zone(side(first) + SIDES * second.map_or(FLAT, side))
    }

    /// The loss in a zone, where it has zones.
    #[must_use]
    pub fn piece(&self, y: f64, zone: Zone) -> Piece {
        let (corners, own, rounded) = match self.loss.pieces(y) {
            Pieces::Linear(corners) => (corners, 0.5 / self.h, self.h),
            Pieces::Squared(corners) => (corners, 2.0, 0.0),
            Pieces::Parabola { center } => {
                return Piece::Quadratic { curvature: 2.0, target: center };
            }
            Pieces::Smooth(_) => return Piece::Nothing,
        };
        let mut slope = 0.0;
        let mut quadratic: Option<(f64, f64)> = None;
        let sides = [(Some(corners.0), zone.0 % SIDES), (corners.1, zone.0 / SIDES)];
        for (corner, side) in sides {
            let Some(Corner { sign, center, edge, weight }) = corner else { continue };
            if side == STEEP {
                slope += weight * sign;
            } else if side == CURVED {
                let (curvature, target) = (weight * own, center + sign * (edge - rounded));
                quadratic = Some(quadratic.map_or((curvature, target), |(other, at)| {
                    let total = other + curvature;
                    (total, at + (target - at) * (curvature / total))
                }));
            }
        }
        match quadratic {
            Some((curvature, target)) => {
                Piece::Quadratic { curvature, target: target - slope / curvature }
            }
            None if slope == 0.0 => Piece::Nothing,
            None => Piece::Linear(slope),
        }
    }

    /// The quadratic function with the slope and the curvature that the loss has at `f`.
    #[must_use]
    pub fn model(&self, y: f64, f: f64) -> Piece {
        let Curve { slope, curvature, .. } = self.at(y, f);
        if curvature > LEAST_CURVATURE / self.h.max(1.0) {
            Piece::Quadratic { curvature, target: f - slope / curvature }
        } else if slope == 0.0 {
            Piece::Nothing
        } else {
            Piece::Linear(slope)
        }
    }
}
