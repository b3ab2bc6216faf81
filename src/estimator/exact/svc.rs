//! Exact classification with labels.

use super::fitted::ExactMachine;
use super::labelled::{Exact, Given, estimator};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::labelled::ClassifierModel;
use crate::estimator::labels::{classes, encode};
use crate::estimator::precision::Precision;
use crate::estimator::setup::ClassWeighted;
use crate::float::Real;
use crate::watch::{Observer, Silent};

estimator! {
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
    Svc, ExactConfig::default()
}

/// Half of the samples, unless set.
const HALF: ExactKind = ExactKind::NuSvc { nu: 0.5 };

estimator! {
    /// [`Svc`] with ν in the place of C: ν in (0, 1] bounds the share of samples within the margin
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
    NuSvc, ExactConfig { kind: HALF, ..ExactConfig::default() }
}

/// A fitted [`Svc`] or [`NuSvc`] with labels of type `L`: the class with most votes of the pairs. Its
/// methods are those of [`ClassifierModel`].
pub type SvcModel<F, L> = ClassifierModel<ExactConfig, F, L>;

impl ClassWeighted for Svc {}

macro_rules! classifier {
    ($estimator:ident) => {
        impl $estimator {
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
                let given = Given { weights, functions: None };
                self.exact.classifier(rows, labels, given, observer)
            }
        }
    };
}

classifier!(Svc);
classifier!(NuSvc);

impl Builder<ExactConfig, NuSvc> {
    /// ν, in (0, 1]; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::NuSvc { nu })
    }
}

impl Exact {
    pub(super) fn classifier<F: Precision, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        given: Given<'_>,
        observer: &mut dyn Observer,
    ) -> Result<SvcModel<F, L>> {
        let classes = classes(labels)?;
        let index = encode(labels, &classes)?;
        let targets = ExactTargets::Classes(&index, classes.len());
        Ok(SvcModel { fitted: self.fit(rows, targets, given, observer)?, classes })
    }
}

impl<F: Real, L> SvcModel<F, L> {
    /// Support vectors, coefficients, offsets and how each part of the fit went.
    #[must_use]
    pub fn machine(&self) -> &ExactMachine {
        &self.fitted.report
    }
}
