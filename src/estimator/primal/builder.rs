//! How Rust code sets the hyperparameters of a primal machine.

use std::marker::PhantomData;

use super::config::{Choice, PrimalConfig, PrimalSolver};
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;

/// Sets the hyperparameters of a primal machine `E`; see [`PrimalConfig`] for their meanings.
#[derive(Clone, Debug)]
pub struct PrimalBuilder<E> {
    asked: Asked,
    machine: PhantomData<E>,
}

/// Everything that a fit is told beside the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Asked {
    pub(super) config: PrimalConfig,
    pub(super) c: f64,
    pub(super) basis: Option<(Choice, usize)>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $kind:ty;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(mut self, $name: $kind) -> Self {
            self.asked.config.$name = $name;
            self
        }
    )*};
}

/// A machine made from hyperparameters that were checked.
pub(super) trait FromAsked: Sized {
    const CLASSES: bool;
    fn from_asked(asked: Asked) -> Self;
}

#[expect(private_bounds, reason = "the machines of this page")]
impl<E: FromAsked> PrimalBuilder<E> {
    pub(super) fn new(loss: AnyLoss) -> Self {
        let config = PrimalConfig { loss, ..PrimalConfig::default() };
        Self { asked: Asked { config, c: 1.0, basis: None }, machine: PhantomData }
    }

    setters! {
        /// The loss; least squares is `SquaredEpsilonInsensitive { epsilon: 0.0 }`, for values.
        loss: AnyLoss;
        /// Half-width of the smoothed zones, > 0; 0.05 unless set.
        smoothing: f64;
        /// Whether an offset is fitted, which is not penalised; true unless set.
        fit_intercept: bool;
        /// The method; the first that fits the memory unless set.
        solver: PrimalSolver;
        /// For conjugate gradients and a basis: the objective is known up to this share, > 0;
        /// 1e-5 unless set.
        tol: f64;
        /// Steps of each output at most, at least 1; 1000 unless set.
        max_iter: usize;
        /// Megabytes of kernel values and factors, > 0; 1000 unless set.
        cache_size: f64;
        /// Whether the points of a basis are moved together with their coefficients.
        refine: bool;
        /// Evaluations of the objective that refining may take, at least 1; 100 unless set.
        refine_iter: usize;
        /// Whether to find leave-one-out decision values.
        leave_one_out: bool;
        /// Seed of everything random; 0 unless set.
        seed: u64;
    }

    /// Cost of a violation, > 0; 1 unless set. The paper's λ is 1/(2C).
    #[must_use]
    pub fn c(mut self, c: f64) -> Self {
        self.asked.c = c;
        self
    }

    /// The kernel; the Gaussian with γ = 1 unless set. A linear kernel without a basis is solved
    /// for weights of the features.
    #[must_use]
    pub fn kernel(mut self, kernel: impl Into<AnyKernel>) -> Self {
        self.asked.config.kernel = kernel.into();
        self
    }

    /// An expansion in this many samples, at least 1, found so; unless set in all of them.
    #[must_use]
    pub fn basis(mut self, choice: Choice, count: usize) -> Self {
        self.asked.basis = Some((choice, count));
        self
    }

    /// Finds C and γ first, on this many samples, at least 1.
    #[must_use]
    pub fn tune(mut self, samples: usize) -> Self {
        self.asked.config.tune = Some(samples);
        self
    }

    /// Seconds after which a fit ends with the machine it has, > 0.
    #[must_use]
    pub fn max_time(mut self, seconds: f64) -> Self {
        self.asked.config.max_time = Some(seconds);
        self
    }

    /// Checks the hyperparameters.
    ///
    /// # Errors
    /// `InvalidParam` for a value out of its range, `Unsupported` for a combination that is not
    /// offered.
    pub fn build(self) -> Result<E> {
        let Asked { config, c, basis } = self.asked;
        config.check()?;
        if !(c > 0.0 && c.is_finite()) {
            return Err(Error::param("C", "> 0 and finite", c));
        }
        if matches!(basis, Some((_, 0))) {
            return Err(Error::param("n_components", ">= 1", 0));
        }
        if config.loss.is_classification() != E::CLASSES && !(E::CLASSES && least_squares(&config))
        {
            let expected = if E::CLASSES { "a loss for classes" } else { "a loss for real values" };
            return Err(Error::param("loss", expected, config.loss.name()));
        }
        Ok(E::from_asked(self.asked))
    }
}

/// It serves classes too, whose targets are 1 and -1.
fn least_squares(config: &PrimalConfig) -> bool {
    matches!(config.loss, AnyLoss::SquaredEpsilonInsensitive { epsilon } if epsilon == 0.0)
}
