//! Rows over dense and CSR storage, borrowed as the caller holds them.

use ndarray::{ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::float::Real;
use crate::simd;

/// The samples: n rows of d features, dense (any layout, read-only) or CSR.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a, F: Real> {
    /// Dense rows in any memory order.
    Dense(ArrayView2<'a, F>),
    /// Compressed sparse rows.
    Csr(Csr<'a, F>),
}

/// A CSR matrix: column indices sorted and unique within a row, everything in range.
#[derive(Clone, Copy, Debug)]
pub struct Csr<'a, F: Real> {
    values: &'a [F],
    indices: Indices<'a>,
    starts: Indices<'a>,
    n_cols: usize,
    density: f64,
}

/// Index arrays as SciPy holds them.
#[derive(Clone, Copy, Debug)]
pub enum Indices<'a> {
    /// 32-bit indices.
    I32(&'a [i32]),
    /// 64-bit indices.
    I64(&'a [i64]),
}

impl Indices<'_> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::I32(v) => v.len(),
            Self::I64(v) => v.len(),
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
        indices: Indices<'a>,
        starts: Indices<'a>,
        n_cols: usize,
    ) -> Result<Self> {
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

    /// Share of entries that are stored, of the whole matrix also for a range of its rows: what
    /// is decided by it is the same for any cut.
    #[must_use]
    pub fn density(&self) -> f64 {
        self.density
    }

    /// Appends the columns and the values of a row.
    pub fn append(&self, row: usize, columns: &mut Vec<u32>, values: &mut Vec<F>) {
        let at = self.starts.get(row) as usize..self.starts.get(row + 1) as usize;
        values.extend_from_slice(&self.values[at.clone()]);
        match self.indices {
            Indices::I32(all) => columns.extend(all[at].iter().map(|&column| column as u32)),
            Indices::I64(all) => columns.extend(all[at].iter().map(|&column| column as u32)),
        }
    }

    fn prefetch(&self, row: usize) {
        let first = self.starts.get(row) as usize;
        if let Some(value) = self.values.get(first) {
            simd::prefetch(value);
        }
        match self.indices {
            Indices::I32(columns) => columns.get(first).map(simd::prefetch),
            Indices::I64(columns) => columns.get(first).map(simd::prefetch),
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
        }
    }
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub enum Point<'a, F: Real> {
    /// A dense row.
    Dense(ArrayView1<'a, F>),
    /// Row `.1` of a CSR matrix.
    Sparse(Csr<'a, F>, usize),
}

impl<'a, F: Real> Rows<'a, F> {
    /// Number of samples.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        match self {
            Self::Dense(x) => x.nrows(),
            Self::Csr(x) => x.n_rows(),
        }
    }

    /// Number of features.
    #[must_use]
    pub fn n_cols(&self) -> usize {
        match self {
            Self::Dense(x) => x.ncols(),
            Self::Csr(x) => x.n_cols,
        }
    }

    /// The same rows for a shorter time (array views do not shorten by themselves).
    #[must_use]
    pub fn view(&self) -> Rows<'_, F> {
        match self {
            Self::Dense(x) => Rows::Dense(x.view()),
            Self::Csr(x) => Rows::Csr(*x),
        }
    }

    /// The rows `first..last`, borrowed.
    #[must_use]
    pub fn range(&self, first: usize, last: usize) -> Self {
        match self {
            Self::Dense(x) => Self::Dense((*x).slice_move(ndarray::s![first..last, ..])),
            Self::Csr(x) => {
                let starts = match x.starts {
                    Indices::I32(starts) => Indices::I32(&starts[first..=last]),
                    Indices::I64(starts) => Indices::I64(&starts[first..=last]),
                };
                Self::Csr(Csr { starts, ..*x })
            }
        }
    }

    /// One row.
    #[must_use]
    pub fn point(&self, row: usize) -> Point<'a, F> {
        match self {
            Self::Dense(x) => Point::Dense(x.row_move(row)),
            Self::Csr(x) => Point::Sparse(*x, row),
        }
    }

    /// Asks for the beginning of a row that will be read soon. Rows of a shuffled pass lie
    /// anywhere, and what follows a row's beginning the processor fetches by itself.
    pub(crate) fn prefetch(&self, row: usize) {
        match self {
            Self::Dense(x) => {
                // The first four lines of 64 bytes of a row stored together.
                let line = 64 / size_of::<F>();
                let columns = (0..x.ncols().min(4 * line)).step_by(line);
                columns.filter_map(|column| x.get((row, column))).for_each(simd::prefetch);
            }
            Self::Csr(x) => x.prefetch(row),
        }
    }

    /// Row `row` written out densely into `out` (length `n_cols`).
    pub fn copy_row(&self, row: usize, out: &mut [F]) {
        match self {
            Self::Dense(x) => {
                let source = x.row(row);
                match source.as_slice() {
                    Some(slice) => out.copy_from_slice(slice),
                    None => out.iter_mut().zip(source).for_each(|(o, &v)| *o = v),
                }
            }
            Self::Csr(x) => {
                out.fill(F::zero());
                x.for_each(row, |column, value| out[column] = value);
            }
        }
    }

    /// Whether every value is finite.
    ///
    /// # Errors
    /// `NonFinite` with the place of the first value that is not.
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        for row in 0..self.n_rows() {
            let mut bad = None;
            match self.point(row) {
                Point::Dense(values) => {
                    if !values.iter().all(|v| v.is_finite()) {
                        bad = values.iter().position(|v| !v.is_finite());
                    }
                }
                Point::Sparse(csr, row) => csr.for_each(row, |column, value| {
                    if !value.is_finite() {
                        bad = bad.or(Some(column));
                    }
                }),
            }
            if let Some(column) = bad {
                return Err(Error::NonFinite { what, row, column });
            }
        }
        Ok(())
    }
}

trait RowMove<'a, F> {
    fn row_move(&self, row: usize) -> ArrayView1<'a, F>;
}

impl<'a, F> RowMove<'a, F> for ArrayView2<'a, F> {
    /// A row that lives as long as the data, not as long as this view of it.
    fn row_move(&self, row: usize) -> ArrayView1<'a, F> {
        (*self).index_axis_move(ndarray::Axis(0), row)
    }
}
