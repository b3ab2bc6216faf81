//! Moves s and what a gradient changes by over them, y: each corrects an inverse of the Hessian,
//!
//! ```text
//! H ← (1 - s yᵀ/sᵀy) H (1 - y sᵀ/sᵀy) + s sᵀ/sᵀy
//! ```
//!
//! (BFGS), after which `H y = s`; H stays positive definite where sᵀy > 0.
//!
//! A product with H takes away multiples of every y, the last first, and then adds multiples of every s,
//! each multiple by a product with what the ones before have left. What these change in that product is
//! known from `s_lᵀ y_k` of the pairs before k. So all products with s are made at once, and all with y,
//! and threads come together four times, however many pairs there are:
//!
//! ```text
//! α_k = (s_kᵀx - Σ_{l>k} α_l s_kᵀy_l)/s_kᵀy_k         r = H₀ (x - Σ α_k y_k)
//! δ_k = α_k - (y_kᵀr + Σ_{l<k} δ_l s_lᵀy_k)/s_kᵀy_k    H x = r + Σ δ_k s_k
//! ```
//!
//! Reading them is what takes time: they are held in single precision, each in units of a power of two. H
//! is that of the rounded pairs, and no less positive definite.

use std::collections::VecDeque;

use super::long::{long_add, long_products};
use super::{axpy, dot};
#[cfg(feature = "train")]
use crate::error::{Result, try_vec};
#[cfg(feature = "train")]
use crate::watch::{Reader, Words};

struct Pair {
    /// In units of their own.
    s: Vec<f32>,
    y: Vec<f32>,
    units: [f64; 2],
    /// Of these.
    sy: f64,
    /// Products of y with the s of all pairs before.
    crosses: Vec<f64>,
}

/// The power of two below the largest number.
fn unit_of(x: &[f64]) -> f64 {
    const EXPONENT: u64 = 0x7ff << 52;
    let most = x.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    f64::from_bits(most.to_bits() & EXPONENT)
}

/// The last pairs, and before them what is to stay.
pub(crate) struct Pairs {
    most: usize,
    kept: usize,
    pairs: VecDeque<Pair>,
}

impl Pairs {
    /// None yet, and so many at most, at least 1.
    pub(crate) fn new(most: usize) -> Self {
        Self { most: most.max(1), kept: 0, pairs: VecDeque::new() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether some are kept.
    pub(crate) fn has_kept(&self) -> bool {
        self.kept > 0
    }

    /// Those there are make way for no later ones from now on, one less than the most at most.
    pub(crate) fn keep(&mut self) {
        self.kept = self.pairs.len().min(self.most - 1);
    }

    pub(crate) fn clear(&mut self) {
        (self.kept, self.pairs) = (0, VecDeque::new());
    }

    /// Another one; the oldest that is not kept goes where there are too many. A pair whose `sᵀy` is not
    /// more than 0 as it is held is left out.
    pub(crate) fn push(&mut self, s: &[f64], y: &[f64]) {
        let units = [unit_of(s), unit_of(y)];
        let ratio = units[0] / units[1];
        if !(ratio > 0.0 && ratio.is_finite()) {
            return;
        }
        let held = |x: &[f64], unit: f64| x.iter().map(|v| (v / unit) as f32).collect::<Vec<f32>>();
        let (s, y) = (held(s, units[0]), held(y, units[1]));
        let wide: Vec<f64> = y.iter().map(|&v| v.into()).collect();
        let mut rows = self.all(|pair| &pair.s);
        rows.push(&s);
        let mut crosses = long_products(&rows, &wide);
        let Some(sy) = crosses.pop().filter(|sy| *sy > 0.0 && sy.is_finite()) else { return };
        if self.pairs.len() == self.most {
            self.pairs.remove(self.kept);
            crosses.remove(self.kept);
            for pair in self.pairs.iter_mut().skip(self.kept) {
                pair.crosses.remove(self.kept);
            }
        }
        self.pairs.push_back(Pair { s, y, units, sy, crosses });
    }

    fn all<'a>(&'a self, side: impl Fn(&'a Pair) -> &'a Vec<f32>) -> Vec<&'a [f32]> {
        self.pairs.iter().map(|pair| side(pair).as_slice()).collect()
    }

    /// `sᵀy/yᵀDy` of the last one, D diagonal; 1 where there is none.
    pub(crate) fn scale(&self, diagonal: &[f64]) -> f64 {
        self.pairs.back().map_or(1.0, |pair| {
            let terms = pair.y.iter().map(|&y| f64::from(y)).zip(diagonal);
            let size = terms.map(|(y, d)| y * y * d).sum::<f64>();
            pair.units[0] / pair.units[1] * (pair.sy / size)
        })
    }

    /// `x ← H x`, `start` being the product with H before the first pair.
    pub(crate) fn times_inverse(&self, x: &mut [f64], start: impl FnOnce(&mut [f64])) {
        let (moves, changes) = (self.all(|pair| &pair.s), self.all(|pair| &pair.y));
        let mut weights = long_products(&moves, x);
        for (k, pair) in self.pairs.iter().enumerate().rev() {
            let (before, own) = weights.split_at_mut(k);
            own[0] /= -pair.sy;
            axpy(own[0], &pair.crosses, before);
        }
        long_add(&changes, &weights, x);
        start(x);
        let products = long_products(&changes, x);
        for (k, (pair, product)) in self.pairs.iter().zip(products).enumerate() {
            let seen = (product + dot(&pair.crosses, &weights[..k])) / pair.sy;
            weights[k] *= -pair.units[0] / pair.units[1];
            weights[k] -= seen;
        }
        long_add(&moves, &weights, x);
    }
}

#[cfg(feature = "train")]
impl Pairs {
    pub(crate) fn put(&self, words: &mut Words) {
        words.put(self.pairs.len() as u64);
        for pair in &self.pairs {
            for (values, unit) in [&pair.s, &pair.y].into_iter().zip(pair.units) {
                let values: Vec<f64> = values.iter().map(|&v| unit * f64::from(v)).collect();
                words.put_floats(&values);
            }
        }
    }

    /// What that put, of n numbers each, in place of all there are.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub(crate) fn read(&mut self, n: usize, reader: &mut Reader) -> Result<()> {
        self.clear();
        let (mut s, mut y) = (try_vec("direction", n, 0.0)?, try_vec("direction", n, 0.0)?);
        for count in 1..=reader.take_count(self.most)? {
            reader.take_into(&mut s)?;
            reader.take_into(&mut y)?;
            self.push(&s, &y);
            if self.pairs.len() < count {
                return Err(Reader::bad());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel;
    use crate::rng::Rng;

    /// `H y = s` of the last pair, and symmetric, of a start that is neither the inverse nor diagonal.
    #[test]
    fn what_was_seen_is_exact() {
        let start = |x: &mut [f64]| {
            let (a, b) = (x[0], x[1]);
            x.copy_from_slice(&[2.0 * a + b, a + 3.0 * b, 0.5 * x[2]]);
        };
        let mut pairs = Pairs::new(2);
        for (s, y) in [
            ([9.0, 0.0, 1.0], [1.0, 0.0, 0.0]),
            ([1.0, 2.0, 0.0], [2.0, 1.0, 1.0]),
            ([0.0, 1.0, 3.0], [1.0, 1.0, 2.0]),
        ] {
            pairs.push(&s, &y);
            let mut found = y.to_vec();
            pairs.times_inverse(&mut found, start);
            assert!(found.iter().zip(&s).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?} {s:?}");
        }
        assert_eq!(pairs.pairs.len(), 2);
        let column = |k: usize| {
            let mut x = vec![0.0; 3];
            x[k] = 1.0;
            pairs.times_inverse(&mut x, start);
            x
        };
        let h: Vec<_> = (0..3).map(column).collect();
        assert!((0..3).all(|i| (0..3).all(|j| (h[i][j] - h[j][i]).abs() < 1e-12)), "{h:?}");
        // Not the start alone.
        assert!((h[0][0] - 2.0).abs() > 0.1);
    }

    /// The formula, pair by pair.
    fn naive(pairs: &Pairs, x: &mut [f64], start: &dyn Fn(&mut [f64])) {
        let mut weights = Vec::new();
        let wide = |row: &[f32], unit: f64| row.iter().map(|&v| unit * f64::from(v)).collect();
        let all: Vec<(Vec<f64>, Vec<f64>)> = pairs
            .pairs
            .iter()
            .map(|pair| (wide(&pair.s, pair.units[0]), wide(&pair.y, pair.units[1])))
            .collect();
        for (s, y) in all.iter().rev() {
            let weight = dot(s, x) / dot(s, y);
            axpy(-weight, y, x);
            weights.push(weight);
        }
        start(x);
        for ((s, y), weight) in all.iter().zip(weights.into_iter().rev()) {
            axpy(weight - dot(y, x) / dot(s, y), s, x);
        }
    }

    #[test]
    fn a_product_is_that_of_the_formula_whatever_pairs_came_and_went() {
        let n = 9000;
        let mut rng = Rng::new(7);
        let mut vector = || (0..n).map(|_| rng.uniform() - 0.5).collect::<Vec<f64>>();
        let start = |x: &mut [f64]| x.iter_mut().zip(1..).for_each(|(x, k)| *x /= f64::from(k));
        for unit in [1.0, 1e-60, 1e200] {
            let mut pairs = Pairs::new(6);
            for count in 0..15 {
                let s = vector();
                // As a curvature changes a gradient, and what is none.
                let changes = s.iter().zip(vector());
                let y: Vec<f64> = changes.map(|(s, more)| unit * (2.0 * s + more)).collect();
                pairs.push(&s, &y);
                if count == 3 {
                    pairs.keep();
                }
                let begin = vector();
                let mut exact = begin.clone();
                naive(&pairs, &mut exact, &start);
                let product = |threads| {
                    let mut x = begin.clone();
                    parallel::run(threads, |_| pairs.times_inverse(&mut x, start)).unwrap();
                    x
                };
                let found = product(1);
                let large = exact.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
                let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-12 * large;
                assert!(!found.iter().zip(&exact).any(far), "{unit} {count}");
                assert_eq!(found, product(3), "{unit} {count}");
            }
        }
    }

    #[test]
    fn pairs_that_cannot_be_held_are_left_out() {
        let mut pairs = Pairs::new(2);
        for (s, y) in [
            ([0.0, 0.0], [1.0, 1.0]),
            ([1.0, 1.0], [0.0, 0.0]),
            ([1.0, f64::NAN], [1.0, 1.0]),
            ([1.0, 1.0], [f64::INFINITY, 1.0]),
            ([1.0, 1.0], [1.0, -1.0]),
            ([1e300, 1e300], [1e-300, 1e-300]),
        ] {
            pairs.push(&s, &y);
            assert!(pairs.is_empty(), "{s:?} {y:?}");
        }
        pairs.push(&[1e300, 0.0], &[1e300, 1e-300]);
        let mut x = vec![1.0, 1.0];
        pairs.times_inverse(&mut x, |x| x.fill(0.0));
        assert_eq!(x, [1.0, 0.0]);
    }

    #[test]
    fn kept_pairs_stay_and_the_last_one_always_has_room() {
        let mut pairs = Pairs::new(3);
        let push = |pairs: &mut Pairs, v: f64| pairs.push(&[v], &[v]);
        let all = |pairs: &Pairs| {
            let value = |pair: &Pair| pair.units[0] * f64::from(pair.s[0]);
            pairs.pairs.iter().map(value).collect::<Vec<_>>()
        };
        push(&mut pairs, 1.0);
        push(&mut pairs, 2.0);
        pairs.keep();
        (3..6).for_each(|v| push(&mut pairs, f64::from(v)));
        assert_eq!(all(&pairs), [1.0, 2.0, 5.0]);
        pairs.keep();
        push(&mut pairs, 6.0);
        assert_eq!(all(&pairs), [1.0, 2.0, 6.0]);
        pairs.clear();
        (7..11).for_each(|v| push(&mut pairs, f64::from(v)));
        assert_eq!(all(&pairs), [8.0, 9.0, 10.0]);
    }
}
