//! The exact estimators with labels: what they tell is what the layer beneath tells, in both
//! precisions and for sparse rows; what is out of range is an error that names it.

#![allow(clippy::unwrap_used, reason = "a test that cannot train must fail")]

use budgetsvm::config::{ClassWeight, Gamma};
use budgetsvm::data::{Csr, Rows};
use budgetsvm::estimator::{
    ExactConfig, ExactKind, ExactMachine, ExactSolver, ExactTargets, Functions,
};
use budgetsvm::kernel::{AnyKernel, Gram};
use budgetsvm::rng::Rng;
use budgetsvm::watch::{Cancel, Progress, Silent, Watch};
use budgetsvm::{NuSvc, NuSvr, OneClassSvm, SemiparametricNuSvc, SemiparametricNuSvr};
use budgetsvm::{SemiparametricOneClassSvm, SemiparametricSvc, SemiparametricSvr, Svc, Svr};
use ndarray::Array2;

const GAMMA: f64 = 0.5;

/// Blobs of three classes, values exact in `f32`, and a value a row.
fn data(n: usize) -> (Array2<f64>, Vec<usize>, Vec<f64>) {
    let mut rng = Rng::new(3);
    let labels: Vec<usize> = (0..n).map(|i| i % 3).collect();
    let rows = Array2::from_shape_fn((n, 3), |(i, j)| {
        let value = rng.normal() + if j == labels[i] { 1.5 } else { 0.0 };
        if value < -1.0 { 0.0 } else { f64::from(value as f32) }
    });
    let values = rows.rows().into_iter().map(|x| x[0].sin() + 0.5 * x[1]).collect();
    (rows, labels, values)
}

/// What the layer beneath finds.
fn beneath(kind: ExactKind, rows: &Array2<f64>, targets: ExactTargets<'_>) -> ExactMachine {
    let mut config = ExactConfig::default();
    config.kind = kind;
    let gram = Gram::Kernel(AnyKernel::Gaussian { gamma: GAMMA }, Rows::from(rows).into());
    let cost = vec![1.0; rows.nrows()];
    let fit = |watch: &mut Watch<'_>| ExactMachine::fit(&config, gram, targets, &cost, watch);
    Watch::run(2, &mut Silent, fit).unwrap()
}

/// `Σ coef k(s, x) + b` of the one output, plainly.
fn plain(machine: &ExactMachine, rows: &Array2<f64>, x: &[f64]) -> f64 {
    let kernel = AnyKernel::Gaussian { gamma: GAMMA };
    let term = |(s, coef): (&usize, &f64)| coef * kernel.eval(&rows.row(*s).to_vec(), x);
    let terms = machine.support.iter().zip(machine.dual_coef.row(0));
    terms.map(term).sum::<f64>() + machine.intercept[0]
}

#[test]
fn every_kind_is_the_machine_beneath() {
    let (rows, labels, values) = data(90);
    let narrow = rows.mapv(|v| v as f32);
    let index: Vec<u32> = labels.iter().map(|&c| c as u32).collect();
    let classes = ExactTargets::Classes(&index, 3);
    let wide = Rows::from(&rows);
    let svc = Svc::builder().gamma(GAMMA).build().unwrap();
    let model = svc.fit(&wide, &labels).unwrap();
    assert_eq!(*model.machine(), beneath(ExactKind::CSvc, &rows, classes));
    assert_eq!(*svc.fit(&Rows::from(&narrow), &labels).unwrap().machine(), *model.machine());
    let nu_svc = NuSvc::builder().gamma(GAMMA).nu(0.3).build().unwrap();
    let found = nu_svc.fit(&wide, &labels).unwrap();
    assert_eq!(*found.machine(), beneath(ExactKind::NuSvc { nu: 0.3 }, &rows, classes));

    let targets = ExactTargets::Values(&values);
    let svr = Svr::builder().gamma(GAMMA).epsilon(0.05).build().unwrap();
    let found = svr.fit(&wide, &values).unwrap();
    assert_eq!(*found.machine(), beneath(ExactKind::EpsilonSvr { epsilon: 0.05 }, &rows, targets));
    for (i, value) in found.predict(&wide).unwrap().into_iter().enumerate() {
        assert!((value - plain(found.machine(), &rows, &rows.row(i).to_vec())).abs() < 1e-12);
    }
    let single = svr.fit(&Rows::from(&narrow), &values).unwrap();
    let single = single.predict(&Rows::from(&narrow)).unwrap();
    let pairs = single.iter().zip(found.predict(&wide).unwrap());
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
    let nu_svr = NuSvr::builder().gamma(GAMMA).nu(0.4).build().unwrap();
    let found = nu_svr.fit(&wide, &values).unwrap();
    assert_eq!(*found.machine(), beneath(ExactKind::NuSvr { nu: 0.4 }, &rows, targets));

    let one = OneClassSvm::builder().gamma(GAMMA).nu(0.2).build().unwrap();
    let found = one.fit(&wide).unwrap();
    let kind = ExactKind::OneClass { nu: 0.2 };
    assert_eq!(*found.machine(), beneath(kind, &rows, ExactTargets::None));
    let out = found.predict(&wide).unwrap().iter().filter(|inside| !**inside).count();
    assert!((1..=18).contains(&out), "{out}");
}

#[test]
fn sparse_rows_are_the_same_rows() {
    let (rows, labels, _) = data(60);
    let narrow = rows.mapv(|v| v as f32);
    let (mut values, mut columns, mut starts) = (Vec::new(), Vec::new(), vec![0_usize]);
    for row in narrow.rows() {
        for (j, &value) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
            values.push(value);
            columns.push(j);
        }
        starts.push(values.len());
    }
    let sparse = Rows::from(Csr::new(&values, &columns[..], &starts[..], 3).unwrap());
    let svc = Svc::builder().gamma(GAMMA).build().unwrap();
    let (a, b) = (svc.fit(&sparse, &labels).unwrap(), svc.fit(&Rows::from(&narrow), &labels));
    let (dense, b) = (Rows::from(&narrow), b.unwrap());
    let (of_sparse, of_dense) = (a.decision_function(&sparse), b.decision_function(&dense));
    for (x, y) in of_sparse.unwrap().iter().zip(&of_dense.unwrap()) {
        assert!((x - y).abs() < 1e-3, "{x} {y}");
    }
    assert_eq!(a.predict(&sparse).unwrap(), a.predict(&dense).unwrap());
}

#[test]
fn weights_and_gamma_by_name() {
    let (rows, labels, values) = data(60);
    let wide = Rows::from(&rows);
    let variance = rows.mapv(|v| v * v).mean().unwrap() - rows.mean().unwrap().powi(2);
    let by_name = Svr::builder().gamma(Gamma::Scale).build().unwrap();
    let by_number = Svr::builder().gamma(1.0 / (3.0 * variance)).build().unwrap();
    let (a, b) = (by_name.fit(&wide, &values).unwrap(), by_number.fit(&wide, &values).unwrap());
    let pairs = a.predict(&wide).unwrap().into_iter().zip(b.predict(&wide).unwrap());
    assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9));
    let auto = Svr::builder().gamma(Gamma::Auto).build().unwrap().fit(&wide, &values).unwrap();
    let third = Svr::builder().gamma(1.0 / 3.0).build().unwrap().fit(&wide, &values).unwrap();
    assert_eq!(auto.machine(), third.machine());

    // A class that weighs more is the same as samples that do.
    let each = ClassWeight::Each(vec![1.0, 2.0, 0.5]);
    let svc = Svc::builder().gamma(GAMMA);
    let by_class = svc.clone().class_weight(each).build().unwrap().fit(&wide, &labels).unwrap();
    let weights: Vec<f64> = labels.iter().map(|&c| [1.0, 2.0, 0.5][c]).collect();
    let plain = svc.clone().build().unwrap();
    let by_sample = plain.fit_observed(&wide, &labels, Some(&weights), &mut Silent).unwrap();
    assert_eq!(by_class.machine(), by_sample.machine());
    // Balanced, classes of equal size weigh one.
    let balanced = svc.class_weight(ClassWeight::Balanced).build().unwrap();
    let balanced = balanced.fit(&wide, &labels).unwrap();
    assert_eq!(balanced.machine(), plain.fit(&wide, &labels).unwrap().machine());
    // Samples without weight are not there.
    let weights: Vec<f64> = (0..60).map(|i| if i < 45 { 1.0 } else { 0.0 }).collect();
    let weighted = plain.fit_observed(&wide, &labels, Some(&weights), &mut Silent).unwrap();
    let part = plain.fit(&wide.range(0, 45), &labels[..45]).unwrap();
    assert_eq!(weighted.machine(), part.machine());
}

#[test]
fn known_functions_are_found() {
    let (rows, labels, values) = data(90);
    let wide = Rows::from(&rows);
    let of = |row: &[f64]| vec![row[0], row[2]];
    let matrix = Array2::from_shape_fn((90, 2), |(i, j)| rows[(i, 2 * j)]);
    let (of, matrix) = (Functions::Of(&of), Functions::Values(matrix.view()));
    let svr = SemiparametricSvr::builder().gamma(GAMMA).epsilon(0.01).build().unwrap();
    let with_slope: Vec<f64> =
        values.iter().zip(rows.column(2)).map(|(y, x)| y - 4.0 * x).collect();
    let (a, b) = (svr.fit(&wide, of, &with_slope), svr.fit(&wide, matrix, &with_slope));
    let (a, b) = (a.unwrap(), b.unwrap());
    assert_eq!(a.predict(&wide, of).unwrap(), b.predict(&wide, matrix).unwrap());
    let mut into = vec![0.0; 90];
    a.predict_into(&wide, matrix, &mut into).unwrap();
    assert_eq!(into, a.predict(&wide, of).unwrap());
    assert!(a.predict_into(&wide, of, &mut into[..89]).is_err());
    assert!((a.parametric_coef()[(0, 1)] + 4.0).abs() < 0.3, "{}", a.parametric_coef());

    // Two classes: what is positive speaks for the second; three: a row a pair.
    let svc = SemiparametricSvc::builder().gamma(GAMMA).c(10.0).build().unwrap();
    let two: Vec<bool> = labels.iter().map(|&c| c == 0).collect();
    let model = svc.fit(&wide, of, &two).unwrap();
    assert_eq!(model.parametric_coef().dim(), (1, 2));
    assert!(model.parametric_coef()[(0, 0)] > 0.0);
    let decided = model.decision_function(&wide, matrix).unwrap();
    let predicted = model.predict(&wide, matrix).unwrap();
    assert!(decided.iter().zip(&predicted).all(|(f, label)| (*f > 0.0) == *label));
    let model = svc.fit(&wide, of, &labels).unwrap();
    assert_eq!(model.parametric_coef().dim(), (3, 2));
    let mut into = vec![0.0; 270];
    model.decision_into(&wide, of, &mut into).unwrap();
    assert_eq!(into, model.decision_function(&wide, matrix).unwrap().into_raw_vec_and_offset().0);
    assert!(model.decision_into(&wide.range(0, 5), matrix, &mut into[..15]).is_err());
    let right =
        model.predict(&wide, of).unwrap().iter().zip(&labels).filter(|(a, b)| a == b).count();
    assert!(right > 60, "{right}");
    assert!(model.predict(&wide.range(0, 5), matrix).is_err());
}

#[test]
fn known_functions_stand_beside_the_nu_machines() {
    let (rows, labels, values) = data(90);
    let wide = Rows::from(&rows);
    let of = |row: &[f64]| vec![(3.0 * row[0]).sin(), row[2].cos() - 0.5];
    let matrix = Array2::from_shape_fn((90, 2), |(i, j)| match j {
        0 => (3.0 * rows[(i, 0)]).sin(),
        _ => rows[(i, 2)].cos() - 0.5,
    });
    let (of, matrix) = (Functions::Of(&of), Functions::Values(matrix.view()));
    let svr = SemiparametricNuSvr::builder().gamma(GAMMA).nu(0.3).build().unwrap();
    let with_wave: Vec<f64> =
        values.iter().zip(rows.column(0)).map(|(y, x)| y - 4.0 * (3.0 * x).sin()).collect();
    let model = svr.fit(&wide, of, &with_wave).unwrap();
    assert_eq!(model.predict(&wide, of).unwrap(), model.predict(&wide, matrix).unwrap());
    assert!((model.parametric_coef()[(0, 0)] + 4.0).abs() < 0.5, "{}", model.parametric_coef());

    let svc = SemiparametricNuSvc::builder().gamma(GAMMA).nu(0.2).build().unwrap();
    let model = svc.fit(&wide, of, &labels).unwrap();
    assert_eq!(model.parametric_coef().dim(), (3, 2));
    let right =
        model.predict(&wide, of).unwrap().iter().zip(&labels).filter(|(a, b)| a == b).count();
    assert!(right > 60, "{right}");

    let one = SemiparametricOneClassSvm::builder().gamma(GAMMA).nu(0.2).build().unwrap();
    let model = one.fit(&wide, of).unwrap();
    let decided = model.decision_function(&wide, matrix).unwrap();
    let mut into = vec![0.0; 90];
    model.decision_into(&wide, of, &mut into).unwrap();
    assert_eq!(into, decided);
    let inside = model.predict(&wide, of).unwrap();
    assert!(decided.iter().zip(&inside).all(|(f, inside)| (*f >= 0.0) == *inside));
    let left_out = inside.iter().filter(|inside| !**inside).count();
    assert!((5..=18).contains(&left_out), "{left_out}");
    let ones = Array2::ones((90, 1));
    assert!(one.fit(&wide, Functions::Values(ones.view())).is_err());
}

#[test]
fn what_is_wrong_is_named() {
    let (rows, labels, values) = data(30);
    let wide = Rows::from(&rows);
    let named = |result: budgetsvm::error::Result<()>, name: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(name), "{text}");
    };
    named(Svc::builder().c(0.0).build().map(|_| ()), "C must be");
    named(Svc::builder().threads(0).build().map(|_| ()), "threads must be");
    named(Svc::builder().gamma(-1.0).build().map(|_| ()), "gamma must be");
    named(NuSvc::builder().nu(1.5).build().map(|_| ()), "nu must be");
    named(NuSvr::builder().c(f64::INFINITY).build().map(|_| ()), "C must be");
    named(Svr::builder().epsilon(-0.1).build().map(|_| ()), "epsilon must be");
    named(Svc::builder().kind(ExactKind::NuSvc { nu: 0.5 }).build().map(|_| ()), "kind must be");
    let smo = SemiparametricSvr::builder().solver(ExactSolver::Smo).build();
    named(smo.map(|_| ()), "mpd");
    let svc = Svc::builder().build().unwrap();
    named(svc.fit(&wide, &labels[..29]).map(|_| ()), "y has 29");
    named(svc.fit(&wide, &[1; 30]).map(|_| ()), "labels: 1 class");
    let weights = Some(&values[..3]);
    named(svc.fit_observed(&wide, &labels, weights, &mut Silent).map(|_| ()), "sample_weight");
    let three = Svc::builder().class_weight(ClassWeight::Each(vec![1.0; 2])).build().unwrap();
    named(three.fit(&wide, &labels).map(|_| ()), "class_weight");
    let model = svc.fit(&wide, &labels).unwrap();
    named(model.predict(&Rows::of_one(&[1.0]).unwrap()).map(|_| ()), "1 features");
    named(model.predict(&Rows::of_one(&[1.0, f64::NAN, 0.0]).unwrap()).map(|_| ()), "NaN");
    // A closure is an observer.
    let mut stop = |_: &Progress| std::ops::ControlFlow::Break(Cancel::Discard);
    named(svc.fit_observed(&wide, &labels, None, &mut stop).map(|_| ()), "interrupted");
}

#[test]
fn models_may_be_shared() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<budgetsvm::SvcModel<f32, String>>();
    shared::<budgetsvm::SvrModel<f64>>();
    shared::<budgetsvm::OneClassSvmModel<f32>>();
    shared::<budgetsvm::SemiparametricSvcModel<f32, u8>>();
    shared::<budgetsvm::SemiparametricSvrModel<f64>>();
}
