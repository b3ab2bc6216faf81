//! Gradients of the decision values in the row, for every model: the driver of predictions, with
//! outputs x features in the place of outputs.
//!
//! Of a model whose rows are scaled or coded the chain rule brings the factor, or the slope of the
//! coding, of every feature. *Cost* O(B d) a row and output, as the decision value's.

use ndarray::Array3;

use super::chunks::in_chunks;
use super::{KernelModel, Model};
use crate::data::Rows;
use crate::error::{Error, Result, check_features, check_len, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::parallel;
use crate::watch::{Look, Silent, Watch};

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
        let work = self.gradient_work(1);
        self.in_parts(rows, (out, width, work), watch, &mut |rows, out, look| {
            self.gradient_part(rows, out, look)
        })?;
        if out.iter().all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(Error::OutOfRange { what: "X" })
        }
    }

    /// [`Model::gradient_into`] a new array, samples x outputs x features.
    ///
    /// # Errors
    /// As there, `OutOfMemory`.
    pub fn gradients(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array3<f64>> {
        let shape = (rows.n_rows(), self.n_outputs(), self.n_features());
        let len = shape.0.saturating_mul(self.gradient_width());
        let mut out = try_vec("gradients", len, 0.0)?;
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
        let mut row = self.row_work();
        if let Self::Pairwise(model) = self.behind() {
            row = row.saturating_mul(model.coef().nrows());
        }
        row.saturating_mul(n_rows).saturating_mul(2)
    }

    fn gradient_width(&self) -> usize {
        self.n_outputs().saturating_mul(self.n_features())
    }

    fn gradient_part(&self, rows: &Rows<'_, F>, out: &mut [f64], look: Look<'_>) -> Result<()> {
        let width = self.gradient_width();
        match self {
            Self::Expansion(model) => of_expansion(model, rows, (out, width, 0)),
            Self::Each(models) => {
                let mut at = 0;
                for model in models.iter() {
                    of_expansion(model, rows, (out, width, at))?;
                    at += model.n_outputs() * model.n_features();
                    look()?;
                }
                Ok(())
            }
            Self::Pairwise(model) => model.gradient(rows, out, look),
            Self::Features(model) => match (model.expansion(), model.map()) {
                (Some(expansion), _) => of_expansion(expansion, rows, (out, width, 0)),
                (None, FeatureMap::Fourier(map)) => {
                    let input = (rows, map.n_features());
                    in_chunks(input, (out, width), model.row_work(), |scratch, first, out| {
                        out.fill(0.0);
                        let room = &mut scratch.features;
                        map.add_gradients((rows, |i| first + i), model.coef(), out, room);
                    })
                }
                // A map alone, which decides nothing.
                (None, FeatureMap::Landmarks(_)) => Ok(()),
            },
            Self::Linear(model) => {
                let rows = out.chunks_exact_mut(width.max(1));
                rows.for_each(|row| row.copy_from_slice(model.coef()));
                Ok(())
            }
            Self::Cells(model) => model.gradient(rows, out),
            Self::Coded(model) => model.gradient(rows, out),
            Self::Scaled(scaling, model) => {
                let scales = scaling.scales().values();
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

fn of_expansion<F: Real>(
    model: &KernelModel<F>,
    rows: &Rows<'_, F>,
    (out, width, at): (&mut [f64], usize, usize),
) -> Result<()> {
    model.packed_centers()?;
    let work = model.n_terms().saturating_mul(model.n_features().saturating_mul(model.n_outputs()));
    in_chunks((rows, model.n_features()), (out, width), work, |scratch, first, out| {
        // What could fail has been made above.
        let done = model.gradients(rows, |i| first + i, scratch, (&mut *out, width, at));
        if done.is_err() {
            out.fill(f64::NAN);
        }
    })
}

#[cfg(test)]
mod tests;
