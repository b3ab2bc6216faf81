//! Exact classification with labels.

use ndarray::{Array2, ArrayView1};

use super::fitted::ExactMachine;
use super::labelled::{Exact, Function, Given, tells};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::labels::{classes, encode};
use crate::estimator::machine::Precision;
use crate::estimator::saved::{self, Saved};
use crate::estimator::setup::ClassWeighted;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent};

/// An exact kernel support vector classifier with an offset, to be fitted; several classes one
/// against one.
///
/// ```
/// use budgetsvm::Svc;
/// use budgetsvm::config::Gamma;
/// use budgetsvm::data::Rows;
///
/// let rows = ndarray::Array2::from_shape_fn((300, 2), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, (i % 3) as f64);
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// });
/// let labels: Vec<usize> = (0..300).map(|i| i % 3).collect();
/// let rows = Rows::from(&rows);
/// let model = Svc::builder().c(10.0).gamma(Gamma::Scale).build()?.fit(&rows, &labels)?;
/// assert_eq!(model.predict(&rows)?, labels);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Svc {
    exact: Exact,
}

/// The same with ν in the place of C: ν in (0, 1] bounds the share of samples within the margin
/// from above, that of support vectors from below.
///
/// ```
/// use budgetsvm::NuSvc;
/// use budgetsvm::data::Rows;
///
/// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 100.0);
/// let labels: Vec<&str> = (0..200).map(|i| if i < 100 { "low" } else { "high" }).collect();
/// let model = NuSvc::builder().nu(0.2).gamma(1.0).build()?.fit(&Rows::from(&rows), &labels)?;
/// assert!(model.n_terms() >= 40);
/// assert_eq!(model.predict(&Rows::of_one(&[0.3])?)?, ["low"]);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NuSvc {
    exact: Exact,
}

/// A fitted exact classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct SvcModel<F: Precision, L> {
    pub(super) function: Function<F>,
    pub(super) classes: Vec<L>,
}

impl ClassWeighted for Svc {}

macro_rules! classifier {
    ($estimator:ident, $kind:expr) => {
        impl FromConfig<ExactConfig> for $estimator {
            fn from_config(config: ExactConfig, setup: Setup) -> Result<Self> {
                Ok(Self { exact: Exact::new(config, setup, &$kind)? })
            }
        }

        impl $estimator {
            /// Sets hyperparameters.
            #[must_use]
            pub fn builder() -> Builder<ExactConfig, Self> {
                Builder::new(ExactConfig { kind: $kind, ..ExactConfig::default() })
            }

            /// Trains on rows of any layout and labels of any type with an order, at least two
            /// different ones.
            ///
            /// # Errors
            /// `InvalidParam`, `LengthMismatch`, `NonFinite`, `InvalidData` for no rows or numbers
            /// out of range, `BadLabels` for a single class, `Unsupported` for a ν that cannot be
            /// reached, `OutOfMemory` when two kernel rows do not fit the cache.
            pub fn fit<F: Precision, L: Ord + Clone>(
                &self,
                rows: &Rows<'_, F>,
                labels: &[L],
            ) -> Result<SvcModel<F, L>> {
                self.fit_observed(rows, labels, None, &mut Silent)
            }

            /// The same with weights of the samples, watched by an observer. Samples of weight 0
            /// are left out.
            ///
            /// # Errors
            /// Those of `fit`, and `Interrupted` when the observer says so.
            pub fn fit_observed<F: Precision, L: Ord + Clone>(
                &self,
                rows: &Rows<'_, F>,
                labels: &[L],
                weights: Option<&[f64]>,
                observer: &mut dyn Observer,
            ) -> Result<SvcModel<F, L>> {
                SvcModel::fit(
                    &self.exact,
                    rows,
                    labels,
                    Given { weights, functions: None },
                    observer,
                )
            }
        }
    };
}

classifier!(Svc, ExactKind::CSvc);
classifier!(NuSvc, ExactKind::NuSvc { nu: 0.5 });

impl Builder<ExactConfig, NuSvc> {
    /// ν, in (0, 1]; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::NuSvc { nu })
    }
}

impl<F: Precision, L: Ord + Clone> SvcModel<F, L> {
    pub(super) fn fit(
        exact: &Exact,
        rows: &Rows<'_, F>,
        labels: &[L],
        given: Given<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let classes = classes(labels)?;
        let index = encode(labels, &classes)?;
        let targets = ExactTargets::Classes(&index, classes.len());
        Ok(Self { function: exact.fit(rows, targets, given, observer)?, classes })
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a pair `(i, j)`, i < j (positive is the first).
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.function.decision(rows)
    }

    /// The label of every row: the class with most votes of the pairs, the first of equals.
    /// A value of 0 is the first of two classes, among votes the second of the pair (as in LIBSVM).
    ///
    /// # Errors
    /// As [`SvcModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        Ok(self.elected(&self.decision_function(rows)?))
    }

    /// The labels that decision values speak for.
    pub(super) fn elected(&self, values: &Array2<f64>) -> Vec<L> {
        let class = |row: ArrayView1<'_, f64>| elect(row, self.classes.len());
        values.rows().into_iter().map(|row| self.classes[class(row)].clone()).collect()
    }

    /// The label of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`SvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        let class = |values: &[f64]| elect(values.into(), self.classes.len());
        self.function.model.decide_one(row, |values| Ok(&self.classes[class(values)]))
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }
}

/// The class of k with most votes of the pairs, the first of equals.
fn elect(values: ArrayView1<'_, f64>, k: usize) -> usize {
    if k == 2 {
        return usize::from(values[0] > 0.0);
    }
    // Pairs are in order: (0, 1), (0, 2), ..., (1, 2), ...
    let first_wins = |i: usize, j: usize| values[i * (2 * k - i - 1) / 2 + j - i - 1] > 0.0;
    let votes = |c: usize| {
        let lost = (0..c).filter(|&i| first_wins(i, c)).count();
        c - lost + (c + 1..k).filter(|&j| first_wins(c, j)).count()
    };
    (0..k).rev().max_by_key(|&c| votes(c)).unwrap_or(0)
}

tells!(impl<F: Precision, L> SvcModel<F, L>);

impl<F: Precision, L: Label> Saved for SvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        self.function.to_archive("Svc", &L::to_labels(&self.classes), None)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("Svc", &ExactConfig::default(), archive)?;
        let function = Function::of(&mut found)?;
        Ok(Self { function, classes: found.classes(|k| k * (k - 1) / 2)? })
    }
}
