//! Fitted estimators as files, with the description that Python's estimators have.

use std::io::{Read, Write};
use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::machine::Machine;
use super::precision::{AnyMachine, Precision};
use crate::config::{ClassWeight, Config, changed};
use crate::error::{Error, Result};
use crate::model::persist::{Archive, Data, Label, Labels, Tensor, Tensors};
use crate::watch::StopReason;

/// Says that labels do not exclude each other.
pub(super) const SETS: &str = "_multilabel";

/// A fitted estimator that can be written to a file and read from one.
///
/// A file has one precision and one kind of labels: [`inspect`] tells which before a type is
/// named. Labels are integers, `bool` or `String`; threads and weights of classes are not kept.
/// Loading runs no code. Classifiers and regression machines of the budgeted, primal and
/// ASSET families can be read by Python's `budgetsvm.load` too, and its files here.
///
/// ```
/// use budgetsvm::{BudgetSvc, BudgetSvcModel, Saved, data::Rows};
///
/// let rows = ndarray::Array2::from_shape_fn((40, 1), |(i, _)| i as f32);
/// let labels: Vec<bool> = (0..40).map(|i| i < 20).collect();
/// let model = BudgetSvc::builder().gamma(0.1).build()?.fit(&Rows::from(&rows), &labels)?;
/// let bytes = model.to_bytes()?;
/// let again = BudgetSvcModel::<f32, bool>::from_bytes(&bytes)?;
/// assert_eq!(again.predict(&Rows::of_one(&[3.0])?)?, [true]);
/// # Ok::<(), budgetsvm::error::Error>(())
/// ```
pub trait Saved: Sized {
    /// What a file holds of it.
    ///
    /// # Errors
    /// `Unsupported` when its description is longer than a reader accepts, `OutOfMemory`.
    fn to_archive(&self) -> Result<Archive>;

    /// The estimator of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OtherFile` for what is of another type;
    /// `OutOfMemory`.
    fn from_archive(archive: Archive) -> Result<Self>;

    /// Writes a file, whole or not at all.
    ///
    /// # Errors
    /// `InvalidParam` unless `path` ends in `.safetensors`, `Io`, and those of
    /// [`Saved::to_archive`].
    fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        self.to_archive()?.save(path.as_ref(), &mut || Ok(()))
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `Io`, and those of [`Saved::from_archive`].
    fn load(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_archive(Archive::load(path.as_ref())?)
    }

    /// The bytes of the file.
    ///
    /// # Errors
    /// Those of [`Saved::to_archive`].
    fn to_bytes(&self) -> Result<Vec<u8>> {
        self.to_archive()?.into_bytes()
    }

    /// The estimator of these bytes.
    ///
    /// # Errors
    /// Those of [`Saved::from_archive`].
    fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_archive(Archive::from_bytes(bytes)?)
    }

    /// Writes the bytes of the file to a stream.
    ///
    /// # Errors
    /// `Io`, and those of [`Saved::to_archive`].
    fn write(&self, to: impl Write) -> Result<()> {
        self.to_archive()?.write(to)
    }

    /// Reads the bytes of a file from a stream, to its end.
    ///
    /// # Errors
    /// `Io`, and those of [`Saved::from_archive`].
    fn read(from: impl Read) -> Result<Self> {
        Self::from_archive(Archive::read(from)?)
    }
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileInfo {
    /// The estimator's name: Python's, or that of the Rust type where Python has none.
    pub kind: String,
    /// "float32" or "float64"; none for a transformer.
    pub precision: Option<&'static str>,
    /// The class labels.
    pub labels: Labels,
    /// Number of features.
    pub n_features: usize,
    /// Number of outputs.
    pub n_outputs: usize,
    /// Number of terms.
    pub n_terms: usize,
}

/// What is in a file, before the types are known that it is to be loaded as.
///
/// # Errors
/// `Io`, `Format` for anything that is not exactly valid, `OutOfMemory`.
pub fn inspect(path: impl AsRef<Path>) -> Result<FileInfo> {
    let Archive { estimator, machine, .. } = Archive::load(path.as_ref())?;
    let kind = estimator["kind"].as_str().ok_or_else(|| bad("kind"))?.to_owned();
    let labels = Labels::from_json(&estimator["labels"])?;
    let mut info =
        FileInfo { kind, precision: None, labels, n_features: 0, n_outputs: 0, n_terms: 0 };
    fn sizes<F: Precision>(machine: &Machine<F>, info: &mut FileInfo) {
        (info.n_features, info.n_outputs) = (machine.n_features(), machine.n_outputs());
        (info.precision, info.n_terms) = (Some(F::NAME), machine.n_terms());
    }
    match machine.map(AnyMachine::from_section).transpose()? {
        Some(AnyMachine::F32(machine)) => sizes(&machine, &mut info),
        Some(AnyMachine::F64(machine)) => sizes(&machine, &mut info),
        None => {}
    }
    Ok(info)
}

fn bad(what: &str) -> Error {
    Error::Format(format!("{what} of the estimator"))
}

fn other(found: &str, asked: &str) -> Error {
    Error::OtherFile { found: found.to_owned(), asked: asked.to_owned() }
}

/// What a fit tells, as attributes of Python's estimators.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    fields: Map<String, Value>,
    arrays: Tensors,
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

impl Attributes {
    pub(super) fn put(mut self, name: &str, value: Value) -> Self {
        self.fields.insert(name.to_owned(), value);
        self
    }

    pub(super) fn put_counts(mut self, name: &str, values: &[usize]) -> Self {
        let data = Data::I64(values.iter().map(|&v| v as i64).collect());
        self.arrays.insert(name.to_owned(), Tensor { shape: vec![values.len()], data });
        self.put(name, json!({"array": "int64"}))
    }

    pub(super) fn put_doubles(mut self, name: &str, values: Vec<f64>) -> Self {
        self.arrays.insert(name.to_owned(), Tensor::doubles(values));
        self.put(name, json!({"array": "float64"}))
    }

    /// What every fit tells.
    pub(super) fn of_fit(
        (n_iter, stop): (usize, StopReason),
        history: &[(String, Vec<f64>)],
        objective: Value,
    ) -> Self {
        Self::default()
            .put("n_iter_", json!(n_iter))
            .put("stop_reason_", json!(stop.name()))
            .put("objective_", objective)
            .put_history(history)
    }

    /// The curves of a fit.
    pub(super) fn put_history(mut self, history: &[(String, Vec<f64>)]) -> Self {
        let mut names: Vec<&String> = history.iter().map(|(name, _)| name).collect();
        names.sort();
        for (name, values) in history {
            self.arrays.insert(curve(name), Tensor::doubles(values.clone()));
        }
        self.put("history_", json!(names))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name)
    }

    pub(super) fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let value = self.fields.remove(name).ok_or_else(|| bad(name))?;
        serde_json::from_value(value).map_err(|_| bad(name))
    }

    pub(super) fn take_counts(&mut self, name: &str) -> Result<Vec<usize>> {
        self.fields.remove(name);
        match self.arrays.remove(name).map(|tensor| tensor.data) {
            Some(Data::I64(values)) => {
                let sizes: Option<_> =
                    values.into_iter().map(|v| usize::try_from(v).ok()).collect();
                sizes.ok_or_else(|| bad(name))
            }
            _ => Err(bad(name)),
        }
    }

    pub(super) fn take_doubles(&mut self, name: &str) -> Result<Vec<f64>> {
        self.fields.remove(name);
        Tensor::take_doubles(&mut self.arrays, name)
    }

    pub(super) fn take_stop(&mut self) -> Result<StopReason> {
        let name: String = self.take("stop_reason_")?;
        STOPS.into_iter().find(|stop| name == stop.name()).ok_or_else(|| bad("stop_reason_"))
    }

    pub(super) fn take_history(&mut self) -> Result<Vec<(String, Vec<f64>)>> {
        let names: Vec<String> = self.take("history_")?;
        let take = |name: String| {
            let values = Tensor::take_doubles(&mut self.arrays, &curve(&name))?;
            Ok((name, values))
        };
        names.into_iter().map(take).collect()
    }
}

/// Class weights as Python's estimators have them; nothing where there are none.
fn weights_to_json(weights: &ClassWeight, labels: &Labels) -> Option<Value> {
    match weights {
        ClassWeight::One => None,
        ClassWeight::Balanced => Some(json!("balanced")),
        ClassWeight::Each(factors) => {
            let labels = labels.to_json();
            let pairs = labels[1].as_array()?.iter().zip(factors);
            Some(
                json!({"pairs": pairs.map(|(label, factor)| json!([label, factor])).collect::<Vec<_>>()}),
            )
        }
    }
}

/// A class that Python's estimator names no factor of has 1.
fn weights_from_json(stored: &Value, labels: &Labels) -> Result<ClassWeight> {
    match (stored, &stored["pairs"]) {
        (Value::Null, _) => Ok(ClassWeight::One),
        (Value::String(text), _) if text == "balanced" => Ok(ClassWeight::Balanced),
        (_, Value::Array(pairs)) => {
            let same = |a: &Value, b: &Value| a == b || (a.is_number() && a.as_f64() == b.as_f64());
            let mut factors = vec![1.0; labels.len()];
            let known = labels.to_json();
            for (label, factor) in known[1].as_array().into_iter().flatten().zip(&mut factors) {
                if let Some(pair) = pairs.iter().find(|pair| same(&pair[0], label)) {
                    *factor = pair[1].as_f64().ok_or_else(|| bad("class_weight"))?;
                }
            }
            Ok(ClassWeight::Each(factors))
        }
        _ => Err(bad("class_weight")),
    }
}

/// Factors of the features among the hyperparameters of Python's estimators.
const SCALES: &str = "feature_scales";

/// The archive of an estimator.
pub(super) fn pack<F: Precision>(
    kind: &str,
    (mut params, weights): (Map<String, Value>, &ClassWeight),
    machine: &Machine<F>,
    labels: &Labels,
    told: Attributes,
) -> Result<Archive> {
    if let Some(weights) = weights_to_json(weights, labels).filter(|_| !labels.is_empty()) {
        params.insert("class_weight".into(), weights);
    }
    if labels.is_empty() {
        // Machines of classes alone have a choice there.
        params.remove("shared");
    }
    if params.get("tune_size").is_some_and(Value::is_null) {
        // Python says with `tune` that nothing is tuned.
        params.remove("tune_size");
    }
    let mut arrays = told.arrays;
    if let Some(scales) = machine.scaling().and_then(|scaling| scaling.scales().of_columns()) {
        let scales = Tensor::doubles(scales.to_vec());
        arrays.insert(format!("param.{SCALES}"), scales);
        params.insert(SCALES.into(), json!({"array": "float64"}));
    }
    let estimator = json!({
        "kind": kind,
        "params": params,
        "fitted": told.fields,
        "labels": labels.to_json(),
        "n_features": machine.n_features(),
    });
    Ok(Archive { estimator, arrays, machine: Some(machine.to_section(&mut || Ok(()))?) })
}

/// What an archive gives back.
pub(super) struct Unpacked<F: Precision, C> {
    pub(super) config: C,
    pub(super) machine: Machine<F>,
    pub(super) class_weight: ClassWeight,
    labels: Labels,
    pub(super) told: Attributes,
}

/// An estimator of this kind out of its archive.
pub(super) fn unpack<F: Precision, C: Config>(
    kind: &str,
    defaults: &C,
    archive: Archive,
) -> Result<Unpacked<F, C>> {
    let Archive { mut estimator, mut arrays, machine } = archive;
    let text = estimator["kind"].as_str().ok_or_else(|| bad("kind"))?;
    if text != kind {
        return Err(other(text, kind));
    }
    let any = AnyMachine::from_section(machine.ok_or_else(|| bad("machine"))?)?;
    let machine = F::of_any(&any).cloned().ok_or_else(|| other(any.precision(), F::NAME))?;
    let object = |value: Value, what: &str| match value {
        Value::Object(fields) => Ok(fields),
        _ => Err(bad(what)),
    };
    let mut params = object(estimator["params"].take(), "params")?;
    let labels = Labels::from_json(&estimator["labels"])?;
    let class_weight = params.remove("class_weight").unwrap_or_default();
    let class_weight = weights_from_json(&class_weight, &labels)?;
    // What Python settles from these is in the machine, or of no consequence for it.
    params.retain(|name, value| {
        !(value.is_object() || value == "auto" || (name == "random_state" && value.is_null()))
    });
    super::budget::apart(&mut params);
    if params.remove("tune") == Some(Value::Bool(false)) {
        params.remove("tune_size");
    }
    // What was tuned stands among what the fit tells.
    if params.get("C").is_some_and(Value::is_string) {
        params.insert("C".into(), estimator["fitted"]["C_"].clone());
    }
    if let Some(kernel) = machine.kernel() {
        params.insert("gamma".into(), json!(kernel.gamma()));
    }
    let config = changed(defaults, &params).map_err(|e| Error::Format(e.to_string()))?;
    let fields = object(estimator["fitted"].take(), "fitted")?;
    arrays.remove("feature_names");
    // The machine has them.
    arrays.remove(&format!("param.{SCALES}"));
    Ok(Unpacked { config, machine, class_weight, labels, told: Attributes { fields, arrays } })
}

impl<F: Precision, C> Unpacked<F, C> {
    /// The labels of a classifier with so many outputs for k > 2 classes; everything must have been
    /// taken by now.
    pub(super) fn classes<L: Label>(&self, outputs: impl Fn(usize) -> usize) -> Result<Vec<L>> {
        if self.told.fields.contains_key(SETS) {
            return Err(Error::Unsupported(
                "the file's labels do not exclude each other: load it as a LabelSetsModel".into(),
            ));
        }
        self.sets(|k| if k == 2 { 1 } else { outputs(k) })
    }

    /// The labels of a machine with so many outputs for k labels.
    pub(super) fn sets<L: Label>(&self, outputs: impl Fn(usize) -> usize) -> Result<Vec<L>> {
        let k = self.labels.len();
        if k < 2 || self.machine.n_outputs() != outputs(k) {
            return Err(bad("class labels"));
        }
        let wrong = || {
            let found = format!("class labels of type {}", self.labels.to_json()[0]);
            other(&found, std::any::type_name::<L>())
        };
        let classes = L::from_labels(&self.labels).ok_or_else(wrong)?;
        self.end()?;
        Ok(classes)
    }

    /// Whether it is a machine without classes, of one output unless it may have several, and
    /// everything was taken.
    pub(super) fn without_classes(&self, several: bool) -> Result<()> {
        if !self.labels.is_empty() || (!several && self.machine.n_outputs() != 1) {
            return Err(bad("class labels"));
        }
        self.end()
    }

    fn end(&self) -> Result<()> {
        let known = ["loo_decision_", "loo_score_", "support_"];
        let left = self.told.arrays.keys().find(|name| !known.contains(&name.as_str()));
        left.map_or(Ok(()), |name| Err(bad(name)))
    }
}
