//! Fitted estimators as files: what is written is read, in Rust and by Python.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use std::path::{Path, PathBuf};

use budgetsvm::config::ClassWeight;
use budgetsvm::data::Rows;
use budgetsvm::error::{Error, Result};
use budgetsvm::estimator::{
    AssetConfig, BudgetConfig, Family, FileInfo, Functions, Precision, PrimalConfig,
};
use budgetsvm::loss::AnyLoss;
use budgetsvm::model::persist::{Archive, Labels};
use budgetsvm::online::{AnyLearner, Projectron};
use budgetsvm::{
    AssetSvc, AssetSvcModel, AssetSvr, AssetSvrModel, AutoSvc, AutoSvcModel, AutoSvr, AutoSvrModel,
    BudgetOneClassSvm, BudgetOneClassSvmModel, BudgetSvc, BudgetSvcModel, BudgetSvr,
    BudgetSvrModel, LabelSetsModel, LocalBudgetSvc, LocalBudgetSvcModel, OneClassSvm,
    OneClassSvmModel, OnlineSvc, OnlineSvcModel, PrimalSvc, PrimalSvcModel, PrimalSvr,
    PrimalSvrModel, Saved, SemiparametricOneClassSvm, SemiparametricOneClassSvmModel,
    SemiparametricSvc, SemiparametricSvcModel, Svc, SvcModel, Svr, SvrModel, inspect,
};
use ndarray::Array2;
use serde_json::json;

fn rows() -> Array2<f64> {
    Array2::from_shape_fn((60, 1), |(i, _)| (i as f64 - 29.5) / 29.5)
}

fn labels() -> Vec<String> {
    (0..60).map(|i| if i < 30 { "low" } else { "high" }.to_owned()).collect()
}

fn three() -> Vec<i16> {
    (0..60).map(|i| [-5, 0, 7][i / 20]).collect()
}

/// The same model after its bytes.
fn again<M: Saved>(model: &M) -> M {
    let mut stream = Vec::new();
    model.write(&mut stream).unwrap();
    assert_eq!(stream, model.to_bytes().unwrap());
    let again = M::read(stream.as_slice()).unwrap();
    assert_eq!(again.to_bytes().unwrap(), stream, "nothing is lost");
    again
}

macro_rules! same {
    ($model:expr, $type:ty, |$fitted:ident| $said:expr) => {{
        let $fitted: $type = $model.unwrap();
        let before = $said;
        let $fitted = again(&$fitted);
        assert_eq!(before, $said, stringify!($type));
    }};
}

#[test]
fn every_estimator_is_what_it_was_after_its_bytes() {
    let (x, names, three) = (rows(), labels(), three());
    let rows = Rows::from(&x);
    let y: Vec<f64> = x.iter().map(|v| v * v).collect();
    let single = x.mapv(|v| v as f32);
    let narrow = Rows::from(&single);
    same!(
        BudgetSvc::builder().budget(8).gamma(1.0).build().unwrap().fit(&narrow, &three),
        BudgetSvcModel<f32, i16>,
        |m| m.decision_function(&narrow).unwrap()
    );
    same!(
        BudgetSvr::builder().budget(8).gamma(1.0).build().unwrap().fit(&rows, &y),
        BudgetSvrModel<f64>,
        |m| m.predict(&rows).unwrap()
    );
    same!(
        PrimalSvc::builder().gamma(1.0).build().unwrap().fit(&rows, &names),
        PrimalSvcModel<f64, String>,
        |m| (m.decision_function(&rows).unwrap(), m.report().n_iter, m.report().support.clone())
    );
    same!(
        PrimalSvr::builder().gamma(1.0).build().unwrap().fit(&rows, &y),
        PrimalSvrModel<f64>,
        |m| m.predict(&rows).unwrap()
    );
    same!(
        AssetSvc::builder().gamma(1.0).n_components(9).build().unwrap().fit(&narrow, &three),
        AssetSvcModel<f32, i16>,
        |m| m.partial_fit(&narrow, &three).unwrap().decision_function(&narrow).unwrap()
    );
    same!(
        AssetSvr::builder().gamma(1.0).n_components(9).build().unwrap().fit(&rows, &y),
        AssetSvrModel<f64>,
        |m| m.predict(&rows).unwrap()
    );
    same!(
        Svc::builder().gamma(1.0).build().unwrap().fit(&rows, &three),
        SvcModel<f64, i16>,
        |m| (m.decision_function(&rows).unwrap(), m.machine().support.clone())
    );
    same!(Svr::builder().gamma(1.0).build().unwrap().fit(&rows, &y), SvrModel<f64>, |m| m
        .predict(&rows)
        .unwrap());
    same!(
        OneClassSvm::builder().gamma(1.0).build().unwrap().fit(&rows),
        OneClassSvmModel<f64>,
        |m| m.decision_function(&rows).unwrap()
    );
    same!(AutoSvc::builder().build().unwrap().fit(&rows, &names), AutoSvcModel<f64, String>, |m| (
        m.probabilities(&rows).unwrap(),
        m.predict(&rows).unwrap(),
        m.report().feature_scales()
    ));
    same!(AutoSvc::builder().build().unwrap().fit(&narrow, &three), AutoSvcModel<f32, i16>, |m| m
        .probabilities(&narrow)
        .unwrap());
    same!(AutoSvr::builder().build().unwrap().fit(&rows, &y), AutoSvrModel<f64>, |m| m
        .predict(&rows)
        .unwrap());
    same!(
        BudgetSvc::builder().feature_scales([0.3]).build().unwrap().fit(&rows, &three),
        BudgetSvcModel<f64, i16>,
        |m| m.partial_fit(&rows, &three).unwrap().decision_function(&rows).unwrap()
    );
    let svm = BudgetOneClassSvm::builder().budget(8).nu(0.2).gamma(1.0).build().unwrap();
    same!(svm.fit(&rows), BudgetOneClassSvmModel<f64>, |m| m.decision_function(&rows).unwrap());
    same!(svm.partial_fit(&narrow), BudgetOneClassSvmModel<f32>, |m| m.offset().unwrap());
    let known = Functions::Values(x.view());
    same!(
        SemiparametricSvc::builder().gamma(1.0).build().unwrap().fit(&rows, known, &names),
        SemiparametricSvcModel<f64, String>,
        |m| m.predict(&rows, Functions::Values(x.view())).unwrap()
    );
    // Values below and above 0: no combination is of one sign.
    let waves = x.mapv(|v| (7.0 * v).sin());
    same!(
        SemiparametricOneClassSvm::builder()
            .gamma(1.0)
            .build()
            .unwrap()
            .fit(&rows, Functions::Values(waves.view())),
        SemiparametricOneClassSvmModel<f64>,
        |m| m.decision_function(&rows, Functions::Values(waves.view())).unwrap()
    );
    let learner = AnyLearner::Projectron(Projectron { budget: 9, threshold: 0.1, plus_plus: true });
    same!(
        OnlineSvc::builder().learner(learner).gamma(1.0).build().unwrap().fit(&rows, &three),
        OnlineSvcModel<f64, i16>,
        |m| m.partial_fit(&rows, &three).unwrap().decision_function(&rows).unwrap()
    );
    same!(
        LocalBudgetSvc::builder().n_clusters(4).gamma(1.0).build().unwrap().fit(&rows, &names),
        LocalBudgetSvcModel<f64, String>,
        |m| m.decision_function(&rows).unwrap()
    );
}

#[test]
fn a_file_of_other_types_is_refused_and_tells_what_it_is() {
    let x = rows();
    let model = BudgetSvc::builder().budget(8).gamma(1.0).build().unwrap();
    let model = model.fit(&Rows::from(&x), &three()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path).unwrap();
    let info = inspect(&path).unwrap();
    assert_eq!((info.kind.as_str(), info.precision), ("BudgetSVC", Some("float64")));
    assert_eq!(info.labels, Labels::Int(vec![-5, 0, 7]));
    assert_eq!((info.n_features, info.n_outputs, info.n_terms), (1, 3, model.n_terms()));
    fn refused<M>(loaded: Result<M>) {
        let error = loaded.err().unwrap();
        assert!(matches!(error, Error::OtherFile { .. }), "{error}");
    }
    BudgetSvcModel::<f64, i16>::load(&path).unwrap();
    refused(BudgetSvcModel::<f32, i16>::load(&path));
    refused(BudgetSvcModel::<f64, u16>::load(&path));
    refused(BudgetSvcModel::<f64, String>::load(&path));
    refused(BudgetSvrModel::<f64>::load(&path));
    refused(SvcModel::<f64, i16>::load(&path));
    let damaged = BudgetSvcModel::<f64, i16>::from_bytes(&std::fs::read(&path).unwrap()[1..]);
    assert!(matches!(damaged, Err(Error::Format(_))));
}

#[test]
fn a_file_of_an_exact_classifier_without_labels_is_refused() {
    let x = rows();
    let model = Svc::builder().gamma(1.0).build().unwrap().fit(&Rows::from(&x), &three()).unwrap();
    for labels in [serde_json::Value::Null, serde_json::json!(["int64", [3]])] {
        let mut archive = model.to_archive().unwrap();
        archive.estimator["labels"] = labels;
        let loaded = SvcModel::<f64, i16>::from_archive(archive);
        assert!(matches!(loaded, Err(Error::Format(_))));
    }
}

fn files() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/files")
}

#[test]
fn what_python_wrote_loads() {
    let entries = ["1", "2"].map(|folder| std::fs::read_dir(files().join(folder)).unwrap());
    let (mut count, mut sets) = (0, 0);
    for entry in entries.into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name == "said" {
            continue;
        }
        let info = inspect(&path).unwrap();
        if name.ends_with("-sets") {
            // Labels that do not exclude each other are no classes.
            assert!(BudgetSvcModel::<f64, i64>::load(&path).is_err(), "{name}");
            sets += usize::from(loads_sets(&path, &info));
            continue;
        }
        let x = Array2::from_shape_fn((5, info.n_features), |(i, j)| (i + j) as f64 / 5.0);
        let single = x.mapv(|v| v as f32);
        let (wide, narrow) = (Rows::from(&x), Rows::from(&single));
        macro_rules! predicts {
            ($model:ident, $($label:ty)?) => {
                match info.precision {
                    Some("float32") => {
                        let model = $model::<f32 $(, $label)?>::load(&path).expect(&name);
                        model.predict(&narrow).expect(&name).len()
                    }
                    _ => {
                        let model = $model::<f64 $(, $label)?>::load(&path).expect(&name);
                        model.predict(&wide).expect(&name).len()
                    }
                }
            };
        }
        let columns = if info.kind.contains("SVR") { info.n_outputs } else { 1 };
        let values = match (info.kind.as_str(), &info.labels) {
            ("BudgetSVC", Labels::Int(_)) => predicts!(BudgetSvcModel, i64),
            ("BudgetSVC", _) => predicts!(BudgetSvcModel, String),
            ("PrimalSVC", Labels::Int(_)) => predicts!(PrimalSvcModel, i64),
            ("PrimalSVC", _) => predicts!(PrimalSvcModel, String),
            ("AssetSVC", Labels::Int(_)) => predicts!(AssetSvcModel, i64),
            ("AssetSVC", _) => predicts!(AssetSvcModel, String),
            ("BudgetSVR", _) => predicts!(BudgetSvrModel,),
            ("PrimalSVR", _) => predicts!(PrimalSvrModel,),
            ("AssetSVR", _) => predicts!(AssetSvrModel,),
            ("AutoSVC", Labels::Int(_)) => predicts!(AutoSvcModel, i64),
            ("AutoSVC", _) => predicts!(AutoSvcModel, String),
            ("AutoSVR", _) => predicts!(AutoSvrModel,),
            ("BudgetOneClassSVM", _) => predicts!(BudgetOneClassSvmModel,),
            _ => continue,
        };
        assert_eq!(values, 5 * columns, "{name}");
        count += 1;
    }
    assert!(count >= 33, "{count}");
    assert_eq!(sets, 3);
}

/// A file of rows with sets of labels, of the families that Rust has.
fn loads_sets(path: &Path, info: &FileInfo) -> bool {
    fn loads<C: Family, F: Precision>(path: &Path, n_features: usize) -> bool {
        let x = Array2::from_shape_fn((5, n_features), |(i, j)| F::from_f64((i + j) as f64 / 5.0));
        let model = LabelSetsModel::<C, F, i64>::load(path).unwrap();
        assert_eq!(model.labels(), [0, 1, 2]);
        let values = model.decision_function(&Rows::from(&x)).unwrap();
        let told = model.predict(&Rows::from(&x)).unwrap();
        for (set, values) in told.iter().zip(values.rows()) {
            let positive: Vec<i64> = (0..3).filter(|&at| values[at as usize] > 0.0).collect();
            assert_eq!(*set, positive);
        }
        true
    }
    match (info.kind.as_str(), info.precision) {
        ("BudgetSVC", Some("float32")) => loads::<BudgetConfig, f32>(path, info.n_features),
        ("BudgetSVC", _) => loads::<BudgetConfig, f64>(path, info.n_features),
        ("PrimalSVC", Some("float32")) => loads::<PrimalConfig, f32>(path, info.n_features),
        ("PrimalSVC", _) => loads::<PrimalConfig, f64>(path, info.n_features),
        ("AssetSVC", Some("float32")) => loads::<AssetConfig, f32>(path, info.n_features),
        ("AssetSVC", _) => loads::<AssetConfig, f64>(path, info.n_features),
        _ => false,
    }
}

#[test]
fn sets_of_labels_are_learnt_one_by_one_on_shared_terms() {
    let x = Array2::from_shape_fn((200, 2), |(i, j)| ((i * (7 + 4 * j)) as f64 * 0.37).sin());
    let has = |row: ndarray::ArrayView1<'_, f64>| {
        let known = [("a", row[0] > 0.0), ("b", row[1] > 0.3), ("c", row[0] > row[1])];
        known.iter().filter(|(_, is)| *is).map(|(label, _)| (*label).to_owned()).collect()
    };
    let sets: Vec<Vec<String>> = x.rows().into_iter().map(has).collect();
    assert!(sets.iter().any(Vec::is_empty) && sets.iter().any(|set| set.len() == 3));
    let rows = Rows::from(&x);
    let svc = BudgetSvc::builder().budget(40).c(100.0).gamma(1.0).build().unwrap();
    let mut model = svc.fit_sets(&rows, &sets).unwrap();
    let right = |model: &LabelSetsModel<BudgetConfig, f64, String>| {
        let told = model.predict(&rows).unwrap();
        told.iter().zip(&sets).filter(|(a, b)| a == b).count()
    };
    assert!(right(&model) >= 190, "{}", right(&model));
    assert_eq!(model.predict_one(x.row(3).as_slice().unwrap()).unwrap().len(), sets[3].len());
    let again = LabelSetsModel::<BudgetConfig, f64, String>::from_bytes(&model.to_bytes().unwrap())
        .unwrap();
    assert_eq!(again.predict(&rows).unwrap(), model.predict(&rows).unwrap());
    assert!(BudgetSvcModel::<f64, String>::from_bytes(&model.to_bytes().unwrap()).is_err());
    model.learn(&rows, &sets).unwrap();
    assert!(right(&model) >= 190);
    assert!(matches!(model.predict_proba(&rows), Err(Error::Unsupported(_))));
    // A label's values are those of a machine of two classes on the same terms, polished.
    let logistic = PrimalSvc::builder().gamma(1.0).loss(AnyLoss::LogLoss);
    let logistic = logistic.build().unwrap();
    let p = logistic.fit_sets(&rows, &sets).unwrap().predict_proba(&rows).unwrap();
    let b: Vec<bool> = sets.iter().map(|set| set.contains(&"b".to_owned())).collect();
    let alone = logistic.fit(&rows, &b).unwrap().predict_proba(&rows).unwrap();
    for (all, own) in p.rows().into_iter().zip(alone.rows()) {
        assert!((all[1] - own[1]).abs() < 1e-3, "{} {}", all[1], own[1]);
    }
    // What is refused.
    let unknown = vec![vec!["z".to_owned()]; 200];
    assert!(matches!(model.learn(&rows, &unknown), Err(Error::BadLabels(_))));
    assert!(matches!(svc.fit_sets(&rows, &unknown), Err(Error::BadLabels(_))));
    assert!(matches!(svc.fit_sets(&rows, &sets[1..]), Err(Error::LengthMismatch { .. })));
    let weighed = BudgetSvc::builder().class_weight(ClassWeight::Balanced).build().unwrap();
    assert!(matches!(weighed.fit_sets(&rows, &sets), Err(Error::Unsupported(_))));
}

/// Writes what `tests/python/test_files.py` loads:
/// `BUDGETSVM_WRITE_FILES=1 cargo test --test saved -- --ignored`.
#[test]
#[ignore = "writes files that are kept"]
fn write_files() {
    if std::env::var_os("BUDGETSVM_WRITE_FILES").is_none() {
        return; // `make long` runs what is ignored, too
    }
    let (x, names) = (rows(), labels());
    let (rows, y) = (Rows::from(&x), x.iter().copied().collect::<Vec<f64>>());
    let folder = files().join("rust");
    std::fs::create_dir_all(&folder).unwrap();
    let path = |name: &str| folder.join(format!("{name}.safetensors"));
    let svc = BudgetSvc::builder().budget(8).c(10.0).gamma(1.0).build().unwrap();
    svc.fit(&rows, &names).unwrap().save(path("BudgetSVC")).unwrap();
    let svr = BudgetSvr::builder().budget(8).c(10.0).gamma(1.0).build().unwrap();
    svr.fit(&rows, &y).unwrap().save(path("BudgetSVR")).unwrap();
    let svc = PrimalSvc::builder().c(10.0).gamma(1.0).build().unwrap();
    svc.fit(&rows, &names).unwrap().save(path("PrimalSVC")).unwrap();
    let svr = PrimalSvr::builder().c(10.0).gamma(1.0).build().unwrap();
    svr.fit(&rows, &y).unwrap().save(path("PrimalSVR")).unwrap();
    let svc = AssetSvc::builder().c(10.0).gamma(1.0).n_components(20).build().unwrap();
    svc.fit(&rows, &names).unwrap().save(path("AssetSVC")).unwrap();
    let svr = AssetSvr::builder().c(10.0).gamma(1.0).n_components(20).build().unwrap();
    svr.fit(&rows, &y).unwrap().save(path("AssetSVR")).unwrap();
    let svm = BudgetOneClassSvm::builder().budget(8).nu(0.2).gamma(1.0).build().unwrap();
    svm.fit(&rows).unwrap().save(path("BudgetOneClassSVM")).unwrap();
    let svc = AutoSvc::builder().build().unwrap();
    svc.fit(&rows, &names).unwrap().save(path("AutoSVC")).unwrap();
    let svr = AutoSvr::builder().build().unwrap();
    svr.fit(&rows, &y).unwrap().save(path("AutoSVR")).unwrap();
    let svr = BudgetSvr::builder().budget(8).c(10.0).gamma(1.0).feature_scales([0.5]);
    svr.build().unwrap().fit(&rows, &y).unwrap().save(path("BudgetSVR-scaled")).unwrap();
}

#[test]
fn class_weights_and_early_stopping_are_in_the_file() {
    let (x, three) = (rows(), three());
    let rows = Rows::from(&x);
    let each = ClassWeight::Each(vec![1.0, 4.0, 0.5]);
    for (weight, told) in [
        (each, json!({"pairs": [[-5, 1.0], [0, 4.0], [7, 0.5]]})),
        (ClassWeight::Balanced, json!("balanced")),
        (ClassWeight::One, json!(null)),
    ] {
        let balanced = weight == ClassWeight::Balanced;
        let svc = BudgetSvc::builder().budget(8).gamma(1.0).early_stopping(true);
        let svc = svc.max_iter(3).class_weight(weight).build().unwrap();
        let mut model: BudgetSvcModel<f64, i16> = svc.fit(&rows, &three).unwrap();
        let params = Archive::from_bytes(&model.to_bytes().unwrap()).unwrap().estimator;
        assert_eq!(params["params"]["class_weight"], told);
        assert_eq!(params["params"]["early_stopping"], json!(true));
        let mut back = again(&model);
        let learnt = (model.learn(&rows, &three).is_ok(), back.learn(&rows, &three).is_ok());
        // What is balanced is not known of a stream, after a file either.
        assert_eq!(learnt, (!balanced, !balanced));
        assert_eq!(model.decision_function(&rows).unwrap(), back.decision_function(&rows).unwrap());
    }
}
