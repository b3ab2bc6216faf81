use std::ops::ControlFlow;

use ndarray::Array2;

use super::working::Working;
use super::*;
use crate::data::Rows;
use crate::kernel::{AnyBuffers, AnyColumns, AnyKernel, Gram};
use crate::parallel::Pool;
use crate::rng::Rng;
use crate::watch::{Cancel, Progress, StopReason, Watch};

const TIGHT: Settings = Settings { tol: 1e-9, max_iter: 10_000_000, refine: true, shrinking: true };

fn data(n: usize, d: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = Rng::new(seed);
    let x = Array2::from_shape_fn((n, d), |_| 2.0 * rng.uniform() - 1.0);
    let y = x.rows().into_iter().map(|r| r[0] * r[1] + 0.3 * r[0] + 0.3 * (rng.uniform() - 0.5));
    let y = y.collect();
    (x, y)
}

fn gram(x: &Array2<f64>, kernel: AnyKernel) -> Gram<'_> {
    Gram::Kernel(kernel, Rows::Dense(x.view()).into())
}

fn part<'a>(
    x: &'a Array2<f64>,
    kind: Kind<'a>,
    cost: &'a [f64],
    kernel: AnyKernel,
) -> Part<'a, 'a> {
    Part {
        columns: AnyColumns::new(
            gram(x, kernel),
            (0..x.nrows()).collect(),
            false,
            &mut Watch::of_tests(),
        )
        .unwrap(),
        kind,
        cost: cost.to_vec(),
        cache_bytes: 200 << 20,
        buffers: AnyBuffers::default(),
    }
}

/// Decision values on the training rows, naively.
fn decisions(x: &Array2<f64>, kernel: AnyKernel, fitted: &Fitted) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
    let one = |a: &Vec<f64>| {
        let terms = rows.iter().zip(&fitted.coef).filter(|(_, c)| **c != 0.0);
        let terms = terms.map(|(b, c)| c * kernel.eval(a, b));
        terms.sum::<f64>() + fitted.intercept
    };
    rows.iter().map(one).collect()
}

const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 1.5 };

#[test]
fn classes_meet_the_optimality_conditions_and_the_gap_is_true() {
    let (x, t) = data(300, 3, 1);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let cost: Vec<f64> = (0..300).map(|i| 1.0 + f64::from(i % 3)).collect();
    let fitted =
        fit(part(&x, Kind::Classes(&y), &cost, KERNEL), &TIGHT, &mut Watch::of_tests()).unwrap();
    assert_eq!(fitted.stop, StopReason::Converged);
    assert!(fitted.coef.iter().sum::<f64>().abs() < 1e-10);
    let f = decisions(&x, KERNEL, &fitted);
    let (mut hinge, mut quadratic, mut linear) = (0.0, 0.0, 0.0);
    for i in 0..300 {
        let sign = if y[i] { 1.0 } else { -1.0 };
        let alpha = sign * fitted.coef[i];
        let margin = sign * f[i];
        assert!((0.0..=cost[i]).contains(&alpha));
        assert!(alpha >= cost[i] || margin >= 1.0 - 1e-8, "{alpha} {margin}");
        assert!(alpha <= 0.0 || margin <= 1.0 + 1e-8, "{alpha} {margin}");
        hinge += cost[i] * (1.0 - margin).max(0.0);
        quadratic += fitted.coef[i] * (f[i] - fitted.intercept);
        linear += alpha;
    }
    let (primal, dual) = (0.5 * quadratic + hinge, linear - 0.5 * quadratic);
    assert!((primal - dual).abs() < 1e-7 * primal);
    assert!((fitted.gap - (primal - dual)).abs() < 1e-10 * primal);
    assert!((fitted.objective + dual).abs() < 1e-10 * primal);
}

#[test]
fn values_stay_in_the_tube() {
    let (x, y) = data(250, 3, 2);
    let cost = vec![2.0; 250];
    let fitted =
        fit(part(&x, Kind::Values(&y, 0.05), &cost, KERNEL), &TIGHT, &mut Watch::of_tests())
            .unwrap();
    for (i, f) in decisions(&x, KERNEL, &fitted).into_iter().enumerate() {
        let (residual, beta) = (y[i] - f, fitted.coef[i]);
        let expected = match residual {
            r if r > 0.05 + 1e-8 => 2.0,
            r if r < -0.05 - 1e-8 => -2.0,
            r if r.abs() < 0.05 - 1e-8 => 0.0,
            _ => continue,
        };
        assert!((beta - expected).abs() < 1e-12, "{residual} {beta}");
    }
}

#[test]
fn nu_machines_are_the_others_at_the_tube_or_cost_they_find() {
    let (x, t) = data(200, 3, 3);
    let one = vec![1.0; 200];
    let nu = fit(part(&x, Kind::NuValues(&t, 0.4), &one, KERNEL), &TIGHT, &mut Watch::of_tests())
        .unwrap();
    assert!(nu.width > 0.0);
    let kind = Kind::Values(&t, nu.width);
    let same = fit(part(&x, kind, &one, KERNEL), &TIGHT, &mut Watch::of_tests()).unwrap();
    let (a, b) = (decisions(&x, KERNEL, &nu), decisions(&x, KERNEL, &same));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));

    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let nu = fit(part(&x, Kind::NuClasses(&y, 0.3), &one, KERNEL), &TIGHT, &mut Watch::of_tests())
        .unwrap();
    let cost = vec![1.0 / nu.width; 200];
    let same =
        fit(part(&x, Kind::Classes(&y), &cost, KERNEL), &TIGHT, &mut Watch::of_tests()).unwrap();
    let (a, b) = (decisions(&x, KERNEL, &nu), decisions(&x, KERNEL, &same));
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6 * (1.0 + a.abs())));
}

/// A ν too large for the smaller class is the largest that it allows, the limit of smaller ones: all
/// of its samples are at their bounds. Where ρ would be below 1 the machine is the C-SVC of C = 1.
#[test]
fn the_largest_nu_is_the_limit_of_smaller_ones() {
    let (x, t) = data(60, 3, 3);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.7).collect();
    let machine = |kind, cost: &[f64]| {
        fit(part(&x, kind, cost, KERNEL), &TIGHT, &mut Watch::of_tests()).unwrap()
    };
    for unit in [1e4, 1e-2] {
        let cost: Vec<f64> = (0..60).map(|i| unit * (0.1 + (i * 7 % 11) as f64)).collect();
        let sum = |wanted| (0..60).filter(|&i| y[i] == wanted).map(|i| cost[i]).sum::<f64>();
        let (few, many) = (sum(true), sum(false));
        assert!(few < 0.8 * many);
        let most = 2.0 * few / (few + many);
        let largest = machine(Kind::NuClasses(&y, 1.0), &cost);
        for (&plus, (&c, coef)) in y.iter().zip(cost.iter().zip(&largest.coef)) {
            assert!(!plus || (coef * largest.width - c).abs() <= 1e-12 * c, "{coef} of {c}");
        }
        let (like, off) = match unit < 1.0 {
            true => (Kind::Classes(&y), 1e-6),
            false => (Kind::NuClasses(&y, most * (1.0 - 1e-7)), 1e-4),
        };
        let rho = largest.width;
        assert!(if unit < 1.0 { (rho - 1.0).abs() < 1e-12 } else { rho > 1.1 }, "{rho}");
        let (a, b) =
            (decisions(&x, KERNEL, &largest), decisions(&x, KERNEL, &machine(like, &cost)));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < off * (1.0 + a.abs())), "{unit}");
        // No more than the least ρ: a sample is on the margin of the smaller class.
        let nearest = (0..60).filter(|&i| y[i]).map(|i| a[i]).fold(f64::MIN, f64::max);
        assert!(unit < 1.0 || (nearest - 1.0).abs() < 1e-6, "{nearest}");
    }
    let (all, one) = (vec![true; 60], vec![1.0; 60]);
    let kind = Kind::NuClasses(&all, 0.5);
    let none = fit(part(&x, kind, &one, KERNEL), &TIGHT, &mut Watch::of_tests());
    assert!(none.unwrap_err().to_string().contains("infeasible"));
}

#[test]
fn one_class_leaves_out_a_share_of_nu() {
    let (x, _) = data(400, 2, 4);
    let one = vec![1.0; 400];
    let fitted =
        fit(part(&x, Kind::OneClass(0.1), &one, KERNEL), &TIGHT, &mut Watch::of_tests()).unwrap();
    assert!((fitted.coef.iter().sum::<f64>() - 40.0).abs() < 1e-9);
    let f = decisions(&x, KERNEL, &fitted);
    assert!(f.iter().filter(|&&f| f < -1e-7).count() <= 40);
    assert!(fitted.coef.iter().filter(|&&c| c > 0.0).count() >= 40);
}

/// Working sets, a small cache and single precision end at the same objective.
#[test]
fn working_sets_agree_with_plain_smo_whatever_the_cache() {
    let (x, t) = data(1500, 4, 5);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let cost = vec![10.0; 1500];
    let settings = Settings { tol: 1e-7, ..TIGHT };
    let run = |bytes: usize, single: bool, kind, tol: f64| {
        let columns = AnyColumns::new(
            gram(&x, KERNEL),
            (0..x.nrows()).collect(),
            single,
            &mut Watch::of_tests(),
        )
        .unwrap();
        let part = Part { columns, cache_bytes: bytes, ..part(&x, kind, &cost, KERNEL) };
        fit(part, &Settings { tol, ..settings }, &mut Watch::of_tests()).unwrap()
    };
    for kind in [
        Kind::Classes(&y),
        Kind::NuClasses(&y, 0.2),
        Kind::Values(&t, 0.05),
        Kind::NuValues(&t, 0.5),
        Kind::OneClass(0.05),
    ] {
        let reference = run(200 << 20, false, kind, 1e-7);
        assert_eq!(reference.stop, StopReason::Converged);
        assert!(reference.gap <= 1e-5 * reference.objective.abs(), "{reference:?}");
        // 40 rows, then 2.
        for (bytes, tol) in [(40 * 1536 * 8, 1e-5), (2 * 1536 * 8, 1e-2)] {
            let small = run(bytes, false, kind, tol);
            let gap = small.gap + reference.gap;
            assert!((small.objective - reference.objective).abs() <= gap);
        }
        let single = run(200 << 20, true, kind, 1e-4);
        let off = (single.objective - reference.objective).abs();
        assert!(off <= single.gap + 1e-4 * reference.objective.abs());
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, t) = data(3000, 5, 6);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let cost = vec![10.0; 3000];
    let run = |threads| {
        crate::parallel::run(threads, |_| {
            let columns = AnyColumns::new(
                gram(&x, KERNEL),
                (0..x.nrows()).collect(),
                true,
                &mut Watch::of_tests(),
            )
            .unwrap();
            let part = Part { columns, ..part(&x, Kind::Classes(&y), &cost, KERNEL) };
            fit(
                part,
                &Settings { tol: 1e-3, max_iter: 1 << 40, refine: true, shrinking: true },
                &mut Watch::of_tests(),
            )
        })
        .unwrap()
        .unwrap()
    };
    let first = run(1);
    assert_eq!(first, run(2));
    assert_eq!(first, run(5));
}

#[test]
fn limits_end_a_run() {
    let (x, t) = data(1500, 4, 7);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let cost = vec![1e6; 1500];
    let settings = Settings { max_iter: 17, ..TIGHT };
    let part = || part(&x, Kind::Classes(&y), &cost, KERNEL);
    let fitted = fit(part(), &settings, &mut Watch::of_tests()).unwrap();
    assert_eq!((fitted.n_iter, fitted.stop), (17, StopReason::MaxIter));

    let after = |wish: Cancel| {
        let mut calls = 0;
        let mut observer = |_: &Progress| {
            calls += 1;
            if calls >= 4 { ControlFlow::Break(wish) } else { ControlFlow::Continue(()) }
        };
        fit(part(), &TIGHT, &mut Watch::new(&mut observer, Pool::of_tests()))
    };
    assert_eq!(after(Cancel::Keep).unwrap().stop, StopReason::Callback);
    assert!(after(Cancel::Discard).is_err());
}

/// Parts of the samples end where the whole does, with the gap that a naive sum has.
#[test]
fn shrinking_ends_at_the_same_machine() {
    let (x, t) = data(2600, 4, 8);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    for (kind, cost) in [
        (Kind::Classes(&y), 20.0),
        (Kind::NuClasses(&y, 0.2), 1.0),
        (Kind::Values(&t, 0.05), 5.0),
        (Kind::NuValues(&t, 0.4), 2.0),
        (Kind::OneClass(0.1), 1.0),
    ] {
        let cost: Vec<f64> = (0..2600).map(|i| cost * (1.0 + f64::from(i % 3))).collect();
        let run = |shrinking, tol| {
            let part = part(&x, kind, &cost, KERNEL);
            fit(part, &Settings { tol, shrinking, ..TIGHT }, &mut Watch::of_tests()).unwrap()
        };
        let (whole, parts) = (run(false, 1e-8), run(true, 1e-8));
        for fitted in [&whole, &parts] {
            assert_eq!(fitted.stop, StopReason::Converged);
            assert!(fitted.violation <= 1e-8 && fitted.gap <= 1e-5 * fitted.objective.abs());
        }
        let off = (whole.objective - parts.objective).abs();
        assert!(off <= whole.gap + parts.gap, "{kind:?} {off}");
        // ν-SVC divides by ρ what is solved to the tolerance.
        let rho = if let Kind::NuClasses(..) = kind { whole.width } else { 1.0 };
        let (a, b) = (decisions(&x, KERNEL, &whole), decisions(&x, KERNEL, &parts));
        let largest = a.iter().fold(1.0f64, |m, a| m.max((rho * a).abs()));
        let off = a.iter().zip(&b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
        assert!(rho * off < 1e-5 * largest, "{kind:?} {off} {rho}");

        // At a coarse tolerance too what it says of itself is true of all samples.
        let coarse = run(true, 1e-2);
        assert!(coarse.violation <= 1e-2);
        let excess = coarse.objective - whole.objective;
        assert!(excess >= -whole.gap && excess <= coarse.gap + whole.gap, "{kind:?} {excess}");
        if let Kind::Classes(_) = kind {
            tells_the_truth(&x, &y, &cost, &coarse);
        }
    }
}

/// Violation, gap and objective of a machine of two classes are those of naive sums.
fn tells_the_truth(x: &Array2<f64>, y: &[bool], cost: &[f64], fitted: &Fitted) {
    let f = decisions(x, KERNEL, fitted);
    let (mut up, mut down) = (f64::NEG_INFINITY, f64::INFINITY);
    let (mut primal, mut dual) = (0.0, 0.0);
    for i in 0..y.len() {
        let sign = if y[i] { 1.0 } else { -1.0 };
        let (alpha, score) = (sign * fitted.coef[i], sign - f[i]);
        let (lower, upper) = if y[i] { (0.0, cost[i]) } else { (-cost[i], 0.0) };
        up = if fitted.coef[i] < upper { up.max(score) } else { up };
        down = if fitted.coef[i] > lower { down.min(score) } else { down };
        let smooth = 0.5 * fitted.coef[i] * (f[i] - fitted.intercept);
        primal += cost[i] * (1.0 - sign * f[i]).max(0.0) + smooth;
        dual += alpha - smooth;
    }
    assert!((fitted.objective + dual).abs() < 1e-10 * primal);
    // Unless a stop fell into the sums that would tell.
    if fitted.gap.is_finite() {
        assert!((up - down - fitted.violation).abs() < 1e-9);
        assert!((primal - dual - fitted.gap).abs() < 1e-8 * primal);
    }
}

/// Many samples, most of them far, and memory for the rows of 500: at the end, and wherever a limit
/// of steps or a wish to stop ends it.
#[test]
fn samples_that_are_far_are_looked_at_before_the_last_word() {
    let (x, _) = data(33_000, 2, 11);
    let y: Vec<bool> = x.rows().into_iter().map(|r| r[0] * r[1] + 0.3 * r[0] > 0.0).collect();
    let cost = vec![5.0; 33_000];
    let space = 8 * 500 * 500;
    let run = |tol, max_iter| {
        let part = Part { cache_bytes: space, ..part(&x, Kind::Classes(&y), &cost, KERNEL) };
        fit(part, &Settings { tol, max_iter, ..TIGHT }, &mut Watch::of_tests()).unwrap()
    };
    let (fine, coarse) = (run(1e-3, u64::MAX), run(3e-2, u64::MAX));
    for (fitted, tol) in [(&fine, 1e-3), (&coarse, 3e-2)] {
        assert_eq!(fitted.stop, StopReason::Converged);
        assert!(fitted.violation <= tol && fitted.gap.is_finite());
        tells_the_truth(&x, &y, &cost, fitted);
    }
    assert!(fine.objective <= coarse.objective && coarse.objective - fine.objective <= coarse.gap);
    let short = run(1e-3, fine.n_iter / 3);
    assert_eq!(short.stop, StopReason::MaxIter);
    tells_the_truth(&x, &y, &cost, &short);
    let stopped = |at: usize| {
        let mut calls = 0;
        let mut observer = |_: &Progress| {
            calls += 1;
            if calls == at { ControlFlow::Break(Cancel::Keep) } else { ControlFlow::Continue(()) }
        };
        let part = Part { cache_bytes: space, ..part(&x, Kind::Classes(&y), &cost, KERNEL) };
        let settings = Settings { tol: 1e-3, ..TIGHT };
        let fitted = fit(part, &settings, &mut Watch::new(&mut observer, Pool::of_tests()));
        (fitted.unwrap(), calls)
    };
    let (_, calls) = stopped(usize::MAX);
    for at in (1..8).map(|eighth| calls * eighth / 8) {
        let (fitted, _) = stopped(at);
        assert_eq!(fitted.stop, StopReason::Callback, "{at} of {calls}");
        tells_the_truth(&x, &y, &cost, &fitted);
    }
}

#[test]
fn limits_end_a_run_on_parts_with_a_true_gap() {
    let (x, t) = data(2600, 4, 9);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let cost = vec![100.0; 2600];
    for max_iter in [1, 100, 1500] {
        let settings = Settings { max_iter, ..TIGHT };
        let part = part(&x, Kind::Classes(&y), &cost, KERNEL);
        let fitted = fit(part, &settings, &mut Watch::of_tests()).unwrap();
        assert_eq!((fitted.n_iter, fitted.stop), (max_iter, StopReason::MaxIter));
        let (mut primal, mut dual) = (0.0, 0.0);
        for (i, f) in decisions(&x, KERNEL, &fitted).into_iter().enumerate() {
            let sign = if y[i] { 1.0 } else { -1.0 };
            let smooth = 0.5 * fitted.coef[i] * (f - fitted.intercept);
            primal += cost[i] * (1.0 - sign * f).max(0.0) + smooth;
            dual += sign * fitted.coef[i] - smooth;
        }
        assert!((primal - dual - fitted.gap).abs() < 1e-8 * primal);
    }
}

#[test]
fn a_small_problem_ends_by_a_linear_system_not_by_thousands_of_steps() {
    let (mut x, t) = data(300, 3, 8);
    // Copies of rows make the matrix of the free variables singular.
    for i in 0..40 {
        let row = x.row(i).to_owned();
        x.row_mut(299 - i).assign(&row);
    }
    let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
    let (one, many) = (vec![1.0; 300], vec![100.0; 300]);
    let kinds: [(Kind<'_>, &[f64]); 5] = [
        (Kind::Classes(&y), &one),
        (Kind::Classes(&y), &many),
        (Kind::Values(&t, 0.1), &many),
        (Kind::NuClasses(&y, 0.4), &one),
        (Kind::OneClass(0.3), &one),
    ];
    for (kind, cost) in kinds {
        let run = |tol: f64, refine: bool| {
            let settings = Settings { tol, refine, ..TIGHT };
            fit(part(&x, kind, cost, KERNEL), &settings, &mut Watch::of_tests()).unwrap()
        };
        let (plain, ended, steps) = (run(1e-3, false), run(1e-3, true), run(1e-11, false));
        assert!(ended.violation < 1e-10, "{}", ended.violation);
        // To go there by steps takes many times as many.
        assert!(
            2 * ended.n_iter < plain.n_iter + steps.n_iter,
            "{} {}",
            ended.n_iter,
            steps.n_iter
        );
        let (a, b) = (decisions(&x, KERNEL, &ended), decisions(&x, KERNEL, &steps));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
    }
}

/// The two variables of a sample of a regression are one in a working set, unless neither is 0; as
/// many single ones have the same answer.
#[test]
fn both_variables_of_a_sample_are_one_in_a_working_set() {
    let n = 60;
    let (x, y) = data(n, 3, 5);
    let cost = vec![0.3; n];
    let problem = machines::dual(&part(&x, Kind::Values(&y, 0.05), &cost, KERNEL)).unwrap();
    let all: Vec<usize> = (0..2 * n).collect();
    let row = |sample: usize| x.row(sample).to_vec();
    let working = |beta: &[f64]| {
        let kernel = |samples: &[usize]| {
            let values = samples.iter().flat_map(|&i| samples.iter().map(move |&j| (i, j)));
            Ok(values.map(|(i, j)| KERNEL.eval(&row(i), &row(j))).collect::<Vec<f64>>())
        };
        let state = (beta, problem.linear.as_slice());
        Working::new(&problem, &all, state, &vec![1.0; n], kernel).unwrap()
    };
    let mut pairs = working(&vec![0.0; 2 * n]);
    assert_eq!(pairs.variables.len(), n);
    let value = |t: usize| KERNEL.eval(&row(t / (2 * n) % n), &row(t % n));
    let mut single = Working {
        variables: all.iter().map(|&v| (v, None)).collect(),
        half: vec![0.0; 2 * n],
        ranges: [(0, 2 * n), (2 * n, 2 * n)],
        beta: vec![0.0; 2 * n],
        lower: problem.lower.clone(),
        upper: problem.upper.clone(),
        scores: problem.linear.clone(),
        kernel: (0..4 * n * n).map(value).collect(),
        stride: 2 * n,
        diagonal: vec![1.0; 2 * n],
        up: vec![0.0; 2 * n],
        down: vec![0.0; 2 * n],
        gains: vec![0.0; 2 * n],
        none: vec![0.0; 2 * n],
    };
    all.iter().for_each(|&t| single.mark(t));
    let (steps, twins) = (pairs.run(1e-12, 1 << 20), single.run(1e-12, 1 << 20));
    assert!(steps.1 && twins.1 && steps.0.abs_diff(twins.0) <= twins.0 / 10, "{steps:?} {twins:?}");
    let (values, twins): (Vec<_>, Vec<_>) = (pairs.values().collect(), single.values().collect());
    let mut seen = [0; 4];
    for (v, beta) in values {
        let twin = twins[v].1;
        assert!((beta - twin).abs() < 1e-9, "{v}: {beta} and {twin}");
        assert!((problem.lower[v]..=problem.upper[v]).contains(&beta));
        let at = usize::from(v < n) + 2 * usize::from(beta.abs() == 0.3);
        seen[at] += usize::from(beta != 0.0);
    }
    // Above 0 and below, free and at a bound.
    assert!(seen.iter().all(|&of| of > 0), "{seen:?}");

    let mut both = vec![0.0; 2 * n];
    (both[0], both[n]) = (0.1, -0.1);
    assert_eq!(working(&both).variables.len(), n + 1);
}
