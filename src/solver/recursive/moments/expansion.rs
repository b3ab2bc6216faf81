//! What groups of rows lose at a point, with its first two derivatives.
//!
//! ```text
//! f_jt = φ_jᵀβ + s t,  s = √(βᵀSβ + SOFT²),  u = ∂s/∂β = Sβ / s,  ∂²s/∂β² = (S - uuᵀ) / s
//! gradient  Σ w_j ω_t L' (φ_j + t u)
//! Hessian   Σ w_j ω_t (L'' (φ_j + t u)(φ_j + t u)ᵀ + L' t (S - uuᵀ) / s)
//! ```
//!
//! over the [`NODES`] t of weights ω. They are symmetric and the losses convex, so that `Σ ω L' t` is
//! not negative: the Hessian is positive semi-definite.

use super::Moments;
use crate::data::Targets;
use crate::error::{Result, try_vec};
use crate::linalg::{add_scaled_rows, axpy, dot, dots, symmetric_times};
use crate::loss::{Curve, Smoothed};
use crate::solver::recursive::{Lost, Summary, gram};
use crate::watch::Step;

/// The spread of decision values in a group that its rows do not say: wide, since what is beyond the
/// groups makes good for it near the solution (chosen on held-out parts of training sets,
/// docs/records/defaults.md).
const SOFT: f64 = 0.8;
/// Gauss's and Hermite's nodes and weights for a normal distribution.
const NODES: [(f64, f64); 5] = [
    (-2.856_970_013_872_805_5, 0.011_257_411_327_720_691),
    (-1.355_626_179_974_266, 0.222_075_922_005_612_65),
    (0.0, 0.533_333_333_333_333_3),
    (1.355_626_179_974_266, 0.222_075_922_005_612_65),
    (2.856_970_013_872_805_5, 0.011_257_411_327_720_691),
];

/// What the rows lose at a point.
pub(in crate::solver::recursive) struct Expansion {
    pub(in crate::solver::recursive) value: f64,
    pub(in crate::solver::recursive) gradient: Vec<f64>,
    /// All of it, row-major.
    pub(in crate::solver::recursive) hessian: Vec<f64>,
    /// The sum of the curvatures of the rows.
    pub(in crate::solver::recursive) bend: f64,
}

/// Decision values of groups at a point, or along a direction: a linear function of it.
pub(in crate::solver::recursive) struct Values {
    means: Vec<f64>,
    /// S times it.
    pushed: Vec<f64>,
}

impl Moments {
    /// What an output is to make of a group.
    fn target(&self, group: usize, output: usize) -> f64 {
        Targets::Classes { index: &self.labels, n_classes: self.n_classes }.value(group, output)
    }

    /// Decision values at a point or along a direction.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(in crate::solver::recursive) fn values(&self, point: &[f64]) -> Result<Values> {
        let mut means = try_vec("groups of a stream", self.labels.len(), 0.0)?;
        dots(&self.means, point, &mut means);
        let mut pushed = symmetric_times(&self.scatter, point);
        let scale = if self.scattered > 0.0 { 1.0 / self.scattered } else { 0.0 };
        pushed.iter_mut().for_each(|v| *v *= scale);
        Ok(Values { means, pushed })
    }

    /// What an output loses a step `t` along a direction from a point, of each of which the values
    /// are known, with its derivatives by t.
    pub(in crate::solver::recursive) fn curve_along(
        &self,
        (loss, output): (Smoothed, usize),
        (point, at): (&[f64], &Values),
        (direction, along): (&[f64], &Values),
        t: f64,
    ) -> Curve {
        let (mixed, own) = (dot(point, &along.pushed), dot(direction, &along.pushed));
        let square = dot(point, &at.pushed) + 2.0 * t * mixed + t * t * own;
        let spread = (square.max(0.0) + SOFT * SOFT).sqrt();
        // ds/dt and d²s/dt².
        let widens = (mixed + t * own) / spread;
        let bends = (own - widens * widens) / spread;
        let mut out = Curve::default();
        for (group, &weight) in self.weights.iter().enumerate() {
            let (y, moves) = (self.target(group, output), along.means[group]);
            let f = at.means[group] + t * moves;
            for (node, share) in NODES {
                let curve = loss.at(y, f + node * spread).times(weight * share);
                let moves = moves + node * widens;
                out.value += curve.value;
                out.slope += curve.slope * moves;
                out.curvature += curve.curvature * moves * moves + curve.slope * node * bends;
            }
        }
        out
    }

    /// What an output loses at a point.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(in crate::solver::recursive) fn loss(
        &self,
        (loss, output): (Smoothed, usize),
        point: &[f64],
    ) -> Result<f64> {
        let at = self.values(point)?;
        Ok(self.curve_along((loss, output), (point, &at), (point, &at), 0.0).value)
    }

    /// The same with its derivatives.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub(in crate::solver::recursive) fn expansion(
        &self,
        (loss, output): (Smoothed, usize),
        (point, at): (&[f64], &Values),
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Expansion> {
        let n = self.unknowns;
        let spread = (dot(point, &at.pushed).max(0.0) + SOFT * SOFT).sqrt();
        let u: Vec<f64> = at.pushed.iter().map(|v| v / spread).collect();
        let (mut value, mut pull, mut bend, mut bend_of_u) = (0.0, 0.0, 0.0, 0.0);
        let (mut slopes, mut mixed, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (group, &weight) in self.weights.iter().enumerate().filter(|(_, w)| **w > 0.0) {
            let y = self.target(group, output);
            let (mut slope, mut curvature, mut cross) = (0.0, 0.0, 0.0);
            for (node, share) in NODES {
                let curve = loss.at(y, at.means[group] + node * spread).times(weight * share);
                value += curve.value;
                slope += curve.slope;
                pull += node * curve.slope;
                curvature += curve.curvature;
                cross += node * curve.curvature;
                bend_of_u += node * node * curve.curvature;
            }
            bend += curvature;
            slopes.push((group as u32, slope));
            mixed.push((group as u32, cross));
            if curvature > 0.0 {
                rows.push((&self.means[group * n..(group + 1) * n], curvature.sqrt()));
            }
        }
        let mut gradient = try_vec("gradient", n, 0.0)?;
        add_scaled_rows(&self.means, &slopes, &mut gradient);
        axpy(pull, &u, &mut gradient);
        let mut across = try_vec("gradient", n, 0.0)?;
        add_scaled_rows(&self.means, &mixed, &mut across);
        let mut hessian = gram(n, &rows, between)?;
        let (of_u, of_scatter) = (bend_of_u - pull / spread, pull / spread);
        let scale = if self.scattered > 0.0 { of_scatter / self.scattered } else { 0.0 };
        for i in 0..n {
            for j in 0..=i {
                let value = hessian[i * n + j]
                    + across[i] * u[j]
                    + u[i] * across[j]
                    + of_u * u[i] * u[j]
                    + scale * self.scatter[i * n + j];
                (hessian[i * n + j], hessian[j * n + i]) = (value, value);
            }
            hessian[i * n + i] = hessian[i * n + i].max(0.0);
        }
        Ok(Expansion { value, gradient, hessian, bend })
    }

    /// The parabola about a point that has the curvature of these rows there, and its minimum at that
    /// point.
    pub(in crate::solver::recursive) fn summary(
        &self,
        Expansion { hessian, bend, .. }: Expansion,
        (penalty, point): (&[f64], &[f64]),
    ) -> Summary {
        let (linear, unseen) = (Vec::new(), self.unseen_of_a_row() * bend);
        let mut out = Summary { hessian, linear, unseen, lost: Lost::default() };
        out.settle(penalty, point);
        out
    }
}
