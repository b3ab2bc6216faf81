//! What a training call tells.

use std::time::Duration;

use serde_json::{Value, json};

use super::labelled::Told;
use super::machine::Machine;
use super::saved::Attributes;
use crate::error::Result;
use crate::float::Real;
use crate::watch::StopReason;

/// The outcome beside the machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Passes made.
    pub n_iter: usize,
    /// Why it ended.
    pub stop: StopReason,
    /// Curves with an entry a pass and a polishing step, by name; NaN where not measured.
    pub history: Vec<(String, Vec<f64>)>,
    /// The smoothed objective that polishing minimised.
    pub smoothed: Option<f64>,
    /// The objective with the loss itself, where known.
    pub primal: Option<f64>,
    /// What the user can do about a result that may disappoint.
    pub advice: Option<String>,
}

/// What an entry of the history is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Pass = 0,
    Polish = 1,
    Refine = 2,
}

/// One entry of the history; NaN is not measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    pub(super) time: f64,
    pub(super) n_terms: usize,
    pub(super) moved: f64,
    pub(super) maintained: f64,
    pub(super) degradation: f64,
    pub(super) primal: f64,
    pub(super) dual: f64,
    pub(super) score: f64,
}

impl Entry {
    /// Of which no more is known.
    pub(super) fn new(kind: Kind, time: Duration, n_terms: usize) -> Self {
        let [moved, maintained, degradation, primal, dual, score] = [f64::NAN; 6];
        let time = time.as_secs_f64();
        Self { kind, time, n_terms, moved, maintained, degradation, primal, dual, score }
    }
}

/// The columns that Python shows as `history_`.
pub(super) fn curves(entries: &[Entry]) -> Vec<(String, Vec<f64>)> {
    let column = |name: &str, value: fn(&Entry) -> f64| {
        (name.to_owned(), entries.iter().map(value).collect())
    };
    vec![
        column("time", |e| e.time),
        column("n_sv", |e| e.n_terms as f64),
        column("moved", |e| e.moved),
        column("maintained", |e| e.maintained),
        column("degradation", |e| e.degradation),
        column("primal", |e| e.primal),
        column("dual", |e| e.dual),
        column("validation_score", |e| e.score),
        column("phase", |e| f64::from(e.kind as u8)),
    ]
}

impl Told for Report {
    fn attributes<F: Real>(&self, _c: f64, _machine: &Machine<F>) -> Attributes {
        let objective = json!({"smoothed": self.smoothed, "primal": self.primal});
        Attributes::of_fit((self.n_iter, self.stop), &self.history, objective)
    }

    fn of<F: Real>(told: &mut Attributes, _machine: &Machine<F>) -> Result<Self> {
        let objective: Value = told.take("objective_").unwrap_or(Value::Null);
        Ok(Self {
            n_iter: told.take("n_iter_")?,
            stop: told.take_stop()?,
            history: told.take_history()?,
            smoothed: objective["smoothed"].as_f64(),
            primal: objective["primal"].as_f64(),
            advice: None,
        })
    }
}
