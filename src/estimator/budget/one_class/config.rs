//! The hyperparameters of a machine of one class on a budget.

use crate::budget::MergeSearch;
use crate::config::{Config, at_most_one, config};
use crate::data::SampleOrder;
use crate::error::Result;
use crate::estimator::budget::config::{BudgetConfig, Maintenance};
use crate::estimator::setup::KernelConfig;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::Method;

config! {
    /// Hyperparameters of a machine of one class on a budget.
    pub struct OneClassConfig {
        /// The most terms, at least 1.
        budget: usize = 200;
        /// ν, in (0, 1]: about the share of the rows that are left out.
        nu: f64 = 0.5;
        /// The kernel.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// What happens to a term too many.
        maintenance: Maintenance = Maintenance::Auto;
        /// How partners of a merge are judged, and the best point between two terms is found.
        merge_search: MergeSearch = MergeSearch::Auto;
        /// Terms merged at an event, at least 2.
        merge_size: usize = 2;
        /// Half-width h of the smoothed corner as a share of the threshold ρ, in (0, 1].
        smoothing: f64 = 0.005;
        /// Passes over the data, at least 1.
        max_iter: usize = 1;
        /// Order of a pass.
        order: SampleOrder = SampleOrder::Shuffled;
        /// Seconds after which a fit ends with the model it has, > 0.
        max_time: Option<f64> = None, into;
        /// Kernel values that polishing may hold, in units of 10^6 bytes, > 0.
        cache_size: f64 = 200.0;
        /// What a stream has learnt counts this much after one row more, > 0 and at most 1: below
        /// 1 the past is forgotten.
        forgetting: f64 = 1.0;
        /// Whether `fit` leaves a summary of its rows, which a stream goes on from. None: where it
        /// takes 64 MB at most.
        resumable: Option<bool> = None, into;
        /// Seed of everything random.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
    }
}

impl Config for OneClassConfig {
    fn check(&self) -> Result<()> {
        at_most_one("nu", self.nu)?;
        at_most_one("smoothing", self.smoothing)?;
        self.machine().check()
    }
}

impl KernelConfig for OneClassConfig {
    fn kernel_mut(&mut self) -> &mut AnyKernel {
        &mut self.kernel
    }
}

impl OneClassConfig {
    /// The hinge machine with one label that stands for it.
    pub(super) fn machine(&self) -> BudgetConfig {
        BudgetConfig {
            budget: Some(self.budget),
            kernel: self.kernel,
            loss: AnyLoss::Hinge,
            solver: Method::Bsgd,
            maintenance: self.maintenance,
            merge_search: self.merge_search,
            merge_size: self.merge_size,
            smoothing: self.smoothing,
            fit_intercept: true,
            max_iter: self.max_iter,
            order: self.order.clone(),
            max_time: self.max_time,
            cache_size: self.cache_size,
            forgetting: self.forgetting,
            resumable: self.resumable,
            seed: self.seed,
            ..BudgetConfig::default()
        }
    }
}
