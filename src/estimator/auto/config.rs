//! What a machine that tunes itself may still be asked for.

use crate::config::{Config, config, count, optional, positive};
use crate::error::Result;
use crate::tuning::Recipe;

/// Rows up to which every one of them is a term.
const EXACT: usize = 16_000;
/// Terms beyond that.
const LANDMARKS: usize = 4_000;

config! {
    /// Hyperparameters of a machine that tunes itself: none that the answer needs.
    pub struct AutoConfig {
        /// Terms of the model at most, at least 1; none: every row up to 16,000, then 4,000 of them.
        budget: Option<usize> = None, into;
        /// Whether every feature gets a scale of its own.
        learn_scales: bool = true;
        /// What of the search is done, for measurements.
        #[serde(skip)]
        recipe: Recipe = Recipe::default();
        /// Seconds after which a fit ends with the machine it has, > 0.
        max_time: Option<f64> = None, into;
        /// Seed of everything random.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for AutoConfig {
    fn check(&self) -> Result<()> {
        optional(count, "budget", self.budget)?;
        optional(positive, "max_time", self.max_time)
    }
}

impl AutoConfig {
    /// Terms of a machine of n samples, at most.
    pub(super) fn most_terms(&self, n: usize) -> usize {
        self.budget.unwrap_or(if n <= EXACT { n } else { LANDMARKS }).min(n)
    }
}
