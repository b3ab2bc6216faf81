//! The trained machine of an online learner.

use ndarray::Array2;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::features::{FeatureMap, Scratch};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::model::persist::{Archive, Tensors};
use crate::online::{BudgetedExpansion, Stream};
use crate::parallel::ROW_CHUNK;
use crate::simd::{Packed, Tile, weighted_sums};
use crate::watch::{Tick, Watch};

/// Multiply-adds between two looks at the watch while predicting: a few tens of milliseconds.
const WORK_BETWEEN_LOOKS: usize = 1 << 30;

/// One stream (two classes) or one a class. A machine never changes: training gives a new one.
#[derive(Clone, Debug)]
pub struct OnlineMachine<F: Real> {
    pub(super) streams: Vec<Stream<F>>,
}

impl<F: Real> OnlineMachine<F> {
    fn models(&self) -> impl Iterator<Item = &BudgetedExpansion<F>> {
        self.streams.iter().map(Stream::model)
    }

    /// Number of terms, those of all classes together.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.models().map(BudgetedExpansion::n_terms).sum()
    }

    /// Number of outputs: 1 for two classes, else one a class.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.streams.len()
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.streams[0].model().n_features()
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.streams[0].model().kernel()
    }

    /// The kernel's γ; 1 for the linear kernel, which has none.
    #[must_use]
    pub fn gamma(&self) -> f64 {
        self.kernel().gamma()
    }

    /// Samples learnt from.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.streams[0].model().weights.steps()
    }

    /// Points of the terms, terms x features.
    #[must_use]
    pub fn support_vectors(&self) -> Array2<F> {
        let d = self.n_features();
        let values: Vec<F> = self.models().flat_map(BudgetedExpansion::points).collect();
        Array2::from_shape_fn((self.n_terms(), d), |(term, j)| values[term * d + j])
    }

    /// Coefficients that predictions use (the mean's, if it is kept), outputs x terms; 0 where an
    /// output does not have the term.
    #[must_use]
    pub fn dual_coef(&self) -> Array2<f64> {
        let mut all = Array2::zeros((self.n_outputs(), self.n_terms()));
        let mut first = 0;
        for (output, model) in self.models().enumerate() {
            for (j, value) in model.coefs().into_iter().enumerate() {
                all[(output, first + j)] = value;
            }
            first += model.n_terms();
        }
        all
    }

    /// Coefficients of the features, outputs x features; no columns for a machine of terms.
    #[must_use]
    pub fn feature_coef(&self) -> Array2<f64> {
        let width = self.streams[0].model().map().map_or(0, FeatureMap::n_outputs);
        let rows: Vec<_> = self.models().map(|m| m.weights.for_prediction()).collect();
        Array2::from_shape_fn((self.n_outputs(), width), |(output, j)| rows[output][j])
    }

    /// Frequencies of the features, one a row; no rows for a machine of terms.
    #[must_use]
    pub fn frequencies(&self) -> Array2<f64> {
        let d = self.n_features();
        let values = match self.streams[0].model().map() {
            Some(FeatureMap::Fourier(map)) => map.frequencies(),
            _ => Vec::new(),
        };
        Array2::from_shape_fn((values.len() / d, d), |(i, j)| values[i * d + j])
    }

    /// Decision values, samples x outputs, the same bits for any number of threads.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`, and `Interrupted` when the observer says so.
    pub fn decision(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array2<f64>> {
        let (n, d, k) = (rows.n_rows(), self.n_features(), self.n_outputs());
        if rows.n_cols() != d {
            return Err(Error::FeatureMismatch { expected: d, got: rows.n_cols() });
        }
        rows.check_finite("X")?;
        let coefs: Vec<_> = self.models().map(BudgetedExpansion::for_prediction).collect();
        let mut values = try_vec("decision values", n.saturating_mul(k), 0.0)?;
        let width = self.streams[0].model().map().map_or(self.n_terms(), FeatureMap::n_outputs);
        let row_work = width.saturating_mul(d).max(1);
        let step = (WORK_BETWEEN_LOOKS / row_work).max(1).next_multiple_of(1 << 10);
        for (at, out) in values.chunks_mut(step.saturating_mul(k)).enumerate() {
            let first = at * step;
            out.par_chunks_mut(ROW_CHUNK * k).enumerate().for_each_init(
                || (Tile::new(d), vec![0.0; ROW_CHUNK], FeatureBuffer::default()),
                |(tile, column, buffer), (chunk, out)| {
                    let (first, len) = (first + chunk * ROW_CHUNK, out.len() / k);
                    if let Some(map) = self.streams[0].model().map() {
                        // All classes are on the same features.
                        buffer.fill(map, rows, (first, len));
                        for (row, out) in buffer.rows(len).zip(out.chunks_exact_mut(k)) {
                            for (value, coef) in out.iter_mut().zip(&coefs) {
                                let coef = &coef[0][..row.len()];
                                weighted_sums(row, coef, std::slice::from_mut(value));
                            }
                        }
                        return;
                    }
                    for (output, (model, coef)) in self.models().zip(&coefs).enumerate() {
                        if output == 0 || !model.shares_origin(self.streams[0].model()) {
                            load_tile(rows, len, |i| first + i, model.origin(), tile);
                        }
                        model.sums(tile, coef, &mut column[..len]);
                        for (row, value) in out.chunks_exact_mut(k).zip(&*column) {
                            row[output] = *value;
                        }
                    }
                },
            );
            let seen = (first + step).min(n);
            watch.tick = Tick { seen, n_samples: n, n_terms: self.n_terms(), ..Tick::default() };
            watch.unbroken(Watch::poll)?;
        }
        Array2::from_shape_vec((n, k), values).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: n * k,
            got: 0,
        })
    }

    /// The bytes that files and pickles hold.
    ///
    /// # Errors
    /// As [`Archive::to_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut arrays = Tensors::new();
        let streams: Vec<Value> = self
            .streams
            .iter()
            .enumerate()
            .map(|(at, stream)| stream.put(&format!("{at}."), &mut arrays))
            .collect();
        let estimator = json!({"online": F::NAME, "streams": streams});
        Archive { estimator, arrays }.to_bytes()
    }

    /// The machine of an archive whose precision is this one's; see [`precision_of`].
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_archive(mut archive: Archive) -> Result<Self> {
        let bad = || Error::Format("online learner".into());
        let streams = archive.estimator.get("streams").and_then(Value::as_array).ok_or_else(bad)?;
        let streams: Vec<Stream<F>> = streams
            .iter()
            .enumerate()
            .map(|(at, value)| Stream::take(&format!("{at}."), value, &mut archive.arrays))
            .collect::<Result<_>>()?;
        let machine = Self { streams };
        let first = machine.streams.first().ok_or_else(bad)?.model();
        let (d, kernel) = (first.n_features(), first.kernel());
        let same = machine.models().all(|m| m.n_features() == d && m.kernel() == kernel);
        if !same || !archive.arrays.is_empty() || machine.streams.len() == 2 {
            return Err(bad());
        }
        Ok(machine)
    }
}

/// Features of a chunk of rows.
struct FeatureBuffer<F: Real> {
    values: Vec<F>,
    width: usize,
    scratch: Option<Scratch<F>>,
}

impl<F: Real> Default for FeatureBuffer<F> {
    fn default() -> Self {
        Self { values: Vec::new(), width: 1, scratch: None }
    }
}

impl<F: Real> FeatureBuffer<F> {
    fn fill(&mut self, map: &FeatureMap<F>, rows: &Rows<'_, F>, (first, len): (usize, usize)) {
        self.width = map.n_outputs().next_multiple_of(Packed::<F>::line());
        self.values.resize(len * self.width, F::zero());
        let scratch = self.scratch.get_or_insert_with(|| map.scratch());
        map.block(rows, |i| first + i, (&mut self.values, self.width), scratch);
    }

    fn rows(&self, len: usize) -> impl Iterator<Item = &[F]> {
        self.values.chunks_exact(self.width).take(len)
    }
}

/// `"float32"` or `"float64"`: of which precision the machine in an archive is.
///
/// # Errors
/// `Format` when there is none.
pub fn precision_of(archive: &Archive) -> Result<&str> {
    let precision = archive.estimator.get("online").and_then(Value::as_str);
    precision.ok_or_else(|| Error::Format("no online learner".into()))
}
