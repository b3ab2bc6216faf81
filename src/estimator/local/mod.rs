//! The divide-and-conquer machine without labels: what the bindings use.

mod saved;
mod train;

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::budget::BudgetConfig;
use super::budget::train::check_classes;
use super::report::Report;
use crate::config::{Config, at_least, config, optional, positive};
use crate::data::{Gathered, Problem, Rows, SampleOrder};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::local::{Local, LocalModel, Pruning};
use crate::watch::Watch;
pub use saved::local_precision;
use train::{Inner, cells, learn, members};

/// The machine of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// The paper's, updated by each sample as it comes.
    Online,
    /// Trained by passes, merging and polishing on the samples of the cell.
    Bsca,
}

config! {
    /// Everything that a training call needs to know.
    pub struct LocalConfig {
        /// Cost of a violation, > 0.
        #[serde(rename = "C")]
        c: f64 = 1.0;
        /// The kernel of the cells; cells are divided by the Euclidean distance.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// Number of cells K, at least 1.
        n_clusters: usize = 16;
        /// The most support vectors of a cell, at least 1.
        budget: usize = 100;
        /// The share of the way that a centre moves towards its sample, in [0, 1].
        center_step: f64 = 0.01;
        /// Cells that learn from a sample, the nearest ones, at least 1.
        overlap: usize = 1;
        /// Which stages of pruning run before the largest are kept.
        pruning: Pruning = Pruning::All;
        /// The machine of each cell.
        #[serde(rename = "local")]
        cells: Cells = Cells::Online;
        /// Passes of a fit, at least 1.
        max_iter: usize = 1;
        /// Order of the passes of a fit.
        order: SampleOrder = SampleOrder::Shuffled;
        /// Seconds, > 0.
        max_time: Option<f64> = None, into;
        /// Seed of the order.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for LocalConfig {
    fn check(&self) -> Result<()> {
        positive("C", self.c)?;
        self.local().check()?;
        at_least(1, "max_iter", self.max_iter)?;
        optional(positive, "max_time", self.max_time)?;
        self.inner().map_or(Ok(()), |inner| inner.check())
    }
}

impl LocalConfig {
    fn local(&self) -> Local {
        let Self { kernel, n_clusters, budget, center_step, overlap, pruning, .. } = *self;
        Local { kernel, n_clusters, budget, center_step, overlap, pruning }
    }

    /// The machine of each cell, when it is not the paper's.
    fn inner(&self) -> Option<BudgetConfig> {
        (self.cells == Cells::Bsca).then(|| BudgetConfig {
            budget: Some(self.budget),
            kernel: self.kernel,
            seed: self.seed,
            max_time: self.max_time,
            ..BudgetConfig::default()
        })
    }
}

/// A trained divide-and-conquer machine. It never changes: training gives a new one.
#[derive(Clone, Debug)]
pub struct LocalMachine<F: Real> {
    model: LocalModel<F>,
    inner: Vec<Inner<F>>,
}

impl<F: Real> LocalMachine<F> {
    /// Trains from the start; `centers` (K x d row by row) stand still when they are given.
    ///
    /// # Errors
    /// Those of [`LocalConfig::check`], `BadLabels` unless two classes have positive cost,
    /// `OutOfMemory`, and `Interrupted` when the observer says so.
    pub fn fit(
        config: &LocalConfig,
        problem: &Problem<'_, F>,
        centers: Option<&[F]>,
        watch: &mut Watch<'_>,
    ) -> Result<(Self, Report)> {
        config.check()?;
        check_classes(problem)?;
        watch.limit(config.max_time, 1.0);
        let mut local = config.local();
        if centers.is_some() {
            local.center_step = 0.0;
        }
        let model = LocalModel::new(local, problem.rows().n_cols(), problem.targets().n_outputs())?;
        let mut model = match centers {
            Some(centers) => model.with_centers(centers)?,
            None => model,
        };
        // The cells of another machine need the partition alone.
        let plan = (&config.order, config.max_iter, config.seed);
        let report = learn(&mut model, problem, plan, 0, watch)?;
        let inner = match config.inner() {
            Some(inner) => cells(&inner, &model, problem, watch)?,
            None => Vec::new(),
        };
        Ok((Self { model, inner }, report))
    }

    /// Goes on with the rows as they stand, or begins with them.
    ///
    /// # Errors
    /// Those of [`LocalConfig::check`]; `InvalidParam` for a budget that a cell exceeds;
    /// `Unsupported` when another kernel or number of cells, or other machines in the cells, are
    /// asked for; `BadLabels`, `FeatureMismatch`, `OutOfMemory`, `Interrupted`.
    pub fn partial_fit(
        config: &LocalConfig,
        problem: &Problem<'_, F>,
        start: Option<&Self>,
        watch: &mut Watch<'_>,
    ) -> Result<(Self, Report)> {
        config.check()?;
        if config.cells != Cells::Online {
            let text = "a local machine whose cells hold other machines needs all rows: use fit";
            return Err(Error::Unsupported(text.into()));
        }
        if start.is_some_and(|s| s.model.n_outputs() != problem.targets().n_outputs()) {
            return Err(Error::BadLabels("another number of classes than the machine has".into()));
        }
        watch.limit(config.max_time, 1.0);
        let (d, m) = (problem.rows().n_cols(), problem.targets().n_outputs());
        let mut model = match start {
            Some(start) => start.model.clone(),
            None => LocalModel::new(config.local(), d, m)?,
        };
        model.reconfigure(config.local())?;
        let (first_id, plan) = (model.seen(), (&SampleOrder::Sequential, 1, config.seed));
        let report = learn(&mut model, problem, plan, first_id, watch)?;
        Ok((Self { model, inner: Vec::new() }, report))
    }

    /// Decision values, samples x outputs.
    ///
    /// # Errors
    /// `FeatureMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn decision(&self, rows: &Rows<'_, F>, watch: &mut Watch<'_>) -> Result<Array2<f64>> {
        let (n, m) = (rows.n_rows(), self.model.n_outputs());
        rows.check_finite("X")?;
        let mut values = try_vec("decision values", n.saturating_mul(m), 0.0)?;
        if self.inner.is_empty() {
            self.model.decision(rows, &mut values)?;
        } else {
            self.decide_inside(rows, &mut values, watch)?;
        }
        Array2::from_shape_vec((n, m), values).map_err(|_| Error::LengthMismatch {
            what: "out",
            expected: n * m,
            got: 0,
        })
    }

    fn decide_inside(
        &self,
        rows: &Rows<'_, F>,
        out: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Result<()> {
        let m = self.model.n_outputs();
        let members = members(&self.model.assign(rows)?, self.inner.len());
        for (inner, members) in self.inner.iter().zip(members) {
            let values = match inner {
                _ if members.is_empty() => continue,
                Inner::Constant(values) => values.repeat(members.len()),
                Inner::Machine(machine) => {
                    let gathered = Gathered::new(rows, &members)?;
                    machine.decision(&gathered.rows()?, watch)?.into_iter().collect()
                }
            };
            for (&i, row) in members.iter().zip(values.chunks_exact(m)) {
                out[i * m..][..m].copy_from_slice(row);
            }
        }
        Ok(())
    }

    /// The partition with the paper's machines.
    #[must_use]
    pub fn model(&self) -> &LocalModel<F> {
        &self.model
    }

    /// A machine of the paper's kind.
    #[must_use]
    pub fn from_model(model: LocalModel<F>) -> Self {
        Self { model, inner: Vec::new() }
    }

    /// Whether the cells hold machines of another kind than the paper's.
    #[must_use]
    pub fn has_inner(&self) -> bool {
        !self.inner.is_empty()
    }

    /// Support vectors of each cell.
    #[must_use]
    pub fn sizes(&self) -> Vec<usize> {
        if self.inner.is_empty() {
            return self.model.sizes();
        }
        let size = |inner: &Inner<F>| match inner {
            Inner::Constant(_) => 0,
            Inner::Machine(machine) => machine.n_terms(),
        };
        self.inner.iter().map(size).collect()
    }
}
