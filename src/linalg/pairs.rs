//! Moves s and what a gradient changes by over them, y: each corrects an inverse of the Hessian,
//!
//! ```text
//! H ← (1 - s yᵀ/sᵀy) H (1 - y sᵀ/sᵀy) + s sᵀ/sᵀy
//! ```
//!
//! (BFGS), after which `H y = s`; H stays positive definite where sᵀy > 0.

use std::collections::VecDeque;

use super::{dot, long_axpy, long_dot};
#[cfg(feature = "train")]
use crate::error::{Result, try_vec};
#[cfg(feature = "train")]
use crate::watch::{Reader, Words};

struct Pair {
    s: Vec<f64>,
    y: Vec<f64>,
    sy: f64,
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

    /// Another one, whose `sᵀy` is more than 0; the oldest that is not kept goes where there are too many.
    pub(crate) fn push(&mut self, (s, y): (Vec<f64>, Vec<f64>), sy: f64) {
        if self.pairs.len() == self.most {
            self.pairs.remove(self.kept);
        }
        self.pairs.push_back(Pair { s, y, sy });
    }

    /// y and `sᵀy` of the last one.
    pub(crate) fn last(&self) -> Option<(&[f64], f64)> {
        self.pairs.back().map(|pair| (pair.y.as_slice(), pair.sy))
    }

    /// `x ← H x`, `start` being the product with H before the first pair.
    pub(crate) fn times_inverse(&self, x: &mut [f64], start: impl FnOnce(&mut [f64])) {
        let mut weights = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let weight = long_dot(&pair.s, x) / pair.sy;
            long_axpy(-weight, &pair.y, x);
            weights.push(weight);
        }
        start(x);
        for (pair, weight) in self.pairs.iter().zip(weights.into_iter().rev()) {
            let change = weight - long_dot(&pair.y, x) / pair.sy;
            long_axpy(change, &pair.s, x);
        }
    }
}

#[cfg(feature = "train")]
impl Pairs {
    pub(crate) fn put(&self, words: &mut Words) {
        words.put(self.pairs.len() as u64);
        for pair in &self.pairs {
            words.put_floats(&pair.s);
            words.put_floats(&pair.y);
        }
    }

    /// What that put, of n numbers each, in place of all there are.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub(crate) fn read(&mut self, n: usize, reader: &mut Reader) -> Result<()> {
        self.clear();
        for _ in 0..reader.take_count(self.most)? {
            let mut pair = (try_vec("direction", n, 0.0)?, try_vec("direction", n, 0.0)?);
            reader.take_into(&mut pair.0)?;
            reader.take_into(&mut pair.1)?;
            let sy = dot(&pair.0, &pair.1);
            if !(sy > 0.0 && sy.is_finite()) {
                return Err(Reader::bad());
            }
            self.push(pair, sy);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            pairs.push((s.to_vec(), y.to_vec()), dot(&s, &y));
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

    #[test]
    fn kept_pairs_stay_and_the_last_one_always_has_room() {
        let mut pairs = Pairs::new(3);
        let push = |pairs: &mut Pairs, v: f64| pairs.push((vec![v], vec![v]), v * v);
        let all = |pairs: &Pairs| pairs.pairs.iter().map(|pair| pair.s[0]).collect::<Vec<_>>();
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
