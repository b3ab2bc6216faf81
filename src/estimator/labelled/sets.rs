//! Labels that do not exclude each other: an output a label, on shared terms.
//!
//! A label's targets are -1 and +1: its output is the machine of two classes.

use ndarray::{Array2, Array3};
use serde_json::Value;

use super::classifier::Classifier;
use super::family::{Family, OfValues, Streams, Trains, Weighted};
use super::fitted::Fitted;
use super::told::told;
use crate::config::ClassWeight;
use crate::data::{Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::caution::Caution;
use crate::estimator::labels::sorted;
use crate::estimator::machine::Machine;
use crate::estimator::precision::Precision;
use crate::estimator::saved::{self, Saved};
use crate::float::Real;
use crate::model::logistic;
use crate::model::persist::{Archive, Label};
use crate::watch::{Observer, Silent};

/// A fitted classifier of rows with sets of labels of type `L`.
///
/// ```
/// use budgetsvm::{BudgetSvc, data::Rows, kernel::Gaussian, ndarray::Array2};
///
/// let points = Array2::from_shape_fn((300, 1), |(i, _)| (i % 100) as f64 / 100.0);
/// let sets: Vec<Vec<&str>> = points
///     .iter()
///     .map(|&x| [("low", x < 0.6), ("high", x > 0.4)])
///     .map(|known| known.iter().filter(|(_, is)| *is).map(|(label, _)| *label).collect())
///     .collect();
/// let rows = Rows::from(&points);
/// let svc = BudgetSvc::builder().budget(20).c(10.0).kernel(Gaussian::new(10.0)?).build()?;
/// let model = svc.fit_sets(&rows, &sets)?;
/// assert_eq!(model.predict_one(&[0.5])?, [&"high", &"low"]);
/// assert_eq!(model.predict_one(&[0.1])?, [&"low"]);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct LabelSetsModel<C: Family, F: Real, L> {
    fitted: Fitted<C, F>,
    labels: Vec<L>,
}

/// -1 and +1, samples x labels.
fn signs<L: Ord, S: AsRef<[L]>>(sets: &[S], labels: &[L]) -> Result<Vec<f64>> {
    let mut signs = try_vec("labels", sets.len().saturating_mul(labels.len()), -1.0)?;
    for (row, (set, signs)) in sets.iter().zip(signs.chunks_mut(labels.len().max(1))).enumerate() {
        for label in set.as_ref() {
            let at = labels.binary_search(label).map_err(|_| {
                Error::BadLabels(format!("a label of row {row} is none of the machine"))
            })?;
            signs[at] = 1.0;
        }
    }
    Ok(signs)
}

/// Two at least.
fn labels_of<L: Ord + Clone>(labels: &[L]) -> Result<Vec<L>> {
    let found = sorted(labels);
    match found.len() {
        0 | 1 => Err(Error::BadLabels(format!(
            "{} label in all sets, at least 2 are needed: fit two classes",
            found.len()
        ))),
        _ => Ok(found),
    }
}

impl<C: Weighted + OfValues> Classifier<C> {
    fn takes_sets(&self) -> Result<()> {
        if !C::COLUMNS {
            return Err(Error::Unsupported(format!(
                "sets of labels: a {} learns one label a row; BudgetSVC, PrimalSVC and AssetSVC learn \
                 sets",
                C::CLASSIFIER
            )));
        }
        if self.setup.class_weight != ClassWeight::One {
            return Err(Error::Unsupported(
                "class_weight is of classes that exclude each other: weigh the rows".into(),
            ));
        }
        Ok(())
    }

    /// Trains on rows that have a set of labels each, perhaps none: an output a label, on shared
    /// terms.
    ///
    /// # Errors
    /// Those of [`Classifier::fit`]; `BadLabels` for fewer than two different labels, `Unsupported`
    /// with class weights, and for families that learn one label a row.
    pub fn fit_sets<F: Real, L: Ord + Clone, S: AsRef<[L]>>(
        &self,
        rows: &Rows<'_, F>,
        sets: &[S],
    ) -> Result<LabelSetsModel<C, F, L>> {
        self.fit_sets_observed(rows, sets, None, &mut Silent)
    }

    /// [`Classifier::fit_sets`] with weights >= 0 of the samples, watched by an observer.
    ///
    /// # Errors
    /// Those of [`Classifier::fit_sets`], and `Interrupted` when the observer says so.
    pub fn fit_sets_observed<F: Real, L: Ord + Clone, S: AsRef<[L]>>(
        &self,
        rows: &Rows<'_, F>,
        sets: &[S],
        weights: Option<&[f64]>,
        observer: &mut dyn Observer,
    ) -> Result<LabelSetsModel<C, F, L>> {
        self.takes_sets()?;
        let all: Vec<L> = sets.iter().flat_map(|set| set.as_ref().iter().cloned()).collect();
        let labels = labels_of(&all)?;
        let signs = signs(sets, &labels)?;
        let samples = (rows, Targets::columns(&signs, labels.len()), weights);
        let how = (&self.config, &self.setup);
        let fitted = Fitted::train(how, samples, observer, &C::train)?;
        Ok(LabelSetsModel { fitted, labels })
    }
}

impl<C: Weighted + OfValues + Streams> Classifier<C> {
    /// Begins a stream with these rows, as they stand; every label that it will ever have is among
    /// `labels_to_come`, of which there are at least two.
    ///
    /// # Errors
    /// As [`Classifier::fit_sets`]; `BadLabels` for a label that is not among those to come.
    pub fn partial_fit_sets<F: Real, L: Ord + Clone, S: AsRef<[L]>>(
        &self,
        rows: &Rows<'_, F>,
        sets: &[S],
        labels_to_come: &[L],
    ) -> Result<LabelSetsModel<C, F, L>> {
        self.takes_sets()?;
        let labels = labels_of(labels_to_come)?;
        let signs = signs(sets, &labels)?;
        let samples = (rows, Targets::columns(&signs, labels.len()), None);
        let fitted = Fitted::begin((&self.config, &self.setup), samples, &mut Silent)?;
        Ok(LabelSetsModel { fitted, labels })
    }
}

impl<C: Streams, F: Real, L: Ord + Clone> LabelSetsModel<C, F, L> {
    /// Learns from these rows in the order in which they stand, of labels known, in one pass. An
    /// error in rows or labels changes nothing.
    ///
    /// # Errors
    /// As [`super::ClassifierModel::learn`].
    pub fn learn<S: AsRef<[L]>>(&mut self, rows: &Rows<'_, F>, sets: &[S]) -> Result<()> {
        let signs = signs(sets, &self.labels)?;
        let targets = Targets::columns(&signs, self.labels.len());
        self.fitted.learn((rows, targets, None), &mut Silent)
    }
}

impl<C: Family, F: Real, L: Ord + Clone> LabelSetsModel<C, F, L> {
    /// The labels of every row: those whose decision values are positive.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict(&self, rows: &Rows<'_, F>) -> Result<Vec<Vec<L>>> {
        let values = self.decision_function(rows)?;
        let rows = values.as_slice().unwrap_or_default().chunks_exact(self.labels.len());
        Ok(rows.map(|row| self.of(row).into_iter().cloned().collect()).collect())
    }

    fn of(&self, values: &[f64]) -> Vec<&L> {
        let known = self.labels.iter().zip(values);
        known.filter(|(_, v)| **v > 0.0).map(|(label, _)| label).collect()
    }

    /// The labels of one row, on the calling thread.
    ///
    /// # Errors
    /// As [`LabelSetsModel::predict`].
    pub fn predict_one(&self, row: &[F]) -> Result<Vec<&L>> {
        self.fitted.machine.model()?.decide_one(row, |values| Ok(self.of(values)))
    }

    /// Decision values, samples x labels.
    ///
    /// # Errors
    /// As [`LabelSetsModel::predict`].
    pub fn decision_function(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        self.fitted.decide(rows)
    }

    /// The probability of each label, samples x labels: that of having it, whatever the others are.
    ///
    /// # Errors
    /// `Unsupported` unless the loss is the logistic one; as [`LabelSetsModel::predict`].
    pub fn predict_proba(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        if !self.fitted.config.is_logistic() {
            let text = "probabilities of sets of labels: train with the logistic loss";
            return Err(Error::Unsupported(text.into()));
        }
        Ok(self.decision_function(rows)?.mapv(logistic))
    }

    /// The labels, sorted.
    #[must_use]
    pub fn labels(&self) -> &[L] {
        &self.labels
    }
}

told!(LabelSetsModel, L);

impl<C: Family, F: Precision, L: Label> Saved for LabelSetsModel<C, F, L> {
    fn to_archive(&self) -> Result<Archive> {
        let told = self.fitted.attributes().put(saved::SETS, Value::Bool(true));
        self.fitted.to_archive(C::CLASSIFIER, &L::to_labels(&self.labels), told)
    }

    fn from_archive(archive: Archive) -> Result<Self> {
        let mut found = saved::unpack(C::CLASSIFIER, &C::default(), archive)?;
        if !found.told.has(saved::SETS) || !found.told.take::<bool>(saved::SETS)? {
            let text = "the file's labels exclude each other: load it as the model of a classifier";
            return Err(Error::Unsupported(text.into()));
        }
        let fitted = Fitted::of(&mut found)?;
        Ok(Self { fitted, labels: found.sets(|k| k)? })
    }
}
