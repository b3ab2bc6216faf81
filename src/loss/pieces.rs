//! Losses made of corners: what each piece between them is.
//!
//! ```text
//! L_h(y, f) = Σ w hub(t)  or  Σ w max(0, t)²,     t = ± (f - centre) - edge
//!
//! hub(t) = 0              t < -h
//!          (t + h)²/(4h)  |t| ≤ h        hub → max(0, t) as h → 0,  0 ≤ hub(t) - max(0, t) ≤ h/4
//!          t              t > h
//! ```
//!
//! Everything that solvers ask of such a loss follows from its corners: value and derivatives, a
//! parabola above it, where its slope is constant, and the quadratic function that it is in each
//! zone. A loss without corners (smooth everywhere) has none of this to tell.

use super::curve::Curve;
use super::log_loss::LogLoss;

/// `max(0, t)` or its square, with `t = sign (f - center) - edge`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Corner {
    /// 1 or -1: the side that costs.
    pub(super) sign: f64,
    pub(super) center: f64,
    pub(super) edge: f64,
    /// What the corner counts, > 0.
    pub(super) weight: f64,
}

/// One corner or two.
pub(super) type Corners = (Corner, Option<Corner>);

/// A loss at one target, as a function of f.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pieces {
    /// Linear beyond its corners, which are rounded by h.
    Linear(Corners),
    /// Quadratic beyond its corners.
    Squared(Corners),
    /// `(f - center)²`, one piece.
    Parabola { center: f64 },
    /// Without corners, and no parabola anywhere.
    Smooth(LogLoss),
}

/// Which piece of the loss a decision value lies on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zone(u8);

/// A loss in one of its zones, up to a constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Piece {
    /// It does not depend on f.
    Nothing,
    /// Linear with this slope.
    Linear(f64),
    /// `curvature/2 (f - target)²`.
    Quadratic {
        /// Second derivative, > 0.
        curvature: f64,
        /// Where it is least.
        target: f64,
    },
}

const FLAT: u8 = 0;
const CURVED: u8 = 1;
const STEEP: u8 = 2;
const SIDES: u8 = 3;

impl Corner {
    pub(super) fn up(center: f64, edge: f64, weight: f64) -> Self {
        Self { sign: 1.0, center, edge, weight }
    }

    pub(super) fn down(center: f64, edge: f64, weight: f64) -> Self {
        Self { sign: -1.0, center, edge, weight }
    }

    #[inline]
    fn t(&self, f: f64) -> f64 {
        self.sign * (f - self.center) - self.edge
    }

    #[inline]
    fn weigh(&self, c: Curve) -> Curve {
        let Self { sign, weight, .. } = *self;
        Curve {
            value: weight * c.value,
            slope: weight * (sign * c.slope),
            curvature: weight * c.curvature,
        }
    }
}

#[inline]
fn sum((first, second): Corners, f: f64, curve: impl Fn(f64) -> Curve) -> Curve {
    let a = first.weigh(curve(first.t(f)));
    let Some(second) = second else { return a };
    let b = second.weigh(curve(second.t(f)));
    Curve {
        value: a.value + b.value,
        slope: a.slope + b.slope,
        curvature: a.curvature + b.curvature,
    }
}

impl Pieces {
    /// Value and derivatives at `f`.
    #[inline]
    pub(super) fn at(&self, f: f64, h: f64) -> Curve {
        match *self {
            Self::Linear(corners) => sum(corners, f, |t| hub(t, h)),
            Self::Squared(corners) => sum(corners, f, square),
            Self::Parabola { center } => {
                let r = f - center;
                Curve { value: r * r, slope: 2.0 * r, curvature: 2.0 }
            }
            Self::Smooth(loss) => loss.at(f),
        }
    }

    /// Whether each zone is one quadratic function of f.
    pub(super) fn has_zones(&self) -> bool {
        match self {
            Self::Linear(_) | Self::Squared(_) | Self::Parabola { .. } => true,
            Self::Smooth(_) => false,
        }
    }

    /// [`Smoothed::majorant`](super::Smoothed::majorant): `slope/(t + h)` for a rounded corner.
    #[inline]
    pub(super) fn majorant(&self, f: f64, h: f64) -> f64 {
        match *self {
            Self::Linear(corners) => {
                let bend = |t: f64| {
                    let curvature = hub(t, h).slope / (t + h).max(f64::MIN_POSITIVE);
                    Curve { curvature, ..Curve::default() }
                };
                sum(corners, f, bend).curvature
            }
            Self::Squared(_) | Self::Parabola { .. } => self.at(f, h).curvature,
            Self::Smooth(loss) => loss.majorant(f),
        }
    }

    /// How far `f` is from the middle of what bends.
    pub(super) fn reach(&self, f: f64) -> f64 {
        match *self {
            Self::Linear((corner, None)) | Self::Squared((corner, None)) => corner.t(f).abs(),
            Self::Linear((Corner { center, .. }, Some(_)))
            | Self::Squared((Corner { center, .. }, Some(_)))
            | Self::Parabola { center } => (f - center).abs(),
            Self::Smooth(_) => f.abs(),
        }
    }

    /// [`Smoothed::flat_range`](super::Smoothed::flat_range).
    pub(super) fn flat_range(&self, f: f64, h: f64, tolerance: f64) -> (f64, f64) {
        let ((first, second), rounded) = match *self {
            Self::Linear(corners) => (corners, true),
            Self::Squared(corners) => (corners, false),
            Self::Parabola { .. } | Self::Smooth(_) => return (0.0, 0.0),
        };
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

    /// The zone of `f`.
    pub(super) fn zone(&self, f: f64, h: f64) -> Zone {
        let ((first, second), rounded) = match *self {
            Self::Linear(corners) => (corners, true),
            Self::Squared(corners) => (corners, false),
            Self::Parabola { .. } | Self::Smooth(_) => return Zone(CURVED),
        };
        let side = |corner: Corner| {
            let t = corner.t(f);
            if t <= (if rounded { -h } else { 0.0 }) {
                FLAT
            } else if rounded && t >= h {
                STEEP
            } else {
                CURVED
            }
        };
        Zone(side(first) + SIDES * second.map_or(FLAT, side))
    }

    /// The piece of this zone.
    pub(super) fn piece(&self, zone: Zone, h: f64) -> Piece {
        let (corners, rounded) = match *self {
            Self::Linear(corners) => (corners, true),
            Self::Squared(corners) => (corners, false),
            Self::Parabola { center } => {
                return Piece::Quadratic { curvature: 2.0, target: center };
            }
            Self::Smooth(_) => return Piece::Nothing,
        };
        let mut slope = 0.0;
        let mut quadratic: Option<(f64, f64)> = None;
        let sides = [(Some(corners.0), zone.0 % SIDES), (corners.1, zone.0 / SIDES)];
        for (corner, side) in sides {
            let Some(Corner { sign, center, edge, weight }) = corner else { continue };
            if side == STEEP {
                slope += weight * sign;
            } else if side == CURVED {
                let (own, from) = if rounded { (0.5 / h, edge - h) } else { (2.0, edge) };
                let (curvature, target) = (weight * own, center + sign * from);
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
}

/// The rounded `max(0, t)` and its derivatives in t.
#[inline]
fn hub(t: f64, h: f64) -> Curve {
    if t <= -h {
        Curve::default()
    } else if t >= h {
        Curve { value: t, slope: 1.0, curvature: 0.0 }
    } else {
        let s = t + h;
        Curve { value: s * s / (4.0 * h), slope: s / (2.0 * h), curvature: 0.5 / h }
    }
}

/// `max(0, t)²` and its derivatives in t.
#[inline]
fn square(t: f64) -> Curve {
    if t <= 0.0 { Curve::default() } else { Curve { value: t * t, slope: 2.0 * t, curvature: 2.0 } }
}
