//! How to refine, and with which kernel that can be done.

use crate::config::{count, positive};
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;

/// How to refine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refine {
    /// The loss.
    pub loss: AnyLoss,
    /// Whether offsets are fitted.
    pub fit_intercept: bool,
    /// Half-width of the smoothed zone, > 0.
    pub h: f64,
    /// The unit of the targets: 1 for classes.
    pub unit: f64,
    /// Evaluations on all samples at most, at least 1.
    pub max_evaluations: usize,
    /// Seed of the samples that the curvature is taken of, and of the part that the first stage sees.
    pub seed: u64,
}

impl Refine {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self, kernel: AnyKernel) -> Result<()> {
        self.loss.check()?;
        if kernel.gaussian_gamma().is_none() {
            return Err(Error::Unsupported(format!(
                "refine=true needs kernel='rbf', got kernel='{}': its points can be moved along a \
                 gradient that the same kernel values give",
                kernel.name()
            )));
        }
        positive("smoothing", self.h)?;
        positive("unit", self.unit)?;
        count("refine_iter", self.max_evaluations)
    }
}
