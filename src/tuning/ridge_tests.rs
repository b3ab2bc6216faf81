//! Ridge regression where little holds it, and rows left out in turn.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::grid::{Grid, Shape};
use super::reduced::Sought;
use super::ridge;
use super::tests::{SHAPES, centred, plain_kernel, random, solve, weights};
use crate::rng::Rng;
use crate::watch::Watch;

/// A kernel that is nearly constant and hardly any ridge: coefficients are large, and what single
/// precision says of the residual is not so.
#[test]
fn ridge_regression_is_solved_where_little_holds_it() {
    let n = 200;
    let mut rng = Rng::new(17);
    let x = random(&mut rng, n, 2).scaled(&[0.1, 0.1]).unwrap();
    let c = vec![1.0; n];
    let values = centred(&x, &c);
    let noisy: Vec<f32> = values.values.iter().map(|v| v + rng.normal() as f32).collect();
    let values = Grid { values: noisy, ..values };
    let lambda = 2e-7;
    let watch = &mut Watch::of_tests();
    let k = ridge::kernel(Shape::Gaussian, &x, watch).unwrap();
    let sought = Sought { values: &values, weights: &c, landmarks: n };
    let found = ridge::on_all(&k, &sought, lambda, watch).unwrap().coef;
    let mut matrix: Vec<f64> = k.values.iter().map(|&v| f64::from(v)).collect();
    (0..n).for_each(|i| matrix[i * n + i] += n as f64 * lambda);
    let y: Vec<f64> = (0..n).map(|i| f64::from(values.values[2 * i])).collect();
    let twin = solve(&matrix, n, &y);
    for i in 0..n {
        let value = |a: &dyn Fn(usize) -> f64| -> f64 {
            (0..n).map(|j| f64::from(k.row(i)[j]) * a(j)).sum()
        };
        let (found, exact) = (value(&|j| found[2 * j]), value(&|j| twin[j]));
        assert!((found - exact).abs() < 5e-3, "{i}: {found} {exact}");
    }
}

/// What is said of a row that is left out is what the machine without it says, where weights differ.
#[test]
fn rows_left_out_in_turn_are_those_of_machines_without_them() {
    let (n, lambda) = (30, 1e-3);
    for shape in SHAPES {
        let mut rng = Rng::new(29);
        let x = random(&mut rng, n, 2);
        let c = weights(&mut rng, n);
        let values = centred(&x, &c);
        let watch = &mut Watch::of_tests();
        let k = ridge::kernel(shape, &x, watch).unwrap();
        let sought = Sought { values: &values, weights: &c, landmarks: n };
        let found = ridge::left_out(&k, &sought, lambda, watch).unwrap();
        let plain = plain_kernel(shape, &x, &x);
        for i in 0..n {
            let others: Vec<usize> = (0..n).filter(|j| *j != i).collect();
            let mut matrix = Vec::new();
            for &a in &others {
                for &b in &others {
                    let ridge = if a == b { n as f64 * lambda / c[a] } else { 0.0 };
                    matrix.push(plain[a][b] + ridge);
                }
            }
            for output in 0..2 {
                let y = |j: usize| f64::from(values.row(j)[output]);
                let right: Vec<f64> = others.iter().map(|&j| y(j)).collect();
                let coef = solve(&matrix, n - 1, &right);
                let twin: f64 = others.iter().zip(&coef).map(|(&j, a)| plain[i][j] * a).sum();
                let found = f64::from(found.row(i)[output]);
                assert!((found - twin).abs() < 1e-4, "{shape:?} {i}: {found} {twin}");
            }
        }
    }
}

/// A matrix of condition 1e7, of more rows than are factored at once: conjugate gradients do not
/// reach its solution, and what is returned is the solution all the same.
#[test]
fn what_conjugate_gradients_do_not_solve_is_factored() {
    let (n, lambda) = (1100, 1e-7);
    let mut rng = Rng::new(31);
    let x = random(&mut rng, n, 2);
    let c = vec![1.0; n];
    let values = centred(&x, &c);
    let watch = &mut Watch::of_tests();
    let sought = Sought { values: &values, weights: &c, landmarks: n };
    let k = ridge::kernel(Shape::Gaussian, &x, watch).unwrap();
    let solution = ridge::on_all(&k, &sought, lambda, watch).unwrap();
    assert!(solution.converged);
    let ridge = n as f64 * lambda;
    let (mut missed, mut whole) = (0.0, 0.0);
    for i in 0..n {
        let own: f64 = (0..n).map(|j| f64::from(k.row(i)[j]) * solution.coef[2 * j]).sum();
        let y = f64::from(values.values[2 * i]);
        missed += (own + ridge * solution.coef[2 * i] - y).powi(2);
        whole += y * y;
    }
    assert!(missed.sqrt() < 1e-3 * whole.sqrt(), "{}", (missed / whole).sqrt());
}
