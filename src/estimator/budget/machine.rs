//! A trained machine of one or several outputs: what every estimator holds.

use ndarray::Array2;

use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::KernelModel;
use crate::model::persist::{Labels, Parts, Saved};
use crate::parallel;
use crate::watch::{Silent, Tick, Watch};

/// Multiply-adds between two looks at the watch while predicting: a few tens of milliseconds.
const WORK_BETWEEN_LOOKS: usize = 1 << 30;

/// One kernel model for all outputs, or one (of one output) a class.
///
/// A machine never changes: training gives a new one.
#[derive(Clone, Debug)]
pub struct Machine<F: Real> {
    pub(super) parts: Vec<Part<F>>,
}

/// A model, how many samples it has seen, and BSGD's step counter.
#[derive(Clone, Debug)]
pub(super) struct Part<F: Real> {
    pub(super) model: KernelModel<F>,
    pub(super) seen: u64,
    pub(super) steps: u64,
}

impl<F: Real> Machine<F> {
    /// Number of terms, those of all parts together.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.parts.iter().map(|p| p.model.n_terms()).sum()
    }

    /// Number of outputs: 1 for two classes or regression, else one a class.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.parts.iter().map(|p| p.model.n_outputs()).sum()
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.parts[0].model.n_features()
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.parts[0].model.kernel()
    }

    /// The kernel's γ; 1 for the linear kernel, which has none.
    #[must_use]
    pub fn gamma(&self) -> f64 {
        self.kernel().gamma()
    }

    /// Points of the terms, terms x features.
    #[must_use]
    pub fn support_vectors(&self) -> Array2<F> {
        let d = self.n_features();
        let values: Vec<F> = self.parts.iter().flat_map(|p| p.model.centers()).collect();
        Array2::from_shape_fn((self.n_terms(), d), |(term, j)| values[term * d + j])
    }

    /// Coefficients, outputs x terms; 0 where an output does not have the term.
    #[must_use]
    pub fn dual_coef(&self) -> Array2<f64> {
        let mut all = Array2::zeros((self.n_outputs(), self.n_terms()));
        let (mut output, mut term) = (0, 0);
        for part in &self.parts {
            let outputs = part.model.n_outputs();
            for (j, row) in part.model.coef().chunks_exact(outputs).enumerate() {
                for (c, &value) in row.iter().enumerate() {
                    all[(output + c, term + j)] = value;
                }
            }
            output += outputs;
            term += part.model.n_terms();
        }
        all
    }

    /// Offsets, one an output.
    #[must_use]
    pub fn intercept(&self) -> Vec<f64> {
        self.parts.iter().flat_map(|p| p.model.intercept().to_vec()).collect()
    }

    /// Kernel-row multiply-adds of the decision values of so many rows.
    #[must_use]
    pub fn work(&self, n_rows: usize) -> usize {
        let terms = self.n_terms().saturating_mul(self.n_features());
        n_rows.saturating_mul(self.n_outputs()).saturating_mul(terms)
    }

    /// [`Machine::decision`] on so many threads, or on the calling one when the rows are few.
    pub(super) fn decide(&self, rows: &Rows<'_, F>, threads: usize) -> Result<Array2<f64>> {
        parallel::predict(threads, self.work(rows.n_rows()), |pool| {
            self.decision(rows, &mut Watch::new(&mut Silent, pool))
        })?
    }

    /// Decision values, samples x outputs.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`, and `Interrupted` when the observer says so.
    pub fn decision(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array2<f64>> {
        let (n, d, k) = (rows.n_rows(), self.n_features(), self.n_outputs());
        if rows.n_cols() != d {
            return Err(Error::FeatureMismatch { expected: d, got: rows.n_cols() });
        }
        rows.check_finite("X")?;
        let row_work = self.n_terms().saturating_mul(d).max(1);
        let step = (WORK_BETWEEN_LOOKS / row_work).max(1).next_multiple_of(1 << 10);
        let mut values = try_vec("decision values", n.saturating_mul(k), 0.0)?;
        let mut first = 0;
        while first < n {
            let last = (first + step).min(n);
            let part = rows.range(first, last);
            let mut output = 0;
            for Part { model, .. } in &self.parts {
                let outputs = model.n_outputs();
                let into = &mut values[first * k..last * k];
                if outputs == k {
                    model.decision(&part, into)?;
                } else {
                    let mut column = try_vec("decision values", last - first, 0.0)?;
                    model.decision(&part, &mut column)?;
                    for (row, value) in into.chunks_exact_mut(k).zip(column) {
                        row[output] = value;
                    }
                }
                output += outputs;
            }
            first = last;
            watch.tick =
                Tick { seen: first, n_samples: n, n_terms: self.n_terms(), ..Tick::default() };
            watch.unbroken(Watch::poll)?;
        }
        Array2::from_shape_vec((n, k), values).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: n * k,
            got: 0,
        })
    }

    /// What a file holds of it: no labels and no description yet.
    #[must_use]
    pub fn to_saved(&self) -> Saved<F> {
        let machines = self.parts.iter().map(|Part { model, seen, steps }| Parts {
            origin: match model.origin() {
                [] => vec![F::zero(); model.n_features()],
                origin => origin.to_vec(),
            },
            centers: model.shifted_centers(),
            coef: model.coef(),
            intercept: model.intercept().to_vec(),
            seen: *seen,
            steps: *steps,
        });
        Saved {
            kernel: self.kernel(),
            machines: machines.collect(),
            labels: Labels::None,
            estimator: serde_json::Value::Object(serde_json::Map::new()),
            feature_names: None,
            history: Vec::new(),
        }
    }

    /// The machine of a file; its centres, which can be large, move out of `saved`.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn from_saved(saved: &mut Saved<F>) -> Result<Self> {
        saved.check()?;
        let kernel = saved.kernel;
        let parts = saved.machines.iter_mut().map(|parts| {
            // An origin of 0 is no move: points and centres keep their bits.
            let origin = match parts.origin.iter().all(|v| *v == F::zero()) {
                true => Vec::new(),
                false => parts.origin.clone(),
            };
            let centers = (std::mem::take(&mut parts.centers), parts.origin.len());
            let intercept = parts.intercept.clone();
            let model =
                KernelModel::from_owned_parts(kernel, origin, centers, &parts.coef, intercept)?;
            Ok(Part { model, seen: parts.seen, steps: parts.steps })
        });
        Ok(Self { parts: parts.collect::<Result<_>>()? })
    }
}
