//! Fitted estimators as files, with the description that Python's estimators have.

use std::path::Path;

use serde_json::{Value, json};

use super::config::BudgetConfig;
use super::machine::Machine;
use crate::config::{changed, side_by_side};
use crate::error::{Error, Result};
use crate::estimator::report::Report;
use crate::model::persist::{AnySaved, Labels, Stored};
use crate::watch::StopReason;

/// What a file gives back.
pub(super) struct Loaded<F: Stored> {
    pub(super) config: BudgetConfig,
    pub(super) machine: Machine<F>,
    pub(super) labels: Labels,
    pub(super) report: Report,
}

const STOPS: [StopReason; 5] = [
    StopReason::Converged,
    StopReason::MaxIter,
    StopReason::MaxTime,
    StopReason::EarlyStopping,
    StopReason::Callback,
];

pub(super) fn save<F: Stored>(
    kind: &str,
    config: &BudgetConfig,
    (machine, labels, report): (&Machine<F>, Labels, &Report),
    path: &Path,
) -> Result<()> {
    let label_type = match &labels {
        Labels::None => None,
        Labels::Int(_) => Some("int64"),
        Labels::Uint(_) => Some("uint64"),
        Labels::Float(_) => Some("float64"),
        Labels::Bool(_) => Some("bool"),
        Labels::Text(_) => Some("str"),
    };
    let mut saved = machine.to_saved();
    saved.labels = labels;
    saved.history.clone_from(&report.history);
    saved.estimator = json!({
        "kind": kind,
        "params": side_by_side(config),
        "fitted": {
            "label_type": label_type,
            "n_iter": report.n_iter,
            "stop_reason": report.stop.name(),
            "objective": {"smoothed": report.smoothed, "primal": report.primal},
        },
    });
    F::wrap(saved).save(path)
}

pub(super) fn load<F: Stored>(kind: &str, path: &Path) -> Result<Loaded<F>> {
    let bad = |what: &str| Error::Format(format!("{what} of the estimator"));
    let mut saved = F::unwrap(AnySaved::load(path)?)
        .ok_or_else(|| Error::Format(format!("the machine is not of type {}", F::NAME)))?;
    let text = saved.estimator["kind"].as_str().ok_or_else(|| bad("kind"))?;
    if text != kind {
        return Err(Error::Format(format!("a {text}, not a {kind}")));
    }
    let mut params = saved.estimator["params"].as_object().cloned().ok_or_else(|| bad("params"))?;
    // The kernel's own γ in place of what it was computed from.
    params.insert("gamma".into(), json!(saved.kernel.gamma()));
    let config =
        changed(&BudgetConfig::default(), &params).map_err(|e| Error::Format(e.to_string()))?;
    let fitted = &saved.estimator["fitted"];
    let number = |value: &Value| value.as_f64();
    let stop = STOPS.into_iter().find(|stop| fitted["stop_reason"] == stop.name());
    let n_iter = fitted["n_iter"].as_u64().and_then(|n| usize::try_from(n).ok());
    let report = Report {
        n_iter: n_iter.ok_or_else(|| bad("n_iter"))?,
        stop: stop.ok_or_else(|| bad("stop_reason"))?,
        history: saved.history.clone(),
        smoothed: number(&fitted["objective"]["smoothed"]),
        primal: number(&fitted["objective"]["primal"]),
        advice: None,
    };
    Ok(Loaded { config, machine: Machine::from_saved(&mut saved)?, labels: saved.labels, report })
}
