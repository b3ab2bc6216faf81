//! Sparse passive-aggressive learning: a coin decides which losses are learnt from, the smaller
//! ones less often and with longer steps \[SPA\].
//!
//! ```text
//! q = min(a, ℓ) / b,   0 < a <= b
//! with probability q: the term (y τ, x),   τ = min(η / q, ℓ / k_tt)
//! ```
//!
//! τ solves `min ½‖f - f_t‖² + (η / q) ℓ(f)`: the loss weighs 1/q, so its mean is what it was. The
//! expected number of terms is at most `a T / b` (\[SPA\] Section 3.3); at B terms learning stops.
//! The answer of \[SPA\] is the mean of the iterates: `average=True` is the default in Python.
//!
//! *Cost* O(1) a step beside the kernel row.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner};
use crate::config::{hyperparameters, positive};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;

hyperparameters! {
    /// Passive-aggressive on a random part of the stream.
    pub struct SparsePassiveAggressive {
        /// B >= 1.
        pub budget: usize = 200;
        /// η > 0.
        pub learning_rate: f64 = 0.2;
        /// a, in (0, b].
        #[serde(rename = "sampling_numerator")]
        pub numerator: f64 = 1.0;
        /// b > 0.
        #[serde(rename = "sampling_denominator")]
        pub denominator: f64 = 5.0;
    }
}

impl OnlineLearner for SparsePassiveAggressive {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        let loss = turn.loss();
        if loss == 0.0 || turn.own <= 0.0 || model.is_full(self.budget) {
            return Ok(Update::None);
        }
        let q = self.numerator.min(loss) / self.denominator;
        if turn.random().uniform() >= q {
            return Ok(Update::None);
        }
        model.add(turn, turn.y * (self.learning_rate / q).min(loss / turn.own))
    }

    fn bound(&self) -> Bound {
        Bound::Stays(self.budget)
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        positive("learning_rate", self.learning_rate)?;
        positive("sampling_denominator", self.denominator)?;
        positive("sampling_numerator", self.numerator)?;
        if self.numerator > self.denominator {
            let expected = format!("<= sampling_denominator = {}", self.denominator);
            return Err(Error::param("sampling_numerator", expected, self.numerator));
        }
        Ok(())
    }
}
