//! A trained exact machine, one or one-vs-one for classes.

use std::sync::Arc;

use ndarray::Array2;

use crate::data::{AnyRows, Gathered};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::{Model, PairwiseModel, Support};
use crate::multiclass::pair_index;
use crate::solver::exact::Fitted;
use crate::watch::StopReason;

/// A trained machine in the layout of \[LIBSVM\].
#[derive(Clone, Debug, PartialEq)]
pub struct ExactMachine {
    /// Support vectors: indices of samples, by class and then rising.
    pub support: Vec<usize>,
    /// Support vectors of each class; one entry for values and one class.
    pub n_support: Vec<usize>,
    /// 1 x support vectors (for two classes positive for the second), or (classes - 1) x support
    /// vectors as in [`PairwiseModel`](crate::model::PairwiseModel).
    pub dual_coef: Array2<f64>,
    /// An offset an output.
    pub intercept: Vec<f64>,
    /// What every pair of classes tells, in the order (0, 1), (0, 2), ...; one entry otherwise.
    pub parts: Vec<Fitted>,
}

impl ExactMachine {
    /// Whether every part met `tol`.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.parts.iter().all(|part| part.stop == StopReason::Converged)
    }

    /// What it decides with, in any precision: the support vectors among the rows that it was
    /// trained on.
    ///
    /// # Errors
    /// `NonFinite`, `OutOfMemory`.
    pub fn model<F: Real>(&self, kernel: AnyKernel, rows: &AnyRows<'_>) -> Result<Model<F>> {
        let vectors = match rows {
            AnyRows::Single(rows) => Gathered::new(rows, &self.support)?.cast()?,
            AnyRows::Double(rows) => Gathered::new(rows, &self.support)?.cast()?,
        };
        self.on(Support::Vectors(kernel, vectors))
    }

    /// The same where rows consist of kernel values, one a sample that it was trained on.
    ///
    /// # Errors
    /// As [`ExactMachine::model`].
    pub fn model_of_values<F: Real>(&self, n_samples: usize) -> Result<Model<F>> {
        self.on(Support::Columns(self.support.clone(), n_samples))
    }

    fn on<F: Real>(&self, support: Support<F>) -> Result<Model<F>> {
        let outcomes = self.parts.iter().filter_map(|part| part.mpd.as_ref());
        let mut parametric = outcomes.flat_map(|outcome| &outcome.parametric);
        if !self.dual_coef.iter().chain(&self.intercept).all(|v| v.is_finite())
            || !parametric.all(|c| c.is_finite())
        {
            return Err(Error::Unsupported(
                "The dual coefficients or intercepts are not finite. The input data may contain \
                 large values and need to be preprocessed."
                    .into(),
            ));
        }
        let (n_support, coef) = (self.n_support.clone(), self.dual_coef.clone());
        let model = PairwiseModel::new(support, n_support, coef, self.intercept.clone())?;
        Ok(Model::Pairwise(Arc::new(model)))
    }
}

/// The layout of \[LIBSVM\] from the machines of all pairs.
pub(super) fn assemble(parts: Vec<Fitted>, of_class: &[Vec<usize>]) -> ExactMachine {
    let k = of_class.len();
    // The coefficients of a class's samples in its machine with another one.
    let coef = |class: usize, other: usize| {
        let (i, j) = (class.min(other), class.max(other));
        let skip = if class == i { 0 } else { of_class[i].len() };
        &parts[pair_index((i, j), k)].coef[skip..][..of_class[class].len()]
    };
    let (mut support, mut n_support) = (Vec::new(), Vec::new());
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (class, members) in of_class.iter().enumerate() {
        let of_others: Vec<(usize, &[f64])> = (0..k)
            .filter(|&other| other != class)
            .map(|other| (if other > class { other - 1 } else { other }, coef(class, other)))
            .collect();
        let before = support.len();
        for (m, &sample) in members.iter().enumerate() {
            if of_others.iter().any(|(_, coef)| coef[m] != 0.0) {
                let mut column = vec![0.0; k - 1];
                of_others.iter().for_each(|(row, coef)| column[*row] = coef[m]);
                support.push(sample);
                columns.push(column);
            }
        }
        n_support.push(support.len() - before);
    }
    let sign = if k == 2 { -1.0 } else { 1.0 };
    let shape = (k - 1, support.len());
    let dual_coef = Array2::from_shape_fn(shape, |(row, s)| sign * columns[s][row]);
    let intercept = parts.iter().map(|part| sign * part.intercept).collect();
    ExactMachine { support, n_support, dual_coef, intercept, parts }
}
