//! What a machine on explicit features is asked for.

use crate::data::SampleOrder;
use crate::error::{Error, Result};
use crate::features::{Fourier, Nystroem, Waves};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::asset::{Average, Settings};

/// Which features.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AssetFeatures {
    /// On random landmarks; the threshold is [`Nystroem`]'s.
    Nystroem {
        /// Relative eigenvalue threshold.
        threshold: Option<f64>,
    },
    /// Random waves with a phase, as the paper has them, or paired.
    Fourier {
        /// Whether frequencies are orthogonal.
        orthogonal: bool,
        /// The waves.
        waves: Waves,
    },
}

/// Which method.
#[derive(Clone, Debug, PartialEq)]
pub enum AssetSolver {
    /// ASSET, or ASSET* when strongly convex.
    Stochastic {
        /// Steps 1/(λ j).
        strongly_convex: bool,
        /// Which iterates are averaged.
        average: Average,
        /// Order of a pass.
        order: SampleOrder,
    },
    /// Coordinate ascent in the dual.
    Dual {
        /// Largest change of a decision value in a pass at which it ends, > 0.
        tol: f64,
        /// Whether samples that stay are left out.
        shrinking: bool,
    },
}

/// Hyperparameters.
#[derive(Clone, Debug, PartialEq)]
pub struct AssetConfig {
    /// The kernel.
    pub kernel: AnyKernel,
    /// The features.
    pub features: AssetFeatures,
    /// Number of landmarks, or of waves; at least 1.
    pub n_components: usize,
    /// The loss.
    pub loss: AnyLoss,
    /// The method.
    pub solver: AssetSolver,
    /// Whether there is an offset.
    pub fit_intercept: bool,
    /// Passes, at least 1.
    pub max_iter: usize,
    /// Seconds, > 0.
    pub max_time: Option<f64>,
    /// Megabytes of features that the stochastic method may keep, >= 0; the dual keeps them all.
    pub cache_size: f64,
    /// Samples that a stream will have, for λ; none: those seen so far.
    pub n_expected: Option<usize>,
    /// Seed.
    pub seed: u64,
}

impl Default for AssetConfig {
    fn default() -> Self {
        Self {
            kernel: AnyKernel::Gaussian { gamma: 1.0 },
            features: AssetFeatures::Nystroem { threshold: None },
            n_components: 100,
            loss: AnyLoss::Hinge,
            solver: AssetSolver::Stochastic {
                strongly_convex: false,
                average: Average::Share(0.5),
                order: SampleOrder::Shuffled,
            },
            fit_intercept: false,
            max_iter: 20,
            max_time: None,
            cache_size: 200.0,
            n_expected: None,
            seed: 0,
        }
    }
}

impl AssetConfig {
    /// Whether every hyperparameter is in its range.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.loss.check()?;
        if self.n_components == 0 {
            return Err(Error::param("n_components", ">= 1", 0));
        }
        if self.max_iter == 0 {
            return Err(Error::param("max_iter", ">= 1", 0));
        }
        if !(self.cache_size >= 0.0 && self.cache_size.is_finite()) {
            return Err(Error::param("cache_size", ">= 0 and finite", self.cache_size));
        }
        if let Some(limit) = self.max_time
            && !(limit > 0.0 && limit.is_finite())
        {
            return Err(Error::param("max_time", "> 0 and finite", limit));
        }
        if self.n_expected == Some(0) {
            return Err(Error::param("n_expected", ">= 1", 0));
        }
        match &self.features {
            AssetFeatures::Nystroem { .. } => self.nystroem().check()?,
            AssetFeatures::Fourier { .. } => self.fourier().check()?,
        }
        match &self.solver {
            AssetSolver::Stochastic { .. } => self.settings(1, false).check(),
            AssetSolver::Dual { tol, .. } if !(*tol > 0.0 && tol.is_finite()) => {
                Err(Error::param("tol", "> 0 and finite", tol))
            }
            AssetSolver::Dual { .. } => Ok(()),
        }
    }

    pub(super) fn nystroem(&self) -> Nystroem {
        let threshold = match self.features {
            AssetFeatures::Nystroem { threshold } => threshold,
            AssetFeatures::Fourier { .. } => None,
        };
        Nystroem {
            kernel: self.kernel,
            n_components: self.n_components,
            n_landmarks: None,
            threshold,
            seed: self.seed,
        }
    }

    pub(super) fn fourier(&self) -> Fourier {
        let (orthogonal, waves) = match self.features {
            AssetFeatures::Fourier { orthogonal, waves } => (orthogonal, waves),
            AssetFeatures::Nystroem { .. } => (false, Waves::Shifted),
        };
        let (kernel, n_components) = (self.kernel, self.n_components);
        Fourier { kernel, n_components, orthogonal, waves, seed: self.seed }
    }

    pub(super) fn settings(&self, max_iter: usize, stream: bool) -> Settings {
        let (strongly_convex, average, order) = match &self.solver {
            AssetSolver::Stochastic { strongly_convex, average, order } => {
                (*strongly_convex, *average, order.clone())
            }
            AssetSolver::Dual { .. } => (false, Average::None, SampleOrder::Shuffled),
        };
        Settings {
            loss: self.loss,
            strongly_convex,
            fit_intercept: self.fit_intercept,
            max_iter,
            average,
            order,
            stream,
        }
    }
}
