//! What families of machines differ in.

use serde_json::{Map, Value};

use crate::config::{Config, side_by_side};
use crate::data::Problem;
use crate::error::Result;
use crate::estimator::machine::Machine;
use crate::estimator::saved::Attributes;
use crate::estimator::score::class;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::Watch;

/// A family of fitted machines, known by its hyperparameters.
pub trait Family: Config + Default + Send + Sync {
    /// What a fit tells.
    type Report: Told;

    /// The name of its classifiers in files.
    const CLASSIFIER: &'static str;

    /// The cost of a violation by a sample of weight 1.
    fn c(&self) -> f64;

    /// The half-width of the tube of values in which errors cost nothing.
    fn tube(&self) -> Option<f64> {
        None
    }

    /// Whether the values of a row are predicted in rising order.
    fn rises(&self) -> bool {
        false
    }

    /// Whether decision values are log odds, those of the logistic loss.
    fn is_logistic(&self) -> bool {
        false
    }

    /// Number of outputs for k > 2 classes.
    #[must_use]
    fn n_outputs(k: usize) -> usize {
        k
    }

    /// The class, of k, that the decision values of a row speak for.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn class(values: &[f64], _k: usize) -> Result<usize> {
        Ok(class(values))
    }

    /// The hyperparameters that a file holds.
    #[doc(hidden)]
    fn kept(&self) -> Map<String, Value> {
        side_by_side(self)
    }
}

/// A family with regression machines.
pub trait OfValues: Family {
    /// Their name in files.
    const REGRESSOR: &'static str;

    /// Whether they learn several values a row.
    const COLUMNS: bool = false;

    /// Their hyperparameters, unless set.
    #[must_use]
    fn of_values() -> Self;
}

/// A family whose hyperparameters are all that a fit needs beside the problem.
pub trait Trains: Family {
    /// The kernel, of a family that does not find its own.
    fn own_kernel(&mut self) -> Option<&mut AnyKernel>;

    /// Whether the loss is one for classes, or one for values.
    ///
    /// # Errors
    /// `InvalidParam`.
    fn check_loss(&self, _classes: bool) -> Result<()> {
        Ok(())
    }

    /// What would be decided about each sample without its fold, row by row, by the machine of
    /// these samples on the terms that it has; none where the family knows no way that is cheaper
    /// than training. `folds` names one of so many for every sample.
    ///
    /// # Errors
    /// Those of polishing, `FeatureMismatch`, `BadLabels`.
    fn left_out<F: Real>(
        &self,
        _problem: &Problem<'_, F>,
        _machine: &Machine<F>,
        _folds: (&[u32], usize),
        _watch: &mut Watch<'_>,
    ) -> Result<Option<Vec<f64>>> {
        Ok(None)
    }

    /// Whether what it makes of rows follows from their products and distances, so that of very wide
    /// sparse rows the columns that occur are enough.
    fn selects_columns(&self) -> bool {
        true
    }

    /// Trains from the start.
    ///
    /// # Errors
    /// Those of the family's `fit`.
    fn train<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Self::Report)>;
}

/// A family whose samples may weigh differently.
pub trait Weighted: Trains {}

/// A family that learns from rows as they come.
pub trait Streams: Trains {
    /// Goes on with these rows, or begins with them.
    ///
    /// # Errors
    /// Those of the family's `partial_fit`.
    fn pass<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Self::Report)>;

    /// Goes on with these rows, in place where the family can.
    ///
    /// # Errors
    /// As [`Streams::pass`].
    fn go_on<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &mut Machine<F>,
        watch: &mut Watch<'_>,
    ) -> Result<Self::Report> {
        let report;
        (*machine, report) = self.pass(problem, Some(machine), watch)?;
        Ok(report)
    }

    /// Whether learning from so many rows may share work among threads.
    #[must_use]
    fn shares_work<F: Real>(_machine: &Machine<F>, _n_rows: usize) -> bool {
        true
    }
}

/// What a fit tells, in files the attributes of Python's estimators.
#[doc(hidden)]
pub trait Told: Clone + std::fmt::Debug + Send + Sync {
    /// What a file holds beside the machine; `c` is the cost that the user set.
    fn attributes<F: Real>(&self, c: f64, machine: &Machine<F>) -> Attributes;

    /// The class that the decision values of a row speak for, where it is not the family that
    /// knows.
    fn class(&self, _values: &[f64]) -> Option<usize> {
        None
    }

    /// What a file holds, taken out.
    fn of<F: Real>(told: &mut Attributes, machine: &Machine<F>) -> Result<Self>;
}
