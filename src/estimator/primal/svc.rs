//! Classification in the primal.

use ndarray::Array2;

use super::config::PrimalConfig;
use super::fitted::{Fitted, Given, PrimalReport};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::labels::{classes, decode, encode, label_of, sorted};
use crate::estimator::machine::Precision;
use crate::estimator::saved::{self, Saved};
use crate::estimator::setup::ClassWeighted;
use crate::float::Real;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent};

/// Classification in the primal, to be fitted; several classes one against the rest.
///
/// ```
/// use budgetsvm::data::Rows;
/// use budgetsvm::estimator::{Choice, PrimalSvc};
/// use budgetsvm::kernel::Gaussian;
///
/// // Points inside and outside a circle.
/// let rows = ndarray::Array2::from_shape_fn((400, 2), |(i, j)| {
///     let (a, r) = (i as f64 * 0.7, if i % 2 == 0 { 1.0 } else { 2.0 });
///     if j == 0 { r * a.cos() } else { r * a.sin() }
/// });
/// let labels: Vec<bool> = (0..400).map(|i| i % 2 == 0).collect();
/// let rows = Rows::Dense(rows.view());
///
/// // Newton's method on all samples; then on 10 points that are moved too.
/// let svc = PrimalSvc::builder().c(10.0).kernel(Gaussian::new(1.0)?);
/// let model = svc.clone().build()?.fit(&rows, &labels)?;
/// assert_eq!(model.predict(&rows)?, labels);
/// let small = svc.basis(Choice::KmeansPlusPlus).n_components(10).refine(true);
/// let small = small.build()?.fit(&rows, &labels)?;
/// assert_eq!((small.n_terms(), small.predict(&rows)?), (10, labels));
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PrimalSvc {
    config: PrimalConfig,
    setup: Setup,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct PrimalSvcModel<F: Real, L> {
    fitted: Fitted<F>,
    classes: Vec<L>,
}

impl FromConfig<PrimalConfig> for PrimalSvc {
    /// Least squares serve classes too, whose targets are 1 and -1.
    fn from_config(config: PrimalConfig, setup: Setup) -> Result<Self> {
        if !config.loss.is_least_squares() {
            config.loss.expect_classes(true)?;
        }
        Ok(Self { config, setup })
    }
}

impl ClassWeighted for PrimalSvc {}

impl PrimalSvc {
    /// Sets hyperparameters; the loss is the squared hinge unless set.
    #[must_use]
    pub fn builder() -> Builder<PrimalConfig, Self> {
        Builder::new(PrimalConfig::default())
    }

    /// Trains on rows of any layout and labels of any sortable type, at least two different ones.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `BadLabels`, `Unsupported` when Newton's method does not fit
    /// the memory allowed, `OutOfMemory`.
    pub fn fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<PrimalSvcModel<F, L>> {
        self.train(rows, labels, &Given::NOTHING, &mut Silent)
    }

    /// [`PrimalSvc::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`PrimalSvc::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<PrimalSvcModel<F, L>> {
        self.train(rows, labels, &Given { weights, ..Given::NOTHING }, observer)
    }

    /// [`PrimalSvc::fit`] with these points as the basis.
    ///
    /// # Errors
    /// Those of [`PrimalSvc::fit`], `FeatureMismatch` for points of other features.
    pub fn fit_on<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        points: &Rows<'_, F>,
    ) -> Result<PrimalSvcModel<F, L>> {
        let given = Given { points: Some(points.view()), ..Given::NOTHING };
        self.train(rows, labels, &given, &mut Silent)
    }

    /// [`PrimalSvc::fit`] beginning with a machine fitted before, for other hyperparameters or
    /// with rows appended: a basis keeps its points. Without refining the result is the same to
    /// the tolerance; only the time differs.
    ///
    /// # Errors
    /// Those of [`PrimalSvc::fit`], `BadLabels` for other classes than that machine has,
    /// `LengthMismatch` and `FeatureMismatch` where it does not fit.
    pub fn fit_from<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        previous: &PrimalSvcModel<F, L>,
    ) -> Result<PrimalSvcModel<F, L>> {
        if sorted(labels) != previous.classes {
            return Err(Error::BadLabels("other classes than the machine was fitted on".into()));
        }
        let given = Given { previous: Some(&previous.fitted), ..Given::NOTHING };
        self.train(rows, labels, &given, &mut Silent)
    }

    fn train<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        given: &Given<'_, F>,
        observer: &mut dyn Observer,
    ) -> Result<PrimalSvcModel<F, L>> {
        let classes = classes(labels)?;
        let index = encode(labels, &classes)?;
        let targets = Targets::Classes { index: &index, n_classes: classes.len() };
        Ok(PrimalSvcModel {
            fitted: self.config.fit_given(&self.setup, rows, targets, given, observer)?,
            classes,
        })
    }
}

impl<F: Real, L: Ord + Clone> PrimalSvcModel<F, L> {
    /// The label of every row.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        let values = self.decision_function(rows)?;
        Ok(decode(values.as_slice().unwrap_or_default(), values.ncols(), &self.classes))
    }

    /// The label of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`PrimalSvcModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        label_of(self.fitted.machine.model()?, row, &self.classes)
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class.
    ///
    /// # Errors
    /// As [`PrimalSvcModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.fitted.decide(rows)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
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

impl<F: Precision, L: Label> Saved for PrimalSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        self.fitted.to_archive("PrimalSVC", &L::to_labels(&self.classes))
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack("PrimalSVC", PrimalSvc::builder().config(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        Ok(Self { fitted, classes: found.classes(|k| k)? })
    }
}
