use ndarray::Array2;

use super::*;
use crate::data::Rows;
use crate::kernel::{AnyBuffers, AnyColumns, AnyKernel, Gram};
use crate::rng::Rng;
use crate::solver::exact::{self, Fitted, Kind, Part, Settings};
use crate::watch::{StopReason, Watch};

const TIGHT: MpdSettings = MpdSettings {
    tol: 1e-7,
    constraint_tol: 1e-9,
    max_iter: 50_000_000,
    constraint_atol: 0.0,
    update: Update::Augmented,
    working_set: 512,
    relaxation: 1.0,
    refine: false,
    record: false,
};
const PLAIN: Form<'_> = Form { intercept: true, penalty: None, functions: None };
const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 1.5 };

fn data(n: usize, d: usize, seed: u64) -> (Array2<f64>, Vec<f64>) {
    let mut rng = Rng::new(seed);
    let x = Array2::from_shape_fn((n, d), |_| 2.0 * rng.uniform() - 1.0);
    let y = x.rows().into_iter().map(|r| r[0] * r[1] + 0.3 * r[0] + 0.3 * (rng.uniform() - 0.5));
    let y = y.collect();
    (x, y)
}

fn part<'a>(x: &'a Array2<f64>, kind: Kind<'a>, cost: &'a [f64]) -> Part<'a, 'a> {
    Part {
        columns: AnyColumns::new(
            Gram::Kernel(KERNEL, Rows::Dense(x.view()).into()),
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

/// `Kβ` on the training rows, naively.
fn outputs(x: &Array2<f64>, coef: &[f64]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
    let one = |a: &Vec<f64>| rows.iter().zip(coef).map(|(b, c)| c * KERNEL.eval(a, b)).sum();
    rows.iter().map(one).collect()
}

fn assert_close(a: &Fitted, b: &Fitted, x: &Array2<f64>, off: f64) {
    let scale = 1.0 + b.objective.abs();
    assert!((a.objective - b.objective).abs() <= off * scale, "{} {}", a.objective, b.objective);
    let (p, q) = (outputs(x, &a.coef), outputs(x, &b.coef));
    let largest = q.iter().fold(1.0f64, |m, v| m.max(v.abs()));
    for (p, q) in p.iter().zip(&q) {
        let (p, q) = (p + a.intercept, q + b.intercept);
        assert!((p - q).abs() <= 10.0 * off.sqrt() * largest, "{p} {q}");
    }
}

#[test]
fn the_five_machines_agree_with_smo() {
    for (n, seed) in [(80, 1), (300, 2), (1300, 3)] {
        let (x, t) = data(n, 3, seed);
        let y: Vec<bool> = t.iter().map(|&t| t > 0.0).collect();
        let one = vec![1.0; n];
        let cost: Vec<f64> = (0..n).map(|i| 2.0 + (i % 3) as f64).collect();
        let small: Vec<f64> = cost.iter().map(|c| c / 1000.0).collect();
        for (kind, cost) in [
            (Kind::Classes(&y), &cost),
            (Kind::Values(&t, 0.05), &cost),
            (Kind::NuValues(&t, 0.4), &cost),
            (Kind::NuClasses(&y, 0.3), &one),
            (Kind::NuClasses(&y, 1.0), &cost),
            (Kind::NuClasses(&y, 1.0), &small),
            (Kind::OneClass(0.2), &one),
        ] {
            let settings =
                Settings { tol: 1e-9, max_iter: 10_000_000, refine: true, shrinking: true };
            let smo = exact::fit(part(&x, kind, cost), &settings, &mut Watch::of_tests()).unwrap();
            let mpd = fit(part(&x, kind, cost), &PLAIN, &TIGHT, &mut Watch::of_tests()).unwrap();
            assert_eq!(mpd.stop, StopReason::Converged, "{n} {kind:?}");
            assert_close(&mpd, &smo, &x, 1e-8);
            assert!((mpd.width - smo.width).abs() < 1e-4 * (1.0 + smo.width));
            let outcome = mpd.mpd.as_ref().unwrap();
            println!("{n} steps {} updates {} gap {:e}", mpd.n_iter, outcome.updates, mpd.gap);
            // Where all of a class are at their bounds the multipliers have far to go.
            let most = if matches!(kind, Kind::NuClasses(_, 1.0)) { 400 } else { 40 };
            assert!(outcome.updates < most, "{kind:?} {}", outcome.updates);
            // The working set of the paper, a small cache.
            if n == 300 {
                let settings = MpdSettings { working_set: 1, ..TIGHT };
                let bytes = 20 * 512 * 8;
                let small = Part { cache_bytes: bytes, ..part(&x, kind, cost) };
                let small = fit(small, &PLAIN, &settings, &mut Watch::of_tests()).unwrap();
                assert_eq!(small.stop, StopReason::Converged);
                assert_close(&small, &smo, &x, 1e-8);
            }
        }
    }
}

/// `(row j, signed)` of a dense problem in the paper's own variables: H, f_0, F, e, d.
struct Paper {
    h: Vec<Vec<f64>>,
    f0: Vec<f64>,
    f: Vec<Vec<f64>>,
    e: Vec<f64>,
    d: Vec<f64>,
}

impl Paper {
    /// C-SVC with an offset (if `offset`) and one parametric function.
    fn classes(x: &Array2<f64>, y: &[bool], cost: &[f64], offset: bool, phi: &[f64]) -> Self {
        let n = y.len();
        let sign = |i: usize| if y[i] { 1.0 } else { -1.0 };
        let rows: Vec<Vec<f64>> = x.rows().into_iter().map(|r| r.to_vec()).collect();
        let h = |i, j| sign(i) * sign(j) * KERNEL.eval(&rows[i], &rows[j]);
        let mut f = Vec::new();
        if offset {
            f.push((0..n).map(sign).collect());
        }
        f.push((0..n).map(|i| sign(i) * phi[i]).collect());
        Self {
            h: (0..n).map(|i| (0..n).map(|j| h(i, j)).collect()).collect(),
            f0: vec![-1.0; n],
            e: vec![0.0; f.len()],
            f,
            d: cost.to_vec(),
        }
    }

    fn gradient(&self, alpha: &[f64], eta: &[f64], i: usize) -> f64 {
        let h: f64 = self.h[i].iter().zip(alpha).map(|(h, a)| h * a).sum();
        h + self.f0[i] + self.f.iter().zip(eta).map(|(f, eta)| eta * f[i]).sum::<f64>()
    }

    fn violation(&self, alpha: &[f64], s: f64, i: usize) -> f64 {
        let held = if s < 0.0 { alpha[i] >= self.d[i] } else { alpha[i] <= 0.0 };
        if held { 0.0 } else { s.abs() }
    }

    /// Algorithm 1 as it stands: everything recomputed; violations, η before every step.
    fn newton(&self, tol: f64, allowed: f64, most: usize) -> (Vec<f64>, Vec<(f64, Vec<f64>)>) {
        let (n, k) = (self.f0.len(), self.f.len());
        let (mut alpha, mut eta, mut course) = (vec![0.0; n], vec![0.0; k], Vec::new());
        let mut gamma = vec![vec![0.0; n]; k];
        for _ in 0..most {
            let s: Vec<f64> = (0..n).map(|i| self.gradient(&alpha, &eta, i)).collect();
            let (mut worst, mut at) = (0.0, 0);
            for i in 0..n {
                let v = self.violation(&alpha, s[i], i);
                if v > worst {
                    (worst, at) = (v, i);
                }
            }
            course.push((worst, eta.clone()));
            for (gamma, f) in gamma.iter_mut().zip(&self.f) {
                let r: Vec<f64> = (0..n)
                    .map(|i| self.h[i].iter().zip(&*gamma).map(|(h, g)| h * g).sum::<f64>() + f[i])
                    .collect();
                let j = (0..n).fold(0, |j, i| if r[i].abs() > r[j].abs() { i } else { j });
                gamma[j] -= r[j] / self.h[j][j];
            }
            let g: Vec<f64> = (0..k)
                .map(|c| self.f[c].iter().zip(&alpha).map(|(f, a)| f * a).sum::<f64>() - self.e[c])
                .collect();
            if worst > tol {
                alpha[at] = (alpha[at] - s[at] / self.h[at][at]).clamp(0.0, self.d[at]);
            } else if g.iter().all(|g| g.abs() < allowed) {
                break;
            } else {
                for c in 0..k {
                    let h: f64 = self.f[c].iter().zip(&gamma[c]).map(|(f, g)| f * g).sum();
                    eta[c] -= g[c] / h;
                }
            }
        }
        (alpha, course)
    }
}

fn labels(t: &[f64]) -> Vec<bool> {
    t.iter().map(|&t| t > 0.0).collect()
}

/// The paper's loop and its plain twin in step: violations and multipliers of every iteration.
#[test]
fn newton_walks_in_step_with_algorithm_1() {
    let (x, t) = data(40, 2, 11);
    let (y, cost) = (labels(&t), vec![10.0; 40]);
    let phi: Vec<f64> = x.column(0).iter().map(|v| (3.0 * v).sin()).collect();
    let functions = Array2::from_shape_vec((40, 1), phi.clone()).unwrap();
    for offset in [false, true] {
        let paper = Paper::classes(&x, &y, &cost, offset, &phi);
        let (alpha, course) = paper.newton(1e-3, 1e-3, 4000);
        let form = Form { intercept: offset, functions: Some(functions.view()), ..PLAIN };
        let rms = (phi.iter().map(|p| p * p).sum::<f64>() / 40.0).sqrt();
        let allowed = if offset { 1e-3 } else { 1e-3 / rms };
        let settings = MpdSettings {
            tol: 1e-3,
            constraint_tol: allowed,
            update: Update::Newton,
            record: true,
            ..TIGHT
        };
        let fitted =
            fit(part(&x, Kind::Classes(&y), &cost), &form, &settings, &mut Watch::of_tests())
                .unwrap();
        let trace = &fitted.mpd.as_ref().unwrap().trace;
        let k = 1 + usize::from(offset);
        let steps = course.len().min(trace.violation.len());
        assert!(steps > 100, "{steps}");
        for (step, (worst, eta)) in course.iter().take(steps).enumerate() {
            assert!((trace.violation[step] - worst).abs() < 1e-7, "step {step}");
            for (a, b) in trace.multipliers[step * k..][..k].iter().zip(eta) {
                assert!((a - b).abs() < 1e-7 * (1.0 + b.abs()), "step {step}: {a} {b}");
            }
        }
        if !offset {
            assert_eq!(fitted.stop, StopReason::Converged);
            for (i, a) in alpha.iter().enumerate() {
                assert!((a - fitted.coef[i].abs()).abs() < 1e-6);
            }
        }
    }
}

/// With k = 0 the method is the Kernel Adatron: the same steps as its plain loop.
#[test]
fn without_constraints_it_is_the_kernel_adatron() {
    let (x, t) = data(60, 2, 12);
    let (y, cost) = (labels(&t), vec![5.0; 60]);
    let paper = Paper::classes(&x, &y, &cost, false, &[0.0; 60]);
    let (mut alpha, mut steps) = (vec![0.0; 60], 0);
    loop {
        let s: Vec<f64> = (0..60).map(|i| paper.gradient(&alpha, &[0.0], i)).collect();
        let worst = (0..60).map(|i| paper.violation(&alpha, s[i], i)).fold(0.0, f64::max);
        if worst <= 1e-6 {
            break;
        }
        let to = |i: usize| (alpha[i] - s[i]).clamp(0.0, 5.0); // H_ii = 1
        let gain = |i: usize| -s[i] * (to(i) - alpha[i]) - 0.5 * (to(i) - alpha[i]).powi(2);
        let best = (0..60).fold(0, |j, i| if gain(i) > gain(j) { i } else { j });
        alpha[best] = to(best);
        steps += 1;
    }
    let form = Form { intercept: false, ..PLAIN };
    for working_set in [1, 512] {
        let settings = MpdSettings { tol: 1e-6, working_set, ..TIGHT };
        let fitted =
            fit(part(&x, Kind::Classes(&y), &cost), &form, &settings, &mut Watch::of_tests())
                .unwrap();
        assert_eq!(
            (fitted.stop, fitted.n_iter, fitted.intercept),
            (StopReason::Converged, steps, 0.0)
        );
        for (a, c) in alpha.iter().zip(&fitted.coef) {
            assert!((a - c.abs()).abs() < 1e-9);
        }
    }
}

/// What makes β and η optimal, checked for every machine with functions and without an offset.
#[test]
fn semi_parametric_machines_meet_the_optimality_conditions() {
    let (x, t) = data(200, 2, 13);
    let y = labels(&t);
    let cost = vec![3.0; 200];
    // Nearly collinear, and of another size: where diagonal steps fail.
    let functions = Array2::from_shape_fn((200, 3), |(i, j)| match j {
        0 => 50.0 * (2.0 * x[(i, 0)]).sin(),
        1 => 50.0 * (2.0 * x[(i, 0)]).sin() + x[(i, 1)],
        _ => x[(i, 1)].powi(3),
    });
    for kind in [
        Kind::Classes(&y),
        Kind::Values(&t, 0.05),
        Kind::NuValues(&t, 0.4),
        Kind::NuClasses(&y, 0.3),
        Kind::OneClass(0.2),
    ] {
        for intercept in [true, false] {
            let form = Form { intercept, functions: Some(functions.view()), ..PLAIN };
            let fitted = fit(part(&x, kind, &cost), &form, &TIGHT, &mut Watch::of_tests()).unwrap();
            let name = format!("{kind:?}").chars().take(12).collect::<String>();
            println!("{name} {intercept} {} steps", fitted.n_iter);
            assert_eq!(fitted.stop, StopReason::Converged, "{name} {intercept}");
            let outcome = fitted.mpd.as_ref().unwrap();
            assert_eq!(outcome.parametric.len(), 3);
            let unit = if matches!(kind, Kind::NuClasses(..)) { fitted.width } else { 1.0 };
            let kernel = outputs(&x, &fitted.coef);
            let mut gap = 0.0;
            for i in 0..200 {
                let linear: f64 = (0..3).map(|j| outcome.parametric[j] * functions[(i, j)]).sum();
                let f = (kernel[i] + fitted.intercept + linear) * unit;
                let beta = fitted.coef[i] * unit;
                // The margin that this sample's α answers for, and its distance from the box.
                let (slopes, from): (Vec<f64>, _) = match kind {
                    Kind::Classes(y) | Kind::NuClasses(y, _) => {
                        let sign = if y[i] { 1.0 } else { -1.0 };
                        let margin = if unit == 1.0 { 1.0 } else { fitted.width };
                        (vec![margin - sign * f], vec![sign * beta])
                    }
                    Kind::OneClass(_) => (vec![-f], vec![beta]),
                    Kind::Values(t, tube) => (
                        vec![t[i] - tube - f, f - t[i] - tube],
                        vec![beta.max(0.0), (-beta).max(0.0)],
                    ),
                    Kind::NuValues(t, _) => (
                        vec![t[i] - fitted.width - f, f - t[i] - fitted.width],
                        vec![beta.max(0.0), (-beta).max(0.0)],
                    ),
                };
                for (slope, from) in slopes.iter().zip(&from) {
                    assert!((-1e-12..=cost[i] + 1e-12).contains(from));
                    gap += if *slope > 0.0 { slope * (cost[i] - from) } else { -slope * from };
                }
            }
            assert!(gap < 1e-4 * (1.0 + fitted.objective.abs()), "{name} {intercept}: {gap}");
            for j in 0..3 {
                let sum: f64 = (0..200).map(|i| fitted.coef[i] * functions[(i, j)]).sum();
                assert!(sum.abs() < 1e-6 * 50.0, "{name}: {sum}");
            }
            if intercept && !matches!(kind, Kind::OneClass(_)) {
                assert!(fitted.coef.iter().sum::<f64>().abs() < 1e-7);
            }
        }
    }
}

#[test]
fn the_papers_update_needs_many_more_steps_on_a_nu_machine() {
    let (x, t) = data(80, 3, 14);
    let one = vec![1.0; 80];
    let kind = Kind::NuValues(&t, 0.4);
    let limited = MpdSettings { tol: 1e-3, constraint_tol: 1e-3, max_iter: 500_000, ..TIGHT };
    let paper = MpdSettings { update: Update::Newton, ..limited };
    let run = |settings| {
        let fitted = fit(part(&x, kind, &one), &PLAIN, &settings, &mut Watch::of_tests()).unwrap();
        (fitted.stop, fitted.n_iter)
    };
    let (ours, theirs) = (run(limited), run(paper));
    assert_eq!((ours.0, theirs.0), (StopReason::Converged, StopReason::Converged));
    assert!(theirs.1 > 5 * ours.1, "{} {}", theirs.1, ours.1);
}

#[test]
fn the_same_bits_for_any_number_of_threads() {
    let (x, t) = data(1700, 4, 15);
    let y = labels(&t);
    let cost = vec![5.0; 1700];
    let run = |threads| {
        crate::parallel::run(threads, |_| {
            let gram = Gram::Kernel(KERNEL, Rows::Dense(x.view()).into());
            let columns =
                AnyColumns::new(gram, (0..x.nrows()).collect(), true, &mut Watch::of_tests())
                    .unwrap();
            let part = Part { columns, ..part(&x, Kind::Classes(&y), &cost) };
            let settings = MpdSettings { tol: 1e-3, constraint_tol: 1e-3, ..TIGHT };
            fit(part, &PLAIN, &settings, &mut Watch::of_tests())
        })
        .unwrap()
        .unwrap()
    };
    let first = run(1);
    assert_eq!(first.stop, StopReason::Converged);
    assert_eq!(first, run(2));
    assert_eq!(first, run(5));
}

#[test]
fn tiny_and_infinite_costs_end() {
    let (x, t) = data(120, 2, 16);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.15).collect();
    for c in [1e-12, 1e-3, 1e6, f64::INFINITY] {
        let cost = vec![c; 120];
        let settings =
            MpdSettings { tol: 1e-3, constraint_tol: 1e-3, max_iter: 3_000_000, ..TIGHT };
        let fitted =
            fit(part(&x, Kind::Classes(&y), &cost), &PLAIN, &settings, &mut Watch::of_tests())
                .unwrap();
        println!("C {c:e}: {:?} {} steps, {:?}", fitted.stop, fitted.n_iter, fitted.mpd);
        assert!(fitted.coef.iter().all(|c| c.is_finite()) && fitted.intercept.is_finite());
        if c <= 1e-3 {
            // The larger class alone.
            assert_eq!(fitted.stop, StopReason::Converged);
            assert!((fitted.intercept + 1.0).abs() < 0.1, "{}", fitted.intercept);
        }
    }
}

#[test]
fn bad_settings_are_named() {
    let (x, t) = data(20, 2, 17);
    let cost = vec![1.0; 20];
    for (settings, name) in [
        (MpdSettings { tol: 0.0, ..TIGHT }, "tol"),
        (MpdSettings { constraint_tol: f64::NAN, ..TIGHT }, "constraint_tol"),
        (MpdSettings { working_set: 0, ..TIGHT }, "working_set"),
    ] {
        let error =
            fit(part(&x, Kind::Values(&t, 0.1), &cost), &PLAIN, &settings, &mut Watch::of_tests());
        assert!(error.unwrap_err().to_string().starts_with(name));
    }
    let functions = Array2::zeros((10, 1));
    let form = Form { functions: Some(functions.view()), ..PLAIN };
    let short = fit(part(&x, Kind::Values(&t, 0.1), &cost), &form, &TIGHT, &mut Watch::of_tests());
    assert!(short.unwrap_err().to_string().contains("functions"));
}

#[test]
fn a_nu_that_functions_make_impossible_is_refused() {
    let (x, _) = data(120, 2, 18);
    let y: Vec<bool> = (0..120).map(|i| x[(i, 0)] > 0.0).collect();
    let one = vec![1.0; 120];
    // The function alone separates the classes; the first is the constraint of ν itself.
    for power in [0, 1] {
        let function = |(i, _): (usize, usize)| match power {
            0 => x[(i, 0)].signum(),
            _ => x[(i, 0)],
        };
        let functions = Array2::from_shape_fn((120, 1), function);
        let form = Form { functions: Some(functions.view()), ..PLAIN };
        let fitted =
            fit(part(&x, Kind::NuClasses(&y, 0.3), &one), &form, &TIGHT, &mut Watch::of_tests());
        assert!(fitted.unwrap_err().to_string().contains("infeasible"));
    }
}

#[test]
fn a_constraint_tol_that_rounding_never_meets_ends() {
    let (x, t) = data(90, 2, 19);
    let y: Vec<bool> = t.iter().map(|&t| t > 0.1).collect();
    let cost = vec![3.0; 90];
    for update in [Update::Augmented, Update::Newton] {
        for tol in [1e-2, 1e-6] {
            let settings =
                MpdSettings { tol, constraint_tol: 1e-300, max_iter: u64::MAX, update, ..TIGHT };
            let fitted =
                fit(part(&x, Kind::Classes(&y), &cost), &PLAIN, &settings, &mut Watch::of_tests())
                    .unwrap();
            // Met exactly, by chance, or given up.
            assert!(matches!(fitted.stop, StopReason::Converged | StopReason::MaxIter));
            let excess = fitted.coef.iter().sum::<f64>().abs();
            // The paper's update moves a variable by no less than the other threshold asks.
            let allowed = if update == Update::Newton { tol } else { 1e-6 };
            assert!(excess <= allowed, "{update:?} {tol}: {excess}");
        }
    }
}
