//! The closed enum of the learners.

use std::any::Any;

use serde::{Deserialize, Serialize};

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::{BasisForm, Bound, OnlineLearner};
use super::{
    BudgetOgd, Forgetron, FourierOgd, KernelOgd, KernelPerceptron, NystroemOgd, PassiveAggressive,
    Projectron, RandomizedBudgetPerceptron, SparsePassiveAggressive, Stoptron,
};
use crate::config::at_least;
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::{Step, Watch};

/// The mean of the iterates has one part in so many of the budget for terms that went: little,
/// because the terms that learn become fewer. On parts of training sets, three orders, a half, a
/// third, a quarter, an eighth and a sixteenth were 1.5, 0.5, 0.9, 0.8 and 1.1 points below the
/// best of the five on average (`benches/python/online_window.py`): only the half stands out.
pub const ASIDE: usize = 4;

/// A learner, its hyperparameters and what it remembers beside the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name")]
pub enum AnyLearner {
    /// See [`KernelPerceptron`].
    #[serde(rename = "perceptron")]
    KernelPerceptron(KernelPerceptron),
    /// See [`KernelOgd`].
    #[serde(rename = "ogd")]
    KernelOgd(KernelOgd),
    /// See [`RandomizedBudgetPerceptron`].
    #[serde(rename = "rbp")]
    RandomizedBudgetPerceptron(RandomizedBudgetPerceptron),
    /// See [`Stoptron`].
    #[serde(rename = "stoptron")]
    Stoptron(Stoptron),
    /// See [`Forgetron`].
    #[serde(rename = "forgetron")]
    Forgetron(Forgetron),
    /// See [`Projectron`]: both of them.
    #[serde(rename = "projectron")]
    Projectron(Projectron),
    /// See [`PassiveAggressive`].
    #[serde(rename = "bpas")]
    PassiveAggressive(PassiveAggressive),
    /// See [`BudgetOgd`].
    #[serde(rename = "bogd")]
    BudgetOgd(BudgetOgd),
    /// See [`SparsePassiveAggressive`].
    #[serde(rename = "spa")]
    SparsePassiveAggressive(SparsePassiveAggressive),
    /// See [`FourierOgd`].
    #[serde(rename = "fogd")]
    FourierOgd(FourierOgd),
    /// See [`NystroemOgd`].
    #[serde(rename = "nogd")]
    NystroemOgd(NystroemOgd),
}

/// The same expression for every learner.
macro_rules! each {
    ($any:expr, $learner:ident => $body:expr) => {
        match $any {
            AnyLearner::KernelPerceptron($learner) => $body,
            AnyLearner::KernelOgd($learner) => $body,
            AnyLearner::RandomizedBudgetPerceptron($learner) => $body,
            AnyLearner::Stoptron($learner) => $body,
            AnyLearner::Forgetron($learner) => $body,
            AnyLearner::Projectron($learner) => $body,
            AnyLearner::PassiveAggressive($learner) => $body,
            AnyLearner::BudgetOgd($learner) => $body,
            AnyLearner::SparsePassiveAggressive($learner) => $body,
            AnyLearner::FourierOgd($learner) => $body,
            AnyLearner::NystroemOgd($learner) => $body,
        }
    };
}

/// What [`OnlineLearner`] asks, answered by the learner that it is.
impl AnyLearner {
    /// Whether it draws a frequency for every column of the rows, whatever they have there.
    #[must_use]
    pub fn draws_frequencies(&self) -> bool {
        matches!(self, Self::FourierOgd(_))
    }

    #[inline]
    pub(super) fn learn<F: Real>(
        &mut self,
        turn: &Turn<'_, F>,
        model: &mut BudgetedExpansion<F>,
    ) -> Result<Update> {
        each!(self, learner => learner.learn(turn, model))
    }

    /// The most terms, if there is a bound.
    #[must_use]
    pub fn budget(&self) -> Option<usize> {
        match each!(self, learner => learner.bound()) {
            Bound::None => None,
            Bound::Stays(budget) | Bound::Drops(budget) => Some(budget),
        }
    }

    /// Places of the budget that are set aside for terms that went, when the mean of the iterates
    /// is wanted: one in `aside` for learners that drop terms, none for the others.
    #[must_use]
    pub fn places_aside(&self, aside: usize) -> usize {
        match each!(self, learner => learner.bound()) {
            Bound::None | Bound::Stays(_) => 0,
            Bound::Drops(budget) => budget / aside.max(1),
        }
    }

    /// Whether the hyperparameters are in range and the kernel is one that the method allows.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self, kernel: AnyKernel) -> Result<()> {
        at_least(1, "budget", self.budget().unwrap_or(1))?;
        each!(self, learner => learner.check(kernel))
    }

    /// [`OnlineLearner::adopt`] of a learner of the same kind.
    ///
    /// # Errors
    /// `Unsupported` for another learner, `InvalidParam` for what cannot change on the way.
    pub(super) fn adopt(&mut self, fresh: &Self, settled: bool) -> Result<()> {
        let fresh: &dyn Any = each!(fresh, learner => learner);
        each!(self, learner => match fresh.downcast_ref() {
            Some(fresh) => learner.adopt(fresh, settled),
            None => Err(Error::Unsupported("the model is of another learner".into())),
        })
    }

    pub(super) fn n_features(&self) -> Option<usize> {
        each!(self, learner => learner.n_features())
    }

    /// The features that the learner works on, drawn anew, if it works on features.
    ///
    /// # Errors
    /// `InvalidParam`, `OutOfMemory`, `Interrupted`.
    pub fn features<F: Real>(
        &self,
        kernel: AnyKernel,
        n_columns: usize,
        seed: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Option<FeatureMap<F>>> {
        each!(self, learner => learner.features(kernel, n_columns, seed, watch))
    }

    pub(super) fn basis(&self) -> BasisForm {
        each!(self, learner => learner.basis())
    }

    pub(super) fn is_due<F: Real>(&self, model: &BudgetedExpansion<F>) -> bool {
        each!(self, learner => learner.is_due(model))
    }

    pub(super) fn decompose<F: Real>(
        &self,
        model: &mut BudgetedExpansion<F>,
        watch: &mut Watch<'_>,
    ) -> Step {
        each!(self, learner => learner.decompose(model, watch))
    }
}
