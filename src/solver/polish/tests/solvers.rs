//! Every solver against Newton's method with Hessians, whatever the choice would be.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::super::choice::Choice;
use super::super::run;
use super::*;

const OTHERS: [Choice; 3] = [Choice::Dual, Choice::Kept, Choice::Common];

fn solve<F: Real>(toy: &Toy<F>, choice: Choice, polish: &Polish, coef: &[f64]) -> Polished {
    let targets = toy.targets(polish.loss);
    let intercept = vec![0.3; targets.n_outputs()];
    let start = Start { targets, cost: &toy.cost, coef, intercept: &intercept };
    run::solve(polish, choice, &toy.kernel, (start, 0.0), &mut Watch::of_tests()).unwrap()
}

fn polish(loss: AnyLoss, fit_intercept: bool, tol: f64) -> Polish {
    Polish {
        loss,
        fit_intercept,
        h: 0.1,
        unit: 1.0,
        max_steps: 400,
        tol,
        near: false,
        cache_bytes: 1 << 22,
    }
}

/// Duplicate terms make K_BB singular; weights span a factor of 10⁶.
fn hard<F: Real>(seed: u64, n_classes: usize) -> Toy<F> {
    let mut toy = Toy::<F>::new(seed, 500, 30, n_classes);
    let d = toy.kernel.d;
    let first = toy.kernel.basis[..7 * d].to_vec();
    toy.kernel.basis[10 * d..17 * d].copy_from_slice(&first);
    let mut rng = Rng::new(seed + 100);
    toy.cost.iter_mut().for_each(|c| *c = 10f64.powf(6.0 * rng.uniform() - 4.0));
    toy
}

fn suits(choice: Choice, fit_intercept: bool) -> bool {
    choice != Choice::Dual || !fit_intercept
}

fn agree<F: Real>(within: f64) {
    for seed in 0..3 {
        for (loss, n_classes) in LOSSES.into_iter().flat_map(|loss| [(loss, 2), (loss, 4)]) {
            let toy = hard::<F>(seed, n_classes);
            let coef = toy.random_coef(loss);
            for fit_intercept in [false, true] {
                let polish = polish(loss, fit_intercept, 1e-9);
                let newton = solve(&toy, Choice::Newton, &polish, &coef);
                for choice in OTHERS.into_iter().filter(|&c| suits(c, fit_intercept)) {
                    let found = solve(&toy, choice, &polish, &coef);
                    let above = found.smoothed / newton.smoothed - 1.0;
                    assert!(above.abs() <= within, "{choice:?} {loss:?} {n_classes}: {above:.1e}");
                }
            }
        }
    }
}

#[test]
fn every_solver_finds_the_minimum() {
    agree::<f64>(1e-6);
    agree::<f32>(1e-5);
}

/// So little memory that neither K_BB in `f64` nor the rows that bend can be held.
#[test]
fn a_basis_that_memory_does_not_hold_leads_to_the_same_minimum() {
    for (loss, fit_intercept) in LOSSES.into_iter().flat_map(|l| [(l, false), (l, true)]) {
        let toy = hard::<f64>(4, 3);
        let coef = toy.random_coef(loss);
        let polish = polish(loss, fit_intercept, 1e-9);
        let newton = solve(&toy, Choice::Newton, &polish, &coef);
        let tight = Polish { cache_bytes: 4 * 30 * 20, ..polish };
        let found = solve(&toy, Choice::Kept, &tight, &coef);
        let above = found.smoothed / newton.smoothed - 1.0;
        assert!(found.converged && above.abs() <= 1e-6, "{loss:?}: {above:.1e}");
        let bits = crate::parallel::run(3, |_| solve(&toy, Choice::Kept, &tight, &coef)).unwrap();
        assert_eq!(bits, found, "{loss:?}");
    }
}

#[test]
fn many_samples_are_begun_on_a_part_of_them_and_come_to_the_same_minimum() {
    for (loss, fit_intercept) in LOSSES.into_iter().flat_map(|l| [(l, false), (l, true)]) {
        let toy = Toy::<f64>::new(12, 6000, 20, 2);
        let polish = polish(loss, fit_intercept, 1e-9);
        let coef = toy.random_coef(loss);
        let newton = solve(&toy, Choice::Newton, &polish, &coef);
        let found = solve(&toy, Choice::Kept, &polish, &coef);
        let above = found.smoothed / newton.smoothed - 1.0;
        assert!(above.abs() <= 1e-6, "{loss:?}: {above:.1e}");
        // A start that is the minimum is not left.
        let again = solve(&toy, Choice::Kept, &Polish { tol: 1e-4, ..polish }, &newton.coef);
        assert!(again.smoothed <= newton.smoothed * (1.0 + 1e-12) || fit_intercept, "{loss:?}");
    }
}

/// Most samples are far from the margin of where the descent begins, and for the second start, the
/// machine of another boundary, many of them are near that of where it ends.
#[test]
fn samples_far_from_the_margin_are_not_forgotten() {
    let mut toy = Toy::<f64>::new(31, 5000, 40, 2);
    toy.kernel.gamma = 0.1;
    toy.cost.fill(100.0);
    let boundary = |toy: &mut Toy<f64>, axis: usize| {
        let mut rng = Rng::new(9);
        let x = toy.kernel.x.chunks(3).map(|row| row[axis] + 0.2 * rng.uniform() - 0.1);
        toy.classes = x.map(|x| u32::from(x > 0.0)).collect();
    };
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge] {
        let polish = polish(loss, false, 1e-9);
        boundary(&mut toy, 1);
        let other = solve(&toy, Choice::Newton, &polish, &toy.random_coef(loss)).coef;
        boundary(&mut toy, 0);
        let newton = solve(&toy, Choice::Newton, &polish, &toy.random_coef(loss));
        let near = Polish { tol: 1e-3, ..polish };
        for start in [&newton.coef, &other] {
            let found = solve(&toy, Choice::Kept, &polish, start);
            let above = found.smoothed / newton.smoothed - 1.0;
            assert!(above.abs() <= 1e-6, "{loss:?}: {above:.1e}");
            let found = solve(&toy, Choice::Kept, &near, start);
            let above = found.smoothed / newton.smoothed - 1.0;
            assert!(found.converged && above <= 1e-3, "{loss:?}: {above:.1e}");
        }
    }
}

#[test]
fn a_gap_that_was_asked_for_is_met() {
    let mut alone = 0;
    for (loss, n_classes) in LOSSES.into_iter().flat_map(|loss| [(loss, 2), (loss, 5)]) {
        let toy = Toy::<f32>::new(8, 900, 40, n_classes);
        let coef = toy.random_coef(loss);
        let least = solve(&toy, Choice::Newton, &polish(loss, false, 1e-9), &coef).smoothed;
        for choice in OTHERS {
            for tol in [1e-2, 1e-4] {
                let found = solve(&toy, choice, &polish(loss, false, tol), &coef);
                let above = found.smoothed / least - 1.0;
                assert!(found.converged && above <= tol, "{choice:?} {loss:?}: {above:.1e}");
                // As far as was asked for, and not to the end by another solver.
                alone += usize::from(above > 1e-9);
            }
        }
    }
    assert!(alone >= 12 * OTHERS.len(), "{alone}");
}

/// Most samples are far from every margin.
fn sparse_margins() -> Toy<f64> {
    let mut toy = Toy::<f64>::new(17, 4000, 40, 4);
    toy.kernel.gamma = 0.4;
    toy.cost.fill(30.0);
    let mut rng = Rng::new(2);
    let rows = toy.kernel.x.chunks(3);
    let along: Vec<f64> = rows.map(|row| row[0] + 0.02 * rng.uniform()).collect();
    let mut sorted = along.clone();
    sorted.sort_by(f64::total_cmp);
    let band = |x: f64| (1..4).filter(|k| x > sorted[k * 1000]).count() as u32;
    toy.classes = along.iter().map(|&x| band(x)).collect();
    toy
}

/// Memory holds features of those near a margin alone.
#[test]
fn outputs_share_features_of_some_samples_where_memory_holds_no_more() {
    let toy = sparse_margins();
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge] {
        let best = solve(&toy, Choice::Newton, &polish(loss, false, 1e-9), &toy.random_coef(loss));
        // Not where it is to end.
        let start: Vec<f64> = best.coef.iter().map(|c| 0.8 * c).collect();
        for tol in [1e-2, 1e-4] {
            let held = 3200 * dual::feature_bytes(40, tol);
            let tight = Polish { cache_bytes: held, ..polish(loss, false, tol) };
            let found = solve(&toy, Choice::Dual, &tight, &start);
            let above = found.smoothed / best.smoothed - 1.0;
            assert!(found.converged && above <= tol, "{loss:?}: {above:.1e}");
            assert!(above > 1e-9, "{loss:?}: another solver went on, {above:.1e}");
            let bits = crate::parallel::run(3, |_| solve(&toy, Choice::Dual, &tight, &start));
            assert_eq!(bits.unwrap(), found, "{loss:?}");
        }
    }
}

/// Counts the rows that are made; the values of the first ones are this many times what they are.
struct Counted<'t> {
    kernel: &'t Dense<f64>,
    made: AtomicUsize,
    first: (usize, f64),
}

impl KernelRows<f64> for Counted<'_> {
    fn n_rows(&self) -> usize {
        self.kernel.n_rows()
    }
    fn n_terms(&self) -> usize {
        self.kernel.n_terms()
    }
    fn fill(&self, samples: &[usize], out: &mut [f64]) {
        self.kernel.fill(samples, out);
        if self.made.fetch_add(samples.len(), Ordering::Relaxed) < self.first.0 {
            out.iter_mut().for_each(|value| *value *= self.first.1);
        }
    }
    fn of_terms(&self, terms: &[u32]) -> Result<Option<Box<dyn KernelRows<f64> + '_>>> {
        self.kernel.of_terms(terms)
    }
    fn fill_gram(&self, first: usize, out: &mut [f64]) {
        self.kernel.fill_gram(first, out);
    }
}

/// Memory holds features of all and no kernel values: those of samples far from every margin are not
/// made again to certify the gap, unless features are wrong.
#[test]
fn a_gap_is_certified_by_the_samples_that_may_have_a_loss() {
    let toy = sparse_margins();
    let n = toy.kernel.n_rows();
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge] {
        let polish = polish(loss, false, 1e-4);
        let best =
            solve(&toy, Choice::Newton, &Polish { tol: 1e-9, ..polish }, &toy.random_coef(loss));
        let coef: Vec<f64> = best.coef.iter().map(|c| 0.8 * c).collect();
        let solved = |bytes: usize, factor: f64| {
            let made = AtomicUsize::new(0);
            let rows = Counted { kernel: &toy.kernel, made, first: (n, factor) };
            let (polish, targets) = (Polish { cache_bytes: bytes, ..polish }, toy.targets(loss));
            let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &[0.0; 4] };
            let solved =
                run::solve(&polish, Choice::Dual, &rows, (start, 0.0), &mut Watch::of_tests());
            (solved.unwrap(), rows.made.into_inner())
        };
        let held = n * dual::feature_bytes(40, polish.tol);
        let ((all, once), (found, made)) = (solved(1 << 22, 1.0), solved(held, 1.0));
        assert_eq!(once, n, "{loss:?}");
        assert!(made > n && 4 * made < 7 * n, "{loss:?}: {made}");
        let (other, misled) = solved(held, 1.3);
        assert!(misled >= 2 * n, "{loss:?}: {misled}");
        for found in [all, found, other] {
            let above = found.smoothed / best.smoothed - 1.0;
            assert!(found.converged && above <= polish.tol, "{loss:?}: {above:.1e}");
        }
    }
}

#[test]
fn no_solver_ends_above_its_start() {
    for loss in LOSSES {
        let toy = hard::<f32>(3, 4);
        let exact = polish(loss, false, 1e-9);
        let best = solve(&toy, Choice::Newton, &exact, &toy.random_coef(loss));
        for choice in OTHERS {
            // Little is asked for: the start is as good as it gets.
            let again = solve(&toy, choice, &polish(loss, false, 0.1), &best.coef);
            let above = again.smoothed / best.smoothed - 1.0;
            assert!(above <= 1e-12, "{choice:?} {loss:?}: {above:.1e}");
        }
    }
}

#[test]
fn every_solver_gives_the_same_bits_for_any_number_of_threads() {
    let toy = Toy::<f32>::new(21, 3000, 40, 7);
    let coef = toy.random_coef(AnyLoss::Hinge);
    for choice in OTHERS {
        let with = |threads: usize| {
            crate::parallel::run(threads, |pool| {
                let targets = toy.targets(AnyLoss::Hinge);
                let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &[0.0; 7] };
                let mut observer = crate::watch::Silent;
                let watch = &mut Watch::new(&mut observer, pool);
                let polish = polish(AnyLoss::Hinge, false, 1e-4);
                run::solve(&polish, choice, &toy.kernel, (start, 0.0), watch).unwrap()
            })
            .unwrap()
        };
        let alone = with(1);
        for threads in [2, 3, 7] {
            assert_eq!(alone, with(threads), "{choice:?}, {threads} threads");
        }
    }
}

#[test]
fn a_tilt_of_the_offset_is_a_part_of_the_objective_in_every_solver() {
    // All of one label: one class, whose threshold would fall without end but for the tilt.
    let nu = 0.3;
    let mut toy = Toy::<f64>::new(5, 400, 20, 2);
    toy.classes.fill(1);
    let tilt = nu * toy.cost.iter().sum::<f64>();
    let polish = polish(AnyLoss::Hinge, true, 1e-10);
    let targets = toy.targets(polish.loss);
    let start = Start { targets, cost: &toy.cost, coef: &[0.05; 20], intercept: &[0.0] };
    for choice in [Choice::Newton, Choice::Kept] {
        let watch = &mut Watch::of_tests();
        let found = run::solve(&polish, choice, &toy.kernel, (start, tilt), watch).unwrap();
        let objective = |coef: &[f64], b: f64| {
            let (value, mut gradient) = naive(&toy, &polish, 0, coef, b);
            gradient[20] += tilt;
            (value + tilt * b, gradient)
        };
        let (value, gradient) = objective(&found.coef, found.intercept[0]);
        assert!((found.smoothed / value - 1.0).abs() < 1e-9, "{choice:?}");
        // The gradient is that of differences, and about 0.
        for axis in [0, 7, 20] {
            let at = |step: f64| {
                let (mut coef, mut b) = (found.coef.clone(), found.intercept[0]);
                *coef.get_mut(axis).unwrap_or(&mut b) += step;
                objective(&coef, b).0
            };
            let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
            assert!((slope - gradient[axis]).abs() < 1e-4 * (1.0 + tilt), "{choice:?} {axis}");
            assert!(gradient[axis].abs() < 1e-3 * tilt, "{choice:?} {axis} {}", gradient[axis]);
        }
    }
    assert!(polish.solve_tilted(&toy.kernel, (start, f64::NAN), &mut Watch::of_tests()).is_err());
}
