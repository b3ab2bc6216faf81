//! Exact regression.

use super::fitted::ExactMachine;
use super::labelled::{Exact, Function, Given, tells};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::machine::Precision;
use crate::estimator::saved::{self, Saved};
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent};

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
#[derive(Clone, Debug, PartialEq)]
pub struct Svr {
    exact: Exact,
}

/// The same with ν in (0, 1], which bounds the share of errors outside the tube from above, in the
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
#[derive(Clone, Debug, PartialEq)]
pub struct NuSvr {
    exact: Exact,
}

/// A fitted exact regression machine.
#[derive(Clone, Debug)]
pub struct SvrModel<F: Precision> {
    pub(super) function: Function<F>,
}

/// Unless ε is set.
pub(super) const EPSILON: ExactKind = ExactKind::EpsilonSvr { epsilon: 0.1 };

macro_rules! regressor {
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
                Ok(SvrModel { function: self.exact.fit(rows, targets, given, observer)? })
            }
        }
    };
}

regressor!(Svr, EPSILON);
regressor!(NuSvr, ExactKind::NuSvr { nu: 0.5 });

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

impl<F: Precision> SvrModel<F> {
    /// The value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        self.function.values(rows)
    }

    /// The value of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`SvrModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<f64> {
        self.function.model.decide_one(row, |values| Ok(values[0]))
    }
}

tells!(impl<F: Precision> SvrModel<F>);

impl<F: Precision> Saved for SvrModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        self.function.to_archive("Svr", &Labels::None, None)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("Svr", &ExactConfig::default(), archive)?;
        let function = Function::of(&mut found)?;
        found.without_classes()?;
        Ok(Self { function })
    }
}
