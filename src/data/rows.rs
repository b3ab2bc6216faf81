//! Rows over dense and CSR storage, borrowed as the caller holds them.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};

use super::Csr;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::{parallel, simd};

/// Values that are looked at where the caller stands: no part for another thread.
const FEW: usize = 1 << 17;

/// The samples: n rows of d features, dense (any layout, read-only) or CSR.
///
/// ```
/// use budgetsvm::data::{Csr, Rows};
/// use budgetsvm::ndarray::array;
///
/// let table = array![[1.0, 0.0], [0.0, 2.0]];
/// let dense = Rows::from(&table);
/// let sparse = Rows::from(Csr::new(&[1.0, 2.0], [0_usize, 1].as_slice(), [0_usize, 1, 2].as_slice(), 2)?);
/// let single = Rows::of_one(&[1.0, 0.0])?;
/// assert_eq!((dense.n_rows(), sparse.n_rows(), single.n_rows()), (2, 2, 1));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Rows<'a, F: Real> {
    /// Dense rows in any memory order.
    Dense(ArrayView2<'a, F>),
    /// Compressed sparse rows.
    Csr(Csr<'a, F>),
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub enum Point<'a, F: Real> {
    /// A dense row.
    Dense(ArrayView1<'a, F>),
    /// Row `.1` of a CSR matrix.
    Sparse(Csr<'a, F>, usize),
}

impl<'a, F: Real> From<ArrayView2<'a, F>> for Rows<'a, F> {
    fn from(rows: ArrayView2<'a, F>) -> Self {
        Self::Dense(rows)
    }
}

impl<'a, F: Real> From<&'a Array2<F>> for Rows<'a, F> {
    fn from(rows: &'a Array2<F>) -> Self {
        Self::Dense(rows.view())
    }
}

impl<'a, F: Real> From<Csr<'a, F>> for Rows<'a, F> {
    fn from(rows: Csr<'a, F>) -> Self {
        Self::Csr(rows)
    }
}

impl<'a, F: Real> Rows<'a, F> {
    /// One dense row.
    ///
    /// # Errors
    /// `InvalidData` for a row of no features.
    pub fn of_one(row: &'a [F]) -> Result<Self> {
        Self::of_slice(row, row.len())
    }

    /// Dense rows of `n_cols` features each, one after another.
    ///
    /// # Errors
    /// `InvalidData` unless the values are a whole number of rows of at least one feature.
    pub fn of_slice(values: &'a [F], n_cols: usize) -> Result<Self> {
        let n_rows = values.len().checked_div(n_cols).unwrap_or(0);
        match ArrayView2::from_shape((n_rows, n_cols), values) {
            Ok(rows) if n_cols > 0 && n_rows * n_cols == values.len() => Ok(Self::Dense(rows)),
            _ => Err(Error::InvalidData {
                what: "X",
                reason: format!("{} values are no rows of {n_cols} features", values.len()),
            }),
        }
    }

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
            Self::Csr(x) => x.n_cols(),
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
    ///
    /// # Panics
    /// Unless `first <= last <= n_rows`.
    #[must_use]
    pub fn range(&self, first: usize, last: usize) -> Self {
        match self {
            Self::Dense(x) => Self::Dense((*x).slice_move(ndarray::s![first..last, ..])),
            Self::Csr(x) => Self::Csr(x.range(first, last)),
        }
    }

    /// One row.
    ///
    /// # Panics
    /// For dense rows, unless `row < n_rows`; a CSR row out of range panics when it is read.
    #[must_use]
    pub fn point(&self, row: usize) -> Point<'a, F> {
        match self {
            // For as long as the data, not only this view of it.
            Self::Dense(x) => Point::Dense((*x).index_axis_move(Axis(0), row)),
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
    ///
    /// # Panics
    /// Unless `row < n_rows` and `out` has `n_cols` values.
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
        if let Self::Dense(x) = self
            && let Some(values) = x.as_slice()
        {
            return check_finite(what, values, x.ncols());
        }
        for row in 0..self.n_rows() {
            let mut bad = None;
            match self.point(row) {
                Point::Dense(values) => bad = values.iter().position(|v| !v.is_finite()),
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

/// [`Error::NonFinite`] unless every one of these rows of `columns` values is finite.
pub(crate) fn check_finite<F: Real>(
    what: &'static str,
    values: &[F],
    columns: usize,
) -> Result<()> {
    // Without a branch for every value.
    let is_spoilt = |part: &[F]| !part.iter().fold(true, |all, v| all & v.is_finite());
    let spoilt = match values.len() <= FEW {
        true => is_spoilt(values),
        false => {
            let part = |at: usize| is_spoilt(&values[at * FEW..values.len().min((at + 1) * FEW)]);
            parallel::map(values.len().div_ceil(FEW), &part).contains(&true)
        }
    };
    match spoilt.then(|| values.iter().position(|v| !v.is_finite())).flatten() {
        Some(bad) => Err(Error::NonFinite { what, row: bad / columns, column: bad % columns }),
        None => Ok(()),
    }
}

/// Rows of either precision.
#[derive(Clone, Copy, Debug)]
pub enum AnyRows<'a> {
    /// Of single precision.
    Single(Rows<'a, f32>),
    /// Of double precision.
    Double(Rows<'a, f64>),
}

/// The precisions that rows come in.
pub trait RowFloat: Real {
    /// The rows, said to be of this precision.
    fn of_rows(rows: Rows<'_, Self>) -> AnyRows<'_>;
}

impl RowFloat for f32 {
    fn of_rows(rows: Rows<'_, Self>) -> AnyRows<'_> {
        AnyRows::Single(rows)
    }
}

impl RowFloat for f64 {
    fn of_rows(rows: Rows<'_, Self>) -> AnyRows<'_> {
        AnyRows::Double(rows)
    }
}

impl<'a, F: RowFloat> From<Rows<'a, F>> for AnyRows<'a> {
    fn from(rows: Rows<'a, F>) -> Self {
        F::of_rows(rows)
    }
}

/// The same expression for rows of either precision.
macro_rules! each {
    ($any:expr, $rows:ident => $body:expr) => {
        match $any {
            AnyRows::Single($rows) => $body,
            AnyRows::Double($rows) => $body,
        }
    };
}
pub(crate) use each as each_rows;

impl AnyRows<'_> {
    /// Number of samples.
    #[must_use]
    pub fn n_rows(&self) -> usize {
        each!(self, rows => rows.n_rows())
    }

    /// Number of features.
    #[must_use]
    pub fn n_cols(&self) -> usize {
        each!(self, rows => rows.n_cols())
    }

    /// Whether they are dense.
    #[must_use]
    pub fn is_dense(&self) -> bool {
        each!(self, rows => matches!(rows, Rows::Dense(_)))
    }

    /// Share of the entries that sparse rows store.
    pub(crate) fn density(&self) -> Option<f64> {
        each!(self, rows => match rows {
            Rows::Dense(_) => None,
            Rows::Csr(csr) => Some(csr.density()),
        })
    }

    /// Whether every value is finite.
    ///
    /// # Errors
    /// As [`Rows::check_finite`].
    pub fn check_finite(&self, what: &'static str) -> Result<()> {
        each!(self, rows => rows.check_finite(what))
    }

    /// Calls `visit` for every stored value of a row, until one is not wanted: whether all were.
    pub(crate) fn all_of_row(&self, row: usize, mut visit: impl FnMut(f64) -> bool) -> bool {
        each!(self, rows => match rows.point(row) {
            Point::Dense(values) => values.iter().all(|&v| visit(Real::to_f64(v))),
            Point::Sparse(csr, row) => {
                let mut all = true;
                csr.for_each(row, |_, v| all &= visit(Real::to_f64(v)));
                all
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::{Csr, Rows};

    fn dense(rows: &Rows<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((rows.n_rows(), rows.n_cols()));
        for (i, mut row) in out.rows_mut().into_iter().enumerate() {
            rows.copy_row(i, row.as_slice_mut().unwrap());
        }
        out
    }

    #[test]
    fn rows_are_the_same_however_they_are_held() {
        let table = array![[1.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
        let values = [1.0, 3.0, 2.0];
        let in_words = Csr::new(&values, &[0_usize, 2, 1][..], &[0_usize, 2, 2, 3][..], 3).unwrap();
        let in_ints = Csr::new(&values, &[0_i32, 2, 1][..], &[0_i64, 2, 2, 3][..], 3).unwrap();
        let flat = table.as_slice().unwrap();
        let all = [
            Rows::from(&table),
            Rows::from(table.view()),
            Rows::of_slice(flat, 3).unwrap(),
            in_words.into(),
            in_ints.into(),
        ];
        for rows in all {
            assert_eq!(dense(&rows), table);
            assert_eq!(dense(&rows.range(1, 3)), table.slice(ndarray::s![1.., ..]));
        }
        assert_eq!(dense(&Rows::of_one(&flat[..3]).unwrap()), table.slice(ndarray::s![..1, ..]));
    }

    #[test]
    fn the_first_value_of_many_that_is_not_finite_is_named() {
        let mut values = vec![1.0_f32; 3 * super::FEW + 7 * 3];
        let columns = 3;
        assert!(Rows::of_slice(&values, columns).unwrap().check_finite("X").is_ok());
        values[2 * super::FEW + 5] = f32::NAN;
        values[3 * super::FEW + 5] = f32::INFINITY;
        let at = 2 * super::FEW + 5;
        let told = Rows::of_slice(&values, columns).unwrap().check_finite("X").unwrap_err();
        let place = (at / columns, at % columns);
        assert!(
            matches!(told, crate::error::Error::NonFinite { row, column, .. } if (row, column) == place)
        );
    }

    #[test]
    fn what_is_no_row_is_refused() {
        assert!(Rows::<f64>::of_one(&[]).is_err());
        assert!(Rows::of_slice(&[1.0, 2.0, 3.0], 2).is_err());
        let far = [usize::MAX];
        assert!(Csr::new(&[1.0], &far[..], &[0_usize, 1][..], 2).is_err());
        assert!(Csr::new(&[1.0], &[0_usize][..], &[0, usize::MAX][..], 2).is_err());
    }
}
