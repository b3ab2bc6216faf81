//! The exact machines against a plain float64 solver whose duality gap is recomputed here: machine
//! x kernel x cost x data, objective within 1e-8 and decision values within 1e-6.

#![allow(clippy::unwrap_used, reason = "a test that cannot train must fail")]

use budgetsvm::data::Rows;
use budgetsvm::kernel::{AnyBuffers, AnyColumns, AnyKernel, Gram};
use budgetsvm::rng::Rng;
use budgetsvm::solver::exact::{Fitted, Kind, Part, Settings, fit};
use budgetsvm::solver::mpd::{self, MpdSettings, Update};
use budgetsvm::watch::{Silent, StopReason, Watch};
use ndarray::Array2;

/// `min ½ βᵀKβ - zᵀβ` over variables of samples, with a box and one or two sums: as in the docs,
/// solved by steps of the most violating pair.
struct Plain {
    k: Vec<Vec<f64>>,
    z: Vec<f64>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    group: Vec<usize>,
    beta: Vec<f64>,
}

impl Plain {
    fn slopes(&self) -> Vec<f64> {
        let n = self.z.len();
        (0..n)
            .map(|v| self.z[v] - (0..n).map(|w| self.k[v][w] * self.beta[w]).sum::<f64>())
            .collect()
    }

    fn worst_pair(&self, slopes: &[f64], group: usize) -> Option<(usize, usize)> {
        let members = || (0..slopes.len()).filter(|&v| self.group[v] == group);
        let by = |a: &usize, b: &usize| slopes[*a].total_cmp(&slopes[*b]);
        let up = members().filter(|&v| self.beta[v] < self.upper[v]).max_by(by)?;
        let down = members().filter(|&v| self.beta[v] > self.lower[v]).min_by(by)?;
        Some((up, down))
    }

    fn solve(&mut self) {
        let n = self.z.len();
        let mut slopes = self.slopes();
        for step in 0..3_000_000 {
            if step % 20_000 == 19_999 {
                slopes = self.slopes();
            }
            let scale = slopes.iter().fold(1.0f64, |m, s| m.max(s.abs()));
            let pairs = [0, 1].into_iter().filter_map(|g| self.worst_pair(&slopes, g));
            let worst = pairs
                .max_by(|a, b| (slopes[a.0] - slopes[a.1]).total_cmp(&(slopes[b.0] - slopes[b.1])));
            let Some((i, j)) = worst else { break };
            if slopes[i] - slopes[j] <= 1e-13 * scale {
                break;
            }
            let curvature = (self.k[i][i] + self.k[j][j] - 2.0 * self.k[i][j]).max(1e-12);
            let (rise, fall) = (self.upper[i] - self.beta[i], self.beta[j] - self.lower[j]);
            let by = ((slopes[i] - slopes[j]) / curvature).min(rise).min(fall);
            self.beta[i] = if by == rise { self.upper[i] } else { self.beta[i] + by };
            self.beta[j] = if by == fall { self.lower[j] } else { self.beta[j] - by };
            for v in 0..n {
                slopes[v] -= by * (self.k[v][i] - self.k[v][j]);
            }
        }
    }

    /// Objective, and how far it may be above the optimum: for each sum the multiplier of least
    /// gap among the slopes.
    fn objective_and_gap(&self) -> (f64, f64) {
        let slopes = self.slopes();
        let objective = |v: usize| -0.5 * self.beta[v] * (slopes[v] + self.z[v]);
        let gap = |group: usize, level: f64| -> f64 {
            let room = |v: usize| match slopes[v] - level {
                s if s > 0.0 => s * (self.upper[v] - self.beta[v]),
                s => s * (self.lower[v] - self.beta[v]),
            };
            (0..slopes.len()).filter(|&v| self.group[v] == group).map(room).sum()
        };
        let least = |group: usize| {
            let levels = (0..slopes.len()).filter(|&v| self.group[v] == group).map(|v| slopes[v]);
            let least = levels.map(|level| gap(group, level)).fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { 0.0 }
        };
        ((0..slopes.len()).map(objective).sum(), least(0) + least(1))
    }
}

struct Data {
    x: Array2<f64>,
    t: Vec<f64>,
    y: Vec<bool>,
}

fn data(seed: u64) -> Data {
    let mut rng = Rng::new(seed);
    let n = 24 + rng.below(16);
    let d = 1 + rng.below(4);
    let mut x = Array2::from_shape_fn((n, d), |_| 2.0 * rng.uniform() - 1.0);
    for i in (0..n / 6).map(|i| 6 * i) {
        let copy = x.row(i).to_owned();
        x.row_mut(i + 1).assign(&copy);
    }
    let t: Vec<f64> = x
        .rows()
        .into_iter()
        .map(|r| r[0] + r[d - 1] * r[0] + 0.4 * (rng.uniform() - 0.5))
        .collect();
    let y =
        t.iter().enumerate().map(|(i, &t)| if i % 7 == 0 { t < 0.1 } else { t > 0.1 }).collect();
    Data { x, t, y }
}

/// The problem of a machine as the documentation states it, and the start that fixes its sums.
fn plain(data: &Data, kernel: AnyKernel, kind: Kind<'_>, cost: &[f64]) -> Plain {
    let n = data.x.nrows();
    let rows: Vec<Vec<f64>> = data.x.rows().into_iter().map(|r| r.to_vec()).collect();
    let twice = matches!(kind, Kind::Values(..) | Kind::NuValues(..));
    let m = if twice { 2 * n } else { n };
    let positive = |v: usize| match kind {
        Kind::Classes(y) | Kind::NuClasses(y, _) => y[v],
        _ => v < n,
    };
    let z = |v: usize| match kind {
        Kind::Classes(y) => f64::from(i8::from(y[v])) * 2.0 - 1.0,
        Kind::Values(t, epsilon) if v < n => t[v] - epsilon,
        Kind::Values(t, epsilon) => t[v - n] + epsilon,
        Kind::NuValues(t, _) => t[v % n],
        _ => 0.0,
    };
    let two = matches!(kind, Kind::NuClasses(..) | Kind::NuValues(..));
    let sum = match kind {
        Kind::NuClasses(_, nu) | Kind::NuValues(_, nu) => nu * cost.iter().sum::<f64>() / 2.0,
        Kind::OneClass(nu) => nu * cost.iter().sum::<f64>(),
        _ => 0.0,
    };
    let mut left = [sum, if two { sum } else { 0.0 }];
    let mut beta = vec![0.0; m];
    for (v, beta) in beta.iter_mut().enumerate() {
        let (group, sign) = if positive(v) { (0, 1.0) } else { (1, -1.0) };
        let share = left[group].min(cost[v % n]);
        left[group] -= share;
        *beta = sign * share;
    }
    Plain {
        k: (0..m)
            .map(|v| (0..m).map(|w| kernel.eval(&rows[v % n], &rows[w % n])).collect())
            .collect(),
        z: (0..m).map(z).collect(),
        lower: (0..m).map(|v| if positive(v) { 0.0 } else { -cost[v % n] }).collect(),
        upper: (0..m).map(|v| if positive(v) { cost[v % n] } else { 0.0 }).collect(),
        group: (0..m).map(|v| usize::from(two && !positive(v))).collect(),
        beta,
    }
}

/// Kernel part of the decision values on the training rows.
fn outputs(data: &Data, kernel: AnyKernel, coef: &[f64]) -> Vec<f64> {
    let rows: Vec<Vec<f64>> = data.x.rows().into_iter().map(|r| r.to_vec()).collect();
    let one = |a: &Vec<f64>| rows.iter().zip(coef).map(|(b, c)| c * kernel.eval(a, b)).sum();
    rows.iter().map(one).collect()
}

/// What was compared, and what could not be.
#[derive(Default)]
struct Count {
    compared: usize,
    without_reference: usize,
    mpd: usize,
    mpd_limited: usize,
}

/// How far a machine may be from the reference: objective, decision values.
fn near(
    data: &Data,
    (kernel, kind): (AnyKernel, Kind<'_>),
    fitted: &Fitted,
    (reference, best): (&Plain, f64),
    (objective, decisions): (f64, f64),
) {
    let n = data.x.nrows();
    let off = (fitted.objective - best).abs();
    assert!(off <= objective * (1.0 + best.abs()), "{kind:?} {kernel:?}: {fitted:?} {best}");
    let mut coef = vec![0.0; n];
    reference.beta.iter().enumerate().for_each(|(v, beta)| coef[v % n] += beta);
    // ν-SVC divides by ρ, which is 0 where the reduced hulls of the classes meet: compared before.
    let nu_classes = matches!(kind, Kind::NuClasses(..));
    let times = if nu_classes { fitted.width } else { 1.0 };
    let own: Vec<f64> = fitted.coef.iter().map(|c| times * c).collect();
    let (ours, theirs) = (outputs(data, kernel, &own), outputs(data, kernel, &coef));
    let largest = theirs.iter().fold(0.0f64, |m, f| m.max(f.abs()));
    for (a, b) in ours.iter().zip(&theirs) {
        assert!((a - b).abs() <= decisions * (1.0 + largest), "{kind:?} {kernel:?}: {a} {b}");
    }
}

fn compare(data: &Data, kernel: AnyKernel, kind: Kind<'_>, cost: &[f64], count: &mut Count) {
    let n = data.x.nrows();
    let mut reference = plain(data, kernel, kind, cost);
    reference.solve();
    let (best, gap) = reference.objective_and_gap();
    if gap > 1e-10 * (1.0 + best.abs()) {
        count.without_reference += 1;
        return;
    }
    let part = Part {
        columns: Watch::run_here(&mut Silent, |watch| {
            let gram = Gram::Kernel(kernel, Rows::Dense(data.x.view()).into());
            Ok(AnyColumns::new(gram, (0..n).collect(), false, watch).unwrap())
        })
        .unwrap(),
        kind,
        cost: cost.to_vec(),
        cache_bytes: 1 << 24,
        buffers: AnyBuffers::default(),
    };
    for (tol, constraint_tol, bars) in [(1e-4, 1e-6, (1e-4, 1e-2)), (1e-6, 1e-8, (1e-6, 1e-4))] {
        let settings = MpdSettings {
            tol,
            constraint_tol,
            constraint_atol: 0.0,
            max_iter: 200_000,
            update: Update::Augmented,
            working_set: 512,
            relaxation: 1.0,
            refine: false,
            record: false,
        };
        let form = mpd::Form { intercept: true, penalty: None, functions: None };
        let fitted =
            Watch::run(2, &mut Silent, |watch| mpd::fit(part.clone(), &form, &settings, watch));
        let fitted = fitted.unwrap();
        if fitted.stop == StopReason::Converged {
            near(data, (kernel, kind), &fitted, (&reference, best), bars);
            count.mpd += 1;
        } else {
            count.mpd_limited += 1;
        }
    }
    let settings = Settings { tol: 1e-9, max_iter: 20_000_000, refine: true, shrinking: true };
    let fitted: Fitted = Watch::run(2, &mut Silent, |watch| fit(part, &settings, watch)).unwrap();
    assert_eq!(fitted.stop, StopReason::Converged, "{kind:?} {kernel:?}");
    let scale = 1.0 + best.abs();
    assert!(fitted.gap <= 1e-8 * scale && fitted.gap >= -1e-12 * scale, "{}", fitted.gap);
    near(data, (kernel, kind), &fitted, (&reference, best), (1e-8, 1e-6));
    count.compared += 1;
}

#[test]
fn every_machine_agrees_with_the_plain_solver() {
    let mut count = Count::default();
    for seed in 0..5 {
        let data = data(100 + seed);
        let n = data.x.nrows();
        let smaller =
            data.y.iter().filter(|y| **y).count().min(n - data.y.iter().filter(|y| **y).count());
        let feasible = 1.9 * smaller as f64 / n as f64;
        for kernel in [
            AnyKernel::Gaussian { gamma: 0.5 },
            AnyKernel::Gaussian { gamma: 20.0 },
            AnyKernel::Polynomial { gamma: 1.0, coef0: 1.0, degree: 3 },
            AnyKernel::Linear,
        ] {
            for c in [0.01, 1.0, 50.0] {
                let cost: Vec<f64> = (0..n).map(|i| c * (1.0 + (i % 3) as f64)).collect();
                let one = vec![1.0; n];
                for (kind, cost) in [
                    (Kind::Classes(&data.y), &cost),
                    (Kind::Values(&data.t, 0.1), &cost),
                    (Kind::NuValues(&data.t, 0.4), &cost),
                    (Kind::NuClasses(&data.y, feasible * (0.3 + 0.2 * c.min(2.0))), &one),
                    (Kind::OneClass((0.1 + 0.3 * c).min(0.8)), &one),
                ] {
                    compare(&data, kernel, kind, cost, &mut count);
                }
            }
        }
    }
    let Count { compared, without_reference, mpd, mpd_limited } = count;
    println!("{compared} compared, {without_reference} without a reference");
    println!("MPD: {mpd} compared, {mpd_limited} ran out of steps");
    assert!(compared >= 250, "{compared} compared, {without_reference} without a reference");
    // One variable at a time is slow where costs are large and the kernel is of low rank.
    assert!(mpd >= 450, "{mpd} compared, {mpd_limited} ran out of steps");
}
