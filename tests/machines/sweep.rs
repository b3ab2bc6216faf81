//! The blocked sweep against its naive twin, and the promises about threads and budgets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // helpers of tests

#[path = "../common/naive.rs"]
mod naive;

use budgetsvm::budget::{AnyMaintenance, MergeSearch};
use budgetsvm::data::{Problem, Rows, SampleOrder, Targets};
use budgetsvm::kernel::{AnyKernel, origin_for};
use budgetsvm::loss::AnyLoss;
use budgetsvm::rng::Rng;
use budgetsvm::solver::{Budgeted, Method, Outcome, State, Stop, run};
use budgetsvm::watch::{Silent, Watch};
use naive::{Naive, Over};
use ndarray::Array2;

const N: usize = 90;
const GAMMA: f64 = 0.8;

/// Points of two (or three) overlapping clouds.
fn data(d: usize, classes: u32) -> (Array2<f64>, Vec<u32>, Vec<f64>) {
    let mut rng = Rng::new(4);
    let index: Vec<u32> = (0..N).map(|_| rng.below(classes as usize) as u32).collect();
    let x = Array2::from_shape_fn((N, d), |(i, k)| {
        let spread = rng.uniform() + rng.uniform() + rng.uniform() - 1.5;
        spread + if k as u32 % classes == index[i] { 0.7 } else { 0.0 }
    });
    let values = x.rows().into_iter().map(|r| (2.0 * r[0]).sin() + 0.1 * r[1]).collect();
    (x, index, values)
}

fn fit(
    solver: &Budgeted,
    x: &Array2<f64>,
    targets: Targets<'_>,
    cost: &[f64],
    passes: usize,
    threads: usize,
) -> (Outcome, Vec<f64>, usize) {
    let rows = Rows::Dense(x.view());
    let problem = Problem::new(rows, targets, cost).unwrap();
    let outputs = targets.n_outputs();
    let origin = origin_for(solver.kernel, &rows).unwrap();
    let mut state = State::new(solver, origin, x.ncols(), outputs).unwrap();
    let stop = Stop { max_iter: passes, tol: 0.0, rows: usize::MAX };
    Watch::run(threads, &mut Silent, |watch| {
        let outcome = run(solver, &problem, &mut state, &stop, watch)?;
        let model = state.model(solver.method).unwrap();
        let mut f = vec![0.0; x.nrows() * outputs];
        model.decision(&rows, &mut f).unwrap();
        Ok((outcome, f, model.n_terms()))
    })
    .unwrap()
}

fn solver(method: Method, kernel: AnyKernel, loss: AnyLoss, budget: Option<usize>) -> Budgeted {
    Budgeted {
        method,
        kernel,
        loss,
        budget,
        maintenance: AnyMaintenance::Merge { size: 2, search: MergeSearch::Auto },
        order: SampleOrder::Shuffled,
        seed: 3,
        record_objective: true,
        n_expected: None,
    }
}

#[test]
fn the_blocked_sweep_takes_the_steps_of_the_plain_loop() {
    let rbf = AnyKernel::Gaussian { gamma: GAMMA };
    let poly = AnyKernel::Polynomial { gamma: 0.2, coef0: 1.0, degree: 2 };
    let laplacian = AnyKernel::Laplacian { gamma: 0.4 };
    let merge = AnyMaintenance::Merge { size: 2, search: MergeSearch::Auto };
    let eps = AnyLoss::EpsilonInsensitive { epsilon: 0.05 };
    let cases = [
        (rbf, merge, Over::Merge, AnyLoss::Hinge, 2, Some(20)),
        (rbf, merge, Over::Merge, AnyLoss::Hinge, 2, Some(3)),
        (rbf, merge, Over::Merge, AnyLoss::Hinge, 3, Some(20)),
        (rbf, merge, Over::Merge, eps, 0, Some(15)),
        (rbf, merge, Over::Merge, AnyLoss::SquaredHinge, 2, None),
        (rbf, AnyMaintenance::RemoveSmallest, Over::RemoveSmallest, AnyLoss::Hinge, 2, Some(20)),
        (poly, AnyMaintenance::RemoveOldest, Over::RemoveOldest, AnyLoss::Hinge, 2, Some(20)),
        (poly, merge, Over::Merge, eps, 0, None),
        (laplacian, AnyMaintenance::Project, Over::Project, AnyLoss::Hinge, 2, Some(12)),
        (rbf, AnyMaintenance::Project, Over::Project, AnyLoss::Hinge, 3, Some(10)),
        (rbf, AnyMaintenance::Stop, Over::Stop, AnyLoss::Hinge, 2, Some(20)),
    ];
    let mut rng = Rng::new(8);
    let script: Vec<usize> = (0..N).map(|_| rng.below(N)).collect();
    walk(&cases, |x| x, &script);
    // Terms that come from afar, by strips of them: rows of which most is nothing.
    let far = [
        (rbf, merge, Over::Merge, AnyLoss::Hinge, 2, Some(20)),
        (rbf, merge, Over::Merge, AnyLoss::Hinge, 3, None),
        (rbf, merge, Over::Merge, eps, 0, None),
        (poly, merge, Over::Merge, eps, 0, None),
    ];
    // All samples, so that there are more terms than a strip has.
    let everyone: Vec<usize> = (0..N).map(|i| (37 * i + 11) % N).collect();
    assert!(walk(&far, wide, &everyone) > 64);
}

/// The same features with thousands of zeros between them.
fn wide(x: Array2<f64>) -> Array2<f64> {
    let d = x.ncols();
    Array2::from_shape_fn(
        (x.nrows(), 1500 * d),
        |(i, k)| {
            if k % 1500 == 7 { x[(i, k / 1500)] } else { 0.0 }
        },
    )
}

/// Kernel, maintenance and the twin's name for it, loss, classes (0: values), budget.
type Case = (AnyKernel, AnyMaintenance, Over, AnyLoss, u32, Option<usize>);

/// Compares the two step by step, on these rows made what `made` makes of them; the most terms of a
/// machine.
fn walk(cases: &[Case], made: fn(Array2<f64>) -> Array2<f64>, script: &[usize]) -> usize {
    let mut most = 0;
    for (case, method) in cases.iter().flat_map(|c| [(c, Method::Bsca), (c, Method::Bsgd)]) {
        let &(kernel, maintenance, over, loss, classes, budget) = case;
        let (x, index, values) = data(4, classes.max(2));
        let x = made(x);
        let targets = match classes {
            0 => Targets::Values(&values),
            c => Targets::Classes { index: &index, n_classes: c as usize },
        };
        // All different: equal coefficients (BSGD) would leave the smallest one to the order of slots.
        let cost: Vec<f64> = (0..N).map(|i| 1.0 + 0.0137 * i as f64).collect();
        let mut config = solver(method, kernel, loss, budget);
        config.maintenance = maintenance;
        config.order = SampleOrder::Scripted(script.to_vec());
        let (outcome, f, n_terms) = fit(&config, &x, targets, &cost, 2, 1);
        most = most.max(n_terms);
        let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
        let outputs = targets.n_outputs();
        let y: Vec<Vec<f64>> =
            (0..N).map(|i| (0..outputs).map(|c| targets.value(i, c)).collect()).collect();
        let twin = Naive {
            x: &rows,
            y: &y,
            cost: &cost,
            kernel,
            gamma: GAMMA,
            loss,
            method,
            budget,
            over,
        };
        let twice = script.repeat(2);
        let want = twin.run(&twice);
        let moved: f64 = outcome.history.iter().map(|r| r.moved * N as f64).sum();
        // A sample drawn again at once moves by rounding or not at all.
        assert!((moved - want.moved as f64).abs() <= 4.0, "{case:?} {method:?}");
        if method == Method::Bsca {
            // BSGD's u can return to exactly 0 where the twin's β keeps a rounding error.
            assert_eq!(n_terms, want.n_terms, "{case:?}");
        }
        // The merged point is exact to the square root of rounding, where s(h) is flat.
        let scale = f.iter().fold(1.0f64, |m, v| m.max(v.abs()));
        for (i, row) in want.decisions.iter().enumerate() {
            for (c, want_f) in row.iter().enumerate() {
                let got = f[i * outputs + c];
                assert!(
                    (got - want_f).abs() <= 1e-6 * scale,
                    "{case:?} {method:?}: {got} {want_f}"
                );
                if method == Method::Bsca {
                    let (got, want) = (outcome.alpha[i * outputs + c], want.alpha[i][c]);
                    assert!((got - want).abs() <= 1e-6 * scale, "{case:?} α {got} {want}");
                }
            }
        }
    }
    most
}

#[test]
fn the_same_bits_for_every_number_of_threads() {
    let (x, index, _) = data(6, 3);
    let targets = Targets::Classes { index: &index, n_classes: 3 };
    let cost = vec![2.0; N];
    for (x, budget) in [(x.clone(), 17), (wide(x), 70)] {
        let kernel = AnyKernel::Gaussian { gamma: GAMMA };
        let config = solver(Method::Bsca, kernel, AnyLoss::Hinge, Some(budget));
        let want = fit(&config, &x, targets, &cost, 3, 1);
        for threads in [2, 3, 7] {
            let got = fit(&config, &x, targets, &cost, 3, threads);
            assert_eq!(got.1, want.1);
            assert_eq!(got.0.alpha, want.0.alpha);
        }
    }
}

#[test]
fn without_a_budget_the_dual_rises_to_the_primal() {
    let (x, index, _) = data(3, 2);
    let targets = Targets::Classes { index: &index, n_classes: 2 };
    let cost = vec![1.5; N];
    let config = solver(Method::Bsca, AnyKernel::Gaussian { gamma: GAMMA }, AnyLoss::Hinge, None);
    let (outcome, _, _) = fit(&config, &x, targets, &cost, 4000, 2);
    let dual: Vec<f64> = outcome.history.iter().map(|r| r.dual.unwrap()).collect();
    assert!(dual.windows(2).all(|w| w[1] >= w[0] - 1e-10));
    let last = outcome.history.last().unwrap();
    let gap = last.primal.unwrap() - last.dual.unwrap();
    assert!((0.0..1e-8).contains(&(gap + 1e-11)), "gap {gap}");
}

#[test]
fn never_over_budget_whatever_the_maintenance() {
    let (x, index, _) = data(5, 2);
    let targets = Targets::Classes { index: &index, n_classes: 2 };
    let cost = vec![3.0; N];
    let search = MergeSearch::Table;
    for maintenance in [
        AnyMaintenance::Merge { size: 2, search },
        AnyMaintenance::Merge { size: 4, search },
        AnyMaintenance::RemoveSmallest,
        AnyMaintenance::RemoveRandom,
        AnyMaintenance::RemoveOldest,
        AnyMaintenance::Project,
        AnyMaintenance::Stop,
    ] {
        for (method, budget) in
            [(Method::Bsca, 1), (Method::Bsca, 7), (Method::Bsgd, 2), (Method::Bsgd, 33)]
        {
            let kernel = AnyKernel::Gaussian { gamma: GAMMA };
            let mut config = solver(method, kernel, AnyLoss::Hinge, Some(budget));
            config.maintenance = maintenance;
            let (outcome, f, n_terms) = fit(&config, &x, targets, &cost, 4, 2);
            assert!(n_terms <= budget && f.iter().all(|v| v.is_finite()));
            for record in outcome.history {
                assert!(record.n_terms <= budget && record.degradation >= 0.0);
            }
        }
    }
}

/// Lemma 2 of the BSCA paper: without a budget, uniform draws, the share of SCA's steps that move
/// tends to the share of free support vectors, that of SGD's violating steps to Σ α*/(n C).
#[test]
fn shares_of_moving_steps_tend_to_lemma_2() {
    let n = 200;
    let c = 10.0;
    let mut rng = Rng::new(21);
    let index: Vec<u32> = (0..n).map(|i| i % 2).collect();
    let x = Array2::from_shape_fn((n as usize, 2), |(i, k)| {
        let shift = if k == 0 && index[i] == 1 { 1.2 } else { 0.0 };
        rng.uniform() + rng.uniform() + rng.uniform() + shift
    });
    let targets = Targets::Classes { index: &index, n_classes: 2 };
    let cost = vec![c; n as usize];
    let kernel = AnyKernel::Gaussian { gamma: 0.7 };
    let passes = 1_000_000 / n as usize;
    let mut config = solver(Method::Bsca, kernel, AnyLoss::Hinge, None);
    config.order = SampleOrder::Uniform;
    config.record_objective = false;
    let window = |method: Method, before: usize| {
        let config = Budgeted { method, ..config.clone() };
        let (outcome, _, _) = fit(&config, &x, targets, &cost, before + passes, 1);
        let last = &outcome.history[outcome.history.len() - passes..];
        (last.iter().map(|r| r.moved).sum::<f64>() / passes as f64, outcome.alpha)
    };
    let (sca, alpha) = window(Method::Bsca, 2 * passes);
    let free = alpha.iter().filter(|&&a| a > 1e-7 * c && a < (1.0 - 1e-7) * c).count();
    let free = free as f64 / f64::from(n);
    let bound = alpha.iter().sum::<f64>() / (c * f64::from(n));
    println!("SCA {sca} against {free}");
    assert!((sca - free).abs() <= 0.01, "SCA: {sca}, Lemma 2: {free}");
    let (sgd, _) = window(Method::Bsgd, 2 * passes);
    println!("SGD {sgd} against {bound}");
    assert!((sgd - bound).abs() <= 0.03, "SGD: {sgd}, Lemma 2: {bound}");
}

/// Coefficients times a scale that falls as 1/t, beside the direct form: how often each sample has
/// been added, its score summed anew at every step.
fn scaled_is_direct(passes: usize) {
    const ROWS: usize = 10_000;
    const SCRIPT: [usize; 8] = [3, 0, 7, 1, 1, 5, 2, 6];
    let mut rng = Rng::new(8);
    let x = Array2::from_shape_fn((ROWS, 3), |_| rng.uniform() * 2.0 - 1.0);
    let index: Vec<u32> = (0..ROWS).map(|_| rng.below(2) as u32).collect();
    let cost: Vec<f64> = (0..ROWS).map(|i| 0.001 * (1.0 + (i % 5) as f64)).collect();
    let rbf = AnyKernel::Gaussian { gamma: GAMMA };
    let solver = Budgeted {
        order: SampleOrder::Scripted(SCRIPT.to_vec()),
        record_objective: false,
        ..solver(Method::Bsgd, rbf, AnyLoss::Hinge, None)
    };
    let (_, found, n_terms) =
        fit(&solver, &x, Targets::Classes { index: &index, n_classes: 2 }, &cost, passes, 1);

    let sign = |i: usize| if index[i] == 1 { 1.0 } else { -1.0 };
    let row = |i: usize| x.row(i).to_vec();
    let step: [f64; 8] = std::array::from_fn(|i| ROWS as f64 * sign(i) * cost[i]);
    let gram: [[f64; 8]; 8] =
        std::array::from_fn(|i| std::array::from_fn(|j| step[j] * rbf.eval(&row(i), &row(j))));
    let (mut counts, mut t) = ([0.0f64; 8], 0.0f64);
    for _ in 0..passes {
        for s in 0..ROWS {
            let i = SCRIPT[s % 8];
            let sum: f64 = gram[i].iter().zip(&counts).map(|(k, c)| k * c).sum();
            // f = sum / t.
            if t == 0.0 || sign(i) * sum < t {
                counts[i] += 1.0;
            }
            t += 1.0;
        }
    }
    assert_eq!(n_terms, counts.iter().filter(|c| **c > 0.0).count());
    assert!(counts.iter().any(|c| *c > 0.01 * t) && counts.iter().any(|c| *c < 0.9 * t));
    for i in 0..8 {
        let sum: f64 = gram[i].iter().zip(&counts).map(|(k, c)| k * c).sum();
        let expected = sum / t;
        assert!((found[i] - expected).abs() <= 1e-9 * expected.abs(), "{} {expected}", found[i]);
    }
}

#[test]
fn scaled_coefficients_are_the_direct_ones_after_many_steps() {
    scaled_is_direct(100);
}

#[test]
#[ignore = "10^8 steps: half a minute"]
fn scaled_coefficients_are_the_direct_ones_after_1e8_steps() {
    scaled_is_direct(10_000);
}
