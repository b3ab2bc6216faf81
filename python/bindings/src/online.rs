//! `OnlineMachine`: the trained machine of an online learner. It never changes; training makes a
//! new one.

use budgetsvm::data::{Problem, SampleOrder};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::online::precision_of;
use budgetsvm::estimator::{OnlineConfig, OnlineMachine as Machine, Report};
use budgetsvm::float::Real;
use budgetsvm::kernel::AnyKernel;
use budgetsvm::model::persist::Archive;
use budgetsvm::online::{
    ASIDE, AnyLearner, BudgetOgd, Forgetron, FourierOgd, KernelOgd, KernelPerceptron, NystroemOgd,
    PassiveAggressive, Projectron, RandomizedBudgetPerceptron, Sampling, SparsePassiveAggressive,
    Stoptron,
};
use numpy::{Element, IntoPyArray as _, PyArray2, PyReadonlyArray1};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::arrays::{Samples, Storage, contiguous};
use crate::convert;
use crate::enter::{enter, enter_briefly, exception, type_error};

/// The trained machine of an online learner, of either precision.
#[pyclass(frozen, module = "budgetsvm._core")]
pub(crate) struct OnlineMachine(Any);

enum Any {
    F32(Machine<f32>),
    F64(Machine<f64>),
}

/// Machines of one precision, seen as machines of any.
trait Precision: Real + Element {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>>;
    fn wrap(machine: Machine<Self>) -> OnlineMachine;
}

fn mixed<T>() -> Result<T> {
    Err(Error::Unsupported("X must have the precision of the machine".into()))
}

impl Precision for f32 {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>> {
        if let Any::F32(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> OnlineMachine {
        OnlineMachine(Any::F32(machine))
    }
}

impl Precision for f64 {
    fn pick(machine: &OnlineMachine) -> Result<&Machine<Self>> {
        if let Any::F64(machine) = &machine.0 { Ok(machine) } else { mixed() }
    }

    fn wrap(machine: Machine<Self>) -> OnlineMachine {
        OnlineMachine(Any::F64(machine))
    }
}

/// The same expression for a machine of either precision.
macro_rules! each {
    ($any:expr, $machine:ident => $body:expr) => {
        match $any {
            Any::F32($machine) => $body,
            Any::F64($machine) => $body,
        }
    };
}

/// Hyperparameters by name, with errors that name them.
struct Params<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'py> Params<'_, 'py> {
    fn value(&self, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.0.get_item(name)?.ok_or_else(|| PyKeyError::new_err(name.to_owned()))
    }

    fn number(&self, name: &str) -> PyResult<f64> {
        let value = self.value(name)?;
        let flag = value.is_instance_of::<pyo3::types::PyBool>();
        value.extract().ok().filter(|_| !flag).ok_or_else(|| type_error(name, "a number", &value))
    }

    fn text(&self, name: &str) -> PyResult<String> {
        let value = self.value(name)?;
        value.extract().map_err(|_| type_error(name, "a string", &value))
    }

    fn flag(&self, name: &str) -> PyResult<bool> {
        let value = self.value(name)?;
        value.extract().map_err(|_| type_error(name, "True or False", &value))
    }

    /// An integer >= `least`.
    fn count(&self, name: &'static str, least: i64) -> PyResult<usize> {
        let value = self.value(name)?;
        let flag = value.is_instance_of::<pyo3::types::PyBool>();
        let count: Option<i64> = value.extract().ok().filter(|_| !flag);
        let count = count.ok_or_else(|| type_error(name, "an integer", &value))?;
        usize::try_from(count).ok().filter(|_| count >= least).ok_or_else(|| {
            exception(Error::InvalidParam {
                name,
                expected: format!(">= {least}"),
                got: count.to_string(),
            })
        })
    }

    fn learner(&self) -> PyResult<AnyLearner> {
        let budget = || self.count("budget", 1);
        let rates =
            || PyResult::Ok((self.number("learning_rate")?, self.number("regularization")?));
        Ok(match self.text("learner")?.as_str() {
            "perceptron" => AnyLearner::KernelPerceptron(KernelPerceptron {}),
            "ogd" => {
                let (learning_rate, regularization) = rates()?;
                AnyLearner::KernelOgd(KernelOgd { learning_rate, regularization })
            }
            "rbp" => AnyLearner::RandomizedBudgetPerceptron(RandomizedBudgetPerceptron {
                budget: budget()?,
            }),
            "stoptron" => AnyLearner::Stoptron(Stoptron { budget: budget()? }),
            "forgetron" => AnyLearner::Forgetron(Forgetron::new(budget()?)),
            name @ ("projectron" | "projectron++") => {
                let threshold = self.number("threshold")?;
                AnyLearner::Projectron(Projectron {
                    budget: budget()?,
                    threshold,
                    plus_plus: name.ends_with('+'),
                })
            }
            "bpas" => {
                let (budget, c) = (budget()?, self.number("C")?);
                AnyLearner::PassiveAggressive(PassiveAggressive { budget, c })
            }
            "bogd" => {
                let (learning_rate, regularization) = rates()?;
                let sampling = match self.text("sampling")?.as_str() {
                    "uniform" => Sampling::Uniform,
                    "weighted" => Sampling::Weighted,
                    other => {
                        return Err(exception(Error::InvalidParam {
                            name: "sampling",
                            expected: "'uniform' or 'weighted'".into(),
                            got: format!("'{other}'"),
                        }));
                    }
                };
                let (budget, max_coef) = (budget()?, self.number("max_coef")?);
                AnyLearner::BudgetOgd(BudgetOgd {
                    budget,
                    learning_rate,
                    regularization,
                    max_coef,
                    sampling,
                })
            }
            "spa" => AnyLearner::SparsePassiveAggressive(SparsePassiveAggressive {
                budget: budget()?,
                learning_rate: self.number("learning_rate")?,
                numerator: self.number("sampling_numerator")?,
                denominator: self.number("sampling_denominator")?,
            }),
            "fogd" => AnyLearner::FourierOgd(FourierOgd {
                n_frequencies: self.count("n_frequencies", 1)?,
                learning_rate: self.number("learning_rate")?,
            }),
            "nogd" => {
                let all = self.value("n_components")?.is_none();
                let rank = if all { None } else { Some(self.count("n_components", 1)?) };
                let rate = self.number("learning_rate")?;
                AnyLearner::NystroemOgd(NystroemOgd {
                    budget: budget()?,
                    learning_rate: rate,
                    n_components: rank,
                })
            }
            other => return Err(PyKeyError::new_err(other.to_owned())),
        })
    }

    fn config(&self) -> PyResult<OnlineConfig> {
        let degree = u32::try_from(self.count("degree", 0)?).unwrap_or(u32::MAX);
        let kernel = AnyKernel::from_name(
            &self.text("kernel")?,
            self.number("gamma")?,
            self.number("coef0")?,
            degree,
        )
        .map_err(exception)?;
        let order = self.value("order")?;
        let order = match order.extract::<String>() {
            Ok(name) => SampleOrder::from_name(&name).map_err(exception)?,
            Err(_) => {
                let script = order.extract::<Vec<usize>>();
                let expected = "'shuffled', 'uniform', 'sequential' or a list of row indices";
                SampleOrder::Scripted(script.map_err(|_| type_error("order", expected, &order))?)
            }
        };
        let max_time = self.value("max_time")?;
        let config = OnlineConfig {
            learner: self.learner()?,
            kernel,
            average: self.flag("average")?,
            aside: if self.0.contains("aside")? { self.count("aside", 2)? } else { ASIDE },
            max_iter: self.count("max_iter", 1)?,
            order,
            max_time: if max_time.is_none() { None } else { Some(self.number("max_time")?) },
            seed: self.value("random_state")?.extract()?,
        };
        enter_briefly(|| config.check())?;
        Ok(config)
    }
}

type Trained<'py> = PyResult<(OnlineMachine, Bound<'py, PyDict>)>;

#[pymethods]
impl OnlineMachine {
    /// Whether the hyperparameters are in range: an exception that names the first that is not.
    #[staticmethod]
    fn check(config: &Bound<'_, PyDict>) -> PyResult<()> {
        Params(config).config().map(|_| ())
    }

    /// Trains from the start, or goes on from `start` with the rows as they stand when `stream` is
    /// True: (machine, report). With `record` the history has decision values from before each row
    /// was learnt from.
    #[staticmethod]
    #[pyo3(signature = (config, x, y, n_classes, cost, *, start, stream, record, notify, threads))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
    fn train<'py>(
        py: Python<'py>,
        config: &Bound<'py, PyDict>,
        x: &Bound<'py, PyAny>,
        y: PyReadonlyArray1<'py, u32>,
        n_classes: usize,
        cost: PyReadonlyArray1<'py, f64>,
        start: Option<&Self>,
        stream: bool,
        record: bool,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> Trained<'py> {
        let config = Params(config).config()?;
        let labels = convert::Target::Classes(y, n_classes);
        let call = Call { config, labels, cost, stream, record, notify, threads };
        match &Samples::new("X", x)? {
            Samples::F32(storage) => call.train(py, storage, start),
            Samples::F64(storage) => call.train(py, storage, start),
        }
    }

    /// Decision values, shape (n_samples, n_outputs).
    fn decision_function<'py>(
        &self,
        py: Python<'py>,
        x: &Bound<'py, PyAny>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = match (&self.0, &Samples::new("X", x)?) {
            (Any::F32(machine), Samples::F32(storage)) => {
                let rows = enter_briefly(|| storage.rows())?;
                enter(py, threads, None, |bridge| machine.decision(&rows, bridge))?
            }
            (Any::F64(machine), Samples::F64(storage)) => {
                let rows = enter_briefly(|| storage.rows())?;
                enter(py, threads, None, |bridge| machine.decision(&rows, bridge))?
            }
            _ => return enter_briefly(mixed),
        };
        Ok(values.into_pyarray(py))
    }

    /// The bytes that a pickle and a file hold.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = enter_briefly(|| each!(&self.0, machine => machine.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// A machine from the bytes of `to_bytes`.
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        enter_briefly(|| {
            let archive = Archive::from_bytes(bytes)?;
            match precision_of(&archive)? {
                f32::NAME => Machine::from_archive(archive).map(f32::wrap),
                f64::NAME => Machine::from_archive(archive).map(f64::wrap),
                other => Err(Error::Format(format!("precision {other}"))),
            }
        })
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        let make = slf.get_type().getattr("from_bytes")?;
        (make, (slf.get().to_bytes(py)?,)).into_pyobject(py)
    }

    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// "float32" or "float64".
    #[getter]
    fn dtype(&self) -> &'static str {
        match self.0 {
            Any::F32(_) => f32::NAME,
            Any::F64(_) => f64::NAME,
        }
    }

    /// Number of terms.
    #[getter]
    fn n_terms(&self) -> usize {
        each!(&self.0, machine => machine.n_terms())
    }

    /// Number of features.
    #[getter]
    fn n_features(&self) -> usize {
        each!(&self.0, machine => machine.n_features())
    }

    /// Number of outputs.
    #[getter]
    fn n_outputs(&self) -> usize {
        each!(&self.0, machine => machine.n_outputs())
    }

    /// The kernel's gamma (1 for the linear kernel, which has none).
    #[getter]
    fn gamma(&self) -> f64 {
        each!(&self.0, machine => machine.gamma())
    }

    /// Coefficients of the features, shape (n_outputs, 2 n_frequencies or 0).
    #[getter]
    fn feature_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.feature_coef()).into_pyarray(py)
    }

    /// Frequencies of the features, shape (n_frequencies or 0, n_features).
    #[getter]
    fn frequencies<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.frequencies()).into_pyarray(py)
    }

    /// Samples learnt from.
    #[getter]
    fn steps(&self) -> u64 {
        each!(&self.0, machine => machine.steps())
    }

    /// Points of the terms, shape (n_terms, n_features).
    #[getter]
    fn support_vectors<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        match &self.0 {
            Any::F32(machine) => machine.support_vectors().into_pyarray(py).into_any(),
            Any::F64(machine) => machine.support_vectors().into_pyarray(py).into_any(),
        }
    }

    /// Coefficients, shape (n_outputs, n_terms).
    #[getter]
    fn dual_coef<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray2<f64>> {
        each!(&self.0, machine => machine.dual_coef()).into_pyarray(py)
    }
}

/// Everything that a training call takes, borrowed from Python.
struct Call<'py> {
    config: OnlineConfig,
    labels: convert::Target<'py>,
    cost: PyReadonlyArray1<'py, f64>,
    stream: bool,
    record: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
}

impl<'py> Call<'py> {
    fn train<F: Precision>(
        &self,
        py: Python<'py>,
        storage: &Storage<'py, F>,
        start: Option<&OnlineMachine>,
    ) -> Trained<'py> {
        let start = start.map(F::pick).transpose().map_err(exception)?;
        let (rows, labels, cost) =
            enter_briefly(|| Ok((storage.rows()?, self.labels.view()?, contiguous(&self.cost)?)))?;
        let (config, stream, record) = (&self.config, self.stream, self.record);
        let (machine, report): (Machine<F>, Report) =
            enter(py, self.threads, self.notify.as_ref(), |bridge| {
                let problem = Problem::new(rows, labels, cost)?;
                if stream {
                    Machine::partial_fit(config, &problem, (start, record), bridge)
                } else {
                    Machine::fit(config, &problem, bridge)
                }
            })?;
        Ok((F::wrap(machine), convert::report(py, report)?))
    }
}
