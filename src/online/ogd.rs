//! Kernel online gradient descent (NORMA) on the regularised hinge loss \[NORMA\].
//!
//! ```text
//! β ← (1 - η λ) β;   if y f < 1: and the term (η y, x)
//! ```
//!
//! `f` is the value before the decay: the gradient of `λ/2 ‖f‖² + max(0, 1 - y f(x))` at the old
//! f (\[NORMA\] eq. 10, offset 0, margin 1). *Cost* O(1) beside the kernel row.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner, check_rates};
use crate::config::hyperparameters;
use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;

hyperparameters! {
    /// Adds every sample within the margin; never drops one.
    pub struct KernelOgd {
        /// η > 0.
        pub learning_rate: f64 = 0.2;
        /// λ >= 0, η λ < 1.
        pub regularization: f64 = 1e-4;
    }
}

impl OnlineLearner for KernelOgd {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        model.weights.decay(1.0 - self.learning_rate * self.regularization);
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        model.add(turn, self.learning_rate * turn.y)
    }

    fn bound(&self) -> Bound {
        Bound::None
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        check_rates(self.learning_rate, self.regularization)
    }
}
