//! Several columns of values against one machine a column, on the same terms.

use super::super::choice::Choice;
use super::super::run;
use super::*;

const N: usize = 300;

fn solve(toy: &Toy<f64>, polish: &Polish, targets: Targets<'_>, choice: Choice) -> Polished {
    let m = targets.n_outputs();
    let (coef, intercept) = (vec![0.1; toy.kernel.n_terms() * m], vec![0.2; m]);
    let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &intercept };
    run::solve(polish, choice, &toy.kernel, (start, 0.0), &mut Watch::of_tests()).unwrap()
}

/// The values, and two others made of them.
fn three(toy: &Toy<f64>) -> Vec<f64> {
    toy.values.iter().flat_map(|&v| [v, 3.0 * v * v - 1.0, (5.0 * v).cos() + 7.0]).collect()
}

fn same(together: &Polished, alone: &[Polished], within: f64) {
    let m = alone.len();
    for (c, one) in alone.iter().enumerate() {
        let size = one.coef.iter().fold(1.0f64, |a, b| a.max(b.abs()));
        for (j, own) in one.coef.iter().enumerate() {
            let found = together.coef[j * m + c];
            assert!((found - own).abs() <= within * size, "{c} {j}: {found} {own}");
        }
        let (found, own) = (together.intercept[c], one.intercept[0]);
        assert!((found - own).abs() <= within * size.max(own.abs()), "{c}: {found} {own}");
    }
    let sum: f64 = alone.iter().map(|one| one.smoothed).sum();
    assert!((together.smoothed - sum).abs() <= 1e-9 * sum.abs());
}

#[test]
fn a_column_has_the_coefficients_that_it_has_alone() {
    let toy = Toy::<f64>::new(5, N, 25, 2);
    let values = three(&toy);
    let columns: Vec<Vec<f64>> =
        (0..3).map(|c| values.iter().skip(c).step_by(3).copied().collect()).collect();
    for loss in LOSSES.into_iter().filter(|loss| !loss.is_classification()) {
        for (choice, fit_intercept) in
            [(Choice::Newton, true), (Choice::Newton, false), (Choice::Kept, true)]
        {
            let polish = Polish {
                loss,
                fit_intercept,
                h: 0.1,
                max_steps: 400,
                tol: 1e-12,
                ..Polish::default()
            };
            let together = solve(&toy, &polish, Targets::columns(&values, 3), choice);
            let alone: Vec<Polished> = columns
                .iter()
                .map(|own| solve(&toy, &polish, Targets::Values(own), choice))
                .collect();
            same(&together, &alone, 1e-6);
        }
    }
}

#[test]
fn labels_that_do_not_exclude_each_other_have_the_coefficients_of_two_classes() {
    let toy = Toy::<f64>::new(6, N, 25, 2);
    let sign = |on: bool| if on { 1.0 } else { -1.0 };
    let labels: Vec<[bool; 3]> =
        toy.values.iter().map(|&v| [v > 0.0, v > 0.4, v.abs() > 0.5]).collect();
    let values: Vec<f64> = labels.iter().flatten().map(|&on| sign(on)).collect();
    for loss in LOSSES.into_iter().filter(AnyLoss::is_classification) {
        let polish = Polish {
            loss,
            fit_intercept: true,
            h: 0.1,
            max_steps: 400,
            tol: 1e-12,
            ..Polish::default()
        };
        let together = solve(&toy, &polish, Targets::columns(&values, 3), Choice::Newton);
        let alone: Vec<Polished> = (0..3)
            .map(|c| {
                let index: Vec<u32> = labels.iter().map(|row| u32::from(row[c])).collect();
                let targets = Targets::Classes { index: &index, n_classes: 2 };
                solve(&toy, &polish, targets, Choice::Newton)
            })
            .collect();
        same(&together, &alone, 1e-6);
    }
}

#[test]
fn every_output_has_its_own_quantile() {
    let toy = Toy::<f64>::new(7, N, 25, 2);
    let levels = [0.1, 0.5, 0.85];
    let values: Vec<f64> = toy.values.iter().flat_map(|&v| [v; 3]).collect();
    for choice in [Choice::Newton, Choice::Kept, Choice::Common] {
        let polish = |quantile| Polish {
            loss: AnyLoss::Quantile { quantile },
            fit_intercept: true,
            h: 0.05,
            max_steps: 400,
            tol: 1e-12,
            ..Polish::default()
        };
        let targets = Targets::Columns { values: &values, n_outputs: 3, levels: &levels };
        let together = solve(&toy, &polish(0.3), targets, choice);
        let alone = levels.map(|q| solve(&toy, &polish(q), Targets::Values(&toy.values), choice));
        same(&together, &alone, 1e-6);
    }
}

#[test]
fn directions_from_one_sum_come_as_near_as_they_say() {
    let toy = Toy::<f64>::new(8, 2000, 40, 2);
    let values = three(&toy);
    for loss in LOSSES.into_iter().filter(|loss| !loss.is_classification()) {
        let polish = Polish { loss, fit_intercept: true, ..Polish::default() };
        let targets = Targets::columns(&values, 3);
        let exact = Polish { tol: 1e-12, max_steps: 400, ..polish };
        let least = solve(&toy, &exact, targets, Choice::Newton);
        for tol in [1e-3, 1e-5] {
            let found = solve(&toy, &Polish { tol, ..polish }, targets, Choice::Common);
            assert!(found.converged, "{loss:?} {tol}: {}", found.steps);
            let above = found.smoothed / least.smoothed - 1.0;
            assert!(above <= tol && found.steps <= 25, "{loss:?} {tol}: {above}, {}", found.steps);
        }
    }
}

#[test]
fn columns_with_hardly_a_row_that_bends_come_to_their_minimum() {
    // Without noise nearly all values lie within the tube.
    let toy = Toy::<f64>::new(9, 600, 60, 2);
    let smooth = |x: &[f64]| [x[0].sin(), x[1] * x[2], (x[0] - x[1]).cos()];
    let values: Vec<f64> = toy.kernel.x.chunks(3).flat_map(smooth).collect();
    let loss = AnyLoss::EpsilonInsensitive { epsilon: 0.05 };
    let polish = Polish { loss, fit_intercept: true, h: 0.01, max_steps: 200, ..Polish::default() };
    let targets = Targets::columns(&values, 3);
    let least = solve(&toy, &Polish { tol: 1e-12, ..polish }, targets, Choice::Newton);
    let found = solve(&toy, &polish, targets, Choice::Common);
    assert!(found.converged);
    assert!(found.smoothed <= least.smoothed * (1.0 + polish.tol));
}
