//! Rows copied out by index.

use ndarray::Array2;

use super::{Csr, Indices, Rows};
use crate::error::{Error, Result, try_vec};
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
            Rows::Csr(csr) => {
                let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
                for &row in chosen {
                    csr.for_each(row, |column, value| {
                        columns.push(column as i64);
                        values.push(value);
                    });
                    starts.push(values.len() as i64);
                }
                Ok(Self::Csr { values, columns, starts, n_cols })
            }
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
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for part in parts {
            let Rows::Csr(csr) = part else { continue };
            for row in 0..csr.n_rows() {
                csr.for_each(row, |column, value| {
                    columns.push(column as i64);
                    values.push(value);
                });
                starts.push(values.len() as i64);
            }
        }
        Ok(Self::Csr { values, columns, starts, n_cols })
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
    #[must_use]
    pub fn cast<G: Real>(&self) -> Gathered<G> {
        let cast = |value: &F| G::from_f64(Real::to_f64(*value));
        match self {
            Self::Dense(rows) => Gathered::Dense(rows.map(cast)),
            Self::Csr { values, columns, starts, n_cols } => Gathered::Csr {
                values: values.iter().map(cast).collect(),
                columns: columns.clone(),
                starts: starts.clone(),
                n_cols: *n_cols,
            },
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
