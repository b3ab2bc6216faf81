//! The kernels, as a closed enum: the one choice made at run time, matched once a block.
//!
//! Nobody else asks which kernel it is. What a kernel is made of is its [`Form`], what can be done
//! with it are the questions below; none has a wildcard arm, so a new kernel answers all of them.

use serde::{Deserialize, Serialize};

use super::form::{Distance, Form, Product, Spectrum};
use super::matern;
use crate::config::positive;
use crate::error::{Error, Result};

/// A kernel function and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name")]
#[non_exhaustive]
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
    /// Matérn, of smoothness 3/2: `"matern32"`.
    #[serde(rename = "matern32")]
    Matern32 {
        /// γ > 0, `1/(2ℓ²)` of the length scale ℓ.
        #[serde(default = "one")]
        gamma: f64,
    },
    /// Matérn, of smoothness 5/2: `"matern52"`.
    #[serde(rename = "matern52")]
    Matern52 {
        /// γ > 0, `1/(2ℓ²)` of the length scale ℓ.
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

/// One of every kind, in the order in which messages name them.
const EVERY: [AnyKernel; 7] = [
    AnyKernel::Gaussian { gamma: 1.0 },
    AnyKernel::Laplacian { gamma: 1.0 },
    AnyKernel::Matern32 { gamma: 1.0 },
    AnyKernel::Matern52 { gamma: 1.0 },
    AnyKernel::Polynomial { gamma: 1.0, coef0: 0.0, degree: 3 },
    AnyKernel::Sigmoid { gamma: 1.0, coef0: 0.0 },
    AnyKernel::Linear,
];

impl AnyKernel {
    /// The names of the kernels that are `wanted`, for messages: `'rbf', 'poly' or 'linear'`.
    #[must_use]
    pub fn names(wanted: impl Fn(&Self) -> bool) -> String {
        let names: Vec<String> =
            EVERY.iter().filter(|k| wanted(k)).map(|k| format!("'{}'", k.name())).collect();
        match names.split_last() {
            Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
            _ => names.concat(),
        }
    }

    /// The kernel's name in Python and in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Gaussian { .. } => "rbf",
            Self::Laplacian { .. } => "laplacian",
            Self::Matern32 { .. } => "matern32",
            Self::Matern52 { .. } => "matern52",
            Self::Polynomial { .. } => "poly",
            Self::Sigmoid { .. } => "sigmoid",
            Self::Linear => "linear",
        }
    }

    fn gamma_mut(&mut self) -> Option<&mut f64> {
        match self {
            Self::Gaussian { gamma }
            | Self::Laplacian { gamma }
            | Self::Matern32 { gamma }
            | Self::Matern52 { gamma }
            | Self::Polynomial { gamma, .. }
            | Self::Sigmoid { gamma, .. } => Some(gamma),
            Self::Linear => None,
        }
    }

    /// γ; 1 for the linear kernel, which has none.
    #[must_use]
    pub fn gamma(&self) -> f64 {
        let mut kernel = *self;
        kernel.gamma_mut().map_or(1.0, |gamma| *gamma)
    }

    /// The kernel with this γ; the linear kernel as it is.
    #[must_use]
    pub fn with_gamma(mut self, value: f64) -> Self {
        if let Some(gamma) = self.gamma_mut() {
            *gamma = value;
        }
        self
    }

    /// Whether the parameters are in range.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn check(&self) -> Result<()> {
        positive("gamma", self.gamma())?;
        if let Self::Polynomial { coef0, .. } | Self::Sigmoid { coef0, .. } = *self
            && !coef0.is_finite()
        {
            return Err(Error::param("coef0", "finite", coef0));
        }
        Ok(())
    }

    /// How it is computed.
    pub(crate) fn form(&self) -> Form {
        match *self {
            Self::Gaussian { gamma } => Form::exponential(Distance::Squared, gamma),
            Self::Laplacian { gamma } => Form::exponential(Distance::Absolute, gamma),
            Self::Matern32 { gamma } => matern::form(3, gamma),
            Self::Matern52 { gamma } => matern::form(5, gamma),
            Self::Polynomial { gamma, coef0, degree } => {
                Form::Product(Product::Power { gamma, coef0, degree })
            }
            Self::Sigmoid { gamma, coef0 } => Form::Product(Product::Tanh { gamma, coef0 }),
            Self::Linear => Form::Product(Product::Plain),
        }
    }

    /// Whether `k(x, z)` depends on `x - z` alone; `k(x, x)` is 1 then.
    #[must_use]
    pub fn is_translation_invariant(&self) -> bool {
        matches!(self.form(), Form::Distance { .. })
    }

    /// γ, if the kernel is `exp(-γ ‖x - z‖²)`. Merging and the gradients in the points are derived
    /// for this kernel: for a point z on the line from a to b, `k(a, z)` is a power of `k(a, b)`,
    /// and the gradient is a multiple of the value. Its blocks keep `G = γ ‖x - z‖²`
    /// ([`AnyKernel::stored`]).
    #[must_use]
    pub fn gaussian_gamma(&self) -> Option<f64> {
        match *self {
            Self::Gaussian { gamma } => Some(gamma),
            Self::Laplacian { .. }
            | Self::Matern32 { .. }
            | Self::Matern52 { .. }
            | Self::Polynomial { .. }
            | Self::Sigmoid { .. }
            | Self::Linear => None,
        }
    }

    /// The kernel with γ times this factor, if it is `exp(-γ distance)`: then `dk/d ln γ = k ln k`,
    /// which tuning by the leave-one-out criterion needs.
    #[must_use]
    pub fn with_width(&self, factor: f64) -> Option<Self> {
        match *self {
            Self::Gaussian { gamma } | Self::Laplacian { gamma } => {
                Some(self.with_gamma(gamma * factor))
            }
            Self::Matern32 { .. }
            | Self::Matern52 { .. }
            | Self::Polynomial { .. }
            | Self::Sigmoid { .. }
            | Self::Linear => None,
        }
    }

    /// The distribution of frequencies whose waves have this kernel as their mean, if there is one.
    #[must_use]
    pub fn spectrum(&self) -> Option<Spectrum> {
        match *self {
            Self::Gaussian { gamma } => Some(Spectrum::Normal { scale: (2.0 * gamma).sqrt() }),
            Self::Laplacian { gamma } => Some(Spectrum::Cauchy { scale: gamma }),
            Self::Matern32 { gamma } => Some(matern::spectrum(3, gamma)),
            Self::Matern52 { gamma } => Some(matern::spectrum(5, gamma)),
            Self::Polynomial { .. } | Self::Sigmoid { .. } | Self::Linear => None,
        }
    }

    /// `k(x, z)` of two rows, plainly: the twin of the blocks.
    #[must_use]
    pub fn eval(&self, x: &[f64], z: &[f64]) -> f64 {
        let pairs = || x.iter().zip(z);
        let square = || pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        let dot = || pairs().map(|(a, b)| a * b).sum::<f64>();
        match *self {
            Self::Gaussian { gamma } => (-gamma * square()).exp(),
            Self::Laplacian { gamma } => {
                (-gamma * pairs().map(|(a, b)| (a - b).abs()).sum::<f64>()).exp()
            }
            Self::Matern32 { gamma } => matern::value(3, gamma, square()),
            Self::Matern52 { gamma } => matern::value(5, gamma, square()),
            Self::Polynomial { gamma, coef0, degree } => {
                (gamma * dot() + coef0).powi(i32::try_from(degree).unwrap_or(i32::MAX))
            }
            Self::Sigmoid { gamma, coef0 } => (gamma * dot() + coef0).tanh(),
            Self::Linear => dot(),
        }
    }
}
