//! What curves are, and what they are fitted to.

use serde::{Deserialize, Serialize};

/// How a curve is fitted to decision values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CalibrationMethod {
    /// The one of the others whose curves, fitted to half of the rows, make the other half likeliest.
    #[default]
    Auto,
    /// Two numbers an output: for few rows.
    Sigmoid,
    /// Any rising curve: for thousands of rows a class.
    Isotonic,
    /// One number: what is most probable stays what it is.
    Temperature,
}

/// A rising curve.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Steps {
    /// Decision values, rising, and the share at each, in [0, 1] and never falling.
    pub(super) at: Vec<f64>,
    pub(super) share: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Curves {
    Sigmoid(Vec<[f64; 2]>),
    Isotonic(Vec<Steps>),
    /// The sharpness, and the number of outputs.
    Temperature(f64, usize),
}

/// What decision values are of: so many classes, and whether there is one a pair of them, not one a
/// class. Two classes have one value in any case, positive for the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outputs {
    /// Number of classes, at least 2.
    pub n_classes: usize,
    /// Whether several classes have a value a pair.
    pub pairs: bool,
}

impl Outputs {
    /// Decision values of a row.
    #[must_use]
    pub fn count(self) -> usize {
        match (self.n_classes, self.pairs) {
            (2, _) => 1,
            (k, true) => k * (k - 1) / 2,
            (k, false) => k,
        }
    }
}

/// `1/(1 + exp(-z))`.
pub(crate) fn logistic(z: f64) -> f64 {
    if z >= 0.0 { 1.0 / (1.0 + (-z).exp()) } else { z.exp() / (1.0 + z.exp()) }
}

impl Steps {
    pub(super) fn share(&self, f: f64) -> f64 {
        let after = self.at.partition_point(|&at| at <= f);
        if after == 0 || after == self.at.len() {
            return self.share[after.min(self.share.len() - 1)];
        }
        let (a, b) = (self.at[after - 1], self.at[after]);
        let (low, high) = (self.share[after - 1], self.share[after]);
        low + (high - low) * ((f - a) / (b - a))
    }
}

/// Shares as parts of their sum; equal ones where all are 0.
pub(super) fn divide(out: &mut [f64]) {
    let sum: f64 = out.iter().sum();
    let equal = 1.0 / out.len() as f64;
    out.iter_mut().for_each(|p| *p = if sum > 0.0 { *p / sum } else { equal });
}
