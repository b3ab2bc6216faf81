//! What ASSET is told: its settings, and the samples.

use crate::config::{count, optional, positive};
use crate::data::{SampleOrder, Targets};
use crate::error::{Error, Result};
use crate::loss::AnyLoss;

/// Which iterates are averaged.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
pub enum Average {
    /// None: the answer is the last iterate.
    None,
    /// This many at the end.
    Last(u64),
    /// This share of the steps, at their end, in (0, 1]. A stream has no end: there all iterates
    /// count, with weights `j^((1 - share)/share)`, half of which lie in about that share
    /// (\[SHAMIR\]).
    Share(f64),
}

impl Average {
    /// N̄, the first step that counts, of `steps`.
    pub(super) fn from(self, steps: u64) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Last(count) => steps.saturating_sub(count),
            Self::Share(share) => (steps as f64 * (1.0 - share)) as u64,
        }
    }
}

/// What does not change while training.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The loss, not squared.
    pub loss: AnyLoss,
    /// ASSET*: steps 1/(λ j), no offset.
    pub strongly_convex: bool,
    /// Whether there is an offset (ASSET only).
    pub fit_intercept: bool,
    /// B, the largest magnitude of the offset, > 0. None: what no optimum is beyond.
    pub max_intercept: Option<f64>,
    /// Passes, at least 1.
    pub max_iter: usize,
    /// Which iterates are averaged.
    pub average: Average,
    /// Order of a pass over the samples.
    pub order: SampleOrder,
    /// Whether this is a part of a stream.
    pub stream: bool,
}

/// Targets and costs of the samples behind a source of rows.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// Targets of all rows.
    pub targets: Targets<'a>,
    /// Rows of the samples.
    pub index: &'a [usize],
    /// `C_i` of the samples, positive.
    pub cost: &'a [f64],
    /// `Σ C_i` of the whole problem; in a stream the part at hand may be a part of it.
    pub total: f64,
}

impl Task<'_> {
    /// Target of a sample for an output.
    #[inline]
    pub(super) fn y(&self, sample: usize, output: usize) -> f64 {
        self.targets.value(self.index[sample], output)
    }
}

impl Settings {
    /// Whether everything is in its range.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self) -> Result<()> {
        self.loss.check()?;
        count("max_iter", self.max_iter)?;
        if !self.loss.has_bounded_slope() {
            return Err(Error::Unsupported(
                "a squared loss needs solver='dual': its gradient has no bound".into(),
            ));
        }
        if self.strongly_convex && self.fit_intercept {
            return Err(Error::Unsupported(
                "strongly_convex=true needs fit_intercept=false: with an offset the objective is \
                 not strongly convex"
                    .into(),
            ));
        }
        optional(positive, "max_intercept", self.max_intercept)?;
        if self.max_intercept.is_some() && !self.fit_intercept {
            return Err(Error::Unsupported("max_intercept needs fit_intercept=true".into()));
        }
        match self.average {
            Average::Last(0) => Err(Error::param("averaging", ">= 1", 0)),
            Average::Share(share) if !(share > 0.0 && share <= 1.0) => {
                Err(Error::param("averaging", "in (0, 1]", share))
            }
            Average::None | Average::Last(_) | Average::Share(_) => Ok(()),
        }
    }

    /// The power of j that an iterate of a stream counts with, where a share is averaged.
    pub(super) fn power(&self) -> Option<f64> {
        match self.average {
            Average::Share(share) if self.stream => Some((1.0 - share) / share),
            Average::None | Average::Last(_) | Average::Share(_) => None,
        }
    }
}
