//! The hyperparameters of a machine on a budget.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::budget::{AnyMaintenance, MergeSearch};
use crate::config::{
    Config, at_least, at_most_one, config, count, megabytes, not_negative, optional, positive,
};
use crate::data::{Problem, SampleOrder};
use crate::error::{Error, Result};
use crate::estimator::centre::{centre, unit};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::refine::Refine;
use crate::solver::smoothed::Polish;
use crate::solver::{Budgeted, Method};

/// Samples a term of the budget that a pass visits at most before polishing on all of them. More merge
/// the terms again and again: they end between the rows, and are worth less however they are
/// weighted (benches/python/added_rows.py).
pub(in crate::estimator::budget) const ROWS_A_TERM: usize = 3000;
/// Newton steps of a polish at most.
const POLISH_STEPS: usize = 200;
/// The least `tol` of polishing, less is lost in rounding, and the largest: passes may end by more.
const POLISH_TOL: (f64, f64) = (1e-9, 0.1);
/// That of solving without a fold.
pub(super) const FOLD_TOL: f64 = 1e-3;

/// What happens to a term too many, as the user names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Maintenance {
    /// Merging for the Gaussian kernel, projection for the others.
    #[default]
    Auto,
    /// Merge `merge_size` terms into one.
    Merge,
    /// Merge `merge_size` terms into one, but three at least: events are rarer.
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

config! {
    /// Hyperparameters of a machine on a budget.
    pub struct BudgetConfig {
        /// The most terms, at least 1. None: plain coordinate ascent or kernel Pegasos, and no
        /// polishing.
        budget: Option<usize> = Some(200), into;
        /// Cost of a violation, > 0.
        #[serde(rename = "C")]
        c: f64 = 1.0;
        /// The kernel.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// The loss.
        loss: AnyLoss = AnyLoss::Hinge;
        /// Several quantiles, rising, on shared terms: an output each. The loss is then that of one of
        /// them.
        quantiles: Vec<f64> = Vec::new(), into;
        /// Coordinate ascent or stochastic gradient descent.
        solver: Method = Method::Bsca;
        /// What happens to a term too many.
        maintenance: Maintenance = Maintenance::Auto;
        /// How partners of a merge are judged, and the best point between two terms is found.
        merge_search: MergeSearch = MergeSearch::Auto;
        /// Terms merged at an event, at least 2.
        merge_size: usize = 2;
        /// Whether `fit` ends by solving for the coefficients.
        polishing: bool = true;
        /// Half-width h > 0 of the smoothed corners while polishing; 0.05 for regression, in units of
        /// the spread of the values.
        smoothing: f64 = 0.3;
        /// Whether `fit` moves the terms' points after polishing, and polishes again.
        refine: bool = false;
        /// Evaluations of the objective that refining may take, at least 1.
        refine_iter: usize = 100;
        /// Whether there is an offset, which polishing fits; true for regression. That of values
        /// begins as the constant of least loss, and stays there without polishing.
        fit_intercept: bool = false;
        /// Passes over the data, at least 1. Before polishing, which is on all rows, a pass in random
        /// order visits at most 3,000 rows a term of the budget: more make the terms worse.
        max_iter: usize = 1;
        /// Passes end when the largest step of a pass is below this, polishing when a step would
        /// lower the objective by less than this share of it (or the gap is less); at least 0.
        /// Polishing keeps to 1e-9 and 0.1.
        tol: f64 = 1e-3;
        /// Order of a pass.
        order: SampleOrder = SampleOrder::Shuffled;
        /// Whether several classes share their terms.
        shared: bool = true;
        /// Whether the score on a held out part may end the fit.
        early_stopping: bool = false;
        /// The share of the samples held out, of each class, in (0, 1).
        validation_fraction: f64 = 0.1;
        /// Passes without a better score that end the fit, at least 1.
        n_iter_no_change: usize = 5;
        /// Seconds after which a fit ends with the model it has, > 0.
        max_time: Option<f64> = None, into;
        /// Whether objectives are recorded after every pass.
        record_objective: bool = false;
        /// Samples that a stream will have, at least 1: sets the step of stochastic gradient
        /// descent.
        n_expected: Option<usize> = None, into;
        /// Kernel values that polishing may hold, in units of 10^6 bytes, > 0.
        cache_size: f64 = 200.0;
        /// What a stream has learnt counts this much after one row more, > 0 and at most 1: below
        /// 1 the past is forgotten.
        forgetting: f64 = 1.0;
        /// Whether `fit` leaves a summary of its rows, which a stream goes on from. None: where it
        /// takes 64 MB and a twentieth of the fit's work at most.
        resumable: Option<bool> = None, into;
        /// Seed of everything random.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for BudgetConfig {
    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.loss.check()?;
        self.check_levels()?;
        optional(count, "budget", self.budget)?;
        optional(count, "n_expected", self.n_expected)?;
        count("max_iter", self.max_iter)?;
        count("n_iter_no_change", self.n_iter_no_change)?;
        count("refine_iter", self.refine_iter)?;
        if !(self.validation_fraction > 0.0 && self.validation_fraction < 1.0) {
            let got = self.validation_fraction;
            return Err(Error::param("validation_fraction", "> 0 and < 1", got));
        }
        at_most_one("forgetting", self.forgetting)?;
        positive("C", self.c)?;
        positive("smoothing", self.smoothing)?;
        optional(positive, "max_time", self.max_time)?;
        positive("cache_size", self.cache_size)?;
        not_negative("tol", self.tol)?;
        at_least(2, "merge_size", self.merge_size)?;
        if !self.loss.has_bounded_slope() && self.solver == Method::Bsgd {
            return Err(Error::Unsupported(format!(
                "loss='{}' needs solver='bsca': gradients without a bound make the steps of \
                 solver='bsgd' diverge",
                self.loss.name()
            )));
        }
        if self.refine {
            self.refiner(1.0).check(self.kernel)?;
            if !self.polishing || self.budget.is_none() {
                return Err(Error::Unsupported(
                    "refine=true needs polishing=true and a budget: it begins and ends with \
                     polishing"
                        .into(),
                ));
            }
        }
        self.resolve_maintenance().map(|_| ())
    }
}

impl BudgetConfig {
    /// How the coefficients are solved for; `unit` is that of the targets ([`unit`]).
    pub(super) fn polisher(&self, unit: f64) -> Polish {
        Polish {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing * unit,
            unit,
            max_steps: POLISH_STEPS,
            tol: self.tol.clamp(POLISH_TOL.0, POLISH_TOL.1),
            near: false,
            cache_bytes: megabytes(self.cache_size),
        }
    }

    /// How the points are moved; `unit` is that of the targets.
    pub(super) fn refiner(&self, unit: f64) -> Refine {
        Refine {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing * unit,
            unit,
            max_evaluations: self.refine_iter,
            seed: self.seed,
        }
    }

    /// The costs of rows that follow each other, the last of them in full.
    pub(super) fn fading<'a>(&self, cost: &'a [f64]) -> Cow<'a, [f64]> {
        if self.forgetting >= 1.0 {
            return Cow::Borrowed(cost);
        }
        let mut factor = 1.0;
        let mut faded = cost.to_vec();
        for cost in faded.iter_mut().rev() {
            *cost *= factor;
            factor *= self.forgetting;
        }
        Cow::Owned(faded)
    }

    /// The unit of a problem's targets.
    pub(super) fn unit<F: Real>(&self, problem: &Problem<'_, F>) -> Result<f64> {
        unit(self.loss, problem)
    }

    /// The same with the smoothing in this unit: what a stream works with.
    pub(super) fn in_unit(&self, unit: f64) -> Cow<'_, Self> {
        if unit == 1.0 {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { smoothing: self.smoothing * unit, ..self.clone() })
    }

    /// The offsets that passes begin with: of values only.
    pub(super) fn beginning<F: Real>(&self, problem: &Problem<'_, F>) -> Result<Vec<f64>> {
        if self.fit_intercept {
            centre(self.loss, problem)
        } else {
            Ok(vec![0.0; problem.targets().n_outputs()])
        }
    }

    /// The steps of a pass.
    pub(super) fn solver(&self) -> Result<Budgeted> {
        Ok(Budgeted {
            method: self.solver,
            kernel: self.kernel,
            loss: self.loss,
            budget: self.budget,
            maintenance: self.resolve_maintenance()?,
            order: self.order.clone(),
            seed: self.seed,
            record_objective: self.record_objective,
            n_expected: self.n_expected,
        })
    }

    /// The maintenance that the name stands for with this kernel.
    ///
    /// # Errors
    /// `Unsupported` for merging with a kernel that cannot merge, `InvalidParam` for a
    /// `merge_size` that no budget of this size can hold, and for a `budget` of 1 with
    /// [`Maintenance::MultiMerge`].
    pub fn resolve_maintenance(&self) -> Result<AnyMaintenance> {
        let merges = self.kernel.gaussian_gamma().is_some();
        let maintenance = match self.maintenance {
            Maintenance::Auto if !merges => AnyMaintenance::Project,
            Maintenance::Auto | Maintenance::Merge => {
                AnyMaintenance::Merge { size: self.merge_size, search: self.merge_search }
            }
            Maintenance::MultiMerge if self.budget == Some(1) => {
                let expected = "at least 2 with maintenance='multi-merge', which merges three terms \
                                or more";
                return Err(Error::param("budget", expected, 1));
            }
            Maintenance::MultiMerge => {
                let size = self.merge_size.max(3);
                AnyMaintenance::Merge { size, search: self.merge_search }
            }
            Maintenance::RemoveSmallest => AnyMaintenance::RemoveSmallest,
            Maintenance::RemoveRandom => AnyMaintenance::RemoveRandom,
            Maintenance::RemoveOldest => AnyMaintenance::RemoveOldest,
            Maintenance::Project => AnyMaintenance::Project,
            Maintenance::Stop => AnyMaintenance::Stop,
        };
        if let (AnyMaintenance::Merge { size, .. }, Some(budget)) = (maintenance, self.budget)
            && size > 2
            && size > budget + 1
        {
            let expected = format!("<= budget + 1 = {}", budget + 1);
            return Err(Error::param("merge_size", expected, size));
        }
        maintenance.check(self.kernel)?;
        Ok(maintenance)
    }
}
