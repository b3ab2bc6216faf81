//! The losses, as a closed enum: what each of them is, and what it can do.

use serde::{Deserialize, Serialize};

use super::log_loss::LogLoss;
use super::pieces::{Corner, Pieces};
use crate::config::not_negative;
use crate::error::{Error, Result};

/// The losses, as a closed enum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case")]
#[non_exhaustive]
pub enum AnyLoss {
    /// `max(0, 1 - y f)`, y = ±1: `"hinge"`.
    Hinge,
    /// `max(0, 1 - y f)²`, y = ±1: `"squared_hinge"`.
    SquaredHinge,
    /// `ln(1 + exp(-y f))`, y = ±1: `"log_loss"`.
    LogLoss,
    /// `max(0, |y - f| - ε)`: `"epsilon_insensitive"`.
    EpsilonInsensitive {
        /// Half-width of the tube, at least 0.
        #[serde(default = "tenth")]
        epsilon: f64,
    },
    /// `max(0, |y - f| - ε)²`: `"squared_epsilon_insensitive"`.
    SquaredEpsilonInsensitive {
        /// Half-width of the tube, at least 0.
        #[serde(default = "tenth")]
        epsilon: f64,
    },
    /// `max(q (y - f), (1 - q) (f - y))`, whose mean is least at the q-quantile: `"quantile"`.
    Quantile {
        /// Which quantile q of the targets f is, in (0, 1).
        #[serde(default = "half")]
        quantile: f64,
    },
}

/// ε, where JSON does not tell.
fn tenth() -> f64 {
    0.1
}

/// The median, where JSON does not tell.
fn half() -> f64 {
    0.5
}

impl AnyLoss {
    /// Checks the parameters.
    ///
    /// # Errors
    /// `InvalidParam` for an ε that is negative or not finite, and a quantile outside (0, 1).
    pub fn check(&self) -> Result<()> {
        match *self {
            Self::Hinge | Self::SquaredHinge | Self::LogLoss => Ok(()),
            Self::EpsilonInsensitive { epsilon } | Self::SquaredEpsilonInsensitive { epsilon } => {
                not_negative("epsilon", epsilon)
            }
            Self::Quantile { quantile } => {
                if quantile > 0.0 && quantile < 1.0 {
                    return Ok(());
                }
                Err(Error::param("quantile", "> 0 and < 1", quantile))
            }
        }
    }

    /// The loss's name in Python and in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hinge => "hinge",
            Self::SquaredHinge => "squared_hinge",
            Self::LogLoss => "log_loss",
            Self::EpsilonInsensitive { .. } => "epsilon_insensitive",
            Self::SquaredEpsilonInsensitive { .. } => "squared_epsilon_insensitive",
            Self::Quantile { .. } => "quantile",
        }
    }

    /// Whether targets are labels -1 and +1 (else real numbers).
    #[must_use]
    pub fn is_classification(&self) -> bool {
        match self {
            Self::Hinge | Self::SquaredHinge | Self::LogLoss => true,
            Self::EpsilonInsensitive { .. }
            | Self::SquaredEpsilonInsensitive { .. }
            | Self::Quantile { .. } => false,
        }
    }

    /// Whether it is `(y - f)²`, which serves classes too.
    #[must_use]
    pub fn is_least_squares(&self) -> bool {
        matches!(self.pieces(1.0), Pieces::Parabola { .. })
    }

    /// Whether its slope has a bound, as stochastic gradients need it.
    #[must_use]
    pub fn has_bounded_slope(&self) -> bool {
        match self.pieces(1.0) {
            Pieces::Linear(_) | Pieces::Smooth(_) => true,
            Pieces::Squared(_) | Pieces::Parabola { .. } => false,
        }
    }

    /// How far from 0 decision values reach, at most, where an offset alone is fitted to targets
    /// like y, `n` times as much in all as any of them counts.
    #[must_use]
    pub(crate) fn extent(&self, y: f64, n: f64) -> f64 {
        match self {
            Self::Hinge
            | Self::SquaredHinge
            | Self::EpsilonInsensitive { .. }
            | Self::SquaredEpsilonInsensitive { .. }
            | Self::Quantile { .. } => y.abs(),
            // From where on n slopes of e⁻ᶠ are less than one of 1 - e⁻ᶠ.
            Self::LogLoss => n.ln_1p(),
        }
    }

    /// The half-width of the tube in which errors cost nothing.
    #[must_use]
    pub(crate) fn tube(&self) -> Option<f64> {
        match *self {
            Self::Hinge | Self::SquaredHinge | Self::LogLoss | Self::Quantile { .. } => None,
            Self::EpsilonInsensitive { epsilon } | Self::SquaredEpsilonInsensitive { epsilon } => {
                Some(epsilon)
            }
        }
    }

    /// The quantile of the targets that has about the least loss of all constants; none where that
    /// is the mean, or where targets are classes.
    #[must_use]
    pub(crate) fn level(&self) -> Option<f64> {
        match *self {
            Self::Hinge
            | Self::SquaredHinge
            | Self::LogLoss
            | Self::SquaredEpsilonInsensitive { .. } => None,
            Self::EpsilonInsensitive { .. } => Some(0.5),
            Self::Quantile { quantile } => Some(quantile),
        }
    }

    /// The same of another quantile, where there is one: the loss of one of several outputs.
    #[inline]
    #[must_use]
    pub(crate) fn at_level(self, level: Option<f64>) -> Self {
        match level {
            Some(quantile) => Self::Quantile { quantile },
            None => self,
        }
    }

    /// The loss that passes on a budget run with where the coefficients of the terms that they find
    /// are solved for afterwards.
    #[must_use]
    pub(crate) fn of_passes(&self) -> Self {
        match self {
            // Every step of its own adds a term: maintenance after each, and a worse basis.
            Self::LogLoss => Self::Hinge,
            Self::Hinge
            | Self::SquaredHinge
            | Self::EpsilonInsensitive { .. }
            | Self::SquaredEpsilonInsensitive { .. }
            | Self::Quantile { .. } => *self,
        }
    }

    /// What it is made of at the target y.
    #[inline(always)]
    pub(super) fn pieces(&self, y: f64) -> Pieces {
        // `1 - y f`.
        let margin = Corner { sign: -y, center: 0.0, edge: -1.0, weight: 1.0 };
        let tube = |epsilon| (Corner::down(y, epsilon, 1.0), Some(Corner::up(y, epsilon, 1.0)));
        match *self {
            Self::Hinge => Pieces::Linear((margin, None)),
            Self::SquaredHinge => Pieces::Squared((margin, None)),
            Self::LogLoss => Pieces::Smooth(LogLoss { y }),
            Self::EpsilonInsensitive { epsilon } => Pieces::Linear(tube(epsilon)),
            Self::SquaredEpsilonInsensitive { epsilon: 0.0 } => Pieces::Parabola { center: y },
            Self::SquaredEpsilonInsensitive { epsilon } => Pieces::Squared(tube(epsilon)),
            Self::Quantile { quantile } => Pieces::Linear((
                Corner::down(y, 0.0, quantile),
                Some(Corner::up(y, 0.0, 1.0 - quantile)),
            )),
        }
    }

    /// Refuses a loss for the other kind of targets.
    pub(crate) fn expect_classes(&self, classes: bool) -> Result<()> {
        if self.is_classification() == classes {
            return Ok(());
        }
        let expected = if classes { "a loss for classes" } else { "a loss for real values" };
        Err(Error::param("loss", expected, self.name()))
    }

    /// `L(y, f)`, at least 0.
    #[inline(always)]
    #[must_use]
    pub fn value(&self, y: f64, f: f64) -> f64 {
        self.pieces(y).at(f, 0.0).value
    }

    /// Minus a subgradient of the loss in `f`: what a stochastic step adds to the model, up to
    /// its length. 0 where the loss is 0.
    #[inline(always)]
    #[must_use]
    pub fn violation(&self, y: f64, f: f64) -> f64 {
        // Not -0.
        0.0 - self.pieces(y).at(f, 0.0).slope
    }

    /// [`AnyLoss::violation`] of many targets and decision values that are numbers; all of one
    /// length.
    pub(crate) fn violations(&self, y: &[f64], f: &[f64], out: &mut [f64]) {
        match *self {
            Self::Hinge => each(y, f, out, |y, f| if y * f < 1.0 { y } else { 0.0 }),
            Self::EpsilonInsensitive { epsilon } => tube(y, f, out, (epsilon, 1.0, 1.0)),
            Self::Quantile { quantile } => tube(y, f, out, (0.0, quantile, 1.0 - quantile)),
            Self::SquaredHinge | Self::LogLoss | Self::SquaredEpsilonInsensitive { .. } => {
                each(y, f, out, |y, f| self.violation(y, f));
            }
        }
    }
}

/// `of` of every target and value. Without branches, it becomes vector code.
#[inline(always)]
fn each(y: &[f64], f: &[f64], out: &mut [f64], of: impl Fn(f64, f64) -> f64) {
    for ((&y, &f), out) in y.iter().zip(f).zip(out) {
        *out = of(y, f);
    }
}

/// What two corners, `edge` off the target, with these weights below and above it make.
#[inline(always)]
fn tube(y: &[f64], f: &[f64], out: &mut [f64], (edge, below, above): (f64, f64, f64)) {
    each(y, f, out, |y, f| {
        let low = if y - f > edge { below } else { 0.0 };
        if f - y > edge { -above } else { low }
    });
}
