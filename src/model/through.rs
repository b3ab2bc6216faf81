//! Decision values on their way to something smaller: votes, classes, probabilities.
//!
//! A machine of k classes one against one has k (k - 1) / 2 values a row, of which a class or k
//! probabilities are made. The values are held of some rows at a time.

use ndarray::Array2;

use super::fold::{Fold, fold_rows};
use super::pairwise::{by_class, voted};
use super::scratch::with_values;
use super::{Calibration, Model};
use crate::data::Rows;
use crate::error::{Error, Result, check_features, check_len, try_vec};
use crate::float::Real;
use crate::parallel::ROW_CHUNK;
use crate::watch::Watch;

/// Decision values that are held at a time, about.
const VALUES_TOGETHER: usize = 1 << 20;

/// What is made of the decision values of a row.
#[derive(Clone, Copy, Debug)]
pub enum Answer<'c> {
    /// The class that has most votes of its pairs: its index, of more than two classes one against
    /// one.
    Class,
    /// The votes of each class, and between equal ones the sum of its values.
    Votes,
    /// The probability of each class, by these curves.
    Probabilities(&'c Calibration),
}

impl<F: Real> Model<F> {
    /// What `fold` makes of the decision values of each row, `width` numbers a row into `out`, as
    /// [`Model::decide_into`]; `fold` does `work` multiply-adds a row. The values are held of some
    /// rows at a time.
    ///
    /// # Errors
    /// As there, and those of `fold`.
    pub(crate) fn decide_through(
        &self,
        rows: &Rows<'_, F>,
        (out, width): (&mut [f64], usize),
        (work, fold): (usize, &Fold<'_>),
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let (n, outputs) = (rows.n_rows(), self.n_outputs());
        check_len("out", n.saturating_mul(width), out.len())?;
        check_features(self.n_features(), rows.n_cols())?;
        // Of all rows, so that what is said of one is said by its own number.
        rows.check_finite("X")?;
        let whole = self.rows_together();
        // What is made ready for many rows together is made for as many as may be held.
        let least = if whole > ROW_CHUNK { ROW_CHUNK } else { 1 };
        let together = (VALUES_TOGETHER / outputs.max(1)).max(least);
        let together = if together > whole { together / whole * whole } else { together };
        with_values(together.min(n).saturating_mul(outputs), |values| {
            for first in (0..n).step_by(together) {
                let last = (first + together).min(n);
                let values = &mut values[..(last - first) * outputs];
                self.decide_into(&rows.range(first, last), values, watch)?;
                let out = &mut out[first * width..last * width];
                let look = &mut || watch.unbroken(Watch::glance);
                fold_rows((values, outputs), (out, width), (work, fold), look)?;
            }
            Ok(())
        })
    }

    /// [`Model::decide_through`] into a matrix, rows x `width`.
    fn folded(
        &self,
        rows: &Rows<'_, F>,
        width: usize,
        fold: (usize, &Fold<'_>),
        watch: &mut Watch<'_>,
    ) -> Result<Array2<f64>> {
        let n = rows.n_rows();
        let mut out = try_vec("answers", n.saturating_mul(width), 0.0)?;
        self.decide_through(rows, (&mut out, width), fold, watch)?;
        Array2::from_shape_vec((n, width), out).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: n * width,
            got: 0,
        })
    }

    /// Classes of a machine one against one, more than two.
    fn voting_classes(&self) -> Result<usize> {
        match self.behind() {
            Self::Pairwise(model) if model.n_support().len() > 2 => Ok(model.n_support().len()),
            _ => Err(Error::Unsupported("votes of a machine that has no pairs of classes".into())),
        }
    }

    /// Multiply-adds of [`Model::answers`] of so many rows, about.
    #[must_use]
    pub fn answer_work(&self, n_rows: usize, answer: Answer<'_>) -> usize {
        let fold = match answer {
            Answer::Class | Answer::Votes => self.n_outputs(),
            Answer::Probabilities(curves) => curves.row_work(),
        };
        self.work(n_rows).saturating_add(n_rows.saturating_mul(fold))
    }

    /// What is made of the decision values of finite rows, one row of answers each. The values are
    /// held of some rows at a time.
    ///
    /// # Errors
    /// As [`Model::decide`]; `Unsupported` for votes of a machine without pairs, `BadLabels` for
    /// curves of other outputs.
    pub fn answers(
        &self,
        rows: &Rows<'_, F>,
        answer: Answer<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Array2<f64>> {
        let outputs = self.n_outputs();
        match answer {
            Answer::Class => {
                let k = self.voting_classes()?;
                let fold = |values: &[f64], out: &mut [f64]| {
                    out[0] = voted(values, k)? as f64;
                    Ok(())
                };
                self.folded(rows, 1, (outputs, &fold), watch)
            }
            Answer::Votes => self.folded(rows, self.voting_classes()?, (outputs, &by_class), watch),
            Answer::Probabilities(curves) => {
                let known = curves.outputs().count();
                if known != outputs {
                    let text = format!("curves of {known} outputs of a machine of {outputs}");
                    return Err(Error::BadLabels(text));
                }
                let fold = |values: &[f64], out: &mut [f64]| curves.of_row(values, out);
                self.folded(rows, curves.n_classes(), (curves.row_work(), &fold), watch)
            }
        }
    }
}
