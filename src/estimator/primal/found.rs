//! What comes out of a fit of a primal machine.

use super::report::PrimalReport;

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// Points that refining moved, terms x features: numbers of the rows' precision.
    pub(super) points: Option<Vec<f64>>,
    /// Terms (features of a linear machine) x outputs.
    pub(super) coef: Vec<f64>,
    /// An offset an output.
    pub(super) intercept: Vec<f64>,
    pub(super) report: PrimalReport,
}
