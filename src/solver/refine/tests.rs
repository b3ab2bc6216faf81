//! The gradient against finite differences of a naive twin, the descent, and what stops it.

use std::ops::ControlFlow;

use ndarray::Array2;

use super::objective::Objective;
use super::*;
use crate::data::{Rows, Targets};
use crate::error::Result;
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::loss::Smoothed;
use crate::model::Expansion;
use crate::parallel::{self, Pool};
use crate::watch::{Cancel, Progress};

pub(super) const GAMMA: f64 = 0.7;

pub(super) struct Case {
    pub(super) x: Array2<f64>,
    pub(super) classes: Vec<u32>,
    pub(super) values: Vec<f64>,
    pub(super) cost: Vec<f64>,
    pub(super) basis: Array2<f64>,
    pub(super) coef: Vec<f64>,
    pub(super) intercept: Vec<f64>,
    pub(super) outputs: usize,
}

/// Random data: `classes` = 0 is regression.
pub(super) fn case(n: usize, terms: usize, d: usize, classes: usize) -> Case {
    let mut rng = Rng::new(7);
    let mut matrix = |rows: usize| Array2::from_shape_fn((rows, d), |_| 2.0 * rng.uniform() - 1.0);
    let (x, basis) = (matrix(n), matrix(terms));
    let outputs = if classes > 2 { classes } else { 1 };
    let bend = |i: usize| x[(i, 0)] * x[(i, 1)] + 0.4 * x[(i, 0)];
    Case {
        classes: (0..n)
            .map(|i| {
                (((bend(i) + 1.0) * classes.max(1) as f64 * 0.5) as u32) % classes.max(1) as u32
            })
            .collect(),
        values: (0..n).map(bend).collect(),
        cost: (0..n).map(|i| [2.0, 0.0, 5.0][i % 3]).collect(),
        coef: (0..terms * outputs).map(|k| ((k * 7 % 5) as f64 - 1.7) * 0.4).collect(),
        intercept: (0..outputs).map(|c| 0.1 * c as f64 - 0.05).collect(),
        x,
        basis,
        outputs,
    }
}

impl Case {
    pub(super) fn targets(&self, classes: usize) -> Targets<'_> {
        match classes {
            0 => Targets::Values(&self.values),
            _ => Targets::Classes { index: &self.classes, n_classes: classes },
        }
    }

    pub(super) fn model(&self) -> KernelModel<f64> {
        let kernel = AnyKernel::Gaussian { gamma: GAMMA };
        let origin: Vec<f64> = self.x.row(0).to_vec();
        let mut basis =
            Expansion::new(kernel, origin.clone(), self.x.ncols(), self.outputs).unwrap();
        basis.reserve(self.basis.nrows()).unwrap();
        for row in self.basis.rows() {
            let moved: Vec<f64> = row.iter().zip(&origin).map(|(v, o)| v - o).collect();
            basis.push(&moved).unwrap();
        }
        let model = KernelModel::from_expansion(&basis, 1.0, vec![0.0; self.outputs]).unwrap();
        model.with_coef(&self.coef, self.intercept.clone()).unwrap()
    }
}

pub(super) fn refine(loss: AnyLoss) -> Refine {
    Refine { loss, fit_intercept: true, h: 0.3, unit: 1.0, max_evaluations: 60, seed: 0 }
}

/// The formula of the module page, term by term.
pub(super) fn naive(case: &Case, classes: usize, refine: &Refine, x: &[f64]) -> f64 {
    let (terms, d, m) = (case.basis.nrows(), case.x.ncols(), case.outputs);
    let origin = case.x.row(0);
    let kernel = |a: &[f64], b: &[f64]| {
        (-GAMMA * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
    };
    let point = |j: usize| &x[j * d..(j + 1) * d];
    let beta = |j: usize, c: usize| x[terms * d + j * m + c];
    let smoothed = Smoothed { loss: refine.loss, h: refine.h };
    let targets = case.targets(classes);
    let mut value = 0.0;
    for c in 0..m {
        for j in 0..terms {
            for l in 0..terms {
                value += 0.5 * beta(j, c) * beta(l, c) * kernel(point(j), point(l));
            }
        }
        for i in 0..case.x.nrows() {
            let row: Vec<f64> = case.x.row(i).iter().zip(&origin).map(|(v, o)| v - o).collect();
            let f: f64 = (0..terms).map(|j| beta(j, c) * kernel(&row, point(j))).sum();
            let f = f + x[terms * (d + m) + c];
            value += case.cost[i] * smoothed.at(targets.value(i, c), f).value;
        }
    }
    value
}

pub(super) const LOSSES: [(usize, AnyLoss); 6] = [
    (2, AnyLoss::Hinge),
    (4, AnyLoss::Hinge),
    (3, AnyLoss::SquaredHinge),
    (0, AnyLoss::EpsilonInsensitive { epsilon: 0.1 }),
    (0, AnyLoss::Quantile { quantile: 0.7 }),
    (2, AnyLoss::LogLoss),
];

pub(super) fn everyone(n: usize, cost: &[f64]) -> Vec<u32> {
    (0..n as u32).filter(|&i| cost[i as usize] > 0.0).collect()
}

#[test]
fn value_and_gradient_are_those_of_the_formula() -> Result<()> {
    for (classes, loss) in LOSSES {
        let case = case(150, 9, 3, classes);
        let refine = refine(loss);
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let mut objective = Objective::new(refine, &problem, &model)?;
        objective.choose(everyone(150, &case.cost), 1.0);
        let mut x = objective.variables(&model)?;
        let mut gradient = vec![0.0; x.len()];
        let mut watch = Watch::of_tests();
        let value = objective.evaluate(&x, &mut gradient, &mut watch).unwrap();
        let expected = naive(&case, classes, &refine, &x);
        assert!((value - expected).abs() < 1e-10 * expected, "{loss:?}: {value} {expected}");
        for k in 0..x.len() {
            let (step, here) = (1e-6, x[k]);
            x[k] = here + step;
            let above = naive(&case, classes, &refine, &x);
            x[k] = here - step;
            let below = naive(&case, classes, &refine, &x);
            x[k] = here;
            let slope = (above - below) / (2.0 * step);
            let scale = 1e-5 * (1.0 + gradient.iter().fold(0.0, |m: f64, g| m.max(g.abs())));
            assert!((gradient[k] - slope).abs() < scale, "{loss:?} {k}: {} {slope}", gradient[k]);
        }
    }
    Ok(())
}

/// Two outputs on the same points are two problems of one, each at its own quantile.
#[test]
fn outputs_have_levels_of_their_own() -> Result<()> {
    let levels = [0.2, 0.7];
    let (alone, mut both) = (case(150, 9, 3, 0), case(150, 9, 3, 0));
    both.outputs = 2;
    both.coef = (0..18).map(|k| f64::from(k * 7 % 5 - 2) * 0.4).collect();
    both.intercept = vec![0.1, -0.3];
    both.values = alone.values.iter().flat_map(|v| [*v, 0.5 - v]).collect();
    let targets = Targets::Columns { values: &both.values, n_outputs: 2, levels: &levels };
    let problem = Problem::new(Rows::Dense(both.x.view()), targets, &both.cost)?;
    let model = both.model();
    let mut objective =
        Objective::new(refine(AnyLoss::Quantile { quantile: 0.5 }), &problem, &model)?;
    objective.choose(everyone(150, &both.cost), 1.0);
    let x = objective.variables(&model)?;
    let mut gradient = vec![0.0; x.len()];
    let value = objective.evaluate(&x, &mut gradient, &mut Watch::of_tests()).unwrap();
    let (mut sum, mut slopes) = (0.0, vec![0.0; x.len()]);
    for (c, quantile) in levels.into_iter().enumerate() {
        let values: Vec<f64> = both.values.iter().skip(c).step_by(2).copied().collect();
        let targets = Targets::Values(&values);
        let problem = Problem::new(Rows::Dense(alone.x.view()), targets, &alone.cost)?;
        let coef: Vec<f64> = both.coef.iter().skip(c).step_by(2).copied().collect();
        let model = alone.model().with_coef(&coef, vec![both.intercept[c]])?;
        let refine = refine(AnyLoss::Quantile { quantile });
        let mut objective = Objective::new(refine, &problem, &model)?;
        objective.choose(everyone(150, &alone.cost), 1.0);
        let own = objective.variables(&model)?;
        let mut part = vec![0.0; own.len()];
        sum += objective.evaluate(&own, &mut part, &mut Watch::of_tests()).unwrap();
        for (at, slope) in part.into_iter().enumerate() {
            // Points, then coefficients, then the offset.
            slopes[if at < 27 { at } else { 27 + 2 * (at - 27) + c }] += slope;
        }
    }
    assert!((value - sum).abs() < 1e-10 * sum, "{value} {sum}");
    let most = slopes.iter().fold(0.0, |most: f64, slope| most.max(slope.abs()));
    let off = gradient.iter().zip(&slopes).any(|(a, b)| (a - b).abs() > 1e-10 * most);
    assert!(!off && most > 1.0, "{gradient:?} {slopes:?}");
    Ok(())
}

/// The scales are the Gauss-Newton second derivatives, term by term.
#[test]
fn scales_are_those_of_the_formula() -> Result<()> {
    for (classes, loss) in LOSSES {
        let case = case(90, 5, 3, classes);
        let refine = refine(loss);
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let mut objective = Objective::new(refine, &problem, &model)?;
        objective.choose(everyone(90, &case.cost), 1.0);
        let x = objective.variables(&model)?;
        let inverse = objective.step_1_inverse_curvature(&x, &mut Watch::of_tests()).unwrap();
        let smoothed = Smoothed { loss, h: refine.h };
        let mut f = vec![0.0; 90 * case.outputs];
        model.decision(&problem.rows(), &mut f)?;
        for j in 0..5 {
            let s = case.basis.row(j);
            let own: Vec<f64> =
                (0..case.outputs).map(|c| case.coef[j * case.outputs + c]).collect();
            let weight: f64 = own.iter().map(|b| b * b).sum();
            let (mut point, mut coef) = (2.0 * GAMMA * weight, vec![1.0; case.outputs]);
            for i in 0..90 {
                let square: f64 = case.x.row(i).iter().zip(s).map(|(a, b)| (a - b) * (a - b)).sum();
                let k = (-GAMMA * square).exp();
                for c in 0..case.outputs {
                    let y = problem.targets().value(i, c);
                    let bend = case.cost[i] * smoothed.majorant(y, f[i * case.outputs + c]);
                    coef[c] += bend * k * k;
                    point += 4.0 * GAMMA * GAMMA * bend * own[c] * own[c] * k * k * square / 3.0;
                }
            }
            assert!((inverse[j * 3] * point - 1.0).abs() < 1e-9, "{loss:?}");
            for c in 0..case.outputs {
                let scale = inverse[15 + j * case.outputs + c];
                assert!((scale * coef[c] - 1.0).abs() < 1e-9, "{loss:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn the_objective_falls_and_threads_change_no_bit() -> Result<()> {
    for (classes, loss) in LOSSES {
        let case = case(3000, 6, 3, classes);
        let refine = refine(loss);
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let start = naive(&case, classes, &refine, &{
            Objective::new(refine, &problem, &model)?.variables(&model)?
        });
        let run = |threads| {
            parallel::run(threads, |_| refine.solve(&problem, &model, &mut Watch::of_tests()))
        };
        let one = run(1)??;
        assert!(one.smoothed < 0.9 * start, "{loss:?}: {} of {start}", one.smoothed);
        let three = run(3)??;
        assert_eq!(one.model.shifted_centers()?, three.model.shifted_centers()?);
        assert_eq!(one.model.coef(), three.model.coef());
        let x = Objective::new(refine, &problem, &one.model)?.variables(&one.model)?;
        let again = naive(&case, classes, &refine, &x);
        assert!((one.smoothed - again).abs() < 1e-9 * again);
    }
    Ok(())
}

#[test]
fn samples_near_the_margin_are_those_of_the_formula() -> Result<()> {
    let mut counts = 0;
    for (classes, loss) in LOSSES {
        let mut case = case(300, 5, 3, classes);
        case.coef.iter_mut().for_each(|c| *c *= 6.0);
        let refine = refine(loss);
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let mut objective = Objective::new(refine, &problem, &model)?;
        let all = everyone(300, &case.cost);
        objective.choose(all.clone(), 1.0);
        let x = objective.variables(&model)?;
        let smoothed = Smoothed { loss, h: refine.h };
        let mut f = vec![0.0; 300 * case.outputs];
        model.decision(&problem.rows(), &mut f)?;
        let reaches = [0.4, 0.01];
        let (value, found) = objective.near(&x, &reaches, &mut Watch::of_tests()).unwrap();
        for (at, reach) in (0..).zip(reaches) {
            let near: Vec<u32> = found.iter().filter(|f| f.1 > at).map(|f| f.0).collect();
            let mut gradient = vec![0.0; x.len()];
            let all_of_it = objective.evaluate(&x, &mut gradient, &mut Watch::of_tests()).unwrap();
            assert_eq!(value, all_of_it, "{loss:?} {reach}");
            let slopes = |i: u32, c: usize, by: f64| {
                let at = f[i as usize * case.outputs + c] + by;
                smoothed.at(problem.targets().value(i as usize, c), at).slope != 0.0
            };
            let wanted = |&i: &u32| {
                let reached = |c| [0.0, -reach, reach].iter().any(|&by| slopes(i, c, by));
                (0..case.outputs).any(reached)
            };
            let naive: Vec<u32> = all.iter().copied().filter(wanted).collect();
            assert_eq!(near, naive, "{loss:?} {reach}");
            assert!(objective.has_zones() || near.len() == all.len(), "{loss:?} {reach}");
            counts += usize::from(near.len() < all.len());
        }
    }
    assert!(counts >= 2, "{counts}");
    Ok(())
}

#[test]
fn a_descent_near_the_margin_lowers_the_objective_of_all() -> Result<()> {
    let mut case = case(9000, 6, 3, 2);
    case.coef.iter_mut().for_each(|c| *c *= 30.0);
    let refine = refine(AnyLoss::Hinge);
    // The classes are those that the start tells apart, most of them by far.
    let mut f = vec![0.0; 9000];
    case.model().decision(&Rows::Dense(case.x.view()), &mut f)?;
    case.classes = f.iter().map(|&f| u32::from(f > 0.0)).collect();
    let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(2), &case.cost)?;
    let model = case.model();
    let mut objective = Objective::new(refine, &problem, &model)?;
    let x = objective.variables(&model)?;
    objective.choose(everyone(9000, &case.cost), 1.0);
    assert!(look(&mut objective, &x, OF_FEW.reaches, &mut Watch::of_tests()).unwrap().1.is_some());
    let start = naive(&case, 2, &refine, &x);
    let found = refine.solve(&problem, &model, &mut Watch::of_tests())?;
    let x = objective.variables(&found.model)?;
    let again = naive(&case, 2, &refine, &x);
    assert!((found.smoothed - again).abs() < 1e-9 * again);
    assert!(again < 0.9 * start, "{again} of {start}");
    Ok(())
}

/// The few that are near have one class, and all that they want crosses others, which were not near.
#[test]
fn a_descent_that_crosses_samples_beyond_goes_on_with_them() -> Result<()> {
    let (n, mut rng) = (9000, Rng::new(4));
    let mut case = case(n, 6, 2, 2);
    // In hundreds: 8 beside 24 of the other class, and 68 far away.
    let part = |i: usize| i * 100 / n;
    case.x = Array2::from_shape_fn((n, 1), |(i, _)| match part(i) {
        0..8 => rng.uniform(),
        8..32 => -rng.uniform(),
        _ => 12.0 + rng.uniform(),
    });
    case.classes = (0..n).map(|i| u32::from(part(i) < 8)).collect();
    case.cost = (0..n).map(|i| if part(i) < 8 { 1.0 } else { 3.0 }).collect();
    // An offset that stays holds the last ones where they are.
    case.basis = Array2::from_shape_vec((6, 1), vec![-1.2, -0.7, -0.3, 0.1, 0.4, 0.8]).unwrap();
    (case.coef, case.intercept) = (vec![0.1; 6], vec![-3.0]);
    let refine = Refine { fit_intercept: false, ..refine(AnyLoss::Hinge) };
    let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(2), &case.cost)?;
    let model = case.model();
    let mut objective = Objective::new(refine, &problem, &model)?;
    let x = objective.variables(&model)?;
    objective.choose(everyone(n, &case.cost), 1.0);
    let watch = &mut Watch::of_tests();
    let (start, near) = look(&mut objective, &x, OF_FEW.reaches, watch).unwrap();
    let near = near.unwrap();
    assert!(near.iter().all(|&i| part(i as usize) < 8), "{}", near.len());
    // Where these alone lead the objective of all is higher.
    objective.choose(near, 1.0);
    let mut alone = x.clone();
    refine.descend(&mut objective, &mut alone, 30, watch).unwrap();
    objective.choose(everyone(n, &case.cost), 1.0);
    let led = look(&mut objective, &alone, OF_FEW.reaches, watch).unwrap().0;
    assert!(led > start, "{led} {start}");
    let found = refine.solve(&problem, &model, watch)?.smoothed;
    // As far as a descent by all of them comes, by scales alone.
    let (mut whole, memory) = (x.clone(), 60);
    let inverse = objective.step_1_inverse_curvature(&x, watch).unwrap();
    let search = Lbfgs { memory, max_evaluations: 200, tol: 1e-6, unit: 1.0 };
    let mut evaluate = |x: &[f64], gradient: &mut [f64]| objective.evaluate(x, gradient, watch);
    let whole = search.minimise(&mut whole, &inverse, &mut evaluate).unwrap().value;
    assert!(found < 0.2 * start && found < 1.01 * whole, "{found} {whole} {start}");
    Ok(())
}

#[test]
fn single_precision_goes_the_same_way() -> Result<()> {
    let case = case(3000, 6, 3, 2);
    let refine = refine(AnyLoss::Hinge);
    let single = case.x.mapv(|v| v as f32);
    let problem = Problem::new(Rows::Dense(single.view()), case.targets(2), &case.cost)?;
    let wide = Problem::new(Rows::Dense(case.x.view()), case.targets(2), &case.cost)?;
    // From a start as polishing leaves one: points stay where their scales are zero.
    let mut objective = Objective::new(refine, &wide, &case.model())?;
    objective.choose(everyone(3000, &case.cost), 1.0);
    let (mut x, watch) = (objective.variables(&case.model())?, &mut Watch::of_tests());
    let mut inverse = objective.step_1_inverse_curvature(&x, watch).unwrap();
    inverse[..6 * 3].fill(0.0);
    let search = Lbfgs { memory: 20, max_evaluations: 200, tol: 1e-9, unit: 1.0 };
    let mut evaluate = |x: &[f64], gradient: &mut [f64]| objective.evaluate(x, gradient, watch);
    let before = search.minimise(&mut x, &inverse, &mut evaluate).unwrap().value;
    let start = objective.model(&x)?;
    let centers: Vec<f32> = start.shifted_centers()?.iter().map(|&v| v as f32).collect();
    let origin: Vec<f32> = start.origin().iter().map(|&v| v as f32).collect();
    let intercept = start.intercept().to_vec();
    let model =
        KernelModel::from_parts(start.kernel(), origin, (centers, 3), &start.coef(), intercept)?;
    let found = refine.solve(&problem, &model, &mut Watch::of_tests())?;
    let exact = refine.solve(&wide, &start, &mut Watch::of_tests())?;
    assert!(exact.smoothed < 0.9 * before);
    assert!(
        (found.smoothed / exact.smoothed - 1.0).abs() < 0.03,
        "{} {}",
        found.smoothed,
        exact.smoothed
    );
    Ok(())
}

#[test]
fn a_wish_to_stop_is_heard_and_other_kernels_are_refused() -> Result<()> {
    let case = case(3000, 6, 3, 2);
    let refine = refine(AnyLoss::Hinge);
    let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(2), &case.cost)?;
    let mut calls = 0;
    let mut later = |_: &Progress| {
        calls += 1;
        if calls > 40 { ControlFlow::Break(Cancel::Keep) } else { ControlFlow::Continue(()) }
    };
    let mut watch = Watch::new(&mut later, Pool::of_tests());
    let stopped = refine.solve(&problem, &case.model(), &mut watch)?;
    assert_eq!(stopped.stop, StopReason::Callback);
    assert!(stopped.model.shifted_centers()?.iter().all(|v| v.is_finite()));
    let mut interrupt = |_: &Progress| ControlFlow::Break(Cancel::Discard);
    let mut watch = Watch::new(&mut interrupt, Pool::of_tests());
    let interrupted = refine.solve(&problem, &case.model(), &mut watch);
    assert!(matches!(interrupted, Err(Error::Interrupted)));
    let refused = refine.check(AnyKernel::Laplacian { gamma: 1.0 });
    assert!(refused.is_err_and(|e| e.to_string().contains("kernel='rbf'")));
    Ok(())
}
