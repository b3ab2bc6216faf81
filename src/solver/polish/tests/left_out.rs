//! Values without a fold, against the problem solved without it.

use super::*;

/// Folds by the margin of the first output, so that one fold holds the margins of others.
fn quarters<F: Real>(toy: &Toy<F>, all: &Polished) -> Vec<u32> {
    let mut row = vec![F::zero(); toy.kernel.n_terms()];
    let coef = all.coef_of(0);
    let mut margins: Vec<(f64, usize)> = (0..240)
        .map(|i| {
            toy.kernel.fill(&[i], &mut row);
            (row.iter().zip(&coef).map(|(k, a)| Real::to_f64(*k) * a).sum(), i)
        })
        .collect();
    margins.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut folds = vec![0; 240];
    margins.iter().enumerate().for_each(|(at, &(_, i))| folds[i] = at as u32 / 60);
    folds
}

fn check<F: Real>(within: f64, by_margin: bool) {
    for loss in LOSSES {
        for (n_classes, fit_intercept) in [(2, false), (2, true), (4, false)] {
            if n_classes > 2 && !loss.is_classification() {
                continue;
            }
            let toy = Toy::<F>::new(11, 240, 12, n_classes);
            let polish = Polish {
                loss,
                fit_intercept,
                h: 0.3,
                unit: 1.0,
                max_steps: 400,
                tol: 1e-10,
                near: false,
                cache_bytes: 1 << 20,
            };
            let targets = toy.targets(loss);
            let m = targets.n_outputs();
            let all = toy.solve(&polish, &vec![0.0; toy.kernel.n_terms() * m]);
            let folds = match by_margin {
                false => (0..240).map(|i| i % 4).collect(),
                true => quarters(&toy, &all),
            };
            let (coef, intercept) = (&all.coef[..], &all.intercept[..]);
            let start = Start { targets, cost: &toy.cost, coef, intercept };
            let watch = &mut Watch::of_tests();
            let found = polish.left_out(&toy.kernel, start, (&folds, 4), watch).unwrap();
            for fold in 0..4 {
                let cost: Vec<f64> = toy
                    .cost
                    .iter()
                    .zip(&folds)
                    .map(|(c, f)| if *f == fold { 0.0 } else { *c })
                    .collect();
                let start = Start { cost: &cost, ..start };
                let slow = polish.solve(&toy.kernel, start, watch).unwrap();
                let mut row = vec![F::zero(); toy.kernel.n_terms()];
                let mut moved = 0.0_f64;
                for i in (0..240).filter(|&i| folds[i] == fold) {
                    toy.kernel.fill(&[i], &mut row);
                    for c in 0..m {
                        let value = |p: &Polished| -> f64 {
                            let coef = p.coef_of(c);
                            let sum: f64 =
                                row.iter().zip(&coef).map(|(k, a)| Real::to_f64(*k) * a).sum();
                            sum + p.intercept[c]
                        };
                        let (got, want) = (found[i * m + c], value(&slow));
                        moved = moved.max((want - value(&all)).abs());
                        assert!(
                            (got - want).abs() <= within * (1.0 + want.abs()),
                            "{loss:?} {n_classes} {fit_intercept} {i}: {got} {want}"
                        );
                    }
                }
                // Leaving a fold out changes far more than what is allowed.
                assert!(moved > 20.0 * within, "{moved}");
            }
        }
    }
}

#[test]
fn values_without_a_fold_are_those_of_the_problem_without_it() {
    check::<f64>(2e-3, false);
    check::<f32>(2e-3, false);
}

#[test]
fn samples_that_a_fold_brings_in_from_afar_count() {
    check::<f64>(2e-3, true);
    check::<f32>(2e-3, true);
}

#[test]
fn many_classes_share_features_and_have_the_values_of_folds_of_their_own() {
    let toy = Toy::<f32>::new(13, 900, 120, 5);
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge] {
        let polish = Polish { loss, h: 0.1, max_steps: 400, tol: 1e-8, ..Polish::default() };
        let targets = toy.targets(loss);
        let all = toy.solve(&polish, &vec![0.0; 120 * 5]);
        let folds: Vec<u32> = (0..900).map(|i| i % 3).collect();
        let start = Start { targets, cost: &toy.cost, coef: &all.coef, intercept: &[0.0; 5] };
        let watch = &mut Watch::of_tests();
        assert_eq!(choice::Choice::of(&polish, targets, (900, 120)), choice::Choice::Dual);
        let found = polish.left_out(&toy.kernel, start, (&folds, 3), watch).unwrap();
        let gram = basis_gram(&toy.kernel, watch).unwrap();
        let shared = steps::Shared::new(&polish, (start, 0.0), gram, 1e-8).unwrap();
        let slow = kept::left_out(&shared, &toy.kernel, (start, &folds, 3), watch);
        let slow = slow.unwrap_or_else(|_| panic!("stopped"));
        let own: Vec<f64> = (0..900 * 5).map(|at| own_value(&toy, &all, at / 5, at % 5)).collect();
        let spread = |from: &[f64]| -> f64 {
            let squares = from.iter().zip(&slow).map(|(a, b)| (a - b) * (a - b));
            (squares.sum::<f64>() / slow.len() as f64).sqrt()
        };
        // Leaving folds out changes far more.
        assert!(spread(&found) < 0.1 * spread(&own), "{} {}", spread(&found), spread(&own));
    }
}

/// What the machine of all samples decides.
fn own_value(toy: &Toy<f32>, all: &Polished, i: usize, c: usize) -> f64 {
    let mut row = vec![0.0; toy.kernel.n_terms()];
    toy.kernel.fill(&[i], &mut row);
    row.iter().zip(all.coef_of(c)).map(|(k, a)| f64::from(*k) * a).sum()
}
