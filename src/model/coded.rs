//! A sum of expansions, each of coordinates of its own.

use super::chunks::in_chunks;
use super::coding::Coding;
use super::{KernelModel, scratch::Scratch};
use crate::data::Rows;
use crate::error::{Error, Result, check_features};
use crate::float::Real;

/// `f(x) = Σ_p f_p(coding_p(x))`.
///
/// *Cost* of a prediction: that of its expansions, and O(d log knots) a part for the coding.
#[derive(Clone, Debug)]
pub struct CodedModel<F: Real> {
    parts: Vec<(Coding, KernelModel<F>)>,
}

impl<F: Real> CodedModel<F> {
    /// A model of at least one part.
    ///
    /// # Errors
    /// `InvalidData` without parts, `FeatureMismatch`, `BadLabels` for parts of other outputs.
    pub fn new(parts: Vec<(Coding, KernelModel<F>)>) -> Result<Self> {
        let Some((first, model)) = parts.first() else {
            return Err(Error::InvalidData { what: "model", reason: "no part".into() });
        };
        let (d, outputs) = (first.n_features(), model.n_outputs());
        for (coding, model) in &parts {
            check_features(d, coding.n_features())?;
            check_features(d, model.n_features())?;
            if model.n_outputs() != outputs {
                return Err(Error::BadLabels("parts of other outputs".into()));
            }
        }
        Ok(Self { parts })
    }

    /// Codings and expansions.
    #[must_use]
    pub fn parts(&self) -> &[(Coding, KernelModel<F>)] {
        &self.parts
    }

    /// Number of features d of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.parts[0].0.n_features()
    }

    /// Number of outputs.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.parts[0].1.n_outputs()
    }

    /// Number of terms of all parts.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.parts.iter().map(|(_, model)| model.n_terms()).sum()
    }

    /// Offsets, one an output.
    #[must_use]
    pub fn intercept(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.n_outputs()];
        for (_, model) in &self.parts {
            sums.iter_mut().zip(model.intercept()).for_each(|(s, b)| *s += b);
        }
        sums
    }

    pub(super) fn row_work(&self) -> usize {
        self.n_terms().saturating_mul(self.n_features()).saturating_mul(self.n_outputs())
    }

    /// Decision values, n x outputs, in parallel inside the current pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        for (_, model) in &self.parts {
            model.packed_centers()?;
        }
        let (d, outputs) = (self.n_features(), self.n_outputs());
        let decide = |scratch: &mut Scratch<F>, first: usize, out: &mut [f64]| {
            let len = out.len() / outputs;
            let (mut row, mut coded) = (vec![F::zero(); d], vec![F::zero(); len * d]);
            let mut values = vec![0.0; out.len()];
            out.fill(0.0);
            for (coding, model) in &self.parts {
                for (i, coded) in coded.chunks_exact_mut(d).enumerate() {
                    rows.copy_row(first + i, &mut row);
                    coding.code(&row, coded);
                }
                let done = Rows::of_slice(&coded, d)
                    .and_then(|coded| model.decide_some(&coded, |i| i, scratch, &mut values));
                // What could fail has been made above; a NaN is told of where values are looked at.
                if done.is_err() {
                    values.fill(f64::NAN);
                }
                out.iter_mut().zip(&values).for_each(|(sum, v)| *sum += v);
            }
        };
        in_chunks((rows, d), (out, outputs), self.row_work(), decide)
    }

    /// Gradients of the decision values, n x outputs x features, in parallel inside the current
    /// pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub(super) fn gradient(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (d, outputs) = (self.n_features(), self.n_outputs());
        let width = outputs * d;
        for (_, model) in &self.parts {
            model.packed_centers()?;
        }
        let slopes = |scratch: &mut Scratch<F>, first: usize, out: &mut [f64]| {
            let len = out.len() / width;
            let (mut row, mut coded) = (vec![F::zero(); d], vec![F::zero(); len * d]);
            let (mut by, mut values) = (vec![0.0; len * d], vec![0.0; out.len()]);
            out.fill(0.0);
            for (coding, model) in &self.parts {
                let rows_of = coded.chunks_exact_mut(d).zip(by.chunks_exact_mut(d));
                for (i, (coded, by)) in rows_of.enumerate() {
                    rows.copy_row(first + i, &mut row);
                    coding.code(&row, coded);
                    coding.slopes(&row, by);
                }
                let (to, all) = ((values.as_mut_slice(), width, 0), (0, model.n_outputs()));
                let done = Rows::of_slice(&coded, d)
                    .and_then(|coded| model.gradients(&coded, |i| i, all, scratch, to));
                // As in `decision`.
                if done.is_err() {
                    values.fill(f64::NAN);
                }
                let of_row = out.chunks_exact_mut(width).zip(values.chunks_exact(width));
                for ((out, values), by) in of_row.zip(by.chunks_exact(d)) {
                    for (out, values) in out.chunks_exact_mut(d).zip(values.chunks_exact(d)) {
                        let terms = out.iter_mut().zip(values).zip(by);
                        terms.for_each(|((out, value), by)| *out += value * by);
                    }
                }
            }
        };
        in_chunks((rows, d), (out, width), self.row_work(), slopes)
    }
}
