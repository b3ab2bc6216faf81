//! The machine as bytes: the partition's archive, with those of the cells' own machines in it.

use serde_json::json;

use super::LocalMachine;
use super::train::Inner;
use crate::error::{Error, Result};
use crate::estimator::budget::Machine;
use crate::float::Real;
use crate::local::LocalModel;
use crate::model::persist::{AnySaved, Archive, Data, Stored, Tensor};

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("local machine: {what}")))
}

impl<F: Stored> LocalMachine<F> {
    /// The bytes that a pickle and a file hold.
    ///
    /// # Errors
    /// `Unsupported` when the description is longer than a reader accepts.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut archive = self.model.to_archive();
        for (cell, inner) in self.inner.iter().enumerate() {
            let tensor = match inner {
                Inner::Constant(values) => Tensor::doubles(values.clone()),
                Inner::Machine(machine) => {
                    let bytes = F::wrap(machine.to_saved()).to_bytes()?;
                    Tensor { shape: vec![bytes.len()], data: Data::U8(bytes) }
                }
            };
            archive.arrays.insert(format!("inner.{cell}"), tensor);
        }
        let wrapped = json!({ "model": archive.estimator, "n_inner": self.inner.len() });
        Archive { estimator: wrapped, arrays: archive.arrays }.to_bytes()
    }

    /// The machine of an archive.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn from_archive(mut archive: Archive) -> Result<Self> {
        let Some(map) = archive.estimator.as_object_mut().filter(|map| map.len() == 2) else {
            return bad("fields");
        };
        let (model, n_inner) = (map.remove("model"), map.remove("n_inner"));
        let n_inner = n_inner.and_then(|n| n.as_u64()).and_then(|n| usize::try_from(n).ok());
        let (Some(model), Some(n_inner)) = (model, n_inner) else { return bad("fields") };
        if n_inner > archive.arrays.len() {
            return bad("n_inner");
        }
        let tensors: Vec<Option<Tensor>> =
            (0..n_inner).map(|cell| archive.arrays.remove(&format!("inner.{cell}"))).collect();
        let model = LocalModel::from_archive(Archive { estimator: model, arrays: archive.arrays })?;
        let mut inner = Vec::with_capacity(n_inner);
        for tensor in tensors {
            inner.push(match tensor.map(|tensor| tensor.data) {
                Some(Data::F64(values)) if values.len() == model.n_outputs() => {
                    Inner::Constant(values)
                }
                Some(Data::U8(bytes)) => {
                    let Some(mut saved) = F::unwrap(AnySaved::from_bytes(&bytes)?) else {
                        return bad("precision");
                    };
                    let machine = Machine::from_saved(&mut saved)?;
                    let sizes = (machine.n_features(), machine.n_outputs());
                    if sizes != (model.n_features(), model.n_outputs()) {
                        return bad("sizes of a cell's machine");
                    }
                    Inner::Machine(Box::new(machine))
                }
                _ => return bad("a cell's machine"),
            });
        }
        if n_inner != 0 && n_inner != model.sizes().len() {
            return bad("number of cells");
        }
        Ok(Self { model, inner })
    }
}

/// The precision that an archive was written in, as NumPy calls it.
///
/// # Errors
/// `Format`.
pub fn local_precision(archive: &Archive) -> Result<&'static str> {
    match archive.arrays.get("centers").map(|tensor| &tensor.data) {
        Some(Data::F32(_)) => Ok(f32::NAME),
        Some(Data::F64(_)) => Ok(f64::NAME),
        _ => bad("centers"),
    }
}
