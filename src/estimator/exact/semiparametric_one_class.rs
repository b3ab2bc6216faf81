//! The support of one class beside functions that are known.

use ndarray::Array2;

use super::fitted::ExactMachine;
use super::functions::{Functions, add, add_into, parameters};
use super::labelled::{Exact, Given, estimator};
use super::machine::{ExactConfig, ExactKind, ExactTargets};
use super::one_class::{HALF, OneClassSvmModel};
use super::semiparametric::{by_mpd, of, to_archive};
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::Result;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved};
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent};

estimator! {
    /// The semi-parametric one class machine, to be fitted: a row is inside where
    /// `Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) >= ρ`.
    ///
    /// The sums `Σ_i β_i φ_j(x_i)` are 0 with β >= 0: no combination of the functions may be of one
    /// sign on (nearly) all rows, or it alone would put every row inside.
    ///
    /// ```
    /// use budgetsvm::data::Rows;
    /// use budgetsvm::estimator::Functions;
    /// use budgetsvm::SemiparametricOneClassSvm;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((100, 2), |(i, j)| {
    ///     ((i * (3 + 4 * j)) % 17) as f64 / 8.0 - 1.0
    /// });
    /// let (rows, first) = (Rows::from(&rows), |row: &[f64]| vec![row[0]]);
    /// let first = Functions::Of(&first);
    /// let one = SemiparametricOneClassSvm::builder().nu(0.1).gamma(1.0).build()?;
    /// let model = one.fit(&rows, first)?;
    /// let inside = model.predict(&rows, first)?.iter().filter(|inside| **inside).count();
    /// assert!(inside >= 85);
    /// assert_eq!(model.predict(&Rows::of_slice(&[0.0, 9.0], 2)?, first)?, [false]);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    SemiparametricOneClassSvm, by_mpd(ExactConfig { kind: HALF, ..ExactConfig::default() })
}

/// A fitted semi-parametric one class machine.
#[derive(Clone, Debug)]
pub struct SemiparametricOneClassSvmModel<F: Precision> {
    kernel: OneClassSvmModel<F>,
    parametric: Array2<f64>,
}

impl Builder<ExactConfig, SemiparametricOneClassSvm> {
    /// ν, in (0, 1], bounds the share of rows left out from above, that of support vectors from
    /// below; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::OneClass { nu })
    }
}

impl SemiparametricOneClassSvm {
    /// Finds the support of rows of any layout.
    ///
    /// # Errors
    /// As [`OneClassSvm::fit`](super::OneClassSvm::fit); `LengthMismatch` for functions of other
    /// rows, `Unsupported` for functions that are of one sign.
    pub fn fit<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
    ) -> Result<SemiparametricOneClassSvmModel<F>> {
        self.fit_observed(rows, functions, None, &mut Silent)
    }

    /// [`SemiparametricOneClassSvm::fit`] with weights of the samples, watched by an observer.
    /// Samples of weight 0 are left out.
    ///
    /// # Errors
    /// Those of [`SemiparametricOneClassSvm::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Precision>(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<SemiparametricOneClassSvmModel<F>> {
        let phi = functions.on(rows)?;
        let given = Given { weights, functions: Some(phi.view()) };
        let fitted = self.exact.fit(rows, ExactTargets::None, given, observer)?;
        let parametric = parameters(&fitted.report, phi.ncols())?;
        Ok(SemiparametricOneClassSvmModel { kernel: OneClassSvmModel { fitted }, parametric })
    }
}

impl<F: Precision> SemiparametricOneClassSvmModel<F> {
    /// The value of every row, positive inside; on rows on which the functions are those of the fit.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
    ) -> Result<Vec<f64>> {
        let values = self.kernel.fitted.decide(rows)?;
        let mut values =
            add(values, &self.parametric, functions, rows)?.into_raw_vec_and_offset().0;
        self.kernel.settle(&mut values);
        Ok(values)
    }

    /// [`SemiparametricOneClassSvmModel::decision_function`] into `out`.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
        out: &mut [f64],
    ) -> Result<()> {
        self.kernel.fitted.decide_into(rows, out)?;
        add_into((out, 1), &self.parametric, functions, rows)?;
        self.kernel.settle(out);
        Ok(())
    }

    /// Whether every row is inside, or on the boundary.
    ///
    /// # Errors
    /// As [`SemiparametricOneClassSvmModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, F>, functions: Functions<'_, F>) -> Result<Vec<bool>> {
        Ok(self.decision_function(rows, functions)?.iter().map(|value| *value >= 0.0).collect())
    }

    /// The parameters c, 1 x functions.
    #[must_use]
    pub fn parametric_coef(&self) -> &Array2<f64> {
        &self.parametric
    }

    /// The kernel machine.
    #[must_use]
    pub fn machine(&self) -> &ExactMachine {
        self.kernel.machine()
    }
}

/// The name in files.
const KIND: &str = "SemiparametricOneClassSvm";

impl<F: Precision> Saved for SemiparametricOneClassSvmModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        to_archive((&self.kernel.fitted, &self.parametric), (KIND, &Labels::None))
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(KIND, &ExactConfig::default(), archive)?;
        let (fitted, parametric) = of(&mut found)?;
        found.without_classes(false)?;
        Ok(Self { kernel: OneClassSvmModel { fitted }, parametric })
    }
}
