//! What a machine on explicit features is asked for.

use serde::{Deserialize, Serialize};

use crate::config::{Config, config, count, not_negative, optional, positive};
use crate::data::SampleOrder;
use crate::error::{Error, Result};
use crate::features::{Fourier, Nystroem, Waves};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::asset::{Average, Settings};

/// Which features.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
#[non_exhaustive]
pub enum AssetFeatures {
    /// On random landmarks; the threshold is [`Nystroem`]'s.
    Nystroem {
        /// Relative eigenvalue threshold.
        #[serde(rename = "eigenvalue_threshold")]
        threshold: Option<f64>,
    },
    /// Random waves with a phase, as the paper has them, or paired.
    Fourier {
        /// Whether frequencies are orthogonal.
        #[serde(default)]
        orthogonal: bool,
        /// The waves.
        #[serde(default = "shifted")]
        waves: Waves,
    },
}

/// Which method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "lowercase")]
#[non_exhaustive]
pub enum AssetSolver {
    /// ASSET, or ASSET* when strongly convex.
    #[serde(rename = "asset")]
    Stochastic {
        /// Steps 1/(λ j).
        strongly_convex: bool,
        /// Which iterates are averaged.
        #[serde(rename = "averaging")]
        average: Average,
        /// Order of a pass.
        order: SampleOrder,
    },
    /// Coordinate ascent in the dual.
    Dual {
        /// Largest change of a decision value in a pass at which it ends, > 0.
        #[serde(default = "dual_tol")]
        tol: f64,
        /// Whether samples that stay are left out.
        #[serde(default = "yes")]
        shrinking: bool,
    },
}

/// What choices have where JSON does not tell.
fn shifted() -> Waves {
    Waves::Shifted
}

fn dual_tol() -> f64 {
    1e-2
}

fn yes() -> bool {
    true
}

/// Passes unless set: of the stochastic method, and of the dual, which ends at its tolerance.
const PASSES: usize = 20;
const DUAL_PASSES: usize = 1000;

config! {
    /// Hyperparameters of a machine on explicit features.
    pub struct AssetConfig {
        /// Cost of a violation, > 0.
        #[serde(rename = "C")]
        c: f64 = 1.0;
        /// The kernel.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// The features.
        features: AssetFeatures = AssetFeatures::Nystroem { threshold: None };
        /// Number of landmarks, or of waves; at least 1.
        n_components: usize = 100;
        /// The loss.
        loss: AnyLoss = AnyLoss::Hinge;
        /// The method.
        solver: AssetSolver = AssetSolver::Stochastic {
            strongly_convex: false,
            average: Average::Share(0.5),
            order: SampleOrder::Shuffled,
        };
        /// Whether there is an offset; true for regression. That of values begins as the constant
        /// of least loss, and stays there when strongly convex; the dual penalises what it adds.
        fit_intercept: bool = false;
        /// B, the largest magnitude of the offset of the stochastic method, > 0; none: 1 (for
        /// values the largest target) and the radius of w times the longest features.
        max_intercept: Option<f64> = None, into;
        /// Passes, at least 1; none: 20, or at most 1000 of the dual.
        max_iter: Option<usize> = None, into;
        /// Seconds after which a fit ends with the machine it has, > 0.
        max_time: Option<f64> = None, into;
        /// Features that the stochastic method may keep, in units of 10^6 bytes, >= 0; the dual
        /// keeps them all.
        cache_size: f64 = 200.0;
        /// Samples that a stream will have, for λ; none: those seen so far.
        n_expected: Option<usize> = None, into;
        /// Seed of everything random.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for AssetConfig {
    fn check(&self) -> Result<()> {
        positive("C", self.c)?;
        self.kernel.check()?;
        self.loss.check()?;
        count("n_components", self.n_components)?;
        optional(count, "max_iter", self.max_iter)?;
        not_negative("cache_size", self.cache_size)?;
        optional(positive, "max_time", self.max_time)?;
        optional(count, "n_expected", self.n_expected)?;
        match self.features {
            AssetFeatures::Nystroem { .. } => self.nystroem().check()?,
            AssetFeatures::Fourier { .. } => self.fourier().check()?,
        }
        match self.solver {
            AssetSolver::Stochastic { .. } => self.settings(1, false).check(),
            AssetSolver::Dual { .. } if self.max_intercept.is_some() => Err(Error::Unsupported(
                "max_intercept needs solver='asset': the dual penalises the offset".into(),
            )),
            AssetSolver::Dual { tol, .. } => positive("tol", tol),
        }
    }
}

impl AssetConfig {
    /// Passes of a fit, at most.
    pub(super) fn passes(&self) -> usize {
        self.max_iter.unwrap_or(match self.solver {
            AssetSolver::Stochastic { .. } => PASSES,
            AssetSolver::Dual { .. } => DUAL_PASSES,
        })
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
            // That of values which is not fitted is taken off before (`centre`).
            fit_intercept: self.fit_intercept
                && (!strongly_convex || self.loss.is_classification()),
            max_intercept: self.max_intercept,
            max_iter,
            average,
            order,
            stream,
        }
    }
}
