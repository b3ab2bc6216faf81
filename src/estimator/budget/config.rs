//! Every hyperparameter of a machine on a budget, under the names that Python gives them.

use crate::budget::{AnyMaintenance, MergeSearch};
use crate::data::SampleOrder;
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::Method;
use crate::solver::refine::Refine;

/// What happens to a term too many, as the user names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Maintenance {
    /// Merging for the Gaussian kernel, projection for the others.
    #[default]
    Auto,
    /// Merge `merge_size` terms into one.
    Merge,
    /// The same, always by mean shift.
    MultiMerge,
    /// Remove the term of least weight.
    RemoveSmallest,
    /// Remove a random term.
    RemoveRandom,
    /// Remove the oldest term.
    RemoveOldest,
    /// Express one term by the others.
    Project,
    /// Refuse new terms.
    Stop,
}

const MAINTENANCE: [(Maintenance, &str); 8] = [
    (Maintenance::Auto, "auto"),
    (Maintenance::Merge, "merge"),
    (Maintenance::MultiMerge, "multi-merge"),
    (Maintenance::RemoveSmallest, "remove-smallest"),
    (Maintenance::RemoveRandom, "remove-random"),
    (Maintenance::RemoveOldest, "remove-oldest"),
    (Maintenance::Project, "project"),
    (Maintenance::Stop, "stop"),
];
const SEARCH: [(MergeSearch, &str); 3] = [
    (MergeSearch::Auto, "auto"),
    (MergeSearch::GoldenSection, "golden"),
    (MergeSearch::Table, "table"),
];

/// The value of this name, or an error that lists the names.
fn choose<T: Copy>(param: &'static str, table: &[(T, &str)], name: &str) -> Result<T> {
    table.iter().find(|(_, known)| *known == name).map(|(value, _)| *value).ok_or_else(|| {
        let known: Vec<String> = table.iter().map(|(_, known)| format!("'{known}'")).collect();
        Error::param(param, format!("one of {}", known.join(", ")), format!("'{name}'"))
    })
}

fn name_of<T: Copy + PartialEq>(table: &[(T, &'static str)], value: T) -> &'static str {
    table.iter().find(|(known, _)| *known == value).map_or("", |(_, name)| name)
}

impl Maintenance {
    /// The choice of this name.
    ///
    /// # Errors
    /// `InvalidParam`.
    pub fn from_name(name: &str) -> Result<Self> {
        choose("maintenance", &MAINTENANCE, name)
    }

    /// The name in Python and in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        name_of(&MAINTENANCE, self)
    }
}

pub(super) fn search_from_name(name: &str) -> Result<MergeSearch> {
    choose("merge_search", &SEARCH, name)
}

pub(super) fn search_name(search: MergeSearch) -> &'static str {
    name_of(&SEARCH, search)
}

/// Hyperparameters; [`Config::check`] is their only validator.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The most terms, at least 1; `None` is no budget.
    pub budget: Option<usize>,
    /// Cost of a violation, > 0.
    pub c: f64,
    /// The kernel.
    pub kernel: AnyKernel,
    /// The loss.
    pub loss: AnyLoss,
    /// Coordinate ascent or stochastic gradient.
    pub solver: Method,
    /// What happens to a term too many.
    pub maintenance: Maintenance,
    /// How the best point between two terms is found.
    pub merge_search: MergeSearch,
    /// Terms merged at an event, at least 2.
    pub merge_size: usize,
    /// Whether `fit` ends by solving for the coefficients.
    pub polishing: bool,
    /// Half-width h > 0 of the smoothed corners while polishing.
    pub smoothing: f64,
    /// Whether `fit` moves the terms' points after polishing, and polishes again.
    pub refine: bool,
    /// Evaluations of the objective that refining may take, at least 1.
    pub refine_iter: usize,
    /// Whether polishing fits an offset.
    pub fit_intercept: bool,
    /// Passes, at least 1.
    pub max_iter: usize,
    /// Passes end when the largest step of a pass is below this, at least 0.
    pub tol: f64,
    /// Order of a pass.
    pub order: SampleOrder,
    /// Whether several classes share their terms.
    pub shared: bool,
    /// Whether the score on a held out part may end the fit.
    pub early_stopping: bool,
    /// Passes without a better score that end the fit, at least 1.
    pub n_iter_no_change: usize,
    /// Seconds after which the fit ends, > 0.
    pub max_time: Option<f64>,
    /// Whether objectives are recorded after every pass.
    pub record_objective: bool,
    /// Samples that a stream will have, at least 1 (BSGD).
    pub n_expected: Option<usize>,
    /// Megabytes of kernel values that polishing may hold, > 0.
    pub cache_size: f64,
    /// Seed of everything random.
    pub seed: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            budget: Some(200),
            c: 1.0,
            kernel: AnyKernel::Gaussian { gamma: 1.0 },
            loss: AnyLoss::Hinge,
            solver: Method::Bsca,
            maintenance: Maintenance::Auto,
            merge_search: MergeSearch::Auto,
            merge_size: 2,
            polishing: true,
            smoothing: 0.3,
            refine: false,
            refine_iter: 100,
            fit_intercept: false,
            max_iter: 1,
            tol: 1e-3,
            order: SampleOrder::Shuffled,
            shared: true,
            early_stopping: false,
            n_iter_no_change: 5,
            max_time: None,
            record_objective: false,
            n_expected: None,
            cache_size: 200.0,
            seed: 0,
        }
    }
}

impl Config {
    /// Whether every hyperparameter is in its range and they go together.
    ///
    /// # Errors
    /// `InvalidParam` with the parameter's Python name, `Unsupported` for a combination that is
    /// not offered.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.loss.check()?;
        for (name, value) in [("budget", self.budget), ("n_expected", self.n_expected)] {
            if value == Some(0) {
                return Err(Error::param(name, ">= 1 or None", 0));
            }
        }
        for (name, value) in [
            ("max_iter", self.max_iter),
            ("n_iter_no_change", self.n_iter_no_change),
            ("refine_iter", self.refine_iter),
        ] {
            if value == 0 {
                return Err(Error::param(name, ">= 1", 0));
            }
        }
        let time = self.max_time.unwrap_or(1.0);
        for (name, value) in [
            ("C", self.c),
            ("smoothing", self.smoothing),
            ("max_time", time),
            ("cache_size", self.cache_size),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::param(name, "> 0 and finite", value));
            }
        }
        if !(self.tol >= 0.0 && self.tol.is_finite()) {
            return Err(Error::param("tol", ">= 0 and finite", self.tol));
        }
        if self.merge_size < 2 {
            return Err(Error::param("merge_size", ">= 2", self.merge_size));
        }
        let squared =
            matches!(self.loss, AnyLoss::SquaredHinge | AnyLoss::SquaredEpsilonInsensitive { .. });
        if squared && self.solver == Method::Bsgd {
            return Err(Error::Unsupported(format!(
                "loss='{}' needs solver='bsca': gradients without a bound make the steps of \
                 solver='bsgd' diverge",
                self.loss.name()
            )));
        }
        if self.refine {
            self.refiner().check(self.kernel)?;
            if !self.polishing || self.budget.is_none() {
                return Err(Error::Unsupported(
                    "refine=True needs polishing=True and a budget: it begins and ends with \
                     polishing"
                        .into(),
                ));
            }
        }
        self.resolve_maintenance().map(|_| ())
    }

    /// How the points are moved.
    pub(super) fn refiner(&self) -> Refine {
        Refine {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing,
            max_evaluations: self.refine_iter,
            seed: self.seed,
        }
    }

    /// The maintenance that the name stands for with this kernel.
    ///
    /// # Errors
    /// `Unsupported` for merging with a kernel that cannot merge, `InvalidParam` for a
    /// `merge_size` that no budget of this size can hold.
    pub fn resolve_maintenance(&self) -> Result<AnyMaintenance> {
        let gaussian = matches!(self.kernel, AnyKernel::Gaussian { .. });
        let merging = match self.maintenance {
            Maintenance::Auto => gaussian,
            Maintenance::Merge | Maintenance::MultiMerge => true,
            _ => false,
        };
        if let (true, Some(budget)) = (merging, self.budget)
            && self.merge_size > budget + 1
            && self.merge_size > 2
        {
            let expected = format!("<= budget + 1 = {}", budget + 1);
            return Err(Error::param("merge_size", expected, self.merge_size));
        }
        let maintenance = match self.maintenance {
            Maintenance::MultiMerge => {
                AnyMaintenance::MultiMerge { size: self.merge_size, search: self.merge_search }
            }
            _ if merging && self.merge_size > 2 => {
                AnyMaintenance::MultiMerge { size: self.merge_size, search: self.merge_search }
            }
            _ if merging => AnyMaintenance::Merge { search: self.merge_search },
            Maintenance::RemoveSmallest => AnyMaintenance::RemoveSmallest,
            Maintenance::RemoveRandom => AnyMaintenance::RemoveRandom,
            Maintenance::RemoveOldest => AnyMaintenance::RemoveOldest,
            Maintenance::Stop => AnyMaintenance::Stop,
            _ => AnyMaintenance::Project,
        };
        maintenance.check(self.kernel)?;
        Ok(maintenance)
    }
}
