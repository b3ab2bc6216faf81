//! Classification: labels of any type with an order.

use ndarray::{Array2, Array3};

use super::family::{Family, Streams, Trains, Weighted};
use super::fitted::{Fitted, GoOn, Train};
use super::told::told;
use crate::config::{Builder, FromConfig, Setup};
use crate::data::{Rows, Targets};
use crate::error::Result;
use crate::estimator::caution::Caution;
use crate::estimator::labels::{classes, encode};
use crate::estimator::machine::Machine;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved};
use crate::estimator::setup::ClassWeighted;
use crate::float::Real;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent};

/// A classifier of the family with the hyperparameters `C`, to be fitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Classifier<C> {
    pub(in crate::estimator) config: C,
    pub(in crate::estimator) setup: Setup,
}

/// A fitted classifier with labels of type `L`.
#[derive(Clone, Debug)]
pub struct ClassifierModel<C: Family, F: Real, L> {
    pub(in crate::estimator) fitted: Fitted<C, F>,
    pub(in crate::estimator) classes: Vec<L>,
}

impl<C: Trains> FromConfig<C> for Classifier<C> {
    fn from_config(config: C, setup: Setup) -> Result<Self> {
        config.check_loss(true)?;
        Ok(Self { config, setup })
    }
}

impl<C: Weighted> ClassWeighted for Classifier<C> {}

pub(super) fn targets(index: &[u32], n_classes: usize) -> Targets<'_> {
    Targets::Classes { index, n_classes }
}

impl<C: Trains> Classifier<C> {
    pub(in crate::estimator) fn setup(&self) -> &Setup {
        &self.setup
    }

    /// Sets hyperparameters.
    #[must_use]
    pub fn builder() -> Builder<C, Self> {
        Builder::new(C::default())
    }

    /// Trains on rows of any layout and labels of any type with an order, at least two different
    /// ones.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `BadLabels`, `OutOfMemory`, `Unsupported` where the
    /// memory allowed or the range of floats does not suffice.
    pub fn fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
    ) -> Result<ClassifierModel<C, F, L>> {
        self.train((rows, labels, None), &mut Silent, &C::train)
    }

    pub(in crate::estimator) fn train<F: Real, L: Ord + Clone>(
        &self,
        (rows, labels, weights): (&Rows<'_, F>, &[L], Option<&[f64]>),
        observer: &mut dyn Observer,
        train: &Train<'_, C, F>,
    ) -> Result<ClassifierModel<C, F, L>> {
        let classes = classes(labels)?;
        let index = encode(labels, &classes)?;
        let samples = (rows, targets(&index, classes.len()), weights);
        let fitted = Fitted::train((&self.config, &self.setup), samples, observer, train)?;
        Ok(ClassifierModel { fitted, classes })
    }
}

impl<C: Weighted> Classifier<C> {
    /// [`Classifier::fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`Classifier::fit`], and `Interrupted` when the observer says so.
    pub fn fit_observed<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<ClassifierModel<C, F, L>> {
        self.train((rows, labels, weights), observer, &C::train)
    }
}

impl<C: Streams> Classifier<C> {
    /// Begins a stream with these rows, as they stand; every label that it will ever have is among
    /// `labels_to_come`, of which there are at least two.
    ///
    /// # Errors
    /// As [`Classifier::fit`]; `BadLabels` for a label that is not among those to come,
    /// `Unsupported` with balanced classes, and for machines that are no streams.
    pub fn partial_fit<F: Real, L: Ord + Clone>(
        &self,
        rows: &Rows<'_, F>,
        labels: &[L],
        labels_to_come: &[L],
    ) -> Result<ClassifierModel<C, F, L>> {
        self.begin((rows, labels, None), labels_to_come, &mut Silent)
    }

    fn begin<F: Real, L: Ord + Clone>(
        &self,
        (rows, labels, weights): (&Rows<'_, F>, &[L], Option<&[f64]>),
        labels_to_come: &[L],
        observer: &mut dyn Observer,
    ) -> Result<ClassifierModel<C, F, L>> {
        let classes = classes(labels_to_come)?;
        let index = encode(labels, &classes)?;
        let samples = (rows, targets(&index, classes.len()), weights);
        let fitted = Fitted::begin((&self.config, &self.setup), samples, observer)?;
        Ok(ClassifierModel { fitted, classes })
    }
}

impl<C: Streams + Weighted> Classifier<C> {
    /// [`Classifier::partial_fit`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`Classifier::partial_fit`], and `Interrupted` when the observer says so.
    pub fn partial_fit_observed<F: Real, L: Ord + Clone>(
        &self,
        (rows, labels): (&Rows<'_, F>, &[L]),
        labels_to_come: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<ClassifierModel<C, F, L>> {
        self.begin((rows, labels, weights), labels_to_come, observer)
    }
}

impl<C: Streams, F: Real, L: Ord + Clone> ClassifierModel<C, F, L> {
    /// Learns from these rows in the order in which they stand, of labels known, in one pass. An
    /// error in rows or labels changes nothing; after `OutOfMemory`, or when coefficients have left
    /// the range of floats, a part of the rows may have been learnt from.
    ///
    /// *Cost*: that of the family's steps; online learners and cells copy nothing.
    ///
    /// # Errors
    /// Those of [`crate::data::Problem::new`], `FeatureMismatch`, `BadLabels` for a new label,
    /// `OutOfMemory`, `Unsupported` with balanced classes, for machines that are no streams, and
    /// when coefficients leave the range of floats.
    pub fn learn(&mut self, rows: &Rows<'_, F>, labels: &[L]) -> Result<()> {
        let index = encode(labels, &self.classes)?;
        self.fitted.learn((rows, targets(&index, self.classes.len()), None), &mut Silent)
    }

    /// [`ClassifierModel::learn`] in a copy.
    ///
    /// # Errors
    /// As [`ClassifierModel::learn`].
    pub fn partial_fit(&self, rows: &Rows<'_, F>, labels: &[L]) -> Result<Self> {
        let mut next = self.clone();
        next.learn(rows, labels)?;
        Ok(next)
    }

    pub(in crate::estimator) fn go_on(
        &mut self,
        (rows, labels, weights): (&Rows<'_, F>, &[L], Option<&[f64]>),
        observer: &mut dyn Observer,
        go_on: &GoOn<'_, C, F>,
    ) -> Result<()> {
        let index = encode(labels, &self.classes)?;
        let shares_work = C::shares_work(&self.fitted.machine, rows.n_rows());
        let samples = (rows, targets(&index, self.classes.len()), weights);
        self.fitted.go_on(samples, (shares_work, observer), go_on)
    }
}

impl<C: Streams + Weighted, F: Real, L: Ord + Clone> ClassifierModel<C, F, L> {
    /// [`ClassifierModel::learn`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`ClassifierModel::learn`], and `Interrupted` when the observer says so.
    pub fn learn_observed(
        &mut self,
        rows: &Rows<'_, F>,
        labels: &[L],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let index = encode(labels, &self.classes)?;
        self.fitted.learn((rows, targets(&index, self.classes.len()), weights), observer)
    }
}

impl<C: Family, F: Real, L: Ord + Clone> ClassifierModel<C, F, L> {
    /// The label of every row. Of many outputs the decision values are held of some rows at a time.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<L>> {
        let (elect, k) = (self.fitted.election(), self.classes.len());
        let fold = |values: &[f64], out: &mut [f64]| {
            out[0] = elect.class(values, k)? as f64;
            Ok(())
        };
        let found = self.fitted.through(rows, 1, (elect.work(k), &fold))?;
        Ok(found.into_iter().map(|class| self.classes[class as usize].clone()).collect())
    }

    /// The labels that decision values speak for.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(in crate::estimator) fn elected(&self, values: &Array2<f64>) -> Result<Vec<L>> {
        let rows = values.as_slice().unwrap_or_default().chunks_exact(values.ncols());
        rows.map(|row| Ok(self.label(row)?.clone())).collect()
    }

    fn label(&self, values: &[f64]) -> Result<&L> {
        Ok(&self.classes[self.fitted.election().class(values, self.classes.len())?])
    }

    /// The label of one row, on the calling thread: without an allocation, once that thread has
    /// predicted with this model.
    ///
    /// # Errors
    /// As [`ClassifierModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<&L> {
        self.fitted.machine.model()?.decide_one(row, |values| self.label(values))
    }

    /// Decision values, samples x outputs: one output for two classes (positive is the second),
    /// else one a class; of exact machines one a pair `(i, j)`, i < j (positive is the first). The
    /// first call after rows were learnt packs the terms, O(B d).
    ///
    /// # Errors
    /// As [`ClassifierModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.fitted.decide(rows)
    }

    /// [`ClassifierModel::decision_function`] into `out`, row by row; of few rows without an
    /// allocation.
    ///
    /// # Errors
    /// As there, and `LengthMismatch` of `out`.
    pub fn decision_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.fitted.decide_into(rows, out)
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[L] {
        &self.classes
    }
}

told!(ClassifierModel, L);

impl<C: Family, F: Precision, L: Label> Saved for ClassifierModel<C, F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let labels = L::to_labels(&self.classes);
        self.fitted.to_archive(C::CLASSIFIER, &labels, self.fitted.attributes())
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(C::CLASSIFIER, &C::default(), archive)?;
        let fitted = Fitted::of(&mut found)?;
        Ok(Self { fitted, classes: found.classes(C::n_outputs)? })
    }
}
