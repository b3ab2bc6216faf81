//! How Rust code sets hyperparameters.

use std::marker::PhantomData;

use super::config::{Config, Maintenance};
use crate::budget::MergeSearch;
use crate::data::SampleOrder;
use crate::error::Result;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::Method;

/// An estimator made from checked hyperparameters.
pub trait FromConfig: Sized {
    #[doc(hidden)]
    fn from_config(config: Config) -> Result<Self>;
}

/// Sets hyperparameters and builds the estimator `E`; see [`Config`] for their meanings.
#[derive(Clone, Debug)]
pub struct Builder<E> {
    config: Config,
    estimator: PhantomData<E>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty => $field:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $kind) -> Self {
            self.config.$field = $name;
            self
        }
    )*};
}

impl<E: FromConfig> Builder<E> {
    pub(super) fn new(loss: AnyLoss) -> Self {
        let mut config = Config { loss, ..Config::default() };
        if !loss.is_classification() {
            // In units of y: the tube of the default epsilon is 0.1 wide.
            config.smoothing = 0.05;
        }
        Self { config, estimator: PhantomData }
    }

    setters! {
        /// Cost of a violation, > 0; 1 unless set.
        c: f64 => c;
        /// The loss.
        loss: AnyLoss => loss;
        /// Coordinate ascent (unless set) or stochastic gradient descent.
        solver: Method => solver;
        /// What happens to a term too many.
        maintenance: Maintenance => maintenance;
        /// How the best point between two terms is found.
        merge_search: MergeSearch => merge_search;
        /// Whether the terms' points are moved after polishing.
        refine: bool => refine;
        /// Evaluations of the objective that refining may take, at least 1.
        refine_iter: usize => refine_iter;
        /// Terms merged at an event, at least 2.
        merge_size: usize => merge_size;
        /// Whether `fit` ends by solving for the coefficients; true unless set.
        polishing: bool => polishing;
        /// Half-width of the smoothed corners while polishing, > 0; unless set 0.3 for
        /// classification, 0.05 for regression.
        smoothing: f64 => smoothing;
        /// Whether polishing fits an offset.
        fit_intercept: bool => fit_intercept;
        /// Passes over the data, at least 1.
        max_iter: usize => max_iter;
        /// Passes end when the largest step of a pass is below this.
        tol: f64 => tol;
        /// Order of a pass.
        order: SampleOrder => order;
        /// Whether several classes share their terms; true unless set.
        shared: bool => shared;
        /// Whether objectives are recorded after every pass.
        record_objective: bool => record_objective;
        /// Megabytes of kernel values that polishing may hold.
        cache_size: f64 => cache_size;
        /// Seed of everything random; 0 unless set.
        seed: u64 => seed;
    }

    /// The most terms, at least 1; 200 unless set.
    #[must_use]
    pub fn budget(mut self, budget: usize) -> Self {
        self.config.budget = Some(budget);
        self
    }

    /// No budget: plain coordinate ascent or kernel Pegasos, and no polishing.
    #[must_use]
    pub fn no_budget(mut self) -> Self {
        self.config.budget = None;
        self
    }

    /// The kernel; the Gaussian with γ = 1 unless set.
    #[must_use]
    pub fn kernel(mut self, kernel: impl Into<AnyKernel>) -> Self {
        self.config.kernel = kernel.into();
        self
    }

    /// Samples that a stream will have, at least 1: sets the step of stochastic gradient descent.
    #[must_use]
    pub fn n_expected(mut self, n_expected: usize) -> Self {
        self.config.n_expected = Some(n_expected);
        self
    }

    /// Seconds after which a fit ends with the model it has, > 0.
    #[must_use]
    pub fn max_time(mut self, seconds: f64) -> Self {
        self.config.max_time = Some(seconds);
        self
    }

    /// Checks the hyperparameters.
    ///
    /// # Errors
    /// `InvalidParam` for a value out of its range, `Unsupported` for a combination that is not
    /// offered.
    pub fn build(self) -> Result<E> {
        self.config.check()?;
        E::from_config(self.config)
    }
}
