//! Budgeted passive-aggressive learning, the simple variant: over budget the new term takes over
//! what it can of the one that goes \[BPA\].
//!
//! ```text
//! min over r, α:  ½ ‖w - β_r φ_r + α φ_t - w‖² + C max(0, 1 - y f_new(x)),   φ = feature vectors
//! ```
//!
//! For a given r the first part is least at `α = β_r k_rt / k_tt`, where `f_new(x) = f(x)`; from
//! there the passive-aggressive step is `y τ`, `τ = min(C, ℓ / k_tt)`, whatever r is. So the best r
//! is the one of least `β_r² (k_rr - k_rt² / k_tt)`.
//!
//! # Method
//! 1. No loss: nothing. Below budget: the term (y τ, x).
//! 2. Else the best r is replaced by x with coefficient `β_r k_rt / k_tt + y τ`.
//!
//! *Cost* O(B) a step.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner};
use crate::config::{hyperparameters, positive};
use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;

hyperparameters! {
    /// Passive-aggressive on a budget.
    pub struct PassiveAggressive {
        /// B >= 1.
        pub budget: usize = 200;
        /// The longest step, > 0.
        #[serde(rename = "C")]
        pub c: f64 = 1.0;
    }
}

impl OnlineLearner for PassiveAggressive {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        // A point of no length cannot carry a step (linear and polynomial kernels).
        if turn.loss() == 0.0 || turn.own <= 0.0 {
            return Ok(Update::None);
        }
        let step = turn.y * self.c.min(turn.loss() / turn.own);
        // 1.
        if !model.is_full(self.budget) {
            return model.add(turn, step);
        }
        // 2.
        let (mut best, mut least) = (0, f64::INFINITY);
        for r in 0..model.len() {
            let (beta, k) = (model.weights.get(r), turn.row[r].to_f64());
            let loss = beta * beta * (model.own(r) - k * k / turn.own);
            if loss < least {
                (best, least) = (r, loss);
            }
        }
        let kept = model.weights.get(best) * turn.row[best].to_f64() / turn.own;
        model.replace(best, turn, kept + step)
    }

    fn bound(&self) -> Bound {
        Bound::Drops(self.budget)
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        positive("C", self.c)
    }
}
