//! The kernels, as a closed enum: the one choice made at run time, matched once a block.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A kernel function and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum AnyKernel {
    /// `exp(-γ ‖x - z‖²)`: `"rbf"`.
    #[serde(rename = "rbf")]
    Gaussian {
        /// γ > 0.
        #[serde(default = "one")]
        gamma: f64,
    },
    /// `exp(-γ ‖x - z‖₁)`: `"laplacian"`.
    #[serde(rename = "laplacian")]
    Laplacian {
        /// γ > 0.
        #[serde(default = "one")]
        gamma: f64,
    },
    /// `(γ x·z + coef0)^degree`: `"poly"`.
    #[serde(rename = "poly")]
    Polynomial {
        /// γ > 0.
        #[serde(default = "one")]
        gamma: f64,
        /// The constant added.
        #[serde(default)]
        coef0: f64,
        /// A natural number.
        #[serde(default = "three")]
        degree: u32,
    },
    /// `tanh(γ x·z + coef0)`: `"sigmoid"`. Not positive definite in general.
    #[serde(rename = "sigmoid")]
    Sigmoid {
        /// γ > 0.
        #[serde(default = "one")]
        gamma: f64,
        /// The constant added.
        #[serde(default)]
        coef0: f64,
    },
    /// `x·z`: `"linear"`.
    #[serde(rename = "linear")]
    Linear,
}

/// γ, where JSON does not tell.
fn one() -> f64 {
    1.0
}

/// The degree, where JSON does not tell.
fn three() -> u32 {
    3
}

impl AnyKernel {
    /// The kernel of this name, its parameters checked.
    ///
    /// # Errors
    /// `InvalidParam` for an unknown name, γ that is not positive and finite, coef0 that is not
    /// finite.
    pub fn from_name(name: &str, gamma: f64, coef0: f64, degree: u32) -> Result<Self> {
        let kernel = match name {
            "rbf" => Self::Gaussian { gamma },
            "laplacian" => Self::Laplacian { gamma },
            "poly" => Self::Polynomial { gamma, coef0, degree },
            "sigmoid" => Self::Sigmoid { gamma, coef0 },
            "linear" => Self::Linear,
            _ => {
                return Err(Error::param(
                    "kernel",
                    "'rbf', 'laplacian', 'poly', 'sigmoid' or 'linear'",
                    format!("'{name}'"),
                ));
            }
        };
        kernel.check()?;
        Ok(kernel)
    }

    /// The kernel's name in Python and in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "rbf",
            Self::Laplacian { .. } => "laplacian",
            Self::Polynomial { .. } => "poly",
            Self::Sigmoid { .. } => "sigmoid",
            Self::Linear => "linear",
        }
    }

    /// γ; 1 for the linear kernel, which has none.
    #[must_use]
    pub fn gamma(&self) -> f64 {
        match *self {
            Self::Gaussian { gamma }
            | Self::Laplacian { gamma }
            | Self::Polynomial { gamma, .. }
            | Self::Sigmoid { gamma, .. } => gamma,
            Self::Linear => 1.0,
        }
    }

    /// Whether the parameters are in range.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        if let Self::Gaussian { gamma }
        | Self::Laplacian { gamma }
        | Self::Polynomial { gamma, .. }
        | Self::Sigmoid { gamma, .. } = *self
            && !(gamma > 0.0 && gamma.is_finite())
        {
            return Err(Error::param("gamma", "> 0 and finite", gamma));
        }
        if let Self::Polynomial { coef0, .. } | Self::Sigmoid { coef0, .. } = *self
            && !coef0.is_finite()
        {
            return Err(Error::param("coef0", "finite", coef0));
        }
        Ok(())
    }
}
