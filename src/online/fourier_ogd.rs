//! Online gradient descent on random Fourier features \[LSOKL\].
//!
//! ```text
//! z(x) = √(1/D) (cos ν_j·x, sin ν_j·x), j <= D,   ν_j ~ N(0, 2γ I):   z(x)·z(x') ≈ k(x, x')
//! if y wᵀz < 1:   w ← w + η y z
//! ```
//!
//! There are no terms: the "kernel row" of a sample is z(x), the coefficients are w (\[LSOKL\]
//! Algorithm 1). *Cost* O(D d) a step, memory O(D d), both whatever the number of samples.

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::OnlineLearner;
use crate::config::{Config as _, at_least, hyperparameters, positive};
use crate::error::Result;
use crate::features::{FeatureMap, Fourier, Waves};
use crate::float::Real;
use crate::kernel::AnyKernel;

hyperparameters! {
    /// Gradient descent on the waves of D frequencies.
    pub struct FourierOgd {
        /// D >= 1; there are twice as many features.
        pub n_frequencies: usize = 500;
        /// η > 0.
        pub learning_rate: f64 = 0.2;
    }
}

impl FourierOgd {
    /// Length of z.
    pub(super) fn n_features(&self) -> usize {
        self.n_frequencies.saturating_mul(2)
    }

    fn features(&self, kernel: AnyKernel, seed: u64) -> Fourier {
        let (n_components, waves) = (self.n_features(), Waves::Paired);
        Fourier { kernel, n_components, orthogonal: false, waves, seed }
    }

    pub(super) fn check(&self, kernel: AnyKernel) -> Result<()> {
        positive("learning_rate", self.learning_rate)?;
        at_least(1, "n_frequencies", self.n_frequencies)?;
        self.features(kernel, 0).check()
    }

    /// Draws the features for rows of `d` columns.
    pub(super) fn draw<F: Real>(
        &self,
        kernel: AnyKernel,
        d: usize,
        seed: u64,
    ) -> Result<FeatureMap<F>> {
        self.features(kernel, seed).fit(d).map(FeatureMap::Fourier)
    }
}

impl<F: Real> OnlineLearner<F> for FourierOgd {
    fn learn(&mut self, turn: &Turn<'_, F>, model: &mut BudgetedExpansion<F>) -> Result<Update> {
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        model.weights.add_all(self.learning_rate * turn.y, &turn.row[..self.n_features()]);
        Ok(Update::Coefficients)
    }
}
