//! Columns that occur among many that do not: rows of as few features.
//!
//! Sparse rows of millions of columns have entries in some thousands of them. A machine whose points
//! are written out holds those columns alone, and one feature more for what a row has in all others:
//! there its own points are 0, so that this feature adds to distances what the others would.
//!
//! ```text
//! x -> (x_c of the columns c that occur, r),   r = ‖x_others‖, or Σ|x_others| for distances in magnitudes
//! ```
//!
//! Kernel values, which are functions of distances or of products with points, are the same to
//! rounding.

use super::{Gathered, Point, Rows};
use crate::error::{Error, Result, check_features, try_reserve};
use crate::float::Real;
use crate::watch::Look;

/// Columns from which on those that occur become features of their own ...
const WIDE: usize = 1 << 20;
/// ... where they are fewer by this factor.
const FEWER: usize = 8;

/// Rows between two looks.
const ROWS_BETWEEN_LOOKS: usize = 1 << 12;

/// The columns that are features of a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Rising.
    columns: Vec<u32>,
    n_columns: usize,
    /// Whether the others count by the sum of their magnitudes.
    magnitudes: bool,
}

impl Selection {
    /// Those of `n_columns` columns; `magnitudes` says that distances are sums of magnitudes.
    ///
    /// # Errors
    /// `InvalidData` unless columns rise and are below `n_columns`.
    pub fn new(columns: Vec<u32>, n_columns: usize, magnitudes: bool) -> Result<Self> {
        let rise = columns.is_sorted_by(|a, b| a < b);
        if !rise || columns.last().is_some_and(|&last| last as usize >= n_columns) {
            let reason = format!("columns that rise, below {n_columns}");
            return Err(Error::InvalidData { what: "columns", reason });
        }
        Ok(Self { columns, n_columns, magnitudes })
    }

    /// The columns that occur in these rows, where they are few among very many.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn of<F: Real>(rows: &Rows<'_, F>, magnitudes: bool) -> Result<Option<Self>> {
        let Rows::Csr(csr) = rows else { return Ok(None) };
        let (d, n) = (csr.n_cols(), csr.n_rows());
        // At least so many entries would be there, were it not so.
        if d < WIDE || csr.density() * n as f64 > 1.0 {
            return Ok(None);
        }
        let entries = (csr.density() * n as f64 * d as f64).ceil() as usize;
        let mut columns: Vec<u32> = Vec::new();
        try_reserve("columns that occur", &mut columns, entries)?;
        for row in 0..n {
            csr.for_each(row, |column, _| columns.push(column as u32));
        }
        columns.sort_unstable();
        columns.dedup();
        let few = columns.len().saturating_add(1) <= d / FEWER;
        Ok(few.then_some(Self { columns, n_columns: d, magnitudes }))
    }

    /// The columns, rising.
    #[must_use]
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// Columns of the user's rows.
    #[must_use]
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Whether columns beside these count by the sum of their magnitudes.
    #[must_use]
    pub fn has_magnitudes(&self) -> bool {
        self.magnitudes
    }

    /// Features: the columns, and one for all others.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.columns.len() + 1
    }

    /// The rows in these features, their columns multiplied by factors if there are any.
    ///
    /// # Errors
    /// `FeatureMismatch`, `OutOfMemory`; those of `look`, which is asked between rows.
    pub fn select<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        factors: Option<&[f64]>,
        look: Look<'_>,
    ) -> Result<Gathered<F>> {
        check_features(self.n_columns, rows.n_cols())?;
        let n = rows.n_rows();
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for row in 0..n {
            let mut others = 0.0;
            let mut at = 0;
            let mut add = |column: usize, value: F| {
                // Columns come rising: what was passed is not looked at again.
                at += self.columns[at..].partition_point(|&c| (c as usize) < column);
                if self.columns.get(at).is_some_and(|&c| c as usize == column) {
                    values.push(value);
                    columns.push(at as i64);
                } else {
                    let value = Real::to_f64(value);
                    others += if self.magnitudes { value.abs() } else { value * value };
                }
            };
            each_entry(rows.point(row), |column, value| {
                let value = factors.map_or(value, |by| value * F::from_f64(by[column]));
                if value != F::zero() {
                    add(column, value);
                }
            });
            if others != 0.0 {
                let others: f64 = if self.magnitudes { others } else { others.sqrt() };
                values.push(F::from_f64(others));
                columns.push(self.columns.len() as i64);
            }
            starts.push(values.len() as i64);
            if row % ROWS_BETWEEN_LOOKS == 0 {
                look()?;
            }
        }
        Ok(Gathered::Csr { values, columns, starts, n_cols: self.n_features() })
    }

    /// Points of these features in the user's columns, sparse, divided by the factors.
    ///
    /// # Errors
    /// None in practice.
    pub fn spread<F: Real>(
        &self,
        points: &Gathered<F>,
        factors: Option<&[f64]>,
    ) -> Result<Gathered<F>> {
        let points = points.rows()?;
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for i in 0..points.n_rows() {
            let add = |feature: usize, value: F| {
                if let Some(&column) = self.columns.get(feature)
                    && value != F::zero()
                {
                    let by = factors.map_or(1.0, |by| by[column as usize]);
                    values.push(F::from_f64(Real::to_f64(value) / by));
                    columns.push(i64::from(column));
                }
            };
            each_entry(points.point(i), add);
            starts.push(values.len() as i64);
        }
        Ok(Gathered::Csr { values, columns, starts, n_cols: self.n_columns })
    }

    /// Slopes by the user's columns, of those by these features at a row of the user's. That of a
    /// column beside these is the slope by `r` times that of `r`, 0 where the row has nothing there.
    pub(crate) fn spread_slopes<F: Real>(
        &self,
        (row, factors): (Point<'_, F>, Option<&[f64]>),
        slopes: &[f64],
        out: &mut [f64],
    ) {
        out.fill(0.0);
        let factor = |column: usize| factors.map_or(1.0, |by| by[column]);
        let (mut others, by_others) = (0.0, slopes[self.columns.len()]);
        let is_other = |column: usize| self.columns.binary_search(&(column as u32)).is_err();
        each_entry(row, |column, value| {
            let value = Real::to_f64(value) * factor(column);
            if value != 0.0 && is_other(column) {
                others += value * value;
                let slope = if self.magnitudes { value.signum() } else { value };
                out[column] = by_others * slope * factor(column);
            }
        });
        if !self.magnitudes && others > 0.0 {
            out.iter_mut().filter(|v| **v != 0.0).for_each(|v| *v /= others.sqrt());
        }
        for (&column, &slope) in self.columns.iter().zip(slopes) {
            out[column as usize] = slope * factor(column as usize);
        }
    }
}

fn each_entry<F: Real>(point: Point<'_, F>, mut visit: impl FnMut(usize, F)) {
    match point {
        Point::Dense(values) => values.iter().enumerate().for_each(|(j, &v)| visit(j, v)),
        Point::Sparse(csr, row) => csr.for_each(row, visit),
    }
}
