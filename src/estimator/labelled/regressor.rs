//! Regression: a value a row, or several on shared terms.

use ndarray::{Array2, Array3};

use super::family::{Family, OfValues, Streams, Trains, Weighted};
use super::fitted::{Fitted, GoOn, Train};
use super::told::told;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::{Error, Result};
use crate::estimator::caution::Caution;
use crate::estimator::machine::Machine;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved};
use crate::float::Real;
use crate::model::persist::{Archive, Labels};
use crate::watch::{Observer, Silent};

/// A regression machine of the family with the hyperparameters `C`, to be fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Regressor<C> {
    pub(in crate::estimator) config: C,
    pub(in crate::estimator) setup: Setup,
}

/// A fitted regression machine.
#[derive(Clone, Debug)]
pub struct RegressorModel<C: Family, F: Real> {
    pub(in crate::estimator) fitted: Fitted<C, F>,
}

impl<C: Weighted + OfValues> FromConfig<C> for Regressor<C> {
    fn from_config(config: C, setup: Setup) -> Result<Self> {
        config.check_loss(false)?;
        Ok(Self { config, setup })
    }
}

impl<C: Weighted + OfValues> Regressor<C> {
    pub(in crate::estimator) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Sets hyperparameters; the loss is ε-insensitive with ε = 0.1 unless set.
    #[must_use]
    pub fn builder() -> Builder<C, Self> {
        Builder::new(C::of_values())
    }

    /// Trains on rows of any layout and finite values: a slice of one a row, or
    /// [`Targets::columns`] of several, which share the terms.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `OutOfMemory`, `Unsupported` where the memory
    /// allowed or the range of floats does not suffice, and of several values a row for families
    /// that learn one; `BadLabels` of classes.
    pub fn fit<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
    ) -> Result<RegressorModel<C, F>> {
        self.fit_observed(rows, values, None, &mut Silent)
    }

    /// [`Regressor::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`Regressor::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<RegressorModel<C, F>> {
        self.train((rows, values.into(), weights), observer, &C::train)
    }

    pub(in crate::estimator) fn train<F: Real>(
        &self,
        (rows, values, weights): (&Rows<'_, F>, Targets<'_>, Option<&[f64]>),
        observer: &mut dyn Observer,
        train: &Train<'_, C, F>,
    ) -> Result<RegressorModel<C, F>> {
        let samples = (rows, checked::<C>(values)?, weights);
        let fitted = Fitted::train((&self.config, &self.setup), samples, observer, train)?;
        Ok(RegressorModel { fitted })
    }
}

impl<C: Weighted + OfValues + Streams> Regressor<C> {
    /// Begins a stream with these rows, as they stand.
    ///
    /// # Errors
    /// Those of [`Regressor::fit`], `Unsupported` for machines that are no streams.
    pub fn partial_fit<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
    ) -> Result<RegressorModel<C, F>> {
        self.partial_fit_observed(rows, values, None, &mut Silent)
    }

    /// [`Regressor::partial_fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`Regressor::partial_fit`], and `Interrupted` when the observer says so.
    pub fn partial_fit_observed<'v, F: Real>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<RegressorModel<C, F>> {
        let samples = (rows, checked::<C>(values.into())?, weights);
        let fitted = Fitted::begin((&self.config, &self.setup), samples, observer)?;
        Ok(RegressorModel { fitted })
    }
}

/// Values that a family learns.
fn checked<C: OfValues>(values: Targets<'_>) -> Result<Targets<'_>> {
    match values {
        Targets::Classes { .. } => {
            Err(Error::BadLabels("classes are for a classifier, a regressor takes values".into()))
        }
        Targets::Columns { .. } if !C::COLUMNS => Err(Error::Unsupported(format!(
            "y: a {} learns one value a row; fit one a column, or BudgetSVR, PrimalSVR or AssetSVR",
            C::REGRESSOR
        ))),
        Targets::Columns { levels, .. } if !levels.is_empty() => {
            Err(Error::Unsupported("quantiles are hyperparameters, not targets".into()))
        }
        Targets::Columns { .. } | Targets::Values(_) => Ok(values),
    }
}

impl<C: Streams + OfValues, F: Real> RegressorModel<C, F> {
    /// Learns from these rows, as they stand, in one pass. An error changes nothing.
    ///
    /// # Errors
    /// Those of [`Regressor::partial_fit`], `FeatureMismatch`.
    pub fn learn<'v>(&mut self, rows: &Rows<'_, F>, values: impl Into<Targets<'v>>) -> Result<()> {
        self.learn_observed(rows, values, None, &mut Silent)
    }

    /// [`RegressorModel::learn`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`RegressorModel::learn`], and `Interrupted` when the observer says so.
    pub fn learn_observed<'v>(
        &mut self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        self.fitted.learn((rows, checked::<C>(values.into())?, weights), observer)
    }

    /// [`RegressorModel::learn`] in a copy.
    ///
    /// # Errors
    /// As [`RegressorModel::learn`].
    pub fn partial_fit<'v>(
        &self,
        rows: &Rows<'_, F>,
        values: impl Into<Targets<'v>>,
    ) -> Result<Self> {
        let mut next = self.clone();
        next.learn(rows, values)?;
        Ok(next)
    }

    pub(in crate::estimator) fn go_on(
        &mut self,
        (rows, values, weights): (&Rows<'_, F>, Targets<'_>, Option<&[f64]>),
        observer: &mut dyn Observer,
        go_on: &GoOn<'_, C, F>,
    ) -> Result<()> {
        self.fitted.go_on((rows, checked::<C>(values)?, weights), (true, observer), go_on)
    }
}

impl<C: Family, F: Real> RegressorModel<C, F> {
    /// The values of every row, samples x outputs.
    ///
    /// # Errors
    /// As [`RegressorModel::predict`].
    pub fn predict_columns(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        let mut values = self.fitted.decide(rows)?;
        if self.fitted.config.rises() {
            for mut row in values.rows_mut() {
                if let Some(row) = row.as_slice_mut() {
                    row.sort_unstable_by(f64::total_cmp);
                }
            }
        }
        Ok(values)
    }

    /// Number of values a row.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.fitted.machine.n_outputs()
    }

    /// The value of every row; where there are several, one row's after another's.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<f64>> {
        Ok(self.predict_columns(rows)?.into_raw_vec_and_offset().0)
    }

    /// The value of one row, the first where there are several, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`RegressorModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<f64> {
        let first = |values: &[f64]| match self.fitted.config.rises() {
            true => values.iter().copied().fold(f64::INFINITY, f64::min),
            false => values[0],
        };
        self.fitted.machine.model()?.decide_one(row, |values| Ok(first(values)))
    }

    /// [`RegressorModel::predict`] into `out`; of few rows without an allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn predict_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.fitted.decide_into(rows, out)?;
        if self.fitted.config.rises() {
            let m = self.n_outputs().max(1);
            out.chunks_exact_mut(m).for_each(|row| row.sort_unstable_by(f64::total_cmp));
        }
        Ok(())
    }
}

told!(RegressorModel);

impl<C: OfValues, F: Precision> Saved for RegressorModel<C, F> {
    fn to_archive(&self) -> Result<Archive> {
        self.fitted.to_archive(C::REGRESSOR, &Labels::None, self.fitted.attributes())
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(C::REGRESSOR, &C::of_values(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        found.without_classes(C::COLUMNS)?;
        Ok(Self { fitted })
    }
}
