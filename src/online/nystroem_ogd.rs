//! Online gradient descent on the Nyström features of its first terms \[LSOKL\].
//!
//! ```text
//! K_BB ≈ V D Vᵀ (the k largest eigenvalues),   z(x) = D^{-1/2} Vᵀ k_B(x),   f = wᵀ z
//! w ← w + η y z,   predictions by β = V D^{-1/2} w on the B terms
//! ```
//!
//! # Method
//! 1. Kernel gradient descent, without decay, until B samples with a loss are terms.
//! 2. Then K is decomposed and w starts at `D^{1/2} Vᵀ β`: what the terms' functions are, seen
//!    through the k features (\[LSOKL\] Algorithm 2).
//! 3. From then on a loss moves w by `η y z`; the terms stay.
//!
//! Departs from \[LSOKL\] in the eigenvalues that count: those below 1e-10 of the largest (1e-6 in
//! single precision), which are rounding error, never do.
//!
//! *Cost* O(B k) a sample, as products of matrices (`src/online/basis.rs`), O(B³) once; memory B k.

use super::basis::Basis;
use super::expansion::{BudgetedExpansion, Span, Turn, Update};
use super::learner::{BasisForm, Bound, OnlineLearner};
use crate::config::{at_least, hyperparameters, positive};
use crate::error::{Result, try_square};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::symmetric_eigen;
use crate::watch::{Step, Watch};

hyperparameters! {
    /// Gradient descent on the span of B terms.
    pub struct NystroemOgd {
        /// B >= 1.
        pub budget: usize = 200;
        /// η > 0.
        pub learning_rate: f64 = 0.2;
        /// k: the eigenvalues that count at most; none: all that are no rounding error.
        pub n_components: Option<usize> = None;
    }
}

impl OnlineLearner for NystroemOgd {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        let step = self.learning_rate * turn.y;
        // 1.
        if model.basis().is_none() {
            return model.add(turn, step);
        }
        // 3.
        model.weights.add_all(step, turn.coordinates);
        Ok(Update::Coefficients)
    }

    fn bound(&self) -> Bound {
        Bound::Stays(self.budget)
    }

    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        positive("learning_rate", self.learning_rate)?;
        at_least(1, "n_components", self.n_components.unwrap_or(1))
    }

    /// Once the terms are chosen their number stays.
    fn adopt(&mut self, fresh: &Self, settled: bool) -> Result<()> {
        self.learning_rate = fresh.learning_rate;
        if !settled {
            (self.budget, self.n_components) = (fresh.budget, fresh.n_components);
        }
        Ok(())
    }

    fn basis(&self) -> BasisForm {
        BasisForm::Full
    }

    fn is_due<F: Real>(&self, model: &BudgetedExpansion<F>) -> bool {
        model.basis().is_none() && model.is_full(self.budget)
    }

    /// Step 2.
    fn decompose<F: Real>(&self, model: &mut BudgetedExpansion<F>, watch: &mut Watch<'_>) -> Step {
        let n = model.len();
        let mut gram = try_square("the kernel matrix of the terms", n, 0.0)?;
        for (slot, out) in gram.chunks_exact_mut(n).enumerate() {
            let row = model.row_of(slot);
            out.iter_mut().zip(&row).for_each(|(o, v)| *o = Real::to_f64(*v));
            watch.glance()?;
        }
        let eigen = symmetric_eigen("the kernel matrix of the terms", gram, n, || watch.poll())?;
        let share = if F::NAME == f32::NAME { 1e-6 } else { 1e-10 };
        let floor = eigen.values[0] * share;
        let rank = eigen.values.iter().take_while(|v| **v > floor && **v > 0.0).count();
        let rank = rank.min(self.n_components.unwrap_or(n));
        let (mut basis, mut along) = (Basis::default(), vec![0.0; rank]);
        let mut coefs = vec![0.0; n];
        for (j, (value, along)) in eigen.values.iter().zip(&mut along).enumerate() {
            let root = value.sqrt();
            for (slot, coef) in coefs.iter_mut().enumerate() {
                let q = eigen.vectors[slot * n + j];
                *coef = q / root;
                *along += root * q * model.weights.get(slot);
            }
            basis.push(&coefs)?;
            watch.glance()?;
        }
        let sum = |slot| {
            let (older, newer) = model.weights.sums(slot);
            older + newer
        };
        basis.past = (0..n).map(sum).collect();
        model.weights.restart(&along)?;
        model.span = Span::Basis(basis);
        Ok(())
    }
}
