//! Where kernel values come from.

use ndarray::ArrayView2;

use super::AnyKernel;
use super::form::{Form, Product};
use crate::data::Rows;

/// Where kernel values come from.
#[derive(Clone, Copy, Debug)]
pub enum Gram<'a> {
    /// A kernel function of rows. They are `f64`; the engine may hold them in `f32`.
    Kernel(AnyKernel, Rows<'a, f64>),
    /// The symmetric matrix of the values itself, n x n.
    Given(ArrayView2<'a, f64>),
}

impl Gram<'_> {
    /// Whether `f32` rows are as good as `f32` can be: no square of a feature overflows.
    #[must_use]
    pub fn suits_single(&self) -> bool {
        let Self::Kernel(kernel, rows) = self else { return true };
        match kernel.form() {
            Form::Distance { gamma, .. } => (1e-20..=1e20).contains(&gamma) && small(rows),
            Form::Product(Product::Plain) => small(rows),
            // Powers of dot products lose too many digits.
            Form::Product(Product::Power { .. } | Product::Tanh { .. }) => false,
        }
    }
}

fn small(rows: &Rows<'_, f64>) -> bool {
    const LARGEST: f64 = 1e12;
    match rows {
        Rows::Dense(x) => x.iter().all(|v| v.abs() <= LARGEST),
        Rows::Csr(x) => (0..x.n_rows()).all(|row| {
            let mut all = true;
            x.for_each(row, |_, v| all &= v.abs() <= LARGEST);
            all
        }),
    }
}
