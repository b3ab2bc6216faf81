//! BSCA and BSGD: coordinate ascent in the dual and stochastic gradient descent in the primal, on
//! a budget or (`budget: None`) without one.
//!
//! ```text
//! P(w) = ½‖w‖² + Σ_i C_i L(y_i, f(x_i)),   f(x) = Σ_j β_j k(s_j, x) + b
//! ```
//!
//! *Method* of a step on sample i, with `f = f(x_i)`:
//! 1. BSCA: `α_i` moves to the maximum of the dual along its coordinate, inside its box; the model
//!    gains the change. Departs from \[BSCA\] Alg. 2: its listing drops the factor `y_i`.
//!    BSGD, step t: all coefficients shrink by `1 - 1/t`; a violating sample gains
//!    `y_i n C_i / t`. Kept as `u` with `β = u / t`, so the shrinking costs nothing.
//! 2. A sample that is still a term, unmerged, changes its coefficient in place; one whose
//!    coefficients become 0 frees its slot. Any other sample becomes a new term. (Departs from
//!    \[BSCA\] Alg. 2, where every step adds a term, and a sample drawn again has two.)
//! 3. Over budget, maintenance runs.
//!
//! The order of a pass is a fresh permutation (departs from \[BSCA\] Alg. 2, which draws samples
//! at random: [`SampleOrder::Uniform`]), and passes of BSCA end when a whole one moved nothing by
//! more than `tol` (the paper leaves the rule open: 0 is none).
//!
//! *Cost* of a pass: O(n B d) for margins, O(B d) an event of maintenance.
//! *Certificate*: without a budget, the largest step of a pass in units of the margin.
//! *References*: \[BSCA\] Alg. 1 and 2, eq. 4; \[PEGASOS\].

use crate::budget::{AnyMaintenance, Maintainer};
use crate::config::{count, optional};
use crate::data::SampleOrder;
use crate::error::Result;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::model::{Expansion, KernelModel};
use crate::rng::Rng;

/// Which steps are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// Coordinate ascent in the dual (\[BSCA\]).
    #[default]
    Bsca,
    /// Stochastic gradient descent in the primal (BSGD, Pegasos).
    Bsgd,
}

/// Bytes that a core's own caches hold, about.
const OWN_CACHE: usize = 2 << 20;

/// A solver's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Budgeted {
    /// Which steps.
    pub method: Method,
    /// The kernel.
    pub kernel: AnyKernel,
    /// The loss.
    pub loss: AnyLoss,
    /// Terms that the model may hold, at least 1; `None` for no budget.
    pub budget: Option<usize>,
    /// What happens over budget.
    pub maintenance: AnyMaintenance,
    /// The order of a pass.
    pub order: SampleOrder,
    /// Seed of order and maintenance.
    pub seed: u64,
    /// Whether primal and dual objective are computed after every pass: O(n B d + B² d) each time.
    pub record_objective: bool,
    /// BSGD: the number of samples that the step sizes are for; at least those seen. `None`: those
    /// of the problem at hand, or those seen so far in a stream.
    pub n_expected: Option<usize>,
}

impl Budgeted {
    /// Checks what does not depend on data.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self) -> Result<()> {
        self.kernel.check()?;
        self.loss.check()?;
        optional(count, "budget", self.budget)?;
        optional(count, "n_expected", self.n_expected)?;
        match self.budget {
            Some(_) => self.maintenance.check(self.kernel),
            None => Ok(()),
        }
    }

    /// Samples of a block: enough that a column is worth gathering, few enough that most of a
    /// small model is not changed within one (`cargo bench --bench engine`, group `block`); more where
    /// the terms, of so many bytes each, are more than a core's own caches hold, so that they come
    /// from afar for every block.
    #[must_use]
    pub fn block_len(&self, term_bytes: usize) -> usize {
        let far = self.budget.unwrap_or(0).saturating_mul(term_bytes) > OWN_CACHE;
        let most = if far { 48 } else { 32 };
        self.budget.map_or(32, |budget| (budget / 16).next_multiple_of(16).clamp(16, most))
    }
}

/// What changes while training, and goes on changing in a stream.
#[derive(Clone, Debug)]
pub struct State<F: Real> {
    pub(super) expansion: Expansion<F>,
    pub(super) intercept: Vec<f64>,
    pub(super) maintainer: Maintainer<F>,
    pub(super) rng: Rng,
    /// BSGD's steps so far.
    pub(super) steps: u64,
    /// Samples of all problems before this one.
    pub(super) seen: u64,
    pub(super) block_len: usize,
}

impl<F: Real> State<F> {
    /// The empty model. `origin`: see [`crate::kernel::origin_for`].
    ///
    /// # Errors
    /// As [`Budgeted::check`]; `OutOfMemory`.
    pub fn new(
        solver: &Budgeted,
        origin: Vec<F>,
        n_features: usize,
        outputs: usize,
    ) -> Result<Self> {
        solver.check()?;
        let mut expansion = Expansion::new(solver.kernel, origin, n_features, outputs)?;
        if let Some(budget) = solver.budget {
            // One more than the budget while maintenance runs; large budgets grow as they fill.
            expansion.reserve(budget.min(4096) + 1)?;
        }
        Self::with(solver, expansion)
    }

    /// Before the first step.
    fn with(solver: &Budgeted, expansion: Expansion<F>) -> Result<Self> {
        // Without a budget no maintenance runs, and none is refused for the kernel.
        let maintenance = solver.budget.map_or(AnyMaintenance::Stop, |_| solver.maintenance);
        let term_bytes = expansion.centers().n_features() * size_of::<F>();
        Ok(Self {
            intercept: vec![0.0; expansion.outputs()],
            expansion,
            maintainer: Maintainer::new(maintenance, solver.kernel, solver.seed)?,
            rng: Rng::new(solver.seed),
            steps: 0,
            seen: 0,
            block_len: solver.block_len(term_bytes),
        })
    }

    /// A state that goes on from a model after `steps` steps and `seen` samples.
    ///
    /// # Errors
    /// As [`Budgeted::check`]; `OutOfMemory`.
    pub fn from_model(
        solver: &Budgeted,
        model: &KernelModel<F>,
        steps: u64,
        seen: u64,
    ) -> Result<Self> {
        solver.check()?;
        let mut expansion = model.to_expansion()?;
        if solver.method == Method::Bsgd {
            expansion.scale(steps.max(1) as f64);
        }
        Ok(Self {
            intercept: model.intercept().to_vec(),
            rng: Rng::stream(solver.seed, seen.wrapping_add(2)),
            steps: if solver.method == Method::Bsgd { steps.max(1) } else { steps },
            seen,
            ..Self::with(solver, expansion)?
        })
    }

    /// With these offsets, one an output, which steps leave as they are.
    #[must_use]
    pub fn with_intercept(mut self, intercept: Vec<f64>) -> Self {
        self.intercept = intercept;
        self
    }

    /// Another length of blocks than [`Budgeted::block_len`], at least 1: for the bench that chose
    /// that one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_block_len(mut self, len: usize) -> Self {
        self.block_len = len.max(1);
        self
    }

    /// Number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.expansion.len()
    }

    /// Steps so far (BSGD's t).
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Samples seen so far, all problems together.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// What the expansion's coefficients count by.
    pub(super) fn scale(&self, method: Method) -> f64 {
        match method {
            Method::Bsca => 1.0,
            Method::Bsgd if self.steps == 0 => 0.0,
            Method::Bsgd => 1.0 / self.steps as f64,
        }
    }

    /// The model as it stands.
    ///
    /// # Errors
    /// When coefficients have left the range of floats; `OutOfMemory`.
    pub fn model(&self, method: Method) -> Result<KernelModel<F>> {
        KernelModel::from_expansion(&self.expansion, self.scale(method), self.intercept.clone())
    }
}
