//! What a primal machine is made of, and where a fit of it begins.

use super::config::Choice;
use crate::data::Rows;
use crate::error::{Error, Result, check_len};
use crate::float::Real;

/// The points that the expansion is made of.
#[derive(Clone, Debug)]
pub enum PrimalBasis<'a, F: Real> {
    /// Every sample.
    Samples,
    /// This many samples, found so.
    Chosen(Choice, usize),
    /// These points, or this many of them by incomplete Cholesky where there are more.
    Given(Rows<'a, F>, usize),
}

/// Where a fit begins: a solution found before, for these or other hyperparameters.
#[derive(Clone, Debug)]
pub struct PrimalStart {
    /// For an expansion in the samples: those that the terms are. Else empty: the terms are the
    /// features, or the points of the basis given.
    pub terms: Vec<usize>,
    /// Terms x outputs.
    pub coef: Vec<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
}

impl PrimalStart {
    /// Whether it has this many terms and outputs.
    pub(super) fn check(&self, terms: usize, outputs: usize) -> Result<()> {
        check_len("coefficients of the start", terms * outputs, self.coef.len())?;
        check_len("intercept of the start", outputs, self.intercept.len())?;
        let values = self.coef.iter().chain(&self.intercept);
        match values.enumerate().find(|(_, v)| !v.is_finite()) {
            Some((row, _)) => Err(Error::NonFinite { what: "start", row, column: 0 }),
            None => Ok(()),
        }
    }
}

impl<F: Real> PrimalBasis<'_, F> {
    /// The same for a shorter time.
    pub(super) fn view(&self) -> PrimalBasis<'_, F> {
        match self {
            Self::Samples => PrimalBasis::Samples,
            Self::Chosen(choice, count) => PrimalBasis::Chosen(*choice, *count),
            Self::Given(points, count) => PrimalBasis::Given(points.view(), *count),
        }
    }
}
