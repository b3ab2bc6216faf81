//! Values without a fold, against the problem solved without it.

use super::*;

fn check<F: Real>(within: f64) {
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
                max_steps: 400,
                tol: 1e-10,
                near: false,
                cache_bytes: 1 << 20,
            };
            let targets = toy.targets(loss);
            let m = targets.n_outputs();
            let all = toy.solve(&polish, &vec![0.0; toy.kernel.n_terms() * m]);
            let folds: Vec<u32> = (0..240).map(|i| i % 4).collect();
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
    check::<f64>(2e-3);
    check::<f32>(2e-3);
}
