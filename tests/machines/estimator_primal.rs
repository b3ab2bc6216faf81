//! The primal and the feature machines in Rust: bases, starts, linear machines, errors by name.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use super::rings;
use budgetsvm::data::Rows;
use budgetsvm::error::Error;
use budgetsvm::estimator::{AssetFeatures, AssetSolver, AssetSvc, AssetSvr, Choice};
use budgetsvm::estimator::{PrimalSolver, PrimalSvc, PrimalSvr};
use budgetsvm::features::Waves;
use budgetsvm::kernel::{AnyKernel, Gaussian};
use budgetsvm::loss::AnyLoss;
use budgetsvm::watch::{Silent, Watch};
use ndarray::{Array2, s};

fn right(predicted: &[i32], labels: &[i32]) -> usize {
    predicted.iter().zip(labels).filter(|(a, b)| a == b).count()
}

#[test]
fn bases_solvers_and_points_of_ones_own() {
    let (x, labels) = rings(600, 0.8);
    let rows = Rows::Dense(x.view());
    let builder = || PrimalSvc::builder().c(10.0).kernel(Gaussian::new(1.0).unwrap());
    let full = builder().build().unwrap().fit(&rows, &labels).unwrap();
    assert_eq!(full.classes(), [-7, 0, 12]);
    assert!(right(&full.predict(&rows).unwrap(), &labels) > 580);
    let values = full.decision_function(&rows).unwrap();
    let cg = builder().solver(PrimalSolver::Cg).tol(1e-8).build().unwrap();
    let same = cg.fit(&rows, &labels).unwrap().decision_function(&rows).unwrap();
    assert!((&same - &values).iter().all(|d| d.abs() < 0.01));
    // As a basis the samples themselves are the whole machine.
    let points = builder().tol(1e-10).build().unwrap().fit_on(&rows, &labels, &rows).unwrap();
    let same = points.decision_function(&rows).unwrap();
    assert!((&same - &values).iter().all(|d| d.abs() < 0.01));
    let small = builder().basis(Choice::Random).n_components(12);
    let plain = small.clone().build().unwrap().fit(&rows, &labels).unwrap();
    let refined = small.refine(true).build().unwrap().fit(&rows, &labels).unwrap();
    assert_eq!((plain.n_terms(), refined.n_terms()), (12, 12));
    assert_eq!(plain.report().support.as_ref().unwrap().len(), 12);
    assert!(refined.report().support.is_none());
    assert!(refined.report().smoothed < 0.9 * plain.report().smoothed);
    let left_out = builder().leave_one_out(true).build().unwrap().fit(&rows, &labels).unwrap();
    assert_eq!(left_out.report().left_out.as_ref().unwrap().len(), 1800);
    let tuned = builder().c(0.01).tune(200).build().unwrap().fit(&rows, &labels).unwrap();
    assert!(tuned.report().tuned.unwrap().c > 1.0);
    assert!(right(&tuned.predict(&rows).unwrap(), &labels) > 560);
}

#[test]
fn a_start_changes_the_time_alone() {
    let (x, labels) = rings(600, 0.8);
    let rows = Rows::Dense(x.view());
    let part = Rows::Dense(x.slice(s![..400, ..]));
    for kernel in [AnyKernel::Gaussian { gamma: 1.0 }, AnyKernel::Linear] {
        let svc = PrimalSvc::builder().c(5.0).kernel(kernel).build().unwrap();
        let cold = svc.fit(&rows, &labels).unwrap();
        let again = svc.fit_from(&rows, &labels, &cold).unwrap();
        assert!(again.report().n_iter <= cold.report().n_iter.min(2), "{kernel:?}");
        let before = svc.fit(&part, &labels[..400]).unwrap();
        for start in [&before, &cold] {
            let warm = svc.fit_from(&rows, &labels, start).unwrap();
            let off = (warm.report().smoothed / cold.report().smoothed - 1.0).abs();
            assert!(off < 1e-9, "{kernel:?} {off}");
        }
    }
    // Refining goes on from the points reached.
    let svc = PrimalSvc::builder().c(5.0).kernel(Gaussian::new(1.0).unwrap());
    let svc =
        svc.basis(Choice::Random).n_components(10).refine(true).refine_iter(5).build().unwrap();
    let first = svc.fit(&rows, &labels).unwrap();
    let second = svc.fit_from(&rows, &labels, &first).unwrap();
    assert!(second.report().smoothed < first.report().smoothed);
    let two: Vec<i32> = labels.iter().map(|&l| l.min(0)).collect();
    assert!(matches!(svc.fit_from(&rows, &two, &first), Err(Error::BadLabels(_))));
}

#[test]
fn values_and_linear_machines() {
    let (x, _) = rings(400, 0.8);
    let rows = Rows::Dense(x.view());
    let values: Vec<f64> = x.rows().into_iter().map(|r| 2.0 * r[0] - r[1] + 0.5).collect();
    let svr = PrimalSvr::builder().c(100.0).kernel(AnyKernel::Linear).build().unwrap();
    let model = svr.fit(&rows, &values).unwrap();
    assert_eq!(model.n_terms(), 2);
    let close =
        |predicted: &[f64], by: f64| predicted.iter().zip(&values).all(|(f, y)| (f - y).abs() < by);
    assert!(close(&model.predict(&rows).unwrap(), 0.2));
    let svr = PrimalSvr::builder().c(100.0).kernel(Gaussian::new(0.2).unwrap());
    let svr = svr.basis(Choice::Greedy).n_components(40).build().unwrap();
    let model = svr.fit(&rows, &values).unwrap();
    assert!(close(&svr.fit_from(&rows, &values, &model).unwrap().predict(&rows).unwrap(), 0.5));
    let narrow = Array2::<f64>::zeros((3, 1));
    let error = model.predict(&Rows::Dense(narrow.view())).unwrap_err();
    assert!(matches!(error, Error::FeatureMismatch { expected: 2, got: 1 }), "{error}");
    let svr = AssetSvr::builder().c(100.0).kernel(Gaussian::new(0.2).unwrap()).n_components(60);
    let dual = AssetSolver::Dual { tol: 1e-3, shrinking: true };
    let model = svr.solver(dual).fit_intercept(true).build().unwrap().fit(&rows, &values).unwrap();
    assert!(close(&model.predict(&rows).unwrap(), 0.5));
}

#[test]
fn features_of_both_kinds() {
    let (x, labels) = rings(600, 0.8);
    let x = x.mapv(|v| v as f32);
    let rows = Rows::Dense(x.view());
    for features in [
        AssetFeatures::Nystroem { threshold: None },
        AssetFeatures::Fourier { orthogonal: true, waves: Waves::Paired },
    ] {
        let svc = AssetSvc::builder().c(10.0).kernel(Gaussian::new(1.0).unwrap());
        let svc = svc.features(features).n_components(150).max_iter(30).seed(3).build().unwrap();
        let model = svc.fit(&rows, &labels).unwrap();
        assert_eq!(model.report().n_iter, 30);
        assert!(right(&model.predict(&rows).unwrap(), &labels) > 560, "{features:?}");
        // Of weight 0 is not there.
        let weights: Vec<f64> = labels.iter().map(|&l| f64::from(u8::from(l != 12))).collect();
        let observer = &mut Silent;
        let model = svc.fit_observed(&rows, &labels, Some(&weights), observer).unwrap();
        let predicted = model.predict(&rows).unwrap();
        assert!(predicted.iter().filter(|&&l| l == 12).count() < 60, "{features:?}");
    }
}

#[test]
fn errors_name_the_parameter() {
    let name = |error: Error| match error {
        Error::InvalidParam { name, .. } => name,
        other => panic!("{other}"),
    };
    let build = PrimalSvc::builder;
    assert_eq!(name(build().c(0.0).build().unwrap_err()), "C");
    assert_eq!(name(build().smoothing(0.0).build().unwrap_err()), "smoothing");
    assert_eq!(name(build().tol(f64::NAN).build().unwrap_err()), "tol");
    assert_eq!(name(build().max_iter(0).build().unwrap_err()), "max_iter");
    assert_eq!(name(build().tune(0).build().unwrap_err()), "tune_size");
    assert_eq!(name(build().refine_iter(0).build().unwrap_err()), "refine_iter");
    assert_eq!(
        name(build().basis(Choice::Random).n_components(0).build().unwrap_err()),
        "n_components"
    );
    let tube = AnyLoss::EpsilonInsensitive { epsilon: 0.1 };
    assert_eq!(name(build().loss(tube).build().unwrap_err()), "loss");
    let squares = AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 };
    assert!(build().loss(squares).build().is_ok(), "least squares serve classes");
    assert_eq!(name(PrimalSvr::builder().loss(AnyLoss::Hinge).build().unwrap_err()), "loss");
    assert_eq!(name(AssetSvc::builder().n_components(0).build().unwrap_err()), "n_components");
    assert_eq!(name(AssetSvc::builder().c(-1.0).build().unwrap_err()), "C");
    assert_eq!(name(AssetSvr::builder().loss(AnyLoss::Hinge).build().unwrap_err()), "loss");
    let (x, mut labels) = rings(30, 0.8);
    let rows = Rows::Dense(x.view());
    let refine = build().refine(true).build().unwrap().fit(&rows, &labels).unwrap_err();
    assert!(refine.to_string().contains("basis"), "{refine}");
    labels.fill(1);
    assert!(matches!(build().build().unwrap().fit(&rows, &labels), Err(Error::BadLabels(_))));
    let asset = AssetSvc::builder().build().unwrap();
    assert!(matches!(asset.fit(&rows, &labels), Err(Error::BadLabels(_))));
}

#[test]
fn a_start_of_other_features_is_refused() {
    let (x, labels) = rings(90, 0.8);
    let narrow = x.slice(s![.., ..1]);
    for builder in [
        PrimalSvc::builder()
            .kernel(Gaussian::new(1.0).unwrap())
            .basis(Choice::Random)
            .n_components(10),
        PrimalSvc::builder().kernel(AnyKernel::Linear),
    ] {
        let machine = builder.build().unwrap();
        let wide = machine.fit(&Rows::Dense(x.view()), &labels).unwrap();
        let refused = machine.fit_from(&Rows::Dense(narrow), &labels, &wide);
        assert!(matches!(refused, Err(Error::FeatureMismatch { expected: 2, got: 1 })));
    }
}

#[test]
fn landmark_machines_predict_by_their_expansion() {
    let (x, labels) = rings(300, 0.8);
    let rows = Rows::Dense(x.view());
    let features = AssetFeatures::Nystroem { threshold: None };
    let builder = AssetSvc::builder().c(10.0).kernel(Gaussian::new(1.0).unwrap());
    let machine = builder.features(features).n_components(40).build().unwrap();
    let fitted = machine.fit(&rows, &labels).unwrap();
    let values = fitted.decision_function(&rows).unwrap();
    let model = fitted.machine().model().unwrap();
    let (map, coef, offsets) = (model.map().unwrap(), model.coef(), model.intercept());
    let mut z = Array2::zeros((300, map.n_outputs()));
    let (width, out) = (map.n_outputs(), z.as_slice_mut().unwrap());
    Watch::run(2, &mut Silent, |watch| map.transform(&rows, (out, width), watch)).unwrap();
    let by_features = z.dot(&coef.t()) + &ndarray::Array1::from(offsets);
    let largest = (&values - &by_features).iter().fold(0.0, |most: f64, d| most.max(d.abs()));
    assert!(largest < 1e-8, "{largest}");
}
