//! The support of one class, exactly.

use ndarray::Array3;

use super::fitted::ExactMachine;
use super::labelled::{Exact, Given, estimator};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::labelled::Fitted;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved};
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent};

/// Decision values below this count as 0, relative to 1 + the offset: rounding does not decide the
/// side of support vectors on the boundary.
const BOUNDARY: f64 = 1e-9;

/// Half of the samples, unless set.
pub(super) const HALF: ExactKind = ExactKind::OneClass { nu: 0.5 };

estimator! {
    /// The one class machine, to be fitted: what most rows have in common, and which are unlike them.
    ///
    /// ```
    /// use budgetsvm::OneClassSvm;
    /// use budgetsvm::data::Rows;
    ///
    /// let rows = ndarray::arr2(&[[0.0], [0.44], [0.45], [0.46], [1.0]]);
    /// let model = OneClassSvm::builder().nu(0.5).gamma(1.0).build()?.fit(&Rows::from(&rows))?;
    /// assert_eq!(model.predict(&Rows::of_slice(&[0.45, 5.0], 1)?)?, [true, false]);
    /// assert!(model.predict_one(&[0.45])? && !model.predict_one(&[5.0])?);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    OneClassSvm, ExactConfig { kind: HALF, ..ExactConfig::default() }
}

/// A fitted one class machine.
#[derive(Clone, Debug)]
pub struct OneClassSvmModel<F: Precision> {
    pub(super) fitted: Fitted<ExactConfig, F>,
}

impl Builder<ExactConfig, OneClassSvm> {
    /// ν, in (0, 1], bounds the share of rows left out from above, that of support vectors from
    /// below; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::OneClass { nu })
    }
}

impl OneClassSvm {
    /// Finds the support of rows of any layout.
    ///
    /// # Errors
    /// `InvalidParam`, `NonFinite`, `InvalidData` for no rows or numbers out of range,
    /// `OutOfMemory` when two kernel rows do not fit the cache.
    pub fn fit<F: Precision>(&self, rows: &Rows<'_, F>) -> Result<OneClassSvmModel<F>> {
        self.fit_observed(rows, None, &mut Silent)
    }

    /// [`OneClassSvm::fit`] with weights of the samples, watched by an observer. Samples of weight
    /// 0 are left out.
    ///
    /// # Errors
    /// Those of [`OneClassSvm::fit`], `LengthMismatch`, and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<OneClassSvmModel<F>> {
        let given = Given { weights, functions: None };
        Ok(OneClassSvmModel { fitted: self.exact.fit(rows, ExactTargets::None, given, observer)? })
    }
}

impl<F: Precision> OneClassSvmModel<F> {
    /// The signed distance of every row from the boundary, in units of the kernel's feature space
    /// and not normalised: positive inside.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        let mut values = self.fitted.values(rows)?;
        self.settle(&mut values);
        Ok(values)
    }

    /// [`OneClassSvmModel::decision_function`] into `out`; of few rows without an allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.fitted.decide_into(rows, out)?;
        self.settle(out);
        Ok(())
    }

    /// Support vectors on the boundary: rounding does not decide their side.
    pub(super) fn settle(&self, values: &mut [f64]) {
        let width = self.boundary();
        values.iter_mut().filter(|value| value.abs() <= width).for_each(|value| *value = 0.0);
    }

    /// Gradients of the decision values in the rows, samples x outputs x features.
    ///
    /// # Errors
    /// Those of [`crate::model::Model::gradient`].
    pub fn gradient(&self, rows: &Rows<'_, F>) -> Result<Array3<f64>> {
        self.fitted.gradient(rows)
    }

    /// Whether every row is inside, or on the boundary.
    ///
    /// # Errors
    /// As [`OneClassSvmModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<bool>> {
        Ok(self.decision_function(rows)?.iter().map(|value| *value >= 0.0).collect())
    }

    /// [`OneClassSvmModel::predict`] of one row, on the calling thread.
    ///
    /// # Errors
    /// As [`OneClassSvmModel::decision_function`].
    pub fn predict_one(&self, row: &[F]) -> Result<bool> {
        self.fitted.machine.model()?.decide_one(row, |values| Ok(values[0] >= -self.boundary()))
    }

    fn boundary(&self) -> f64 {
        BOUNDARY * (1.0 + self.machine().intercept.first().map_or(0.0, |b| b.abs()))
    }

    /// Number of support vectors.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.machine().support.len()
    }

    /// Support vectors, coefficients, offset and how the fit went.
    #[must_use]
    pub fn machine(&self) -> &ExactMachine {
        &self.fitted.report
    }
}

/// The name in files.
const KIND: &str = "OneClassSvm";

impl<F: Precision> Saved for OneClassSvmModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        self.fitted.to_archive(KIND, &Labels::None, self.fitted.attributes())
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(KIND, &ExactConfig::default(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        found.without_classes(false)?;
        Ok(Self { fitted })
    }
}
