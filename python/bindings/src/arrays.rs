//! NumPy arrays as rows: borrowed by their strides, dense or CSR, never copied.

use budgetsvm::data::{Csr, Indices, Rows};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::Precision;
use budgetsvm::float::Real;
use numpy::{Element, PyArrayDyn, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods as _};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::enter::type_error;

/// Entries that are checked while Python waits: some tens of microseconds.
const FEW_ENTRIES: usize = 1 << 15;

/// Rows of either precision.
pub(crate) enum Samples<'py> {
    F32(Storage<'py, f32>),
    F64(Storage<'py, f64>),
}

/// Runs `$body` with `$storage` the arrays of the rows, in their own precision.
macro_rules! with_storage {
    ($samples:expr, $storage:ident => $body:expr) => {
        match $samples {
            Samples::F32($storage) => $body,
            Samples::F64($storage) => $body,
        }
    };
}
pub(crate) use with_storage;

/// The same with the rows themselves.
macro_rules! with_rows {
    ($samples:expr, |$rows:ident| $body:expr) => {
        $crate::arrays::with_storage!($samples, storage => {
            let $rows = $crate::enter::enter_briefly(|| storage.rows())?;
            $body
        })
    };
}
pub(crate) use with_rows;

/// The precisions that rows come in.
pub(crate) trait Float: Precision + Element {
    /// The rows, if they are of this precision.
    fn of<'a, 'py>(samples: &'a Samples<'py>) -> Option<&'a Storage<'py, Self>>;
}

impl Float for f32 {
    fn of<'a, 'py>(samples: &'a Samples<'py>) -> Option<&'a Storage<'py, Self>> {
        if let Samples::F32(storage) = samples { Some(storage) } else { None }
    }
}

impl Float for f64 {
    fn of<'a, 'py>(samples: &'a Samples<'py>) -> Option<&'a Storage<'py, Self>> {
        if let Samples::F64(storage) = samples { Some(storage) } else { None }
    }
}

/// Arrays that Python keeps alive.
pub(crate) enum Storage<'py, F: Real + Element> {
    Dense(PyReadonlyArray2<'py, F>),
    Csr {
        values: PyReadonlyArray1<'py, F>,
        indices: IndexArray<'py>,
        starts: IndexArray<'py>,
        n_cols: usize,
    },
}

pub(crate) enum IndexArray<'py> {
    I32(PyReadonlyArray1<'py, i32>),
    I64(PyReadonlyArray1<'py, i64>),
}

impl<'py> Samples<'py> {
    /// A float32 or float64 matrix, or `(data, indices, indptr, n_features)` of a CSR matrix.
    pub(crate) fn new(name: &str, x: &Bound<'py, PyAny>) -> PyResult<Self> {
        let expected = "a float32 or float64 matrix, or the arrays of a CSR matrix";
        let single = |x: &Bound<'py, PyAny>| x.cast::<PyArrayDyn<f32>>().is_ok();
        let values = match x.cast::<PyTuple>() {
            Ok(parts) => parts.get_item(0)?,
            Err(_) => x.clone(),
        };
        let storage = if single(&values) {
            Storage::new(name, x).map(Self::F32)
        } else {
            Storage::new(name, x).map(Self::F64)
        };
        storage.map_err(|error| {
            if error.is_instance_of::<pyo3::exceptions::PyValueError>(x.py()) {
                error
            } else {
                type_error(name, expected, &values)
            }
        })
    }
}

impl<'py, F: Real + Element> Storage<'py, F> {
    fn new(name: &str, x: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(parts) = x.cast::<PyTuple>() {
            let (values, indices, starts, n_cols): (
                Bound<'py, PyAny>,
                Bound<'py, PyAny>,
                Bound<'py, PyAny>,
                usize,
            ) = parts.extract()?;
            return Ok(Self::Csr {
                values: values.extract::<PyReadonlyArray1<'py, F>>()?,
                indices: IndexArray::new(&indices)?,
                starts: IndexArray::new(&starts)?,
                n_cols,
            });
        }
        let array: PyReadonlyArray2<'py, F> = x.extract()?;
        // A field of a packed record is neither aligned nor a whole number of items apart.
        let whole = array.strides().iter().all(|s| s % size_of::<F>() as isize == 0);
        if array.is_aligned() && whole {
            Ok(Self::Dense(array))
        } else {
            Err(pyo3::exceptions::PyValueError::new_err(format!("{name} is not aligned: copy it")))
        }
    }

    /// The rows, checked where they are sparse.
    pub(crate) fn rows(&self) -> Result<Rows<'_, F>> {
        match self {
            Self::Dense(array) => Ok(Rows::Dense(array.as_array())),
            Self::Csr { values, indices, starts, n_cols } => {
                let (py, values) = (values.py(), contiguous(values)?);
                let (indices, starts) = (indices.view()?, starts.view()?);
                let checked = || Csr::new(values, indices, starts, *n_cols);
                let few = values.len() <= FEW_ENTRIES;
                Ok(Rows::Csr(if few { checked() } else { py.detach(checked) }?))
            }
        }
    }
}

impl<'py> IndexArray<'py> {
    fn new(array: &Bound<'py, PyAny>) -> PyResult<Self> {
        match array.extract() {
            Ok(short) => Ok(Self::I32(short)),
            Err(_) => Ok(Self::I64(array.extract::<PyReadonlyArray1<'py, i64>>()?)),
        }
    }

    fn view(&self) -> Result<Indices<'_>> {
        match self {
            Self::I32(array) => Ok(Indices::I32(contiguous(array)?)),
            Self::I64(array) => Ok(Indices::I64(contiguous(array)?)),
        }
    }
}

/// The values of an array without gaps.
pub(crate) fn contiguous<'a, T: Element>(array: &'a PyReadonlyArray1<'_, T>) -> Result<&'a [T]> {
    array.as_slice().map_err(|_| Error::InvalidData {
        what: "array",
        reason: "not contiguous and aligned: copy it".into(),
    })
}
