//! Where on the line between two terms with several outputs the merged term goes.
//!
//! With `A = ‖β_a‖² <= D = ‖β_b‖²` (a is the smaller), `P = β_a·β_b`, `u = exp(-L h²)` and
//! `v = exp(-L (1-h)²)` the best `h` maximises
//!
//! ```text
//! F(h) = ‖β_z‖² = A u² + D v² + 2 P u v,     WD = A + D + 2 P κ - F
//!                                               = A (1-u²) + D (1-v²) - 2 P (u v - κ).
//! ```
//!
//! `F(h) - F(1-h) = (D - A)(v² - u²)`, so the maximum on [0, 1] is in [1/2, 1]; there `F` may have
//! two maxima (`u²`, `v²` and `u v` are bells around 0, 1 and 1/2): a coarse grid, then the root of
//! `F'/4L = (1-h) D v² - h A u² + (1-2h) P u v` beside the best of it. As `u v >= κ`, a pair loses
//! least where its coefficients are parallel: no less than one output with `√A` and `√D`, so
//! [`super::merge_search::distance_limit`] holds, in units of `A`.
//!
//! `h` and `WD / (√A + √D)²` are functions of `m = √D / (√A + √D)`, the cosine `P / √(A D)` and
//! `κ`: a table of three dimensions.

use std::sync::OnceLock;

use super::merge_search::{MergeSearch, golden_section};

/// Intervals of the grid on [1/2, 1].
const INTERVALS: usize = 5;

/// What two terms are to each other, but for their distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// `‖β_a‖²`, of the smaller.
    pub(super) a: f64,
    /// `‖β_b‖²`.
    pub(super) d: f64,
    /// `β_a·β_b`.
    pub(super) p: f64,
}

impl Pair {
    /// The best `h` in [1/2, 1] at distance `L >= 0`.
    pub(super) fn best_h(&self, search: MergeSearch, distance: f64) -> f64 {
        match search {
            MergeSearch::Auto => self.newton(distance),
            MergeSearch::GoldenSection => {
                let (low, high) = self.around_the_best(distance);
                golden_section(|h| self.height(distance, h), (low, high), 30)
            }
            MergeSearch::Table => Table::get().look_up(self, distance, 0),
        }
    }

    /// The squared weight degradation of merging at the mean, weighed by lengths: the least one or
    /// more.
    pub(super) fn at_the_mean(&self, distance: f64) -> f64 {
        let (a, d) = (self.a.sqrt(), self.d.sqrt());
        self.degradation(distance, d / (a + d))
    }

    /// The squared weight degradation as the search sees it.
    pub(super) fn least(&self, search: MergeSearch, distance: f64) -> f64 {
        match search {
            MergeSearch::Auto | MergeSearch::GoldenSection => {
                self.degradation(distance, self.best_h(search, distance))
            }
            MergeSearch::Table => {
                let total = self.a.sqrt() + self.d.sqrt();
                Table::get().look_up(self, distance, 1) * total * total
            }
        }
    }

    /// The squared weight degradation of merging at `h`.
    pub(super) fn degradation(&self, distance: f64, h: f64) -> f64 {
        let (u, v) = bells(distance, h);
        let own = self.a * (1.0 - u * u) + self.d * (1.0 - v * v);
        (own - 2.0 * self.p * (u * v - (-distance).exp())).max(0.0)
    }

    /// `F(h)`.
    fn height(&self, distance: f64, h: f64) -> f64 {
        let (u, v) = bells(distance, h);
        self.a * u * u + self.d * v * v + 2.0 * self.p * u * v
    }

    /// The neighbours on the grid of its best point.
    fn around_the_best(&self, distance: f64) -> (f64, f64) {
        let h = |i: usize| 0.5 + 0.5 * i as f64 / INTERVALS as f64;
        // A point i steps of the grid from 0 is `q^(i²)` from it, and `q^((i+1)²) = q^(i²) q^(2i+1)`.
        let q = (-distance * 0.25 / (INTERVALS * INTERVALS) as f64).exp();
        let mut bells = [1.0; 2 * INTERVALS + 1];
        let mut odd = q;
        for i in 0..2 * INTERVALS {
            bells[i + 1] = bells[i] * odd;
            odd *= q * q;
        }
        let (mut best, mut highest) = (INTERVALS, f64::NEG_INFINITY);
        // From the right: it counts more of equals.
        for i in (0..=INTERVALS).rev() {
            let (u, v) = (bells[INTERVALS + i], bells[INTERVALS - i]);
            let height = self.a * u * u + self.d * v * v + 2.0 * self.p * u * v;
            if height > highest {
                (best, highest) = (i, height);
            }
        }
        (h(best.saturating_sub(1)), h((best + 1).min(INTERVALS)))
    }

    /// The root of `F'`, by Newton steps that a bisection keeps beside the best of the grid.
    fn newton(&self, distance: f64) -> f64 {
        let (mut low, mut high) = self.around_the_best(distance);
        let mut h = 0.5 * (low + high);
        for _ in 0..60 {
            let (u, v) = bells(distance, h);
            let rest = 1.0 - h;
            let (own, other, cross) = (self.a * u * u, self.d * v * v, self.p * u * v);
            let psi = rest * other - h * own + (rest - h) * cross;
            if psi > 0.0 {
                low = h;
            } else {
                high = h;
            }
            let curve = 4.0 * (rest * rest * other + h * h * own);
            let curve = distance * (curve + 2.0 * (rest - h) * (rest - h) * cross);
            let slope = curve - (own + other + 2.0 * cross);
            let step = h - psi / slope;
            let inside = slope < 0.0 && step > low && step < high;
            let next = if inside { step } else { 0.5 * (low + high) };
            if (next - h).abs() <= 1e-8 {
                return next;
            }
            h = next;
        }
        h
    }
}

/// How far off a degradation is at most that [`crate::simd::shared_degradations`] gives, in units of
/// `A + D`: measured, where it was.
pub(super) fn rough_error(distance: f64) -> f64 {
    match distance {
        0.0..0.5 => 1.1e-4,
        0.5..=6.0 => 1.3e-3,
        _ => f64::INFINITY,
    }
}

/// `u` and `v`.
fn bells(distance: f64, h: f64) -> (f64, f64) {
    ((-distance * h * h).exp(), (-distance * (1.0 - h) * (1.0 - h)).exp())
}

/// `h` and `WD / (√A + √D)²` on a grid over m in [1/2, 1], the cosine in [-1, 1] and κ in [0, 1].
struct Table {
    cells: Vec<[f32; 2]>,
}

/// Grid lines of m, of the cosine and of κ.
const SIDES: [usize; 3] = [41, 41, 81];

impl Table {
    fn get() -> &'static Self {
        static TABLE: OnceLock<Table> = OnceLock::new();
        TABLE.get_or_init(|| {
            let at = |axis: usize, i: usize| i as f64 / (SIDES[axis] - 1) as f64;
            let cell = |cell: usize| {
                let (line, k) = (cell / SIDES[2], cell % SIDES[2]);
                let (m, cosine) = (0.5 + 0.5 * at(0, line / SIDES[1]), at(1, line % SIDES[1]));
                let (a, d) = ((1.0 - m) * (1.0 - m), m * m);
                let pair = Pair { a, d, p: (2.0 * cosine - 1.0) * (1.0 - m) * m };
                // κ = 0: the larger term stays alone.
                let distance = -at(2, k).max(1e-300).ln();
                let h = pair.newton(distance);
                [h as f32, pair.degradation(distance, h) as f32]
            };
            Table { cells: (0..SIDES.iter().product()).map(cell).collect() }
        })
    }

    /// The field between the eight cells around a pair.
    fn look_up(&self, pair: &Pair, distance: f64, field: usize) -> f64 {
        let (a, d) = (pair.a.sqrt(), pair.d.sqrt());
        let (m, cosine) = (d / (a + d), pair.p / (a * d));
        let places = [2.0 * m - 1.0, 0.5 * (cosine + 1.0), (-distance).exp()];
        let mut low = [0; 3];
        let mut share = [0.0; 3];
        for (axis, place) in places.into_iter().enumerate() {
            let place = place.clamp(0.0, 1.0) * (SIDES[axis] - 1) as f64;
            low[axis] = (place as usize).min(SIDES[axis] - 2);
            share[axis] = place - low[axis] as f64;
        }
        (0..8).fold(0.0, |sum, corner| {
            let (mut cell, mut weight) = (0, 1.0);
            for axis in 0..3 {
                let up = corner >> axis & 1;
                cell = cell * SIDES[axis] + low[axis] + up;
                weight *= if up == 1 { share[axis] } else { 1.0 - share[axis] };
            }
            sum + weight * f64::from(self.cells[cell][field])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::merge_search::distance_limit;
    use super::*;
    use crate::rng::Rng;

    const SEARCHES: [(MergeSearch, f64); 3] =
        [(MergeSearch::Auto, 1e-9), (MergeSearch::GoldenSection, 1e-9), (MergeSearch::Table, 4e-3)];

    fn pairs(seed: u64, count: usize) -> Vec<(Pair, f64)> {
        let mut rng = Rng::new(seed);
        let mut pair = || {
            let a = 0.1 + rng.uniform();
            let d = a / rng.uniform().max(1e-3).powi(2);
            let p = (2.0 * rng.uniform() - 1.0) * (a * d).sqrt();
            (Pair { a, d, p }, 6.0 * rng.uniform().powi(2))
        };
        (0..count).map(|_| pair()).collect()
    }

    /// `A + D + 2Pκ - ‖β_z‖²` by coefficients of three outputs, least over a grid of [0, 1].
    fn brute_force(pair: &Pair, distance: f64) -> f64 {
        let beta_a = [pair.a.sqrt(), 0.0, 0.0];
        let along = pair.p / pair.a.sqrt();
        let beta_b = [along, (pair.d - along * along).max(0.0).sqrt(), 0.0];
        let before = pair.a + pair.d + 2.0 * pair.p * (-distance).exp();
        let merged = |i: i32| -> f64 {
            let h = f64::from(i) / 4000.0;
            let (k_a, k_b) = ((-distance * h * h).exp(), (-distance * (1.0 - h) * (1.0 - h)).exp());
            (0..3).map(|c| (beta_a[c] * k_a + beta_b[c] * k_b).powi(2)).sum()
        };
        before - (0..=4000).map(merged).fold(0.0, f64::max)
    }

    #[test]
    fn searches_agree_with_a_brute_force_grid() {
        for (pair, distance) in pairs(5, 600) {
            let want = brute_force(&pair, distance);
            let total = (pair.a.sqrt() + pair.d.sqrt()).powi(2);
            for (search, tolerance) in SEARCHES {
                // The grid's own points are up to 1/8000 from the best: that is added.
                let allowed = (tolerance + 1e-6 * distance.max(0.1)) * total;
                let got = pair.least(search, distance);
                assert!(
                    (got - want).abs() <= allowed,
                    "{search:?} {pair:?} {distance}: {got} {want}"
                );
                let at_h = pair.degradation(distance, pair.best_h(search, distance));
                assert!((at_h - want).abs() <= allowed, "{search:?} h {pair:?} {distance}");
            }
        }
    }

    #[test]
    fn nothing_beats_the_bound_beyond_its_distance() {
        for (pair, distance) in pairs(6, 3000) {
            let got = pair.least(MergeSearch::Auto, distance) / pair.a;
            assert!(distance_limit(got * (1.0 + 1e-9) + 1e-12 * pair.d / pair.a) >= distance);
        }
    }

    /// The vectorised parabolas, which rank partners: the best few are judged anew.
    #[test]
    fn the_vectorised_degradation_agrees() {
        let pairs = pairs(7, 4096);
        let g: Vec<f64> = pairs.iter().map(|&(_, distance)| distance).collect();
        let mut values: Vec<f64> = pairs.iter().map(|(pair, _)| pair.d / pair.a).collect();
        let products: Vec<f64> = pairs.iter().map(|(pair, _)| pair.p / pair.a).collect();
        let narrow = |wide: &[f64]| -> Vec<f32> { wide.iter().map(|&v| v as f32).collect() };
        let mut single = narrow(&values);
        crate::simd::shared_degradations(&narrow(&g), &mut single, &narrow(&products));
        crate::simd::shared_degradations(&g, &mut values, &products);
        for (i, (pair, distance)) in pairs.iter().enumerate() {
            let want = pair.least(MergeSearch::Auto, *distance);
            let (scale, got) = (pair.a + pair.d, values[i] * pair.a);
            let off = (got - want).abs() / scale;
            let apart = (f64::from(single[i]) * pair.a - got).abs() / scale;
            assert!(off + apart <= rough_error(*distance), "{pair:?} {distance}: {got} {want}");
            assert!(apart <= 4e-6);
        }
    }

    /// Equal points, and no distance at all.
    #[test]
    fn nothing_is_lost_between_equal_terms() {
        let mut values = [2.0f64; 8];
        crate::simd::shared_degradations(&[0.0; 8], &mut values, &[1.4; 8]);
        assert_eq!(values, [0.0; 8]);
    }
}
