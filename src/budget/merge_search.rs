//! Where on the line between two terms of a Gaussian expansion the merged term goes.
//!
//! With `m = β_b / (β_a + β_b)` in [1/2, 1] (a is the smaller) and `L = G_ab` the best `h`
//! maximises
//!
//! ```text
//! s(h) = (1-m) exp(-L h²) + m exp(-L (1-h)²),
//! ```
//!
//! which is unimodal on [1/2, 1] and has its maximum there. `WD / (β_a + β_b)²` is
//! `(1-m)² + m² + 2 m (1-m) κ - s(h)²`: a function of `(m, κ)` alone, hence the table.
//!
//! *References*: \[BSCA\] Alg. 1 (its listing mixes the two roles of h); \[GQ18\].

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// How the best `h` is found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MergeSearch {
    /// Newton steps on the derivative, vectorised over the partners that can win.
    #[default]
    Auto,
    /// Golden section search.
    #[serde(rename = "golden")]
    GoldenSection,
    /// A table over `(m, κ)` with bilinear interpolation.
    Table,
}

impl MergeSearch {
    /// The best `h` in [1/2, 1] for the larger term's share `m` in [1/2, 1] and distance `L >= 0`.
    #[must_use]
    pub fn best_h(self, m: f64, distance: f64) -> f64 {
        match self {
            Self::Auto => newton(m, distance),
            Self::GoldenSection => highest(m, distance),
            Self::Table => Table::get().look_up(m, (-distance).exp(), |cell| cell.h),
        }
    }

    /// Squared weight degradation in units of `(β_a + β_b)²`.
    #[must_use]
    pub fn degradation(self, m: f64, distance: f64) -> f64 {
        match self {
            Self::Table => Table::get().look_up(m, (-distance).exp(), |cell| cell.degradation),
            Self::Auto | Self::GoldenSection => {
                degradation_at(m, distance, self.best_h(m, distance))
            }
        }
    }
}

/// `s(h)`.
fn height(m: f64, distance: f64, h: f64) -> f64 {
    (1.0 - m) * (-distance * h * h).exp() + m * (-distance * (1.0 - h) * (1.0 - h)).exp()
}

/// The degradation of merging at `h`, in units of `(β_a + β_b)²`.
#[must_use]
pub fn degradation_at(m: f64, distance: f64, h: f64) -> f64 {
    let s = height(m, distance, h);
    let kappa = (-distance).exp();
    ((1.0 - m) * (1.0 - m) + m * m + 2.0 * m * (1.0 - m) * kappa - s * s).max(0.0)
}

const RATIO: f64 = 0.618_033_988_749_894_9;

/// Golden section search for a maximum of `f` between two points.
pub(super) fn golden_section(
    f: impl Fn(f64) -> f64,
    (mut low, mut high): (f64, f64),
    steps: u32,
) -> f64 {
    for _ in 0..steps {
        let (left, right) = (high - RATIO * (high - low), low + RATIO * (high - low));
        if f(left) > f(right) { high = right } else { low = left }
    }
    0.5 * (low + high)
}

/// [`golden_section`] of the height on [1/2, 1], one value a step. Not the same function: points
/// that differ by a rounding are other merges where the height is flat.
fn highest(m: f64, distance: f64) -> f64 {
    let (mut low, mut high) = (0.5, 1.0);
    let (mut left, mut right) = (high - RATIO * (high - low), low + RATIO * (high - low));
    let (mut at_left, mut at_right) = (height(m, distance, left), height(m, distance, right));
    // 40 steps shrink the interval to 2e-9: beyond that s no longer tells two points apart.
    for _ in 0..40 {
        if at_left > at_right {
            (high, right, at_right) = (right, left, at_left);
            left = high - RATIO * (high - low);
            at_left = height(m, distance, left);
        } else {
            (low, left, at_left) = (left, right, at_right);
            right = low + RATIO * (high - low);
            at_right = height(m, distance, right);
        }
    }
    0.5 * (low + high)
}

/// The root of `ψ(h) = (1-h) t - h s` with `s = (1-m) exp(-L h²)`, `t = m exp(-L (1-h)²)`, by
/// Newton steps that a bisection keeps inside [1/2, 1].
fn newton(m: f64, distance: f64) -> f64 {
    let (mut low, mut high) = (0.5, 1.0);
    // Beyond L = 2 the middle may be a minimum; from the right the steps go to the maximum.
    let mut h = if distance > 2.0 { 1.0 } else { m };
    for _ in 0..60 {
        let s = (1.0 - m) * (-distance * h * h).exp();
        let t = m * (-distance * (1.0 - h) * (1.0 - h)).exp();
        let psi = (1.0 - h) * t - h * s;
        if psi > 0.0 {
            low = h;
        } else {
            high = h;
        }
        let curve = (1.0 - h) * (1.0 - h) * t + h * h * s;
        let slope = 2.0 * distance * curve - (s + t);
        let step = h - psi / slope;
        let next = if slope < 0.0 && step > low && step < high { step } else { 0.5 * (low + high) };
        // s is flat at its maximum: an error of 1e-8 in h is one of 1e-16 in s.
        if (next - h).abs() <= 1e-8 {
            return next;
        }
        h = next;
    }
    h
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    h: f64,
    degradation: f64,
}

/// `h` and degradation on a grid over m in [1/2, 1] and κ in [0, 1].
struct Table {
    cells: Vec<Cell>,
}

/// Grid lines a side.
const SIDE: usize = 400;

impl Table {
    fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let step = |i: usize| i as f64 / (SIDE - 1) as f64;
            let cells = (0..SIDE * SIDE)
                .map(|at| {
                    let (m, kappa) = (0.5 + 0.5 * step(at / SIDE), step(at % SIDE));
                    // κ = 0: the larger term stays alone.
                    let distance = -kappa.max(1e-300).ln();
                    let h = newton(m, distance);
                    Cell { h, degradation: degradation_at(m, distance, h) }
                })
                .collect();
            Table { cells }
        })
    }

    fn look_up(&self, m: f64, kappa: f64, field: impl Fn(&Cell) -> f64) -> f64 {
        let place = |x: f64| {
            let x = x.clamp(0.0, 1.0) * (SIDE - 1) as f64;
            let low = (x as usize).min(SIDE - 2);
            (low, x - low as f64)
        };
        let ((i, u), (j, v)) = (place(2.0 * m - 1.0), place(kappa));
        let at = |i: usize, j: usize| field(&self.cells[i * SIDE + j]);
        (1.0 - u) * ((1.0 - v) * at(i, j) + v * at(i, j + 1))
            + u * ((1.0 - v) * at(i + 1, j) + v * at(i + 1, j + 1))
    }
}

/// No partner at distance `L` degrades by less than this, in units of `β_a²`: the degradation
/// grows with the partner's size, and at equal sizes it is `2 (1-√κ)²` (for `κ < e⁻²` at least its
/// value there). Returned as the largest distance at which `bound` (in the same units) can still be
/// beaten.
#[must_use]
pub fn distance_limit(bound: f64) -> f64 {
    let root = (0.5 * bound.max(0.0)).sqrt();
    if root >= 1.0 - (-1.0f64).exp() { f64::INFINITY } else { -2.0 * (1.0 - root).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The maximum over a fine grid of all of [0, 1].
    fn brute_force(m: f64, distance: f64) -> f64 {
        (0..=20_000)
            .map(|i| degradation_at(m, distance, f64::from(i) / 20_000.0))
            .fold(f64::INFINITY, f64::min)
    }

    #[test]
    fn searches_agree_with_a_brute_force_grid() {
        let mut rng = Rng::new(11);
        for _ in 0..1500 {
            let m = 0.5 + 0.5 * rng.uniform();
            let distance = 8.0 * rng.uniform().powi(3);
            let want = brute_force(m, distance);
            for (search, tolerance) in [
                (MergeSearch::Auto, 1e-6),
                (MergeSearch::GoldenSection, 1e-6),
                (MergeSearch::Table, 1e-4),
            ] {
                let got = search.degradation(m, distance);
                assert!(
                    (got - want).abs() <= tolerance,
                    "{search:?} m={m} L={distance}: {got} {want}"
                );
                let at_h = degradation_at(m, distance, search.best_h(m, distance));
                assert!((at_h - want).abs() <= tolerance, "{search:?} h: {at_h} {want}");
            }
        }
    }

    #[test]
    fn nothing_beats_the_bound_beyond_its_distance() {
        let mut rng = Rng::new(12);
        for _ in 0..3000 {
            let ratio = 1.0 / rng.uniform().max(1e-6);
            let distance = 6.0 * rng.uniform().powi(2);
            let m = ratio / (1.0 + ratio);
            let got = MergeSearch::Auto.degradation(m, distance) * (1.0 + ratio) * (1.0 + ratio);
            assert!(distance_limit(got * (1.0 + 1e-9) + 1e-12 * ratio * ratio) >= distance);
        }
    }

    /// The vectorised Newton steps of the SIMD room, in both precisions. They rank partners; the
    /// winner's h is found anew. Where two maxima part (L about 2, equal sizes: hopeless partners)
    /// four steps leave more of an error.
    #[test]
    fn the_vectorised_degradation_agrees() {
        let mut rng = Rng::new(13);
        let n = 4096;
        let g: Vec<f64> = (0..n).map(|_| 4.0 * rng.uniform().powi(2)).collect();
        let ratio: Vec<f64> = (0..n).map(|_| 1.0 + 20.0 * rng.uniform().powi(3)).collect();
        let mut double = ratio.clone();
        crate::simd::merge_degradations(&g, &mut double);
        let mut single: Vec<f32> = ratio.iter().map(|&r| r as f32).collect();
        let narrow: Vec<f32> = g.iter().map(|&g| g as f32).collect();
        crate::simd::merge_degradations(&narrow, &mut single);
        for i in 0..n {
            let total = (1.0 + ratio[i]).powi(2);
            let m = ratio[i] / (1.0 + ratio[i]);
            let want = MergeSearch::Auto.degradation(m, g[i]);
            let tolerance = if want < 0.1 { 1e-6 } else { 1e-4 };
            let got = double[i] / total;
            assert!((got - want).abs() <= tolerance, "{got} {want}");
            assert!((f64::from(single[i]) / total - want).abs() <= tolerance + 1e-6);
        }
    }
}
