//! Kernel perceptron, and the two learners that bound it most simply.
//!
//! ```text
//! on a mistake (y f <= 0):   β ← β and the term (y, x)
//! ```
//!
//! - [`KernelPerceptron`] keeps every term \[PERCEPTRON\].
//! - [`Stoptron`] learns until it holds B terms and no more: the baseline of \[PROJECTRON\].
//! - [`RandomizedBudgetPerceptron`] puts the B + 1st term in the place of a random one of the old
//!   \[RBP\].
//!
//! *Cost* O(B) a step, beside the kernel row.

use serde::{Deserialize, Serialize};

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner};
use crate::config::hyperparameters;
use crate::error::Result;
use crate::float::Real;

/// Adds every mistake.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelPerceptron {}

impl OnlineLearner for KernelPerceptron {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        if turn.is_mistake() { model.add(turn, turn.y) } else { Ok(Update::None) }
    }

    fn bound(&self) -> Bound {
        Bound::None
    }
}

hyperparameters! {
    /// Adds every mistake until the budget is full.
    pub struct Stoptron {
        /// B >= 1.
        pub budget: usize = 200;
    }
}

impl OnlineLearner for Stoptron {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        let room = !model.is_full(self.budget);
        if turn.is_mistake() && room { model.add(turn, turn.y) } else { Ok(Update::None) }
    }

    fn bound(&self) -> Bound {
        Bound::Stays(self.budget)
    }
}

hyperparameters! {
    /// Adds every mistake; over budget in the place of a term drawn uniformly.
    pub struct RandomizedBudgetPerceptron {
        /// B >= 1.
        pub budget: usize = 200;
    }
}

impl OnlineLearner for RandomizedBudgetPerceptron {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        if !turn.is_mistake() {
            return Ok(Update::None);
        }
        if !model.is_full(self.budget) {
            return model.add(turn, turn.y);
        }
        let slot = turn.random().below(model.len());
        model.replace(slot, turn, turn.y)
    }

    fn bound(&self) -> Bound {
        Bound::Drops(self.budget)
    }
}
