//! Smoothed losses in the dual.
//!
//! ```text
//! max over a   Σ C_i T(y_i, a_i) - 1/2 ‖w‖²,   w = Σ_i C_i a_i φ_i,   T(a) = min_f L_h(f) + a f
//! ```
//!
//! T is minus the conjugate of L_h at -a. At a maximum `a_i = -L_h'(f_i)`, `f_i = w·φ_i`: the
//! coordinate of a sample moves to where that holds after the move, which is one equation in f.
//! For any w and a, `L_h(f) + a f - T(a) ≥ 0`, and the sum of these over the samples, times C_i, is
//! primal minus dual.

use super::curve::Curve;
use super::pieces::{Corner, Pieces, hub};
use super::smooth::Smoothed;

/// A step of this share of the decision value is the last of a coordinate's equation.
const TOL: f64 = 1e-14;
const MAX_STEPS: usize = 60;

/// What coordinate ascent asks of a loss at one target ([`Smoothed::at`], [`Smoothed::dual_step`] and
/// [`Smoothed::dual_value`]).
pub(crate) trait Conjugate: Copy {
    fn at(&self, f: f64) -> Curve;
    fn dual_step(&self, held: f64, f: f64, kc: f64) -> f64;
    fn dual_value(&self, a: f64) -> f64;

    /// For a step from `held` to `a` at the decision value f: what the dual gains, per unit of cost,
    /// and primal less dual of the sample before it.
    fn gains(&self, (held, a): (f64, f64), f: f64, kc: f64) -> [f64; 2] {
        let (before, change) = (self.dual_value(held), a - held);
        let gap = self.at(f).value + held * f - before;
        [self.dual_value(a) - before - change * (f + 0.5 * change * kc), gap.max(0.0)]
    }

    /// Whether `a`, of a sample at f, is minus the slope as far as `reach` from there too.
    fn rests(&self, a: f32, f: f64, reach: f64) -> bool {
        let slope = |f: f64| self.at(f).slope as f32;
        slope(f - reach) == -a && slope(f + reach) == -a
    }
}

/// One corner, rounded by h: what most of the losses of coordinate ascent are, and one formula each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rounded {
    corner: Corner,
    h: f64,
}

impl Rounded {
    /// The share of the slope that `a` stands for.
    #[inline(always)]
    fn share(&self, a: f64) -> f64 {
        (-self.corner.sign * a / self.corner.weight).clamp(0.0, 1.0)
    }
}

impl Conjugate for Rounded {
    #[inline(always)]
    fn at(&self, f: f64) -> Curve {
        self.corner.weigh(hub(self.corner.t(f), self.h))
    }

    /// One equation for the share p of the slope: (t + h)/2h = p, t = t₀ - kc w (p - p₀).
    #[inline(always)]
    fn dual_step(&self, held: f64, f: f64, kc: f64) -> f64 {
        let Corner { sign, weight, .. } = self.corner;
        let (h, kc) = (self.h, weight * kc);
        let before = -sign * held / weight;
        let share = (self.corner.t(f) + h + kc * before) / (2.0 * h + kc).max(f64::MIN_POSITIVE);
        -sign * weight * share.clamp(0.0, 1.0)
    }

    #[inline(always)]
    fn dual_value(&self, a: f64) -> f64 {
        let Corner { sign, center, edge, weight } = self.corner;
        let (h, share) = (self.h, self.share(a));
        weight * share * (h - edge - sign * center - h * share)
    }

    /// `w (p - p₀) (t + h - h (p₀ + p) - kc w (p - p₀)/2)` and `w (hub(t) - p₀ (t + h - h p₀))`: what
    /// is above, without what cancels.
    #[inline(always)]
    fn gains(&self, (held, a): (f64, f64), f: f64, kc: f64) -> [f64; 2] {
        let (weight, h, t) = (self.corner.weight, self.h, self.corner.t(f));
        let [before, after] = [held, a].map(|a| self.share(a));
        let change = after - before;
        let up = t + h;
        let gain = change * (up - h * (before + after) - 0.5 * kc * weight * change);
        [weight * gain, weight * (hub(t, h).value - before * (up - h * before)).max(0.0)]
    }

    /// (In the bend no other place has the same slope.)
    #[inline(always)]
    fn rests(&self, a: f32, f: f64, reach: f64) -> bool {
        let t = self.corner.t(f);
        let steep = a == (-self.corner.sign * self.corner.weight) as f32;
        (a == 0.0 && t + reach <= -self.h) || (steep && t - reach >= self.h)
    }
}

/// Any loss at a target.
impl Conjugate for (Smoothed, f64) {
    fn at(&self, f: f64) -> Curve {
        self.0.at(self.1, f)
    }

    fn dual_step(&self, held: f64, f: f64, kc: f64) -> f64 {
        self.0.dual_step(self.1, held, f, kc)
    }

    fn dual_value(&self, a: f64) -> f64 {
        self.0.dual_value(self.1, a)
    }
}

impl Smoothed {
    /// The loss at a target where it is one rounded corner.
    #[inline(always)]
    pub(crate) fn rounded(&self, y: f64) -> Option<Rounded> {
        match self.loss.pieces(y) {
            Pieces::Linear((corner, None)) => Some(Rounded { corner, h: self.h }),
            Pieces::Linear(_)
            | Pieces::Squared(_)
            | Pieces::Parabola { .. }
            | Pieces::Smooth(_) => None,
        }
    }

    /// The a with `a = -L_h'(f + k C (a - held))`: where coordinate ascent moves the coordinate
    /// `held`, at the decision value f, with `kc` = k C, the squared norm of the sample's features
    /// times its cost.
    #[must_use]
    pub fn dual_step(&self, y: f64, held: f64, f: f64, kc: f64) -> f64 {
        if let Some(rounded) = self.rounded(y) {
            return rounded.dual_step(held, f, kc);
        }
        // g(u) = u - f + kc (held + L'(u)) rises at least as fast as u.
        let at = |u: f64| {
            let curve = self.at(y, u);
            (u - f + kc * (held + curve.slope), curve)
        };
        let (first, curve) = at(f);
        let (mut u, mut g, mut here) = (f, first, curve);
        let (mut low, mut high) = (f - first.max(0.0), f + (-first).max(0.0));
        for _ in 0..MAX_STEPS {
            if g > 0.0 {
                high = u;
            } else {
                low = u;
            }
            let newton = u - g / (1.0 + kc * here.curvature);
            let next =
                if newton > low && newton < high { newton } else { f64::midpoint(low, high) };
            let step = (next - u).abs();
            u = next;
            (g, here) = at(u);
            if step <= TOL * (1.0 + u.abs()) {
                break;
            }
        }
        -here.slope
    }

    /// `T(a) = min_f L_h(f) + a f`, for an a that is minus a slope of the loss (one a little beyond
    /// the range of slopes counts as its end).
    #[must_use]
    pub fn dual_value(&self, y: f64, a: f64) -> f64 {
        if let Some(rounded) = self.rounded(y) {
            return rounded.dual_value(a);
        }
        let u = self.least_at(y, a);
        let curve = self.at(y, u);
        // What is left of a beyond the last slope would be unbounded.
        curve.value - curve.slope * u
    }

    /// Where `L_h(f) + a f` is least.
    fn least_at(&self, y: f64, a: f64) -> f64 {
        let side = |corner: Corner, t: f64| corner.center + corner.sign * (t + corner.edge);
        let h = self.h;
        match self.loss.pieces(y) {
            Pieces::Linear((corner, None)) => {
                let share = (-corner.sign * a / corner.weight).clamp(0.0, 1.0);
                side(corner, h * (2.0 * share - 1.0))
            }
            Pieces::Linear((first, Some(second))) => {
                // The slope rises linearly between four places.
                let mut places =
                    [side(first, -h), side(first, h), side(second, -h), side(second, h)];
                places.sort_unstable_by(f64::total_cmp);
                let mut low = (places[0], self.at(y, places[0]).slope);
                for place in places {
                    let slope = self.at(y, place).slope;
                    if slope >= -a {
                        let rise = slope - low.1;
                        let share = if rise > 0.0 { (-a - low.1) / rise } else { 0.0 };
                        return low.0 + share.clamp(0.0, 1.0) * (place - low.0);
                    }
                    low = (place, slope);
                }
                low.0
            }
            Pieces::Squared((first, second)) => {
                let of = |corner: Corner| {
                    let t = -corner.sign * a / (2.0 * corner.weight);
                    (t >= 0.0).then(|| side(corner, t))
                };
                of(first).or_else(|| second.and_then(of)).unwrap_or_else(|| side(first, 0.0))
            }
            Pieces::Parabola { center } => center - 0.5 * a,
            // σ(-y f) = p
            Pieces::Smooth(loss) => {
                let p = (loss.y * a).clamp(f64::MIN_POSITIVE, 1.0 - f64::EPSILON);
                loss.y * ((1.0 - p) / p).ln()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::loss::{AnyLoss, Conjugate, Curve, Smoothed};
    use crate::rng::Rng;

    fn losses() -> Vec<Smoothed> {
        let corners = [0.0, 0.02, 0.1].map(|epsilon| AnyLoss::EpsilonInsensitive { epsilon });
        let squares = [0.0, 0.1].map(|epsilon| AnyLoss::SquaredEpsilonInsensitive { epsilon });
        let others = [
            AnyLoss::Hinge,
            AnyLoss::SquaredHinge,
            AnyLoss::LogLoss,
            AnyLoss::Quantile { quantile: 0.2 },
        ];
        let all = corners.into_iter().chain(squares).chain(others);
        all.flat_map(|loss| [0.05, 0.3].map(|h| Smoothed { loss, h })).collect()
    }

    /// The formulas of one corner are those of any loss.
    #[test]
    fn one_corner_gains_and_rests_as_any_loss_does() {
        let mut rng = Rng::new(4);
        let mut rested = [0; 2];
        for loss in losses() {
            for _ in 0..300 {
                let mut random = |scale: f64| scale * (rng.uniform() - 0.5);
                let (y, from, f) = (random(2.0).signum(), random(4.0), random(4.0));
                let Some(rounded) = loss.rounded(y) else { continue };
                let kc = 10f64.powf(random(8.0));
                let any = (loss, y);
                let held = -any.at(from).slope;
                let a = any.dual_step(held, f, kc);
                let got = rounded.gains((held, a), f, kc);
                let want = any.gains((held, a), f, kc);
                for (got, want) in got.iter().zip(want) {
                    assert!((got - want).abs() <= 1e-12 * (1.0 + kc), "{loss:?} {got} {want}");
                }
                // As far as the reach is above what rounding tells apart.
                for reach in [1e-3, 0.1, 0.5] {
                    let rests = rounded.rests(held as f32, f, reach);
                    assert_eq!(rests, any.rests(held as f32, f, reach), "{loss:?} {y} {f} {reach}");
                    rested[usize::from(rests)] += 1;
                }
            }
        }
        assert!(rested.iter().all(|&count| count > 100), "{rested:?}");
    }

    #[test]
    fn a_step_ends_where_its_equation_holds() {
        let mut rng = Rng::new(1);
        for loss in losses() {
            for _ in 0..200 {
                let y = if loss.loss.is_classification() {
                    if rng.uniform() < 0.5 { -1.0 } else { 1.0 }
                } else {
                    rng.uniform() - 0.5
                };
                let from = 4.0 * (rng.uniform() - 0.5);
                let held = -loss.at(y, from).slope;
                let f = 4.0 * (rng.uniform() - 0.5);
                let kc = 10f64.powf(8.0 * rng.uniform() - 3.0);
                let a = loss.dual_step(y, held, f, kc);
                let after = f + kc * (a - held);
                let miss = (a + loss.at(y, after).slope).abs();
                assert!(miss <= 1e-8 * (1.0 + kc), "{loss:?} y {y} kc {kc}: {miss}");
            }
        }
    }

    #[test]
    fn the_dual_value_is_the_least_of_the_sum() {
        let mut rng = Rng::new(2);
        for loss in losses() {
            for _ in 0..50 {
                let y = if rng.uniform() < 0.5 { -1.0 } else { 1.0 };
                let touching = 6.0 * (rng.uniform() - 0.5);
                let Curve { value, slope, .. } = loss.at(y, touching);
                let wanted = value - slope * touching;
                let got = loss.dual_value(y, -slope);
                assert!((wanted - got).abs() <= 1e-9, "{loss:?}: {wanted} {got}");
                for _ in 0..20 {
                    let f = 6.0 * (rng.uniform() - 0.5);
                    let above = loss.at(y, f).value - slope * f - got;
                    assert!(above >= -1e-9, "{loss:?} at {f}: {above}");
                }
            }
        }
    }
}
