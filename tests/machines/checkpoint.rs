//! A fit that dies anywhere goes on from what it left, to the bits of one that did not.

#![allow(clippy::unwrap_used, reason = "a test that cannot train must fail")]

use std::collections::BTreeMap;
use std::sync::Mutex;

use budgetsvm::data::{Problem, Rows, SampleOrder, Targets};
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{BudgetConfig, Checkpoint, Maintenance, Report, Start};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::loss::AnyLoss;
use budgetsvm::solver::Method;
use budgetsvm::watch::{Keeper, Silent, Watch};
use ndarray::Array2;

/// Holds what is left in memory; dies when it is to keep something for the so many-th time.
#[derive(Debug, Default)]
struct Dies {
    parts: Mutex<BTreeMap<String, Vec<u64>>>,
    left: Mutex<usize>,
    found: bool,
    /// It is not due so often at first: to keep what is large takes its time.
    skip: Mutex<usize>,
    /// How often something was kept.
    kept: Mutex<usize>,
}

impl Keeper for Dies {
    fn found(&self, name: &str) -> Option<Vec<u64>> {
        self.found.then(|| self.parts.lock().unwrap().get(name).cloned()).flatten()
    }

    fn is_due(&self) -> bool {
        let mut skip = self.skip.lock().unwrap();
        *skip = skip.saturating_sub(1);
        *skip == 0
    }

    fn keep(&self, name: &str, words: Vec<u64>, _now: bool) -> Result<()> {
        let mut left = self.left.lock().unwrap();
        if *left == 0 {
            return Err(Error::Interrupted);
        }
        *left -= 1;
        *self.kept.lock().unwrap() += 1;
        self.parts.lock().unwrap().insert(name.to_owned(), words);
        Ok(())
    }
}

struct Data {
    x: Array2<f32>,
    classes: Vec<u32>,
    cost: Vec<f64>,
}

fn data(n: usize, classes: u32) -> Data {
    data_of((n, 3), classes)
}

fn data_of((n, d): (usize, usize), classes: u32) -> Data {
    let mut state = 7_u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / 1e7
    };
    let x = Array2::from_shape_fn((n, d), |_| next());
    let mut of = |row: &[f32]| ((row[0] * 4.0 + row[1] * 3.0 + next() * 0.2) as u32) % classes;
    let classes = x.rows().into_iter().map(|row| of(row.as_slice().unwrap()));
    let classes = classes.collect();
    Data { x, classes, cost: vec![2.0; n] }
}

/// Values of the model at some points, and what the report tells but for times.
type Fitted = (Vec<f64>, String);

fn fit(config: &BudgetConfig, data: &Data, keeper: Option<&dyn Keeper>) -> Result<Fitted> {
    let values: Vec<f64> = data.classes.iter().map(|&y| f64::from(y)).collect();
    let n_classes = data.classes.iter().max().map_or(0, |c| *c as usize + 1);
    let targets = match config.loss.is_classification() {
        true => Targets::Classes { index: &data.classes, n_classes },
        false => Targets::from(&values[..]),
    };
    let problem = Problem::new(Rows::Dense(data.x.view()), targets, &data.cost)?;
    let start = Start { checkpoint: keeper, ..Start::default() };
    let (machine, report) = Watch::run(2, &mut Silent, |watch| config.fit(&problem, start, watch))?;
    let points = Rows::Dense(data.x.slice(ndarray::s![..data.x.nrows().min(200), ..]));
    Ok((machine.decide(&points, 1)?.into_iter().collect(), told(report)))
}

fn told(report: Report) -> String {
    let mut history = report.history;
    history.retain(|curve| curve.0 != "time"); // and NaN are equal as text
    format!("{} {:?} {:?} {:?}", report.n_iter, report.stop, report.primal, history)
}

/// These hyperparameters but for some.
fn with(mut config: BudgetConfig, change: impl FnOnce(&mut BudgetConfig)) -> BudgetConfig {
    change(&mut config);
    config
}

fn base() -> BudgetConfig {
    with(BudgetConfig::default(), |c| {
        c.kernel = AnyKernel::Gaussian { gamma: 1.0 };
        c.budget = Some(20);
        c.max_iter = 2;
    })
}

/// Dies at these moments, and once more.
fn check(config: &BudgetConfig, data: &Data, moments: &[usize]) {
    check_after(0, config, data, moments);
}

/// The same, where nothing is kept in so many blocks of the first pass.
fn check_after(skip: usize, config: &BudgetConfig, data: &Data, moments: &[usize]) {
    let whole = fit(config, data, None).unwrap();
    let new = |left, skip| {
        let (left, skip) = (Mutex::new(left), Mutex::new(skip));
        Dies { left, skip, ..Dies::default() }
    };
    let keeper = new(usize::MAX, skip);
    assert!(whole == fit(config, data, Some(&keeper)).unwrap());
    let all = *keeper.kept.lock().unwrap();
    for &moment in moments {
        let mut keeper = new(moment, skip);
        let died = fit(config, data, Some(&keeper));
        assert!(matches!(died, Err(Error::Interrupted)), "{moment} is after the end");
        for more in [3, usize::MAX] {
            keeper = Dies { parts: keeper.parts, found: true, ..new(more, 0) };
            if let Ok(found) = fit(config, data, Some(&keeper)) {
                assert!(whole == found, "killed at {moment}: {whole:?}\n{found:?}");
                // What was left is not done again, but for what each output was at.
                let again = *keeper.kept.lock().unwrap();
                assert!(again + moment <= all + 4, "{moment} of {all}, then {again}");
            } else {
                assert_eq!(more, 3);
            }
        }
    }
}

#[test]
fn passes_go_on_within_a_pass() {
    let two = data(1500, 2);
    let plain = with(base(), |c| c.polishing = false);
    let moments = &[1, 2, 17, 60];
    check(&base(), &two, moments);
    check(&plain, &two, moments);
    let sgd = with(plain.clone(), |c| c.solver = Method::Bsgd);
    check(&sgd, &two, moments);
    check(&with(plain.clone(), |c| c.record_objective = true), &two, moments);
    for order in [SampleOrder::Uniform, SampleOrder::Blocks, SampleOrder::Sequential] {
        check(&with(plain.clone(), |c| c.order = order), &two, moments);
    }
    for maintenance in [
        Maintenance::MultiMerge,
        Maintenance::Project,
        Maintenance::RemoveRandom,
        Maintenance::RemoveOldest,
        Maintenance::RemoveSmallest,
        Maintenance::Stop,
    ] {
        check(&with(plain.clone(), |c| c.maintenance = maintenance), &two, moments);
    }
    let unbounded = with(plain, |c| {
        c.budget = None;
        c.max_iter = 3;
    });
    check(&unbounded, &two, &[1, 33, 90]);
}

#[test]
fn several_outputs_and_early_stopping_go_on() {
    let (two, three) = (data(1200, 2), data(1200, 3));
    check(&with(base(), |c| c.shared = true), &three, &[1, 40, 100]);
    let each = with(base(), |c| c.shared = false);
    check(&each, &three, &[1, 40, 100, 200, 450]);
    let early = with(each, |c| (c.early_stopping, c.max_iter, c.n_iter_no_change) = (true, 5, 2));
    check(&early, &two, &[1, 35, 70, 100]);
    check(&early, &three, &[1, 70, 150]);
    let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
    check(&with(base(), |c| (c.loss, c.fit_intercept) = (loss, true)), &three, &[1, 40, 100]);
    check(&with(base(), |c| c.refine = true), &two, &[149, 151]);
}

/// So many features that terms are held row by row too.
#[test]
fn wide_rows_go_on() {
    let (two, three) = (data_of((1200, 70), 2), data_of((1200, 70), 3));
    let wide = with(base(), |c| c.kernel = AnyKernel::Gaussian { gamma: 0.03 });
    check(&wide, &two, &[1, 17, 60]);
    let removing = with(wide.clone(), |c| c.maintenance = Maintenance::RemoveRandom);
    check(&removing, &two, &[1, 17, 60]);
    check(&with(wide, |c| c.shared = true), &three, &[1, 40, 100]);
}

#[test]
fn polishing_goes_on_between_two_looks() {
    // Few rows for many terms: on all rows, then on those near the margin.
    let config = with(base(), |c| {
        c.budget = Some(800);
        c.max_iter = 1;
    });
    check_after(usize::from(u16::MAX), &config, &data(5000, 2), &[1]);
    let blocks = 5000_usize.div_ceil(32);
    check_after(blocks, &config, &data(5000, 2), &[1, 3]);
    // Many rows for few terms: on parts before.
    let config = with(config, |c| c.budget = Some(100));
    let blocks = 300_000_usize.div_ceil(16);
    check_after(blocks, &config, &data(680_000, 2), &[2]);
}

#[test]
fn a_file_is_of_one_fit_and_gone_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fit.safetensors");
    let of = serde_json::json!({"what": 1});
    let (config, rows) = (base(), data(1500, 2));
    let checkpoint = Checkpoint::open(&path, 0.0, of.clone()).unwrap();
    assert!(!checkpoint.is_found());
    let whole = fit(&config, &rows, Some(&checkpoint)).unwrap();
    // What the last file has goes on to the same model.
    let again = Checkpoint::open(&path, 60.0, of.clone()).unwrap();
    assert!(again.is_found());
    assert_eq!(fit(&config, &rows, Some(&again)).unwrap(), whole);
    let other = Checkpoint::open(&path, 0.0, serde_json::json!({"what": 2}));
    assert!(matches!(other, Err(Error::Unsupported(_))));
    assert!(Checkpoint::open(&path, -1.0, of.clone()).is_err());
    assert!(Checkpoint::open(&folder.path().join("fit"), 0.0, of.clone()).is_err());
    again.done().unwrap();
    assert!(!path.exists());
    std::fs::write(&path, b"nothing of the kind").unwrap();
    assert!(matches!(Checkpoint::open(&path, 0.0, of), Err(Error::Format(_))));
}

/// A fit that dies the so many-th time, and others that find what it left with a word changed, or cut.
fn hostile(config: &BudgetConfig, rows: &Data, others: &[&Data], (left, skip): (usize, usize)) {
    let (left, skip) = (Mutex::new(left), Mutex::new(skip));
    let keeper = Dies { left, skip, ..Dies::default() };
    assert!(fit(config, rows, Some(&keeper)).is_err());
    let parts = keeper.parts.into_inner().unwrap();
    let go_on = |name: &str, words: Vec<u64>, data: &Data| {
        let mut parts = parts.clone();
        parts.insert(name.to_owned(), words);
        let (parts, left) = (Mutex::new(parts), Mutex::new(usize::MAX));
        fit(config, data, Some(&Dies { parts, left, found: true, ..Dies::default() }))
    };
    for (name, words) in &parts {
        // All of the first ones, which count, then some.
        let step = words.len() / 40 + 1;
        for at in (0..words.len().min(60)).chain((60..words.len()).step_by(step)) {
            // A clock at its last tick, a count, numbers that are none.
            for word in [u64::MAX, u64::MAX / 3, f64::NAN.to_bits(), f64::INFINITY.to_bits()] {
                let bad = [&words[..at], &[word], &words[at + 1..]].concat();
                // Numbers of a model may be any; nothing is read that is not there.
                for data in others.iter().chain([&rows]) {
                    if let Ok((values, _)) = go_on(name, bad.clone(), data) {
                        assert!(values.iter().all(|v| v.is_finite()), "{name}: {word} at {at}");
                    }
                }
            }
            assert!(go_on(name, words[..at].to_vec(), rows).is_err());
        }
    }
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (rows, few) = (data(300, 2), data(40, 2));
    let plain = with(base(), |c| c.polishing = false);
    hostile(&plain, &rows, &[&few], (9, 0));
    let project = with(plain, |c| c.maintenance = Maintenance::Project);
    hostile(&project, &rows, &[&few], (9, 0));
    // Within polishing.
    let config = with(base(), |c| {
        c.budget = Some(300);
        c.max_iter = 1;
    });
    hostile(&config, &data(2000, 2), &[&few], (1, usize::from(u16::MAX)));
}
