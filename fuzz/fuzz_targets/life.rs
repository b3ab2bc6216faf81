//! Any hyperparameters, rows, labels and weights, as an estimator of any family gets them.

use arbitrary::Arbitrary;
use budgetsvm::config::{Builder, Config, FromConfig};
use budgetsvm::data::{Csr, Rows};
use budgetsvm::estimator::{
    AssetConfig, BudgetConfig, Classifier, ClassifierModel, Family, LocalConfig, NuSvc, NuSvr,
    OfValues, OnlineConfig, Precision, PrimalConfig, Regressor, RegressorModel, Saved, Streams, Svc,
    Svr, Weighted,
};
use budgetsvm::watch::Silent;
use ndarray::Array2;
use serde_json::{Map, Value};

/// What takes the place of a hyperparameter's value.
#[derive(Arbitrary, Debug)]
pub enum Change {
    Nothing,
    Yes(bool),
    Count(u16),
    Whole(i8),
    Tenth(i8),
    Power(i16),
    Number(f64),
    Word(u8),
}

/// A case.
#[derive(Arbitrary, Debug)]
pub struct Input {
    family: u8,
    sparse: bool,
    n_cols: u8,
    values: Vec<i16>,
    scale: i8,
    labels: Vec<u8>,
    weights: Option<Vec<u8>>,
    changes: Vec<(u8, Change)>,
    parts: u8,
}

/// Names of choices, and those that no type refuses.
const WORDS: [&str; 52] = [
    "rbf", "laplacian", "poly", "sigmoid", "linear", "matern32", "matern52", "hinge",
    "squared_hinge", "smooth_hinge", "log_loss", "epsilon_insensitive",
    "squared_epsilon_insensitive", "huber", "squared_error", "absolute_error", "quantile",
    "least_squares", "bsca", "bsgd", "smo", "mpd", "dual", "auto", "newton", "cg", "asset", "merge",
    "multi-merge", "remove-smallest", "remove-random", "remove-oldest", "project", "stop", "golden",
    "table", "shuffled", "uniform", "sequential", "nystroem", "fourier", "kmeans++", "random",
    "cholesky", "greedy", "shifted", "paired", "augmented", "online", "kmeans", "lvq", "",
];

/// Names that stand beside a choice.
const BESIDE: [&str; 16] = [
    "gamma", "coef0", "degree", "epsilon", "quantile", "learner", "budget", "eta", "nu", "solver",
    "threshold", "regularization", "strongly_convex", "n_frequencies", "max_coef", "learning_rate",
];

const LEARNERS: [&str; 11] = [
    "perceptron", "ogd", "rbp", "stoptron", "forgetron", "projectron", "bpas", "bogd", "spa", "fogd",
    "nogd",
];

fn word(at: u8) -> &'static str {
    let at = usize::from(at);
    if at < WORDS.len() { WORDS[at] } else { LEARNERS[at % LEARNERS.len()] }
}

fn value(change: &Change) -> Value {
    match *change {
        Change::Nothing => Value::Null,
        Change::Yes(yes) => yes.into(),
        Change::Count(count) => count.into(),
        Change::Whole(whole) => whole.into(),
        Change::Tenth(tenth) => (f64::from(tenth) / 10.0).into(),
        Change::Power(power) => 10f64.powi(i32::from(power)).into(),
        Change::Number(number) => number.into(),
        Change::Word(at) => word(at).into(),
    }
}

impl Input {
    /// The hyperparameters with the changes, or why not. Every fit ends soon.
    fn config<C: Config>(&self, default: C) -> Option<C> {
        let known: Map<String, Value> = serde_json::from_str(&default.to_json()).ok()?;
        let names: Vec<&str> = known.keys().map(String::as_str).chain(BESIDE).collect();
        let mut given = Map::new();
        for (at, change) in &self.changes {
            given.insert(names[usize::from(*at) % names.len()].to_owned(), value(change));
        }
        given.insert("max_time".into(), 0.2.into());
        default.changed(&Value::Object(given).to_string()).ok()
    }

    fn width(&self) -> usize {
        usize::from(self.n_cols % 6) + 1
    }

    fn weights(&self, n: usize) -> Option<Vec<f64>> {
        let given = self.weights.as_ref().filter(|given| !given.is_empty())?;
        Some((0..n).map(|i| f64::from(given[i % given.len()]) / 8.0).collect())
    }

    fn labels(&self, n: usize) -> Vec<u8> {
        (0..n).map(|i| self.labels.get(i).map_or(i as u8, |&label| label) % 8).collect()
    }

    fn dense<F: Precision>(&self) -> Array2<F> {
        let d = self.width();
        let n = (self.values.len() / d).min(24);
        let scale = 10f64.powi(i32::from(self.scale) / 4);
        Array2::from_shape_fn((n, d), |(i, j)| {
            F::from_f64(f64::from(self.values[i * d + j]) / 256.0 * scale)
        })
    }
}

/// What a fitted machine says, which is as many finite numbers as there are rows.
trait Fitted<F: Precision> {
    fn said(&self, rows: &Rows<'_, F>) -> budgetsvm::error::Result<Vec<f64>>;
}

impl<C: Family, F: Precision> Fitted<F> for ClassifierModel<C, F, u8> {
    fn said(&self, rows: &Rows<'_, F>) -> budgetsvm::error::Result<Vec<f64>> {
        assert_eq!(self.predict(rows)?.len(), rows.n_rows());
        Ok(self.decision_function(rows)?.into_iter().collect())
    }
}

impl<C: Family, F: Precision> Fitted<F> for RegressorModel<C, F> {
    fn said(&self, rows: &Rows<'_, F>) -> budgetsvm::error::Result<Vec<f64>> {
        self.predict(rows)
    }
}

fn look<F: Precision>(model: &impl Fitted<F>, rows: &Rows<'_, F>) {
    if let Ok(values) = model.said(rows) {
        assert!(values.len() >= rows.n_rows() && values.iter().all(|v| v.is_finite()));
    }
}

fn built<C: Config, E: FromConfig<C>>(config: Option<C>) -> Option<E> {
    Builder::new(config?).threads(1).build().ok()
}

fn class<C: Weighted, F: Precision>(input: &Input, rows: &Rows<'_, F>, labels: &[u8]) {
    let Some(machine) = built::<C, Classifier<C>>(input.config(C::default())) else { return };
    let weights = input.weights(labels.len());
    let model = machine.fit_observed(rows, labels, weights.as_deref(), &mut Silent);
    model.iter().for_each(|model| look(model, rows));
}

fn number<C: Weighted + OfValues, F: Precision>(input: &Input, rows: &Rows<'_, F>, y: &[f64]) {
    let Some(machine) = built::<C, Regressor<C>>(input.config(C::of_values())) else { return };
    let weights = input.weights(y.len());
    let model = machine.fit_observed(rows, y, weights.as_deref(), &mut Silent);
    model.iter().for_each(|model| look(model, rows));
}

/// `built` with what its builder has unless set.
macro_rules! exactly {
    ($estimator:ident, $input:ident, $rows:ident, $targets:expr) => {{
        let config = $input.config(*$estimator::builder().config());
        let machine = built::<_, $estimator>(config);
        let weights = $input.weights($rows.n_rows());
        let fit = |machine: $estimator| {
            machine.fit_observed($rows, $targets, weights.as_deref(), &mut Silent).ok()
        };
        machine.and_then(fit).iter().for_each(|model| look(model, $rows));
    }};
}

/// A fit of any family.
pub fn fit<F: Precision>(input: &Input) {
    each(input, &|rows: &Rows<'_, F>| {
        let n = rows.n_rows();
        let labels = &input.labels(n)[..];
        let y: &[f64] = &labels.iter().map(|&label| f64::from(label) - 3.5).collect::<Vec<_>>();
        match input.family % 11 {
            0 => class::<BudgetConfig, F>(input, rows, labels),
            1 => number::<BudgetConfig, F>(input, rows, y),
            2 => class::<PrimalConfig, F>(input, rows, labels),
            3 => number::<PrimalConfig, F>(input, rows, y),
            4 => class::<AssetConfig, F>(input, rows, labels),
            5 => number::<AssetConfig, F>(input, rows, y),
            6 => class::<LocalConfig, F>(input, rows, labels),
            7 => exactly!(Svc, input, rows, labels),
            8 => exactly!(NuSvc, input, rows, labels),
            9 => exactly!(Svr, input, rows, y),
            _ => exactly!(NuSvr, input, rows, y),
        }
    });
}

/// A stream of any family that learns from one: parts, and between them a file.
pub fn stream<F: Precision>(input: &Input) {
    each(input, &|rows: &Rows<'_, F>| match input.family % 4 {
        0 => parts::<BudgetConfig, F>(input, rows),
        1 => parts::<AssetConfig, F>(input, rows),
        2 => parts::<LocalConfig, F>(input, rows),
        _ => parts::<OnlineConfig, F>(input, rows),
    });
}

/// Rows as they are given, dense or sparse.
fn each<F: Precision>(input: &Input, work: &dyn Fn(&Rows<'_, F>)) {
    let dense = input.dense::<F>();
    if !input.sparse {
        return work(&Rows::from(&dense));
    }
    let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0_i64]);
    for row in dense.rows() {
        for (j, &value) in row.iter().enumerate().filter(|(_, v)| **v != F::zero()) {
            values.push(value);
            columns.push(j as i64);
        }
        starts.push(values.len() as i64);
    }
    let (columns, starts) = (&columns[..], &starts[..]);
    if let Ok(rows) = Csr::new(&values, columns, starts, dense.ncols()) {
        work(&Rows::from(rows));
    }
}

fn parts<C: Streams, F: Precision>(input: &Input, rows: &Rows<'_, F>)
where
    ClassifierModel<C, F, u8>: Saved,
{
    let Some(machine) = built::<C, Classifier<C>>(input.config(C::default())) else { return };
    let labels = input.labels(rows.n_rows());
    let Ok(mut model) = machine.partial_fit(rows, &labels, &[0, 1, 2, 3, 4, 5, 6, 7]) else { return };
    for part in 0..input.parts % 4 {
        let turned: Vec<u8> = labels.iter().map(|label| (label + part) % 8).collect();
        // A part that is refused leaves a machine that works.
        let _ = model.learn(rows, &turned);
        look(&model, rows);
        let Ok(bytes) = model.to_bytes() else { continue };
        let again = ClassifierModel::<C, F, u8>::from_bytes(&bytes);
        let again = again.unwrap_or_else(|error| panic!("a file of ours is refused: {error}"));
        let (was, is) = (model.decision_function(rows), again.decision_function(rows));
        assert_eq!(was.ok(), is.ok());
        model = again;
    }
}
