//! Models as safetensors files: everything in a file is checked before any of it is used.
//!
//! A file is a [safetensors](https://huggingface.co/docs/safetensors) container, little-endian by
//! definition, with these tensors (F is F32 or F64, the precision of the machine):
//!
//! ```text
//! origin           F      d             what was taken off every row
//! centers          F      B x d         the terms' points, less the origin
//! coef             F64    B x outputs   their coefficients
//! intercept        F64    outputs
//! classes          I64, U64 or F64, k   numeric labels; others are in the metadata
//! feature_names    U8                   a JSON list, when the columns had names
//! history.<name>   F64    passes        curves of the fit; NaN where nothing was measured
//! ```
//!
//! With k independent machines (`shared=False`) the first four are there k times, as `centers.0`
//! and so on. `__metadata__` has the one key `budgetsvm`: JSON with the format's name and version,
//! the library's version, the kernel, the samples seen and the steps made by each
//! machine, and the
//! estimator with its hyperparameters.
//!
//! *Bounds.* Nothing in a file is run, no other path is opened, the header is at most 1 MB, sizes
//! are multiplied with overflow checks and compared with the file's length before anything is
//! allocated, so memory stays within the file's size and a constant.

mod archive;
mod atomic;
mod labels;
mod meta;
mod strict;
mod tensors;

use std::path::Path;

pub use archive::Archive;
pub use labels::{Label, Labels};
pub use meta::{kernel_from_json, kernel_to_json};
pub use tensors::{Data, Tensor, Tensors};

use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;
use meta::Meta;

/// One machine: `f(x) = Σ_j coef_j k(origin + centers_j, x) + intercept`.
#[derive(Clone, Debug, PartialEq)]
pub struct Parts<F> {
    /// What was taken off every row (d).
    pub origin: Vec<F>,
    /// Centres less the origin, B x d row by row.
    pub centers: Vec<F>,
    /// Coefficients, B x outputs term by term.
    pub coef: Vec<f64>,
    /// Offsets (outputs).
    pub intercept: Vec<f64>,
    /// Samples seen while training.
    pub seen: u64,
    /// Steps made: the counter of BSGD.
    pub steps: u64,
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Saved<F> {
    /// The kernel.
    pub kernel: AnyKernel,
    /// One machine for all outputs, or one machine (of one output) a class.
    pub machines: Vec<Parts<F>>,
    /// Class labels.
    pub labels: Labels,
    /// The estimator's class and hyperparameters, a JSON object.
    pub estimator: serde_json::Value,
    /// Names of the columns.
    pub feature_names: Option<Vec<String>>,
    /// Curves of the fit, by name (letters, digits, `_`).
    pub history: Vec<(String, Vec<f64>)>,
}

/// [`Saved`] in the precision the file has.
#[derive(Clone, Debug, PartialEq)]
pub enum AnySaved {
    /// Single precision.
    F32(Saved<f32>),
    /// Double precision.
    F64(Saved<f64>),
}

/// The two precisions as tensors.
pub trait Stored: Real {
    #[doc(hidden)]
    fn wrap(saved: Saved<Self>) -> AnySaved;
    #[doc(hidden)]
    fn unwrap(saved: AnySaved) -> Option<Saved<Self>>;
}

impl Stored for f32 {
    fn wrap(saved: Saved<Self>) -> AnySaved {
        AnySaved::F32(saved)
    }

    fn unwrap(saved: AnySaved) -> Option<Saved<Self>> {
        if let AnySaved::F32(saved) = saved { Some(saved) } else { None }
    }
}

impl Stored for f64 {
    fn wrap(saved: Saved<Self>) -> AnySaved {
        AnySaved::F64(saved)
    }

    fn unwrap(saved: AnySaved) -> Option<Saved<Self>> {
        if let AnySaved::F64(saved) = saved { Some(saved) } else { None }
    }
}

impl AnySaved {
    /// The bytes of the file.
    ///
    /// # Errors
    /// `Format` when the parts do not fit together, `Unsupported` when the description is longer
    /// than a reader accepts.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (meta, tensors) = match self {
            Self::F32(saved) => saved.to_tensors(Data::F32)?,
            Self::F64(saved) => saved.to_tensors(Data::F64)?,
        };
        tensors::encode(&meta, &tensors)
    }

    /// The model in these bytes.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::from_tensors(tensors::decode(bytes, bytes.len() as u64)?)
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// `InvalidParam` unless `path` ends in `.safetensors`, `Io`, and those of
    /// [`AnySaved::to_bytes`].
    pub fn save(&self, path: &Path) -> Result<()> {
        safetensors_path(path)?;
        atomic::write(path, &self.to_bytes()?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// `Io`, `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn load(path: &Path) -> Result<Self> {
        let (file, len) = atomic::open(path)?;
        Self::from_tensors(tensors::decode(std::io::BufReader::new(file), len)?)
    }

    fn from_tensors((meta, mut tensors): (serde_json::Value, Tensors)) -> Result<Self> {
        let meta = Meta::from_json(meta)?;
        let first = if meta.machines.len() == 1 { "origin" } else { "origin.0" };
        let single = matches!(tensors.get(first), Some(Tensor { data: Data::F32(_), .. }));
        let saved = if single {
            Self::F32(Saved::from_tensors(meta, &mut tensors, |data| match data {
                Data::F32(v) => Some(v),
                _ => None,
            })?)
        } else {
            Self::F64(Saved::from_tensors(meta, &mut tensors, |data| match data {
                Data::F64(v) => Some(v),
                _ => None,
            })?)
        };
        match tensors.keys().next() {
            Some(unknown) => Err(Error::Format(format!("unknown tensor {unknown:?}"))),
            None => Ok(saved),
        }
    }
}

fn safetensors_path(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|e| e != "safetensors") {
        let got = format!("'{}'", path.display());
        return Err(Error::param("path", "a file name ending in .safetensors", got));
    }
    Ok(())
}

mod assemble;
