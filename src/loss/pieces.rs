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
//! Everything that solvers ask of such a loss follows from its corners ([`Smoothed`](super::Smoothed)).

use std::hint::select_unpredictable;

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
pub struct Zone(pub(super) u8);

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

impl Corner {
    pub(super) fn up(center: f64, edge: f64, weight: f64) -> Self {
        Self { sign: 1.0, center, edge, weight }
    }

    pub(super) fn down(center: f64, edge: f64, weight: f64) -> Self {
        Self { sign: -1.0, center, edge, weight }
    }

    #[inline(always)]
    pub(super) fn t(&self, f: f64) -> f64 {
        self.sign * (f - self.center) - self.edge
    }

    #[inline(always)]
    pub(super) fn weigh(&self, c: Curve) -> Curve {
        let Self { sign, weight, .. } = *self;
        Curve {
            value: weight * c.value,
            slope: weight * (sign * c.slope),
            curvature: weight * c.curvature,
        }
    }
}

/// The sum over the corners.
#[inline(always)]
pub(super) fn sum((first, second): Corners, f: f64, curve: impl Fn(f64) -> Curve) -> Curve {
    let a = first.weigh(curve(first.t(f)));
    let Some(second) = second else { return a };
    a.plus(second.weigh(curve(second.t(f))))
}

impl Pieces {
    /// Value and derivatives at `f`.
    #[inline(always)]
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

    /// The corners, and whether h rounds them; none where there are none.
    pub(super) fn corners(&self) -> Option<(Corners, bool)> {
        match *self {
            Self::Linear(corners) => Some((corners, true)),
            Self::Squared(corners) => Some((corners, false)),
            Self::Parabola { .. } | Self::Smooth(_) => None,
        }
    }
}

/// The rounded `max(0, t)` and its derivatives in t.
#[inline(always)]
pub(super) fn hub(t: f64, h: f64) -> Curve {
    // Without branches, which noise around a target lets nobody foresee.
    let s = t + h;
    let pick = |flat: f64, curved: f64, steep: f64| {
        select_unpredictable(t <= -h, flat, select_unpredictable(t >= h, steep, curved))
    };
    Curve {
        value: pick(0.0, s * s / (4.0 * h), t),
        slope: pick(0.0, s / (2.0 * h), 1.0),
        curvature: pick(0.0, 0.5 / h, 0.0),
    }
}

/// `max(0, t)²` and its derivatives in t.
#[inline(always)]
fn square(t: f64) -> Curve {
    let pick = |curved: f64| select_unpredictable(t <= 0.0, 0.0, curved);
    Curve { value: pick(t * t), slope: pick(2.0 * t), curvature: pick(2.0) }
}
