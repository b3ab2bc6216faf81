use super::*;
use crate::solver::primal::Distinct;

fn polish(loss: AnyLoss, fit_intercept: bool) -> Polish {
    Polish { loss, fit_intercept, h: 0.01, ..Polish::default() }
}

/// Samples 0..n as distinct points, some taken several times, in a scrambled order.
struct Copies {
    gram: Vec<f64>,
    point: Vec<usize>,
    classes: Vec<u32>,
    values: Vec<f64>,
    cost: Vec<f64>,
}

impl Copies {
    fn new(toy: &Toy<f64>, order: &[usize], cost: impl Fn(usize) -> f64) -> Self {
        let n = order.iter().max().unwrap() + 1;
        // Points numbered by first appearance, as a caller would find them.
        let mut number = vec![usize::MAX; n];
        let mut first = Vec::new();
        for &i in order {
            if number[i] == usize::MAX {
                number[i] = first.len();
                first.push(i);
            }
        }
        let row = |i: usize| &toy.kernel.x[i * 3..(i + 1) * 3];
        let gram = first
            .iter()
            .flat_map(|&a| first.iter().map(move |&b| gaussian(row(a), row(b), toy.kernel.gamma)))
            .collect();
        Self {
            gram,
            point: order.iter().map(|&i| number[i]).collect(),
            classes: order.iter().map(|&i| toy.classes[i]).collect(),
            values: order.iter().map(|&i| toy.values[i]).collect(),
            cost: order.iter().map(|&i| cost(i)).collect(),
        }
    }

    fn solve(&self, toy: &Toy<f64>, polish: &Polish) -> Polished {
        let targets = if polish.loss.is_classification() {
            Targets::Classes { index: &self.classes, n_classes: toy.n_classes }
        } else {
            Targets::Values(&self.values)
        };
        let data = Distinct { gram: &self.gram, point: &self.point, targets, cost: &self.cost };
        polish.solve_exactly(data, &mut Watch::of_tests()).unwrap()
    }
}

/// Decision values of the toy's samples, all outputs.
fn decisions(toy: &Toy<f64>, order: &[usize], result: &Polished) -> Vec<f64> {
    let mut first: Vec<usize> = Vec::new();
    for &i in order {
        if !first.contains(&i) {
            first.push(i);
        }
    }
    let row = |i: usize| &toy.kernel.x[i * 3..(i + 1) * 3];
    let m = result.intercept.len();
    let mut out = Vec::new();
    for i in 0..toy.kernel.n_rows() {
        for c in 0..m {
            let sum: f64 = (0..first.len())
                .map(|j| result.coef[j * m + c] * gaussian(row(i), row(first[j]), toy.kernel.gamma))
                .sum();
            out.push(sum + result.intercept[c]);
        }
    }
    out
}

fn close(a: &[f64], b: &[f64], tolerance: f64, what: &str) {
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{what}: {a} {b}");
    }
}

#[test]
fn weights_are_copies_and_order_is_nothing() {
    for n_classes in [2, 3] {
        let toy = Toy::<f64>::new(21, 60, 1, n_classes);
        let weight = |i: usize| i % 4;
        let plain: Vec<usize> = (0..60).filter(|&i| weight(i) > 0).collect();
        let mut copies: Vec<usize> = (0..60).flat_map(|i| vec![i; weight(i)]).collect();
        Rng::new(3).shuffle(&mut copies);
        for loss in LOSSES {
            for offset in [false, true] {
                for c in [1e-3, 0.7, 32.0, 1000.0] {
                    let polish = polish(loss, offset);
                    let weighted = Copies::new(&toy, &plain, |i| c * weight(i) as f64);
                    let one = weighted.solve(&toy, &polish);
                    let repeated = Copies::new(&toy, &copies, |_| c);
                    let two = repeated.solve(&toy, &polish);
                    let what = format!("{loss:?} {offset} {c} {n_classes}");
                    assert!(one.converged && two.converged, "{what} {} {}", one.steps, two.steps);
                    close(
                        &decisions(&toy, &plain, &one),
                        &decisions(&toy, &copies, &two),
                        1e-9,
                        &what,
                    );
                    assert!((one.smoothed - two.smoothed).abs() <= 1e-10 * one.smoothed);
                }
            }
        }
    }
}

/// Where samples of other targets are one point, and where each is its own, which `K` has twice.
#[test]
fn a_point_of_several_samples_is_as_good_as_one_each() {
    let toy = Toy::<f64>::new(25, 50, 1, 3);
    let row = |i: usize| &toy.kernel.x[i % 20 * 3..][..3];
    let gram_of = |n: usize| -> Vec<f64> {
        let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        pairs.map(|(i, j)| gaussian(row(i), row(j), toy.kernel.gamma)).collect()
    };
    let copies = |points: usize| Copies {
        gram: gram_of(points),
        point: (0..50).map(|i| i % points).collect(),
        classes: toy.classes.clone(),
        values: toy.values.clone(),
        cost: toy.cost.clone(),
    };
    let (shared, own) = (copies(20), copies(50));
    for loss in LOSSES {
        for offset in [false, true] {
            let polish = polish(loss, offset);
            let (one, two) = (shared.solve(&toy, &polish), own.solve(&toy, &polish));
            let what = format!("{loss:?} {offset}");
            assert!(one.converged && two.converged, "{what}");
            let m = one.intercept.len();
            let mut summed = vec![0.0; 20 * m];
            for (at, value) in two.coef.iter().enumerate() {
                summed[at / m % 20 * m + at % m] += value;
            }
            close(&one.coef, &summed, 1e-7, &what);
            close(&one.intercept, &two.intercept, 1e-8, &what);
            assert!((one.smoothed - two.smoothed).abs() <= 1e-10 * one.smoothed, "{what}");
        }
    }
}

#[test]
fn agrees_with_the_panel_solver() {
    let toy = Toy::<f64>::new(22, 50, 50, 3);
    let order: Vec<usize> = (0..50).collect();
    for loss in LOSSES {
        for offset in [false, true] {
            let polish = Polish { tol: 1e-13, max_steps: 300, ..polish(loss, offset) };
            let exact = Copies::new(&toy, &order, |i| toy.cost[i]).solve(&toy, &polish);
            let panels = toy.solve(&polish, &toy.random_coef(loss));
            let what = format!("{loss:?} {offset}");
            assert!((exact.smoothed - panels.smoothed).abs() <= 1e-8 * exact.smoothed, "{what}");
            assert!((exact.primal - panels.primal).abs() <= 1e-4 * exact.primal, "{what}");
            // The gradient in the coefficients' own space.
            for (output, &b) in exact.intercept.iter().enumerate() {
                let m = exact.intercept.len();
                let column: Vec<f64> = exact.coef.iter().skip(output).step_by(m).copied().collect();
                let (value, mut g) = naive(&toy, &polish, output, &column, b);
                if !offset {
                    g.pop();
                }
                let norm = g.iter().map(|g| g * g).sum::<f64>().sqrt();
                assert!(norm <= 1e-8 * (1.0 + value), "{what} {norm}");
            }
        }
    }
}

#[test]
fn the_offset_is_central_where_it_is_free() {
    // Tiny costs: nobody reaches the margin, any b in an interval is optimal.
    let toy = Toy::<f64>::new(23, 40, 1, 2);
    let mut balanced: Vec<usize> = Vec::new();
    for class in [0, 1] {
        balanced.extend((0..40).filter(|&i| toy.classes[i] == class).take(10));
    }
    let solve = |order: &[usize]| {
        Copies::new(&toy, order, |_| 1e-5).solve(&toy, &polish(AnyLoss::Hinge, true))
    };
    let one = solve(&balanced);
    balanced.reverse();
    let two = solve(&balanced);
    assert!((one.intercept[0] - two.intercept[0]).abs() < 1e-9);
    assert!(one.intercept[0].abs() < 0.01, "{}", one.intercept[0]);
    // One class: the nearest b without loss.
    let positive: Vec<usize> = (0..40).filter(|&i| toy.classes[i] == 1).collect();
    let all = Copies::new(&toy, &positive, |_| 1.0).solve(&toy, &polish(AnyLoss::Hinge, true));
    assert!((all.intercept[0] - 1.01).abs() < 1e-6, "{}", all.intercept[0]);
    assert!(all.smoothed.abs() < 1e-9);
}

#[test]
fn a_zero_kernel_and_an_interrupt() {
    let targets = Targets::Values(&[1.0, 2.0, 4.0]);
    let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.0 };
    let data = Distinct { gram: &[0.0], point: &[0, 0, 0], targets, cost: &[1.0; 3] };
    let result = polish(loss, true).solve_exactly(data, &mut Watch::of_tests()).unwrap();
    // The median.
    assert!(result.converged && (result.intercept[0] - 2.0).abs() < 0.02);
    let stop = |wish: Cancel| {
        let mut observer = |_: &Progress| ControlFlow::Break(wish);
        let mut watch = Watch::new(&mut observer, Pool::of_tests());
        polish(loss, true).solve_exactly(data, &mut watch)
    };
    assert!(matches!(stop(Cancel::Discard), Err(Error::Interrupted)));
    assert_eq!(stop(Cancel::Keep).unwrap().stop, StopReason::Callback);
}
