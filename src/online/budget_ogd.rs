//! Online gradient descent on a budget by random removal that keeps the mean of f \[BOGD\].
//!
//! ```text
//! every step:  β ← (1 - η λ) β
//! if y f < 1:  over budget drop r with probability p_r, survivors β_i ← β_i / (1 - p_i);
//!              then the term (η y, x);  β ← β min(1, η γ_max / max|β|)
//! ```
//!
//! With `q_i = 1 - p_i`, `Σ q_i = B - 1`, the mean of what is left is f. Uniform: `q = (B-1)/B`.
//! Weighted: the variance `Σ β_i² k_ii (1/q_i - 1)` is least for `q_i ∝ |β_i| √k_ii`, capped at 1
//! (Cauchy and Schwarz; the cap by Lagrange's conditions: the capped ones are the largest).
//!
//! # Method of the weighted removal
//! 1. `q_i = s a_i`, `a_i = |β_i| √k_ii`, `s = (B - 1 - capped) / Σ a` over those not capped; those
//!    with `s a_i >= 1` are capped; again, until none is new.
//! 2. r is drawn from p; the others are divided by their q.
//!
//! *Cost* O(B) a step with a loss; finding q takes a few rounds of O(B).

use serde::{Deserialize, Serialize};

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner, check_rates};
use crate::config::{hyperparameters, positive};
use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;

/// How a term to be dropped is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// Every term alike.
    Uniform,
    /// Terms of small norm rather.
    Weighted,
}

hyperparameters! {
    /// Budgeted online gradient descent.
    pub struct BudgetOgd {
        /// B >= 1.
        pub budget: usize = 200;
        /// η > 0.
        pub learning_rate: f64 = 0.2;
        /// λ >= 0, η λ < 1.
        pub regularization: f64 = 1e-4;
        /// γ_max > 0: no coefficient is larger than this times η.
        pub max_coef: f64 = 10.0;
        /// How the removed term is drawn.
        pub sampling: Sampling = Sampling::Weighted;
    }
}

impl BudgetOgd {
    /// Draws the term that goes and makes up for it in the others.
    fn drop_one<F: Real>(&self, turn: &Turn<'_, F>, model: &mut BudgetedExpansion<F>) -> usize {
        let n = model.len();
        if self.sampling == Sampling::Uniform || n == 1 {
            if n > 1 {
                model.weights.decay(n as f64 / (n - 1) as f64);
            }
            return turn.random().below(n);
        }
        let norm = |slot| model.weights.get(slot).abs() * model.own(slot).max(0.0).sqrt();
        let kept = keep_probabilities(&(0..n).map(norm).collect::<Vec<_>>());
        let mut left = turn.random().uniform();
        let mut drawn = None;
        for (slot, q) in kept.iter().enumerate() {
            left -= 1.0 - q;
            if left < 0.0 {
                drawn = Some(slot);
                break;
            }
        }
        // Rounding may leave a hair of probability after the last term: it is the likeliest's.
        let most = |best: usize, slot: usize| if kept[slot] < kept[best] { slot } else { best };
        let drawn = drawn.unwrap_or_else(|| (1..n).fold(0, most));
        for (slot, q) in kept.iter().enumerate() {
            if slot != drawn && *q > 0.0 && *q < 1.0 {
                let beta = model.weights.get(slot);
                model.weights.add(slot, beta / q - beta);
            }
        }
        drawn
    }
}

/// `q_i = min(1, s a_i)` with `Σ q = n - 1`; of several zeros each is as likely to go.
pub(super) fn keep_probabilities(sizes: &[f64]) -> Vec<f64> {
    let n = sizes.len();
    let zeros = sizes.iter().filter(|&&a| a == 0.0).count();
    if zeros > 0 {
        let q = (zeros - 1) as f64 / zeros as f64;
        return sizes.iter().map(|&a| if a == 0.0 { q } else { 1.0 }).collect();
    }
    let mut capped = vec![false; n];
    loop {
        let count = capped.iter().filter(|c| **c).count();
        let free: f64 = sizes.iter().zip(&capped).filter(|(_, c)| !**c).map(|(a, _)| a).sum();
        let s = n.saturating_sub(1 + count) as f64 / free;
        let mut new = false;
        for (cap, a) in capped.iter_mut().zip(sizes) {
            // One is left free in any case: the one that goes.
            if !*cap && s * a >= 1.0 {
                (*cap, new) = (true, true);
            }
        }
        if !new {
            return sizes.iter().zip(&capped).map(|(a, c)| if *c { 1.0 } else { s * a }).collect();
        }
    }
}

impl OnlineLearner for BudgetOgd {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        let eta = self.learning_rate;
        model.weights.decay(1.0 - eta * self.regularization);
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        let update = if !model.is_full(self.budget) {
            model.add(turn, eta * turn.y)?
        } else {
            let slot = self.drop_one(turn, model);
            model.replace(slot, turn, eta * turn.y)?
        };
        let largest = model.weights.largest();
        if largest > eta * self.max_coef {
            model.weights.decay(eta * self.max_coef / largest);
        }
        Ok(update)
    }

    fn bound(&self) -> Bound {
        Bound::Drops(self.budget)
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        check_rates(self.learning_rate, self.regularization)?;
        positive("max_coef", self.max_coef)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn probabilities_are_those_of_least_variance() {
        let mut rng = Rng::new(1);
        for n in [2usize, 3, 10, 50] {
            for _ in 0..50 {
                let sizes: Vec<f64> = (0..n).map(|_| (-6.0 * rng.uniform()).exp()).collect();
                let kept = keep_probabilities(&sizes);
                assert!((kept.iter().sum::<f64>() - (n - 1) as f64).abs() < 1e-9);
                assert!(kept.iter().all(|q| *q > 0.0 && *q <= 1.0));
                let variance = |q: &[f64]| -> f64 {
                    sizes.iter().zip(q).map(|(a, q)| a * a * (1.0 / q - 1.0)).sum()
                };
                // Moving probability between any two terms does not help.
                for _ in 0..20 {
                    let (i, j) = (rng.below(n), rng.below(n));
                    let mut other = kept.clone();
                    let amount = 1e-3 * other[i].min(1.0 - other[j]);
                    other[i] -= amount;
                    other[j] += amount;
                    assert!(variance(&other) >= variance(&kept) * (1.0 - 1e-12));
                }
            }
        }
        assert_eq!(keep_probabilities(&[0.0, 1.0, 0.0]), [0.5, 1.0, 0.5]);
        assert_eq!(keep_probabilities(&[0.0, 1.0]), [0.0, 1.0]);
        // So small that the share of each is rounded up to 1.
        assert_eq!(keep_probabilities(&[5e-324; 20]), [1.0; 20]);
    }
}
