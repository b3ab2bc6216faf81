//! A training problem, checked once before any work starts.

use super::Rows;
use crate::error::{Error, LARGE, Result, check_room};
use crate::float::Real;
use crate::parallel::{ROW_CHUNK, thread_count};
use crate::simd;

/// What is to be predicted.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// Class indices `0..n_classes`. Two classes make one output (class 1 is +1), more make one
    /// output a class (one against the rest).
    Classes {
        /// Class of each sample.
        index: &'a [u32],
        /// Number of classes, at least 2.
        n_classes: usize,
    },
    /// Real values.
    Values(&'a [f64]),
}

impl Targets<'_> {
    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { index, .. } => index.len(),
            Self::Values(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of outputs of a machine for these targets.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        match self {
            Self::Classes { n_classes, .. } if *n_classes > 2 => *n_classes,
            _ => 1,
        }
    }

    /// The target of sample `i` for one output: -1 or +1, or the real value.
    ///
    /// # Panics
    /// Unless `i < len`.
    #[inline]
    #[must_use]
    pub fn value(&self, i: usize, output: usize) -> f64 {
        match self {
            Self::Values(values) => values[i],
            Self::Classes { index, n_classes } => {
                let positive = if *n_classes > 2 { output as u32 } else { 1 };
                if index[i] == positive { 1.0 } else { -1.0 }
            }
        }
    }
}

/// The targets of some samples.
#[derive(Clone, Debug)]
pub(crate) enum SomeTargets {
    Classes { index: Vec<u32>, n_classes: usize },
    Values(Vec<f64>),
}

impl SomeTargets {
    pub(crate) fn new(targets: Targets<'_>, chosen: impl Iterator<Item = usize>) -> Self {
        match targets {
            Targets::Classes { index, n_classes } => {
                Self::Classes { index: chosen.map(|i| index[i]).collect(), n_classes }
            }
            Targets::Values(values) => Self::Values(chosen.map(|i| values[i]).collect()),
        }
    }

    /// Some after another, all of one kind.
    pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut out = Self::Values(Vec::new());
        for part in parts {
            match (&mut out, part) {
                (Self::Values(all), Self::Values(values)) => all.extend(values),
                (Self::Classes { index: all, .. }, Self::Classes { index, .. }) => {
                    all.extend(index);
                }
                (out, part) => *out = part.clone(),
            }
        }
        out
    }

    pub(crate) fn view(&self) -> Targets<'_> {
        match self {
            Self::Classes { index, n_classes } => Targets::Classes { index, n_classes: *n_classes },
            Self::Values(values) => Targets::Values(values),
        }
    }
}

/// Rows, targets and the per-sample cost `C_i = C * class_weight * sample_weight_i`.
#[derive(Clone, Copy, Debug)]
pub struct Problem<'a, F: Real> {
    rows: Rows<'a, F>,
    targets: Targets<'a>,
    cost: &'a [f64],
}

impl<'a, F: Real> Problem<'a, F> {
    /// Checks everything that solvers rely on.
    ///
    /// # Errors
    /// `InvalidData` without rows or features, `LengthMismatch`, `NonFinite`, `BadLabels` for
    /// class indices out of range, `InvalidParam` for costs that are negative or all zero.
    pub fn new(rows: Rows<'a, F>, targets: Targets<'a>, cost: &'a [f64]) -> Result<Self> {
        let n = rows.n_rows();
        if n == 0 || rows.n_cols() == 0 {
            return Err(Error::InvalidData {
                what: "X",
                reason: format!("{n} samples of {} features, at least 1 of each", rows.n_cols()),
            });
        }
        for (what, got) in [("y", targets.len()), ("sample_weight", cost.len())] {
            if got != n {
                return Err(Error::LengthMismatch { what, expected: n, got });
            }
        }
        rows.check_finite("X")?;
        // Orders, targets and the like, which are a few numbers a sample; and a chunk of rows a
        // thread.
        let wide = if matches!(rows, Rows::Csr(_)) { 0 } else { rows.n_cols() };
        let chunks = n.min(ROW_CHUNK * thread_count(None)?);
        let bytes = n.saturating_mul(64 + 8 * targets.n_outputs());
        let bytes = bytes.saturating_add(chunks.saturating_mul(wide).saturating_mul(16));
        if bytes > LARGE {
            check_room("the samples", bytes)?;
        }
        match targets {
            Targets::Values(values) => {
                if let Some(row) = values.iter().position(|v| !v.is_finite()) {
                    return Err(Error::NonFinite { what: "y", row, column: 0 });
                }
            }
            Targets::Classes { index, n_classes } => {
                if n_classes < 2 {
                    return Err(Error::BadLabels(format!("{n_classes} class, at least 2 needed")));
                }
                if let Some(bad) = index.iter().find(|&&c| c as usize >= n_classes) {
                    return Err(Error::BadLabels(format!("class index {bad} of {n_classes}")));
                }
            }
        }
        if let Some(row) = cost.iter().position(|c| !c.is_finite()) {
            return Err(Error::NonFinite { what: "sample_weight", row, column: 0 });
        }
        if let Some(bad) = cost.iter().find(|&&c| c < 0.0) {
            return Err(Error::param("sample_weight", ">= 0", bad));
        }
        if cost.iter().all(|&c| c == 0.0) {
            return Err(Error::param("sample_weight", "not all zero", 0));
        }
        Ok(Self { rows, targets, cost })
    }

    /// The same samples with other costs, which were checked.
    pub(crate) fn with_cost<'b>(&'b self, cost: &'b [f64]) -> Problem<'b, F> {
        Problem { rows: self.rows.view(), targets: self.targets, cost }
    }

    /// The samples.
    #[must_use]
    pub fn rows(&self) -> Rows<'a, F> {
        self.rows
    }

    /// The targets.
    #[must_use]
    pub fn targets(&self) -> Targets<'a> {
        self.targets
    }

    /// `C_i` of every sample.
    #[must_use]
    pub fn cost(&self) -> &'a [f64] {
        self.cost
    }

    /// Asks for the target and the cost of a sample that will be needed soon.
    pub(crate) fn prefetch(&self, sample: usize) {
        match self.targets {
            Targets::Classes { index, .. } => simd::prefetch(&index[sample]),
            Targets::Values(values) => simd::prefetch(&values[sample]),
        }
        simd::prefetch(&self.cost[sample]);
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.n_rows()
    }

    /// Never true: an empty problem is refused.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        false
    }
}
