use std::sync::Mutex;

use super::basis::Basis;
use super::trail::{Leg, Trail};
use super::{Solver, rows};
use crate::loss::AnyLoss;
use crate::solver::polish::steps::Shared;
use crate::solver::polish::tests::Toy;
use crate::solver::smoothed::{Polish, Polished, Start, basis_gram};
use crate::watch::Watch;

/// The margins and the objective that steps along some terms carry along are those of the point that
/// they come to, and it is lower.
#[test]
fn steps_along_some_terms_keep_the_books() {
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge, AnyLoss::LogLoss] {
        for (fit_intercept, tilt) in [(false, 0.0), (true, 0.0), (true, 0.7)] {
            let (toy, mut watch) = (Toy::<f64>::new(3, 400, 40, 2), Watch::of_tests());
            let polish = Polish { loss, fit_intercept, h: 0.1, ..Polish::default() };
            let coef = toy.random_coef(loss);
            let targets = toy.targets(loss);
            let start = Start { targets, cost: &toy.cost, coef: &coef, intercept: &[0.3] };
            let gram = basis_gram(&toy.kernel, &mut watch).unwrap();
            let shared = Shared::new(&polish, (start, tilt), gram, 1e-12).unwrap();
            let solver = Solver {
                shared: &shared,
                kernel: &toy.kernel,
                samples: shared.samples(0, polish.h),
                bytes: 1 << 22,
                basis: &Basis::of(&shared, &toy.kernel, &mut watch).unwrap(),
                until: 0.0,
                held: &Mutex::default(),
                trail: &Trail::new((0, [0.0; 2], true), &Polished::nothing(40, 1), None, &watch)
                    .unwrap(),
                leg: Leg::ALL,
                outer: None,
            };
            let mut place = solver.zero(0).unwrap();
            let point: Vec<f64> =
                coef.iter().copied().chain(fit_intercept.then_some(0.3)).collect();
            solver.step_1_look(&mut place, (&point, false), &mut watch).unwrap();
            let before = place.value;
            solver.on_some_terms(&mut place, &mut watch).unwrap();
            assert!(place.value < 0.95 * before, "{loss:?}: {before} to {}", place.value);
            let offset = place.point.get(40).copied().unwrap_or(0.0);
            let mut f = vec![0.0; 400];
            rows::margins(&toy.kernel, (&place.point[..40], offset), &mut f, &mut watch).unwrap();
            let off = f.iter().zip(&place.f).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let penalty = solver.penalty(&place.point, &mut watch).unwrap();
            let value = penalty + solver.samples.loss_at(&f);
            assert!(off < 1e-9, "{loss:?}: {off:e}");
            assert!(
                (value - place.value).abs() < 1e-9 * value,
                "{loss:?}: {value} {}",
                place.value
            );
        }
    }
}
