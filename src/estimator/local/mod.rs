//! The divide-and-conquer machine without labels: what the bindings use.

mod labelled;
mod train;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::budget::BudgetConfig;
use super::budget::train::check_classes;
use super::machine::{Machine, State};
use super::report::Report;
use crate::config::{Config, at_least, config, optional, positive};
use crate::data::{Problem, SampleOrder};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::local::{Local, LocalModel, Pruning};
use crate::model::{CellModel, Model};
use crate::watch::Watch;
pub use labelled::{LocalBudgetSvc, LocalBudgetSvcModel};
use train::{cells, learn};

/// The machine of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
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

    /// Trains from the start; `centers` (K x d row by row) stand still when they are given.
    ///
    /// # Errors
    /// Those of [`LocalConfig::check`], `BadLabels` unless two classes have positive cost,
    /// `OutOfMemory`, and `Interrupted` when the observer says so.
    pub fn fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        centers: Option<&[F]>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check()?;
        check_classes(problem)?;
        watch.limit(self.max_time, 1.0);
        let mut local = self.local();
        if centers.is_some() {
            local.center_step = 0.0;
        }
        let model = LocalModel::new(local, problem.rows().n_cols(), problem.targets().n_outputs())?;
        let mut model = match centers {
            Some(centers) => model.with_centers(centers)?,
            None => model,
        };
        // The cells of another machine need the partition alone.
        let plan = (&self.order, self.max_iter, self.seed);
        let report = learn(&mut model, problem, plan, 0, watch)?;
        let Some(inner) = self.inner() else { return Ok((Machine::of_local(model), report)) };
        let cells = cells(&inner, &model, problem, watch)?;
        let centers = model.centers();
        let model = CellModel::new((&centers, model.n_features()), cells, model.n_outputs())?;
        Ok((Machine::new(Model::Cells(Arc::new(model)), State::None), report))
    }

    /// Goes on with the rows as they stand, or begins with them: a copy that
    /// [learns](LocalConfig::learn).
    ///
    /// # Errors
    /// As [`LocalConfig::learn`].
    pub fn partial_fit<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        let mut machine = match start {
            Some(start) => start.clone(),
            None => {
                self.check()?;
                let (d, m) = (problem.rows().n_cols(), problem.targets().n_outputs());
                Machine::of_local(LocalModel::new(self.local(), d, m)?)
            }
        };
        let report = self.learn(problem, &mut machine, watch)?;
        Ok((machine, report))
    }

    /// Learns from the rows as they stand, in place.
    ///
    /// # Errors
    /// Those of [`LocalConfig::check`]; `InvalidParam` for a budget that a cell exceeds;
    /// `Unsupported` when another kernel or number of cells, or other machines in the cells, are
    /// asked for; `BadLabels`, `FeatureMismatch`, `OutOfMemory`, `Interrupted`.
    pub fn learn<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &mut Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Report> {
        self.check()?;
        machine.check_fits(problem)?;
        let model =
            machine.local_mut().filter(|_| self.cells == Cells::Online).ok_or_else(|| {
                let text =
                    "a local machine whose cells hold other machines needs all rows: use fit";
                Error::Unsupported(text.into())
            })?;
        watch.limit(self.max_time, 1.0);
        model.reconfigure(self.local())?;
        let (first_id, plan) = (model.seen(), (&SampleOrder::Sequential, 1, self.seed));
        learn(model, problem, plan, first_id, watch)
    }
}
