//! What a primal machine is asked for, and whether it fits the memory allowed.

use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::polish::Polish;
use crate::solver::refine::Refine;

/// Bytes that Newton's method needs for each pair of samples, at most: the kernel matrix in
/// double precision, the system and its factor.
const PAIR_BYTES: u64 = 24;

/// Which method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// At random.
    Random,
    /// By the seeding of k-means++: each next one with a probability in proportion to its squared
    /// distance from the nearest so far.
    KmeansPlusPlus,
    /// By pivoted incomplete Cholesky: each next one is worst represented by those so far.
    Cholesky,
    /// By the gradient: those that the objective would gain most from.
    Greedy,
}

/// Hyperparameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrimalConfig {
    /// The kernel.
    pub kernel: AnyKernel,
    /// The loss; least squares is `SquaredEpsilonInsensitive { epsilon: 0.0 }`.
    pub loss: AnyLoss,
    /// Half-width of the smoothed zones, > 0.
    pub smoothing: f64,
    /// Whether an offset is fitted, which is not penalised.
    pub fit_intercept: bool,
    /// The method.
    pub solver: PrimalSolver,
    /// For conjugate gradients and reduced expansions: the objective is known up to this share of
    /// it, > 0.
    pub tol: f64,
    /// Steps of each output at most, at least 1.
    pub max_iter: usize,
    /// Megabytes of kernel values and factors, > 0.
    pub cache_size: f64,
    /// Seconds after which a fit ends with the machine it has, > 0.
    pub max_time: Option<f64>,
    /// Seed of what is chosen at random.
    pub seed: u64,
    /// Whether to find leave-one-out decision values (Newton on all samples alone).
    pub leave_one_out: bool,
    /// Samples on which C and γ are tuned first, none when they are to stay.
    pub tune: Option<usize>,
    /// Whether the points of a basis are moved, together with their coefficients.
    pub refine: bool,
    /// Evaluations of the objective that refining may take, at least 1.
    pub refine_iter: usize,
}

impl Default for PrimalConfig {
    fn default() -> Self {
        Self {
            kernel: AnyKernel::Gaussian { gamma: 1.0 },
            loss: AnyLoss::SquaredHinge,
            smoothing: 0.05,
            fit_intercept: true,
            solver: PrimalSolver::Auto,
            tol: 1e-5,
            max_iter: 1000,
            cache_size: 1000.0,
            max_time: None,
            seed: 0,
            leave_one_out: false,
            tune: None,
            refine: false,
            refine_iter: 100,
        }
    }
}

impl PrimalConfig {
    /// Whether every hyperparameter is in its range.
    ///
    /// # Errors
    /// `InvalidParam`; `Unsupported` for a kernel or loss that cannot be refined or tuned.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.loss.check()?;
        let positive = [
            ("smoothing", self.smoothing),
            ("tol", self.tol),
            ("cache_size", self.cache_size),
            ("max_time", self.max_time.unwrap_or(1.0)),
        ];
        for (name, value) in positive {
            if !(value > 0.0 && value.is_finite()) {
                return Err(Error::param(name, "> 0 and finite", value));
            }
        }
        for (name, value) in [
            ("max_iter", self.max_iter),
            ("tune_size", self.tune.unwrap_or(1)),
            ("refine_iter", self.refine_iter),
        ] {
            if value == 0 {
                return Err(Error::param(name, ">= 1", 0));
            }
        }
        if self.refine {
            self.refiner().check(self.kernel)?;
        }
        if self.tune.is_some() {
            self.check_tuning()?;
        }
        Ok(())
    }

    pub(super) fn bytes(&self) -> u64 {
        (self.cache_size * f64::from(1 << 20)) as u64
    }

    pub(super) fn polish(&self) -> Polish {
        Polish {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing,
            max_steps: self.max_iter,
            tol: self.tol,
            cache_bytes: usize::try_from(self.bytes()).unwrap_or(usize::MAX),
        }
    }

    /// How the points of a basis are moved.
    pub(super) fn refiner(&self) -> Refine {
        Refine {
            loss: self.loss,
            fit_intercept: self.fit_intercept,
            h: self.smoothing,
            max_evaluations: self.refine_iter,
            seed: self.seed,
        }
    }

    /// Whether Newton's method fits the memory allowed.
    pub(super) fn newton_fits(&self, n: usize) -> bool {
        PAIR_BYTES.saturating_mul(n as u64).saturating_mul(n as u64) <= self.bytes()
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
        let megabytes = (PAIR_BYTES as f64 * (n as f64).powi(2) / f64::from(1 << 20)).ceil();
        Error::Unsupported(format!(
            "{what} on {n} samples may need {megabytes} MB, cache_size={} allows less: use \
             {instead}, or a larger cache_size",
            self.cache_size
        ))
    }

    /// Whether the kernel and the loss are such as can be tuned.
    fn check_tuning(&self) -> Result<()> {
        with_gamma(self.kernel, 1.0)?;
        if self.polish().final_loss().uses_h() {
            return Err(Error::Unsupported(
                "tune=True needs a squared loss (loss='squared_hinge', \
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
    match kernel {
        AnyKernel::Gaussian { gamma } => Ok(AnyKernel::Gaussian { gamma: gamma * factor }),
        AnyKernel::Laplacian { gamma } => Ok(AnyKernel::Laplacian { gamma: gamma * factor }),
        _ => Err(Error::Unsupported(format!(
            "tune=True needs kernel='rbf' or 'laplacian', got kernel='{}'",
            kernel.name()
        ))),
    }
}
