//! Hyperparameters as JSON, and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Error, Result};

/// The key under which a choice has its name.
const NAME: &str = "name";

/// The hyperparameters of a family of machines.
pub trait Config: Clone + Serialize + DeserializeOwned {
    /// Whether every hyperparameter is in its range and they go together.
    ///
    /// # Errors
    /// `InvalidParam` with the parameter's Python name, `Unsupported` for a combination that is
    /// not offered.
    fn check(&self) -> Result<()>;

    /// These hyperparameters with the changes that a JSON object makes, checked.
    ///
    /// # Errors
    /// Those of [`Config::check`]; `Unsupported`, with the parameter's name, for a value of a wrong
    /// type or a name that no choice has; `Format` for a text that is no JSON object.
    fn changed(&self, json: &str) -> Result<Self> {
        let given = serde_json::from_str(json);
        changed(self, &given.map_err(|e| Error::Format(format!("parameters: {e}")))?)
    }

    /// Hyperparameters by name; those that are missing have their defaults.
    ///
    /// # Errors
    /// Those of [`Config::changed`].
    fn from_json(json: &str) -> Result<Self>
    where
        Self: Default,
    {
        Self::default().changed(json)
    }

    /// All hyperparameters by name, as [`Config::from_json`] reads them.
    fn to_json(&self) -> String {
        Value::Object(side_by_side(self)).to_string()
    }
}

/// [`Config::changed`] by JSON that is read already.
pub(crate) fn changed<C: Config>(config: &C, given: &Map<String, Value>) -> Result<C> {
    let old = fields(config);
    let try_to = |given: &Map<String, Value>| read::<C>(&old, given).map(drop);
    let config: C = read(&old, given).map_err(|error| at_fault(&old, given, &error, &try_to))?;
    config.check()?;
    Ok(config)
}

/// These fields with the changes given.
fn read<C: Config>(old: &Map<String, Value>, given: &Map<String, Value>) -> serde_json::Result<C> {
    serde_json::from_value(Value::Object(together(old, given)))
}

fn together(old: &Map<String, Value>, given: &Map<String, Value>) -> Map<String, Value> {
    old.iter().map(|(name, value)| (name.clone(), field(name, value, given))).collect()
}

/// [`Config::to_json`] as JSON.
pub(crate) fn side_by_side<C: Config>(config: &C) -> Map<String, Value> {
    flat(fields(config))
}

fn flat(fields: Map<String, Value>) -> Map<String, Value> {
    let mut flat = Map::new();
    for (name, value) in fields {
        match value {
            Value::Object(mut choice) => {
                flat.insert(name, choice.remove(NAME).unwrap_or(Value::Null));
                flat.extend(choice);
            }
            value => {
                flat.insert(name, value);
            }
        }
    }
    flat
}

/// The fields of a struct, which always becomes JSON: it is of numbers, names and lists.
fn fields<T: Serialize>(config: &T) -> Map<String, Value> {
    match serde_json::to_value(config) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// The value of a field, `old` where nothing else was given; a choice takes what it needs.
fn field(name: &str, old: &Value, given: &Map<String, Value>) -> Value {
    let new = given.get(name);
    let Value::Object(choice) = old else { return new.unwrap_or(old).clone() };
    let chosen = new.or(choice.get(NAME));
    let mut parts = if chosen == choice.get(NAME) { choice.clone() } else { Map::new() };
    parts.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    parts.insert(NAME.to_owned(), chosen.cloned().unwrap_or(Value::Null));
    Value::Object(parts)
}

/// The error with the name of the value at fault: the one without which there is none, or the
/// first that is wrong by itself. Parts are tried before the choices that need them.
fn at_fault(
    old: &Map<String, Value>,
    given: &Map<String, Value>,
    error: &serde_json::Error,
    try_to: &dyn Fn(&Map<String, Value>) -> serde_json::Result<()>,
) -> Error {
    let mut names: Vec<&String> = given.keys().collect();
    names.sort_by_key(|name| old.get(*name).is_some_and(Value::is_object));
    let without = |name: &str| {
        let mut others = given.clone();
        others.remove(name);
        try_to(&others).is_ok()
    };
    let wrong = |name: &str| {
        let alone = given.get(name).map(|value| (name.to_owned(), value.clone()));
        try_to(&alone.into_iter().collect()).is_err()
    };
    let found = names.iter().find(|name| without(name)).or(names.iter().find(|name| wrong(name)));
    match found {
        Some(name) => Error::Unsupported(format!("{name}: {error}")),
        None => Error::Unsupported(error.to_string()),
    }
}

/// What a file holds, with every key that it should have and no other, in choices too.
///
/// # Errors
/// `Format`.
pub(crate) fn exactly<T: Serialize + DeserializeOwned>(what: &str, json: &Value) -> Result<T> {
    let bad = |reason: String| Error::Format(format!("{what}: {reason}"));
    let read = T::deserialize(json).map_err(|e| bad(e.to_string()))?;
    let again = serde_json::to_value(&read).map_err(|e| bad(e.to_string()))?;
    if same_keys(json, &again) { Ok(read) } else { Err(bad("missing or unknown fields".into())) }
}

fn same_keys(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, value)| b.get(name).is_some_and(|b| same_keys(value, b)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_keys(a, b))
        }
        _ => true,
    }
}
