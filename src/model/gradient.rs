//! Gradients of the decision values in the row, for every model: the driver of predictions, with
//! outputs x features in the place of outputs.
//!
//! Of a model whose rows are scaled or coded the chain rule brings the factor, or the slope of the
//! coding, of every feature. *Cost* O(B d) a row and output, as the decision value's.

use ndarray::Array3;

use super::chunks::in_chunks;
use super::decide::WORK_BETWEEN_LOOKS;
use super::scratch::Scratch;
use super::{KernelModel, Model};
use crate::data::{Rows, Selection};
use crate::error::{Error, Result, check_features, check_len, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::zeroed;
use crate::watch::{Look, Silent, Watch};

/// Rows of which gradients are found together at least, where much is made ready for them.
const ROWS_TOGETHER: usize = 8;

/// Multiply-adds that take as long as a number that is written, about.
const WRITTEN: usize = 128;

impl<F: Real> Model<F> {
    /// Gradients of the decision values of finite rows, samples x outputs x features one after
    /// another, into `out`. The same bits for any cut of the rows and any number of threads.
    ///
    /// Where the kernel is "laplacian" and a feature of the row is that of a term, the term counts
    /// with the mean of its slopes on both sides; cells and codings have the slopes of the side that
    /// the row is on.
    ///
    /// # Errors
    /// As [`Model::decide_into`]; `Unsupported` where rows consist of kernel values.
    pub fn gradient_into(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let (n, width) = (rows.n_rows(), self.gradient_width());
        check_len("out", n.saturating_mul(width), out.len())?;
        check_features(self.n_features(), rows.n_cols())?;
        rows.check_finite("X")?;
        // Memory that nobody has touched is what costs where outputs and features are many.
        let row_work = self.gradient_work(1).max(width.saturating_mul(WRITTEN));
        let work = (row_work, (self.rows_together() / ROW_CHUNK).min(ROWS_TOGETHER));
        self.in_parts(rows, (out, width), work, watch, &mut |rows, out, look| {
            self.gradient_part(rows, out, look)?;
            match out.iter().all(|value| value.is_finite()) {
                true => Ok(()),
                false => Err(Error::OutOfRange { what: "X" }),
            }
        })
    }

    /// [`Model::gradient_into`] a new array, samples x outputs x features.
    ///
    /// # Errors
    /// As there, `OutOfMemory`.
    pub fn gradients(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array3<f64>> {
        let shape = (rows.n_rows(), self.n_outputs(), self.n_features());
        let len = shape.0.saturating_mul(self.gradient_width());
        let mut out = zeroed("gradients", len)?;
        self.gradient_into(rows, &mut out, watch)?;
        Array3::from_shape_vec(shape, out).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: len,
            got: 0,
        })
    }

    /// [`Model::gradients`] by `threads` threads, or on the calling thread when the rows are few.
    ///
    /// # Errors
    /// As there.
    pub fn gradient(&self, rows: &Rows<'_, F>, threads: usize) -> Result<Array3<f64>> {
        parallel::predict(threads, self.gradient_work(rows.n_rows()), |pool| {
            self.gradients(rows, &mut Watch::new(&mut Silent, pool))
        })?
    }

    /// Multiply-adds of the gradients of so many rows.
    #[must_use]
    pub fn gradient_work(&self, n_rows: usize) -> usize {
        let row = match self.behind() {
            Self::Pairwise(model) => model.row_work().saturating_mul(model.coef().nrows()),
            Self::Features(model) => {
                let terms = model.expansion().map_or(model.map().n_outputs(), KernelModel::n_terms);
                terms.saturating_mul(self.gradient_width())
            }
            other => other.row_work(),
        };
        row.saturating_mul(n_rows).saturating_mul(2)
    }

    fn gradient_width(&self) -> usize {
        self.n_outputs().saturating_mul(self.n_features())
    }

    fn gradient_part(&self, rows: &Rows<'_, F>, out: &mut [f64], look: Look<'_>) -> Result<()> {
        let width = self.gradient_width();
        match self {
            Self::Expansion(model) => of_expansion(model, rows, (out, width, 0), look),
            Self::Each(models) => {
                let mut at = 0;
                for model in models.iter() {
                    of_expansion(model, rows, (out, width, at), look)?;
                    at += model.n_outputs() * model.n_features();
                }
                Ok(())
            }
            Self::Pairwise(model) => model.gradient(rows, out, look),
            Self::Features(model) => match (model.expansion(), model.map()) {
                (Some(expansion), _) => of_expansion(expansion, rows, (out, width, 0), look),
                (None, FeatureMap::Fourier(map)) => {
                    let each = map.n_outputs().saturating_mul(map.n_features());
                    let shape = (self.n_outputs(), map.n_features(), each);
                    some_outputs(
                        rows,
                        shape,
                        (out, width),
                        look,
                        |scratch, first, (from, to), out| {
                            let at = from * map.n_features();
                            let of = (to - from) * map.n_features();
                            out.chunks_exact_mut(width).for_each(|out| out[at..at + of].fill(0.0));
                            let coef = &model.coef()[from * map.n_outputs()..to * map.n_outputs()];
                            let room = &mut scratch.features;
                            map.add_gradients((rows, |i| first + i), coef, (out, width, at), room);
                        },
                    )
                }
                // A map alone, which decides nothing.
                (None, FeatureMap::Landmarks(_)) => Ok(()),
            },
            Self::Linear(model) => {
                let rows = out.chunks_exact_mut(width.max(1));
                rows.for_each(|row| row.copy_from_slice(model.coef()));
                Ok(())
            }
            Self::Cells(model) => model.gradient(rows, out, look),
            Self::Coded(model) => model.gradient(rows, out),
            Self::Scaled(scaling, model) => {
                let scales = scaling.scales().values();
                if let Some(selection) = scaling.scales().selection() {
                    let columns = (selection, scaling.scales().of_columns());
                    return model.spread_gradient(columns, rows, out, look);
                }
                model.in_scaled(scaling, rows, (out, width), &mut |rows, out| {
                    model.gradient_part(rows, out, &mut *look)?;
                    for row in out.chunks_exact_mut(scales.len()) {
                        row.iter_mut().zip(scales).for_each(|(slope, scale)| *slope *= scale);
                    }
                    Ok(())
                })
            }
        }
    }
}

impl<F: Real> Model<F> {
    /// The gradients of a machine of selected columns, by all of them.
    fn spread_gradient(
        &self,
        (selection, factors): (&Selection, Option<&[f64]>),
        rows: &Rows<'_, F>,
        out: &mut [f64],
        look: Look<'_>,
    ) -> Result<()> {
        let selected = selection.select(rows, factors, &mut *look)?;
        let (outputs, features) = (self.n_outputs(), selection.n_features());
        let each = outputs.saturating_mul(features);
        let mut slopes = try_vec("gradients", rows.n_rows().saturating_mul(each), 0.0)?;
        self.gradient_part(&selected.rows()?, &mut slopes, look)?;
        let width = selection.n_columns();
        let by_output = slopes.chunks_exact(features).zip(out.chunks_exact_mut(width));
        for (at, (slopes, out)) in by_output.enumerate() {
            selection.spread_slopes((rows.point(at / outputs), factors), slopes, out);
        }
        Ok(())
    }
}

fn of_expansion<F: Real>(
    model: &KernelModel<F>,
    rows: &Rows<'_, F>,
    (out, width, at): (&mut [f64], usize, usize),
    look: Look<'_>,
) -> Result<()> {
    model.packed_centers()?;
    let d = model.n_features();
    let shape = (model.n_outputs(), d, model.n_terms().saturating_mul(d));
    some_outputs(rows, shape, (out, width), look, |scratch, first, (from, to), out| {
        let place = (&mut *out, width, at + from * d);
        // What could fail has been made above.
        if model.gradients(rows, |i| first + i, (from, to), scratch, place).is_err() {
            out.fill(f64::NAN);
        }
    })
}

/// Calls `write(scratch, first, outputs, out)` for chunks of rows and some of the outputs, (from,
/// to), whose features are so much work for each row and output, with looks in between: one row of
/// many features and outputs is much.
fn some_outputs<F: Real>(
    rows: &Rows<'_, F>,
    (outputs, n_features, each): (usize, usize, usize),
    (out, width): (&mut [f64], usize),
    look: Look<'_>,
    write: impl Fn(&mut Scratch<F>, usize, (usize, usize), &mut [f64]) + Sync + Send,
) -> Result<()> {
    let all = each.saturating_mul(rows.n_rows()).max(1);
    let together = (WORK_BETWEEN_LOOKS / 2 / all).max(1);
    for from in (0..outputs).step_by(together) {
        let to = from.saturating_add(together).min(outputs);
        let work = each.saturating_mul(to - from);
        in_chunks((rows, n_features), (&mut *out, width), work, |scratch, first, out| {
            write(scratch, first, (from, to), out);
        })?;
        look()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
