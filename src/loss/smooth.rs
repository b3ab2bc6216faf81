//! Losses smoothed near their kinks, for Newton's method.
//!
//! ```text
//! hub(t) = 0              t < -h
//!          (t + h)²/(4h)  |t| ≤ h        hub → max(0, t) as h → 0,  0 ≤ hub(t) - max(0, t) ≤ h/4
//!          t              t > h
//!
//! hinge           L_h = hub(1 - y f)
//! ε-insensitive   L_h = hub(y - f - ε) + hub(f - y - ε)
//! ```
//!
//! The squared losses are smooth already (their second derivative jumps, which Newton bears): h
//! is not used. The hinge's form is \[PRIMAL\] section 4.2.

use super::AnyLoss;

/// A loss with two derivatives in the decision value, almost everywhere.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smoothed {
    /// The loss.
    pub loss: AnyLoss,
    /// Half-width of the quadratic zone at a kink, at least 0; at 0 there is none.
    pub h: f64,
}

/// Value and derivatives in `f` at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Curve {
    /// `L_h(y, f)`.
    pub value: f64,
    /// First derivative.
    pub slope: f64,
    /// Second derivative, at least 0: positive in the quadratic zone alone.
    pub curvature: f64,
}

impl Smoothed {
    /// Value and derivatives at `f`.
    #[inline]
    #[must_use]
    pub fn at(&self, y: f64, f: f64) -> Curve {
        match self.loss {
            AnyLoss::Hinge => {
                let c = hub(1.0 - y * f, self.h);
                Curve { slope: -y * c.slope, ..c }
            }
            AnyLoss::SquaredHinge => {
                let c = square(1.0 - y * f);
                Curve { slope: -y * c.slope, ..c }
            }
            // The zones of the two kinks overlap when ε < h: the sum is right there too.
            AnyLoss::EpsilonInsensitive { epsilon } => {
                let (up, down) = (hub(y - f - epsilon, self.h), hub(f - y - epsilon, self.h));
                Curve {
                    value: up.value + down.value,
                    slope: down.slope - up.slope,
                    curvature: up.curvature + down.curvature,
                }
            }
            AnyLoss::SquaredEpsilonInsensitive { epsilon } => {
                let r = f - y;
                if epsilon == 0.0 {
                    // Least squares: the curvature is 2 at r = 0 too.
                    return Curve { value: r * r, slope: 2.0 * r, curvature: 2.0 };
                }
                let c = square(r.abs() - epsilon);
                Curve { slope: r.signum() * c.slope, ..c }
            }
        }
    }

    /// Second derivative of a parabola that touches the loss at `f` and lies above it
    /// everywhere: the curvature inside the quadratic zone, and `slope/(t + h)` beyond it.
    #[inline]
    #[must_use]
    pub fn majorant(&self, y: f64, f: f64) -> f64 {
        let bend = |t: f64| hub(t, self.h).slope / (t + self.h).max(f64::MIN_POSITIVE);
        match self.loss {
            AnyLoss::Hinge => bend(1.0 - y * f),
            AnyLoss::EpsilonInsensitive { epsilon } => {
                bend(y - f - epsilon) + bend(f - y - epsilon)
            }
            AnyLoss::SquaredHinge | AnyLoss::SquaredEpsilonInsensitive { .. } => {
                self.at(y, f).curvature
            }
        }
    }

    /// Whether h changes anything.
    #[must_use]
    pub fn uses_h(&self) -> bool {
        matches!(self.loss, AnyLoss::Hinge | AnyLoss::EpsilonInsensitive { .. })
    }

    /// How far `f` may move down and up while the slope stays what it is: both 0 inside a
    /// quadratic zone. A point that lies within `tolerance` of leaving the zone counts as having
    /// left it; its range may then miss 0 by that much.
    #[must_use]
    pub fn flat_range(&self, y: f64, f: f64, tolerance: f64) -> (f64, f64) {
        // How far t may move for a bend between -h and h.
        let bend = |t: f64, h: f64| -> (f64, f64) {
            if t >= h - tolerance {
                (h - t, f64::INFINITY)
            } else if t <= tolerance - h {
                (f64::NEG_INFINITY, -h - t)
            } else {
                (0.0, 0.0)
            }
        };
        // The squared losses: flat on one side of 0 alone.
        let half = |t: f64| if t <= tolerance { (f64::NEG_INFINITY, -t) } else { (0.0, 0.0) };
        // t falls as f rises.
        let turned = |(low, high): (f64, f64)| (-high, -low);
        let both = |a: (f64, f64), b: (f64, f64)| (a.0.max(b.0), a.1.min(b.1));
        match self.loss {
            AnyLoss::Hinge if y < 0.0 => bend(1.0 + f, self.h),
            AnyLoss::Hinge => turned(bend(1.0 - f, self.h)),
            AnyLoss::SquaredHinge if y < 0.0 => half(1.0 + f),
            AnyLoss::SquaredHinge => turned(half(1.0 - f)),
            AnyLoss::EpsilonInsensitive { epsilon } => {
                both(turned(bend(y - f - epsilon, self.h)), bend(f - y - epsilon, self.h))
            }
            AnyLoss::SquaredEpsilonInsensitive { epsilon } => {
                both(turned(half(y - f - epsilon)), half(f - y - epsilon))
            }
        }
    }
}

/// The smoothed `max(0, t)` and its derivatives in t.
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
