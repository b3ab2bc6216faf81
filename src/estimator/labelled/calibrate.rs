//! Probabilities of the classes.
//!
//! Curves are fitted to decision values of rows that the machine was not trained on: other rows, or
//! its own, fold by fold. A machine of terms keeps them and solves for their coefficients without
//! the fold ([`Trains::left_out`]); another is trained anew on the rest.

use ndarray::Array2;

use super::classifier::{ClassifierModel, targets};
use super::family::{Family, Trains};
use crate::config::at_least;
use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::estimator::budget::hold_out::Samples;
use crate::estimator::labels::encode;
use crate::estimator::scaled::Scaled;
use crate::float::Real;
use crate::model::{Calibration, CalibrationMethod};
use crate::watch::{Observer, Silent, Watch};

/// Rows, labels and weights >= 0 of the samples.
type Labelled<'a, 'r, F, L> = (&'a Rows<'r, F>, &'a [L], Option<&'a [f64]>);

impl<C: Family, F: Real, L: Ord + Clone> ClassifierModel<C, F, L> {
    /// The same machine with probabilities, by rows that it was not trained on.
    ///
    /// # Errors
    /// `BadLabels` for a new label, `LengthMismatch`, `FeatureMismatch`, `NonFinite`,
    /// `OutOfMemory`.
    pub fn calibrate_held_out(
        &self,
        (rows, labels, weights): Labelled<'_, '_, F, L>,
        method: CalibrationMethod,
    ) -> Result<Self> {
        let index = encode(labels, &self.classes)?;
        let values = self.decision_function(rows)?;
        self.with_curves(values.as_slice().unwrap_or_default(), &index, weights, method)
    }

    fn with_curves(
        &self,
        values: &[f64],
        index: &[u32],
        weights: Option<&[f64]>,
        method: CalibrationMethod,
    ) -> Result<Self> {
        let equal = vec![1.0; if weights.is_none() { index.len() } else { 0 }];
        let outputs = self.fitted.machine.outputs(self.classes.len());
        let weights = weights.unwrap_or(&equal);
        let curves = Calibration::fit(method, (values, outputs), index, weights)?;
        let mut next = self.clone();
        next.fitted.machine = next.fitted.machine.with_calibration(curves)?;
        Ok(next)
    }

    /// Probabilities of the classes, samples x classes, in the order of
    /// [`ClassifierModel::classes`]: at least 0 and of sum 1.
    ///
    /// # Errors
    /// `Unsupported` of a machine that is not calibrated and whose loss is not the logistic one;
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn predict_proba(&self, rows: &Rows<'_, F>) -> Result<Array2<f64>> {
        let k = self.classes.len();
        let own;
        let curves = match self.fitted.machine.calibration() {
            Some(curves) => curves,
            None if self.fitted.config.is_logistic() => {
                own = Calibration::logistic(k)?;
                &own
            }
            None => {
                let text = "probabilities of a machine that is not calibrated: call calibrate, or \
                            train it with the logistic loss";
                return Err(Error::Unsupported(text.into()));
            }
        };
        let fold = |values: &[f64], out: &mut [f64]| curves.of_row(values, out);
        let found = self.fitted.through(rows, k, (curves.row_work(), &fold))?;
        Array2::from_shape_vec((rows.n_rows(), k), found).map_err(|_| Error::LengthMismatch {
            what: "probabilities",
            expected: k,
            got: 0,
        })
    }

    /// What makes probabilities of decision values, once the machine is calibrated.
    #[must_use]
    pub fn calibration(&self) -> Option<&Calibration> {
        self.fitted.machine.calibration()
    }
}

impl<C: Trains, F: Real, L: Ord + Clone> ClassifierModel<C, F, L> {
    /// The same machine with probabilities, by the rows that it was trained on: each is decided
    /// about without its fold, of `n_folds` >= 2 with equal parts of every class.
    ///
    /// *Cost*: less than a fit, for machines on fixed terms that are polished; else `n_folds` fits to
    /// the other rows.
    ///
    /// # Errors
    /// Those of a fit, `InvalidParam` for `n_folds`, `BadLabels` for a new label and for a class of
    /// fewer rows than folds.
    pub fn calibrate(
        &self,
        samples: Labelled<'_, '_, F, L>,
        method: CalibrationMethod,
        n_folds: usize,
    ) -> Result<Self> {
        self.calibrate_observed(samples, method, n_folds, &mut Silent)
    }

    /// [`ClassifierModel::calibrate`], watched by an observer.
    ///
    /// # Errors
    /// As there, and `Interrupted` when the observer says so.
    pub fn calibrate_observed(
        &self,
        (rows, labels, weights): Labelled<'_, '_, F, L>,
        method: CalibrationMethod,
        n_folds: usize,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        at_least(2, "n_folds", n_folds)?;
        let (k, fitted) = (self.classes.len(), &self.fitted);
        let index = encode(labels, &self.classes)?;
        let folds = folds(&index, k, n_folds)?;
        let all = targets(&index, k);
        let cost = fitted.setup.cost(fitted.config.c(), weights, (all, all.len()))?;
        let machine = fitted.machine.behind();
        let scales = fitted.machine.scaling().map(|scaling| scaling.scales().clone());
        let scaled = Scaled::new(scales, rows)?;
        let rows = scaled.rows(rows)?;
        let problem = Problem::new(rows.view(), all, &cost)?;
        let values = Watch::run(fitted.setup.n_threads()?, observer, |watch| {
            let folds = (&folds[..], n_folds);
            match fitted.config.left_out(&problem, &machine, folds, watch)? {
                Some(values) => Ok(values),
                None => trained_anew(&fitted.config, &problem, folds, watch),
            }
        })?;
        self.with_curves(&values, &index, weights, method)
    }
}

/// The fold of every sample: the samples of a class take turns.
fn folds(index: &[u32], n_classes: usize, n_folds: usize) -> Result<Vec<u32>> {
    let mut met = vec![0usize; n_classes];
    let mut turn = |&class: &u32| {
        let at = &mut met[class as usize];
        *at += 1;
        ((*at - 1) % n_folds) as u32
    };
    let folds = index.iter().map(&mut turn).collect();
    if met.iter().any(|&count| count < n_folds) {
        return Err(Error::BadLabels(format!("a class of fewer rows than {n_folds} folds")));
    }
    Ok(folds)
}

/// Values of the samples by machines trained on the other folds.
fn trained_anew<C: Trains, F: Real>(
    config: &C,
    problem: &Problem<'_, F>,
    (folds, n_folds): (&[u32], usize),
    watch: &mut Watch<'_>,
) -> Result<Vec<f64>> {
    let Targets::Classes { n_classes, .. } = problem.targets() else { return Ok(Vec::new()) };
    let m = if n_classes > 2 { C::n_outputs(n_classes) } else { 1 };
    let mut all = try_vec("decision values", problem.len() * m, 0.0)?;
    for fold in 0..n_folds as u32 {
        let (own, others): (Vec<usize>, Vec<usize>) =
            (0..problem.len()).partition(|&i| folds[i] == fold);
        let [own_part, others] = [Samples::new(problem, &own)?, Samples::new(problem, &others)?];
        let (machine, _) = config.train(&others.problem()?, watch)?;
        let values = machine.model()?.decide(&own_part.rows()?, watch)?;
        for (&i, row) in own.iter().zip(values.rows()) {
            all.iter_mut().skip(i * m).zip(row).for_each(|(to, v)| *to = *v);
        }
    }
    Ok(all)
}
