//! The online and the local machines in Rust: what training that goes on refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

use budgetsvm::data::{Problem, Rows, SampleOrder, Targets};
use budgetsvm::error::Error;
use budgetsvm::estimator::{Cells, LocalConfig, OnlineConfig};
use budgetsvm::kernel::AnyKernel;
use budgetsvm::online::{AnyLearner, KernelOgd};
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
    LocalConfig {
        kernel: KERNEL,
        n_clusters: 3,
        budget,
        center_step: 0.1,
        order: SampleOrder::Sequential,
        ..LocalConfig::default()
    }
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
        let inner = LocalConfig { cells: Cells::Bsca, ..local(20) };
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
    let config = OnlineConfig {
        learner: AnyLearner::KernelOgd(KernelOgd { learning_rate: 0.1, regularization: 0.0 }),
        kernel: KERNEL,
        order: SampleOrder::Sequential,
        ..OnlineConfig::default()
    };
    let mut cost = vec![1.0; 100];
    let fit = |cost: &[f64]| {
        let problem = Problem::new(Rows::Dense(x.view()), targets, cost).unwrap();
        Watch::run(1, &mut Silent, |watch| config.fit(&problem, watch).map(|_| ()))
    };
    fit(&cost).unwrap();
    cost[3] = 0.0;
    assert!(matches!(fit(&cost), Err(Error::Unsupported(text)) if text.contains("weights")));
}
