//! Exact regression.

use super::fitted::ExactMachine;
use super::labelled::{Exact, Given, estimator};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::labelled::{OfValues as _, RegressorModel};
use crate::estimator::precision::Precision;
use crate::float::Real;
use crate::watch::{Observer, Silent};

estimator! {
    /// Exact ε support vector regression with an offset, to be fitted.
    ///
    /// ```
    /// use budgetsvm::Svr;
    /// use budgetsvm::data::Rows;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((100, 1), |(i, _)| i as f64 / 16.0);
    /// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
    /// let rows = Rows::from(&rows);
    /// let model = Svr::builder().c(10.0).epsilon(0.01).gamma(1.0).build()?.fit(&rows, &values)?;
    /// assert!(model.predict(&rows)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.02));
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    Svr, ExactConfig::of_values()
}

/// Half of the samples, unless set.
const HALF: ExactKind = ExactKind::NuSvr { nu: 0.5 };

estimator! {
    /// [`Svr`] with ν in (0, 1], which bounds the share of errors outside the tube from above, in the
    /// place of its width, which is found.
    ///
    /// ```
    /// use budgetsvm::NuSvr;
    /// use budgetsvm::data::Rows;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((100, 1), |(i, _)| i as f64 / 16.0);
    /// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
    /// let rows = Rows::from(&rows);
    /// let model = NuSvr::builder().c(10.0).nu(0.3).gamma(1.0).build()?.fit(&rows, &values)?;
    /// assert!(model.predict(&rows)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.02));
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    NuSvr, ExactConfig { kind: HALF, ..ExactConfig::default() }
}

/// A fitted [`Svr`] or [`NuSvr`]; its methods are those of [`RegressorModel`].
pub type SvrModel<F> = RegressorModel<ExactConfig, F>;

macro_rules! regressor {
    ($estimator:ident) => {
        impl $estimator {
            /// Trains on rows of any layout and finite values.
            ///
            /// # Errors
            /// `InvalidParam`, `LengthMismatch`, `NonFinite`, `InvalidData` for no rows or numbers
            /// out of range, `OutOfMemory` when two kernel rows do not fit the cache.
            pub fn fit<F: Precision>(
                &self,
                rows: &Rows<'_, F>,
                values: &[f64],
            ) -> Result<SvrModel<F>> {
                self.fit_observed(rows, values, None, &mut Silent)
            }

            /// The same with weights of the samples, watched by an observer. Samples of weight 0
            /// are left out.
            ///
            /// # Errors
            /// Those of `fit`, and `Interrupted` when the observer says so.
            pub fn fit_observed<F: Precision>(
                &self,
                rows: &Rows<'_, F>,
                values: &[f64],
                weights: Option<&[f64]>,
                observer: &mut dyn Observer,
            ) -> Result<SvrModel<F>> {
                let given = Given { weights, functions: None };
                let targets = ExactTargets::Values(values);
                Ok(SvrModel { fitted: self.exact.fit(rows, targets, given, observer)? })
            }
        }
    };
}

regressor!(Svr);
regressor!(NuSvr);

impl Builder<ExactConfig, Svr> {
    /// Half-width ε >= 0 of the tube in which errors cost nothing; 0.1 unless set.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        self.kind(ExactKind::EpsilonSvr { epsilon })
    }
}

impl Builder<ExactConfig, NuSvr> {
    /// ν, in (0, 1]; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::NuSvr { nu })
    }
}

impl<F: Real> SvrModel<F> {
    /// Support vectors, coefficients, offset and how the fit went.
    #[must_use]
    pub fn machine(&self) -> &ExactMachine {
        &self.fitted.report
    }
}
