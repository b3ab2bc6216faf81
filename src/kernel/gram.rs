//! Where kernel values come from.

use ndarray::ArrayView2;

use super::form::{Form, Product};
use super::{AnyKernel, inverted};
use crate::data::AnyRows;

/// Where kernel values come from.
#[derive(Clone, Copy, Debug)]
pub enum Gram<'a> {
    /// A kernel function of rows, which the engine may hold in `f32` or `f64`, whatever they are of.
    Kernel(AnyKernel, AnyRows<'a>),
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
            // Where sums need no rows, there is no memory to be saved.
            Form::Product(Product::Plain) => small(rows) && !inverted::suits(rows),
            // Powers of dot products lose too many digits.
            Form::Product(Product::Power { .. } | Product::Tanh { .. }) => false,
        }
    }
}

fn small(rows: &AnyRows<'_>) -> bool {
    const LARGEST: f64 = 1e12;
    (0..rows.n_rows()).all(|row| rows.all_of_row(row, |v| v.abs() <= LARGEST))
}
