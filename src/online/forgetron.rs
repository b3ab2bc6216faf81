//! Forgetron, self-tuned: before the oldest term goes, all shrink just enough that its loss does
//! not hurt \[FORGETRON\].
//!
//! ```text
//! σ = |β_r|, μ = y_r f'(x_r)   (f' with the new term)
//! Ψ(φ) = (σ φ)² + 2 σ φ (1 - φ μ) = a φ² + b φ,   a = σ² - 2 σ μ, b = 2 σ
//! the largest φ <= 1 with Q + Ψ(φ) <= 15/32 M
//! ```
//!
//! # Method
//! 1. A mistake (the M-th) adds the term (y, x).
//! 2. Over budget: r the oldest; φ from the quadratic above, with `c = Q - 15/32 M < 0`: 1 if
//!    `a + b + c <= 0`, else its root `-2c / (b + √(b² - 4ac))`, free of cancellation.
//! 3. `β ← φ β`, `Q ← Q + Ψ(φ)`, r goes.
//!
//! A root in (0, 1) exists when step 2 needs one: the quadratic is `c < 0` at 0 and > 0 at 1. The
//! bound on mistakes holds for `k(x, x) <= 1`. *Cost* O(B d) an event: `f'(x_r)` needs the kernel
//! row of the oldest term.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{Bound, OnlineLearner};
use crate::config::hyperparameters;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;

hyperparameters! {
    /// The forgetron and its two counters.
    pub struct Forgetron {
        /// B >= 1.
        pub budget: usize = 200;
        /// M.
        pub(super) mistakes: u64 = 0;
        /// Q.
        pub(super) damage: f64 = 0.0;
        /// The slot of the oldest term.
        pub(super) oldest: usize = 0;
    }
}

impl Forgetron {
    /// One that holds so many terms at most.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        Self { budget, ..Self::default() }
    }
}

impl OnlineLearner for Forgetron {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        if !turn.is_mistake() {
            return Ok(Update::None);
        }
        // 1.
        self.mistakes += 1;
        if !model.is_full(self.budget) {
            return model.add(turn, turn.y);
        }
        // 2. The new term counts in f', so its coefficient shrinks with the others.
        let r = self.oldest;
        let beta = model.weights.get(r);
        let with_new = model.value_at(r) + turn.y * turn.row[r].to_f64();
        let (sigma, mu) = (beta.abs(), beta.signum() * with_new);
        let (a, b) = (sigma * sigma - 2.0 * sigma * mu, 2.0 * sigma);
        let c = self.damage - 15.0 / 32.0 * self.mistakes as f64;
        let phi = if a + b + c <= 0.0 {
            1.0
        } else {
            (-2.0 * c / (b + (b * b - 4.0 * a * c).max(0.0).sqrt())).clamp(0.0, 1.0)
        };
        // 3.
        model.weights.decay(phi);
        self.damage += a * phi * phi + b * phi;
        self.oldest = (r + 1) % model.len();
        model.replace(r, turn, phi * turn.y)
    }

    fn bound(&self) -> Bound {
        Bound::Drops(self.budget)
    }

    fn check(&self, kernel: AnyKernel) -> Result<()> {
        if self.oldest >= self.budget {
            return Err(Error::param("oldest", "a term", self.oldest));
        }
        if kernel.is_translation_invariant() {
            return Ok(());
        }
        let known = AnyKernel::names(AnyKernel::is_translation_invariant);
        Err(Error::param("kernel", format!("{known} (k(x, x) = 1)"), kernel.name()))
    }

    fn adopt(&mut self, fresh: &Self, _settled: bool) -> Result<()> {
        self.budget = fresh.budget;
        Ok(())
    }
}
