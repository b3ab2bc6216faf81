//! The public face in Rust: labels of several types, files, streams, errors by name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use budgetsvm::Saved as _;
use budgetsvm::data::Rows;
use budgetsvm::error::Error;
use budgetsvm::estimator::{BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel, Maintenance};
use budgetsvm::kernel::{AnyKernel, Gaussian};
use budgetsvm::rng::Rng;
use ndarray::Array2;

/// Three noisy rings.
fn rings(n: usize) -> (Array2<f64>, Vec<i32>) {
    let mut rng = Rng::new(1);
    let labels: Vec<i32> = (0..n).map(|i| [-7, 0, 12][i % 3]).collect();
    let mut rows = Array2::zeros((n, 2));
    for i in 0..n {
        let angle = std::f64::consts::TAU * rng.uniform();
        let radius = 1.0 + (i % 3) as f64 + 0.3 * (rng.uniform() - 0.5);
        rows[(i, 0)] = radius * angle.cos();
        rows[(i, 1)] = radius * angle.sin();
    }
    (rows, labels)
}

#[test]
fn classes_shared_and_separate() {
    let (x, labels) = rings(900);
    let rows = Rows::Dense(x.view());
    for shared in [true, false] {
        let svc = BudgetSvc::builder()
            .budget(60)
            .c(10.0)
            .kernel(Gaussian::new(1.0).unwrap())
            .shared(shared)
            .build()
            .unwrap();
        let model = svc.fit(&rows, &labels).unwrap();
        assert_eq!(model.classes(), [-7, 0, 12]);
        assert!(model.n_terms() <= if shared { 60 } else { 180 });
        let predicted = model.predict(&rows).unwrap();
        let right = predicted.iter().zip(&labels).filter(|(a, b)| a == b).count();
        assert!(right > 855, "{right} of 900");
    }
}

#[test]
fn gradients_are_those_of_differences() {
    let (x, labels) = rings(300);
    let svc = BudgetSvc::builder().budget(40).build().unwrap();
    let model = svc.fit(&Rows::Dense(x.view()), &labels).unwrap();
    let slopes = model.gradient(&Rows::Dense(x.view())).unwrap();
    assert_eq!(slopes.dim(), (300, 3, 2));
    for k in 0..2 {
        let moved = |by: f64| {
            let mut x = x.clone();
            x.column_mut(k).iter_mut().for_each(|v| *v += by);
            model.decision_function(&Rows::Dense(x.view())).unwrap()
        };
        let differences = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        for (at, wanted) in differences.indexed_iter() {
            assert!((slopes[(at.0, at.1, k)] - wanted).abs() < 1e-6 * (1.0 + wanted.abs()));
        }
    }
}

#[test]
fn files_give_back_the_same_bits_and_refuse_other_types() {
    let (x, labels) = rings(300);
    let rows = Rows::Dense(x.view());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rings.safetensors");
    let model = BudgetSvc::builder().budget(40).build().unwrap().fit(&rows, &labels).unwrap();
    model.save(&path).unwrap();
    let again = BudgetSvcModel::<f64, i32>::load(&path).unwrap();
    assert_eq!(again.predict(&rows).unwrap(), model.predict(&rows).unwrap());
    assert_eq!(
        again.decision_function(&rows).unwrap(),
        model.decision_function(&rows).unwrap(),
        "the same bits"
    );
    assert!(matches!(BudgetSvcModel::<f32, i32>::load(&path), Err(Error::OtherFile { .. })));
    assert!(matches!(BudgetSvcModel::<f64, String>::load(&path), Err(Error::OtherFile { .. })));
    assert!(matches!(BudgetSvcModel::<f64, u8>::load(&path), Err(Error::OtherFile { .. })));
    assert!(matches!(BudgetSvrModel::<f64>::load(&path), Err(Error::OtherFile { .. })));
    let more = model.partial_fit(&rows, &labels).unwrap().polish(&rows, &labels).unwrap();
    let same = again.partial_fit(&rows, &labels).unwrap().polish(&rows, &labels).unwrap();
    assert_eq!(more.decision_function(&rows).unwrap(), same.decision_function(&rows).unwrap());
}

#[test]
fn a_stream_of_values() {
    let (x, _) = rings(600);
    let rows = Rows::Dense(x.view());
    let values: Vec<f64> = x.rows().into_iter().map(|r| r[0].sin() + r[1]).collect();
    let svr = BudgetSvr::builder()
        .budget(50)
        .c(10.0)
        .kernel(Gaussian::new(0.3).unwrap())
        .build()
        .unwrap();
    let model = svr.fit(&rows, &values).unwrap().partial_fit(&rows, &values).unwrap();
    let model = model.polish(&rows, &values).unwrap();
    let error = model
        .predict(&rows)
        .unwrap()
        .iter()
        .zip(&values)
        .map(|(f, y)| (f - y).powi(2))
        .sum::<f64>();
    assert!(error / 600.0 < 0.02, "{error}");
}

#[test]
fn errors_name_the_parameter() {
    let name = |error: Error| match error {
        Error::InvalidParam { name, .. } => name,
        other => panic!("{other}"),
    };
    let build = BudgetSvc::builder;
    assert_eq!(name(build().budget(0).build().unwrap_err()), "budget");
    assert_eq!(name(build().c(f64::NAN).build().unwrap_err()), "C");
    assert_eq!(name(build().smoothing(0.0).build().unwrap_err()), "smoothing");
    assert_eq!(name(build().merge_size(1).build().unwrap_err()), "merge_size");
    let multi = build().maintenance(Maintenance::MultiMerge);
    assert_eq!(name(multi.clone().budget(1).build().unwrap_err()), "budget");
    assert!(multi.budget(2).build().is_ok());
    assert_eq!(name(build().max_iter(0).build().unwrap_err()), "max_iter");
    assert_eq!(name(Gaussian::new(0.0).unwrap_err()), "gamma");
    let linear = build().kernel(AnyKernel::Linear);
    let merging = linear.clone().maintenance(Maintenance::Merge).build().unwrap_err();
    assert!(merging.to_string().contains("project"), "{merging}");
    assert!(linear.build().is_ok());
    let (x, mut labels) = rings(30);
    let rows = Rows::Dense(x.view());
    let model = build().build().unwrap().fit(&rows, &labels).unwrap();
    labels[3] = 5;
    assert!(matches!(model.partial_fit(&rows, &labels), Err(Error::BadLabels(_))));
    labels.fill(1);
    assert!(matches!(build().build().unwrap().fit(&rows, &labels), Err(Error::BadLabels(_))));
}
