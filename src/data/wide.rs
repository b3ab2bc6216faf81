//! Rows in double precision, however they are held.

use ndarray::{ArrayView1, CowArray, Ix1, Ix2};

use super::{Csr, Rows};
use crate::float::Real;

/// Rows as `f64`: borrowed where they are, else a copy of the values.
pub(crate) enum Wide<'a, F: Real> {
    Dense(CowArray<'a, f64, Ix2>),
    Csr(Csr<'a, F>, CowArray<'a, f64, Ix1>),
}

impl<'a, F: Real> Wide<'a, F> {
    pub(crate) fn new(rows: &'a Rows<'_, F>) -> Self {
        match rows {
            Rows::Dense(x) => Self::Dense(F::widened(x.view())),
            Rows::Csr(x) => Self::Csr(*x, F::widened(ArrayView1::from(x.values()))),
        }
    }

    pub(crate) fn rows(&self) -> Rows<'_, f64> {
        match self {
            Self::Dense(x) => Rows::Dense(x.view()),
            Self::Csr(x, values) => Rows::Csr(x.with_values(values.as_slice().unwrap_or_default())),
        }
    }
}
