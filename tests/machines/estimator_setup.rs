//! What every builder sets beside hyperparameters: γ by name, weights of classes, threads; streams,
//! early stopping, and what a fit that was told to end says of it.

#![allow(clippy::unwrap_used, reason = "a test that cannot train must fail")]

use budgetsvm::config::{ClassWeight, FeatureScales, Gamma};
use budgetsvm::data::Rows;
use budgetsvm::estimator::{LocalBudgetSvc, OnlineSvc, Saved};
use budgetsvm::model::AnyModel;
use budgetsvm::rng::Rng;
use budgetsvm::watch::{Cancel, Progress, Silent, StopReason};
use budgetsvm::{
    AssetSvc, AssetSvr, BudgetOneClassSvm, BudgetSvc, BudgetSvr, OneClassSvm, PrimalSvc, PrimalSvr,
    Svc, Svr,
};
use ndarray::Array2;

fn data(n: usize) -> (Array2<f64>, Vec<bool>, Vec<f64>) {
    let mut rng = Rng::new(5);
    let rows = Array2::from_shape_fn((n, 2), |_| rng.normal());
    let labels = rows.rows().into_iter().map(|x| x[0] * x[0] + x[1] > 1.0).collect();
    let values = rows.rows().into_iter().map(|x| x[0].sin() + x[1]).collect();
    (rows, labels, values)
}

/// γ by name is the number that it stands for; a sample weighs as its class does; the number of
/// threads changes nothing.
macro_rules! classifier {
    ($estimator:ident) => {
        let (rows, labels, _) = data(200);
        let weights: Vec<f64> = labels.iter().map(|&l| if l { 3.0 } else { 1.0 }).collect();
        let rows_of = Rows::from(&rows);
        let variance = rows.mapv(|v| v * v).mean().unwrap() - rows.mean().unwrap().powi(2);
        let gamma = 1.0 / (2.0 * variance);
        let fit = |name: Gamma, threads: usize| {
            let each = ClassWeight::Each(vec![1.0, 3.0]);
            let builder = $estimator::builder().gamma(name).threads(threads).class_weight(each);
            let model = builder.build().unwrap().fit(&rows_of, &labels).unwrap();
            model.decision_function(&rows_of).unwrap()
        };
        let by_name = fit(Gamma::Scale, 1);
        assert_eq!(by_name, fit(Gamma::Scale, 3));
        let by_number = fit(Gamma::Value(gamma), 2);
        assert!((&by_name - &by_number).iter().all(|gap| gap.abs() < 1e-5));
        let plain = $estimator::builder().gamma(gamma).build().unwrap();
        let by_sample = plain.fit_observed(&rows_of, &labels, Some(&weights), &mut Silent).unwrap();
        let by_sample = by_sample.decision_function(&rows_of).unwrap();
        assert!((&by_sample - &by_number).iter().all(|gap| gap.abs() < 1e-12));
        let unweighted = plain.fit(&rows_of, &labels).unwrap();
        assert_ne!(unweighted.decision_function(&rows_of).unwrap(), by_number);
        // Balanced: as n / (2 n_c).
        let balanced = $estimator::builder().gamma(gamma).class_weight(ClassWeight::Balanced);
        let balanced = balanced.build().unwrap().fit(&rows_of, &labels).unwrap();
        let count = labels.iter().filter(|l| **l).count() as f64;
        let factor = |&l: &bool| 100.0 / if l { count } else { 200.0 - count };
        let weights: Vec<f64> = labels.iter().map(factor).collect();
        let by_sample = plain.fit_observed(&rows_of, &labels, Some(&weights), &mut Silent).unwrap();
        let gaps = balanced.decision_function(&rows_of).unwrap()
            - by_sample.decision_function(&rows_of).unwrap();
        assert!(gaps.iter().all(|gap| gap.abs() < 1e-5));
    };
}

#[test]
fn budget() {
    classifier!(BudgetSvc);
}

#[test]
fn primal() {
    classifier!(PrimalSvc);
}

#[test]
fn asset() {
    classifier!(AssetSvc);
}

#[test]
fn exact() {
    classifier!(Svc);
}

macro_rules! regressor {
    ($estimator:ident) => {
        let (rows, _, values) = data(150);
        let rows = Rows::from(&rows);
        let fit = |gamma: Gamma| {
            let model = $estimator::builder().gamma(gamma).threads(2).build().unwrap();
            model.fit_observed(&rows, &values, None, &mut Silent).unwrap().predict(&rows).unwrap()
        };
        assert_eq!(fit(Gamma::Auto), fit(Gamma::Value(0.5)));
        assert_ne!(fit(Gamma::Auto), fit(Gamma::Scale));
    };
}

#[test]
fn regression() {
    regressor!(BudgetSvr);
    regressor!(PrimalSvr);
    regressor!(AssetSvr);
}

#[test]
fn asset_machines_learn_streams() {
    let (rows, labels, values) = data(600);
    let part = |first| Rows::from(&rows).range(first, first + 200);
    let svc = AssetSvc::builder().gamma(1.0).c(10.0).build().unwrap();
    let mut model = svc.partial_fit(&part(0), &labels[..200], &[false, true]).unwrap();
    for first in [200, 400, 0, 200, 400] {
        model = model.partial_fit(&part(first), &labels[first..first + 200]).unwrap();
    }
    let predicted = model.predict(&Rows::from(&rows)).unwrap();
    let right = predicted.iter().zip(&labels).filter(|(a, b)| a == b).count();
    assert!(right > 540, "{right}");
    assert!(svc.partial_fit(&part(0), &labels[..200], &[false]).is_err());

    let svr = AssetSvr::builder().gamma(0.5).c(10.0).build().unwrap();
    let mut model = svr.partial_fit(&part(0), &values[..200]).unwrap();
    for first in [200, 400, 0, 200, 400] {
        model = model.partial_fit(&part(first), &values[first..first + 200]).unwrap();
    }
    let errors = model.predict(&Rows::from(&rows)).unwrap();
    let mean = errors.iter().zip(&values).map(|(f, y)| (f - y).abs()).sum::<f64>() / 600.0;
    assert!(mean < 0.3, "{mean}");

    let balanced = AssetSvc::builder().class_weight(ClassWeight::Balanced).build().unwrap();
    let refused = balanced.partial_fit(&part(0), &labels[..200], &[false, true]);
    assert!(refused.unwrap_err().to_string().contains("class_weight"));
}

#[test]
fn a_score_that_stays_ends_a_fit() {
    let (rows, labels, values) = data(600);
    let rows = Rows::from(&rows);
    let svc = BudgetSvc::builder().gamma(1.0).budget(20).max_iter(50).tol(0.0).early_stopping(true);
    let svc = svc.validation_fraction(0.25).n_iter_no_change(2);
    let model = svc.clone().build().unwrap().fit(&rows, &labels).unwrap();
    assert_eq!(model.report().stop, StopReason::EarlyStopping);
    assert!(model.report().n_iter < 50);
    let again = svc.clone().build().unwrap().fit(&rows, &labels).unwrap();
    let decide = |m: &budgetsvm::BudgetSvcModel<f64, bool>| m.decision_function(&rows).unwrap();
    assert_eq!(decide(&model), decide(&again));
    let other = svc.clone().seed(1).build().unwrap().fit(&rows, &labels).unwrap();
    assert_ne!(decide(&model), decide(&other));
    let svr = BudgetSvr::builder().gamma(1.0).budget(20).max_iter(50).tol(0.0).early_stopping(true);
    let svr = svr.n_iter_no_change(1).build().unwrap().fit(&rows, &values).unwrap();
    assert_eq!(svr.report().stop, StopReason::EarlyStopping);

    let refused = svc.clone().validation_fraction(1.0).build();
    assert!(refused.unwrap_err().to_string().contains("validation_fraction must be"));
    let refused = svc.validation_fraction(1e-6).build().unwrap().fit(&rows, &labels);
    assert!(refused.unwrap_err().to_string().contains("validation_fraction must be"));
}

#[test]
fn who_is_told_to_end_has_not_converged() {
    let (rows, labels, _) = data(3000);
    let rows = Rows::from(&rows);
    let mut at_once = |_: &Progress| std::ops::ControlFlow::Break(Cancel::Keep);
    let svc = BudgetSvc::builder().budget(20).build().unwrap();
    let model = svc.fit_observed(&rows, &labels, None, &mut at_once).unwrap();
    assert_eq!(model.report().stop, StopReason::Callback);
    let svc = PrimalSvc::builder().build().unwrap();
    let model = svc.fit_observed(&rows, &labels, None, &mut at_once).unwrap();
    assert_eq!(model.report().stop, StopReason::Callback);
    let svc = AssetSvc::builder().build().unwrap();
    let model = svc.fit_observed(&rows, &labels, None, &mut at_once).unwrap();
    assert_eq!(model.report().stop, StopReason::Callback);
    let svc = Svc::builder().build().unwrap();
    let model = svc.fit_observed(&rows, &labels, None, &mut at_once).unwrap();
    assert!(!model.machine().converged());
}

#[test]
fn a_label_unknown_is_shown() {
    let (rows, labels, _) = data(60);
    let rows = Rows::from(&rows);
    let labels: Vec<u8> = labels.iter().map(|&l| u8::from(l)).collect();
    let model = BudgetSvc::builder().build().unwrap().fit(&rows, &labels).unwrap();
    let mut other = labels.clone();
    other[7] = 2;
    let text = model.partial_fit(&rows, &other).unwrap_err().to_string();
    assert!(text.contains("labels") && text.contains("row 7"), "{text}");
}

/// A constant added to the values is added to the predictions, unless there is to be no offset.
macro_rules! far_from_zero {
    ($estimator:ident) => {
        let (rows, _, values) = data(600);
        let rows = Rows::from(&rows);
        let far: Vec<f64> = values.iter().map(|y| y + 1000.0).collect();
        let builder = || $estimator::builder().gamma(1.0).c(10.0);
        let model = builder().build().unwrap().fit(&rows, &far).unwrap();
        assert_eq!(model.cautions(), []);
        let errors = model.predict(&rows).unwrap();
        let mean = errors.iter().zip(&far).map(|(f, y)| (f - y).abs()).sum::<f64>() / 600.0;
        assert!(mean < 0.3, "{}: {mean}", stringify!($estimator));
        let without = builder().fit_intercept(false).build().unwrap().fit(&rows, &far).unwrap();
        assert!(
            without.predict(&rows).unwrap().iter().sum::<f64>() < 0.99 * far.iter().sum::<f64>()
        );
    };
}

#[test]
fn regression_has_an_offset() {
    far_from_zero!(BudgetSvr);
    far_from_zero!(AssetSvr);
    let (rows, _, values) = data(600);
    let far: Vec<f64> = values.iter().map(|y| y + 1000.0).collect();
    let part = |first| Rows::from(&rows).range(first, first + 200);
    let svr = BudgetSvr::builder().gamma(1.0).c(10.0).polishing(false).build().unwrap();
    let mut model = svr.partial_fit(&part(0), &far[..200]).unwrap();
    model.learn(&part(200), &far[200..400]).unwrap();
    let told = model.predict(&part(400)).unwrap();
    let mean = told.iter().zip(&far[400..]).map(|(f, y)| (f - y).abs()).sum::<f64>() / 200.0;
    assert!(mean < 0.5, "{mean}");
}

#[test]
fn what_may_disappoint_is_told() {
    let (rows, labels, values) = data(300);
    let wide: Vec<f64> = values.iter().map(|y| 0.01 * y).collect();
    let model = BudgetSvr::builder().build().unwrap().fit(&Rows::from(&rows), &wide).unwrap();
    let told: Vec<String> = model.cautions().iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("epsilon = 0.1") && told[1].contains("no terms"), "{told:?}");
    let mut scaled = rows.clone();
    scaled.column_mut(1).mapv_inplace(|x| 50.0 * x);
    for (rows, expected) in [(&rows, None), (&scaled, Some("1 of 2 features"))] {
        let rows = Rows::from(rows);
        let told = [
            BudgetSvc::builder().build().unwrap().fit(&rows, &labels).unwrap().cautions().to_vec(),
            PrimalSvc::builder().build().unwrap().fit(&rows, &labels).unwrap().cautions().to_vec(),
        ];
        for told in told {
            let told: Vec<String> = told.iter().map(ToString::to_string).collect();
            assert_eq!(told.len(), usize::from(expected.is_some()), "{told:?}");
            assert!(expected.is_none_or(|text| told[0].starts_with(text)), "{told:?}");
        }
    }
}

#[test]
fn training_goes_on_with_weights_and_an_observer() {
    let (rows, labels, values) = data(400);
    let part = |first| Rows::from(&rows).range(first, first + 200);
    let ones = vec![1.0; 200];
    let more: Vec<f64> = (0..200).map(|i| 1.0 + f64::from(i % 5)).collect();
    let svc = BudgetSvc::builder().gamma(1.0).budget(20).build().unwrap();
    let begun = svc
        .partial_fit_observed((&part(0), &labels[..200]), &[false, true], Some(&more), &mut Silent)
        .unwrap();
    let plain = svc.partial_fit(&part(0), &labels[..200], &[false, true]).unwrap();
    let decide = |m: &budgetsvm::BudgetSvcModel<f64, bool>| m.decision_function(&part(0)).unwrap();
    assert_ne!(decide(&begun), decide(&plain));
    let learnt = |weights: Option<&[f64]>| {
        let mut next = plain.clone();
        next.learn_observed(&part(200), &labels[200..], weights, &mut Silent).unwrap();
        next
    };
    assert_eq!(decide(&learnt(None)), decide(&learnt(Some(&ones))));
    assert_ne!(decide(&learnt(None)), decide(&learnt(Some(&more))));
    let polished = |weights: Option<&[f64]>| {
        let told = plain.polish_observed(&part(200), &labels[200..], weights, &mut Silent);
        decide(&told.unwrap())
    };
    assert_eq!(polished(None), polished(Some(&ones)));
    assert_ne!(polished(None), polished(Some(&more)));
    let mut told = 0;
    let mut watching = |_: &Progress| {
        told += 1;
        std::ops::ControlFlow::Continue(())
    };
    plain.polish_observed(&part(200), &labels[200..], None, &mut watching).unwrap();
    assert!(told > 0);

    let svr = BudgetSvr::builder().gamma(1.0).budget(20).build().unwrap();
    let model = svr.partial_fit_observed(&part(0), &values[..200], Some(&more), &mut Silent);
    let mut model = model.unwrap();
    model.learn_observed(&part(200), &values[200..], Some(&more), &mut Silent).unwrap();
    model.polish_observed(&part(200), &values[200..], Some(&more), &mut Silent).unwrap();
    assert!(model.learn_observed(&part(200), &values[200..], Some(&[1.0]), &mut Silent).is_err());
}

const SCALES: [f64; 2] = [4.0, 0.5];

/// What is said of rows by a model of the type of this one.
fn of<M, T, S: Fn(&M, &Rows<'_, f64>) -> T>(_: &M, said: S) -> S {
    said
}

/// With scales the machine is that of scaled rows, for rows as they come; its file too. Powers of
/// two: the same bits.
macro_rules! scaled {
    ($builder:expr, |$svm:ident, $rows:ident| $fit:expr, |$model:ident, $seen:ident| $said:expr) => {{
        let (plain, _, _) = data(150);
        let mut times = plain.clone();
        times.rows_mut().into_iter().for_each(|mut row| {
            row.iter_mut().zip(SCALES).for_each(|(v, w)| *v *= w);
        });
        let (plain, times) = (Rows::from(&plain), Rows::from(&times));
        let ($svm, $rows) = ($builder.feature_scales(SCALES).build().unwrap(), &plain);
        let with = $fit.unwrap();
        let ($svm, $rows) = ($builder.build().unwrap(), &times);
        let without = $fit.unwrap();
        let said = of(&with, |$model, $seen| $said);
        let told = said(&with, &plain);
        assert_eq!(told, said(&without, &times));
        let again = Saved::from_archive(with.to_archive().unwrap()).unwrap();
        assert_eq!(told, said(&again, &plain));
        with
    }};
}

#[test]
fn features_are_scaled() {
    let (_, labels, y) = data(150);
    macro_rules! classes {
        ($builder:expr) => {
            scaled!($builder, |svm, rows| svm.fit(rows, &labels), |model, rows| {
                model.decision_function(rows).unwrap()
            })
        };
    }
    macro_rules! values {
        ($builder:expr) => {
            scaled!($builder, |svm, rows| svm.fit(rows, &y), |m, rows| m.predict(rows).unwrap())
        };
    }
    let scale = Gamma::Scale;
    classes!(BudgetSvc::builder().budget(20).gamma(scale));
    classes!(PrimalSvc::builder().gamma(scale));
    classes!(AssetSvc::builder().gamma(scale));
    classes!(OnlineSvc::builder().gamma(scale));
    classes!(LocalBudgetSvc::builder().n_clusters(3).gamma(scale));
    values!(BudgetSvr::builder().budget(20).gamma(scale));
    values!(PrimalSvr::builder().gamma(scale));
    values!(AssetSvr::builder().gamma(scale));
    values!(Svr::builder().gamma(scale));
    scaled!(
        BudgetOneClassSvm::builder().budget(20).gamma(scale),
        |svm, rows| svm.fit(rows),
        |model, rows| model.decision_function(rows).unwrap()
    );
    scaled!(OneClassSvm::builder().gamma(scale), |svm, rows| svm.fit(rows), |model, rows| model
        .decision_function(rows)
        .unwrap());
    let svc = classes!(Svc::builder().gamma(scale));
    // Whoever has only the model of a file decides alike.
    let (plain, _, _) = data(150);
    let rows = Rows::from(&plain);
    let AnyModel::F64(model) = AnyModel::of_archive(svc.to_archive().unwrap()).unwrap() else {
        unreachable!()
    };
    let decided = model.decision(&rows, 1).unwrap();
    assert_eq!(decided, svc.decision_function(&rows).unwrap());
    // Support vectors are rows as they came.
    let vectors = model.support_vectors().unwrap().unwrap();
    let mut row = [0.0; 2];
    for (slot, &sample) in svc.machine().support.iter().enumerate() {
        vectors.rows().unwrap().copy_row(slot, &mut row);
        assert_eq!(row.as_slice(), plain.row(sample).as_slice().unwrap());
    }
}

#[test]
fn a_stream_goes_on_scaled() {
    let (plain, labels, _) = data(150);
    let times = Array2::from_shape_fn((150, 2), |(i, k)| plain[(i, k)] * SCALES[k]);
    let svc = BudgetSvc::builder().budget(20).gamma(1.0);
    let mut with = svc.clone().feature_scales(SCALES).build().unwrap();
    let run = |svc: &BudgetSvc, rows: &Array2<f64>| {
        let part = |a, b| Rows::from(rows).range(a, b);
        let mut model = svc.partial_fit(&part(0, 70), &labels[..70], &[false, true]).unwrap();
        model.learn(&part(70, 150), &labels[70..]).unwrap();
        model.decision_function(&Rows::from(rows)).unwrap()
    };
    assert_eq!(run(&with, &plain), run(&svc.build().unwrap(), &times));
    with = BudgetSvc::builder().feature_scales([1.0]).build().unwrap();
    let error = with.fit(&Rows::from(&plain), &labels).unwrap_err().to_string();
    assert!(error.contains("feature_scales"), "{error}");
    for bad in [[1.0, -1.0], [f64::NAN, 1.0]] {
        let error = BudgetSvc::builder().feature_scales(bad).build().unwrap_err().to_string();
        assert!(error.contains("feature_scales"), "{error}");
    }
}

#[test]
fn a_basis_and_an_earlier_machine_are_scaled_too() {
    let (plain, labels, _) = data(150);
    let times = Array2::from_shape_fn((150, 2), |(i, k)| plain[(i, k)] * SCALES[k]);
    let svc = PrimalSvc::builder().gamma(1.0);
    let with = svc.clone().feature_scales(SCALES).build().unwrap();
    let without = svc.build().unwrap();
    let (a, b) = (Rows::from(&plain), Rows::from(&times));
    let (on, other) =
        (with.fit_on(&a, &labels, &a.range(0, 20)), without.fit_on(&b, &labels, &b.range(0, 20)));
    let (on, other) = (on.unwrap(), other.unwrap());
    assert_eq!(on.decision_function(&a).unwrap(), other.decision_function(&b).unwrap());
    let again = with.fit_from(&a, &labels, &with.fit(&a, &labels).unwrap()).unwrap();
    let other = without.fit_from(&b, &labels, &without.fit(&b, &labels).unwrap()).unwrap();
    assert_eq!(again.decision_function(&a).unwrap(), other.decision_function(&b).unwrap());
    let error = without.fit_from(&a, &labels, &again).unwrap_err().to_string();
    assert!(error.contains("feature_scales"), "{error}");
}

#[test]
fn scales_are_learnt() {
    // Two features say something, in units of their own; eight do not.
    let mut rng = Rng::new(7);
    let rows =
        Array2::from_shape_fn((500, 10), |(_, k)| rng.normal() * if k == 1 { 100.0 } else { 1.0 });
    let y: Vec<f64> = rows.rows().into_iter().map(|x| (2.0 * x[0]).sin() + 0.01 * x[1]).collect();
    let labels: Vec<bool> = y.iter().map(|y| *y > 0.0).collect();
    let rows = Rows::from(&rows);
    let (train, rest) = (rows.range(0, 300), rows.range(300, 500));
    macro_rules! right {
        ($builder:expr) => {{
            let model = $builder.build().unwrap().fit(&train, &labels[..300]).unwrap();
            let found = model.predict(&rest).unwrap();
            found.iter().zip(&labels[300..]).filter(|(a, b)| a == b).count()
        }};
    }
    for gamma in [Gamma::Scale, Gamma::Value(0.3)] {
        let learn = FeatureScales::Learn;
        let plain = right!(BudgetSvc::builder().gamma(gamma));
        assert!(right!(BudgetSvc::builder().gamma(gamma).feature_scales(learn.clone())) > plain);
        assert!(right!(Svc::builder().gamma(gamma).feature_scales(learn.clone())) > 170);
        assert!(right!(PrimalSvc::builder().gamma(gamma).feature_scales(learn)) > 170);
    }
    let svr = Svr::builder().gamma(Gamma::Scale).feature_scales(FeatureScales::Learn);
    let model = svr.build().unwrap().fit(&train, &y[..300]).unwrap();
    let missed: f64 =
        model.predict(&rest).unwrap().iter().zip(&y[300..]).map(|(f, y)| (f - y).abs()).sum();
    assert!(missed / 200.0 < 0.3, "{missed}");
    let refused = OneClassSvm::builder().feature_scales(FeatureScales::Learn).build().unwrap();
    assert!(refused.fit(&train).is_err());
    let refused = BudgetSvc::builder()
        .kernel(budgetsvm::kernel::AnyKernel::Linear)
        .feature_scales(FeatureScales::Learn);
    let error = refused.build().unwrap().fit(&train, &labels[..300]).unwrap_err().to_string();
    assert!(error.contains("feature_scales"), "{error}");
}
