//! What leaves the range of floats, what crawls, and what is penalised.

use std::sync::Arc;

use ndarray::Array2;

use super::solve::solve;
use super::*;
use crate::data::Rows;
use crate::kernel::{AnyKernel, Buffers, Columns, Gram, RowCache};
use crate::rng::Rng;
use crate::solver::exact::{Dual, MpdOutcome, Solution};
use crate::watch::{StopReason, Watch};

const N: usize = 60;
const SETTINGS: MpdSettings = MpdSettings {
    tol: 1e-6,
    constraint_tol: 1e-300,
    constraint_atol: 1e-6,
    max_iter: 1_000_000,
    update: Update::Augmented,
    working_set: 512,
    relaxation: 1.0,
    refine: false,
    record: true,
};

/// An ε-SVR whose box, targets and tube are all `u` times those of a small one.
fn values(x: &Array2<f64>, u: f64) -> Dual {
    let y: Vec<f64> = x.rows().into_iter().map(|r| u * (3.0 * r[0] + r[1].sin())).collect();
    let sides = |plus: f64, minus: f64| -> Vec<f64> {
        (0..2 * N).map(|v| if v < N { plus } else { minus }).collect()
    };
    Dual {
        sample: (0..2 * N).map(|v| v % N).collect(),
        lower: sides(0.0, -2.0 * u),
        upper: sides(2.0 * u, 0.0),
        linear: (0..2 * N).map(|v| y[v % N] + if v < N { -0.1 * u } else { 0.1 * u }).collect(),
        start: vec![0.0; 2 * N],
        two_sums: false,
    }
}

fn run(
    x: &Array2<f64>,
    dual: &Dual,
    equalities: &[Equality],
    settings: &MpdSettings,
) -> (Solution, MpdOutcome) {
    let gram = Gram::Kernel(AnyKernel::Gaussian { gamma: 0.7 }, Rows::Dense(x.view()).into());
    let columns = Columns::new(gram, (0..N).collect(), &mut Watch::of_tests()).unwrap();
    let mut cache =
        RowCache::<f64>::new(columns, 1 << 24, &Arc::<Buffers<f64>>::default()).unwrap();
    let problem = Problem { dual, equalities, divisor: None };
    solve(&problem, &mut cache, settings, &mut Watch::of_tests()).unwrap()
}

fn rows() -> Array2<f64> {
    let mut rng = Rng::new(7);
    Array2::from_shape_fn((N, 2), |_| 2.0 * rng.uniform() - 1.0)
}

fn offset(penalty: Option<f64>) -> Equality {
    Equality { column: vec![1.0; 2 * N], total: 0.0, penalty }
}

/// Everything divided by a power of two, everything multiplied by it at the end: no bit changes.
#[test]
fn targets_of_the_ends_of_the_range_give_the_same_bits() {
    let x = rows();
    let wave = Equality {
        column: (0..2 * N).map(|v| (5.0 * x[(v % N, 1)]).sin()).collect(),
        total: 0.0,
        penalty: None,
    };
    let equalities = [offset(None), wave];
    let (plain, told) = run(&x, &values(&x, 1.0), &equalities, &SETTINGS);
    assert_eq!(plain.stop, StopReason::Converged);
    for power in [400, 1000, 1020] {
        let u = f64::from(power).exp2();
        let dual = values(&x, u);
        let settings = MpdSettings { tol: 1e-6 * u, constraint_atol: 1e-6 * u, ..SETTINGS };
        let (large, of_large) = run(&x, &dual, &equalities, &settings);
        assert_eq!((large.stop, large.n_iter), (plain.stop, plain.n_iter));
        let times = |list: &[f64]| list.iter().map(|v| u * v).collect::<Vec<_>>();
        assert_eq!(large.beta, times(&plain.beta));
        assert_eq!(of_large.parametric, times(&told.parametric));
        assert_eq!(of_large.trace.violation, times(&told.trace.violation));
    }
}

/// The offset whose square costs something is a kernel's constant.
#[test]
fn a_penalty_is_a_constant_of_the_kernel() {
    let x = rows();
    let dual = values(&x, 1.0);
    for update in [Update::Augmented, Update::Newton] {
        let settings = MpdSettings { update, ..SETTINGS };
        let (solution, outcome) = run(&x, &dual, &[offset(Some(0.5))], &settings);
        assert_eq!(solution.stop, StopReason::Converged, "{update:?}");
        let b = outcome.parametric[0];
        let sum: f64 = solution.beta.iter().sum();
        assert!((b - sum / 0.5).abs() < 1e-9 && b.abs() > 1e-2, "{b} {sum}");
        assert_eq!((outcome.updates, outcome.constraint), (0, 0.0));
        // f + b is within the tube, or β at its bound, in the kernel k + 2.
        for v in 0..2 * N {
            let at = |i: usize, j: usize| {
                let (p, q) = (x.row(i).to_vec(), x.row(j).to_vec());
                AnyKernel::Gaussian { gamma: 0.7 }.eval(&p, &q) + 2.0
            };
            let f: f64 = (0..2 * N).map(|w| solution.beta[w] * at(v % N, w % N)).sum();
            let score = dual.linear[v] - f;
            let held = if score > 0.0 {
                solution.beta[v] >= dual.upper[v]
            } else {
                solution.beta[v] <= dual.lower[v]
            };
            assert!(held || score.abs() < 1e-5, "{update:?} {v}: {score}");
        }
    }
}

/// A constraint that outweighs the kernel a million times: single steps crawl along it.
#[test]
fn joint_steps_end_what_single_ones_crawl_along() {
    let x = rows();
    let mut dual = values(&x, 1.0);
    let mut rng = Rng::new(8);
    let far: Vec<f64> = (0..N).map(|_| 1e6 * (rng.uniform() - 0.5)).collect();
    for (v, z) in dual.linear.iter_mut().enumerate() {
        *z += far[v % N];
    }
    let slopes = (0..2).map(|j| Equality {
        column: (0..2 * N).map(|v| x[(v % N, j)]).collect(),
        total: 0.0,
        penalty: None,
    });
    let equalities: Vec<Equality> = std::iter::once(offset(None)).chain(slopes).collect();
    let settings = MpdSettings { tol: 1e-3, ..SETTINGS };
    let (solution, _) = run(&x, &dual, &equalities, &settings);
    assert_eq!(solution.stop, StopReason::Converged);
    assert!(solution.n_iter < 20_000, "{}", solution.n_iter);
}
