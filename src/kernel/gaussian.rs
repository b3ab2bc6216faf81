//! The Gaussian kernel as a type of its own, for code that chooses it when it is written.

use super::AnyKernel;
use crate::error::Result;

/// `exp(-γ ‖x - z‖²)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    gamma: f64,
}

impl Gaussian {
    /// The kernel of this γ, > 0 and finite.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn new(gamma: f64) -> Result<Self> {
        AnyKernel::Gaussian { gamma }.check()?;
        Ok(Self { gamma })
    }
}

impl From<Gaussian> for AnyKernel {
    fn from(Gaussian { gamma }: Gaussian) -> Self {
        Self::Gaussian { gamma }
    }
}
