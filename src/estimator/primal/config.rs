//! What a primal machine is asked for, and whether it fits the memory allowed.

use serde::{Deserialize, Serialize};

use crate::config::{Config, config, count, megabytes, optional, positive};
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::refine::Refine;
use crate::solver::smoothed::Polish;

/// Bytes that Newton's method needs for each pair of samples, at most: the kernel matrix in
/// double precision, the system and its factor.
const PAIR_BYTES: usize = 24;

/// Which method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum PrimalSolver {
    /// Newton where its matrices fit `cache_size`, else conjugate gradients.
    Auto,
    /// Newton's method, with a matrix.
    Newton,
    /// Conjugate gradients: on K for a kernel, on the Hessian for a linear machine.
    Cg,
    /// Conjugate gradients without the preconditioner, to compare with.
    PlainCg,
}

/// How basis points are chosen among the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Choice {
    /// At random.
    Random,
    /// By the seeding of k-means++: each next one with a probability in proportion to its squared
    /// distance from the nearest so far.
    #[serde(rename = "kmeans++")]
    KmeansPlusPlus,
    /// By pivoted incomplete Cholesky: each next one is worst represented by those so far.
    Cholesky,
    /// By the gradient: those that the objective would gain most from.
    Greedy,
}

config! {
    /// Hyperparameters of a primal machine.
    #[derive(Copy)]
    pub struct PrimalConfig {
        /// Cost of a violation, > 0. The paper's λ is 1/(2C).
        #[serde(rename = "C")]
        c: f64 = 1.0;
        /// The kernel. A linear one without a basis is solved for weights of the features.
        kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 }, into;
        /// The loss; least squares is `SquaredEpsilonInsensitive { epsilon: 0.0 }`.
        loss: AnyLoss = AnyLoss::SquaredHinge;
        /// Half-width of the smoothed zones, > 0; of values, in units of their spread.
        smoothing: f64 = 0.05;
        /// Whether an offset is fitted, which is not penalised.
        fit_intercept: bool = true;
        /// The method.
        solver: PrimalSolver = PrimalSolver::Auto;
        /// How the samples that the expansion is made of are found; none: it is made of all.
        basis: Option<Choice> = None, into;
        /// Samples in a basis, at least 1.
        n_components: usize = 500;
        /// For conjugate gradients and reduced expansions: the objective is known up to this share
        /// of it, > 0.
        tol: f64 = 1e-5;
        /// Steps of each output at most, at least 1.
        max_iter: usize = 1000;
        /// Kernel values and factors, in units of 10^6 bytes, > 0.
        cache_size: f64 = 1000.0;
        /// Seconds after which a fit ends with the machine it has, > 0.
        max_time: Option<f64> = None, into;
        /// Seed of what is chosen at random.
        #[serde(rename = "random_state")]
        seed: u64 = 0;
        /// Whether to find leave-one-out decision values (Newton on all samples alone).
        leave_one_out: bool = false;
        /// Samples on which C and γ are tuned first, at least 1; none when they are to stay.
        #[serde(rename = "tune_size")]
        tune: Option<usize> = None, into;
        /// Whether the points of a basis are moved, together with their coefficients.
        refine: bool = false;
        /// Evaluations of the objective that refining may take, at least 1.
        refine_iter: usize = 100;
    }
}

impl Config for PrimalConfig {
    fn check(&self) -> Result<()> {
        positive("C", self.c)?;
        self.kernel.check()?;
        self.loss.check()?;
        positive("smoothing", self.smoothing)?;
        positive("tol", self.tol)?;
        positive("cache_size", self.cache_size)?;
        optional(positive, "max_time", self.max_time)?;
        count("max_iter", self.max_iter)?;
        count("n_components", self.n_components)?;
        optional(count, "tune_size", self.tune)?;
        count("refine_iter", self.refine_iter)?;
        if self.refine {
            self.refiner(1.0).check(self.kernel)?;
        }
        if self.tune.is_some() {
            self.check_tuning()?;
        }
        Ok(())
    }
}

impl PrimalConfig {
    pub(super) fn bytes(&self) -> usize {
        megabytes(self.cache_size)
    }

    /// How the coefficients are solved for; `unit` is that of the targets ([`unit`]).
    ///
    /// [`unit`]: crate::estimator::centre::unit
    pub(super) fn polish(&self, unit: f64) -> Polish {
        Polish {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing * unit,
            unit,
            max_steps: self.max_iter,
            tol: self.tol,
            near: false,
            cache_bytes: self.bytes(),
        }
    }

    /// How the points of a basis are moved; `unit` is that of the targets.
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

    /// Whether Newton's method fits the memory allowed.
    pub(super) fn newton_fits(&self, n: usize) -> bool {
        PAIR_BYTES.saturating_mul(n).saturating_mul(n) <= self.bytes()
    }

    /// Whether an expansion in n samples is solved for by Newton's method.
    pub(super) fn by_newton(&self, n: usize) -> std::result::Result<bool, Error> {
        match self.solver {
            PrimalSolver::Newton if !self.newton_fits(n) => {
                let instead =
                    "a reduced expansion (basis='cholesky', n_components=500), solver='cg'";
                Err(self.too_large("solver='newton'", n, instead))
            }
            PrimalSolver::Newton => Ok(true),
            PrimalSolver::Auto => Ok(self.newton_fits(n)),
            PrimalSolver::Cg | PrimalSolver::PlainCg => Ok(false),
        }
    }

    /// `what` needs a factor of n samples; `instead` would not.
    pub(super) fn too_large(&self, what: &str, n: usize, instead: &str) -> Error {
        let megabytes = (PAIR_BYTES as f64 * (n as f64).powi(2) / 1e6).ceil();
        Error::Unsupported(format!(
            "{what} on {n} samples may need {megabytes} MB, cache_size={} allows less: use \
             {instead}, or a larger cache_size",
            self.cache_size
        ))
    }

    /// Whether the kernel and the loss are such as can be tuned.
    fn check_tuning(&self) -> Result<()> {
        with_gamma(self.kernel, 1.0)?;
        if !self.polish(1.0).final_loss().is_squared() {
            return Err(Error::Unsupported(
                "tune=true needs a squared loss (loss='squared_hinge', \
                 'squared_epsilon_insensitive' or 'least_squares'), whose leave-one-out values \
                 have a gradient"
                    .into(),
            ));
        }
        Ok(())
    }

    /// The same with γ times this factor.
    pub(super) fn scaled(&self, factor: f64) -> Result<Self> {
        Ok(Self { kernel: with_gamma(self.kernel, factor)?, ..*self })
    }
}

/// The kernel with γ times this factor.
pub(super) fn with_gamma(kernel: AnyKernel, factor: f64) -> Result<AnyKernel> {
    kernel.with_width(factor).ok_or_else(|| {
        Error::Unsupported(format!(
            "tune=true needs kernel={}, got kernel='{}'",
            AnyKernel::names(|kernel| kernel.with_width(1.0).is_some()),
            kernel.name()
        ))
    })
}
