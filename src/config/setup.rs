//! What a fit is told beside hyperparameters; of it, files hold the class weights alone.

use super::range::{count, not_negative, optional, positive};
use crate::error::Result;

/// γ of the kernel, or what it is computed from when the rows are there.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Gamma {
    /// `1 / (d v)`, v the variance of all entries of the rows, which count as they weigh.
    Scale,
    /// `1 / d`.
    Auto,
    /// This number, > 0.
    Value(f64),
}

impl From<f64> for Gamma {
    fn from(gamma: f64) -> Self {
        Self::Value(gamma)
    }
}

/// Factors of the cost of violations, a class.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum ClassWeight {
    /// All classes count as their samples do.
    #[default]
    One,
    /// Every class counts as much as any other: `n / (k n_c)`, with the weights of the samples.
    Balanced,
    /// A factor >= 0 a class, in the order of the sorted labels.
    Each(Vec<f64>),
}

/// Factors of the features.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum FeatureScales {
    /// Features stay as they come.
    #[default]
    One,
    /// A factor >= 0 a feature, not all 0.
    Given(Vec<f64>),
    /// Learnt from the rows (kernels Gaussian and Laplacian), and kept where an error on rows held
    /// out falls. γ is learnt with them, where it is none that was given as a number.
    Learn,
}

impl From<Vec<f64>> for FeatureScales {
    fn from(scales: Vec<f64>) -> Self {
        Self::Given(scales)
    }
}

impl<const D: usize> From<[f64; D]> for FeatureScales {
    fn from(scales: [f64; D]) -> Self {
        Self::Given(scales.to_vec())
    }
}

/// What a [`Builder`](super::Builder) sets beside hyperparameters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Setup {
    /// In the place of the kernel's own γ.
    pub(crate) gamma: Option<Gamma>,
    pub(crate) class_weight: ClassWeight,
    pub(crate) feature_scales: FeatureScales,
    /// None: one a core.
    pub(crate) threads: Option<usize>,
}

impl Setup {
    pub(super) fn check(&self) -> Result<()> {
        if let Some(Gamma::Value(gamma)) = self.gamma {
            positive("gamma", gamma)?;
        }
        if let ClassWeight::Each(factors) = &self.class_weight {
            factors.iter().try_for_each(|&factor| not_negative("class_weight", factor))?;
        }
        if let FeatureScales::Given(scales) = &self.feature_scales {
            scales.iter().try_for_each(|&scale| not_negative("feature_scales", scale))?;
        }
        optional(count, "threads", self.threads)
    }
}
