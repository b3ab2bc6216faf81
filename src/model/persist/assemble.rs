//! From tensors to models and back, every size and value checked.

use super::labels::Stored as StoredLabels;
use super::meta::{Machine, Meta};
use super::tensors::{Data, Tensor, Tensors};
use super::{Labels, Parts, Saved};
use crate::error::{Error, Result};
use crate::float::Real;

/// The longest list of names, in bytes of JSON: three of them can become a string of 24.
const MAX_NAMES: usize = 4 << 20;

fn bad<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::Format(reason.into()))
}

fn finite<F: Real>(name: &str, values: &[F]) -> Result<()> {
    match values.iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => bad(format!("{name} contains NaN or infinity")),
    }
}

fn curve_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

impl<F: Real> Saved<F> {
    /// Whether the parts fit together and every number is usable.
    ///
    /// # Errors
    /// `Format`.
    pub fn check(&self) -> Result<()> {
        let k = self.machines.len();
        for machine in &self.machines {
            let (d, outputs) = (machine.origin.len(), machine.intercept.len());
            if d == 0 || d != self.machines[0].origin.len() {
                return bad("origin of another number of features");
            }
            if outputs == 0 || (k > 1 && outputs != 1) {
                return bad("number of outputs");
            }
            let terms = machine.coef.len() / outputs;
            if terms * outputs != machine.coef.len()
                || terms.checked_mul(d) != Some(machine.centers.len())
            {
                return bad("centers and coef of different numbers of terms");
            }
            finite("origin", &machine.origin)?;
            finite("centers", &machine.centers)?;
            finite("coef", &machine.coef)?;
            finite("intercept", &machine.intercept)?;
        }
        let outputs: usize = self.machines.iter().map(|m| m.intercept.len()).sum();
        let fits = match self.labels.len() {
            0 => matches!(self.labels, Labels::None),
            1 => false,
            2 => outputs == 1,
            n => outputs == n,
        };
        if !fits || !self.labels.is_sorted() {
            return bad(format!("{} class labels for {outputs} outputs", self.labels.len()));
        }
        if self.feature_names.as_ref().is_some_and(|n| n.len() != self.machines[0].origin.len()) {
            return bad("number of feature names");
        }
        for (name, curve) in &self.history {
            if !curve_name(name) || curve.len() != self.history[0].1.len() {
                return bad(format!("history curve {name:?}"));
            }
            if curve.iter().any(|v| v.is_infinite()) {
                return bad(format!("history.{name} contains infinity"));
            }
        }
        Ok(())
    }

    pub(super) fn to_tensors(
        &self,
        wrap: fn(Vec<F>) -> Data,
    ) -> Result<(serde_json::Value, Tensors)> {
        self.check()?;
        let mut tensors = Tensors::new();
        let mut put = |name: String, shape: Vec<usize>, data: Data| {
            tensors.insert(name, Tensor { shape, data });
        };
        for (index, machine) in self.machines.iter().enumerate() {
            let suffix = if self.machines.len() == 1 { String::new() } else { format!(".{index}") };
            let (d, outputs) = (machine.origin.len(), machine.intercept.len());
            let terms = machine.coef.len() / outputs;
            put(format!("origin{suffix}"), vec![d], wrap(machine.origin.clone()));
            put(format!("centers{suffix}"), vec![terms, d], wrap(machine.centers.clone()));
            put(format!("coef{suffix}"), vec![terms, outputs], Data::F64(machine.coef.clone()));
            put(format!("intercept{suffix}"), vec![outputs], Data::F64(machine.intercept.clone()));
        }
        let numbers = |data| Tensor { shape: vec![self.labels.len()], data };
        let (stored, classes) = match &self.labels {
            Labels::None => (StoredLabels::None, None),
            Labels::Bool(v) => (StoredLabels::Bool(v.clone()), None),
            Labels::Text(v) => (StoredLabels::Text(v.clone()), None),
            Labels::Int(v) => (StoredLabels::Numbers, Some(numbers(Data::I64(v.clone())))),
            Labels::Uint(v) => (StoredLabels::Numbers, Some(numbers(Data::U64(v.clone())))),
            Labels::Float(v) => (StoredLabels::Numbers, Some(numbers(Data::F64(v.clone())))),
        };
        for (name, curve) in &self.history {
            put(format!("history.{name}"), vec![curve.len()], Data::F64(curve.clone()));
        }
        if let Some(names) = &self.feature_names {
            let text = serde_json::Value::from(names.clone()).to_string().into_bytes();
            if text.len() > MAX_NAMES {
                return Err(Error::Unsupported(format!(
                    "the feature names take {} bytes, a file holds at most {MAX_NAMES}",
                    text.len()
                )));
            }
            put("feature_names".into(), vec![text.len()], Data::U8(text));
        }
        tensors.extend(classes.map(|tensor| ("classes".to_owned(), tensor)));
        let machines =
            self.machines.iter().map(|m| Machine { seen: m.seen, steps: m.steps }).collect();
        let meta = Meta::new(self.kernel, machines, stored, self.estimator.clone());
        let meta = serde_json::to_value(meta).map_err(|e| Error::Format(e.to_string()))?;
        Ok((meta, tensors))
    }

    /// Takes what it knows out of `tensors`; what is left is unknown.
    pub(super) fn from_tensors(
        meta: Meta,
        tensors: &mut Tensors,
        unwrap: fn(Data) -> Option<Vec<F>>,
    ) -> Result<Self> {
        let kernel = meta.kernel()?;
        let mut take = |name: &str| match tensors.remove(name) {
            Some(Tensor { shape, data }) => Ok((shape, data)),
            None => bad(format!("tensor {name:?} is missing")),
        };
        let mut machines = Vec::new();
        for (index, machine) in meta.machines.iter().enumerate() {
            let suffix = if meta.machines.len() == 1 { String::new() } else { format!(".{index}") };
            let mut real = |name: &str, dims: usize| {
                let name = format!("{name}{suffix}");
                let (shape, data) = take(&name)?;
                match unwrap(data) {
                    Some(values) if shape.len() == dims => Ok((shape, values)),
                    _ => bad(format!("type or shape of {name:?}")),
                }
            };
            let (_, origin) = real("origin", 1)?;
            let (center_shape, centers) = real("centers", 2)?;
            let mut double = |name: &str, dims: usize| {
                let name = format!("{name}{suffix}");
                match take(&name)? {
                    (shape, Data::F64(values)) if shape.len() == dims => Ok((shape, values)),
                    _ => bad(format!("type or shape of {name:?}")),
                }
            };
            let (coef_shape, coef) = double("coef", 2)?;
            let (_, intercept) = double("intercept", 1)?;
            if center_shape[0] != coef_shape[0]
                || center_shape[1] != origin.len()
                || coef_shape[1] != intercept.len()
            {
                return bad(format!("centers of shape {center_shape:?}, coef {coef_shape:?}"));
            }
            machines.push(Parts {
                origin,
                centers,
                coef,
                intercept,
                seen: machine.seen,
                steps: machine.steps,
            });
        }
        let labels = match meta.labels {
            StoredLabels::None => Labels::None,
            StoredLabels::Bool(v) => Labels::Bool(v),
            StoredLabels::Text(v) => Labels::Text(v),
            StoredLabels::Numbers => match take("classes")? {
                (_, Data::I64(v)) => Labels::Int(v),
                (_, Data::U64(v)) => Labels::Uint(v),
                (_, Data::F64(v)) => Labels::Float(v),
                _ => return bad("type of \"classes\""),
            },
        };
        let feature_names = match tensors.remove("feature_names") {
            None => None,
            Some(Tensor { data: Data::U8(text), .. }) if text.len() <= MAX_NAMES => {
                let names = serde_json::from_slice(&text);
                Some(names.map_err(|e| Error::Format(format!("feature_names: {e}")))?)
            }
            Some(_) => return bad("type or size of \"feature_names\""),
        };
        let mut history = Vec::new();
        while let Some(name) = tensors.keys().find(|n| n.starts_with("history.")).cloned() {
            match tensors.remove(&name) {
                Some(Tensor { shape, data: Data::F64(curve) }) if shape.len() == 1 => {
                    history.push((name["history.".len()..].to_owned(), curve));
                }
                _ => return bad(format!("type or shape of {name:?}")),
            }
        }
        let saved =
            Self { kernel, machines, labels, estimator: meta.estimator, feature_names, history };
        saved.check()?;
        Ok(saved)
    }
}
