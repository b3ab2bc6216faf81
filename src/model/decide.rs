//! The one driver of predictions: checks, parts between two looks at the watch, threads.

use ndarray::Array2;

use super::scratch::{with_room, with_values};
use super::{KernelModel, Model, Scaling};
use crate::data::Rows;
use crate::error::{Error, LARGE, Result, check_features, check_len, check_room};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::sparse_density;
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::zeroed;
use crate::watch::{Look, Progress, Silent, Watch};

/// Multiply-adds between two looks at the watch: a few tens of milliseconds.
pub(super) const WORK_BETWEEN_LOOKS: usize = 1 << 30;
/// Values of rows that are scaled at a time, about.
const SCALED_TOGETHER: usize = 1 << 20;

/// What fills the values of some rows.
type Work<'w, F> = dyn FnMut(&Rows<'_, F>, &mut [f64]) -> Result<()> + 'w;
/// The same, which looks up now and then.
type LookedAt<'w, F> = dyn FnMut(&Rows<'_, F>, &mut [f64], Look<'_>) -> Result<()> + 'w;

impl<F: Real> Model<F> {
    /// Multiply-adds of the decision values of so many rows.
    #[must_use]
    pub fn work(&self, n_rows: usize) -> usize {
        n_rows.saturating_mul(self.row_work())
    }

    pub(super) fn row_work(&self) -> usize {
        let of = |model: &KernelModel<F>| {
            let row = model.n_terms().saturating_mul(model.n_features());
            row.saturating_mul(model.n_outputs())
        };
        match self {
            Self::Expansion(model) => of(model),
            Self::Each(models) => models.iter().map(of).fold(0, usize::saturating_add),
            Self::Pairwise(model) => model.row_work(),
            Self::Features(model) => model.row_work(),
            Self::Linear(model) => model.coef().len(),
            Self::Cells(model) => model.row_work(),
            Self::Coded(model) => model.row_work(),
            Self::Scaled(_, model) => model.row_work(),
        }
    }

    /// Rows that are decided together at least: enough to be worth what is made ready for them.
    pub(super) fn rows_together(&self) -> usize {
        match self {
            Self::Pairwise(model) => model.rows_together(),
            Self::Scaled(_, model) => model.rows_together(),
            Self::Expansion(_)
            | Self::Each(_)
            | Self::Features(_)
            | Self::Linear(_)
            | Self::Coded(_)
            | Self::Cells(_) => ROW_CHUNK,
        }
    }

    /// Decision values, n x outputs row by row, in parallel inside the current pool. The same bits
    /// for any cut of the rows and any number of threads; neither rows nor values are looked at for
    /// NaN.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub fn decision_into(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.decide_part(rows, out, &mut || Ok(()))
    }

    /// [`Model::decision_into`], and `look` is asked between parts of the model.
    fn decide_part(&self, rows: &Rows<'_, F>, out: &mut [f64], look: Look<'_>) -> Result<()> {
        match self {
            Self::Expansion(model) => model.decision(rows, out),
            Self::Each(models) => with_values(rows.n_rows(), |column| {
                let outputs = models.len();
                check_len("out", column.len() * outputs, out.len())?;
                for (c, model) in models.iter().enumerate() {
                    model.decision(rows, column)?;
                    look()?;
                    for (row, &value) in out.chunks_exact_mut(outputs).zip(&*column) {
                        row[c] = value;
                    }
                }
                Ok(())
            }),
            Self::Pairwise(model) => model.decision(rows, out, look),
            Self::Features(model) => model.decision(rows, out),
            Self::Linear(model) => model.decision(rows, out),
            Self::Cells(model) => model.decision(rows, out),
            Self::Coded(model) => model.decision(rows, out),
            Self::Scaled(scaling, model) => {
                let to = (out, model.n_outputs());
                model.in_scaled(scaling, rows, to, &mut |rows, out| {
                    model.decide_part(rows, out, &mut *look)
                })
            }
        }
    }

    /// Scales rows, some at a time, and calls `work` with them and their `width` values a row.
    pub(super) fn in_scaled(
        &self,
        scaling: &Scaling<F>,
        rows: &Rows<'_, F>,
        (out, width): (&mut [f64], usize),
        work: &mut Work<'_, F>,
    ) -> Result<()> {
        let (n, d) = (rows.n_rows(), rows.n_cols());
        check_features(scaling.scales().n_columns(), d)?;
        check_len("out", n.saturating_mul(width), out.len())?;
        if matches!(rows, Rows::Csr(_)) || scaling.scales().selection().is_some() {
            return work(&scaling.scales().times(rows)?.rows()?, out);
        }
        let step = (SCALED_TOGETHER / d).max(1).next_multiple_of(self.rows_together());
        let mut first = 0;
        while first < n {
            let last = first.saturating_add(step).min(n);
            with_room((last - first) * d, |room| {
                scaling.scales().write(&rows.range(first, last), room)?;
                let scaled = Rows::of_slice(room, d)?;
                work(&scaled, &mut out[first * width..last * width])
            })?;
            first = last;
        }
        Ok(())
    }

    /// Decision values, samples x outputs, of finite rows.
    ///
    /// # Errors
    /// As [`Model::decide_into`], `OutOfMemory`.
    pub fn decide(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array2<f64>> {
        let (n, k) = (rows.n_rows(), self.n_outputs());
        let mut values = zeroed("decision values", n.saturating_mul(k))?;
        self.decide_into(rows, &mut values, watch)?;
        Array2::from_shape_vec((n, k), values).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: n * k,
            got: 0,
        })
    }

    /// Decision values of finite rows, samples x outputs row by row, into `out`.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `NonFinite` of the rows, `OutOfRange` of their
    /// values, `OutOfMemory`, and `Interrupted` when the observer says so.
    pub fn decide_into(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let (n, k) = (rows.n_rows(), self.n_outputs());
        check_len("out", n.saturating_mul(k), out.len())?;
        check_features(self.n_features(), rows.n_cols())?;
        rows.check_finite("X")?;
        let work = (self.row_work(), self.rows_together());
        self.in_parts(rows, (&mut *out, k), work, watch, &mut |rows, out, look| {
            self.decide_part(rows, out, look)
        })?;
        if out.iter().all(|value| value.is_finite()) {
            Ok(())
        } else {
            Err(Error::OutOfRange { what: "X" })
        }
    }

    /// Calls `work` with parts of the rows and their `width` values a row, of `row_work`
    /// multiply-adds each, so many rows together at least, and asks the watch between them.
    pub(super) fn in_parts(
        &self,
        rows: &Rows<'_, F>,
        (out, width): (&mut [f64], usize),
        (row_work, together): (usize, usize),
        watch: &mut Watch<'_>,
        work: &mut LookedAt<'_, F>,
    ) -> Result<()> {
        let n = rows.n_rows();
        // What a thread holds of a chunk of rows on their way, and of their features.
        let wide = match rows {
            Rows::Csr(csr) if csr.density() < sparse_density(rows.n_cols()) => 0,
            Rows::Csr(_) | Rows::Dense(_) => rows.n_cols(),
        };
        let wide = wide.max(self.map().map_or(0, FeatureMap::n_outputs));
        let chunks = n.min(ROW_CHUNK * parallel::thread_count(None)?);
        let bytes = chunks.saturating_mul(wide).saturating_mul(2 * size_of::<f64>());
        if bytes > LARGE {
            check_room("rows on their way", bytes)?;
        }
        let step = (WORK_BETWEEN_LOOKS / row_work.max(1)).max(1);
        let step = step.next_multiple_of(together);
        let mut first = 0;
        while first < n {
            let last = first.saturating_add(step).min(n);
            let part = (rows.range(first, last), &mut out[first * width..last * width]);
            work(&part.0, part.1, &mut || watch.unbroken(Watch::glance))?;
            first = last;
            watch.tick = Progress {
                seen: first,
                n_samples: n,
                n_terms: self.n_terms(),
                ..Progress::default()
            };
            watch.unbroken(Watch::poll)?;
        }
        Ok(())
    }

    /// [`Model::decide_into`] by `threads` threads, or on the calling thread when the rows are few:
    /// then, once that thread has predicted with a model of this size, without an allocation.
    ///
    /// # Errors
    /// As [`Model::decide_into`].
    pub fn predict_into(&self, rows: &Rows<'_, F>, out: &mut [f64], threads: usize) -> Result<()> {
        parallel::predict(threads, self.work(rows.n_rows()), |pool| {
            self.decide_into(rows, out, &mut Watch::new(&mut Silent, pool))
        })?
    }

    /// What `take` makes of the decision values of one row, as [`Model::predict_into`].
    ///
    /// # Errors
    /// As there, and those of `take`.
    pub fn decide_one<T>(&self, row: &[F], take: impl FnOnce(&[f64]) -> Result<T>) -> Result<T> {
        let rows = Rows::of_one(row)?;
        with_values(self.n_outputs(), |values| {
            self.predict_into(&rows, values, 1)?;
            take(values)
        })
    }

    /// [`Model::decide`] by `threads` threads, or on the calling thread when the rows are few.
    ///
    /// # Errors
    /// As [`Model::decide`].
    pub fn decision(&self, rows: &Rows<'_, F>, threads: usize) -> Result<Array2<f64>> {
        parallel::predict(threads, self.work(rows.n_rows()), |pool| {
            self.decide(rows, &mut Watch::new(&mut Silent, pool))
        })?
    }
}
