//! Named arrays and one description: the file of every estimator that is not a budgeted machine.
//!
//! The container and its bounds are those of [`super`]; `__metadata__` holds
//! `{"format": "budgetsvm-archive", "format_version": 1, "library_version", "estimator"}`, where
//! `estimator` is the JSON object that the estimator's class writes and checks. What the arrays
//! mean is the class's business; here they are of known types, of shapes that fit the file, and
//! free of infinity (a NaN stands for "not measured" in a curve of `history`, and only there).

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use super::tensors::{self, Data, Tensors};
use super::{atomic, safetensors_path};
use crate::error::{Error, Result};

const FORMAT: &str = "budgetsvm-archive";
const VERSION: u64 = 1;
/// Curves, whose NaN are places where nothing was measured.
const CURVES: &str = "history.";

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// The estimator's class, hyperparameters and plain attributes, a JSON object.
    pub estimator: Value,
    /// Its arrays, by name.
    pub arrays: Tensors,
}

impl Archive {
    /// The bytes of the file: the same archive gives the same bytes.
    ///
    /// # Errors
    /// `Format` when an array is not finite or the description is no object, `Unsupported` when
    /// the description is longer than a reader accepts.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.check()?;
        let metadata = json!({
            "format": FORMAT,
            "format_version": VERSION,
            "library_version": env!("CARGO_PKG_VERSION"),
            "estimator": self.estimator,
        });
        tensors::encode(&metadata, &self.arrays)
    }

    /// The archive in these bytes.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(bytes, bytes.len() as u64)?
            .ok_or_else(|| Error::Format("a file of another kind".into()))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// `InvalidParam` unless `path` ends in `.safetensors`, `Io`, and those of
    /// [`Archive::to_bytes`].
    pub fn save(&self, path: &Path) -> Result<()> {
        safetensors_path(path)?;
        atomic::write(path, &self.to_bytes()?)
    }

    /// Reads a file; `None` when it is another kind of the library's files.
    ///
    /// # Errors
    /// `Io`, `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn load(path: &Path) -> Result<Option<Self>> {
        let (file, len) = atomic::open(path)?;
        Self::read(std::io::BufReader::new(file), len)
    }

    fn read(mut from: impl Read, len: u64) -> Result<Option<Self>> {
        let directory = tensors::Directory::read(&mut from, len)?;
        if directory.metadata.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Ok(None);
        }
        let bad = |reason: &str| Err(Error::Format(reason.to_owned()));
        let Value::Object(mut metadata) = directory.metadata.clone() else {
            return bad("metadata is not an object");
        };
        if metadata.get("format_version").and_then(Value::as_u64) != Some(VERSION) {
            return bad("format version: this library reads version 1");
        }
        if metadata.len() != 4 || !metadata.get("library_version").is_some_and(Value::is_string) {
            return bad("metadata");
        }
        let Some(estimator) = metadata.remove("estimator") else { return bad("no estimator") };
        let archive = Self { estimator, arrays: directory.values(from)? };
        archive.check()?;
        Ok(Some(archive))
    }

    fn check(&self) -> Result<()> {
        if !self.estimator.is_object() {
            return Err(Error::Format("estimator is not an object".into()));
        }
        for (name, tensor) in &self.arrays {
            let curve = name.starts_with(CURVES);
            let usable = |v: f64| v.is_finite() || (curve && v.is_nan());
            let fine = match &tensor.data {
                Data::F32(values) => values.iter().all(|&v| usable(f64::from(v))),
                Data::F64(values) => values.iter().all(|&v| usable(v)),
                Data::I64(_) | Data::U64(_) | Data::U8(_) => true,
            };
            let count = tensor.shape.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            if !fine || count != Some(tensor.data.len()) {
                return Err(Error::Format(format!("{name} contains NaN or infinity, or a gap")));
            }
        }
        Ok(())
    }
}
