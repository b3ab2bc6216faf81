//! Compressed sparse rows, borrowed as the caller holds them.

use crate::error::{Error, Result};
use crate::float::Real;
use crate::simd;

/// A CSR matrix: column indices sorted and unique within a row, everything in range.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a, F: Real> {
    values: &'a [F],
    indices: Indices<'a>,
    starts: Indices<'a>,
    n_cols: usize,
    density: f64,
}

/// Index arrays as SciPy (32 or 64 bits) and Rust's sparse matrices (`usize`) hold them.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Indices<'a> {
    /// 32-bit indices.
    I32(&'a [i32]),
    /// 64-bit indices.
    I64(&'a [i64]),
    /// Indices of the machine's word.
    Usize(&'a [usize]),
}

impl<'a> From<&'a [i32]> for Indices<'a> {
    fn from(indices: &'a [i32]) -> Self {
        Self::I32(indices)
    }
}

impl<'a> From<&'a [i64]> for Indices<'a> {
    fn from(indices: &'a [i64]) -> Self {
        Self::I64(indices)
    }
}

impl<'a> From<&'a [usize]> for Indices<'a> {
    fn from(indices: &'a [usize]) -> Self {
        Self::Usize(indices)
    }
}

impl Indices<'_> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
            Self::Usize(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    #[inline(always)]
    fn get(&self, at: usize) -> i64 {
        match self {
            Self::I32(v) => i64::from(v[at]),
            Self::I64(v) => v[at],
            // What does not fit is out of any range.
            Self::Usize(v) => i64::try_from(v[at]).unwrap_or(i64::MAX),
        }
    }
}

impl<'a, F: Real> Csr<'a, F> {
    /// Checks the structure once, so that every later access may rely on it.
    ///
    /// # Errors
    /// `InvalidData` when row starts decrease or leave the arrays, a column index is out of
    /// range, or the indices of a row are not strictly increasing.
    pub fn new(
        values: &'a [F],
        indices: impl Into<Indices<'a>>,
        starts: impl Into<Indices<'a>>,
        n_cols: usize,
    ) -> Result<Self> {
        let (indices, starts) = (indices.into(), starts.into());
        let bad = |reason: String| Error::InvalidData { what: "X (CSR)", reason };
        if values.len() != indices.len() {
            return Err(bad(format!(
                "{} values but {} column indices",
                values.len(),
                indices.len()
            )));
        }
        if u32::try_from(n_cols).is_err() {
            return Err(bad(format!("{n_cols} columns, at most 2^32 - 1 are supported")));
        }
        if starts.is_empty() || starts.get(0) != 0 {
            return Err(bad("indptr must start with 0".into()));
        }
        for row in 0..starts.len() - 1 {
            let (from, to) = (starts.get(row), starts.get(row + 1));
            if to < from || usize::try_from(to).map_or(true, |to| to > values.len()) {
                return Err(bad(format!("indptr[{}] = {to} is out of range", row + 1)));
            }
            let mut last = -1;
            for at in from as usize..to as usize {
                let column = indices.get(at);
                if column < 0 || column as u64 >= n_cols as u64 {
                    return Err(bad(format!("column index {column} in row {row} is out of range")));
                }
                if column <= last {
                    return Err(bad(format!("row {row} has unsorted or duplicate column indices")));
                }
                last = column;
            }
        }
        let entries = (starts.len() - 1) as f64 * n_cols as f64;
        let density = starts.get(starts.len() - 1) as f64 / entries.max(1.0);
        Ok(Self { values, indices, starts, n_cols, density })
    }

    /// Number of rows.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// Number of columns.
    #[must_use]
    pub fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// The rows `first..last`.
    pub(super) fn range(&self, first: usize, last: usize) -> Self {
        let starts = match self.starts {
            Indices::I32(starts) => Indices::I32(&starts[first..=last]),
            Indices::I64(starts) => Indices::I64(&starts[first..=last]),
            Indices::Usize(starts) => Indices::Usize(&starts[first..=last]),
        };
        Self { starts, ..*self }
    }

    /// Share of entries that are stored, of the whole matrix also for a range of its rows: what
    /// is decided by it is the same for any cut.
    #[must_use]
    pub fn density(&self) -> f64 {
        self.density
    }

    /// Stored entries of a row.
    pub(super) fn row_len(&self, row: usize) -> usize {
        (self.starts.get(row + 1) - self.starts.get(row)) as usize
    }

    pub(super) fn prefetch(&self, row: usize) {
        let first = self.starts.get(row) as usize;
        if let Some(value) = self.values.get(first) {
            simd::prefetch(value);
        }
        match self.indices {
            Indices::I32(columns) => columns.get(first).map(simd::prefetch),
            Indices::I64(columns) => columns.get(first).map(simd::prefetch),
            Indices::Usize(columns) => columns.get(first).map(simd::prefetch),
        };
    }

    /// Calls `visit(column, value)` for every stored entry of a row.
    #[inline]
    pub fn for_each(&self, row: usize, mut visit: impl FnMut(usize, F)) {
        let at = self.starts.get(row) as usize..self.starts.get(row + 1) as usize;
        let values = &self.values[at.clone()];
        match self.indices {
            Indices::I32(columns) => {
                columns[at].iter().zip(values).for_each(|(&c, &v)| visit(c as usize, v));
            }
            Indices::I64(columns) => {
                columns[at].iter().zip(values).for_each(|(&c, &v)| visit(c as usize, v));
            }
            Indices::Usize(columns) => {
                columns[at].iter().zip(values).for_each(|(&c, &v)| visit(c, v));
            }
        }
    }
}
