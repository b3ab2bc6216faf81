//! The public face in Rust: labels of several types, files, streams, errors by name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use super::rings;
use budgetsvm::Saved as _;
use budgetsvm::data::{Rows, Targets};
use budgetsvm::error::Error;
use budgetsvm::estimator::{
    AssetSvr, AutoSvr, BudgetSvc, BudgetSvcModel, BudgetSvr, BudgetSvrModel, Maintenance, PrimalSvr,
};
use budgetsvm::kernel::{AnyKernel, Gaussian};
use budgetsvm::loss::AnyLoss;
use budgetsvm::rng::Rng;
use ndarray::Array2;

#[test]
fn classes_shared_and_separate() {
    let (x, labels) = rings(900, 0.3);
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
    let (x, labels) = rings(300, 0.3);
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
    let (x, labels) = rings(300, 0.3);
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
    let (x, _) = rings(600, 0.3);
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
    let (x, mut labels) = rings(30, 0.3);
    let rows = Rows::Dense(x.view());
    let model = build().build().unwrap().fit(&rows, &labels).unwrap();
    labels[3] = 5;
    assert!(matches!(model.partial_fit(&rows, &labels), Err(Error::BadLabels(_))));
    labels.fill(1);
    assert!(matches!(build().build().unwrap().fit(&rows, &labels), Err(Error::BadLabels(_))));
}

/// Two values a row.
fn columns(x: &Array2<f64>) -> Vec<f64> {
    x.rows().into_iter().flat_map(|row| [row[0].sin(), row[0] * row[1]]).collect()
}

#[test]
fn several_values_share_their_terms() {
    let (x, _) = rings(900, 0.3);
    let (rows, values) = (Rows::Dense(x.view()), columns(&x));
    let kernel = Gaussian::new(1.0).unwrap();
    let svr = BudgetSvr::builder().budget(60).c(10.0).kernel(kernel).build().unwrap();
    let targets = Targets::columns(&values, 2);
    let model = svr.fit(&rows, targets).unwrap();
    assert_eq!((model.n_outputs(), model.n_terms() <= 60), (2, true));
    let close = |found: &Array2<f64>| {
        let far = found.iter().zip(&values).filter(|(f, y)| (*f - *y).abs() > 0.3).count();
        assert!(far < 60, "{far} of {}", values.len());
    };
    close(&model.predict_columns(&rows).unwrap());
    assert_eq!(model.predict(&rows).unwrap().len(), values.len());
    close(&model.polish(&rows, targets).unwrap().predict_columns(&rows).unwrap());
    close(&model.partial_fit(&rows, targets).unwrap().predict_columns(&rows).unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("columns.safetensors");
    model.save(&path).unwrap();
    let again = BudgetSvrModel::<f64>::load(&path).unwrap();
    assert_eq!(again.predict(&rows).unwrap(), model.predict(&rows).unwrap());
    let primal = PrimalSvr::builder().c(10.0).kernel(kernel).build().unwrap();
    close(&primal.fit(&rows, targets).unwrap().predict_columns(&rows).unwrap());
    let asset = AssetSvr::builder().c(10.0).kernel(kernel).build().unwrap();
    close(&asset.fit(&rows, targets).unwrap().predict_columns(&rows).unwrap());
}

#[test]
fn columns_that_are_none_are_refused() {
    let (x, _) = rings(30, 0.3);
    let (rows, values) = (Rows::Dense(x.view()), columns(&x));
    let svr = BudgetSvr::builder().build().unwrap();
    let says = |targets: Targets<'_>| svr.fit(&rows, targets).unwrap_err().to_string();
    assert!(says(Targets::columns(&values, 0)).contains("at least 1"));
    assert!(says(Targets::columns(&values, 7)).contains("columns"));
    assert!(says(Targets::columns(&values, 3)).contains('y'));
    let mut bad = values.clone();
    bad[5] = f64::NAN;
    let error = svr.fit(&rows, Targets::columns(&bad, 2)).unwrap_err();
    assert!(matches!(error, Error::NonFinite { what: "y", row: 2, column: 1 }), "{error}");
    let index = [0, 1].repeat(15);
    assert!(says(Targets::Classes { index: &index, n_classes: 2 }).contains("classifier"));
    let auto = AutoSvr::builder().build().unwrap();
    let error = auto.fit(&rows, Targets::columns(&values, 2)).unwrap_err().to_string();
    assert!(error.contains("AutoSVR"), "{error}");
    let one = svr.fit(&rows, &values[..30]).unwrap();
    assert!(one.polish(&rows, Targets::columns(&values, 2)).is_err());
}

#[test]
fn several_quantiles_rise_and_files_hold_them() {
    let (x, _) = rings(900, 0.3);
    let rows = Rows::Dense(x.view());
    let mut rng = Rng::new(3);
    let values: Vec<f64> = x.rows().into_iter().map(|row| row[0] + rng.uniform()).collect();
    let loss = AnyLoss::Quantile { quantile: 0.5 };
    let builder = || BudgetSvr::builder().budget(40).kernel(Gaussian::new(0.5).unwrap());
    let svr = builder().loss(loss).quantiles([0.1, 0.5, 0.9]).build().unwrap();
    let model = svr.fit(&rows, &values).unwrap();
    let found = model.predict_columns(&rows).unwrap();
    assert!(found.rows().into_iter().all(|row| row[0] <= row[1] && row[1] <= row[2]));
    for (column, share) in [0.1, 0.5, 0.9].into_iter().enumerate() {
        let below = found.column(column).iter().zip(&values).filter(|(f, y)| y <= f).count();
        assert!((below as f64 / 900.0 - share).abs() < 0.03, "{below}");
    }
    let mut flat = vec![0.0; 2700];
    model.predict_into(&rows, &mut flat).unwrap();
    assert_eq!(flat, model.predict(&rows).unwrap());
    assert_eq!(model.predict_one(&x.row(5).to_vec()).unwrap(), found[(5, 0)]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("quantiles.safetensors");
    model.save(&path).unwrap();
    let again = BudgetSvrModel::<f64>::load(&path).unwrap();
    assert_eq!(again.predict(&rows).unwrap(), model.predict(&rows).unwrap());
    let next = again.partial_fit(&rows, &values).unwrap().polish(&rows, &values).unwrap();
    assert_eq!(next.n_outputs(), 3);
    let error = svr.fit(&rows, Targets::columns(&values[..900], 1)).unwrap_err().to_string();
    assert!(error.contains("quantiles"), "{error}");
    assert!(builder().quantiles([0.1, 0.5]).build().is_err());
    assert!(builder().loss(loss).quantiles([0.5, 0.1]).build().is_err());
    assert!(builder().loss(loss).quantiles([0.5, 1.0]).build().is_err());
}
