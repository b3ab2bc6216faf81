//! Semi-parametric machines: `f(x) = Σ_i β_i k(x_i, x) + Σ_j c_j φ_j(x) (+ b)`, the parameters c
//! not penalised. What is known of the target goes into the functions φ, the kernel learns the
//! rest. *References*: \[MPD\].

use ndarray::Array2;

use super::fitted::ExactMachine;
use super::functions::{Functions, add, add_into, parameters};
use super::labelled::{Exact, Given, estimator};
use super::machine::{ExactConfig, ExactKind, ExactMpd, ExactSolver, ExactTargets};
use super::svc::SvcModel;
use super::svr::SvrModel;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::Rows;
use crate::error::{Error, Result};
use crate::estimator::labelled::{Family as _, Fitted, OfValues as _};
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved, Unpacked};
use crate::estimator::setup::ClassWeighted;
use crate::model::persist::{Archive, Label, Labels};
use crate::watch::{Observer, Silent};

/// These machines need the method of any number of constraints.
pub(super) fn by_mpd(unset: ExactConfig) -> ExactConfig {
    ExactConfig { solver: ExactSolver::Mpd(ExactMpd::default()), ..unset }
}

estimator! {
    /// Semi-parametric ε support vector regression, to be fitted.
    ///
    /// ```
    /// use budgetsvm::data::Rows;
    /// use budgetsvm::estimator::Functions;
    /// use budgetsvm::SemiparametricSvr;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 20.0);
    /// let values: Vec<f64> = rows.iter().map(|x: &f64| 3.0 * x.sin() + 0.1 * (7.0 * x).cos()).collect();
    /// let (rows, sine) = (Rows::from(&rows), |row: &[f64]| vec![row[0].sin()]);
    /// let sine = Functions::Of(&sine);
    /// let svr = SemiparametricSvr::builder().epsilon(0.01).gamma(10.0).build()?;
    /// let model = svr.fit(&rows, sine, &values)?;
    /// assert!((model.parametric_coef()[(0, 0)] - 3.0).abs() < 0.1);
    /// assert!(model.predict(&rows, sine)?.iter().zip(&values).all(|(f, y)| (f - y).abs() < 0.1));
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    SemiparametricSvr, by_mpd(ExactConfig::of_values())
}

estimator! {
    /// Semi-parametric support vector classification, to be fitted; several classes one against one.
    ///
    /// ```
    /// use budgetsvm::data::Rows;
    /// use budgetsvm::estimator::Functions;
    /// use budgetsvm::SemiparametricSvc;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((150, 2), |(i, j)| ((i * (3 + j)) % 17) as f64 / 8.0);
    /// let labels: Vec<u8> = rows.rows().into_iter().map(|x| u8::from(x[0] > x[1])).collect();
    /// let difference = ndarray::Array2::from_shape_fn((150, 1), |(i, _)| rows[(i, 0)] - rows[(i, 1)]);
    /// let (rows, known) = (Rows::from(&rows), Functions::Values(difference.view()));
    /// let model = SemiparametricSvc::builder().gamma(1.0).build()?.fit(&rows, known, &labels)?;
    /// assert!(model.parametric_coef()[(0, 0)] > 0.0);
    /// let right = model.predict(&rows, known)?.iter().zip(&labels).filter(|(a, b)| a == b).count();
    /// assert!(right > 140);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    SemiparametricSvc, by_mpd(ExactConfig::default())
}

estimator! {
    /// [`SemiparametricSvr`] with ν in (0, 1], which bounds the share of errors outside the tube
    /// from above, in the place of its width, which is found.
    ///
    /// ```
    /// use budgetsvm::data::Rows;
    /// use budgetsvm::estimator::Functions;
    /// use budgetsvm::SemiparametricNuSvr;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 20.0);
    /// let values: Vec<f64> = rows.iter().map(|x: &f64| 3.0 * x.sin() + 0.1 * (7.0 * x).cos()).collect();
    /// let (rows, sine) = (Rows::from(&rows), |row: &[f64]| vec![row[0].sin()]);
    /// let sine = Functions::Of(&sine);
    /// let model = SemiparametricNuSvr::builder().nu(0.2).gamma(10.0).build()?.fit(&rows, sine, &values)?;
    /// assert!((model.parametric_coef()[(0, 0)] - 3.0).abs() < 0.1);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    SemiparametricNuSvr, by_mpd(ExactConfig { kind: HALF_OF_VALUES, ..ExactConfig::default() })
}

estimator! {
    /// [`SemiparametricSvc`] with ν in the place of C: ν in (0, 1] bounds the share of samples
    /// within the margin from above, that of support vectors from below.
    ///
    /// ```
    /// use budgetsvm::data::Rows;
    /// use budgetsvm::estimator::Functions;
    /// use budgetsvm::SemiparametricNuSvc;
    ///
    /// let rows = ndarray::Array2::from_shape_fn((200, 1), |(i, _)| i as f64 / 100.0);
    /// let labels: Vec<bool> = (0..200).map(|i| i >= 100).collect();
    /// let (rows, wave) = (Rows::from(&rows), |row: &[f64]| vec![(9.0 * row[0]).sin()]);
    /// let wave = Functions::Of(&wave);
    /// let model = SemiparametricNuSvc::builder().nu(0.2).gamma(1.0).build()?.fit(&rows, wave, &labels)?;
    /// let right = model.predict(&rows, wave)?.iter().zip(&labels).filter(|(a, b)| a == b).count();
    /// assert!(right >= 190);
    /// # Ok::<(), budgetsvm::error::Error>(())
    /// ```
    SemiparametricNuSvc, by_mpd(ExactConfig { kind: HALF_OF_CLASSES, ..ExactConfig::default() })
}

/// Half of the samples, unless set.
const HALF_OF_VALUES: ExactKind = ExactKind::NuSvr { nu: 0.5 };
const HALF_OF_CLASSES: ExactKind = ExactKind::NuSvc { nu: 0.5 };

/// A fitted semi-parametric regression machine.
#[derive(Clone, Debug)]
pub struct SemiparametricSvrModel<F: Precision> {
    kernel: SvrModel<F>,
    parametric: Array2<f64>,
}

/// A fitted semi-parametric classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct SemiparametricSvcModel<F: Precision, L> {
    kernel: SvcModel<F, L>,
    parametric: Array2<f64>,
}

impl ClassWeighted for SemiparametricSvc {}

impl Builder<ExactConfig, SemiparametricNuSvr> {
    /// ν, in (0, 1]; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::NuSvr { nu })
    }
}

impl Builder<ExactConfig, SemiparametricNuSvc> {
    /// ν, in (0, 1]; 0.5 unless set.
    #[must_use]
    pub fn nu(self, nu: f64) -> Self {
        self.kind(ExactKind::NuSvc { nu })
    }
}

impl Builder<ExactConfig, SemiparametricSvr> {
    /// Half-width ε >= 0 of the tube in which errors cost nothing; 0.1 unless set.
    #[must_use]
    pub fn epsilon(self, epsilon: f64) -> Self {
        self.kind(ExactKind::EpsilonSvr { epsilon })
    }
}

macro_rules! regressor {
    ($estimator:ident) => {
        impl $estimator {
            /// Trains on rows of any layout and finite values.
            ///
            /// # Errors
            /// As [`Svr::fit`](crate::Svr::fit); `LengthMismatch` for functions of other rows,
            /// `Unsupported` for functions with which a constraint cannot be met.
            pub fn fit<F: Precision>(
                &self,
                rows: &Rows<'_, F>,
                functions: Functions<'_, F>,
                values: &[f64],
            ) -> Result<SemiparametricSvrModel<F>> {
                self.fit_observed(rows, functions, values, None, &mut Silent)
            }

            /// The same with weights of the samples, watched by an observer. Samples of weight 0
            /// are left out.
            ///
            /// # Errors
            /// Those of `fit`, and `Interrupted` when the observer says so.
            pub fn fit_observed<F: Precision>(
                &self,
                rows: &Rows<'_, F>,
                functions: Functions<'_, F>,
                values: &[f64],
                weights: Option<&[f64]>,
                observer: &mut dyn Observer,
            ) -> Result<SemiparametricSvrModel<F>> {
                let phi = functions.on(rows)?;
                let given = Given { weights, functions: Some(phi.view()) };
                let fitted = self.exact.fit(rows, ExactTargets::Values(values), given, observer)?;
                let parametric = parameters(&fitted.report, phi.ncols())?;
                Ok(SemiparametricSvrModel { kernel: SvrModel { fitted }, parametric })
            }
        }
    };
}

macro_rules! classifier {
    ($estimator:ident) => {
        impl $estimator {
            /// Trains on rows of any layout and labels of any type with an order, at least two
            /// different ones.
            ///
            /// # Errors
            /// As [`Svc::fit`](crate::Svc::fit); `LengthMismatch` for functions of other rows,
            /// `Unsupported` for functions with which a constraint cannot be met.
            pub fn fit<F: Precision, L: Ord + Clone>(
                &self,
                rows: &Rows<'_, F>,
                functions: Functions<'_, F>,
                labels: &[L],
            ) -> Result<SemiparametricSvcModel<F, L>> {
                self.fit_observed(rows, functions, labels, None, &mut Silent)
            }

            /// The same with weights of the samples, watched by an observer. Samples of weight 0
            /// are left out.
            ///
            /// # Errors
            /// Those of `fit`, and `Interrupted` when the observer says so.
            pub fn fit_observed<F: Precision, L: Ord + Clone>(
                &self,
                rows: &Rows<'_, F>,
                functions: Functions<'_, F>,
                labels: &[L],
                weights: Option<&[f64]>,
                observer: &mut dyn Observer,
            ) -> Result<SemiparametricSvcModel<F, L>> {
                let phi = functions.on(rows)?;
                let given = Given { weights, functions: Some(phi.view()) };
                let kernel = self.exact.classifier(rows, labels, given, observer)?;
                let parametric = parameters(kernel.machine(), phi.ncols())?;
                Ok(SemiparametricSvcModel { kernel, parametric })
            }
        }
    };
}

regressor!(SemiparametricSvr);
regressor!(SemiparametricNuSvr);
classifier!(SemiparametricSvc);
classifier!(SemiparametricNuSvc);

impl<F: Precision> SemiparametricSvrModel<F> {
    /// The value of every row, on which the functions are those of the fit.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>, functions: Functions<'_, F>) -> Result<Vec<f64>> {
        let values = self.kernel.fitted.decide(rows)?;
        Ok(add(values, &self.parametric, functions, rows)?.into_raw_vec_and_offset().0)
    }

    /// [`SemiparametricSvrModel::predict`] into `out`.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn predict_into(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
        out: &mut [f64],
    ) -> Result<()> {
        self.kernel.fitted.decide_into(rows, out)?;
        add_into((out, 1), &self.parametric, functions, rows)
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

impl<F: Precision, L: Ord + Clone> SemiparametricSvcModel<F, L> {
    /// Decision values, on rows on which the functions are those of the fit; their layout is that
    /// of [`SvcModel::decision_function`].
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision_function(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
    ) -> Result<Array2<f64>> {
        add(self.kernel.decision_function(rows)?, &self.parametric, functions, rows)
    }

    /// [`SemiparametricSvcModel::decision_function`] into `out`, row by row.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(
        &self,
        rows: &Rows<'_, F>,
        functions: Functions<'_, F>,
        out: &mut [f64],
    ) -> Result<()> {
        self.kernel.decision_into(rows, out)?;
        add_into((out, self.parametric.nrows()), &self.parametric, functions, rows)
    }

    /// The label of every row, elected as by [`SvcModel::predict`].
    ///
    /// # Errors
    /// As [`SemiparametricSvcModel::decision_function`].
    pub fn predict(&self, rows: &Rows<'_, F>, functions: Functions<'_, F>) -> Result<Vec<L>> {
        self.kernel.elected(&self.decision_function(rows, functions)?)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        self.kernel.classes()
    }

    /// The parameters c, outputs x functions.
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

/// Names in files.
const PARAMETERS: &str = "parametric_coef_";
const REGRESSOR: &str = "SemiparametricSvr";
const CLASSIFIER: &str = "SemiparametricSvc";

pub(super) fn to_archive<F: Precision>(
    (fitted, parametric): (&Fitted<ExactConfig, F>, &Array2<f64>),
    (kind, labels): (&str, &Labels),
) -> Result<Archive> {
    let parametric = parametric.iter().copied().collect();
    fitted.to_archive(kind, labels, fitted.attributes().put_doubles(PARAMETERS, parametric))
}

/// The machine of a file, and its parameters, a row an output.
pub(super) fn of<F: Precision>(
    found: &mut Unpacked<F, ExactConfig>,
) -> Result<(Fitted<ExactConfig, F>, Array2<f64>)> {
    let values = found.told.take_doubles(PARAMETERS)?;
    let outputs = found.machine.n_outputs();
    let shape = (outputs, values.len() / outputs.max(1));
    let parametric =
        Array2::from_shape_vec(shape, values).map_err(|_| Error::Format(PARAMETERS.into()))?;
    Ok((Fitted::of(found)?, parametric))
}

impl<F: Precision> Saved for SemiparametricSvrModel<F> {
    fn to_archive(&self) -> Result<Archive> {
        to_archive((&self.kernel.fitted, &self.parametric), (REGRESSOR, &Labels::None))
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(REGRESSOR, &ExactConfig::default(), archive)?;
        let (fitted, parametric) = of(&mut found)?;
        found.without_classes(false)?;
        Ok(Self { kernel: SvrModel { fitted }, parametric })
    }
}

impl<F: Precision, L: Label> Saved for SemiparametricSvcModel<F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let labels = L::to_labels(&self.kernel.classes);
        to_archive((&self.kernel.fitted, &self.parametric), (CLASSIFIER, &labels))
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(CLASSIFIER, &ExactConfig::default(), archive)?;
        let (fitted, parametric) = of(&mut found)?;
        let classes = found.classes(ExactConfig::n_outputs)?;
        Ok(Self { kernel: SvcModel { fitted, classes }, parametric })
    }
}
