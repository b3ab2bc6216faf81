//! What the features of rows are multiplied by before a kernel sees them.

use std::sync::Arc;

use super::{Gathered, Rows, Selection};
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK};
use crate::watch::Look;

/// Values, and sparse rows, between two looks.
const VALUES_BETWEEN_LOOKS: usize = 1 << 24;
const ROWS_BETWEEN_LOOKS: usize = 1 << 12;

/// Values that are multiplied where the caller stands: no part for another thread.
const FEW: usize = 1 << 16;

/// A factor >= 0 a feature, not all 0: `x_k -> w_k x_k`, rounded once in the precision of the rows.
///
/// A feature of factor 0 is as if it were not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Scales {
    values: Arc<[f64]>,
    /// The columns that these features are, where they are not all of them.
    selection: Option<Arc<Selection>>,
    /// The factors of all columns beside a selection.
    factors: Option<Arc<[f64]>>,
}

impl Scales {
    /// These factors, one a feature.
    ///
    /// # Errors
    /// `InvalidParam` unless they are finite and not negative, and one of them is positive.
    pub fn new(values: Vec<f64>) -> Result<Self> {
        if let Some(bad) = values.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::param("feature_scales", "finite numbers >= 0", bad));
        }
        if values.iter().all(|w| *w == 0.0) {
            return Err(Error::param("feature_scales", "not all 0", 0));
        }
        Ok(Self { values: values.into(), selection: None, factors: None })
    }

    /// Columns of the user's rows as they are, of which only some are features.
    #[must_use]
    pub fn of_selection(selection: Selection) -> Self {
        let values = vec![1.0; selection.n_features()];
        Self { values: values.into(), selection: Some(Arc::new(selection)), factors: None }
    }

    /// The same selection of columns, which are multiplied by these factors before.
    ///
    /// # Errors
    /// `LengthMismatch`.
    pub(crate) fn selecting_of(&self, scales: &Self) -> Result<Self> {
        scales.check(self.n_columns())?;
        Ok(Self { factors: Some(Arc::clone(&scales.values)), ..self.clone() })
    }

    /// The factors, one a feature that a machine sees.
    #[must_use]
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// The factors of the user's columns; none where these are only selected.
    #[must_use]
    pub fn of_columns(&self) -> Option<&[f64]> {
        match &self.selection {
            Some(_) => self.factors.as_deref(),
            None => Some(&self.values),
        }
    }

    /// The columns that are features, where they are not all of them.
    #[must_use]
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_deref()
    }

    /// Columns of the user's rows.
    #[must_use]
    pub fn n_columns(&self) -> usize {
        self.selection().map_or(self.values.len(), Selection::n_columns)
    }

    /// Whether rows of so many columns are the user's.
    ///
    /// # Errors
    /// `LengthMismatch`.
    pub fn check(&self, n_columns: usize) -> Result<()> {
        check_len("feature_scales", n_columns, self.n_columns())
    }

    /// The rows with their columns multiplied; of sparse ones, entries of factor 0 are left out.
    ///
    /// # Errors
    /// `LengthMismatch`, `OutOfMemory`.
    pub fn times<F: Real>(&self, rows: &Rows<'_, F>) -> Result<Gathered<F>> {
        self.times_watched(rows, &mut || Ok(()))
    }

    /// [`Scales::times`]; `look` is asked between blocks of rows.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn times_watched<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        look: Look<'_>,
    ) -> Result<Gathered<F>> {
        let (n, d) = (rows.n_rows(), rows.n_cols());
        self.check(d)?;
        if let Some(selection) = &self.selection {
            return selection.select(rows, self.factors.as_deref(), look);
        }
        let Rows::Csr(csr) = rows else {
            let mut values = try_vec("scaled rows", n.saturating_mul(d), F::zero())?;
            let together = (VALUES_BETWEEN_LOOKS / d.max(1)).max(1);
            for (part, out) in values.chunks_mut(together * d.max(1)).enumerate() {
                let first = part * together;
                self.write(&rows.range(first, (first + together).min(n)), out)?;
                look()?;
            }
            return Gathered::from_values(values, d);
        };
        let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0]);
        for row in 0..n {
            csr.for_each(row, |column, value| {
                if self.values[column] != 0.0 {
                    values.push(value * F::from_f64(self.values[column]));
                    columns.push(column as i64);
                }
            });
            starts.push(values.len() as i64);
            if row % ROWS_BETWEEN_LOOKS == 0 {
                look()?;
            }
        }
        Ok(Gathered::Csr { values, columns, starts, n_cols: d })
    }

    /// [`Scales::times`] of rows of any storage, written out densely, one after another.
    pub(crate) fn write<F: Real>(&self, rows: &Rows<'_, F>, out: &mut [F]) -> Result<()> {
        let d = rows.n_cols();
        self.check(d)?;
        check_len("scaled rows", rows.n_rows().saturating_mul(d), out.len())?;
        let shared = out.len() > FEW;
        let parts = out.chunks_mut(ROW_CHUNK * d.max(1));
        parallel::each_if(shared, parts, &|chunk, part| {
            for (i, row) in part.chunks_exact_mut(d.max(1)).enumerate() {
                rows.copy_row(chunk * ROW_CHUNK + i, row);
                row.iter_mut().zip(&*self.values).for_each(|(v, w)| *v *= F::from_f64(*w));
            }
        });
        Ok(())
    }

    /// Rows that [`Scales::times`] makes these of, to rounding; 0 where the factor is.
    #[must_use]
    pub fn undone<F: Real>(&self, rows: Gathered<F>) -> Gathered<F> {
        if let Some(selection) = &self.selection {
            return selection.spread(&rows, self.factors.as_deref()).unwrap_or(rows);
        }
        let without = |v: F, k: usize| match self.values.get(k) {
            Some(w) if *w > 0.0 => F::from_f64(Real::to_f64(v) / w),
            _ => F::zero(),
        };
        match rows {
            Gathered::Dense(mut rows) => {
                rows.indexed_iter_mut().for_each(|((_, k), v)| *v = without(*v, k));
                Gathered::Dense(rows)
            }
            Gathered::Csr { mut values, columns, starts, n_cols } => {
                let entries = values.iter_mut().zip(&columns);
                entries.for_each(|(v, &k)| *v = without(*v, usize::try_from(k).unwrap_or(0)));
                Gathered::Csr { values, columns, starts, n_cols }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::super::{Csr, Gathered, Rows};
    use super::Scales;

    fn dense(rows: &Gathered<f64>) -> ndarray::Array2<f64> {
        let Gathered::Dense(rows) = rows.clone().into_dense().unwrap() else { unreachable!() };
        rows
    }

    #[test]
    fn columns_are_multiplied_and_back_again() {
        let table = array![[1.0, 0.0, 3.0], [0.0, 2.0, -5.0]];
        let csr =
            Csr::new(&[1.0, 3.0, 2.0, -5.0], &[0_usize, 2, 1, 2][..], &[0_usize, 2, 4][..], 3);
        let scales = Scales::new(vec![2.0, 0.0, 0.25]).unwrap();
        let wanted = array![[2.0, 0.0, 0.75], [0.0, 0.0, -1.25]];
        for rows in [Rows::from(&table), Rows::from(csr.unwrap())] {
            let scaled = scales.times(&rows).unwrap();
            assert_eq!(dense(&scaled), wanted);
            if let Gathered::Csr { values, .. } = &scaled {
                assert_eq!(values.len(), 3);
            }
            let back = dense(&scales.undone(scaled));
            assert_eq!(back, array![[1.0, 0.0, 3.0], [0.0, 0.0, -5.0]]);
        }
        assert!(scales.check(2).is_err());
    }

    #[test]
    fn what_is_no_scale_is_refused_by_name() {
        for bad in [vec![], vec![0.0, 0.0], vec![1.0, -1.0], vec![f64::NAN], vec![f64::INFINITY]] {
            let error = Scales::new(bad).unwrap_err().to_string();
            assert!(error.contains("feature_scales"), "{error}");
        }
    }
}
