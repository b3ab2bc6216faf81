//! How to refine, and with which kernel that can be done.

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
    /// Evaluations on all samples at most, at least 1.
    pub max_evaluations: usize,
    /// Seed of the part that the first stage sees.
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
        if !(self.h.is_finite() && self.h > 0.0) {
            return Err(Error::param("smoothing", "> 0 and finite", self.h));
        }
        if self.max_evaluations == 0 {
            return Err(Error::param("refine_iter", ">= 1", 0));
        }
        Ok(())
    }
}
