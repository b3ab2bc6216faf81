//! What support vectors are compared as.

use std::ops::Range;

use crate::float::Real;
use crate::kernel::SparseCenters;
use crate::simd::Packed;

/// Support vectors of one class, packed.
#[derive(Clone, Debug)]
pub(super) struct Block<F: Real> {
    pub(super) class: usize,
    pub(super) centers: Packed<F>,
    /// One padded row an output of the block.
    pub(super) coef: Vec<f64>,
}

/// Support vectors of several classes, packed.
#[derive(Clone, Debug)]
pub(super) struct SharedBlock<F: Real> {
    pub(super) classes: Range<usize>,
    /// The first of its terms.
    pub(super) first: usize,
    pub(super) centers: Packed<F>,
    /// The coefficients of a term, one term after another.
    pub(super) coef: Vec<f64>,
}

/// Support vectors held by feature, and their coefficients.
#[derive(Clone, Debug)]
pub(super) struct ByFeature<F: Real> {
    pub(super) centers: SparseCenters<F>,
    /// The coefficients of a term, one term after another.
    pub(super) coef: Vec<f64>,
}
