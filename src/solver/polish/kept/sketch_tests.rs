use super::basis::Basis;
use super::direction::{Hessian, Like};
use super::rows::Rows;
use crate::data::Targets;
use crate::linalg::{Pairs, dot};
use crate::rng::Rng;
use crate::solver::polish::steps::Shared;
use crate::solver::polish::tests::Dense;
use crate::solver::smoothed::{KernelRows, Polish, Start, basis_gram};
use crate::watch::Watch;

/// Most rows, and most terms, in one place; each other term has one row, which no other is near.
fn lonely(n: usize, b: usize, alone: usize) -> Dense<f64> {
    let mut rng = Rng::new(2);
    let mut point = || [2.0 * rng.uniform(), 2.0 * rng.uniform()];
    let mut basis: Vec<f64> = (alone..b).flat_map(|_| point()).collect();
    let own: Vec<f64> = (0..alone).flat_map(|i| [100.0 + 10.0 * i as f64, 0.0]).collect();
    let mut x: Vec<f64> = (alone..n).flat_map(|_| point()).collect();
    x.extend(&own);
    basis.extend(&own);
    Dense { x, d: 2, basis, gamma: 20.0 }
}

/// Gives the Hessian of rows of equal curvature to `test`.
fn with_hessian(kernel: &Dense<f64>, test: impl FnOnce(&Hessian<'_, '_, f64>, &mut Watch<'_>)) {
    let (n, b) = (kernel.n_rows(), kernel.n_terms());
    let mut watch = Watch::of_tests();
    let (classes, cost, coef) = (vec![0; n], vec![1.0; n], vec![0.0; b]);
    let targets = Targets::Classes { index: &classes, n_classes: 2 };
    let start = Start { targets, cost: &cost, coef: &coef, intercept: &[0.0] };
    let (polish, gram) = (Polish::default(), basis_gram(kernel, &mut watch).unwrap());
    let shared = Shared::new(&polish, (start, 0.0), gram, 1e-9).unwrap();
    let basis = Basis::of(&shared, kernel, &mut watch).unwrap();
    let rows = Rows::new(kernel, ((0..n as u32).collect(), n), 1 << 24, &mut watch).unwrap();
    let zone: Vec<u32> = (0..n as u32).collect();
    let curvature = vec![30.0; n];
    let hessian =
        Hessian { basis: &basis, rows: &rows, zone: &zone, curvature: &curvature, flat: 0.0 };
    test(&hessian, &mut watch);
}

/// H v.
fn product(hessian: &Hessian<'_, '_, f64>, v: &[f64]) -> Vec<f64> {
    let (b, n) = (hessian.basis.b, hessian.curvature.len());
    let mut watch = Watch::of_tests();
    let mut f = vec![0.0; n];
    hessian.rows.times(v, &mut f, &mut watch).unwrap();
    f.iter_mut().zip(hessian.curvature).for_each(|(f, d)| *f *= d);
    let mut hv = hessian.rows.weigh(&f, &mut watch).unwrap();
    hv.truncate(b);
    let pull = hessian.basis.times(v, &mut watch).unwrap();
    hv.iter_mut().zip(pull).for_each(|(to, v)| *to += v);
    hv
}

/// `vᵀ M⁻¹ H v / vᵀv` for the direction of one term alone.
fn share(hessian: &Hessian<'_, '_, f64>, like: &Like, term: usize) -> f64 {
    let mut v = vec![0.0; hessian.basis.b];
    v[term] = 1.0;
    let mut hv = product(hessian, &v);
    like.solve(&mut hv);
    dot(&v, &hv)
}

/// A factor of few rows makes some steps necessary; along all of these it is the Hessian's own later.
#[test]
fn what_a_direction_has_seen_corrects_the_preconditioner() {
    with_hessian(&lonely(600, 40, 12), |hessian, watch| {
        let few = Hessian { zone: &hessian.zone[..20], ..*hessian };
        let like = few.sketch(40, None, watch).unwrap();
        let mut rng = Rng::new(5);
        let gradient: Vec<f64> = (0..40).map(|_| rng.uniform() - 0.5).collect();
        let mut seen = Pairs::new(60);
        let (d, serves) = hessian.direction(&gradient, (&like, &mut seen), watch).unwrap();
        assert!(serves && !seen.is_empty());
        let off = |z: &[f64]| {
            let off: Vec<f64> = z.iter().zip(&d).map(|(z, d)| z - d).collect();
            (dot(&off, &off) / dot(&d, &d)).sqrt()
        };
        let (mut plain, mut better) = (product(hessian, &d), product(hessian, &d));
        like.solve(&mut plain);
        seen.times_inverse(&mut better, |z| like.solve(z));
        assert!(off(&plain) > 0.5 && off(&better) < 1e-3, "{} {}", off(&plain), off(&better));
    });
}

#[test]
fn squares_are_those_of_the_formula() {
    with_hessian(&lonely(700, 20, 5), |hessian, watch| {
        let mut rng = Rng::new(4);
        let directions: Vec<Vec<f64>> =
            (0..3).map(|_| (0..21).map(|_| rng.normal()).collect()).collect();
        let places: Vec<u32> = (0..700).filter(|i| i % 3 != 1).collect();
        let found = hessian.rows.squares(&places, &directions, watch).unwrap();
        for (&place, found) in places.iter().zip(found) {
            let mut sum = 0.0;
            for p in &directions {
                let mut value = [0.0];
                hessian.rows.times_each(&[place], &[p], &mut value, watch).unwrap();
                sum += value[0] * value[0];
            }
            assert!((found - sum).abs() <= 1e-5 * (1.0 + sum), "{place}: {found} {sum}");
        }
    });
}

/// Drawn evenly most of those that are alone are left out, and for each of them H has thirty times what
/// its factor has; drawn by what that factor says of them none is.
#[test]
fn rows_that_alone_hold_up_a_direction_are_drawn() {
    let (b, alone) = (60, 12);
    with_hessian(&lonely(4000, b, alone), |hessian, watch| {
        let even = hessian.sketch(b, None, watch).unwrap();
        let shares: Vec<f64> = (b - alone..b).map(|term| share(hessian, &even, term)).collect();
        assert!(shares.iter().filter(|&&share| share > 20.0).count() > alone / 2, "{shares:?}");
        let drawn = hessian.sketch(b, Some(even), watch).unwrap();
        for term in b - alone..b {
            let share = share(hessian, &drawn, term);
            assert!((share - 1.0).abs() < 0.01, "{term}: {share}");
        }
    });
}

/// A draw has about the sum of all rows along each term of the many. (The mean is above 1: an inverse of
/// a few rows is larger, by 2.5 / 1.5 where 2.5 are drawn for each that they come to.)
#[test]
fn weights_stand_for_the_rows_that_were_not_drawn() {
    with_hessian(&lonely(4000, 60, 12), |hessian, watch| {
        let mut like = hessian.sketch(60, None, watch).unwrap();
        for _ in 0..2 {
            like = hessian.sketch(60, Some(like), watch).unwrap();
            let mean = (0..48).map(|term| share(hessian, &like, term)).sum::<f64>() / 48.0;
            assert!((1.0..2.2).contains(&mean), "{mean}");
        }
    });
}
