//! The divide-and-conquer machine without labels: what the bindings use.

mod exact;
mod labelled;
mod projected;
mod train;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::budget::BudgetConfig;
use super::budget::train::check_classes;
use super::exact::ExactConfig;
use super::machine::{Machine, State};
use super::report::Report;
use super::summary::check_columns;
use crate::config::{Config, at_least, config, optional, positive};
use crate::data::{Gathered, Problem, Rows, SampleOrder};
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::local::{Local, LocalModel, Pruning, Task};
use crate::model::{CellMachine, CellModel, Model};
use crate::watch::Watch;
pub use labelled::{LocalBudgetSvc, LocalBudgetSvcModel};
use projected::{Projection, project};
use train::{Taught, cells, learn};

/// Rows of a cell of two classes, about, where the number of cells is not given. A pair of k classes
/// has 2/k of the rows: cells are larger, up to so many times ...
const CELL_SIZE: usize = 1000;
const MOST_TIMES: usize = 5;

/// ... from this many cells on: below, one exact machine takes a second or two, and cells are
/// neither faster nor as accurate at every C.
const LEAST_CELLS: usize = 100;

/// Cells that learn from a row where they are exact and it is not given: few where there are many
/// cells. All measured (`local_defaults.py --choose`).
const EXACT_OVERLAP: usize = 5;
const LEAST_OVERLAP: usize = 2;

/// What stands for hyperparameters of the paper's machine that are not given.
const STREAM_CLUSTERS: usize = 16;
const STREAM_BUDGET: usize = 100;

/// The machine of each cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Cells {
    /// Exact where all rows are at hand and no budget is given, else online.
    Auto,
    /// An exact support vector machine of the rows of the cell, with an offset.
    Exact,
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
        /// Number of cells K, at least 1. None: where cells are exact one for 1,000 rows of two
        /// classes, 500 rows a class for up to ten, but one alone where that is less than 100;
        /// else 16.
        n_clusters: Option<usize> = None, into;
        /// The most support vectors of a cell, at least 1. None: no bound where cells are exact,
        /// else 100.
        budget: Option<usize> = None, into;
        /// The share of the way that a centre moves towards its sample, in [0, 1].
        center_step: f64 = 0.01;
        /// Cells that learn from a sample, the nearest ones, at least 1. None: where
        /// cells are exact 5, but 2 from 100 cells on; else 1.
        overlap: Option<usize> = None, into;
        /// Directions that rows are projected on before they are divided, at least 1, all of them
        /// from `n_features` on; for cells that see all rows. None: as few as keep the values of a
        /// Gaussian kernel, where cells are exact and there are 20,000 dense rows of 128 features;
        /// else all.
        n_components: Option<usize> = None, into;
        /// Which stages of pruning run before the largest are kept.
        pruning: Pruning = Pruning::All;
        /// The machine of each cell.
        #[serde(rename = "local")]
        cells: Cells = Cells::Auto;
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

/// What rows are divided into.
enum Divided<F: Real> {
    /// Cells that go on learning.
    Online(Box<LocalModel<F>>),
    Cells(Box<CellModel<F>>),
}

/// What it is as a machine, behind directions where rows were projected.
fn machine<F: Real>(
    (made, report): (Divided<F>, Report),
    map: Option<FeatureMap<F>>,
) -> Result<(Machine<F>, Report)> {
    let cells = match (made, map) {
        (Divided::Online(model), _) => return Ok((Machine::of_local(*model), report)),
        (Divided::Cells(cells), None) => *cells,
        (Divided::Cells(cells), Some(map)) => cells.behind(map)?,
    };
    Ok((Machine::new(Model::Cells(Arc::new(cells)), State::None), report))
}

impl Config for LocalConfig {
    fn check(&self) -> Result<()> {
        positive("C", self.c)?;
        self.local((0, 1)).check()?;
        if let (Cells::Exact, Some(budget)) = (self.cells, self.budget) {
            return Err(Error::param("budget", "None where cells are exact", budget));
        }
        at_least(1, "n_components", self.n_components.unwrap_or(1))?;
        at_least(1, "max_iter", self.max_iter)?;
        optional(positive, "max_time", self.max_time)?;
        self.inner().map_or(Ok(()), |inner| inner.check())
    }
}

impl LocalConfig {
    /// Whether a fit makes exact machines.
    fn is_exact(&self) -> bool {
        match self.cells {
            Cells::Auto => self.budget.is_none(),
            Cells::Exact => true,
            Cells::Online | Cells::Bsca => false,
        }
    }

    /// Cells of a fit to so many rows of so many classes.
    #[must_use]
    pub fn clusters_for(&self, (n, n_classes): (usize, usize)) -> usize {
        let cells = n / (CELL_SIZE * (n_classes / 2).clamp(1, MOST_TIMES));
        let by_size = if cells < LEAST_CELLS { 1 } else { cells };
        let unset = || if self.is_exact() { by_size } else { STREAM_CLUSTERS };
        self.n_clusters.unwrap_or_else(unset)
    }

    /// How a fit to so many rows of so many classes divides them.
    fn local(&self, size: (usize, usize)) -> Local {
        let n_clusters = self.clusters_for(size);
        let overlap = match self.is_exact() {
            true if n_clusters >= LEAST_CELLS => LEAST_OVERLAP,
            true => EXACT_OVERLAP,
            false => 1,
        };
        Local {
            kernel: self.kernel,
            n_clusters,
            budget: self.budget.unwrap_or(STREAM_BUDGET),
            center_step: self.center_step,
            overlap: self.overlap.unwrap_or(overlap),
            pruning: self.pruning,
        }
    }

    /// How a stream is divided: what is not given stays as it was.
    fn stream(&self, before: Option<Local>) -> Local {
        let (clusters, budget, overlap) = before
            .map_or((STREAM_CLUSTERS, STREAM_BUDGET, 1), |local| {
                (local.n_clusters, local.budget, local.overlap)
            });
        Local {
            n_clusters: self.n_clusters.unwrap_or(clusters),
            budget: self.budget.unwrap_or(budget),
            overlap: self.overlap.unwrap_or(overlap),
            ..self.local((0, 1))
        }
    }

    /// Whether cells can go on learning.
    fn streams(&self) -> bool {
        match self.cells {
            Cells::Auto | Cells::Online => true,
            Cells::Exact | Cells::Bsca => false,
        }
    }

    /// The machine of each cell, when it is one of passes and polishing.
    fn inner(&self) -> Option<BudgetConfig> {
        (self.cells == Cells::Bsca).then(|| BudgetConfig {
            budget: Some(self.budget.unwrap_or(STREAM_BUDGET)),
            kernel: self.kernel,
            seed: self.seed,
            max_time: self.max_time,
            ..BudgetConfig::default()
        })
    }

    /// Whether cells learn as rows come, which no map of all rows goes before.
    fn learns(&self) -> bool {
        match self.cells {
            Cells::Auto => self.budget.is_some(),
            Cells::Online => true,
            Cells::Exact | Cells::Bsca => false,
        }
    }

    /// The machine of each cell, when it is an exact one.
    fn exact(&self) -> ExactConfig {
        let Self { c, kernel, max_time, .. } = *self;
        ExactConfig { c, kernel, max_time, ..ExactConfig::default() }
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
        check_columns(problem.rows().n_cols())?;
        check_classes(problem)?;
        watch.limit(self.max_time, 1.0);
        let projection = Projection {
            given: self.n_components.filter(|_| !self.learns()),
            kernel: self.is_exact().then_some(self.kernel),
            seed: self.seed,
        };
        let Some(map) = projection.directions(problem, watch)? else {
            return machine(self.divide(problem, centers, watch)?, None);
        };
        let rows = Gathered::from_values(project(&map, &problem.rows(), watch)?, map.n_outputs())?;
        let inner = Problem::new(rows.rows()?, problem.targets(), problem.cost())?;
        let centers = match centers {
            Some(centers) => {
                Some(project(&map, &Rows::of_slice(centers, map.n_features())?, watch)?)
            }
            None => None,
        };
        machine(self.divide(&inner, centers.as_deref(), watch)?, Some(map))
    }

    /// [`LocalConfig::fit`] to the rows as they are.
    fn divide<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        centers: Option<&[F]>,
        watch: &mut Watch<'_>,
    ) -> Result<(Divided<F>, Report)> {
        let n_classes = problem.targets().n_outputs().max(2);
        let mut local = self.local((problem.len(), n_classes));
        if centers.is_some() {
            local.center_step = 0.0;
        }
        let model = LocalModel::new(local, problem.rows().n_cols(), problem.targets().n_outputs())?;
        let mut model = match centers {
            Some(centers) => model.with_centers(centers)?,
            None => model,
        };
        let inner = self.inner();
        let task = if inner.is_some() || self.is_exact() { Task::Divide } else { Task::Learn };
        let plan = (&self.order, self.max_iter, self.seed);
        let mut taught = learn(&mut model, problem, (plan, task), 0, watch)?;
        let cells: Vec<CellMachine<F>> = match inner {
            Some(inner) => {
                let cells = cells(&inner, &model, problem, watch)?;
                cells.into_iter().map(CellMachine::Expansion).collect()
            }
            None if self.is_exact() => {
                let (cells, stop) = exact::cells(&self.exact(), &model, problem, watch)?;
                taught.stop = stop.unwrap_or(taught.stop);
                cells
            }
            None => return Ok((Divided::Online(Box::new(model)), taught.report())),
        };
        taught.terms(cells.iter().map(CellMachine::n_terms).sum());
        let centers = model.centers();
        let model = CellModel::new((&centers, model.n_features()), cells, model.n_outputs())?;
        Ok((Divided::Cells(Box::new(model)), taught.report()))
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
                check_columns(d)?;
                Machine::of_local(LocalModel::new(self.stream(None), d, m)?)
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
            machine.local_mut().filter(|_| self.streams()).ok_or_else(|| {
                let text =
                    "a local machine whose cells hold other machines needs all rows: use fit, or online cells";
                Error::Unsupported(text.into())
            })?;
        watch.limit(self.max_time, 1.0);
        model.reconfigure(self.stream(Some(model.local())))?;
        let (first_id, plan) = (model.seen(), (&SampleOrder::Sequential, 1, self.seed));
        learn(model, problem, (plan, Task::Learn), first_id, watch).map(Taught::report)
    }
}
