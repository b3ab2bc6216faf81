//! Online learners as machines: one stream for two classes, one a class for more.

mod labelled;
mod train;

use crate::config::{Config, at_least, config, optional, positive};
use crate::data::SampleOrder;
use crate::error::Result;
use crate::kernel::AnyKernel;
use crate::online::{ASIDE, AnyLearner, KernelPerceptron};

pub use labelled::{OnlineSvc, OnlineSvcModel};

config! {
    /// Everything that a training call of an online learner needs to know.
    pub struct OnlineConfig {
        /// The learner and its hyperparameters.
        learner: AnyLearner = AnyLearner::KernelPerceptron(KernelPerceptron {});
        /// The kernel.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// Whether to predict with the mean of the iterates.
        average: bool = false;
        /// One place of the budget in so many is for terms that went, where the mean needs them,
        /// > 1.
        aside: usize = ASIDE;
        /// Passes of `fit`, >= 1.
        max_iter: usize = 1;
        /// Order of the passes of `fit`.
        order: SampleOrder = SampleOrder::Shuffled;
        /// Seconds, > 0.
        max_time: Option<f64> = None, into;
        /// Seed of the order and of the learner's random choices.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for OnlineConfig {
    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.learner.check(self.kernel)?;
        at_least(2, "aside", self.aside)?;
        at_least(1, "max_iter", self.max_iter)?;
        optional(positive, "max_time", self.max_time)
    }
}
