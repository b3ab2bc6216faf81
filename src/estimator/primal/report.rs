//! What a fit of a primal machine tells.

use serde_json::{Value, json};

use crate::error::Result;
use crate::estimator::labelled::Told;
use crate::estimator::machine::Machine;
use crate::estimator::saved::Attributes;
use crate::float::Real;
use crate::watch::StopReason;

/// How a fit went.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimalReport {
    /// Objective with the loss smoothed: what was minimised.
    pub smoothed: f64,
    /// The same with the loss itself.
    pub primal: f64,
    /// Steps of the output that took most.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// What C and γ were multiplied by, when they were tuned.
    pub tuned: Option<Tuned>,
    /// The samples, or points of the basis given, that the terms are; none for a linear machine
    /// and for points that were moved.
    pub support: Option<Vec<usize>>,
    /// Leave-one-out decision values, samples x outputs, where asked for; NaN for samples that
    /// cost nothing.
    pub left_out: Option<Vec<f64>>,
    /// Seconds and objective at each step.
    pub history: Vec<[f64; 2]>,
}

/// Factors of every C_i and of γ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuned {
    /// Factor of C.
    pub c: f64,
    /// Factor of γ.
    pub gamma: f64,
    /// Evaluations made.
    pub evaluations: usize,
    /// Why tuning ended before it was done, if it did.
    pub stopped: Option<StopReason>,
}

impl Told for PrimalReport {
    fn attributes<F: Real>(&self, c: f64, machine: &Machine<F>) -> Attributes {
        let curve = |at: usize| self.history.iter().map(|entry| entry[at]).collect();
        let history = [("time".to_owned(), curve(0)), ("objective".to_owned(), curve(1))];
        let objective = json!({"smoothed": self.smoothed, "primal": self.primal});
        let told = Attributes::of_fit((self.n_iter, self.stop), &history, objective)
            .put("C_", json!(c * self.tuned.map_or(1.0, |tuned| tuned.c)))
            .put("gamma_", json!(machine.kernel().map_or(1.0, |kernel| kernel.gamma())));
        match &self.support {
            Some(support) => told.put_counts("support_", support),
            None => told,
        }
    }

    /// What a file holds, beside what a tuned C was multiplied by and leave-one-out values.
    fn of<F: Real>(told: &mut Attributes, _machine: &Machine<F>) -> Result<Self> {
        let objective: Value = told.take("objective_")?;
        let number = |name: &str| objective[name].as_f64().unwrap_or(f64::NAN);
        let history = told.take_history()?;
        let curve = |name: &str| {
            let found = history.iter().find(|(found, _)| found == name);
            found.map(|(_, values)| values.clone()).unwrap_or_default()
        };
        let entries = curve("time").into_iter().zip(curve("objective"));
        Ok(Self {
            smoothed: number("smoothed"),
            primal: number("primal"),
            n_iter: told.take("n_iter_")?,
            stop: told.take_stop()?,
            tuned: None,
            support: told.has("support_").then(|| told.take_counts("support_")).transpose()?,
            left_out: None,
            history: entries.map(|(time, objective)| [time, objective]).collect(),
        })
    }
}
