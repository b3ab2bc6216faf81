//! The one trait of the learners: the step, and what the stream and its files ask of a learner.

use super::expansion::{BudgetedExpansion, Turn, Update};
use crate::config::positive;
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::{Step, Watch};

/// What becomes of the terms of a learner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Their number is not bounded, or there are none.
    None,
    /// So many at most; a term stays.
    Stays(usize),
    /// So many at most; over budget one goes.
    Drops(usize),
}

/// The basis of the terms' span along which a learner has its coefficients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BasisForm {
    /// None: they are the terms' own.
    None,
    /// From the start: every term adds a function of it and of the terms before.
    Triangular,
    /// Of all terms at once, found when they are chosen ([`OnlineLearner::decompose`]).
    Full,
}

/// Learns from one sample at a time: all that sets one learner apart from another.
pub trait OnlineLearner: Clone {
    /// Takes the step of one sample.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update>;

    /// What becomes of the terms.
    fn bound(&self) -> Bound;

    /// Whether the hyperparameters, but for a budget >= 1, are in range, the kernel is one that the
    /// method allows, and what is remembered is possible.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    fn check(&self, _kernel: AnyKernel) -> Result<()> {
        Ok(())
    }

    /// Takes over the hyperparameters of `fresh` and keeps what it remembers; `settled`: the model
    /// works on a basis.
    ///
    /// # Errors
    /// `InvalidParam` for what cannot change while training goes on.
    fn adopt(&mut self, fresh: &Self, _settled: bool) -> Result<()> {
        *self = fresh.clone();
        Ok(())
    }

    /// How many features it works on, if it works on features instead of terms.
    fn n_features(&self) -> Option<usize> {
        None
    }

    /// Those features for rows of `n_columns`, drawn anew.
    ///
    /// # Errors
    /// `InvalidParam`, `OutOfMemory`, `Interrupted`.
    fn features<F: Real>(
        &self,
        _kernel: AnyKernel,
        _n_columns: usize,
        _seed: u64,
        _watch: &mut Watch<'_>,
    ) -> Result<Option<FeatureMap<F>>> {
        Ok(None)
    }

    /// The basis that its coefficients are along.
    fn basis(&self) -> BasisForm {
        BasisForm::None
    }

    /// Whether the terms are chosen and their basis is still to be found.
    fn is_due<F: Real>(&self, _model: &BudgetedExpansion<F>) -> bool {
        false
    }

    /// Finds the basis and moves the coefficients onto it, when it [is due](Self::is_due).
    ///
    /// # Errors
    /// `OutOfMemory`, `Interrupted`.
    fn decompose<F: Real>(
        &self,
        _model: &mut BudgetedExpansion<F>,
        _watch: &mut Watch<'_>,
    ) -> Step {
        Ok(())
    }
}

/// A step length that decays nothing away: both > 0 (λ >= 0), η λ < 1.
pub(super) fn check_rates(learning_rate: f64, regularization: f64) -> Result<()> {
    positive("learning_rate", learning_rate)?;
    if !(regularization >= 0.0 && learning_rate * regularization < 1.0) {
        let expected = format!(">= 0 and below 1 / learning_rate = {}", 1.0 / learning_rate);
        return Err(Error::param("regularization", expected, regularization));
    }
    Ok(())
}
