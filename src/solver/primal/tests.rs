use std::ops::ControlFlow;

use ndarray::Array2;

use super::border::{Bordered, System};
use super::*;
use crate::data::{Csr, Indices, Rows, Targets};
use crate::error::Error;
use crate::float::Real;
use crate::loss::{AnyLoss, Piece};
use crate::parallel::{self, Pool};
use crate::rng::Rng;
use crate::solver::smoothed::{KernelRows, Polish, Polished, Start};
use crate::watch::{Cancel, Progress, StopReason, Watch};

pub(super) const LOSSES: [AnyLoss; 8] = [
    AnyLoss::Hinge,
    AnyLoss::SquaredHinge,
    AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
    AnyLoss::EpsilonInsensitive { epsilon: 0.01 },
    AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 },
    AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 },
    AnyLoss::Quantile { quantile: 0.8 },
    AnyLoss::LogLoss,
];

struct Toy {
    n: usize,
    x: Vec<f64>,
    gram: Vec<f64>,
    gamma: f64,
    classes: Vec<u32>,
    n_classes: usize,
    values: Vec<f64>,
    cost: Vec<f64>,
}

const D: usize = 3;

impl Toy {
    fn new(seed: u64, n: usize, n_classes: usize) -> Self {
        let mut rng = Rng::new(seed);
        let x: Vec<f64> = (0..n * D).map(|_| rng.uniform() * 4.0 - 2.0).collect();
        let values: Vec<f64> = x
            .chunks(D)
            .map(|r| (2.0 * r[0]).sin() + 0.5 * r[1] * r[2] + 0.6 * (rng.uniform() - 0.5))
            .collect();
        let most = n_classes as f64 - 1.0;
        let class = |v: &f64| ((v + 2.0) * n_classes as f64 / 4.0).clamp(0.0, most) as u32;
        let classes = values.iter().map(class).collect();
        let cost = (0..n).map(|_| 0.3 + 5.0 * rng.uniform()).collect();
        let mut toy = Self { n, x, gram: Vec::new(), gamma: 0.7, classes, n_classes, values, cost };
        toy.gram = toy.gram_of(toy.gamma);
        toy
    }

    fn gram_of(&self, gamma: f64) -> Vec<f64> {
        let row = |i: usize| &self.x[i * D..(i + 1) * D];
        let square =
            |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum() };
        let pairs = (0..self.n).flat_map(|i| (0..self.n).map(move |j| (i, j)));
        pairs.map(|(i, j)| (-gamma * square(row(i), row(j))).exp()).collect()
    }

    fn targets(&self, loss: AnyLoss) -> Targets<'_> {
        if loss.is_classification() {
            Targets::Classes { index: &self.classes, n_classes: self.n_classes }
        } else {
            Targets::Values(&self.values)
        }
    }

    fn newton(&self, polish: &Polish) -> Polished {
        self.newton_on(polish, &self.gram, &self.cost)
    }

    fn newton_on(&self, polish: &Polish, gram: &[f64], cost: &[f64]) -> Polished {
        let targets = self.targets(polish.loss);
        let m = targets.n_outputs();
        let (coef, intercept) = (vec![0.0; self.n * m], vec![0.0; m]);
        let start = Start { targets, cost, coef: &coef, intercept: &intercept };
        parallel::run(2, |_| newton(polish, gram, start, &mut Watch::of_tests())).unwrap().unwrap()
    }

    fn rows(&self) -> Array2<f64> {
        Array2::from_shape_vec((self.n, D), self.x.clone()).unwrap()
    }
}

struct Blocks<'a>(&'a Toy);

impl<F: Real> KernelRows<F> for Blocks<'_> {
    fn n_rows(&self) -> usize {
        self.0.n
    }
    fn n_terms(&self) -> usize {
        self.0.n
    }
    fn fill(&self, samples: &[usize], out: &mut [F]) {
        for (&i, row) in samples.iter().zip(out.chunks_mut(self.0.n)) {
            let source = &self.0.gram[i * self.0.n..];
            row.iter_mut().zip(source).for_each(|(to, &k)| *to = F::from_f64(k));
        }
    }
    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.0.gram[first * self.0.n..][..out.len()]);
    }
}

pub(super) fn polish(loss: AnyLoss, fit_intercept: bool, h: f64) -> Polish {
    Polish {
        loss,
        fit_intercept,
        h,
        unit: 1.0,
        max_steps: 500,
        tol: 1e-9,
        near: false,
        cache_bytes: 1 << 20,
    }
}

/// `β = -C L'` and, with an offset, `Σ β = 0`: the minimum, and nothing else, for K positive
/// definite.
fn optimality(toy: &Toy, polish: &Polish, gram: &[f64], found: &Polished) -> f64 {
    let (n, m) = (toy.n, found.intercept.len());
    let (loss, targets) = (polish.final_loss(), toy.targets(polish.loss));
    let mut worst: f64 = 0.0;
    for c in 0..m {
        let beta: Vec<f64> = (0..n).map(|j| found.coef[j * m + c]).collect();
        for i in 0..n {
            let f: f64 = (0..n).map(|j| gram[i * n + j] * beta[j]).sum();
            let slope = loss.at(targets.value(i, c), f + found.intercept[c]).slope;
            worst = worst.max((beta[i] + toy.cost[i] * slope).abs());
        }
        if polish.fit_intercept {
            worst = worst.max(beta.iter().sum::<f64>().abs());
        } else {
            assert_eq!(found.intercept[c], 0.0);
        }
    }
    worst
}

#[test]
fn newton_ends_at_the_minimum() {
    for loss in LOSSES {
        for fit_intercept in [false, true] {
            for h in [0.5, 0.05, 1e-3] {
                for n_classes in [2, 3] {
                    let toy = Toy::new(7, 90, n_classes);
                    let polish = polish(loss, fit_intercept, h);
                    let found = toy.newton(&polish);
                    assert!(found.converged, "{loss:?} {fit_intercept} {h} {n_classes}");
                    let off = optimality(&toy, &polish, &toy.gram, &found);
                    assert!(off < 1e-8, "{loss:?} {fit_intercept} {h} {n_classes}: {off}");
                }
            }
        }
    }
}

#[test]
fn parts_of_the_samples_lead_to_the_same_minimum() {
    for loss in LOSSES {
        let toy = Toy::new(3, 1100, 2);
        let polish = polish(loss, true, 0.05);
        let found = toy.newton(&polish);
        assert!(found.converged, "{loss:?}");
        let off = optimality(&toy, &polish, &toy.gram, &found);
        assert!(off < 1e-7, "{loss:?}: {off}");
    }
}

/// The dual of the squared hinge, `min 1/2 αᵀ(Q + I/(2C))α - 1ᵀα, α ≥ 0`, and of the hinge, by
/// plain coordinate descent.
fn dual(toy: &Toy, squared: bool) -> f64 {
    let n = toy.n;
    let y = |i: usize| if toy.classes[i] == 1 { 1.0 } else { -1.0 };
    let (mut alpha, mut f) = (vec![0.0; n], vec![0.0; n]);
    for _ in 0..20_000 {
        let mut largest: f64 = 0.0;
        for i in 0..n {
            let extra = if squared { 0.5 / toy.cost[i] } else { 0.0 };
            let top = if squared { f64::INFINITY } else { toy.cost[i] };
            let step = (1.0 - y(i) * f[i] - alpha[i] * extra) / (toy.gram[i * n + i] + extra);
            let next = f64::clamp(alpha[i] + step, 0.0, top);
            let moved = y(i) * (next - alpha[i]);
            alpha[i] = next;
            (0..n).for_each(|j| f[j] += moved * toy.gram[i * n + j]);
            largest = largest.max(moved.abs());
        }
        if largest < 1e-12 {
            break;
        }
    }
    let value = |i: usize| {
        let extra = if squared { 0.25 * alpha[i] * alpha[i] / toy.cost[i] } else { 0.0 };
        alpha[i] - 0.5 * y(i) * alpha[i] * f[i] - extra
    };
    (0..n).map(value).sum()
}

#[test]
fn squared_hinge_is_the_dual_quadratic_programme() {
    let toy = Toy::new(11, 150, 2);
    let found = toy.newton(&polish(AnyLoss::SquaredHinge, false, 1.0));
    let reference = dual(&toy, true);
    assert!((found.smoothed - reference).abs() < 1e-8 * reference, "{}", found.smoothed);
    assert!(found.steps <= 10, "{} steps", found.steps);
}

#[test]
fn huberised_hinge_tends_to_the_hinge() {
    let toy = Toy::new(12, 120, 2);
    let reference = dual(&toy, false);
    let mut last = f64::INFINITY;
    for h in [0.3, 0.03, 3e-3, 3e-4] {
        let found = toy.newton(&polish(AnyLoss::Hinge, false, h));
        assert!(found.converged);
        let total: f64 = toy.cost.iter().sum();
        // 0 ≤ L_h - L ≤ h/4.
        assert!(found.primal >= reference - 1e-9 * reference);
        assert!(found.primal - reference <= 0.25 * h * total);
        assert!(found.primal - reference < last);
        last = found.primal - reference;
    }
    assert!(last < 1e-4 * reference, "{last}");
}

#[test]
fn a_border_solves_what_a_factor_solves() {
    let toy = Toy::new(5, 80, 2);
    let ridge: Vec<f64> = toy.cost.iter().map(|c| 0.5 / c).collect();
    let mut rng = Rng::new(1);
    let mut watch = Watch::of_tests();
    let mut rows: Vec<usize> = (0..60).collect();
    let (mut bordered, mut borders) = (Bordered::default(), 0);
    for change in 0..6 {
        let ridges: Vec<f64> = rows.iter().map(|&i| ridge[i]).collect();
        let system = System { gram: &toy.gram, n: toy.n, rows: &rows, ridge: &ridges };
        let right: Vec<f64> = rows.iter().map(|_| rng.uniform() - 0.5).collect();
        let (mut by_border, mut by_factor) = (right.clone(), right.clone());
        bordered.prepare(&system, &mut watch).unwrap();
        borders += usize::from(bordered.border.is_some());
        bordered.solve(&system, &mut by_border).unwrap();
        let mut fresh = Bordered::default();
        fresh.prepare(&system, &mut watch).unwrap();
        fresh.solve(&system, &mut by_factor).unwrap();
        for (a, b) in by_border.iter().zip(&by_factor) {
            assert!((a - b).abs() < 1e-11 * (1.0 + b.abs()), "{change}: {a} {b}");
        }
        for (a, &i) in rows.iter().enumerate() {
            let product: f64 =
                rows.iter().zip(&by_border).map(|(&j, v)| toy.gram[i * toy.n + j] * v).sum();
            assert!((product + ridge[i] * by_border[a] - right[a]).abs() < 1e-11);
        }
        // One goes, one comes, at any place; in the end a new factor is cheaper.
        rows.remove(rng.below(rows.len()));
        rows.insert(rng.below(rows.len()), 60 + change);
    }
    assert!((1..6).contains(&borders), "{borders}");
}

#[test]
fn conjugate_gradients_come_as_near_as_they_say() {
    for loss in LOSSES {
        for fit_intercept in [false, true] {
            let toy = Toy::new(9, 130, 3);
            let polish =
                Polish { max_steps: 20_000, tol: 1e-6, ..polish(loss, fit_intercept, 0.2) };
            let exact = toy.newton(&polish);
            let targets = toy.targets(loss);
            let m = targets.n_outputs();
            let (coef, intercept) = (vec![0.0; toy.n * m], vec![0.0; m]);
            let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
            let kept =
                pcg::<f64>(&polish, Metric::Kernel, &Blocks(&toy), start, &mut Watch::of_tests());
            let kept = kept.unwrap();
            assert!(kept.converged, "{loss:?} {fit_intercept}");
            let gap = kept.smoothed / exact.smoothed - 1.0;
            assert!(gap > -1e-9 && gap <= polish.tol, "{loss:?} {fit_intercept}: {gap}");
            // The same bits where nothing is kept.
            let frugal = Polish { cache_bytes: 0, ..polish };
            let made =
                pcg::<f64>(&frugal, Metric::Kernel, &Blocks(&toy), start, &mut Watch::of_tests());
            assert_eq!(made.unwrap().coef, kept.coef);
            // In single precision near it.
            let single =
                pcg::<f32>(&polish, Metric::Kernel, &Blocks(&toy), start, &mut Watch::of_tests());
            assert!((single.unwrap().smoothed / exact.smoothed - 1.0).abs() < 1e-4);
        }
    }
}

#[test]
fn the_preconditioner_pays() {
    let toy = Toy::new(10, 200, 2);
    let polish = Polish { tol: 1e-4, max_steps: 5000, ..polish(AnyLoss::SquaredHinge, false, 1.0) };
    let (coef, intercept) = (vec![0.0; toy.n], [0.0]);
    let targets = toy.targets(polish.loss);
    let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
    let by =
        |metric| pcg::<f64>(&polish, metric, &Blocks(&toy), start, &mut Watch::of_tests()).unwrap();
    let (with, without) = (by(Metric::Kernel), by(Metric::Plain));
    assert!(with.steps * 2 < without.steps, "{} {}", with.steps, without.steps);
}

#[test]
fn linear_machines_agree_with_the_linear_kernel() {
    for loss in LOSSES {
        for fit_intercept in [false, true] {
            let mut toy = Toy::new(21, 140, 3);
            let rows = toy.rows();
            toy.gram = rows.dot(&rows.t()).iter().copied().collect();
            let polish = polish(loss, fit_intercept, 0.1);
            let expansion = toy.newton(&polish);
            let targets = toy.targets(loss);
            let m = targets.n_outputs();
            let (coef, intercept) = (vec![0.0; D * m], vec![0.0; m]);
            let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
            // Every entry is stored, and some are 0.
            let indices: Vec<i32> = (0..toy.n * D).map(|k| (k % D) as i32).collect();
            let starts: Vec<i64> = (0..=toy.n).map(|i| (i * D) as i64).collect();
            let csr = Csr::new(&toy.x, Indices::I32(&indices), Indices::I64(&starts), D).unwrap();
            let by_columns = {
                let mut flipped = Array2::zeros((D, toy.n));
                flipped.assign(&rows.t());
                flipped
            };
            for (method, x) in [
                (Linear::Direct, Rows::Dense(rows.view())),
                (Linear::Direct, Rows::Dense(by_columns.t())),
                (Linear::Direct, Rows::Csr(csr)),
                (Linear::Truncated, Rows::Dense(rows.view())),
                (Linear::Truncated, Rows::Csr(csr)),
            ] {
                let found = linear(&polish, method, &x, start, &mut Watch::of_tests()).unwrap();
                assert!(found.converged, "{loss:?} {fit_intercept} {method:?}");
                let off = (found.smoothed / expansion.smoothed - 1.0).abs();
                assert!(off < 1e-8, "{loss:?} {fit_intercept} {method:?}: {off}");
                for c in 0..m {
                    // w = Xᵀβ, where the minimum is unique.
                    for j in 0..D {
                        let w: f64 =
                            (0..toy.n).map(|i| toy.x[i * D + j] * expansion.coef[i * m + c]).sum();
                        let off = (found.coef[j * m + c] - w).abs();
                        assert!(off < 1e-3, "{loss:?} {fit_intercept} {method:?}: {off}");
                    }
                }
            }
        }
    }
}

#[test]
fn leaving_one_out_is_training_without_it() {
    for loss in LOSSES {
        for fit_intercept in [false, true] {
            let toy = Toy::new(31, 50, 2);
            let polish = polish(loss, fit_intercept, 0.2);
            let whole = toy.newton(&polish);
            let targets = toy.targets(loss);
            let solution =
                Start { targets, cost: &toy.cost, coef: &whole.coef, intercept: &whole.intercept };
            let told = leave_one_out(&polish, &toy.gram, solution, &mut Watch::of_tests()).unwrap();
            let loss = polish.final_loss();
            let samples =
                crate::solver::smoothed::ray::Samples { loss, targets, output: 0, cost: &toy.cost };
            let zones_of = |found: &Polished| zones::zones(&samples, &decisions(&toy, found));
            let before = zones_of(&whole);
            let mut checked = 0;
            for p in 0..toy.n {
                // A sample of vanishing cost is no sample.
                let mut cost = toy.cost.clone();
                cost[p] = 0.0;
                let without = toy.newton_on(&polish, &toy.gram, &cost);
                let after = zones_of(&without);
                let stayed = (0..toy.n).all(|i| i == p || before[i] == after[i]);
                if stayed {
                    let off = (decisions(&toy, &without)[p] - told[p]).abs();
                    // Where a zone is not the loss itself, an estimate.
                    let most = if loss.has_zones() { 1e-7 } else { 0.05 };
                    assert!(off < most, "{loss:?} {fit_intercept} {p}: {off}");
                    let piece = zones::piece(&samples, p, before[p], 0.0);
                    checked += usize::from(piece != Piece::Nothing);
                }
            }
            assert!(checked >= 5, "{loss:?} {fit_intercept}: {checked}");
        }
    }
}

fn decisions(toy: &Toy, found: &Polished) -> Vec<f64> {
    let row = |i: usize| &toy.gram[i * toy.n..(i + 1) * toy.n];
    (0..toy.n)
        .map(|i| {
            row(i).iter().zip(&found.coef).map(|(k, b)| k * b).sum::<f64>() + found.intercept[0]
        })
        .collect()
}

#[test]
fn the_criterion_has_this_gradient() {
    let losses = [
        AnyLoss::SquaredHinge,
        AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 },
        AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 },
    ];
    for loss in losses {
        for (fit_intercept, n_classes) in [(false, 2), (true, 2), (true, 3)] {
            let toy = Toy::new(41, 70, n_classes);
            let polish = polish(loss, fit_intercept, 0.2);
            let weight: Vec<f64> = toy.cost.iter().map(|c| c / 3.0).collect();
            let at = |log_c: f64, log_gamma: f64| {
                let gram = toy.gram_of(toy.gamma * log_gamma.exp());
                let cost: Vec<f64> = toy.cost.iter().map(|c| c * log_c.exp()).collect();
                let found = toy.newton_on(&polish, &gram, &cost);
                let targets = toy.targets(loss);
                let (coef, intercept) = (&found.coef, &found.intercept);
                let solution = Start { targets, cost: &cost, coef, intercept };
                criterion(&polish, &gram, solution, &weight, &mut Watch::of_tests()).unwrap()
            };
            let (here, t) = (at(0.0, 0.0), 1e-5);
            let by_c = (at(t, 0.0).value - at(-t, 0.0).value) / (2.0 * t);
            let by_gamma = (at(0.0, t).value - at(0.0, -t).value) / (2.0 * t);
            for (told, seen) in [(here.by_log_c, by_c), (here.by_log_gamma, by_gamma)] {
                let off = (told - seen).abs();
                assert!(off < 1e-5 * (1.0 + seen.abs()), "{loss:?}: {told} {seen}");
            }
        }
    }
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let toy = Toy::new(51, 1300, 2);
    let polish = polish(AnyLoss::SquaredHinge, true, 0.1);
    let targets = toy.targets(polish.loss);
    let (coef, intercept) = (vec![0.0; toy.n], [0.0]);
    let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
    let rows = toy.rows();
    let zero = [0.0; D];
    let run = |threads| {
        parallel::run(threads, |_| {
            let by_newton = newton(&polish, &toy.gram, start, &mut Watch::of_tests()).unwrap();
            let few = Polish { max_steps: 20, ..polish };
            let by_cg =
                pcg::<f64>(&few, Metric::Kernel, &Blocks(&toy), start, &mut Watch::of_tests())
                    .unwrap();
            let start = Start { coef: &zero, ..start };
            let x = Rows::Dense(rows.view());
            let w = linear(&polish, Linear::Direct, &x, start, &mut Watch::of_tests()).unwrap();
            let solution =
                Start { coef: &by_newton.coef, intercept: &by_newton.intercept, ..start };
            let told = leave_one_out(&polish, &toy.gram, solution, &mut Watch::of_tests()).unwrap();
            (by_newton.coef, by_cg.coef, w.coef, told)
        })
        .unwrap()
    };
    assert!(run(1) == run(3));
}

#[test]
fn a_watcher_stops_the_work() {
    let toy = Toy::new(61, 300, 2);
    let polish = polish(AnyLoss::Hinge, true, 0.01);
    let targets = toy.targets(polish.loss);
    let (coef, intercept) = (vec![0.0; toy.n], [0.0]);
    let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
    let mut asked = 0;
    let mut later = |_: &Progress| {
        asked += 1;
        if asked > 20 { ControlFlow::Break(Cancel::Keep) } else { ControlFlow::Continue(()) }
    };
    let mut watch = Watch::new(&mut later, Pool::of_tests());
    let stopped = newton(&polish, &toy.gram, start, &mut watch).unwrap();
    assert_eq!(stopped.stop, StopReason::Callback);
    assert!(stopped.smoothed.is_finite());
    let mut interrupt = |_: &Progress| ControlFlow::Break(Cancel::Discard);
    let mut watch = Watch::new(&mut interrupt, Pool::of_tests());
    let ended = newton(&polish, &toy.gram, start, &mut watch);
    assert!(matches!(ended, Err(Error::Interrupted)));
    let ended = pcg::<f64>(&polish, Metric::Kernel, &Blocks(&toy), start, &mut watch);
    assert!(matches!(ended, Err(Error::Interrupted)));
}
