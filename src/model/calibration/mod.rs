//! Probabilities of classes from decision values: a stage behind a model, in files beside it.
//!
//! ```text
//! sigmoid      1/(1 + exp(a f + b)), a curve an output
//! isotonic     a rising curve an output, linear between its knots and flat beyond them
//! temperature  softmax(t f) of the outputs; 1/(1 + exp(-t f)) of one output
//! ```
//!
//! One output is that of two classes (positive: the second). Several are one a class, whose curves
//! are divided by their sum, or one a pair `(i, j)` of classes (positive: i), whose curves are
//! coupled ([`coupling`]).
//!
//! References: \[PLATT\]; \[ZADROZNY\]; \[GUO\].

mod choice;
mod coupling;
mod curves;
mod fit;
mod likelihood;
#[cfg(test)]
mod tests;

use super::fold::fold_rows;
use super::persist::{Section, Tensor};
use super::scratch::with_values;
use crate::config::positive;
use crate::data::check_finite;
use crate::error::{Error, Result, check_len, try_vec};
use crate::watch::Look;

pub(crate) use curves::logistic;
use curves::{Curves, Steps, divide};

pub use curves::{CalibrationMethod, Outputs};
pub(crate) use likelihood::sharpness;
pub use likelihood::sigmoid;

/// Multiply-adds that a value of a curve costs, about.
const EXPONENTIAL: usize = 16;

/// What makes probabilities of decision values.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    n_classes: usize,
    /// Whether outputs are those of pairs of classes.
    pairs: bool,
    curves: Curves,
}

impl Calibration {
    /// Curves for n rows of decision values, by rows whose classes are known and
    /// that the machine was not trained on.
    ///
    /// # Errors
    /// `LengthMismatch`, `BadLabels`, `NonFinite`, `InvalidParam` for weights that are all zero or
    /// that no sum holds.
    pub fn fit(
        method: CalibrationMethod,
        (values, outputs): (&[f64], Outputs),
        classes: &[u32],
        weights: &[f64],
    ) -> Result<Self> {
        Self::fit_watched(method, (values, outputs), classes, weights, &mut || Ok(()))
    }

    /// [`Calibration::fit`] in parallel inside the current pool; `look` is asked between its steps.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn fit_watched(
        method: CalibrationMethod,
        (values, outputs): (&[f64], Outputs),
        classes: &[u32],
        weights: &[f64],
        look: Look<'_>,
    ) -> Result<Self> {
        let n_classes = outputs.n_classes;
        if n_classes < 2 || classes.iter().any(|&c| c as usize >= n_classes) {
            return Err(Error::BadLabels("a class that the machine does not have".into()));
        }
        check_len("decision values", classes.len() * outputs.count(), values.len())?;
        check_len("sample_weight", classes.len(), weights.len())?;
        check_finite("decision values", values, outputs.count())?;
        if !weights.iter().any(|&w| w > 0.0) {
            return Err(Error::param("sample_weight", "not all zero", 0));
        }
        // Sums of weights are multiplied by each other.
        let total: f64 = weights.iter().sum();
        if !(total * total).is_finite() {
            return Err(Error::param("sample_weight", "a sum of 1e150 at most", total));
        }
        let method = match method {
            CalibrationMethod::Auto => choice::likeliest(
                values,
                (classes, n_classes),
                weights,
                look,
                &|method, weights, look| {
                    Self::by(method, (values, outputs), classes, weights, &mut *look)?
                        .probabilities_watched(values, look)
                },
            )?,
            method => method,
        };
        Self::by(method, (values, outputs), classes, weights, look)
    }

    /// [`Calibration::fit`] of what was checked.
    fn by(
        method: CalibrationMethod,
        (values, outputs): (&[f64], Outputs),
        classes: &[u32],
        weights: &[f64],
        look: Look<'_>,
    ) -> Result<Self> {
        let Outputs { n_classes, pairs } = outputs;
        let curves = fit::curves(method, (values, outputs), classes, weights, look)?;
        Ok(Self { n_classes, pairs, curves })
    }

    /// Sigmoids `1/(1 + exp(a f + b))`, given by (a, b) an output.
    ///
    /// # Errors
    /// `BadLabels` unless the outputs are those of so many classes, `NonFinite`.
    pub fn of_sigmoids(outputs: Outputs, curves: Vec<[f64; 2]>) -> Result<Self> {
        check_finite("sigmoids", curves.as_flattened(), 2)?;
        Self::of(outputs, Curves::Sigmoid(curves))
    }

    /// A softmax of this sharpness.
    ///
    /// # Errors
    /// As [`Calibration::of_sigmoids`]; `InvalidParam` unless it is positive.
    pub fn of_temperature(outputs: Outputs, sharpness: f64) -> Result<Self> {
        positive("temperature", sharpness)?;
        Self::of(outputs, Curves::Temperature(sharpness, outputs.count()))
    }

    /// Those of a machine of the logistic loss, one output a class (one alone of two).
    ///
    /// # Errors
    /// `BadLabels` of less than two classes.
    pub fn logistic(n_classes: usize) -> Result<Self> {
        let outputs = Outputs { n_classes, pairs: false };
        Self::of_sigmoids(outputs, vec![[-1.0, 0.0]; outputs.count()])
    }

    fn of(outputs: Outputs, curves: Curves) -> Result<Self> {
        let Outputs { n_classes, pairs } = outputs;
        let made = Self { n_classes, pairs, curves };
        let (k, m) = (outputs.n_classes, made.n_outputs());
        if k < 2 || m != outputs.count() {
            return Err(Error::BadLabels(format!("{m} outputs of a machine of {k} classes")));
        }
        Ok(made)
    }

    /// What its decision values are of.
    #[must_use]
    pub fn outputs(&self) -> Outputs {
        Outputs { n_classes: self.n_classes, pairs: self.pairs }
    }

    /// Number of classes.
    #[must_use]
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// Number of decision values of a row.
    fn n_outputs(&self) -> usize {
        match &self.curves {
            Curves::Sigmoid(curves) => curves.len(),
            Curves::Isotonic(curves) => curves.len(),
            Curves::Temperature(_, outputs) => *outputs,
        }
    }

    /// By which method its curves were made.
    #[must_use]
    pub fn method(&self) -> CalibrationMethod {
        match self.curves {
            Curves::Sigmoid(_) => CalibrationMethod::Sigmoid,
            Curves::Isotonic(_) => CalibrationMethod::Isotonic,
            Curves::Temperature(..) => CalibrationMethod::Temperature,
        }
    }

    /// What the curve of an output says.
    fn share(&self, output: usize, f: f64) -> f64 {
        match &self.curves {
            Curves::Sigmoid(curves) => {
                let [a, b] = curves[output];
                logistic(-(a * f + b))
            }
            Curves::Isotonic(curves) => curves[output].share(f),
            Curves::Temperature(t, _) => logistic(t * f),
        }
    }

    /// Probabilities of the classes, rows x classes, of decision values, rows x outputs: at least 0
    /// and of sum 1.
    ///
    /// # Errors
    /// `LengthMismatch`, `OutOfMemory`.
    pub fn probabilities(&self, values: &[f64]) -> Result<Vec<f64>> {
        self.probabilities_watched(values, &mut || Ok(()))
    }

    /// [`Calibration::probabilities`] in parallel inside the current pool; `look` is asked between
    /// blocks of rows.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn probabilities_watched(&self, values: &[f64], look: Look<'_>) -> Result<Vec<f64>> {
        let (m, k) = (self.n_outputs(), self.n_classes);
        check_len("decision values", values.len() / m * m, values.len())?;
        let mut out = try_vec("probabilities", values.len() / m * k, 0.0)?;
        let of_row = |row: &[f64], out: &mut [f64]| self.of_row(row, out);
        fold_rows((values, m), (&mut out, k), (self.row_work(), &of_row), look)?;
        Ok(out)
    }

    /// Multiply-adds of the probabilities of a row, about.
    #[must_use]
    pub fn row_work(&self) -> usize {
        let curves = self.n_outputs().saturating_mul(EXPONENTIAL);
        let several = self.pairs && self.n_classes > 2;
        curves.saturating_add(if several { coupling::work_of(self.n_classes) } else { 0 })
    }

    /// Probabilities of the classes of one row, of its decision values.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn of_row(&self, row: &[f64], out: &mut [f64]) -> Result<()> {
        let k = self.n_classes;
        if k == 2 {
            let second = self.share(0, row[0]);
            (out[0], out[1]) = (1.0 - second, second);
        } else if self.pairs {
            return with_values(coupling::room_for(k), |room| {
                let shares = row.iter().enumerate().map(|(c, &f)| self.share(c, f));
                coupling::coupled(shares, k, room, out);
                Ok(())
            });
        } else if let Curves::Temperature(t, _) = self.curves {
            let most = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            out.iter_mut().zip(row).for_each(|(p, f)| *p = (t * (f - most)).exp());
            divide(out);
        } else {
            let each = out.iter_mut().zip(row).enumerate();
            each.for_each(|(c, (p, &f))| *p = self.share(c, f));
            divide(out);
        }
        Ok(())
    }

    /// The most probable class of a row of decision values, the first of equals.
    ///
    /// # Errors
    /// `OutOfMemory`.
    ///
    /// # Panics
    /// Unless there is a value an output.
    pub fn class(&self, row: &[f64]) -> Result<usize> {
        with_values(self.n_classes, |out| {
            self.of_row(row, out)?;
            let mut best = 0;
            for c in 1..out.len() {
                if out[c] > out[best] {
                    best = c;
                }
            }
            Ok(best)
        })
    }

    /// What a file holds.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let mut section = Section::default();
        section.put("method", self.method());
        section.put("n_classes", self.n_classes);
        section.put("pairs", self.pairs);
        match &self.curves {
            Curves::Sigmoid(curves) => {
                section.put_array("curves", Tensor::doubles(curves.as_flattened().to_vec()));
            }
            Curves::Isotonic(curves) => {
                let join = |of: &dyn Fn(&Steps) -> &[f64]| -> Tensor {
                    Tensor::doubles(curves.iter().flat_map(|c| of(c).to_vec()).collect())
                };
                section.put_array("at", join(&|c| &c.at));
                section.put_array("share", join(&|c| &c.share));
                let sizes = curves.iter().map(|c| c.at.len() as u64).collect();
                section.put_array("sizes", Tensor::counts(sizes));
            }
            Curves::Temperature(t, _) => {
                section.put_array("curves", Tensor::doubles(vec![*t]));
            }
        }
        section
    }

    /// The calibration of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid.
    pub fn from_section(mut section: Section) -> Result<Self> {
        let bad = || Error::Format("calibration".into());
        let method: CalibrationMethod = section.take_exactly("method")?;
        let n_classes: usize = section.take("n_classes")?;
        let outputs = Outputs { n_classes, pairs: section.take("pairs")? };
        // So that numbers of outputs are no overflow.
        if !(2..1 << 24).contains(&n_classes) {
            return Err(bad());
        }
        let made = match method {
            CalibrationMethod::Sigmoid => {
                let values = section.take_doubles("curves")?;
                let (curves, rest) = values.as_chunks::<2>();
                if !rest.is_empty() {
                    return Err(bad());
                }
                Self::of_sigmoids(outputs, curves.to_vec()).map_err(|_| bad())?
            }
            CalibrationMethod::Temperature => {
                let [t] = section.take_doubles("curves")?[..] else { return Err(bad()) };
                Self::of_temperature(outputs, t).map_err(|_| bad())?
            }
            CalibrationMethod::Isotonic => {
                let (at, share) = (section.take_doubles("at")?, section.take_doubles("share")?);
                let sizes = section.take_sizes("sizes")?;
                let total = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
                let rising = |steps: &Steps| {
                    let inside = steps.share.iter().all(|p| (0.0..=1.0).contains(p));
                    inside
                        && !steps.at.is_empty()
                        && steps.at.iter().all(|v| v.is_finite())
                        && steps.at.windows(2).all(|w| w[0] < w[1])
                        && steps.share.windows(2).all(|w| w[0] <= w[1])
                };
                if total != Some(at.len()) || at.len() != share.len() {
                    return Err(bad());
                }
                let (mut curves, mut first) = (Vec::new(), 0);
                for size in sizes {
                    let part = first..first + size;
                    first += size;
                    let steps =
                        Steps { at: at[part.clone()].to_vec(), share: share[part].to_vec() };
                    if !rising(&steps) {
                        return Err(bad());
                    }
                    curves.push(steps);
                }
                Self::of(outputs, Curves::Isotonic(curves)).map_err(|_| bad())?
            }
            // No curve.
            CalibrationMethod::Auto => return Err(bad()),
        };
        section.end()?;
        Ok(made)
    }
}
