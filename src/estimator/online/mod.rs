//! Online learners as machines: one stream for two classes, one a class for more.

mod machine;
mod train;

use super::limits::Limits;
use super::report::Report;
use crate::data::SampleOrder;
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::online::AnyLearner;

pub use machine::{OnlineMachine, precision_of};

/// Everything that a training call of an online learner needs to know.
#[derive(Clone, Debug, PartialEq)]
pub struct OnlineConfig {
    /// The learner and its hyperparameters.
    pub learner: AnyLearner,
    /// The kernel.
    pub kernel: AnyKernel,
    /// Whether to predict with the mean of the iterates.
    pub average: bool,
    /// One place of the budget in so many is for terms that went, where the mean needs them, > 1.
    pub aside: usize,
    /// Passes of `fit`, >= 1.
    pub max_iter: usize,
    /// Order of the passes of `fit`.
    pub order: SampleOrder,
    /// Seconds, > 0.
    pub max_time: Option<f64>,
    /// Seed of the order and of the learner's random choices.
    pub seed: u64,
}

impl OnlineConfig {
    /// Whether every hyperparameter is in its range.
    ///
    /// # Errors
    /// `InvalidParam` that names the first one that is not.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.learner.check(self.kernel)?;
        if self.aside < 2 {
            return Err(Error::param("aside", ">= 2", self.aside));
        }
        if self.max_iter == 0 {
            return Err(Error::param("max_iter", ">= 1", 0));
        }
        match self.max_time {
            Some(time) if time.is_nan() || time <= 0.0 => {
                Err(Error::param("max_time", "> 0 or None", time))
            }
            _ => Ok(()),
        }
    }
}
