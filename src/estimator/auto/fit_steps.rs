//! How many steps of the search the fits to all rows are worth, for the time left.

use super::config::AutoConfig;

/// Parts of a machine, at most: one of each shape.
const PARTS: usize = 2;
/// Evaluations that a step of the search makes, and passes over the kernel values that a fit makes,
/// about.
const STEP_EVALUATIONS: usize = 5;
const FIT_PASSES: usize = 60;

/// Steps of the search that the fits to all rows of n samples are worth, by their multiply-adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct FitSteps {
    /// Those of one part.
    pub(super) each: usize,
}

impl FitSteps {
    pub(super) fn new(config: &AutoConfig, n: usize, d: usize) -> Self {
        let rows = config.recipe.rows.min(n);
        let landmarks = config.recipe.landmarks.min(rows / 3).max(1);
        let of_search =
            STEP_EVALUATIONS as f64 * (rows * landmarks) as f64 * (landmarks + d) as f64;
        let of_fit = n as f64 * config.most_terms(n) as f64 * (FIT_PASSES + d) as f64;
        // A float beyond the largest integer becomes that.
        Self { each: (of_fit / of_search).round().clamp(1.0, 1e6) as usize }
    }

    /// Those of all parts, at most.
    pub(super) fn all(self) -> usize {
        PARTS * self.each
    }
}
