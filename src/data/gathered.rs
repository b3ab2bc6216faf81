//! Rows copied out by index.

use ndarray::Array2;

use super::{Csr, Indices, Rows};
use crate::error::{Error, Result, try_collect, try_copy, try_reserve, try_vec};
use crate::float::Real;

/// Some rows of others, owned.
#[derive(Clone, Debug)]
pub enum Gathered<F: Real> {
    /// Dense rows.
    Dense(Array2<F>),
    /// Sparse rows.
    Csr {
        /// Entries.
        values: Vec<F>,
        /// Their columns.
        columns: Vec<i64>,
        /// Where each row begins, and the end of the last.
        starts: Vec<i64>,
        /// Number of columns.
        n_cols: usize,
    },
}

impl<F: Real> Gathered<F> {
    /// The rows `chosen`, in this order.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(rows: &Rows<'_, F>, chosen: &[usize]) -> Result<Self> {
        let n_cols = rows.n_cols();
        match rows {
            Rows::Dense(_) => Self::dense(rows, chosen.iter().copied()),
            Rows::Csr(csr) => Self::sparse(&|| chosen.iter().map(|&row| (csr, row)), n_cols),
        }
    }

    /// Rows after rows, all of as many features: sparse where all of them are.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn joined(parts: &[Rows<'_, F>]) -> Result<Self> {
        let n_cols = parts.first().map_or(0, Rows::n_cols);
        if parts.iter().any(|part| matches!(part, Rows::Dense(_))) {
            let n_rows: usize = parts.iter().map(Rows::n_rows).sum();
            let mut values = try_vec("rows", n_rows.saturating_mul(n_cols), F::zero())?;
            let rows = parts.iter().flat_map(|part| (0..part.n_rows()).map(move |i| (part, i)));
            for (out, (part, row)) in values.chunks_exact_mut(n_cols.max(1)).zip(rows) {
                part.copy_row(row, out);
            }
            return Self::from_values(values, n_cols);
        }
        let parts = || {
            parts.iter().filter_map(|part| match part {
                Rows::Csr(csr) => Some(csr),
                Rows::Dense(_) => None,
            })
        };
        Self::sparse(&|| parts().flat_map(|csr| (0..csr.n_rows()).map(move |i| (csr, i))), n_cols)
    }

    /// These rows of CSR matrices.
    fn sparse<'r, I>(rows: &dyn Fn() -> I, n_cols: usize) -> Result<Self>
    where
        I: Iterator<Item = (&'r Csr<'r, F>, usize)>,
        F: 'r,
    {
        let (count, stored) =
            rows().fold((0, 0), |(n, stored), (csr, row)| (n + 1, stored + csr.row_len(row)));
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), Vec::new());
        try_reserve("rows", &mut values, stored)?;
        try_reserve("rows", &mut columns, stored)?;
        try_reserve("rows", &mut starts, count + 1)?;
        starts.push(0);
        for (csr, row) in rows() {
            csr.for_each(row, |column, value| {
                columns.push(column as i64);
                values.push(value);
            });
            starts.push(values.len() as i64);
        }
        Ok(Self::Csr { values, columns, starts, n_cols })
    }

    /// The same rows again.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn try_clone(&self) -> Result<Self> {
        self.cast()
    }

    /// These rows, written out.
    fn dense(rows: &Rows<'_, F>, chosen: impl ExactSizeIterator<Item = usize>) -> Result<Self> {
        let d = rows.n_cols();
        let mut values = try_vec("rows", chosen.len().saturating_mul(d), F::zero())?;
        for (out, row) in values.chunks_exact_mut(d.max(1)).zip(chosen) {
            rows.copy_row(row, out);
        }
        Self::from_values(values, d)
    }

    /// Dense rows of `n_cols` values each, one after another.
    ///
    /// # Errors
    /// `LengthMismatch` unless the values are whole rows.
    pub fn from_values(values: Vec<F>, n_cols: usize) -> Result<Self> {
        let (n_rows, got) = (values.len().checked_div(n_cols).unwrap_or(0), values.len());
        Array2::from_shape_vec((n_rows, n_cols), values)
            .map(Self::Dense)
            .map_err(|_| Error::LengthMismatch { what: "rows", expected: n_rows * n_cols, got })
    }

    /// The same rows in another precision.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn cast<G: Real>(&self) -> Result<Gathered<G>> {
        let cast = |value: &F| G::from_f64(Real::to_f64(*value));
        match self {
            Self::Dense(rows) => {
                Gathered::from_values(try_collect("rows", rows.iter().map(cast))?, rows.ncols())
            }
            Self::Csr { values, columns, starts, n_cols } => Ok(Gathered::Csr {
                values: try_collect("rows", values.iter().map(cast))?,
                columns: try_copy("rows", columns)?,
                starts: try_copy("rows", starts)?,
                n_cols: *n_cols,
            }),
        }
    }

    /// The same rows, dense.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn into_dense(self) -> Result<Self> {
        match &self {
            Self::Dense(_) => Ok(self),
            Self::Csr { .. } => self.rows().and_then(|rows| Self::dense(&rows, 0..rows.n_rows())),
        }
    }

    /// The rows, to be read.
    ///
    /// # Errors
    /// None in practice: what was copied out of checked rows is checked again.
    pub fn rows(&self) -> Result<Rows<'_, F>> {
        match self {
            Self::Dense(values) => Ok(Rows::Dense(values.view())),
            Self::Csr { values, columns, starts, n_cols } => {
                let (columns, starts) = (Indices::I64(columns), Indices::I64(starts));
                Ok(Rows::Csr(Csr::new(values, columns, starts, *n_cols)?))
            }
        }
    }
}
