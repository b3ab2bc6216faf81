//! Regression in the primal.

use super::config::PrimalConfig;
use super::fitted::{Fitted, Given, PrimalReport};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::Result;
use crate::estimator::machine::Precision;
use crate::estimator::saved::{self, Saved};
use crate::float::Real;
use crate::loss::AnyLoss;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent};

/// Regression in the primal, to be fitted.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::PrimalSvr;
/// use budgetsvm::kernel::Gaussian;
///
/// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 30.0);
/// let values: Vec<f64> = rows.iter().map(|x: &f64| x.sin()).collect();
/// let rows = Rows::Dense(rows.view());
/// let model = PrimalSvr::builder().c(10.0).kernel(Gaussian::new(1.0)?).build()?.fit(&rows, &values)?;
/// assert!(model.predict(&rows)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.2));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PrimalSvr {
    config: PrimalConfig,
    setup: Setup,
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct PrimalSvrModel<F: Real> {
    fitted: Fitted<F>,
}

impl FromConfig<PrimalConfig> for PrimalSvr {
    fn from_config(config: PrimalConfig, setup: Setup) -> Result<Self> {
        config.loss.expect_classes(false)?;
        Ok(Self { config, setup })
    }
}

impl PrimalSvr {
    /// Sets hyperparameters; the loss is ε-insensitive with ε = 0.1 unless set.
    #[must_use]
    pub fn builder() -> Builder<PrimalConfig, Self> {
        let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
        Builder::new(PrimalConfig { loss, ..PrimalConfig::default() })
    }

    /// Trains on rows of any layout.
    ///
    /// # Errors
    /// As [`PrimalSvc::fit`](super::PrimalSvc::fit).
    pub fn fit<F: Real>(&self, rows: &Rows<'_, F>, values: &[f64]) -> Result<PrimalSvrModel<F>> {
        self.train(rows, values, &Given::NOTHING, &mut Silent)
    }

    /// [`PrimalSvr::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// As [`PrimalSvc::fit_observed`](super::PrimalSvc::fit_observed).
    pub fn fit_observed<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<PrimalSvrModel<F>> {
        self.train(rows, values, &Given { weights, ..Given::NOTHING }, observer)
    }

    /// [`PrimalSvr::fit`] with these points as the basis.
    ///
    /// # Errors
    /// As [`PrimalSvc::fit_on`](super::PrimalSvc::fit_on).
    pub fn fit_on<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        points: &Rows<'_, F>,
    ) -> Result<PrimalSvrModel<F>> {
        let given = Given { points: Some(points.view()), ..Given::NOTHING };
        self.train(rows, values, &given, &mut Silent)
    }

    /// [`PrimalSvr::fit`] beginning with a machine fitted before; see [`PrimalSvc::fit_from`](super::PrimalSvc::fit_from).
    ///
    /// # Errors
    /// As [`PrimalSvc::fit_from`](super::PrimalSvc::fit_from).
    pub fn fit_from<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        previous: &PrimalSvrModel<F>,
    ) -> Result<PrimalSvrModel<F>> {
        let given = Given { previous: Some(&previous.fitted), ..Given::NOTHING };
        self.train(rows, values, &given, &mut Silent)
    }

    fn train<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: &[f64],
        given: &Given<'_, F>,
        observer: &mut dyn Observer,
    ) -> Result<PrimalSvrModel<F>> {
        let fitted =
            self.config.fit_given(&self.setup, rows, Targets::Values(values), given, observer)?;
        Ok(PrimalSvrModel { fitted })
    }
}

impl<F: Real> PrimalSvrModel<F> {
    /// The value of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.fitted.decide(rows)?.into_raw_vec_and_offset().0)
    }

    /// The value of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`PrimalSvrModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<f64> {
        self.fitted.machine.model()?.decide_one(row, |values| Ok(values[0]))
    }

    /// Number of terms: of features, for a linear machine.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.fitted.machine.n_terms()
    }

    /// How the fit went.
    #[must_use]
    pub fn report(&self) -> &PrimalReport {
        &self.fitted.report
    }
}

impl<F: Precision> Saved for PrimalSvrModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        self.fitted.to_archive("PrimalSVR", &Labels::None)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("PrimalSVR", PrimalSvr::builder().config(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        found.without_classes()?;
        Ok(Self { fitted })
    }
}
