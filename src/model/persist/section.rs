//! A part of an archive: fields of JSON, arrays, and parts of its own.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::tensors::{Data, Tensor, Tensors};
use crate::config::exactly;
use crate::data::Gathered;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::kernel::AnyKernel;

/// What is written is taken out again, by name; what nobody takes is an error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    pub(super) fields: Map<String, Value>,
    pub(super) arrays: Tensors,
}

fn bad<T>(what: impl Into<String>) -> Result<T> {
    Err(Error::Format(what.into()))
}

impl Section {
    /// The fields and the arrays, those of parts by their paths.
    #[must_use]
    pub fn into_parts(self) -> (Map<String, Value>, Tensors) {
        (self.fields, self.arrays)
    }

    /// Writes a field.
    pub fn put(&mut self, name: &str, value: impl Serialize) {
        // What is put is of numbers, names and lists, which always become JSON.
        let value = serde_json::to_value(value).unwrap_or(Value::Null);
        self.fields.insert(name.to_owned(), value);
    }

    /// Writes an array.
    pub fn put_array(&mut self, name: &str, tensor: Tensor) {
        self.arrays.insert(name.to_owned(), tensor);
    }

    /// Writes a part.
    pub fn put_section(&mut self, name: &str, part: Self) {
        self.fields.insert(name.to_owned(), Value::Object(part.fields));
        for (array, tensor) in part.arrays {
            self.arrays.insert(format!("{name}.{array}"), tensor);
        }
    }

    /// Writes parts, in order.
    pub fn put_all(&mut self, name: &str, parts: impl IntoIterator<Item = Self>) {
        let mut count = 0;
        for part in parts {
            self.put_section(&format!("{name}.{count}"), part);
            count += 1;
        }
        self.put(name, count);
    }

    /// Whether there is a field, an array or a part of this name.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.fields.contains_key(name) || self.arrays.contains_key(name)
    }

    /// Takes a field.
    ///
    /// # Errors
    /// `Format` when it is not there or of another type.
    pub fn take<T: DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let Some(value) = self.fields.remove(name) else { return bad(format!("no {name:?}")) };
        serde_json::from_value(value).map_err(|e| Error::Format(format!("{name}: {e}")))
    }

    /// Takes a finite number.
    ///
    /// # Errors
    /// As [`Section::take`].
    pub fn take_number(&mut self, name: &str) -> Result<f64> {
        let told: serde_json::Number = self.take(name)?;
        // An integer that no float is would be another number when it is written again.
        let whole = told.as_i64().map(i128::from).or(told.as_u64().map(i128::from));
        match told.as_f64() {
            Some(value) if value.is_finite() && whole.is_none_or(|w| w == value as i128) => {
                Ok(value)
            }
            _ => bad(name),
        }
    }

    /// Takes a struct, every field of which is there and no other.
    ///
    /// # Errors
    /// As [`Section::take`].
    pub fn take_exactly<T: Serialize + DeserializeOwned>(&mut self, name: &str) -> Result<T> {
        let value: Value = self.take(name)?;
        exactly(name, &value)
    }

    /// Takes a kernel, its parameters in range.
    ///
    /// # Errors
    /// As [`Section::take`].
    pub fn take_kernel(&mut self) -> Result<AnyKernel> {
        let kernel: AnyKernel = self.take_exactly("kernel")?;
        kernel.check().map_err(|e| Error::Format(e.to_string()))?;
        Ok(kernel)
    }

    /// Takes an array.
    ///
    /// # Errors
    /// `Format` when it is not there.
    pub fn take_array(&mut self, name: &str) -> Result<Tensor> {
        let found = self.arrays.remove(name);
        found.ok_or_else(|| Error::Format(format!("tensor {name:?} is missing")))
    }

    /// Takes a vector in the precision of `F`.
    ///
    /// # Errors
    /// `Format` when it is not there or of another type.
    pub fn take_floats<F: Real>(&mut self, name: &str) -> Result<Vec<F>> {
        Tensor::take_floats(&mut self.arrays, name)
    }

    /// Takes a vector in double precision.
    ///
    /// # Errors
    /// As [`Section::take_floats`].
    pub fn take_doubles(&mut self, name: &str) -> Result<Vec<f64>> {
        Tensor::take_doubles(&mut self.arrays, name)
    }

    /// Takes a vector of whole numbers.
    ///
    /// # Errors
    /// As [`Section::take_floats`].
    pub fn take_counts(&mut self, name: &str) -> Result<Vec<u64>> {
        Tensor::take_counts(&mut self.arrays, name)
    }

    /// Takes a vector of whole numbers that are sizes or places.
    ///
    /// # Errors
    /// As [`Section::take_floats`].
    pub fn take_sizes(&mut self, name: &str) -> Result<Vec<usize>> {
        let counts = self.take_counts(name)?;
        let sizes: Option<_> = counts.into_iter().map(|n| usize::try_from(n).ok()).collect();
        sizes.ok_or_else(|| Error::Format(format!("tensor {name:?}")))
    }

    /// Takes a part.
    ///
    /// # Errors
    /// `Format` when it is not there.
    pub fn take_section(&mut self, name: &str) -> Result<Self> {
        let fields: Map<String, Value> = self.take(name)?;
        let prefix = format!("{name}.");
        let mut rest = self.arrays.split_off(&prefix);
        let mut arrays = Tensors::new();
        while let Some(entry) = rest.first_entry() {
            let Some(own) = entry.key().strip_prefix(&prefix) else { break };
            let own = own.to_owned();
            arrays.insert(own, entry.remove());
        }
        self.arrays.append(&mut rest);
        Ok(Self { fields, arrays })
    }

    /// Takes parts, in order.
    ///
    /// # Errors
    /// `Format` when one is not there.
    pub fn take_all(&mut self, name: &str) -> Result<Vec<Self>> {
        let count: usize = self.take(name)?;
        if count > self.fields.len() {
            return bad(format!("number of {name}"));
        }
        (0..count).map(|at| self.take_section(&format!("{name}.{at}"))).collect()
    }

    /// Writes rows, dense or sparse.
    pub fn put_rows<F: Real>(&mut self, name: &str, rows: &Gathered<F>) {
        let signed =
            |values: &[i64]| Tensor { shape: vec![values.len()], data: Data::I64(values.to_vec()) };
        match rows {
            Gathered::Dense(rows) => {
                self.put(name, [rows.nrows(), rows.ncols()]);
                let values: Vec<F> = rows.iter().copied().collect();
                self.put_array(name, Tensor::floats(&values));
            }
            Gathered::Csr { values, columns, starts, n_cols } => {
                self.put(name, ["csr".into(), Value::from(*n_cols)]);
                self.put_array(&format!("{name}_values"), Tensor::floats(values));
                self.put_array(&format!("{name}_columns"), signed(columns));
                self.put_array(&format!("{name}_starts"), signed(starts));
            }
        }
    }

    /// Takes rows, dense or sparse.
    ///
    /// # Errors
    /// `Format` when they are not there or not exactly valid.
    pub fn take_rows<F: Real>(&mut self, name: &str) -> Result<Gathered<F>> {
        let shape: Value = self.take(name)?;
        let size = |at: usize| shape[at].as_u64().and_then(|n| usize::try_from(n).ok());
        let rows = match (shape.as_array().map(Vec::len), shape[0].as_str(), size(0), size(1)) {
            (Some(2), Some("csr"), _, Some(n_cols)) => {
                let mut signed = |part: &str| match self.take_array(&format!("{name}_{part}"))? {
                    Tensor { shape, data: Data::I64(values) } if shape.len() == 1 => Ok(values),
                    _ => bad(format!("type or shape of \"{name}_{part}\"")),
                };
                let (columns, starts) = (signed("columns")?, signed("starts")?);
                let values = self.take_floats(&format!("{name}_values"))?;
                Gathered::Csr { values, columns, starts, n_cols }
            }
            (Some(2), None, Some(n_rows), Some(n_cols)) => {
                let values = self.take_floats(name)?;
                if n_cols == 0 || n_rows.checked_mul(n_cols) != Some(values.len()) {
                    return bad(format!("shape of {name:?}"));
                }
                Gathered::from_values(values, n_cols)?
            }
            _ => return bad(format!("shape of {name:?}")),
        };
        rows.rows().map_err(|e| Error::Format(e.to_string()))?;
        Ok(rows)
    }

    /// Whether everything was taken.
    ///
    /// # Errors
    /// `Format` with the name of what is left.
    pub fn end(self) -> Result<()> {
        match self.fields.keys().chain(self.arrays.keys()).next() {
            Some(name) => bad(format!("unknown entry {name:?}")),
            None => Ok(()),
        }
    }
}
