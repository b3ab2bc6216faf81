//! Products with the curvature against a naive twin, and what the first pairs are good for.

use super::objective::Objective;
use super::start::first_pairs;
use super::tests::{Case, GAMMA, LOSSES, case, everyone, refine};
use super::*;
use crate::data::Rows;
use crate::linalg::dot;
use crate::loss::{AnyLoss, Smoothed};

/// Decision values by the formula of the module page, a row of outputs a sample.
fn decisions(case: &Case, x: &[f64]) -> Vec<f64> {
    let (terms, d, m) = (case.basis.nrows(), case.x.ncols(), case.outputs);
    let origin = case.x.row(0);
    let mut f = Vec::new();
    for row in case.x.rows() {
        let row: Vec<f64> = row.iter().zip(&origin).map(|(v, o)| v - o).collect();
        let kernel = |j: usize| {
            let point = &x[j * d..(j + 1) * d];
            (-GAMMA * row.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
        };
        f.extend((0..m).map(|c| {
            let sum: f64 = (0..terms).map(|j| x[terms * d + j * m + c] * kernel(j)).sum();
            sum + x[terms * (d + m) + c]
        }));
    }
    f
}

#[test]
fn products_with_the_curvature_are_those_of_the_formula() -> Result<()> {
    let (n, terms, d, factor) = (150, 9, 3, 1.5);
    for (classes, loss) in LOSSES {
        let case = case(n, terms, d, classes);
        let (m, refine) = (case.outputs, refine(loss));
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let mut objective = Objective::new(refine, &problem, &model)?;
        let all = everyone(n, &case.cost);
        let x = objective.variables(&model)?;
        let curve = objective.curve(&x, &all, factor, &mut Watch::of_tests()).unwrap();
        let smoothed = Smoothed { loss, h: refine.h };
        let f = decisions(&case, &x);
        // By any two moves: what both move decision values by, and the penalty.
        let mut rng = Rng::new(3);
        let mut random = || -> Vec<f64> { x.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect() };
        let (u, v) = (random(), random());
        let moved = |by: &[f64]| -> Vec<f64> {
            let at = |step: f64| -> Vec<f64> {
                decisions(&case, &x.iter().zip(by).map(|(x, b)| x + step * b).collect::<Vec<_>>())
            };
            let step = 1e-5;
            at(step).iter().zip(at(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect()
        };
        let (of_u, of_v) = (moved(&u), moved(&v));
        let mut expected = 0.0;
        for i in 0..n {
            for c in 0..m {
                let bend = smoothed.majorant(problem.targets().value(i, c), f[i * m + c]);
                expected += factor * case.cost[i] * bend * of_u[i * m + c] * of_v[i * m + c];
            }
        }
        for j in 0..terms {
            let point = |x: &[f64], j: usize| x[j * d..(j + 1) * d].to_vec();
            let own: f64 = case.coef[j * m..][..m].iter().map(|b| b * b).sum();
            let pair: f64 = point(&u, j).iter().zip(point(&v, j)).map(|(a, b)| a * b).sum();
            expected += 2.0 * GAMMA * own * pair;
            for l in 0..terms {
                let square: f64 =
                    point(&x, j).iter().zip(point(&x, l)).map(|(a, b)| (a - b) * (a - b)).sum();
                let at = |j: usize, c: usize| terms * d + j * m + c;
                let pair: f64 = (0..m).map(|c| u[at(j, c)] * v[at(l, c)]).sum();
                expected += (-GAMMA * square).exp() * pair;
            }
        }
        let mut product = vec![0.0; x.len()];
        curve.times(&v, &mut product, &mut Watch::of_tests()).unwrap();
        let found = dot(&u, &product);
        assert!(
            (found - expected).abs() < 1e-6 * expected.abs().max(1.0),
            "{loss:?}: {found} {expected}"
        );
        // Offsets that are no variables stay.
        let refine = Refine { fit_intercept: false, ..refine };
        let mut objective = Objective::new(refine, &problem, &model)?;
        let fewer = objective.variables(&model)?;
        let curve = objective.curve(&fewer, &all, factor, &mut Watch::of_tests()).unwrap();
        let (mut with, mut without) = (v[..fewer.len()].to_vec(), vec![0.0; fewer.len()]);
        curve.times(&with, &mut without, &mut Watch::of_tests()).unwrap();
        with.resize(x.len(), 0.0);
        let fitted = Refine { fit_intercept: true, ..refine };
        let mut objective = Objective::new(fitted, &problem, &model)?;
        let curve = objective.curve(&x, &all, factor, &mut Watch::of_tests()).unwrap();
        curve.times(&with, &mut product, &mut Watch::of_tests()).unwrap();
        assert_eq!(product[..fewer.len()], without);
    }
    Ok(())
}

/// The same number by number, of more samples and variables than one task takes.
#[test]
fn products_of_several_parts_are_those_of_the_formula() -> Result<()> {
    let (n, terms, d, factor) = (3100, 70, 240, 0.5);
    let case = case(n, terms, d, 4);
    let (m, refine) = (case.outputs, refine(AnyLoss::LogLoss));
    let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(4), &case.cost)?;
    let model = case.model();
    let mut objective = Objective::new(refine, &problem, &model)?;
    let all = everyone(n, &case.cost);
    let mut x = objective.variables(&model)?;
    // Kernel values of 240 features are next to nothing, but where points are near samples.
    let shifted = |i: usize, k: usize| case.x[(i, k)] - case.x[(0, k)];
    for j in 0..terms {
        (0..d).for_each(|k| x[j * d + k] = 0.97 * shifted(7 * j + 1, k) + 0.01 * (k % 3) as f64);
    }
    let f = decisions(&case, &x);
    let smoothed = Smoothed { loss: refine.loss, h: refine.h };
    let mut rng = Rng::new(5);
    let v: Vec<f64> = x.iter().map(|_| 2.0 * rng.uniform() - 1.0).collect();
    let (point, beta) = (|j: usize| &x[j * d..][..d], |j: usize| &x[terms * d + j * m..][..m]);
    let kernel = |a: &[f64], b: &[f64]| {
        (-GAMMA * a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
    };
    let mut expected = vec![0.0; x.len()];
    for &i in &all {
        let i = i as usize;
        let row: Vec<f64> = (0..d).map(|k| shifted(i, k)).collect();
        let values: Vec<f64> = (0..terms).map(|j| kernel(&row, point(j))).collect();
        let slope = |c: usize| {
            let moved = |j: usize| {
                let along: f64 = (0..d).map(|k| (row[k] - point(j)[k]) * v[j * d + k]).sum::<f64>();
                values[j] * (v[terms * d + j * m + c] + 2.0 * GAMMA * beta(j)[c] * along)
            };
            let df = (0..terms).map(moved).sum::<f64>() + v[terms * (d + m) + c];
            let bend = smoothed.majorant(problem.targets().value(i, c), f[i * m + c]);
            factor * case.cost[i] * bend * df
        };
        let slopes: Vec<f64> = (0..m).map(slope).collect();
        for j in 0..terms {
            let pull: f64 = slopes.iter().zip(beta(j)).map(|(r, b)| r * b).sum();
            for k in 0..d {
                let away = row[k] - point(j)[k];
                expected[j * d + k] += 2.0 * GAMMA * values[j] * pull * away;
            }
            for c in 0..m {
                expected[terms * d + j * m + c] += values[j] * slopes[c];
            }
        }
        (0..m).for_each(|c| expected[terms * (d + m) + c] += slopes[c]);
    }
    for j in 0..terms {
        let square: f64 = beta(j).iter().map(|b| b * b).sum();
        (0..d).for_each(|k| expected[j * d + k] += 2.0 * GAMMA * square * v[j * d + k]);
        for l in 0..terms {
            let value = kernel(point(j), point(l));
            for c in 0..m {
                expected[terms * d + j * m + c] += value * v[terms * d + l * m + c];
            }
        }
    }
    let watch = &mut Watch::of_tests();
    let curve = objective.curve(&x, &all, factor, watch).unwrap();
    let mut product = vec![0.0; x.len()];
    curve.times(&v, &mut product, watch).unwrap();
    let scale = expected.iter().fold(0.0, |most: f64, e| most.max(e.abs()));
    for (at, (found, wanted)) in product.iter().zip(&expected).enumerate() {
        assert!((found - wanted).abs() < 1e-9 * scale, "{at}: {found} {wanted}");
    }
    Ok(())
}

/// Of a quadratic function conjugate gradients come to its end in as many steps as it has eigenvalues, and
/// by their pairs L-BFGS comes there in one.
#[test]
fn the_first_pairs_are_of_the_curvature() -> Result<()> {
    for (classes, loss) in LOSSES {
        // Up to 16 variables: 20 directions are all of them.
        let (n, terms, d) = (400, 2, 2);
        let case = case(n, terms, d, classes);
        let refine = refine(loss);
        let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(classes), &case.cost)?;
        let model = case.model();
        let mut objective = Objective::new(refine, &problem, &model)?;
        let watch = &mut Watch::of_tests();
        objective.choose(everyone(n, &case.cost), 1.0);
        let x = objective.variables(&model)?;
        let inverse = objective.step_1_inverse_curvature(&x, watch).unwrap();
        let mut gradient = vec![0.0; x.len()];
        objective.evaluate(&x, &mut gradient, watch).unwrap();
        let at = (&*x, &*gradient, &*inverse);
        let pairs = first_pairs(&mut objective, at, (60, 0), watch).unwrap();
        let active = objective.active().to_vec();
        assert!(active.len() > 20, "{}", active.len());
        // (H + λ D) step = -g, and every sample with a slope is in H.
        let mut step: Vec<f64> = gradient.iter().map(|g| -g).collect();
        pairs.times_inverse(&mut step, |v| v.fill(0.0));
        let curve = objective.curve(&x, &active, 1.0, watch).unwrap();
        let mut product = vec![0.0; x.len()];
        curve.times(&step, &mut product, watch).unwrap();
        for ((p, &v), &i) in product.iter_mut().zip(&step).zip(&inverse) {
            *p += 0.1 * v / i;
        }
        product.iter_mut().zip(&gradient).for_each(|(p, g)| *p += g);
        let (left, all) = (dot(&product, &product).sqrt(), dot(&gradient, &gradient).sqrt());
        assert!(left < 1e-3 * all, "{loss:?} {classes}: {left} of {all}");
    }
    Ok(())
}

/// Where a descent has come to a valley its first pairs lead on: further than as many evaluations without.
#[test]
fn few_evaluations_find_the_steep_directions() -> Result<()> {
    let case = case(3000, 40, 3, 2);
    let refine = refine(AnyLoss::SquaredHinge);
    let problem = Problem::new(Rows::Dense(case.x.view()), case.targets(2), &case.cost)?;
    let mut objective = Objective::new(refine, &problem, &case.model())?;
    let watch = &mut Watch::of_tests();
    objective.choose(everyone(3000, &case.cost), 1.0);
    let mut start = objective.variables(&case.model())?;
    let mut descend = |objective: &mut Objective<'_, '_, f64>, x: &mut [f64], with, evaluations| {
        let inverse = objective.step_1_inverse_curvature(x, watch).unwrap();
        let mut gradient = vec![0.0; x.len()];
        objective.evaluate(x, &mut gradient, watch).unwrap();
        let at = (&*x, &*gradient, &*inverse);
        let first = first_pairs(objective, at, (60, 0), watch).unwrap();
        let mut pairs = if with { first } else { Pairs::new(60) };
        let search = Lbfgs { memory: 60, max_evaluations: evaluations, tol: 0.0, unit: 1.0 };
        let mut evaluate = |x: &[f64], gradient: &mut [f64]| objective.evaluate(x, gradient, watch);
        search.minimise_from(x, (&inverse, &mut pairs), &mut evaluate).unwrap().value
    };
    let before = descend(&mut objective, &mut start, false, 30);
    let mut after =
        |with, evaluations| descend(&mut objective, &mut start.clone(), with, evaluations);
    let (without, with) = (after(false, 10), after(true, 10));
    assert!(before - with > 2.0 * (before - without), "{before} {without} {with}");
    Ok(())
}
