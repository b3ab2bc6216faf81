//! Twins, finite differences and certificates.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use super::aim::Aim;
use super::climb::{Tuned, climb};
use super::descend::Descent;
use super::distances::{distances, kernel_values};
use super::grid::{Grid, Shape};
use super::moved::{by_landmarks, moved, solved_few, values_of};
use super::outer::mean_squares;
use super::reduced::{Reduced, Sought, lambdas};
use super::ridge;
use super::sketch::{OUTPUTS, sketched};
use crate::linalg::Cholesky;
use crate::rng::Rng;
use crate::watch::{Halt, Watch};

pub(super) const SHAPES: [Shape; 2] = [Shape::Gaussian, Shape::Laplacian];

pub(super) fn random(rng: &mut Rng, rows: usize, columns: usize) -> Grid {
    let values = (0..rows * columns).map(|_| rng.normal() as f32).collect();
    Grid { values, columns }
}

/// Values of two outputs, centred by their weighted means.
pub(super) fn centred(x: &Grid, weights: &[f64]) -> Grid {
    let mut values = Grid::zeros("y", x.rows(), 2).unwrap();
    for i in 0..x.rows() {
        let row = x.row(i);
        values.values[2 * i] = (row[0] * 1.5).sin() + 0.3 * row[1];
        values.values[2 * i + 1] = row[0] * row[1];
    }
    let total: f64 = weights.iter().sum();
    for c in 0..2 {
        let mean: f64 =
            (0..x.rows()).map(|i| weights[i] / total * f64::from(values.values[2 * i + c])).sum();
        (0..x.rows()).for_each(|i| values.values[2 * i + c] -= mean as f32);
    }
    values
}

pub(super) fn weights(rng: &mut Rng, n: usize) -> Vec<f64> {
    let raw: Vec<f64> = (0..n).map(|_| 0.2 + rng.uniform()).collect();
    let mean = raw.iter().sum::<f64>() / n as f64;
    raw.iter().map(|w| w / mean).collect()
}

fn plain_distance(shape: Shape, x: &[f32], z: &[f32]) -> f64 {
    let pairs = x.iter().zip(z).map(|(a, b)| f64::from(a - b));
    match shape {
        Shape::Gaussian => pairs.map(|v| v * v).sum(),
        Shape::Laplacian => pairs.map(f64::abs).sum(),
    }
}

pub(super) fn plain_kernel(shape: Shape, a: &Grid, b: &Grid) -> Vec<Vec<f64>> {
    (0..a.rows())
        .map(|i| {
            (0..b.rows()).map(|j| (-plain_distance(shape, a.row(i), b.row(j))).exp()).collect()
        })
        .collect()
}

pub(super) fn solve(matrix: &[f64], m: usize, right: &[f64]) -> Vec<f64> {
    let factor =
        Cholesky::factor::<Halt>("twin", matrix, m, 0.0, &mut || Ok(())).expect("definite");
    let mut x = right.to_vec();
    factor.solve(&mut x);
    x
}

/// `(KᵀCK/n + λ K_mm) a = KᵀC y/n` of some rows, plainly.
fn plain_fit(
    (k, k_mm): (&[Vec<f64>], &[Vec<f64>]),
    (y, c): (&[f64], &[f64]),
    (lambda, n): (f64, f64),
) -> Vec<f64> {
    let m = k_mm.len();
    let (mut matrix, mut right) = (vec![0.0; m * m], vec![0.0; m]);
    for ((row, y), c) in k.iter().zip(y).zip(c) {
        for p in 0..m {
            right[p] += c * row[p] * y / n;
            (0..m).for_each(|q| matrix[p * m + q] += c * row[p] * row[q] / n);
        }
    }
    for p in 0..m {
        (0..m).for_each(|q| matrix[p * m + q] += lambda * k_mm[p][q]);
    }
    solve(&matrix, m, &right)
}

#[test]
fn leaving_a_row_out_is_leaving_it_out() {
    let (n, m) = (60, 12);
    for shape in SHAPES {
        let mut rng = Rng::new(3);
        let x = random(&mut rng, n, 3);
        let c = weights(&mut rng, n);
        let values = centred(&x, &c);
        let z = x.range(0, m).unwrap();
        let watch = &mut Watch::of_tests();
        let k = kernel_values(&distances(shape, &x, &z, watch).unwrap(), 1.0).unwrap();
        let k_mm = kernel_values(&distances(shape, &z, &z, watch).unwrap(), 1.0).unwrap();
        let sought = Sought { values: &values, weights: &c, landmarks: m };
        let found = Reduced::fit(&k, &k_mm, &sought, watch).unwrap();
        let (plain, plain_mm) = (plain_kernel(shape, &x, &z), plain_kernel(shape, &z, &z));
        let mut best = (f64::INFINITY, 0.0);
        for lambda in lambdas() {
            let (mut missed, mut whole) = (0.0, 0.0);
            for out in m..n {
                let kept: Vec<usize> = (0..n).filter(|&i| i != out).collect();
                for o in 0..2 {
                    let y = |i: usize| f64::from(values.values[2 * i + o]);
                    let rows: Vec<Vec<f64>> = kept.iter().map(|&i| plain[i].clone()).collect();
                    let targets: Vec<f64> = kept.iter().map(|&i| y(i)).collect();
                    let costs: Vec<f64> = kept.iter().map(|&i| c[i]).collect();
                    let a = plain_fit((&rows, &plain_mm), (&targets, &costs), (lambda, n as f64));
                    let f: f64 = plain[out].iter().zip(&a).map(|(k, a)| k * a).sum();
                    missed += c[out] * (y(out) - f).powi(2);
                    whole += c[out] * y(out).powi(2);
                }
            }
            if missed / whole < best.0 {
                best = (missed / whole, lambda);
            }
        }
        // The criterion adds what the mean takes of each row, at most (1 + c/n)² or so.
        assert!((found.error / best.0 - 1.0).abs() < 0.12, "{shape:?} {} {best:?}", found.error);
        let ratio = found.lambda / best.1;
        assert!((0.17..6.0).contains(&ratio), "{shape:?} {} {best:?}", found.lambda);
        // The coefficients are those of this λ.
        let y: Vec<f64> = (0..n).map(|i| f64::from(values.values[2 * i])).collect();
        let a = plain_fit((&plain, &plain_mm), (&y, &c), (found.lambda, n as f64));
        for row in &plain {
            let own: f64 =
                row.iter().enumerate().map(|(j, k)| k * f64::from(found.coef.row(j)[0])).sum();
            let twin: f64 = row.iter().zip(&a).map(|(k, a)| k * a).sum();
            assert!((own - twin).abs() < 5e-3, "{shape:?}: {own} {twin}");
        }
    }
}

#[test]
fn mean_squares_are_those_of_differences() {
    let (n, m, d) = (80, 10, 3);
    for shape in SHAPES {
        let mut rng = Rng::new(5);
        let x = random(&mut rng, n, d);
        let tuned = Tuned {
            error: 0.0,
            lambda: 0.1,
            scales: vec![0.7, 0.4, 0.9],
            coef: random(&mut rng, m, 2),
            width: 1.0,
        };
        let watch = &mut Watch::of_tests();
        let found = mean_squares(shape, &x, m, &tuned, watch).unwrap();
        let f = |row: &[f64], c: usize| -> f64 {
            (0..m)
                .map(|j| {
                    let pairs = row.iter().zip(x.row(j)).zip(&tuned.scales);
                    let apart = pairs.map(|((x, z), w)| w * (x - f64::from(*z)));
                    let distance: f64 = match shape {
                        Shape::Gaussian => apart.map(|v| v * v).sum(),
                        Shape::Laplacian => apart.map(f64::abs).sum(),
                    };
                    f64::from(tuned.coef.row(j)[c]) * (-distance).exp()
                })
                .sum()
        };
        for k in 0..d {
            let mut mean = 0.0;
            for i in 0..n {
                let row: Vec<f64> = x.row(i).iter().map(|&v| f64::from(v)).collect();
                for c in 0..2 {
                    let (mut up, mut down) = (row.clone(), row.clone());
                    (up[k], down[k]) = (row[k] + 1e-4, row[k] - 1e-4);
                    mean += ((f(&up, c) - f(&down, c)) / 2e-4).powi(2) / n as f64;
                }
            }
            assert!((found[k] / mean - 1.0).abs() < 2e-3, "{shape:?} {k}: {} {mean}", found[k]);
        }
    }
}

#[test]
fn the_gradient_of_the_two_fold_error_is_that_of_differences() {
    let (n, m, d) = (120, 15, 3);
    for shape in SHAPES {
        let mut rng = Rng::new(7);
        let x = random(&mut rng, n, d);
        let c = weights(&mut rng, n);
        let values = centred(&x, &c);
        let sought = Sought { values: &values, weights: &c, landmarks: m };
        let scales = [0.8, 0.5, 0.3];
        let problem = Descent::new(shape, &x, &sought, (&scales, 1)).unwrap();
        let watch = &mut Watch::of_tests();
        let point = [0.3, -0.2, 0.1, 0.05f64.ln()];
        let mut gradient = [0.0; 4];
        problem.evaluate(&point, &mut gradient, watch).unwrap();
        for k in 0..4 {
            let mut at = |by: f64| {
                let mut other = point;
                other[k] += by;
                problem.evaluate(&other, &mut [0.0; 4], watch).unwrap()
            };
            let slope = (at(1e-2) - at(-1e-2)) / 2e-2;
            let near = (slope - gradient[k]).abs() < 1e-3 + 2e-2 * slope.abs();
            assert!(near, "{shape:?} {k}: {slope} {}", gradient[k]);
        }
        assert!(gradient.iter().any(|g| g.abs() > 1e-2), "{gradient:?}");
    }
}

#[test]
fn ridge_regression_on_all_rows_and_on_landmarks_is_solved() {
    let (n, m) = (200, 60);
    for shape in SHAPES {
        let mut rng = Rng::new(11);
        let x = random(&mut rng, n, 2);
        let c = weights(&mut rng, n);
        let values = centred(&x, &c);
        let lambda = 1e-3;
        let watch = &mut Watch::of_tests();
        let plain = plain_kernel(shape, &x, &x);
        let sought = Sought { values: &values, weights: &c, landmarks: n };
        let k = ridge::kernel(shape, &x, watch).unwrap();
        let all = ridge::on_all(&k, &sought, lambda, watch).unwrap().coef;
        // Of many columns by a factor: those of the first are the same.
        let often = values.values.chunks_exact(2).flat_map(|row| row.repeat(3)).collect();
        let often = Grid { values: often, columns: 6 };
        let many =
            ridge::on_all(&k, &Sought { values: &often, ..sought }, lambda, watch).unwrap().coef;
        let mut matrix: Vec<f64> = plain.concat();
        (0..n).for_each(|i| matrix[i * n + i] += n as f64 * lambda / c[i]);
        let y: Vec<f64> = (0..n).map(|i| f64::from(values.values[2 * i])).collect();
        let twin = solve(&matrix, n, &y);
        let z = x.range(0, m).unwrap();
        let sought = Sought { landmarks: m, ..sought };
        let few = ridge::on_landmarks(shape, (&x, &z), &sought, lambda, watch).unwrap().coef;
        let (across, mut own) = (plain_kernel(shape, &x, &z), plain_kernel(shape, &z, &z));
        // With the jitter, which is part of the ridge.
        (0..m).for_each(|j| own[j][j] += 2.0 * ridge::JITTER);
        let twin_few = plain_fit((&across, &own), (&y, &c), (lambda, n as f64));
        let value = |k: &[f64], a: &dyn Fn(usize) -> f64| -> f64 {
            k.iter().enumerate().map(|(j, k)| k * a(j)).sum()
        };
        for i in 0..n {
            let found = value(&plain[i], &|j| all[2 * j]);
            let exact = value(&plain[i], &|j| twin[j]);
            assert!((found - exact).abs() < 5e-3, "{shape:?} all {i}: {found} {exact}");
            let found = value(&plain[i], &|j| many[6 * j + 4]);
            assert!((found - exact).abs() < 5e-6, "{shape:?} factor {i}: {found} {exact}");
            let found = value(&across[i], &|j| few[2 * j]);
            let exact = value(&across[i], &|j| twin_few[j]);
            assert!((found - exact).abs() < 5e-3, "{shape:?} few {i}: {found} {exact}");
        }
    }
}

/// A feature among twenty decides: its scale comes out on top, and the error falls.
#[test]
fn the_feature_that_matters_is_found() {
    for shape in SHAPES {
        let mut rng = Rng::new(13);
        let (n, d) = (900, 20);
        let x = random(&mut rng, n, d);
        let mut values = Grid::zeros("y", n, 1).unwrap();
        (0..n).for_each(|i| values.values[i] = (2.0 * x.row(i)[4]).sin());
        let sought = Sought { values: &values, weights: &vec![1.0; n], landmarks: 150 };
        let watch = &mut Watch::of_tests();
        let plain = climb(shape, &x, &sought, (&vec![1.0; d], 1.0), watch).unwrap();
        let found = super::outer::outer(shape, &x, (&sought, 0.5), &plain, watch).unwrap();
        assert!(found.error < 0.3 * plain.error, "{shape:?} {} {}", found.error, plain.error);
        let most = found.scales.iter().fold(0.0f64, |a, &b| a.max(b));
        assert!(found.scales[4] == most, "{shape:?} {:?}", found.scales);
    }
}

#[test]
fn landmarks_are_pulled_as_differences_say() {
    for shape in SHAPES {
        let mut rng = Rng::new(19);
        let (x, z) = (random(&mut rng, 40, 3), random(&mut rng, 5, 3));
        let weights = random(&mut rng, 40, 5);
        let mut pulls = weights.clone();
        let k = plain_kernel(shape, &x, &z);
        for (row, k) in pulls.values.chunks_exact_mut(5).zip(&k) {
            row.iter_mut().zip(k).for_each(|(w, k)| *w *= *k as f32);
        }
        let slopes = by_landmarks(shape, (&x, &z), &pulls).unwrap();
        for at in 0..15 {
            let value = |by: f32| -> f64 {
                let mut z = z.clone();
                z.values[at] += by;
                let k = plain_kernel(shape, &x, &z).concat();
                k.iter().zip(&weights.values).map(|(k, w)| k * f64::from(*w)).sum()
            };
            let slope = (value(1e-3) - value(-1e-3)) / 2e-3;
            // A Laplacian has a kink at every row.
            let near = if shape == Shape::Gaussian { 1e-2 } else { 0.1 };
            assert!((slope - slopes[at]).abs() < near, "{shape:?} {at}: {slope} {}", slopes[at]);
        }
    }
}

#[test]
fn landmarks_that_moved_miss_less() {
    for shape in SHAPES {
        let mut rng = Rng::new(23);
        let (n, m) = (1500, 12);
        let (x, new) = (random(&mut rng, n, 2), random(&mut rng, 500, 2));
        let c = vec![1.0; n];
        let values = centred(&x, &c);
        let sought = Sought { values: &values, weights: &c, landmarks: m };
        let watch = &mut Watch::of_tests();
        let drawn = x.range(0, m).unwrap();
        let truth = centred(&new, &vec![1.0; 500]);
        let aimed = (&sought, Aim::Values);
        let end = moved(shape, (&x, &drawn), aimed, (1e-5, 0), watch).unwrap();
        let mut missed = |z: &Grid, factors: &[f64]| -> f64 {
            let (rows, new) = (x.scaled(factors).unwrap(), new.scaled(factors).unwrap());
            let a = solved_few(shape, (&rows, z), aimed, (1e-5, 0), watch).unwrap();
            let found = values_of(shape, (&new, z), &a, watch).unwrap();
            Aim::Values.share_missed(&found, &truth, &vec![1.0; 500])
        };
        let (before, after) = (missed(&drawn, &[1.0; 2]), missed(&end.landmarks, &end.factors));
        assert!(after < 0.8 * before, "{shape:?}: {before} {after}");
    }
}

#[test]
fn sums_of_many_outputs_are_missed_as_much_as_they_are() {
    let mut rng = Rng::new(11);
    let (n, q) = (400, 3 * OUTPUTS);
    let x = random(&mut rng, n, 2);
    // A class is a cell of the plane; most have a few rows.
    let mut y = Grid::zeros("y", n, q).unwrap();
    for i in 0..n {
        let cell = |v: f32, of: f32| ((v + 2.0) / 4.0 * of).clamp(0.0, of - 1.0) as usize;
        y.values[i * q + 12 * cell(x.row(i)[0], 16.0) + cell(x.row(i)[1], 12.0)] = 1.0;
    }
    let few = sketched(&y, 3).unwrap().unwrap();
    assert_eq!((few.rows(), few.columns), (n, OUTPUTS));
    assert_eq!(few, sketched(&y, 3).unwrap().unwrap());
    let own = Grid::zeros("y", n, OUTPUTS).unwrap();
    assert_eq!(sketched(&own, 3).unwrap(), None);
    let weights = vec![1.0; n];
    let fit = |values: &Grid| {
        let sought = Sought { values, weights: &weights, landmarks: 60 };
        climb(Shape::Gaussian, &x, &sought, (&[1.0, 1.0], 4.0), &mut Watch::of_tests()).unwrap()
    };
    let (whole, sums) = (fit(&y), fit(&few));
    assert!((whole.error - sums.error).abs() < 0.05 * whole.error, "{whole:?} {sums:?}");
    assert_eq!((whole.width, whole.lambda), (sums.width, sums.lambda));
}

/// Sides of two classes on a plane, one in three of the first, and their means.
fn sides(x: &Grid) -> (Grid, Vec<f64>) {
    let n = x.rows();
    let side = |i: usize| if (2.0 * x.row(i)[0]).sin() + x.row(i)[1] > 0.5 { 1.0 } else { -1.0 };
    let mean = (0..n).map(|i| f64::from(side(i))).sum::<f64>() / n as f64;
    let values = (0..n).map(|i| side(i) - mean as f32).collect();
    (Grid { values, columns: 1 }, vec![mean])
}

#[test]
fn sides_are_solved_for_to_where_their_sum_is_flat() {
    for shape in SHAPES {
        let mut rng = Rng::new(5);
        let (n, m, lambda) = (400, 10, 1e-3);
        let (x, c) = (random(&mut rng, n, 2), weights(&mut rng, n));
        let z = x.range(0, m).unwrap();
        let (values, means) = sides(&x);
        let sought = Sought { values: &values, weights: &c, landmarks: m };
        let aim = Aim::Sides(&means);
        let watch = &mut Watch::of_tests();
        let mut solve = |steps: usize| -> Vec<f64> {
            let found = aim.solve(shape, (&x, &z), &sought, (lambda, steps), watch).unwrap();
            found.values.iter().map(|&v| f64::from(v)).collect()
        };
        let (k, k_mm) = (plain_kernel(shape, &x, &z), plain_kernel(shape, &z, &z));
        let times = |row: &[f64], a: &[f64]| row.iter().zip(a).map(|(k, a)| k * a).sum::<f64>();
        let sum = |a: &[f64]| -> f64 {
            let rows: f64 = (0..n)
                .map(|i| {
                    let y = f64::from(values.values[i]) + means[0];
                    c[i] * (1.0 - y * (times(&k[i], a) + means[0])).max(0.0).powi(2)
                })
                .sum();
            rows / n as f64 + lambda * (0..m).map(|j| a[j] * times(&k_mm[j], a)).sum::<f64>()
        };
        let (squares, found) = (solve(0), solve(40));
        assert!(sum(&found) < 0.95 * sum(&squares), "{} {}", sum(&found), sum(&squares));
        for j in 0..m {
            for by in [-0.02, 0.02] {
                let mut other = found.clone();
                other[j] += by;
                assert!(sum(&found) < sum(&other), "{shape:?} {j} {by}");
            }
        }
        let mut left =
            Grid::of_doubles(&(0..n).map(|i| times(&k[i], &found)).collect::<Vec<_>>(), 1);
        let share = aim.share_missed(&left, &values, &c);
        aim.too_large(&mut left, &values);
        let squares = |grid: &Grid| -> f64 {
            grid.values.iter().zip(&c).map(|(&v, c)| c * f64::from(v).powi(2)).sum()
        };
        assert!((share - squares(&left) / squares(&values)).abs() < 1e-9);
        assert!(left.values.iter().filter(|v| **v == 0.0).count() > n / 4);
    }
}

#[test]
fn landmarks_and_scales_that_moved_keep_more_sides() {
    for shape in SHAPES {
        let mut rng = Rng::new(29);
        let (n, m) = (1500, 10);
        // The last two features say nothing.
        let (x, new) = (random(&mut rng, n, 4), random(&mut rng, 600, 4));
        let c = vec![1.0; n];
        let (values, means) = sides(&x);
        let (mut truth, own) = sides(&new);
        truth.values.iter_mut().for_each(|v| *v += (own[0] - means[0]) as f32);
        let aimed = (&Sought { values: &values, weights: &c, landmarks: m }, Aim::Sides(&means));
        let watch = &mut Watch::of_tests();
        let drawn = x.range(0, m).unwrap();
        let end = moved(shape, (&x, &drawn), aimed, (1e-5, 0), watch).unwrap();
        assert!(end.factors[2].max(end.factors[3]) < end.factors[0].min(end.factors[1]));
        let mut missed = |z: &Grid, factors: &[f64]| -> f64 {
            let (rows, new) = (x.scaled(factors).unwrap(), new.scaled(factors).unwrap());
            let a = solved_few(shape, (&rows, z), aimed, (1e-5, 40), watch).unwrap();
            let found = values_of(shape, (&new, z), &a, watch).unwrap();
            Aim::Sides(&means).share_missed(&found, &truth, &vec![1.0; 600])
        };
        let (before, after) = (missed(&drawn, &[1.0; 4]), missed(&end.landmarks, &end.factors));
        assert!(after < 0.5 * before, "{shape:?}: {before} {after}");
    }
}
