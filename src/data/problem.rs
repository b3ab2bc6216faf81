//! A training problem, checked once before any work starts.

use super::Rows;
use crate::error::{Error, LARGE, Result, check_room, try_collect, try_copy, try_extend, try_vec};
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK, thread_count};
use crate::simd::{self, zeroed, zeroed_places};

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
    /// Several values a sample, an output each: real ones; or -1 and +1, for labels that do not
    /// exclude each other.
    Columns {
        /// Samples x outputs.
        values: &'a [f64],
        /// Number of outputs, at least 1.
        n_outputs: usize,
        /// The quantile that each output is to be, in (0, 1), where each is another one; else empty.
        levels: &'a [f64],
    },
}

impl<'a> Targets<'a> {
    /// Several values a sample, `values` of samples x outputs.
    #[must_use]
    pub fn columns(values: &'a [f64], n_outputs: usize) -> Self {
        Self::Columns { values, n_outputs, levels: &[] }
    }

    /// Number of samples.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Classes { index, .. } => index.len(),
            Self::Values(values) => values.len(),
            Self::Columns { values, n_outputs, .. } => values.len() / (*n_outputs).max(1),
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
            Self::Classes { .. } | Self::Values(_) => 1,
            Self::Columns { n_outputs, .. } => *n_outputs,
        }
    }

    /// The quantile that an output is to be, where each is another one.
    #[inline]
    #[must_use]
    pub fn level(&self, output: usize) -> Option<f64> {
        match self {
            Self::Classes { .. } | Self::Values(_) => None,
            Self::Columns { levels, .. } => levels.get(output).copied(),
        }
    }

    /// What a sample is to be, as numbers: its class, or its values.
    pub(crate) fn numbers(&self, i: usize) -> impl Iterator<Item = f64> {
        let (class, values) = match self {
            Self::Classes { index, .. } => (Some(f64::from(index[i])), &[][..]),
            Self::Values(values) => (None, &values[i..=i]),
            Self::Columns { values, n_outputs: m, .. } => (None, &values[i * m..(i + 1) * m]),
        };
        class.into_iter().chain(values.iter().copied())
    }

    /// What all outputs are to make of a sample, appended to `out`.
    pub(crate) fn append(&self, i: usize, out: &mut Vec<f64>) {
        match self {
            Self::Classes { .. } => out.extend((0..self.n_outputs()).map(|c| self.value(i, c))),
            Self::Values(values) => out.push(values[i]),
            Self::Columns { values, n_outputs: m, .. } => {
                out.extend_from_slice(&values[i * m..(i + 1) * m]);
            }
        }
    }

    /// Whether they are classes, which exclude each other.
    #[must_use]
    pub fn are_classes(&self) -> bool {
        matches!(self, Self::Classes { .. })
    }

    /// The values less a number an output; none for classes, and where nothing is taken off.
    pub(crate) fn less(&self, by: &[f64]) -> Result<Option<SomeTargets>> {
        let (values, moved) = match *self {
            Self::Classes { .. } => return Ok(None),
            Self::Values(values) | Self::Columns { values, .. } => (values, by),
        };
        if moved.iter().all(|&by| by == 0.0) {
            return Ok(None);
        }
        let mut out = try_vec("values", values.len(), 0.0)?;
        let each = values.iter().zip(moved.iter().cycle());
        out.iter_mut().zip(each).for_each(|(to, (y, by))| *to = y - by);
        Ok(Some(match *self {
            Self::Columns { n_outputs, levels, .. } => {
                SomeTargets::Columns { values: out, n_outputs, levels: try_copy("levels", levels)? }
            }
            Self::Classes { .. } | Self::Values(_) => SomeTargets::Values(out),
        }))
    }

    /// Columns of values, one after another; nothing of classes, and of values that are one column.
    pub(crate) fn apart(&self) -> Result<Vec<f64>> {
        let Self::Columns { values, n_outputs: m, .. } = *self else { return Ok(Vec::new()) };
        let mut out = try_vec("values", values.len(), 0.0)?;
        for (c, column) in out.chunks_exact_mut((values.len() / m).max(1)).enumerate() {
            column.iter_mut().zip(values.iter().skip(c).step_by(m)).for_each(|(to, y)| *to = *y);
        }
        Ok(out)
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
            Self::Columns { values, n_outputs, .. } => values[i * n_outputs + output],
            Self::Classes { index, n_classes } => {
                let positive = if *n_classes > 2 { output as u32 } else { 1 };
                if index[i] == positive { 1.0 } else { -1.0 }
            }
        }
    }
}

impl<'a> From<&'a [f64]> for Targets<'a> {
    fn from(values: &'a [f64]) -> Self {
        Self::Values(values)
    }
}

impl<'a> From<&'a Vec<f64>> for Targets<'a> {
    fn from(values: &'a Vec<f64>) -> Self {
        Self::Values(values)
    }
}

impl<'a, const N: usize> From<&'a [f64; N]> for Targets<'a> {
    fn from(values: &'a [f64; N]) -> Self {
        Self::Values(values)
    }
}

/// The targets of some samples.
#[derive(Clone, Debug)]
pub(crate) enum SomeTargets {
    Classes { index: Vec<u32>, n_classes: usize },
    Values(Vec<f64>),
    Columns { values: Vec<f64>, n_outputs: usize, levels: Vec<f64> },
}

impl SomeTargets {
    pub(crate) fn new(targets: Targets<'_>, chosen: impl Iterator<Item = usize>) -> Result<Self> {
        Ok(match targets {
            Targets::Classes { index, n_classes } => {
                Self::Classes { index: try_collect("y", chosen.map(|i| index[i]))?, n_classes }
            }
            Targets::Values(values) => Self::Values(try_collect("y", chosen.map(|i| values[i]))?),
            Targets::Columns { values, n_outputs: m, levels } => {
                let rows = chosen.flat_map(|i| &values[i * m..(i + 1) * m]).copied();
                let levels = try_copy("levels", levels)?;
                Self::Columns { values: try_collect("y", rows)?, n_outputs: m, levels }
            }
        })
    }

    /// The same of these samples, shared among threads.
    pub(crate) fn of(targets: Targets<'_>, chosen: &[u32]) -> Result<Self> {
        Ok(match targets {
            Targets::Classes { index, n_classes } => {
                let mut own = zeroed_places("classes", chosen.len())?;
                pick(chosen, index, &mut own);
                Self::Classes { index: own, n_classes }
            }
            Targets::Values(values) => {
                let mut own = zeroed("values", chosen.len())?;
                pick(chosen, values, &mut own);
                Self::Values(own)
            }
            Targets::Columns { .. } => Self::new(targets, chosen.iter().map(|&i| i as usize))?,
        })
    }

    /// One value a sample, as that of several outputs, a quantile each.
    pub(crate) fn of_levels(values: &[f64], levels: &[f64]) -> Result<Self> {
        let m = levels.len();
        let mut columns = try_vec("values", values.len().saturating_mul(m), 0.0)?;
        columns.chunks_exact_mut(m.max(1)).zip(values).for_each(|(row, &y)| row.fill(y));
        Ok(Self::Columns { values: columns, n_outputs: m, levels: try_copy("levels", levels)? })
    }

    /// Some after another, all of one kind.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a Self>) -> Result<Self> {
        let mut out = Self::Values(Vec::new());
        for part in parts {
            match (&mut out, part) {
                (Self::Values(all), Self::Values(values)) => try_extend("y", all, values)?,
                (Self::Classes { index: all, .. }, Self::Classes { index, .. }) => {
                    try_extend("y", all, index)?;
                }
                (Self::Columns { values: all, .. }, Self::Columns { values, .. }) => {
                    try_extend("y", all, values)?;
                }
                (out, part) => *out = Self::new(part.view(), 0..part.view().len())?,
            }
        }
        Ok(out)
    }

    pub(crate) fn view(&self) -> Targets<'_> {
        match self {
            Self::Classes { index, n_classes } => Targets::Classes { index, n_classes: *n_classes },
            Self::Values(values) => Targets::Values(values),
            Self::Columns { values, n_outputs, levels } => {
                Targets::Columns { values, n_outputs: *n_outputs, levels }
            }
        }
    }
}

/// Samples of a part of a [`pick`].
const PICKED: usize = 8192;

/// What `from` has of these samples.
pub(crate) fn pick<T: Copy + Send + Sync>(chosen: &[u32], from: &[T], out: &mut [T]) {
    let parts = out.chunks_mut(PICKED).zip(chosen.chunks(PICKED));
    parallel::each_if(chosen.len() > PICKED, parts, &|_, (out, chosen)| {
        out.iter_mut().zip(chosen).for_each(|(to, &i)| *to = from[i as usize]);
    });
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
        if let Targets::Columns { values, n_outputs, levels } = targets {
            check_columns(values, n_outputs, levels)?;
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
            Targets::Values(values) | Targets::Columns { values, .. } => {
                if let Some(at) = values.iter().position(|v| !v.is_finite()) {
                    let m = targets.n_outputs();
                    return Err(Error::NonFinite { what: "y", row: at / m, column: at % m });
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

    /// The same samples with other targets, made of those that were checked.
    pub(crate) fn with_targets<'b>(&'b self, targets: Targets<'b>) -> Problem<'b, F> {
        Problem { rows: self.rows.view(), targets, cost: self.cost }
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
            Targets::Columns { values, n_outputs, .. } => {
                simd::prefetch(&values[sample * n_outputs]);
            }
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

/// Whether every sample has a value for every output.
fn check_columns(values: &[f64], n_outputs: usize, levels: &[f64]) -> Result<()> {
    let bad = |reason| Err(Error::InvalidData { what: "y", reason });
    if n_outputs == 0 {
        return bad("no column, at least 1 needed".into());
    }
    if !values.len().is_multiple_of(n_outputs) {
        return bad(format!("{} values are no rows of {n_outputs} columns", values.len()));
    }
    if !levels.is_empty() && levels.len() != n_outputs {
        return bad(format!("{} quantiles of {n_outputs} columns", levels.len()));
    }
    Ok(())
}
