//! Parametric functions φ of semi-parametric machines.

use ndarray::{Array2, ArrayView2};

use super::fitted::ExactMachine;
use crate::data::Rows;
use crate::error::{Error, Result, check_len, try_vec};
use crate::estimator::precision::Precision;
use crate::solver::exact;

/// Parametric functions φ: their values on rows, or what computes them.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Functions<'a, F: Precision> {
    /// The values on the rows at hand, samples x functions, finite.
    Values(ArrayView2<'a, f64>),
    /// The values of one row, which is given dense; as many for every row.
    Of(&'a dyn Fn(&[F]) -> Vec<f64>),
}

impl<F: Precision> Functions<'_, F> {
    /// Samples x functions.
    pub(super) fn on(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        let what = "functions";
        let values = match self {
            Self::Values(values) => values.to_owned(),
            Self::Of(values_of) => {
                let mut row = try_vec("a row", rows.n_cols(), F::zero())?;
                let (mut all, mut expected) = (Vec::new(), None);
                for i in 0..rows.n_rows() {
                    rows.copy_row(i, &mut row);
                    let values = values_of(&row);
                    check_len(what, *expected.get_or_insert(values.len()), values.len())?;
                    all.extend(values);
                }
                let shape = (rows.n_rows(), expected.unwrap_or(0));
                Array2::from_shape_vec(shape, all)
                    .map_err(|e| Error::InvalidData { what, reason: e.to_string() })?
            }
        };
        check_len(what, rows.n_rows(), values.nrows())?;
        Rows::from(&values).check_finite(what)?;
        Ok(values)
    }
}

/// The parameters c, outputs x functions, of a machine.
pub(super) fn parameters(machine: &ExactMachine, n_functions: usize) -> Result<Array2<f64>> {
    let sign = if machine.n_support.len() == 2 { -1.0 } else { 1.0 };
    let own = |part: &exact::Fitted| {
        part.mpd.as_ref().map(|mpd| mpd.parametric.clone()).unwrap_or_default()
    };
    let all: Vec<f64> = machine.parts.iter().flat_map(own).map(|c| sign * c).collect();
    let (expected, got) = (machine.parts.len() * n_functions, all.len());
    Array2::from_shape_vec((machine.parts.len(), n_functions), all)
        .map_err(|_| Error::LengthMismatch { what: "functions", expected, got })
}

/// `values` with what the functions add.
pub(super) fn add<F: Precision>(
    mut values: Array2<f64>,
    parametric: &Array2<f64>,
    functions: Functions<'_, F>,
    rows: &Rows<'_, F>,
) -> Result<Array2<f64>> {
    let outputs = values.ncols().max(1);
    let flat = values.as_slice_mut().unwrap_or_default();
    add_into((flat, outputs), parametric, functions, rows)?;
    Ok(values)
}

/// The same of values row by row, so many outputs each.
pub(super) fn add_into<F: Precision>(
    (values, outputs): (&mut [f64], usize),
    parametric: &Array2<f64>,
    functions: Functions<'_, F>,
    rows: &Rows<'_, F>,
) -> Result<()> {
    let phi = functions.on(rows)?;
    if rows.n_rows() > 0 {
        check_len("functions", parametric.ncols(), phi.ncols())?;
    }
    for (values, phi) in values.chunks_exact_mut(outputs).zip(phi.rows()) {
        for (value, c) in values.iter_mut().zip(parametric.rows()) {
            *value += c.iter().zip(phi).map(|(c, phi)| c * phi).sum::<f64>();
        }
    }
    Ok(())
}
