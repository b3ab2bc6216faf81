//! Fitted estimators as files, with the description that Python's estimators have.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::config::BudgetConfig;
use crate::config::{changed, side_by_side};
use crate::error::{Error, Result};
use crate::estimator::machine::{AnyMachine, Machine, Precision};
use crate::estimator::report::Report;
use crate::model::persist::{Archive, Labels, Tensor, Tensors};
use crate::watch::StopReason;

/// What a file gives back.
pub(super) struct Loaded<F: Precision> {
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

fn curve(name: &str) -> String {
    format!("history.history_.{name}")
}

pub(super) fn save<F: Precision>(
    kind: &str,
    config: &BudgetConfig,
    (machine, labels, report): (&Machine<F>, Labels, &Report),
    path: &Path,
) -> Result<()> {
    let curves = report.history.iter();
    let arrays: Tensors =
        curves.map(|(name, values)| (curve(name), Tensor::doubles(values.clone()))).collect();
    let mut names: Vec<&String> = report.history.iter().map(|(name, _)| name).collect();
    names.sort();
    let estimator = json!({
        "kind": kind,
        "params": side_by_side(config),
        "fitted": {
            "n_iter_": report.n_iter,
            "stop_reason_": report.stop.name(),
            "objective_": {"smoothed": report.smoothed, "primal": report.primal},
            "history_": names,
        },
        "labels": labels.to_json(),
        "n_features": machine.n_features(),
    });
    Archive { estimator, arrays, machine: Some(machine.to_section()?) }.save(path)
}

pub(super) fn load<F: Precision>(kind: &str, path: &Path) -> Result<Loaded<F>> {
    let bad = |what: &str| Error::Format(format!("{what} of the estimator"));
    let Archive { mut estimator, mut arrays, machine } = Archive::load(path)?;
    let text = estimator["kind"].as_str().ok_or_else(|| bad("kind"))?;
    if text != kind {
        return Err(Error::Format(format!("a {text}, not a {kind}")));
    }
    let any = AnyMachine::from_section(machine.ok_or_else(|| bad("machine"))?)?;
    let machine = F::of_any(&any)
        .ok_or_else(|| Error::Format(format!("the machine is not of type {}", F::NAME)))?;
    let mut params: Map<String, Value> = match estimator["params"].take() {
        Value::Object(params) => params,
        _ => return Err(bad("params")),
    };
    // The kernel's own γ in place of what it was computed from.
    let kernel = machine.kernel().ok_or_else(|| bad("kernel"))?;
    params.insert("gamma".into(), json!(kernel.gamma()));
    let config =
        changed(&BudgetConfig::default(), &params).map_err(|e| Error::Format(e.to_string()))?;
    let fitted = &estimator["fitted"];
    let number = |value: &Value| value.as_f64();
    let stop = STOPS.into_iter().find(|stop| fitted["stop_reason_"] == stop.name());
    let n_iter = fitted["n_iter_"].as_u64().and_then(|n| usize::try_from(n).ok());
    let mut history = Vec::new();
    for name in fitted["history_"].as_array().ok_or_else(|| bad("history_"))? {
        let name = name.as_str().ok_or_else(|| bad("history_"))?;
        history.push((name.to_owned(), Tensor::take_doubles(&mut arrays, &curve(name))?));
    }
    let report = Report {
        n_iter: n_iter.ok_or_else(|| bad("n_iter_"))?,
        stop: stop.ok_or_else(|| bad("stop_reason_"))?,
        history,
        smoothed: number(&fitted["objective_"]["smoothed"]),
        primal: number(&fitted["objective_"]["primal"]),
        advice: None,
    };
    arrays.remove("feature_names");
    if !arrays.is_empty() {
        return Err(bad("arrays"));
    }
    let labels = Labels::from_json(&estimator["labels"])?;
    let expected = match labels.len() {
        0 | 2 => 1,
        n => n,
    };
    if labels.len() == 1 || machine.n_outputs() != expected {
        return Err(bad("class labels"));
    }
    Ok(Loaded { config, machine: machine.clone(), labels, report })
}
