//! Where conjugate gradients of one column stand (`common`).

use crate::loss::Curve;

/// Conjugate gradients of one column.
pub(super) struct Line {
    /// d of its factor, and the width: where either changes, it begins anew.
    pub(super) d: f64,
    pub(super) h: f64,
    /// `P⁻¹g` and `gᵀP⁻¹g` of the last step.
    pub(super) z: Vec<f64>,
    pub(super) norm: f64,
    /// P times the direction, and `gᵀ` times it.
    pub(super) pushed: Vec<f64>,
    pub(super) bend: f64,
    pub(super) slope: f64,
    /// The least curvature that a direction had in the metric of P.
    pub(super) least: f64,
    pub(super) steps: usize,
    /// The norm when it was looked at last.
    pub(super) mark: f64,
}

impl Line {
    pub(super) fn new(order: usize) -> Self {
        let zero = || vec![0.0; order];
        Self {
            d: 0.0,
            h: 0.0,
            z: zero(),
            norm: 0.0,
            pushed: zero(),
            bend: 0.0,
            slope: 0.0,
            least: 1.0,
            steps: 0,
            mark: f64::INFINITY,
        }
    }

    /// The objective along the direction, where it begins.
    pub(super) fn at_zero(&self, value: f64) -> Curve {
        Curve { value, slope: self.slope, curvature: 0.0 }
    }
}
