//! What a kernel is made of, as the blocks and the feature maps need it.

use crate::error::Result;
use crate::rng::Rng;
use crate::simd::Map;
use crate::watch::Look;

/// How a kernel's values are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Form {
    /// `map(γ distance(x, z))`, 1 at distance 0.
    Distance {
        /// The distance.
        of: Distance,
        /// γ.
        gamma: f64,
        /// From `γ distance` to the value.
        map: Map,
        /// How much more than the exponential's the map's value moves, at most, when `γ distance`
        /// is off by a little: what the distance may lose to rounding depends on it.
        steepness: f64,
    },
    /// A function of `x·z`.
    Product(Product),
}

/// The distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Distance {
    /// `‖x - z‖²`.
    Squared,
    /// `‖x - z‖₁`.
    Absolute,
}

/// The functions of a product.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Product {
    /// `t`.
    Plain,
    /// `(γ t + coef0)^degree`.
    Power { gamma: f64, coef0: f64, degree: u32 },
    /// `tanh(γ t + coef0)`.
    Tanh { gamma: f64, coef0: f64 },
}

impl Form {
    /// `exp(-γ distance)`.
    pub(crate) fn exponential(of: Distance, gamma: f64) -> Self {
        Self::Distance { of, gamma, map: Map::Exponential, steepness: 1.0 }
    }
}

impl Product {
    /// The kernel at this product.
    pub(crate) fn at(self, t: f64) -> f64 {
        match self {
            Self::Plain => t,
            Self::Power { gamma, coef0, degree } => {
                (gamma * t + coef0).powi(i32::try_from(degree).unwrap_or(i32::MAX))
            }
            Self::Tanh { gamma, coef0 } => (gamma * t + coef0).tanh(),
        }
    }
}

/// Distributions of frequencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spectrum {
    /// `N(0, scale² I)`.
    Normal {
        /// Standard deviation of an entry.
        scale: f64,
    },
    /// `N(0, scale² I)` over the root of an independent `χ²(degrees)/degrees`: multivariate t.
    Student {
        /// Scale of an entry.
        scale: f64,
        /// Degrees of freedom, at least 1.
        degrees: u32,
    },
    /// Entries of their own, each Cauchy distributed: not rotation invariant.
    Cauchy {
        /// Scale of an entry.
        scale: f64,
    },
}

impl Spectrum {
    /// Fills `rows`, at most d of `d` entries, with frequencies; `turn` may rotate rows drawn from
    /// `N(0, I)` of a spectrum that is rotation invariant.
    ///
    /// # Errors
    /// Those of `look`, which is asked between rows, and of `turn`.
    pub fn draw(
        self,
        (rows, d): (&mut [f64], usize),
        rng: &mut Rng,
        look: Look<'_>,
        turn: impl FnOnce(&mut [f64], &mut Rng, Look<'_>) -> Result<()>,
    ) -> Result<()> {
        debug_assert!(rows.len().is_multiple_of(d), "whole rows");
        let each = |rows: &mut [f64], look: Look<'_>, value: &mut dyn FnMut() -> f64| {
            rows.chunks_mut(d).try_for_each(|row| {
                row.fill_with(&mut *value);
                look()
            })
        };
        match self {
            Self::Normal { scale } => {
                each(rows, look, &mut || rng.normal())?;
                turn(rows, rng, look)?;
                rows.iter_mut().for_each(|v| *v *= scale);
            }
            Self::Student { scale, degrees } => {
                each(rows, look, &mut || rng.normal())?;
                turn(rows, rng, look)?;
                for row in rows.chunks_exact_mut(d) {
                    let square = (0..degrees).map(|_| rng.normal().powi(2)).sum::<f64>();
                    let by = scale / (square / f64::from(degrees)).sqrt().max(1e-6);
                    row.iter_mut().for_each(|v| *v *= by);
                }
            }
            // The quantile function of the Cauchy distribution; a uniform of exactly 0 would give
            // a wave of no use.
            Self::Cauchy { scale } => each(rows, look, &mut || {
                scale * (std::f64::consts::PI * (rng.uniform().max(1e-12) - 0.5)).tan()
            })?,
        }
        Ok(())
    }

    /// Whether rotated frequencies are distributed alike.
    #[must_use]
    pub fn is_rotation_invariant(self) -> bool {
        match self {
            Self::Normal { .. } | Self::Student { .. } => true,
            Self::Cauchy { .. } => false,
        }
    }
}
