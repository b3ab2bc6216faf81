use super::*;
use crate::linalg::Cholesky;
use std::sync::atomic::{AtomicUsize, Ordering};

fn polish(loss: AnyLoss, fit_intercept: bool) -> Polish {
    Polish {
        loss,
        fit_intercept,
        h: 0.1,
        unit: 1.0,
        max_steps: 100,
        tol: 1e-13,
        near: false,
        cache_bytes: 1 << 30,
    }
}

fn column(result: &Polished, output: usize) -> Vec<f64> {
    let m = result.intercept.len();
    result.coef.iter().skip(output).step_by(m).copied().collect()
}

/// Objective not smoothed and smoothed, and ‖gradient‖, all outputs together.
fn check<F: Real>(toy: &Toy<F>, polish: &Polish, result: &Polished) -> (f64, f64) {
    let (mut value, mut norm) = (0.0, 0.0);
    for (output, &offset) in result.intercept.iter().enumerate() {
        let (v, mut g) = naive(toy, polish, output, &column(result, output), offset);
        if !polish.fit_intercept {
            g.pop();
            assert_eq!(offset, 0.0);
        }
        value += v;
        norm += g.iter().map(|g| g * g).sum::<f64>();
    }
    assert!((value - result.smoothed).abs() <= 1e-9 * value, "{value} {}", result.smoothed);
    let plain = Polish { h: 1e-300, ..*polish };
    let primal: f64 = (0..result.intercept.len())
        .map(|o| naive(toy, &plain, o, &column(result, o), result.intercept[o]).0)
        .sum();
    assert!((primal - result.primal).abs() <= 1e-9 * primal);
    (value, norm.sqrt())
}

#[test]
fn gradient_is_zero_at_the_end() {
    for loss in LOSSES {
        for n_classes in [2, 4] {
            for offset in [false, true] {
                let toy = Toy::<f64>::new(1, 900, 25, n_classes);
                let polish = polish(loss, offset);
                let result = toy.solve(&polish, &toy.random_coef(loss));
                assert!(result.converged, "{loss:?} {offset} {result:?}");
                let (value, norm) = check(&toy, &polish, &result);
                assert!(norm <= 1e-5 * value, "{loss:?} {n_classes} {offset}: {norm} of {value}");
            }
        }
    }
}

#[test]
fn naive_newton_agrees() {
    // Damped Newton on the dense Hessian by finite differences of the gradient: slow and plain.
    let toy = Toy::<f64>::new(2, 200, 6, 2);
    for loss in LOSSES {
        let polish = polish(loss, true);
        let (mut point, mut value) = (vec![0.0; 7], f64::INFINITY);
        for _ in 0..200 {
            let (v, g) = naive(&toy, &polish, 0, &point[..6], point[6]);
            value = v;
            let mut hessian = vec![0.0; 49];
            for j in 0..7 {
                let mut near = point.clone();
                near[j] += 1e-7;
                let (_, moved) = naive(&toy, &polish, 0, &near[..6], near[6]);
                for i in 0..7 {
                    hessian[i * 7 + j] = (moved[i] - g[i]) / 1e-7;
                }
            }
            let mut d: Vec<f64> = g.iter().map(|g| -g).collect();
            Cholesky::factor("test", &hessian, 7, 1e-9, &mut || Ok::<_, Error>(()))
                .unwrap()
                .solve(&mut d);
            let mut t = 1.0;
            while t > 1e-12 {
                let next: Vec<f64> = point.iter().zip(&d).map(|(p, d)| p + t * d).collect();
                if naive(&toy, &polish, 0, &next[..6], next[6]).0 < value {
                    point = next;
                    break;
                }
                t *= 0.5;
            }
        }
        let result = toy.solve(&polish, &toy.random_coef(loss));
        assert!((result.smoothed - value).abs() <= 1e-8 * value, "{loss:?}");
        for (got, want) in result.coef.iter().zip(&point) {
            assert!((got - want).abs() <= 1e-3 * (1.0 + want.abs()), "{loss:?}");
        }
    }
}

#[test]
fn gradient_matches_finite_differences_of_the_objective() {
    let toy = Toy::<f64>::new(3, 80, 5, 2);
    for loss in LOSSES {
        let polish = polish(loss, true);
        let point = toy.random_coef(loss);
        let (_, g) = naive(&toy, &polish, 0, &point, 0.2);
        for j in 0..5 {
            let at = |e: f64| {
                let mut near = point.clone();
                near[j] += e;
                naive(&toy, &polish, 0, &near, 0.2).0
            };
            let difference = (at(1e-6) - at(-1e-6)) / 2e-6;
            assert!((difference - g[j]).abs() <= 1e-4 * (1.0 + g[j].abs()));
        }
    }
}

#[test]
fn objective_never_rises_at_the_final_width_and_beats_start_and_zero() {
    let toy = Toy::<f64>::new(4, 700, 20, 2);
    for loss in LOSSES {
        let polish = polish(loss, false);
        let coef = toy.random_coef(loss);
        let mut seen = Vec::new();
        let start =
            Start { targets: toy.targets(loss), cost: &toy.cost, coef: &coef, intercept: &[0.0] };
        let mut observer = |told: &Progress| {
            seen.push((told.iteration, told.objective.unwrap_or(f64::NAN)));
            ControlFlow::Continue(())
        };
        let mut watch = Watch::new(&mut observer, Pool::of_tests());
        let result = polish.solve(&toy.kernel, start, &mut watch).unwrap();
        // Within a width values fall; a narrower width lowers the loss itself.
        for pair in seen.windows(2).filter(|p| p[0].1.is_finite()) {
            assert!(pair[1].1 <= pair[0].1 * (1.0 + 1e-12), "{loss:?} {pair:?}");
        }
        for other in [coef, vec![0.0; 20]] {
            assert!(result.smoothed < naive(&toy, &polish, 0, &other, 0.0).0);
        }
    }
}

#[test]
fn duplicated_centres_are_harmless() {
    for loss in LOSSES {
        let toy = Toy::<f32>::new(5, 500, 15, 2);
        let mut twice = Toy::<f32>::new(5, 500, 15, 2);
        twice.kernel.basis.extend_from_slice(&toy.kernel.basis);
        for offset in [false, true] {
            let polish = Polish { tol: 1e-8, ..polish(loss, offset) };
            let one = toy.solve(&polish, &toy.random_coef(loss));
            let two = twice.solve(&polish, &twice.random_coef(loss));
            assert!(two.converged);
            assert!((one.smoothed - two.smoothed).abs() <= 1e-6 * one.smoothed, "{loss:?}");
            assert!(two.coef.iter().all(|c| c.abs() < 1e3));
        }
    }
}

#[test]
fn a_nearly_singular_basis_does_not_blow_up() {
    // γ so small that K_BB has numerical rank 3 or 4 of 40 in f32.
    let mut toy = Toy::<f32>::new(6, 600, 40, 2);
    toy.kernel.gamma = 1e-4;
    let polish = Polish { tol: 1e-7, ..polish(AnyLoss::Hinge, true) };
    let result = toy.solve(&polish, &vec![0.0; 40]);
    assert!(result.smoothed.is_finite() && result.steps < 100);
    let largest = result.coef.iter().fold(0.0, |a: f64, c| a.max(c.abs()));
    assert!(largest < 1e5, "{largest}");
}

#[test]
fn single_precision_agrees_with_double() {
    for loss in LOSSES {
        let (single, double) = (Toy::<f32>::new(7, 600, 20, 3), Toy::<f64>::new(7, 600, 20, 3));
        let polish = Polish { tol: 1e-10, ..polish(loss, true) };
        let a = single.solve(&polish, &single.random_coef(loss));
        let b = double.solve(&polish, &double.random_coef(loss));
        assert!((a.smoothed - b.smoothed).abs() <= 1e-5 * b.smoothed, "{loss:?}");
    }
}

#[test]
fn bits_depend_neither_on_threads_nor_on_the_cache() {
    let toy = Toy::<f32>::new(8, 9000, 70, 3);
    for loss in [AnyLoss::Hinge, AnyLoss::EpsilonInsensitive { epsilon: 0.1 }] {
        let coef = toy.random_coef(loss);
        let mut first: Option<Polished> = None;
        for (threads, cache_bytes) in
            [(1, 1 << 30), (2, 1 << 30), (3, 0), (7, 9000 * 70 * 3), (1, 0)]
        {
            let polish = Polish { cache_bytes, tol: 1e-6, ..polish(loss, true) };
            let got = crate::parallel::run(threads, |_| toy.solve(&polish, &coef)).unwrap();
            match &first {
                None => first = Some(got),
                Some(want) => assert_eq!(&got, want, "{threads} threads, cache {cache_bytes}"),
            }
        }
    }
}

#[test]
fn narrowing_h_saves_steps() {
    let toy = Toy::<f64>::new(9, 3000, 60, 2);
    let narrow = Polish { h: 1e-3, tol: 1e-6, max_steps: 1000, ..polish(AnyLoss::Hinge, false) };
    let coef = toy.random_coef(AnyLoss::Hinge);
    let falling = toy.solve(&narrow, &coef);
    assert!(falling.converged && falling.steps < 60, "{}", falling.steps);
    // The gap to the loss not smoothed is at most h/4 a unit of cost.
    let total: f64 = toy.cost.iter().sum();
    assert!((falling.smoothed - falling.primal) <= 1e-3 / 4.0 * total);
}

#[test]
fn an_empty_zone_is_survived() {
    // Costs so small that every sample stays in the linear zone of a narrow hinge.
    let mut toy = Toy::<f64>::new(10, 60, 5, 2);
    toy.cost.fill(1e-4);
    for offset in [false, true] {
        let polish = Polish { h: 1e-3, tol: 1e-10, ..polish(AnyLoss::Hinge, offset) };
        let result = toy.solve(&polish, &[0.0; 5]);
        let (value, _) = check(&toy, &polish, &result);
        assert!(result.intercept[0].abs() <= 3.0);
        assert!(value <= naive(&toy, &polish, 0, &[0.0; 5], 0.0).0);
    }
}

#[test]
fn weight_zero_is_absence() {
    let mut toy = Toy::<f64>::new(11, 300, 10, 2);
    toy.cost[200..].fill(0.0);
    let mut fewer = Toy::<f64>::new(11, 300, 10, 2);
    fewer.kernel.x.truncate(200 * 3);
    fewer.classes.truncate(200);
    fewer.values.truncate(200);
    fewer.cost.truncate(200);
    for loss in LOSSES {
        let polish = polish(loss, true);
        let coef = toy.random_coef(loss);
        let (a, b) = (toy.solve(&polish, &coef), fewer.solve(&polish, &coef));
        assert!((a.smoothed - b.smoothed).abs() <= 1e-9 * a.smoothed);
    }
}

#[test]
fn stops_are_obeyed_at_every_point() {
    let toy = Toy::<f32>::new(12, 9000, 70, 3);
    let coef = toy.random_coef(AnyLoss::Hinge);
    let polish = polish(AnyLoss::Hinge, true);
    let start = Start {
        targets: toy.targets(AnyLoss::Hinge),
        cost: &toy.cost,
        coef: &coef,
        intercept: &[0.0; 3],
    };
    let calls = AtomicUsize::new(0);
    let run = |after: usize, wish: Cancel| {
        calls.store(0, Ordering::Relaxed);
        let mut observer = |_: &Progress| {
            if calls.fetch_add(1, Ordering::Relaxed) >= after {
                ControlFlow::Break(wish)
            } else {
                ControlFlow::Continue(())
            }
        };
        polish.solve(&toy.kernel, start, &mut Watch::new(&mut observer, Pool::of_tests()))
    };
    for after in [0, 1, 3, 10, 30, 60] {
        assert!(matches!(run(after, Cancel::Discard), Err(Error::Interrupted)));
        let stopped = run(after, Cancel::Keep).unwrap();
        assert_eq!((stopped.stop, stopped.converged), (StopReason::Callback, false));
        assert!(calls.load(Ordering::Relaxed) == after + 1);
        if stopped.smoothed.is_finite() {
            check(&toy, &polish, &stopped);
        }
        if after == 0 {
            assert_eq!(stopped.coef, coef);
        }
    }
    let limited = Polish { max_steps: 2, ..polish };
    let result = toy.solve(&limited, &coef);
    assert_eq!((result.stop, result.converged, result.steps), (StopReason::MaxIter, false, 2));
}

#[test]
fn bad_input_is_refused() {
    let toy = Toy::<f64>::new(13, 50, 4, 2);
    let good = polish(AnyLoss::Hinge, false);
    let try_with = |polish: Polish, coef: &[f64]| {
        let targets = toy.targets(polish.loss);
        let start = Start { targets, cost: &toy.cost, coef, intercept: &[0.0] };
        polish.solve(&toy.kernel, start, &mut Watch::of_tests())
    };
    assert!(try_with(good, &[0.0; 4]).is_ok());
    for h in [0.0, -1.0, f64::NAN] {
        let error = try_with(Polish { h, ..good }, &[0.0; 4]).unwrap_err();
        assert!(error.to_string().starts_with("h must be"));
        assert!(try_with(Polish { tol: h, ..good }, &[0.0; 4]).is_err());
    }
    assert!(matches!(try_with(good, &[0.0; 3]), Err(Error::LengthMismatch { .. })));
    assert!(matches!(try_with(good, &[f64::NAN; 4]), Err(Error::NonFinite { .. })));
}

#[test]
fn an_empty_basis_finds_its_constant() {
    let mut toy = Toy::<f64>::new(14, 50, 4, 2);
    toy.kernel.basis.clear();
    for loss in LOSSES {
        let targets = toy.targets(loss);
        for fit_intercept in [false, true] {
            let polish = polish(loss, fit_intercept);
            let result = toy.solve(&polish, &[]);
            let at = |b: f64| -> f64 {
                let loss = Smoothed { loss, h: polish.h };
                (0..50).map(|i| toy.cost[i] * loss.at(targets.value(i, 0), b).value).sum()
            };
            assert!((result.smoothed - at(result.intercept[0])).abs() < 1e-9);
            if fit_intercept {
                let best = (-3000..3000).map(|k| at(f64::from(k) * 1e-3)).fold(1e9, f64::min);
                assert!(result.smoothed <= best + 1e-9, "{loss:?}");
            } else {
                assert_eq!(result.intercept, [0.0]);
            }
        }
    }
}

#[test]
fn an_early_stop_is_no_worse_than_the_start() {
    let toy = Toy::<f64>::new(15, 2000, 30, 2);
    let polish = Polish { h: 0.01, ..polish(AnyLoss::Hinge, false) };
    let good = toy.solve(&polish, &toy.random_coef(polish.loss));
    // What the start is worth: sums that are added up in the same order.
    let start = toy.solve(&Polish { max_steps: 0, ..polish }, &good.coef);
    assert_eq!(start.coef, good.coef);
    check(&toy, &polish, &start);
    // From the minimum every wide h leads away first.
    for max_steps in 1..4 {
        let limited = Polish { max_steps, ..polish };
        let result = toy.solve(&limited, &good.coef);
        assert!(result.smoothed <= start.smoothed, "{max_steps}");
        check(&toy, &limited, &result);
    }
}
