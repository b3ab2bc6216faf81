//! The file of every estimator: a machine, a description and named arrays.
//!
//! The container and its bounds are those of [`super`]; `__metadata__` holds
//! `{"format": "budgetsvm", "format_version": 2, "library_version", "estimator", "machine"}`, where
//! `estimator` is the JSON object that the estimator's class writes and checks, and `machine` (null
//! for a transformer) the [`Section`] of its machine, whose arrays have names that begin with
//! `machine.`. Version 2 has a checksum over all of the file; version 1, which has none, is read too.
//! What the other arrays mean is the class's business; here they are of known types, of
//! shapes that fit the file, and free of infinity (a NaN stands for "not measured" in a curve of
//! `history`, and only there).

use std::io::{Read, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::section::Section;
use super::tensors::{self, Data, Tensor, Tensors};
use super::{atomic, safetensors_path, texts};
use crate::error::{Error, Result};
use crate::watch::Look;

const FORMAT: &str = "budgetsvm";
/// The version that is written, with a checksum.
const VERSION: u64 = 2;
/// The version before it, without one.
const UNSUMMED: u64 = 1;
/// Curves, whose NaN are places where nothing was measured.
const CURVES: &str = "history.";
/// Names of features: the bytes of a JSON list.
const NAMES: &str = "feature_names";
/// The key of the machine, and what the names of its arrays begin with.
const MACHINE: &str = "machine";

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// The estimator's class, hyperparameters and plain attributes, a JSON object.
    pub estimator: Value,
    /// Its arrays, by name.
    pub arrays: Tensors,
    /// Its machine, if it has one.
    pub machine: Option<Section>,
}

impl Archive {
    /// The bytes of the file: the same archive gives the same bytes.
    ///
    /// # Errors
    /// `Format` when an array is not finite or the description is no object, `Unsupported` when
    /// the description is longer than a reader accepts.
    pub fn into_bytes(self) -> Result<Vec<u8>> {
        self.into_bytes_watched(&mut || Ok(()))
    }

    /// [`Archive::into_bytes`]; `look` is asked now and then.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn into_bytes_watched(self, look: Look<'_>) -> Result<Vec<u8>> {
        let mut root = Section { arrays: self.arrays, ..Section::default() };
        match self.machine {
            Some(machine) => root.put_section(MACHINE, machine),
            None => root.put(MACHINE, Value::Null),
        }
        check(&self.estimator, &root.arrays, look)?;
        let metadata = json!({
            "format": FORMAT,
            "format_version": VERSION,
            "library_version": env!("CARGO_PKG_VERSION"),
            "estimator": self.estimator,
            "machine": root.fields.remove(MACHINE),
        });
        tensors::encode(&metadata, root.arrays, look)
    }

    /// The archive in these bytes.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_bytes_watched(bytes, &mut || Ok(()))
    }

    /// [`Archive::from_bytes`]; `look` is asked now and then.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn from_bytes_watched(bytes: &[u8], look: Look<'_>) -> Result<Self> {
        Self::read_exact(bytes, bytes.len() as u64, look)
    }

    /// Writes the file, whole or not at all; `look` is asked now and then.
    ///
    /// # Errors
    /// `InvalidParam` unless `path` ends in `.safetensors`, `Io`, those of `look` and of
    /// [`Archive::into_bytes`].
    #[cfg(feature = "train")]
    pub fn save(self, path: &Path, look: Look<'_>) -> Result<()> {
        safetensors_path(path)?;
        let bytes = self.into_bytes_watched(look)?;
        atomic::write(path, &bytes, look)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `Io`, `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn load(path: &Path) -> Result<Self> {
        Self::load_watched(path, &mut || Ok(()))
    }

    /// [`Archive::load`]; `look` is asked now and then.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn load_watched(path: &Path, look: Look<'_>) -> Result<Self> {
        let (file, len) = atomic::open(path)?;
        Self::read_exact(std::io::BufReader::new(file), len, look)
    }

    /// Writes the bytes of the file.
    ///
    /// # Errors
    /// `Io`, and those of [`Archive::into_bytes`].
    pub fn write(self, mut to: impl Write) -> Result<()> {
        to.write_all(&self.into_bytes()?).map_err(stream_error)
    }

    /// Reads the bytes of a file, to their end.
    ///
    /// # Errors
    /// As [`Archive::load`].
    pub fn read(mut from: impl Read) -> Result<Self> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes).map_err(stream_error)?;
        Self::from_bytes(&bytes)
    }

    fn read_exact(from: impl Read, len: u64, look: Look<'_>) -> Result<Self> {
        let mut from = Watched { from, look, left: BYTES_BETWEEN_LOOKS, said: Ok(()) };
        let decoded = tensors::decode(&mut from, len);
        let Watched { look, said, .. } = from;
        // Why reading ended is what the look has said, if it has.
        said?;
        let (metadata, arrays, summed) = decoded?;
        let bad = |reason: String| Err(Error::Format(reason));
        let Value::Object(mut fields) = metadata else {
            return bad("metadata is not an object".into());
        };
        if fields.remove("format").is_none_or(|format| format != FORMAT) {
            return bad("no format name or version".into());
        }
        match fields.remove("format_version") {
            Some(version) if version == if summed { VERSION } else { UNSUMMED } => {}
            Some(version) if version == VERSION || version == UNSUMMED => {
                return bad(format!("a checksum is what version {VERSION} has, and it alone"));
            }
            version => {
                let version = version.unwrap_or(Value::Null);
                let known = format!("{UNSUMMED} and {VERSION}");
                return bad(format!("format version {version}; this library reads {known}"));
            }
        }
        let library = fields.remove("library_version");
        let (Some(estimator), Some(machine)) = (fields.remove("estimator"), fields.remove(MACHINE))
        else {
            return bad("no estimator or machine".into());
        };
        if !fields.is_empty() || !library.is_some_and(|version| version.is_string()) {
            return bad("metadata".into());
        }
        check(&estimator, &arrays, look)?;
        check_names(&estimator, &arrays)?;
        let mut root = Section { arrays, ..Section::default() };
        let machine = match machine {
            Value::Null => None,
            machine => {
                root.put(MACHINE, machine);
                Some(root.take_section(MACHINE)?)
            }
        };
        Ok(Self { estimator, arrays: root.arrays, machine })
    }
}

/// Bytes that are read between two looks.
const BYTES_BETWEEN_LOOKS: usize = 1 << 23;

/// What asks a look while it is read.
struct Watched<'l, R> {
    from: R,
    look: Look<'l>,
    /// Bytes until it is asked again.
    left: usize,
    said: Result<()>,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            self.said = (self.look)();
            self.left = BYTES_BETWEEN_LOOKS;
        }
        if self.said.is_err() {
            return Err(std::io::Error::other("stopped"));
        }
        let most = to.len().min(self.left);
        let read = self.from.read(&mut to[..most])?;
        self.left -= read;
        Ok(read)
    }
}

fn stream_error(source: std::io::Error) -> Error {
    Error::Io { path: "(stream)".into(), source }
}

/// Names of features are a list of so many texts: looked at where they stand, for lists of
/// anything else take many times their bytes.
fn check_names(estimator: &Value, arrays: &Tensors) -> Result<()> {
    let Some(Tensor { data, .. }) = arrays.get(NAMES) else { return Ok(()) };
    let Data::U8(text) = data else { return Err(Error::Format(format!("type of {NAMES}"))) };
    let count = texts::count(text).map_err(|e| Error::Format(format!("{NAMES}: {e}")))?;
    if estimator["n_features"].as_u64() == Some(count) {
        return Ok(());
    }
    Err(Error::Format(format!("{count} {NAMES} for {} features", estimator["n_features"])))
}

fn check(estimator: &Value, arrays: &Tensors, look: Look<'_>) -> Result<()> {
    if !estimator.is_object() {
        return Err(Error::Format("estimator is not an object".into()));
    }
    for (name, tensor) in arrays {
        look()?;
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
