//! The logistic loss: smooth everywhere, and `σ(f)` is the probability of y = 1.
//!
//! ```text
//! σ(t) = 1/(1 + e⁻ᵗ),   u = y f
//! L = ln(1 + e⁻ᵘ)       L' = -y σ(-u)       L'' = σ(u) σ(-u)
//! ```
//!
//! Its slope is nowhere 0 and its curvature nowhere constant: it has no zones. The parabola of
//! curvature `tanh(u/2)/(2u)` that touches it at u lies above it everywhere.
//!
//! *Dual*: `term(α) = -α ln(α/C) - (C - α) ln(1 - α/C)`, 0 ≤ α ≤ C. With `α_0` and `u_0 = y f` before
//! the step, k = k(x, x) and `v` minus the margin after it, `term'(α) = u` says `α = C σ(v)`, and v is
//! the root of
//!
//! ```text
//! g(v) = v + k C σ(v) + u_0 - k α_0,      1 ≤ g' ≤ 1 + k C/4,      -kC ≤ v + u_0 - k α_0 ≤ 0
//! ```
//!
//! *Method*: Newton steps on g, halving the bracket where one would leave it. *Cost*: an exponential
//! a Newton step.

use super::curve::Curve;

/// A step of this size, in units of the margin, is the last.
const TOL: f64 = 1e-14;
const MAX_STEPS: usize = 100;

/// The loss at the label y.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LogLoss {
    pub(super) y: f64,
}

impl LogLoss {
    /// Value and derivatives at `f`.
    #[inline]
    pub(super) fn at(&self, f: f64) -> Curve {
        let u = self.y * f;
        let (right, wrong) = sigmoids(u);
        let value = (-u).max(0.0) + (-u.abs()).exp().ln_1p();
        Curve { value, slope: -self.y * wrong, curvature: right * wrong }
    }

    /// [`Smoothed::majorant`](super::Smoothed::majorant).
    #[inline]
    pub(super) fn majorant(&self, f: f64) -> f64 {
        let u = (self.y * f).abs();
        if u < 1e-6 { 0.25 } else { (0.5 * u).tanh() / (2.0 * u) }
    }
}

/// `σ(t)` and `σ(-t)`.
#[inline]
fn sigmoids(t: f64) -> (f64, f64) {
    let small = (-t.abs()).exp();
    let (most, least) = (1.0 / (1.0 + small), small / (1.0 + small));
    if t >= 0.0 { (most, least) } else { (least, most) }
}

/// The α of the maximum along one coordinate; `u` is the margin with `alpha` in the model.
pub(super) fn dual_step(alpha: f64, u: f64, k: f64, cost: f64) -> f64 {
    let shift = u - k * alpha;
    let (mut low, mut high) = (-shift - k * cost, -shift);
    let inside = alpha > 0.0 && alpha < cost;
    let start = if inside { (alpha / (cost - alpha)).ln() } else { -u };
    let mut v = start.max(low).min(high);
    for _ in 0..MAX_STEPS {
        let (p, rest) = sigmoids(v);
        let g = v + k * cost * p + shift;
        if g > 0.0 {
            high = v;
        } else {
            low = v;
        }
        let newton = v - g / (1.0 + k * cost * p * rest);
        let next = if newton >= low && newton <= high { newton } else { f64::midpoint(low, high) };
        let step = (next - v).abs();
        v = next;
        if step <= TOL * (1.0 + v.abs()) {
            break;
        }
    }
    cost * sigmoids(v).0
}

/// The sample's term of the dual objective.
pub(super) fn dual_term(alpha: f64, cost: f64) -> f64 {
    let part = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
    if cost > 0.0 { cost * (part(alpha / cost) + part(1.0 - alpha / cost)) } else { 0.0 }
}
