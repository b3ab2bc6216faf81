//! The one trait of the learners, and what several of them check.

use super::expansion::{BudgetedExpansion, Turn, Update};
use crate::config::positive;
use crate::error::{Error, Result};
use crate::float::Real;

/// Learns from one sample at a time: all that sets one learner apart from another.
pub trait OnlineLearner<F: Real> {
    /// Takes the step of one sample.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn learn(&mut self, turn: &Turn<'_, F>, model: &mut BudgetedExpansion<F>) -> Result<Update>;
}

/// A step length that decays nothing away: both > 0 (λ >= 0), η λ < 1.
pub(super) fn check_rates(learning_rate: f64, regularization: f64) -> Result<()> {
    positive("learning_rate", learning_rate)?;
    if !(regularization >= 0.0 && learning_rate * regularization < 1.0) {
        let expected = format!(">= 0 and below 1 / learning_rate = {}", 1.0 / learning_rate);
        return Err(Error::param("regularization", expected, regularization));
    }
    Ok(())
}
