//! The closed enum of the learners.

use serde::{Deserialize, Serialize};

use super::expansion::{BudgetedExpansion, Turn, Update};
use super::learner::OnlineLearner;
use super::{
    BudgetOgd, Forgetron, FourierOgd, KernelOgd, KernelPerceptron, NystroemOgd, PassiveAggressive,
    Projectron, RandomizedBudgetPerceptron, SparsePassiveAggressive, Stoptron,
};
use crate::config::at_least;
use crate::error::{Error, Result};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;

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

impl<F: Real> OnlineLearner<F> for AnyLearner {
    #[inline]
    fn learn(&mut self, turn: &Turn<'_, F>, model: &mut BudgetedExpansion<F>) -> Result<Update> {
        each!(self, learner => learner.learn(turn, model))
    }
}

impl AnyLearner {
    /// The most terms, if there is a bound.
    #[must_use]
    pub fn budget(&self) -> Option<usize> {
        match self {
            Self::KernelPerceptron(_) | Self::KernelOgd(_) | Self::FourierOgd(_) => None,
            Self::RandomizedBudgetPerceptron(l) => Some(l.budget),
            Self::Stoptron(l) => Some(l.budget),
            Self::Forgetron(l) => Some(l.budget),
            Self::Projectron(l) => Some(l.budget),
            Self::PassiveAggressive(l) => Some(l.budget),
            Self::BudgetOgd(l) => Some(l.budget),
            Self::SparsePassiveAggressive(l) => Some(l.budget),
            Self::NystroemOgd(l) => Some(l.budget),
        }
    }

    /// The features that the learner works on, drawn anew, if it works on features.
    ///
    /// # Errors
    /// `InvalidParam`, `OutOfMemory`.
    pub fn features<F: Real>(
        &self,
        kernel: AnyKernel,
        n_features: usize,
        seed: u64,
    ) -> Result<Option<FeatureMap<F>>> {
        match self {
            Self::FourierOgd(learner) => learner.draw(kernel, n_features, seed).map(Some),
            _ => Ok(None),
        }
    }

    /// Places of the budget that are set aside for terms that went, when the mean of the iterates
    /// is wanted: one in `aside` for learners that drop terms, none for the others.
    #[must_use]
    pub fn places_aside(&self, aside: usize) -> usize {
        match self {
            Self::RandomizedBudgetPerceptron(_)
            | Self::Forgetron(_)
            | Self::PassiveAggressive(_)
            | Self::BudgetOgd(_) => self.budget().unwrap_or(0) / aside.max(1),
            _ => 0,
        }
    }

    /// Whether the hyperparameters are in range and the kernel is one that the method allows.
    ///
    /// # Errors
    /// `InvalidParam`, `Unsupported`.
    pub fn check(&self, kernel: AnyKernel) -> Result<()> {
        at_least(1, "budget", self.budget().unwrap_or(1))?;
        match self {
            Self::KernelOgd(l) => l.check(),
            Self::Forgetron(l) => l.check(kernel),
            Self::Projectron(l) => l.check(),
            Self::PassiveAggressive(l) => l.check(),
            Self::BudgetOgd(l) => l.check(),
            Self::SparsePassiveAggressive(l) => l.check(),
            Self::FourierOgd(l) => l.check(kernel),
            Self::NystroemOgd(l) => l.check(),
            _ => Ok(()),
        }
    }

    /// Takes over the hyperparameters of `fresh` and keeps what it remembers; `settled`: the model
    /// works on a basis.
    ///
    /// # Errors
    /// `Unsupported` for another learner.
    pub(super) fn adopt(&mut self, fresh: &Self, settled: bool) -> Result<()> {
        match (self, fresh) {
            (Self::Forgetron(old), Self::Forgetron(new)) => old.budget = new.budget,
            (Self::NystroemOgd(old), Self::NystroemOgd(new)) => old.adopt(new, settled),
            (Self::FourierOgd(old), Self::FourierOgd(new)) => {
                if old.n_frequencies != new.n_frequencies {
                    let expected = format!("{} while training goes on", old.n_frequencies);
                    return Err(Error::param("n_frequencies", expected, new.n_frequencies));
                }
                *old = new.clone();
            }
            (old, new) if std::mem::discriminant(old) == std::mem::discriminant(new) => {
                *old = new.clone();
            }
            _ => return Err(Error::Unsupported("the model is of another learner".into())),
        }
        Ok(())
    }
}
