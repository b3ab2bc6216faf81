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
use super::learner::{Bound, OnlineLearner};
use crate::config::{Config as _, at_least, hyperparameters, positive};
use crate::error::{Error, Result};
use crate::features::{FeatureMap, Fourier, Waves};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::Watch;

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
    /// Length of z, as much as there can be. (A saturating product branches on its overflow, which
    /// the compiler moves before it is known that the learner is this one: memcheck speaks of it.)
    fn length(&self) -> usize {
        self.n_frequencies.min(usize::MAX / 2) * 2
    }

    fn waves(&self, kernel: AnyKernel, seed: u64) -> Fourier {
        let (n_components, waves) = (self.length(), Waves::Paired);
        Fourier { kernel, n_components, orthogonal: false, waves, seed }
    }
}

impl OnlineLearner for FourierOgd {
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        if turn.y * turn.f >= 1.0 {
            return Ok(Update::None);
        }
        model.weights.add_all(self.learning_rate * turn.y, &turn.row[..self.length()]);
        Ok(Update::Coefficients)
    }

    fn bound(&self) -> Bound {
        Bound::None
    }

    fn check(&self, kernel: AnyKernel) -> Result<()> {
        positive("learning_rate", self.learning_rate)?;
        at_least(1, "n_frequencies", self.n_frequencies)?;
        self.waves(kernel, 0).check()
    }

    fn adopt(&mut self, fresh: &Self, _settled: bool) -> Result<()> {
        if self.n_frequencies != fresh.n_frequencies {
            let expected = format!("{} while training goes on", self.n_frequencies);
            return Err(Error::param("n_frequencies", expected, fresh.n_frequencies));
        }
        *self = fresh.clone();
        Ok(())
    }

    fn n_features(&self) -> Option<usize> {
        Some(self.length())
    }

    fn features<F: Real>(
        &self,
        kernel: AnyKernel,
        n_columns: usize,
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Option<FeatureMap<F>>> {
        self.waves(kernel, seed).fit(n_columns, watch).map(FeatureMap::Fourier).map(Some)
    }
}
