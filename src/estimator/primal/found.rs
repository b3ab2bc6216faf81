//! What comes out of a fit of a primal machine.

use crate::watch::StopReason;

/// What was found.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// The samples, or points of the basis given, that the terms are; none for a linear machine
    /// and for points that were moved.
    pub(super) support: Option<Vec<usize>>,
    /// Points that refining moved, terms x features: numbers of the rows' precision.
    pub(super) points: Option<Vec<f64>>,
    /// Terms (features of a linear machine) x outputs.
    pub(super) coef: Vec<f64>,
    /// An offset an output.
    pub(super) intercept: Vec<f64>,
    /// Objective with the loss smoothed, and as it is.
    pub(super) objective: [f64; 2],
    /// Steps of the output that took most.
    pub(super) n_iter: usize,
    /// Why it ended.
    pub(super) stop: StopReason,
    /// Leave-one-out decision values, samples x outputs, where asked for; NaN for samples that
    /// cost nothing.
    pub(super) left_out: Option<Vec<f64>>,
    /// What C and γ were multiplied by, when they were tuned.
    pub(super) tuned: Option<Tuned>,
    /// Seconds and objective at each step.
    pub(super) history: Vec<[f64; 2]>,
}

/// Factors of every C_i and of γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Factor of C.
    pub c: f64,
    /// Factor of γ.
    pub gamma: f64,
    /// Evaluations made.
    pub evaluations: usize,
    /// Why tuning ended before it was done, if it did.
    pub stopped: Option<StopReason>,
}
