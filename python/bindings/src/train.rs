//! The one training call: what every family of machines is given, and the families on a budget,
//! online, local and on features.

use budgetsvm::config::Config;
use budgetsvm::data::{Problem, Rows, Targets};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{
    self, AssetConfig, AssetReport, AutoConfig, AutoReport, BudgetConfig, Checkpoint, Fold, Grid,
    LocalConfig, OneClassConfig, OnlineConfig, Report, SelectedRows, Start, Trains as _,
};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::watch::{StopReason, Watch};
use numpy::{IntoPyArray as _, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::{Float, Samples, Storage, contiguous, with_storage};
use crate::convert::{self, Target};
use crate::enter::{enter, enter_briefly, enter_here, exception, type_error};
use crate::machine::{self, Machine};
use crate::{exact, features, primal};

/// What a training call is given, borrowed from Python.
pub(crate) struct Call<'py> {
    py: Python<'py>,
    config: String,
    target: Option<Target<'py>>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
    own: Option<Bound<'py, PyDict>>,
}

/// Rows that may be held where the call stands.
const FEW: usize = 16;

/// A machine, and what its training tells.
pub(crate) type Trained<'py> = PyResult<(Machine, Bound<'py, PyDict>)>;

/// What a problem is made of.
type Parts<'a, F> = (Rows<'a, F>, Targets<'a>, &'a [f64]);

impl<'py> Call<'py> {
    /// A call with targets and nothing that its family alone is given.
    pub(crate) fn plain(
        py: Python<'py>,
        config: String,
        (y, n_classes): (&Bound<'py, PyAny>, Option<usize>),
        cost: PyReadonlyArray1<'py, f64>,
        notify: Option<Bound<'py, PyAny>>,
        threads: usize,
    ) -> PyResult<Self> {
        let target = Some(Target::new(y, n_classes)?);
        Ok(Self { py, config, target, n_classes, cost, notify, threads, own: None })
    }

    pub(crate) fn py(&self) -> Python<'py> {
        self.py
    }

    /// The hyperparameters, checked.
    pub(crate) fn config<C: Config + Default>(&self) -> PyResult<C> {
        enter_briefly(|| C::from_json(&self.config))
    }

    /// What the family alone is given by this name; `None` when it is not.
    pub(crate) fn own(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(own) = &self.own else { return Ok(None) };
        Ok(own.get_item(name)?.filter(|value| !value.is_none()))
    }

    /// Whether this is asked for.
    pub(crate) fn flag(&self, name: &str) -> PyResult<bool> {
        self.own(name)?.map_or(Ok(false), |value| value.extract())
    }

    /// Targets of a machine, which has them if this says so.
    pub(crate) fn target(&self) -> Option<&Target<'py>> {
        self.target.as_ref()
    }

    /// Costs of the samples.
    pub(crate) fn cost(&self) -> Result<&[f64]> {
        contiguous(&self.cost)
    }

    /// Enters Rust.
    pub(crate) fn enter<T: Send>(
        &self,
        task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        enter(self.py, self.threads, self.notify.as_ref(), task)
    }

    /// Enters Rust, where the call stands if it is brief and nobody listens.
    pub(crate) fn enter_if<T: Send>(
        &self,
        long: bool,
        task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
    ) -> PyResult<T> {
        match long || self.notify.is_some() {
            true => self.enter(task),
            false => enter_here(self.py, task),
        }
    }

    /// Rows, targets and costs: looking through them all is for where no lock of Python is held.
    pub(crate) fn parts<'a, F: Float>(
        &'a self,
        storage: &'a Storage<'py, F>,
    ) -> PyResult<Parts<'a, F>> {
        let target = self.target().ok_or_else(|| Error::BadLabels("none".into()));
        enter_briefly(|| Ok((storage.rows()?, target?.view()?, self.cost()?)))
    }

    /// [`Call::train_if`] for work that may be long.
    fn train<F: Float, R: Send>(
        &self,
        storage: &Storage<'py, F>,
        select: Option<AnyKernel>,
        task: impl FnOnce(
            &Problem<'_, F>,
            Option<&estimator::Machine<F>>,
            &mut Watch<'_>,
        ) -> Result<(estimator::Machine<F>, R)>
        + Send,
    ) -> PyResult<(Machine, R)> {
        self.train_if((storage, select), |_, _| true, task)
    }

    /// Enters Rust with the problem and the machine to start from; wraps what comes back. `long`
    /// tells of that machine and a number of rows whether the work may be more than a moment's. A
    /// machine of the kernel `select` is trained on the columns that occur, where they are few among
    /// very many.
    fn train_if<F: Float, R: Send>(
        &self,
        (storage, select): (&Storage<'py, F>, Option<AnyKernel>),
        long: impl FnOnce(Option<&estimator::Machine<F>>, usize) -> bool,
        task: impl FnOnce(
            &Problem<'_, F>,
            Option<&estimator::Machine<F>>,
            &mut Watch<'_>,
        ) -> Result<(estimator::Machine<F>, R)>
        + Send,
    ) -> PyResult<(Machine, R)> {
        let start = self.own("start")?;
        let start = start.as_ref().map(|machine| machine.cast::<Machine>()).transpose()?;
        let whole = enter_briefly(|| machine::of_rows(start.map(Bound::get)))?;
        let start = whole;
        // Rows come scaled.
        let behind = start.filter(|machine| machine.scaling().is_some()).map(|m| m.behind());
        let start = behind.as_ref().or(start);
        let (rows, targets, cost) = self.parts(storage)?;
        let long = rows.n_rows() > FEW || long(start, rows.n_rows());
        let (machine, report) = self.enter_if(long, |watch| {
            let look = &mut || watch.unbroken(Watch::glance);
            let selected = match (whole, select) {
                (Some(machine), _) => SelectedRows::of(&rows, machine, look)?,
                (None, Some(kernel)) => SelectedRows::new(&rows, kernel, look)?,
                (None, None) => SelectedRows::none(),
            };
            let problem = Problem::new(selected.rows(&rows)?, targets, cost)?;
            let (machine, report) = task(&problem, start, watch)?;
            Ok((selected.machine(machine)?, report))
        })?;
        Ok((Machine(F::any(machine)), report))
    }
}

/// Trains a machine of a family: (machine, report). What a family alone is given:
///
/// - all but "exact" and "primal": `start`, a machine that training goes on from (where its rows
///   are scaled, those of this call are, and its answer is the machine of such rows)
/// - "one_class": `task` as below
/// - "budget": `task` ("fit", "partial_fit", "polish" or "shard"), `validation`, a part (X, y,
///   weights), `shards`, of which X is one, and `checkpoint`, the path of a file that a fit goes on
///   from, the seconds after which it is written again, and JSON that says what the fit is
/// - "online", "local", "asset": `stream`, whether the rows are learnt as they stand
/// - "online": `record`, whether the history has decision values from before each row was learnt
/// - "local": `centers` of the cells
/// - "auto": `recipe`, parts of the search as JSON
/// - "primal": `basis`, rows of the type of X and the number of terms, and `before`, a solution
/// - "exact": `precomputed`, `functions`, values of free functions, and `to_tol`, whether a small
///   problem too is solved only so far
#[pyfunction]
#[pyo3(signature = (family, config, x, y, n_classes, cost, *, notify, threads, **own))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn train<'py>(
    py: Python<'py>,
    family: &str,
    config: String,
    x: &Bound<'py, PyAny>,
    y: Option<&Bound<'py, PyAny>>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
    own: Option<Bound<'py, PyDict>>,
) -> Trained<'py> {
    let target = y.map(|y| Target::new(y, n_classes)).transpose()?;
    let call = Call { py, config, target, n_classes, cost, notify, threads, own };
    let samples = Samples::new("X", x)?;
    if family == "exact" {
        return exact::train(py, &call, &samples);
    }
    with_storage!(&samples, storage => match family {
        "budget" => budget(&call, storage),
        "one_class" => one_class(&call, storage),
        "online" => online(&call, storage),
        "local" => local(&call, storage),
        "asset" => asset(&call, storage),
        "auto" => auto(&call, storage),
        "primal" => primal::train(py, &call, storage),
        _ => Err(exception(Error::Unsupported(format!("no family of machines '{family}'")))),
    })
}

fn told<'py>(call: &Call<'py>, (machine, report): (Machine, Report)) -> Trained<'py> {
    Ok((machine, convert::report(call.py, report)?))
}

fn checkpoint(given: &Bound<'_, PyAny>) -> PyResult<Checkpoint> {
    let (path, every, of): (std::path::PathBuf, f64, String) = given.extract()?;
    let json = |e: serde_json::Error| Error::Format(format!("{e}"));
    enter_briefly(|| Checkpoint::open(&path, every, serde_json::from_str(&of).map_err(json)?))
}

fn budget<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    type HeldOut<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, PyReadonlyArray1<'py, f64>);
    let config: BudgetConfig = call.config()?;
    let task: String = call.own("task")?.map_or(Ok(String::new()), |task| task.extract())?;
    let shards: usize = call.own("shards")?.map_or(Ok(1), |shards| shards.extract())?;
    let validation: Option<HeldOut<'py>> =
        call.own("validation")?.map(|part| part.extract()).transpose()?;
    let validation = match &validation {
        Some((x, y, weights)) => {
            Some((Samples::new("X", x)?, Target::new(y, call.n_classes)?, weights))
        }
        None => None,
    };
    let held_out = match &validation {
        Some((samples, target, weights)) => Some(enter_briefly(|| {
            let rows = F::of(samples).ok_or_else(|| {
                Error::Unsupported("the validation part must have the precision of X".into())
            })?;
            Ok((rows.rows()?, target.view()?, contiguous(weights)?))
        })?),
        None => None,
    };
    let checkpoint = call.own("checkpoint")?.map(|given| checkpoint(&given)).transpose()?;
    let long = |start: Option<&estimator::Machine<F>>, rows| {
        task != "partial_fit" || !config.only_holds(start, rows)
    };
    // What is given beside the rows has all columns.
    let alone = held_out.is_none() && checkpoint.is_none();
    let select = (task.is_empty() || task == "fit") && alone;
    let of = (storage, select.then_some(config.kernel));
    let trained = call.train_if(of, long, |problem, from, watch| match (&task[..], from) {
        ("polish", Some(start)) => config.polish(problem, start, watch),
        ("partial_fit", start) => config.partial_fit(problem, start, watch),
        ("shard", _) => config.shard_pass(problem, shards, watch),
        _ => {
            let held_out = match held_out {
                Some((rows, targets, weights)) => Some(Problem::new(rows, targets, weights)?),
                None => None,
            };
            let (held_out, checkpoint) = (held_out.as_ref(), checkpoint.as_ref().map(|c| c as _));
            config.fit(problem, Start { from, held_out, checkpoint }, watch)
        }
    })?;
    told(call, trained)
}

/// Scores, decision values, and what ended it.
type Places<'py> = (Vec<f64>, Vec<Bound<'py, PyArray1<f64>>>, Vec<f64>, Option<&'static str>);

/// Scores of a grid of C and γ: of every fold, γ and C; decision values of the test rows, in that
/// order, where they are to be kept; of every γ and C the share of the rows that it trained on; and
/// what stopped it. `cost` is that of C = 1.
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, grid, folds, weights, keep, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn cross_validate<'py>(
    py: Python<'py>,
    config: String,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    grid: (Vec<f64>, Vec<f64>, bool),
    folds: Vec<(Vec<usize>, Vec<usize>)>,
    weights: PyReadonlyArray1<'py, f64>,
    keep: bool,
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Places<'py>> {
    let call = Call::plain(py, config, (y, n_classes), cost, notify, threads)?;
    let config: BudgetConfig = call.config()?;
    let folds = folds.into_iter().map(|(train, test)| Fold { train, test }).collect();
    let grid = Grid { cs: grid.0, gammas: grid.1, folds, halving: grid.2 };
    let weights = enter_briefly(|| contiguous(&weights))?;
    let samples = Samples::new("X", x)?;
    let judged = with_storage!(&samples, storage => {
        let (rows, targets, cost) = call.parts(storage)?;
        call.enter(|watch| {
            let problem = Problem::new(rows, targets, cost)?;
            config.cross_validate(&problem, &grid, (weights, keep), watch)
        })
    })?;
    let scores = judged.places.iter().map(|place| place.score).collect();
    let values = judged.places.into_iter().filter(|_| keep);
    let values = values.map(|place| place.values.into_pyarray(py)).collect();
    Ok((scores, values, judged.shares, judged.stop.map(StopReason::name)))
}

/// C and γ, tuned where this says so; `cost` is that of C = 1.
#[pyfunction]
#[pyo3(signature = (config, x, y, n_classes, cost, *, which, notify, threads))]
#[expect(clippy::too_many_arguments, reason = "keywords of a private Python function")]
pub(crate) fn tune<'py>(
    py: Python<'py>,
    config: String,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    cost: PyReadonlyArray1<'py, f64>,
    which: (bool, bool),
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<(f64, f64)> {
    let call = Call::plain(py, config, (y, n_classes), cost, notify, threads)?;
    let config: BudgetConfig = call.config()?;
    let samples = Samples::new("X", x)?;
    with_storage!(&samples, storage => {
        let (rows, targets, cost) = call.parts(storage)?;
        call.enter(|watch| config.tuned(&Problem::new(rows, targets, cost)?, which, watch))
    })
}

fn one_class<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    let config: OneClassConfig = call.config()?;
    let task: String = call.own("task")?.map_or(Ok(String::new()), |task| task.extract())?;
    let select = (task.is_empty() || task == "fit").then_some(config.kernel);
    let trained = call.train(storage, select, |problem, from, watch| match (&task[..], from) {
        ("polish", Some(start)) => config.polish(problem, start, watch),
        ("partial_fit", start) => config.partial_fit(problem, start, watch),
        _ => config.fit(problem, watch),
    })?;
    told(call, trained)
}

fn online<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    let config: OnlineConfig = call.config()?;
    let (stream, record) = (call.flag("stream")?, call.flag("record")?);
    let select = (!stream && config.selects_columns()).then_some(config.kernel);
    let trained = call.train(storage, select, |problem, start, watch| match stream {
        true => config.partial_fit(problem, (start, record), watch),
        false => config.fit(problem, watch),
    })?;
    told(call, trained)
}

fn local<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    let config: LocalConfig = call.config()?;
    let stream = call.flag("stream")?;
    let read = |given: &Bound<'py, PyAny>| -> PyResult<PyReadonlyArray2<'py, F>> {
        let expected = "a C-ordered matrix of the precision of X";
        given.extract().map_err(|_| type_error("centers", expected, given))
    };
    let centers = call.own("centers")?.as_ref().map(read).transpose()?;
    let centers = enter_briefly(|| centers.as_ref().map(features::flat).transpose())?;
    let select = (!stream && centers.is_none()).then_some(config.kernel);
    let trained = call.train(storage, select, |problem, start, watch| match stream {
        true => config.partial_fit(problem, start, watch),
        false => config.fit(problem, centers, watch),
    })?;
    told(call, trained)
}

fn asset<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    let config: AssetConfig = call.config()?;
    let stream = call.flag("stream")?;
    let select = (!stream && config.selects_columns()).then_some(config.kernel);
    let (machine, report) = call.train(storage, select, |problem, start, watch| {
        let (rows, targets, cost) = (problem.rows(), problem.targets(), problem.cost());
        match stream {
            true => config.partial_fit(start, &rows, targets, cost, watch),
            false => config.fit(&rows, targets, cost, watch),
        }
    })?;
    Ok((machine, asset_report(call.py, report)?))
}

/// Scales of the features learnt for the kernel of a family's hyperparameters, and γ with them; None
/// where no error on rows held out falls.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "a private Python function")]
pub(crate) fn learn_scales<'py>(
    py: Python<'py>,
    kernel: &str,
    gamma: Option<f64>,
    x: &Bound<'py, PyAny>,
    y: &Bound<'py, PyAny>,
    n_classes: Option<usize>,
    weights: PyReadonlyArray1<'py, f64>,
    how: (Option<f64>, u64, Option<f64>),
    notify: Option<Bound<'py, PyAny>>,
    threads: usize,
) -> PyResult<Option<(Bound<'py, PyArray1<f64>>, f64)>> {
    let target = Target::new(y, n_classes)?;
    let samples = Samples::new("X", x)?;
    let of = match kernel {
        "rbf" => AnyKernel::Gaussian { gamma: gamma.unwrap_or(1.0) },
        "laplacian" => AnyKernel::Laplacian { gamma: gamma.unwrap_or(1.0) },
        _ => AnyKernel::Linear,
    };
    let learnt = with_storage!(&samples, storage => {
        let (rows, targets, cost) =
            enter_briefly(|| Ok((storage.rows()?, target.view()?, contiguous(&weights)?)))?;
        enter(py, threads, notify.as_ref(), |watch| {
            estimator::learn_scales(&Problem::new(rows, targets, cost)?, of, how, watch)
        })?
    });
    let learnt = learnt.map(|learnt| if gamma.is_some() { learnt.at(of) } else { learnt });
    Ok(learnt.map(|learnt| (learnt.scales.into_pyarray(py), learnt.gamma)))
}

fn asset_report(py: Python<'_>, report: AssetReport) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("n_iter", report.n_iter)?;
    told.set_item("stop_reason", report.stop.name())?;
    told.set_item("advice", report.advice)?;
    let time: Vec<f64> = report.history.iter().map(std::time::Duration::as_secs_f64).collect();
    let history = PyDict::new(py);
    history.set_item("time", time.into_pyarray(py))?;
    told.set_item("history", history)?;
    let objective = PyDict::new(py);
    objective.set_item("primal", report.objective.map(|both| both.0))?;
    objective.set_item("dual", report.objective.map(|both| both.1))?;
    told.set_item("objective", objective)?;
    Ok(told)
}

fn auto<'py, F: Float>(call: &Call<'py>, storage: &Storage<'py, F>) -> Trained<'py> {
    let mut config: AutoConfig = call.config()?;
    if let Some(recipe) = call.own("recipe")? {
        let recipe: String = recipe.extract()?;
        let wrong = |e: serde_json::Error| exception(Error::Unsupported(format!("recipe: {e}")));
        config.recipe = serde_json::from_str(&recipe).map_err(wrong)?;
    }
    let (machine, report) =
        call.train(storage, None, |problem, _, watch| config.fit(problem, watch))?;
    Ok((machine, auto_report(call.py, report)?))
}

fn auto_report(py: Python<'_>, report: AutoReport) -> PyResult<Bound<'_, PyDict>> {
    let told = PyDict::new(py);
    told.set_item("n_iter", 1)?;
    told.set_item("stop_reason", report.stop.name())?;
    told.set_item("history", convert::history(py, report.history)?)?;
    told.set_item("gamma", report.gammas.into_pyarray(py))?;
    told.set_item("C", report.costs.into_pyarray(py))?;
    told.set_item("calibration", report.calibration.into_pyarray(py))?;
    told.set_item("advice", report.advice)?;
    let scales: Vec<_> = report.scales.into_iter().map(|s| s.into_pyarray(py)).collect();
    told.set_item("scales", scales)?;
    let mut judged = Vec::with_capacity(report.judged.len());
    for one in report.judged {
        let line = PyDict::new(py);
        line.set_item("kernel", one.kernel)?;
        line.set_item("coding", one.coding)?;
        line.set_item("scales", one.scales)?;
        line.set_item("lambda", one.lambda)?;
        line.set_item("error", one.error)?;
        line.set_item("weight", one.weight)?;
        judged.push(line);
    }
    told.set_item("judged", judged)?;
    Ok(told)
}
