//! Predicting one row: no allocation once a thread has predicted, and how long it takes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use budgetsvm::data::Rows;
use budgetsvm::data::svmlight::{Origin, Reader, Table};
use budgetsvm::error::{Error, check_room};
use budgetsvm::estimator::{
    AssetFeatures, AssetSvc, BudgetSvc, BudgetSvr, LocalBudgetSvc, Maintenance, OnlineSvc,
    Precision, PrimalSvc, PrimalSvr, Svc, SvcModel, Svr,
};
use budgetsvm::features::Waves;
use budgetsvm::kernel::{AnyKernel, Gaussian};
use budgetsvm::model::CalibrationMethod;
use budgetsvm::model::libsvm::LibsvmModel;
use budgetsvm::parallel::{PRODUCT, ready};
use budgetsvm::rng::Rng;
use ndarray::Array2;

/// Counts what the thread that asks allocates.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    /// Bytes that the thread has asked for and not given back.
    static HELD: Cell<isize> = const { Cell::new(0) };
    /// Bytes that the thread has asked for in all: more, in time, than 32 bits count.
    static ASKED: Cell<u64> = const { Cell::new(0) };
}

fn count(bytes: usize) {
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
    let _ = ASKED.try_with(|asked| asked.set(asked.get() + bytes as u64));
}

fn hold(more: usize, less: usize) {
    let _ = HELD.try_with(|held| held.set(held.get() + more as isize - less as isize));
}

// SAFETY: it is the system's allocator, and counts.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        hold(layout.size(), 0);
        // SAFETY: passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        hold(0, layout.size());
        // SAFETY: passed on.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        hold(size, layout.size());
        // SAFETY: passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Allocations of this thread in 1000 calls, after a first one.
fn allocations(mut call: impl FnMut(usize)) -> usize {
    call(0);
    let before = ALLOCATIONS.get();
    (0..1000).for_each(call);
    ALLOCATIONS.get() - before
}

/// Rows of `k` classes, each about a point of its own.
fn clouds<F: Precision>(n: usize, d: usize, k: usize) -> (Array2<F>, Vec<usize>) {
    let mut rng = Rng::new(3);
    let labels: Vec<usize> = (0..n).map(|i| i % k).collect();
    let rows = Array2::from_shape_fn((n, d), |(i, j)| {
        let center = if j % k == i % k { 1.5 } else { 0.0 };
        F::from_f64(center + rng.normal())
    });
    (rows, labels)
}

/// Numbers of features: few; more than a word of bits that say which of a row's are zero; more than
/// a part that products are added in; and many such parts.
const WIDTHS: [usize; 4] = [12, 65, 123, 1000];

fn nothing_is_allocated<F: Precision>(k: usize) {
    WIDTHS.into_iter().for_each(|d| nothing_is_allocated_at::<F>(k, d));
}

fn nothing_is_allocated_at<F: Precision>(k: usize, d: usize) {
    let (mut x, y) = clouds::<F>(400, d, k);
    // Rows with and without zeros are decided about by different ways.
    x.iter_mut().enumerate().filter(|(at, _)| (at / d).is_multiple_of(2) && at % 3 > 0).for_each(
        |(_, v)| {
            *v = F::from_f64(0.0);
        },
    );
    let (rows, kernel) = (Rows::from(&x), Gaussian::new(0.6 / d as f64).unwrap());
    let row = |i: usize| &x.as_slice().unwrap()[i % 400 * d..][..d];
    let values: Vec<f64> = y.iter().map(|&y| y as f64).collect();
    // Each model predicts what it predicts of all rows, and allocates nothing for it.
    macro_rules! check {
        ($name:literal, $model:expr, $same:expr) => {
            let model = $model.unwrap();
            let all = model.predict(&rows).unwrap();
            for (i, expected) in all.iter().enumerate() {
                let one = model.predict_one(row(i)).unwrap();
                assert!($same(one, expected), "{}: row {i}", $name);
            }
            let none = allocations(|i| {
                black_box(model.predict_one(row(i)).unwrap());
            });
            assert_eq!(none, 0, "{} of {k} classes, {d} features, {}", $name, F::NAME);
        };
    }

    let class = |one: &usize, expected: &usize| one == expected;
    let value = |one: f64, expected: &f64| one == *expected;
    for shared in [true, false] {
        let svc = BudgetSvc::builder().budget(30).kernel(kernel).shared(shared).build().unwrap();
        check!("BudgetSvc", svc.fit(&rows, &y), class);
        let model = svc.fit(&rows, &y).unwrap();
        let mut out = vec![0.0; if k == 2 { 1 } else { k }];
        let all = model.decision_function(&rows).unwrap();
        let none = allocations(|i| {
            let at = i % 400;
            model.decision_into(&rows.range(at, at + 1), &mut out).unwrap();
            assert_eq!(all.row(at).as_slice().unwrap(), out);
        });
        assert_eq!(none, 0);
    }
    let svr = BudgetSvr::builder().budget(30).kernel(kernel).build().unwrap();
    check!("BudgetSvr", svr.fit(&rows, &values), value);
    let polynomial = AnyKernel::Polynomial { gamma: 0.1, coef0: 1.0, degree: 2 };
    let svr = BudgetSvr::builder()
        .budget(30)
        .kernel(polynomial)
        .maintenance(Maintenance::RemoveSmallest)
        .build()
        .unwrap();
    check!("BudgetSvr, polynomial", svr.fit(&rows, &values), value);
    let scales: Vec<f64> = (0..d).map(|j| [2.0, 0.5, 0.0][j % 3]).collect();
    let scaled = BudgetSvc::builder().budget(30).kernel(kernel).feature_scales(scales.clone());
    check!("BudgetSvc, scaled", scaled.build().unwrap().fit(&rows, &y), class);
    let scaled = Svr::builder().kernel(kernel).feature_scales(scales).build().unwrap();
    check!("Svr, scaled", scaled.fit(&rows, &values), value);
    let svc = Svc::builder().kernel(kernel).build().unwrap();
    check!("Svc", svc.fit(&rows, &y), class);
    let held_out = |model: &SvcModel<F, usize>| {
        model.calibrate_held_out((&rows, &y, None), CalibrationMethod::Sigmoid)
    };
    check!("Svc, calibrated", held_out(&svc.fit(&rows, &y).unwrap()), class);
    check!("Svr", Svr::builder().kernel(kernel).build().unwrap().fit(&rows, &values), value);
    let primal = PrimalSvc::builder().kernel(kernel).build().unwrap();
    check!("PrimalSvc", primal.fit(&rows, &y), class);
    let linear = PrimalSvr::builder().kernel(AnyKernel::Linear).build().unwrap();
    check!("PrimalSvr, linear", linear.fit(&rows, &values), value);
    let fourier = AssetFeatures::Fourier { orthogonal: false, waves: Waves::Paired };
    for features in [AssetFeatures::Nystroem { threshold: None }, fourier] {
        let asset = AssetSvc::builder().features(features).kernel(kernel).build().unwrap();
        check!("AssetSvc", asset.fit(&rows, &y), class);
    }
    let online = OnlineSvc::builder().kernel(kernel).build().unwrap();
    check!("OnlineSvc", online.fit(&rows, &y), class);
    let local = LocalBudgetSvc::builder().kernel(kernel).build().unwrap();
    check!("LocalBudgetSvc", local.fit(&rows, &y), class);
}

#[test]
fn nothing_is_allocated_for_one_row_in_single_precision() {
    nothing_is_allocated::<f32>(2);
    nothing_is_allocated::<f32>(3);
}

#[test]
fn nothing_is_allocated_for_one_row_in_double_precision() {
    nothing_is_allocated::<f64>(2);
    nothing_is_allocated::<f64>(3);
}

#[test]
fn what_one_row_must_be() {
    let (x, y) = clouds::<f64>(60, 12, 2);
    let model = BudgetSvc::builder().build().unwrap().fit(&Rows::from(&x), &y).unwrap();
    let refused = |row: &[f64]| model.predict_one(row).unwrap_err();
    assert!(matches!(refused(&[1.0; 11]), Error::FeatureMismatch { expected: 12, got: 11 }));
    assert!(matches!(refused(&[f64::NAN; 12]), Error::NonFinite { what: "X", .. }));
    assert!(matches!(refused(&[]), Error::InvalidData { what: "X", .. }));
    let rows = Rows::from(&x);
    let short = model.decision_into(&rows, &mut [0.0; 59]).unwrap_err();
    assert!(matches!(short, Error::LengthMismatch { what: "out", expected: 60, got: 59 }));
}

#[test]
fn values_out_of_range_are_an_error() {
    let (x, y) = clouds::<f64>(60, 12, 2);
    let values: Vec<f64> = y.iter().map(|&y| y as f64).collect();
    let cubic = AnyKernel::Polynomial { gamma: 1.0, coef0: 1.0, degree: 3 };
    let svr = Svr::builder().kernel(cubic).build().unwrap();
    let model = svr.fit(&Rows::from(&x), &values).unwrap();
    let error = model.predict(&Rows::of_one(&[1e200; 12]).unwrap()).unwrap_err();
    assert!(matches!(error, Error::OutOfRange { what: "X" }), "{error}");
    let error = model.predict_one(&[1e200; 12]).unwrap_err();
    assert!(error.to_string().starts_with("X leads out of the range of floating point numbers"));
}

/// A stream that was found by fuzzing: blocks of 512 rows were set aside, and the system asked for
/// 34 MB, at every Newton step of whatever few rows there were.
#[test]
fn a_stream_of_few_rows_asks_for_little() {
    // A whole block, which 64 terms stand for, and 40 rows more.
    let (x, y) = clouds::<f64>(512, 3, 2);
    let svc = BudgetSvc::builder().budget(64).kernel(Gaussian::new(0.3).unwrap()).c(100.0);
    let svc = svc.threads(1).build().unwrap();
    let rows = Rows::from(&x);
    let model = svc.partial_fit(&rows, &y, &[0, 1]).unwrap();
    assert_eq!(model.n_terms(), 64);
    let before = ASKED.get();
    let model = model.partial_fit(&rows.range(0, 40), &y[..40]).unwrap();
    let values = model.decision_function(&rows.range(0, 4)).unwrap();
    assert!(values.iter().all(|v| v.is_finite()));
    let asked = ASKED.get() - before;
    assert!(asked < 120 << 20, "{asked} bytes");
}

/// Found by fuzzing, which read five texts a second: 16 MB were set aside for a text of some bytes,
/// and the system asked for 34 MB behind them.
#[test]
fn a_short_text_asks_for_little() {
    let before = ASKED.get();
    let mut look = || Ok(());
    let text = "1 1:0.5 3:2\n-1 2:1\n".as_bytes();
    let table = Table::<f64>::read(Reader::new(text), Origin::Found, None, &mut look).unwrap();
    assert_eq!(table.labels, [1.0, -1.0]);
    let text = "svm_type epsilon_svr\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.5\nSV\n\
                1 1:2 3:4\n";
    LibsvmModel::read(text.as_bytes(), None, &mut look).unwrap();
    let asked = ASKED.get() - before;
    assert!(asked < 1 << 20, "{asked} bytes");
}

/// On 32 bits every question was put four times, each behind the memory of the one before.
#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn the_system_is_asked_once_where_it_answers() {
    let before = ASKED.get();
    check_room("a fit", 1 << 20).unwrap();
    assert_eq!(ASKED.get() - before, 35 << 20);
}

/// Prints the time of one row alone and beside a fit. `cargo test --release --test allocations --
/// --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn one_row_takes() {
    let (x, y) = clouds::<f32>(20_000, 123, 2);
    let rows = Rows::from(&x);
    let svc =
        BudgetSvc::builder().budget(100).kernel(Gaussian::new(0.01).unwrap()).build().unwrap();
    let model = svc.fit(&rows, &y).unwrap();
    assert_eq!(model.n_terms(), 100);
    let row = |i: usize| &x.as_slice().unwrap()[i % 20_000 * 123..][..123];
    let measure = |name: &str| {
        let mut times: Vec<Duration> = (0..200_000)
            .map(|i| {
                let begun = Instant::now();
                black_box(model.predict_one(black_box(row(i))).unwrap());
                begun.elapsed()
            })
            .collect();
        times.sort();
        let at = |share: f64| times[(share * times.len() as f64) as usize];
        println!("{name}: median {:?}, p99 {:?}, p99.9 {:?}", at(0.5), at(0.99), at(0.999));
    };
    measure("alone");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                black_box(svc.fit(&rows, &y).unwrap());
            }
        });
        measure("beside a fit");
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_thread_is_ready_for_products_once_it_has_what_is_said() {
    let held = std::thread::spawn(|| {
        let before = HELD.get();
        ready().unwrap();
        let once = HELD.get() - before;
        let asked = ALLOCATIONS.get();
        ready().unwrap();
        assert_eq!(ALLOCATIONS.get(), asked);
        once
    });
    let held = held.join().unwrap();
    assert!(held > 0 && held <= PRODUCT as isize, "{held} of {PRODUCT}");
}
