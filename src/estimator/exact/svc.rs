//! Exact classification with labels.

use ndarray::Array2;

use super::fitted::ExactMachine;
use super::machine::{ExactConfig, ExactTargets, exact_decision};
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::kernel::{AnyKernel, Gram};
use crate::model::PairwiseModel;
use crate::parallel;
use crate::watch::{Observer, Silent, Watch};

/// An exact kernel support vector classifier with an offset, to be fitted; several classes one
/// against one.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::Svc;
/// use budgetsvm::kernel::Gaussian;
///
/// let rows = ndarray::Array2::from_shape_fn((300, 2), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, (i % 3) as f64);
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// });
/// let labels: Vec<usize> = (0..300).map(|i| i % 3).collect();
/// let rows = Rows::Dense(rows.view());
/// let model = Svc::new(10.0, Gaussian::new(1.0)?.into()).fit(&rows, &labels)?;
/// assert_eq!(model.predict(&rows)?, labels);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Svc {
    /// Cost of a violation, > 0; ∞ is allowed.
    pub c: f64,
    /// The kernel.
    pub kernel: AnyKernel,
    /// Violation of the optimality conditions at which a fit ends, > 0; 1e-3 unless set.
    pub tol: f64,
    /// Megabytes of kernel rows, > 0; 200 unless set.
    pub cache_size: f64,
    /// SMO steps of every pair of classes, at most.
    pub max_iter: Option<u64>,
}

/// A fitted classifier.
#[derive(Clone, Debug)]
pub struct SvcModel<L> {
    kernel: AnyKernel,
    machine: ExactMachine,
    /// Support vectors, dense.
    support: Array2<f64>,
    classes: Vec<L>,
}

impl Svc {
    /// A classifier with the cost and the kernel given.
    #[must_use]
    pub fn new(c: f64, kernel: AnyKernel) -> Self {
        Self { c, kernel, tol: 1e-3, cache_size: 200.0, max_iter: None }
    }

    /// Trains on rows and labels of any sortable type, at least two different ones.
    ///
    /// # Errors
    /// As [`Svc::fit_observed`].
    pub fn fit<L: Ord + Clone>(&self, rows: &Rows<'_, f64>, labels: &[L]) -> Result<SvcModel<L>> {
        self.fit_observed(rows, labels, None, &mut Silent)
    }

    /// [`Svc::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// `InvalidParam`, `LengthMismatch`, `NonFinite`, `BadLabels` for a single class, `OutOfMemory`
    /// when two kernel rows do not fit the cache, `Interrupted` when the observer says so.
    pub fn fit_observed<L: Ord + Clone>(
        &self,
        rows: &Rows<'_, f64>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<SvcModel<L>> {
        self.kernel.check()?;
        if self.c.is_nan() || self.c <= 0.0 {
            return Err(Error::param("C", "> 0", self.c));
        }
        let mut classes = labels.to_vec();
        classes.sort();
        classes.dedup();
        if classes.len() < 2 {
            return Err(Error::BadLabels(format!("{} class, at least 2 needed", classes.len())));
        }
        let find = |label| classes.binary_search(label).ok().and_then(|c| u32::try_from(c).ok());
        let index: Option<Vec<u32>> = labels.iter().map(find).collect();
        let index = index.ok_or_else(|| Error::BadLabels("labels that do not compare".into()))?;
        let cost: Vec<f64> = match weights {
            // 0 · ∞ is no cost.
            Some(weights) => {
                weights.iter().map(|&w| if w == 0.0 { 0.0 } else { self.c * w }).collect()
            }
            None => vec![self.c; labels.len()],
        };
        let config = ExactConfig {
            tol: self.tol,
            cache_size: self.cache_size,
            max_iter: self.max_iter,
            ..ExactConfig::default()
        };
        let targets = ExactTargets::Classes(&index, classes.len());
        let gram = Gram::Kernel(self.kernel, rows.view());
        let machine = Watch::run(parallel::thread_count(None)?, observer, |watch| {
            ExactMachine::fit(&config, gram, targets, &cost, watch)
        })?;
        let mut support = Array2::zeros((machine.support.len(), rows.n_cols()));
        for (mut to, &sample) in support.rows_mut().into_iter().zip(&machine.support) {
            if let Some(to) = to.as_slice_mut() {
                rows.copy_row(sample, to);
            }
        }
        Ok(SvcModel { kernel: self.kernel, machine, support, classes })
    }
}

impl<L: Clone> SvcModel<L> {
    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a pair `(i, j)`, i < j (positive is the first).
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(&self, rows: &Rows<'_, f64>) -> Result<Array2<f64>> {
        let model = PairwiseModel {
            kernel: self.kernel,
            support: Rows::Dense(self.support.view()),
            n_support: self.machine.n_support.clone(),
            coef: self.machine.dual_coef.view(),
            intercept: &self.machine.intercept,
        };
        Watch::run(parallel::thread_count(None)?, &mut Silent, |watch| {
            exact_decision(&model, rows, watch)
        })
    }

    /// The label of every row: the class with most votes of the pairs, the first of equals.
    /// A value of 0 is the first of two classes, among votes the second of the pair (as in LIBSVM).
    ///
    /// # Errors
    /// As [`SvcModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, f64>) -> Result<Vec<L>> {
        let values = self.decision_function(rows)?;
        let k = self.classes.len();
        let pairs = crate::multiclass::pairs(k);
        let class = |row: ndarray::ArrayView1<'_, f64>| {
            if k == 2 {
                return usize::from(row[0] > 0.0);
            }
            let mut votes = vec![0usize; k];
            for (&(i, j), &value) in pairs.iter().zip(&row) {
                votes[if value > 0.0 { i } else { j }] += 1;
            }
            (0..k).rev().max_by_key(|&c| votes[c]).unwrap_or(0)
        };
        Ok(values.rows().into_iter().map(|row| self.classes[class(row)].clone()).collect())
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }

    /// Support vectors, coefficients, offsets and what each pair of classes tells.
    #[must_use]
    pub fn machine(&self) -> &ExactMachine {
        &self.machine
    }
}
