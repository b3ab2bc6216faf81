//! The online and the local machines in Rust: what training that goes on refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use budgetsvm::data::{Problem, Rows, SampleOrder, Targets};
use budgetsvm::error::Error;
use budgetsvm::estimator::{
    Cells, LocalBudgetSvc, LocalConfig, OnlineConfig, OnlineSvc, OnlineSvcModel, Precision,
};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::online::{
    AnyLearner, BudgetOgd, Forgetron, FourierOgd, KernelOgd, KernelPerceptron, NystroemOgd,
    PassiveAggressive, Projectron, RandomizedBudgetPerceptron, SparsePassiveAggressive, Stoptron,
};
use budgetsvm::rng::Rng;
use budgetsvm::watch::{Silent, Watch};
use ndarray::Array2;

const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 };

fn data(n: usize) -> (Array2<f64>, Vec<u32>) {
    let mut rng = Rng::new(1);
    let rows = Array2::from_shape_fn((n, 2), |_| rng.normal());
    let class = |row: ndarray::ArrayView1<'_, f64>| {
        u32::from(row[0] * row[1] > 0.0) + u32::from(row[0] > 1.0)
    };
    let classes = rows.rows().into_iter().map(class).collect();
    (rows, classes)
}

fn local(budget: usize) -> LocalConfig {
    let mut config = LocalConfig::default();
    (config.kernel, config.n_clusters, config.budget) = (KERNEL, Some(3), Some(budget));
    (config.center_step, config.order) = (0.1, SampleOrder::Sequential);
    config
}

#[test]
fn a_local_machine_goes_on_with_its_own_classes_and_budget() {
    let (x, classes) = data(300);
    let cost = vec![10.0; 300];
    let rows = Rows::Dense(x.view());
    let three = Targets::Classes { index: &classes, n_classes: 3 };
    let problem = Problem::new(rows.view(), three, &cost).unwrap();
    Watch::run(2, &mut Silent, |watch| {
        let (machine, _) = local(20).fit(&problem, None, watch).unwrap();
        let smaller = local(2).partial_fit(&problem, Some(&machine), watch);
        assert!(matches!(smaller, Err(Error::InvalidParam { name: "budget", .. })));
        let halves: Vec<u32> = classes.iter().map(|c| c % 2).collect();
        let two = Targets::Classes { index: &halves, n_classes: 2 };
        let other = Problem::new(rows.view(), two, &cost).unwrap();
        let refused = local(20).partial_fit(&other, Some(&machine), watch);
        assert!(matches!(refused, Err(Error::BadLabels(_))));
        let mut inner = local(20);
        inner.cells = Cells::Bsca;
        let refused = inner.partial_fit(&problem, Some(&machine), watch);
        assert!(matches!(refused, Err(Error::Unsupported(_))));
        let (on, _) = local(20).partial_fit(&problem, Some(&machine), watch).unwrap();
        assert!(on.sizes().unwrap().iter().all(|&size| size <= 20));
        for (centers, names) in [(vec![0.0; 20], "n_clusters"), (vec![f64::NAN; 2], "centers")] {
            let told = local(20).fit(&problem, Some(&centers), watch);
            assert!(told.unwrap_err().to_string().contains(names));
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn online_learners_take_no_weights() {
    let (x, classes) = data(100);
    let halves: Vec<u32> = classes.iter().map(|c| c % 2).collect();
    let targets = Targets::Classes { index: &halves, n_classes: 2 };
    let learner = KernelOgd { learning_rate: 0.1, regularization: 0.0 };
    let mut config = OnlineConfig::default();
    (config.learner, config.kernel) = (AnyLearner::KernelOgd(learner), KERNEL);
    config.order = SampleOrder::Sequential;
    let mut cost = vec![1.0; 100];
    let fit = |cost: &[f64]| {
        let problem = Problem::new(Rows::Dense(x.view()), targets, cost).unwrap();
        Watch::run(1, &mut Silent, |watch| config.fit(&problem, watch).map(|_| ()))
    };
    fit(&cost).unwrap();
    cost[3] = 0.0;
    assert!(matches!(fit(&cost), Err(Error::Unsupported(text)) if text.contains("weights")));
}

/// Every learner, with a budget that these rows fill.
fn learners() -> Vec<AnyLearner> {
    let budget = 20;
    let rbp = RandomizedBudgetPerceptron { budget };
    vec![
        AnyLearner::KernelPerceptron(KernelPerceptron {}),
        AnyLearner::KernelOgd(KernelOgd::default()),
        AnyLearner::RandomizedBudgetPerceptron(rbp),
        AnyLearner::Stoptron(Stoptron { budget }),
        AnyLearner::Forgetron(Forgetron::new(budget)),
        AnyLearner::Projectron(Projectron { budget, threshold: 0.1, plus_plus: true }),
        AnyLearner::PassiveAggressive(PassiveAggressive { budget, c: 1.0 }),
        AnyLearner::BudgetOgd(BudgetOgd { budget, ..BudgetOgd::default() }),
        AnyLearner::SparsePassiveAggressive(SparsePassiveAggressive {
            budget,
            ..SparsePassiveAggressive::default()
        }),
        AnyLearner::FourierOgd(FourierOgd { n_frequencies: 16, learning_rate: 0.2 }),
        AnyLearner::NystroemOgd(NystroemOgd { budget, ..NystroemOgd::default() }),
    ]
}

/// A stream that is learnt from row by row in place, one in a few large parts, and one that is copied
/// at every part are the same, and what it says of a row just before it learns from it is what it
/// says when asked.
fn in_place<F: Precision>(learner: AnyLearner, average: bool, n_classes: u32) {
    let (x, classes) = data(220);
    let x = x.mapv(F::from_f64);
    let name = format!("{learner:?} {average} {n_classes}");
    let labels: Vec<String> = classes.iter().map(|c| format!("{}", c % n_classes)).collect();
    let all: Vec<String> = (0..n_classes).rev().map(|c| c.to_string()).collect();
    let svc = OnlineSvc::builder().learner(learner).kernel(KERNEL).average(average).seed(5);
    let svc = svc.threads(2).build().unwrap();
    let part = |from: usize, to: usize| Rows::Dense(x.slice(ndarray::s![from..to, ..]));
    let begin = || svc.partial_fit(&part(0, 2), &labels[..2], &all).unwrap();
    let (mut rows, mut parts, mut copies) = (begin(), begin(), begin());
    for i in 2..220 {
        let row = part(i, i + 1);
        let asked = (i % 20 == 0).then(|| rows.decision_function(&row).unwrap());
        let said = rows.test_then_learn(&row, &labels[i..=i]).unwrap();
        // Predictions are those of the mean, the learner's own values those of the last model.
        if let (Some(asked), false) = (asked, average) {
            let off = (&asked - &said).mapv(f64::abs).sum();
            assert!(
                off <= 1e3
                    * if F::NAME == "float32" { 1.2e-7 } else { 2.3e-16 }
                    * (1.0 + said.mapv(f64::abs).sum()),
                "{name}"
            );
        }
    }
    for (from, to) in [(2, 3), (3, 150), (150, 220)] {
        parts.learn(&part(from, to), &labels[from..to]).unwrap();
        copies = copies.partial_fit(&part(from, to), &labels[from..to]).unwrap();
    }
    let expected = parts.decision_function(&part(0, 220)).unwrap();
    assert_eq!(expected.ncols(), if n_classes == 2 { 1 } else { n_classes as usize });
    for other in [&rows, &copies] {
        assert_eq!(other.decision_function(&part(0, 220)).unwrap(), expected, "{name}");
        assert_eq!((other.n_terms(), other.classes()), (parts.n_terms(), parts.classes()));
    }
}

#[test]
fn a_stream_is_learnt_in_place_row_by_row_as_in_bulk() {
    for learner in learners() {
        for average in [false, true] {
            in_place::<f64>(learner.clone(), average, 2);
            in_place::<f32>(learner.clone(), average, 3);
        }
    }
}

#[test]
fn a_mistake_in_rows_or_labels_leaves_the_stream_as_it_was() {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    enum Side {
        Inner,
        Outer,
    }
    fn sendable<T: Send + Sync>(_: &T) {}
    let (x, classes) = data(100);
    let rows = Rows::from(&x);
    let labels: Vec<Side> =
        classes.iter().map(|c| if *c == 0 { Side::Inner } else { Side::Outer }).collect();
    let svc = OnlineSvc::builder().kernel(KERNEL).build().unwrap();
    let mut model: OnlineSvcModel<f64, Side> = svc.fit(&rows, &labels).unwrap();
    sendable(&model);
    assert_eq!(model.classes(), [Side::Inner, Side::Outer]);
    let before = model.decision_function(&rows).unwrap();
    let refused = model.learn(&Rows::of_one(&[1.0]).unwrap(), &[Side::Inner]);
    assert!(matches!(refused, Err(Error::FeatureMismatch { expected: 2, got: 1 })));
    let refused = model.learn(&Rows::of_one(&[1.0, f64::NAN]).unwrap(), &[Side::Inner]);
    assert!(matches!(refused, Err(Error::NonFinite { .. })));
    let refused = model.learn(&rows, &labels[1..]);
    assert!(matches!(refused, Err(Error::LengthMismatch { what: "y", .. })));
    assert_eq!(model.decision_function(&rows).unwrap(), before);
    let one = svc.fit(&rows, &[Side::Inner; 100]);
    assert!(matches!(one, Err(Error::BadLabels(_))));
    let mut named = svc.fit(&rows, &classes).unwrap();
    let refused = named.learn(&Rows::of_one(&[1.0, 1.0]).unwrap(), &[7]);
    assert!(matches!(refused, Err(Error::BadLabels(_))));
}

#[test]
fn cells_are_learnt_in_place_row_by_row_as_in_bulk() {
    let (x, classes) = data(220);
    let part = |from: usize, to: usize| Rows::Dense(x.slice(ndarray::s![from..to, ..]));
    for n_classes in [2, 3] {
        let labels: Vec<char> =
            classes.iter().map(|c| ['c', 'b', 'a'][(c % n_classes) as usize]).collect();
        let all = &['c', 'b', 'a'][..n_classes as usize];
        let svc = LocalBudgetSvc::builder().kernel(KERNEL).n_clusters(3).budget(15).c(5.0);
        let svc = svc.build().unwrap();
        let begin = || svc.partial_fit(&part(0, 2), &labels[..2], all).unwrap();
        let (mut rows, mut bulk) = (begin(), begin());
        let copy = begin().partial_fit(&part(2, 220), &labels[2..]).unwrap();
        (2..220).for_each(|i| rows.learn(&part(i, i + 1), &labels[i..=i]).unwrap());
        bulk.learn(&part(2, 220), &labels[2..]).unwrap();
        let expected = bulk.decision_function(&part(0, 220)).unwrap();
        assert_eq!(rows.decision_function(&part(0, 220)).unwrap(), expected);
        assert_eq!(copy.decision_function(&part(0, 220)).unwrap(), expected);
        let refused = bulk.learn(&Rows::of_one(&[1.0]).unwrap(), &['c']);
        assert!(matches!(refused, Err(Error::FeatureMismatch { expected: 2, got: 1 })));
        assert_eq!(bulk.decision_function(&part(0, 220)).unwrap(), expected);
    }
    let labels: Vec<u32> = classes.iter().map(|c| c % 2).collect();
    let inner = LocalBudgetSvc::builder().kernel(KERNEL).cells(Cells::Bsca).build().unwrap();
    let mut model = inner.fit(&Rows::from(&x), &labels).unwrap();
    let refused = model.learn(&Rows::of_one(&[1.0, 1.0]).unwrap(), &[0]);
    assert!(matches!(refused, Err(Error::Unsupported(_))));
}
