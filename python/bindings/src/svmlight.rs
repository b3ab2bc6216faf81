//! Rows and models as text.

use std::fs::File;
use std::io::{self, Cursor};
use std::path::PathBuf;
use std::sync::Arc;

use budgetsvm::data::Gathered;
use budgetsvm::data::svmlight::{Origin, Reader, Table, dense, write_rows};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{self, AnyMachine, State};
use budgetsvm::model::Model;
use budgetsvm::model::libsvm::{Kind, LibsvmModel};
use budgetsvm::watch::Watch;
use numpy::{IntoPyArray as _, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyBytes, PyTuple};

use crate::arrays::{Float, Samples, contiguous, with_rows};
use crate::enter::{enter, enter_here, exception};
use crate::features::matrix;
use crate::machine::Machine;

/// Bytes that are asked of a file of Python's at a time.
const BLOCK: usize = 1 << 20;

/// The bytes themselves, a file's name, or an open file of Python's that gives them.
#[derive(FromPyObject)]
pub(crate) enum Source {
    Bytes(PyBackedBytes),
    Path(PathBuf),
    File(Py<PyAny>),
}

impl Source {
    fn open(self) -> Result<Box<dyn io::Read + Send>> {
        match self {
            Self::Bytes(bytes) => Ok(Box::new(Cursor::new(bytes))),
            Self::Path(path) => match File::open(&path) {
                Ok(file) => Ok(Box::new(file)),
                Err(source) => Err(Error::Io { path, source }),
            },
            Self::File(file) => Ok(Box::new(PythonFile(file))),
        }
    }
}

/// What the method `read` of an object of Python's gives. What it raises is raised by the call.
struct PythonFile(Py<PyAny>);

impl io::Read for PythonFile {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            let found = self.0.call_method1(py, "read", (to.len().min(BLOCK),))?;
            let found: PyBackedBytes = found.extract(py).map_err(PyErr::from)?;
            let Some(to) = to.get_mut(..found.len()) else {
                return Err(PyValueError::new_err("read gives more bytes than were asked for"));
            };
            to.copy_from_slice(&found);
            Ok(found.len())
        })
        .map_err(Into::into)
    }
}

fn table<'py, F: Float>(
    py: Python<'py>,
    source: Source,
    (origin, n_features): (Origin, Option<usize>),
    (as_dense, threads, lines): (bool, usize, usize),
) -> PyResult<Bound<'py, PyTuple>> {
    let (table, whole) = enter(py, threads, None, |watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        let reader = Reader::new(source.open()?).behind(lines);
        let table = Table::<F>::read(reader, origin, n_features, look)?;
        let whole = if as_dense { Some(dense(&table)?) } else { None };
        Ok((table, whole))
    })?;
    let labels = table.labels.into_pyarray(py);
    if let Some(rows) = whole {
        return (labels, matrix(py, rows, table.n_cols)?).into_pyobject(py);
    }
    let (values, columns) = (table.values.into_pyarray(py), table.columns.into_pyarray(py));
    (labels, values, columns, table.starts.into_pyarray(py), table.n_cols).into_pyobject(py)
}

/// Labels and rows of a text, which has `lines` lines of its file before it: a matrix, or (data,
/// indices, indptr, n_features).
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each has a name in Python")]
#[pyo3(signature = (source, *, single, zero_based, n_features, dense, threads, lines=0))]
pub(crate) fn svmlight_read(
    py: Python<'_>,
    source: Source,
    single: bool,
    zero_based: Option<bool>,
    n_features: Option<usize>,
    dense: bool,
    threads: usize,
    lines: usize,
) -> PyResult<Bound<'_, PyTuple>> {
    let origin = match zero_based {
        None => Origin::Found,
        Some(true) => Origin::Zero,
        Some(false) => Origin::One,
    };
    let (wanted, how) = ((origin, n_features), (dense, threads, lines));
    match single {
        true => table::<f32>(py, source, wanted, how),
        false => table::<f64>(py, source, wanted, how),
    }
}

/// Rows of the caller's in double precision.
fn gathered(py: Python<'_>, samples: &Samples<'_>) -> PyResult<Gathered<f64>> {
    with_rows!(samples, |rows| enter_here(py, |_| Gathered::joined(&[rows])?.cast::<f64>()))
}

/// Parts of a text as bytes.
fn in_bytes(py: Python<'_>, texts: Vec<String>) -> Vec<Bound<'_, PyBytes>> {
    texts.into_iter().map(|text| PyBytes::new(py, text.as_bytes())).collect()
}

/// Rows as text, in parts.
#[pyfunction]
pub(crate) fn svmlight_write<'py>(
    py: Python<'py>,
    x: &Bound<'py, PyAny>,
    y: PyReadonlyArray1<'py, f64>,
    first: usize,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let samples = Samples::new("X", x)?;
    let y = contiguous(&y).map_err(exception)?;
    let texts = with_rows!(&samples, |rows| enter(py, threads, None, |watch| {
        write_rows(&rows, (y, 1), first, &mut || watch.unbroken(Watch::glance))
    }))?;
    Ok(in_bytes(py, texts))
}

type Read = (String, Machine, Vec<i64>, Option<(Vec<f64>, Vec<f64>)>);

/// The machine of a model of LIBSVM's: its name there, the machine, labels, sigmoids.
#[pyfunction]
pub(crate) fn libsvm_read(
    py: Python<'_>,
    source: Source,
    n_features: Option<usize>,
    threads: usize,
) -> PyResult<Read> {
    enter(py, threads, None, |watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        let text = LibsvmModel::read(source.open()?, n_features, look)?;
        let kind = text.kind.name().to_owned();
        let (model, labels, sigmoids) = text.into_model()?;
        let machine = estimator::Machine::new(Model::Pairwise(Arc::new(model)), State::None);
        Ok((kind, Machine(AnyMachine::F64(machine)), labels, sigmoids))
    })
}

/// A model as LIBSVM's text, in parts.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "each is a line of the text")]
#[pyo3(signature = (kind, kernel, x, coef, *, labels, n_support, rho, sigmoids, threads))]
pub(crate) fn libsvm_write<'py>(
    py: Python<'py>,
    kind: &str,
    kernel: &str,
    x: &Bound<'py, PyAny>,
    coef: PyReadonlyArray2<'py, f64>,
    labels: Vec<i64>,
    n_support: Vec<usize>,
    rho: Vec<f64>,
    sigmoids: Option<(Vec<f64>, Vec<f64>)>,
    threads: usize,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let samples = Samples::new("X", x)?;
    let coef = coef.as_array().to_owned();
    let kind = Kind::of_name(kind).ok_or_else(|| Error::Unsupported(kind.to_owned()));
    let kind = kind.map_err(exception)?;
    let kernel = serde_json::from_str(kernel).map_err(|e| Error::Format(format!("kernel: {e}")));
    let kernel = kernel.map_err(exception)?;
    let rows = gathered(py, &samples)?;
    let texts = enter(py, threads, None, |watch| {
        let look = &mut || watch.unbroken(Watch::glance);
        LibsvmModel { kind, kernel, labels, n_support, coef, rho, sigmoids, rows }
            .write_watched(look)
    })?;
    Ok(in_bytes(py, texts))
}
