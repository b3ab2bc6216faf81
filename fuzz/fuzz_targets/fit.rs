//! Any hyperparameters on any small data: a documented error, or a model of finite numbers.
#![no_main]

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use arbitrary::Arbitrary;
use budgetsvm::config::{Builder, Config, FromConfig};
use budgetsvm::data::Rows;
use budgetsvm::estimator::{
    AssetConfig, BudgetConfig, Classifier, ExactConfig, LocalConfig, OfValues, OnlineConfig,
    PrimalConfig, Regressor, Trains, Weighted,
};
use budgetsvm::watch::{Cancel, Progress};
use libfuzzer_sys::fuzz_target;

/// What a hyperparameter may be: one of these, a number of few digits, or any number.
const VALUES: [&str; 34] = [
    "null", "true", "false", "0", "1", "2", "3", "-1", "0.5", "1e-12", "1e12", "1e308", "1e-320",
    "9223372036854775807", "18446744073709551615", "\"rbf\"", "\"laplacian\"", "\"poly\"",
    "\"sigmoid\"", "\"linear\"", "\"hinge\"", "\"squared_hinge\"", "\"merge\"", "\"project\"",
    "\"bsgd\"", "\"dual\"", "\"cg\"", "\"newton\"", "\"fourier\"", "\"uniform\"", "\"greedy\"",
    "\"random\"", "\"log_loss\"", "\"mpd\"",
];

#[derive(Arbitrary, Debug)]
enum Value {
    Listed(u8),
    Small(i8),
    Any(f64),
}

#[derive(Arbitrary, Debug)]
struct Input {
    family: u8,
    params: Vec<(u8, Value)>,
    values: Vec<f32>,
    labels: Vec<u8>,
    columns: u8,
    scaled: bool,
}

fn changed<C: Config>(config: C, params: &[(u8, Value)]) -> Option<C> {
    let all: serde_json::Value = serde_json::from_str(&config.to_json()).ok()?;
    let names: Vec<&String> = all.as_object()?.keys().collect();
    params.iter().take(8).try_fold(config, |config, (name, value)| {
        let name = names.get(usize::from(*name) % names.len())?;
        let value = match value {
            Value::Listed(at) => VALUES[usize::from(*at) % VALUES.len()].to_owned(),
            Value::Small(number) => number.to_string(),
            Value::Any(number) if number.is_finite() => format!("{number:e}"),
            Value::Any(_) => "null".to_owned(),
        };
        Some(config.changed(&format!("{{\"{name}\": {value}}}")).unwrap_or(config))
    })
}

fn classes<C: Weighted + Trains + Default>(rows: &Rows<'_, f64>, input: &Input) {
    let Some(config) = changed(C::default(), &input.params) else { return };
    let builder: Builder<C, Classifier<C>> = Builder::new(config);
    let Ok(classifier) = builder.threads(1).build() else { return };
    let n = rows.n_rows();
    let labels: Vec<u8> =
        (0..n).map(|i| input.labels.get(i).map_or((i % 2) as u8, |label| label % 4)).collect();
    if let Ok(model) = classifier.fit_observed(rows, &labels, None, &mut until()) {
        if let Ok(values) = model.decision_function(rows) {
            assert!(values.iter().all(|v| v.is_finite()));
        }
    }
}

fn values<C: OfValues + Trains + Default>(rows: &Rows<'_, f64>, input: &Input)
where
    Regressor<C>: FromConfig<C>,
{
    let Some(config) = changed(C::default(), &input.params) else { return };
    let builder: Builder<C, Regressor<C>> = Builder::new(config);
    let Ok(regressor) = builder.threads(1).build() else { return };
    let targets: Vec<f64> = (0..rows.n_rows())
        .map(|i| f64::from(input.labels.get(i).copied().unwrap_or(i as u8)) - 100.0)
        .collect();
    if let Ok(model) = regressor.fit_observed(rows, &targets, None, &mut until()) {
        if let Ok(values) = model.predict(rows) {
            assert!(values.iter().all(|v| v.is_finite()));
        }
    }
}

/// An observer that ends a fit after a fifth of a second.
fn until() -> impl FnMut(&Progress) -> ControlFlow<Cancel> + Send {
    let start = Instant::now();
    move |_| match start.elapsed() < Duration::from_millis(200) {
        true => ControlFlow::Continue(()),
        false => ControlFlow::Break(Cancel::Keep),
    }
}

fuzz_target!(|input: Input| {
    let d = usize::from(input.columns % 5) + 1;
    let n = (input.values.len() / d).min(24);
    let scale = if input.scaled { 1.0 } else { 1e-30 };
    let number = |v: &f32| if v.is_finite() { f64::from(*v) * scale } else { 1.0 };
    let flat: Vec<f64> = input.values.iter().take(n * d).map(number).collect();
    let Ok(rows) = Rows::of_slice(&flat, d) else { return };
    match input.family % 9 {
        0 => classes::<BudgetConfig>(&rows, &input),
        1 => classes::<ExactConfig>(&rows, &input),
        2 => classes::<PrimalConfig>(&rows, &input),
        3 => classes::<AssetConfig>(&rows, &input),
        4 => classes::<LocalConfig>(&rows, &input),
        5 => classes::<OnlineConfig>(&rows, &input),
        6 => values::<BudgetConfig>(&rows, &input),
        7 => values::<PrimalConfig>(&rows, &input),
        _ => values::<AssetConfig>(&rows, &input),
    }
});
