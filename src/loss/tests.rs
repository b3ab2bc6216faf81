use super::{AnyLoss, Piece, Smoothed};
use proptest::prelude::*;

fn losses() -> [AnyLoss; 8] {
    [
        AnyLoss::Hinge,
        AnyLoss::SquaredHinge,
        AnyLoss::EpsilonInsensitive { epsilon: 0.3 },
        AnyLoss::EpsilonInsensitive { epsilon: 0.0 },
        AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.2 },
        AnyLoss::Quantile { quantile: 0.2 },
        AnyLoss::Quantile { quantile: 0.9 },
        AnyLoss::LogLoss,
    ]
}

fn target(loss: AnyLoss, y: f64) -> f64 {
    if loss.is_classification() { 1f64.copysign(y) } else { y }
}

proptest! {
    #[test]
    fn derivatives_match_finite_differences(y in -2.0..2.0f64, f in -4.0..4.0f64, h in 0.05..1.5f64) {
        for loss in losses() {
            let y = target(loss, y);
            let (s, e) = (Smoothed { loss, h }, 1e-6);
            let (here, left, right) = (s.at(y, f), s.at(y, f - e), s.at(y, f + e));
            prop_assert!((here.slope - (right.value - left.value) / (2.0 * e)).abs() < 1e-4);
            // The second derivative jumps at the zone's ends: compare off them.
            if left.curvature == right.curvature {
                let second = (right.slope - left.slope) / (2.0 * e);
                prop_assert!((here.curvature - second).abs() < 1e-4);
            }
            prop_assert!(here.value >= 0.0 && here.curvature >= 0.0);
        }
    }

    #[test]
    fn smoothing_is_an_upper_bound_within_h(y in -2.0..2.0f64, f in -4.0..4.0f64, h in 1e-9..1.0f64) {
        for loss in losses() {
            let y = target(loss, y);
            let gap = Smoothed { loss, h }.at(y, f).value - loss.value(y, f);
            // h/4 at each kink.
            prop_assert!(gap >= -1e-12 && gap <= h / 2.0 + 1e-12);
        }
    }

    #[test]
    fn violation_is_the_descent_direction(y in -2.0..2.0f64, f in -4.0..4.0f64) {
        for loss in losses() {
            let y = target(loss, y);
            let slope = Smoothed { loss, h: 0.0 }.at(y, f).slope;
            prop_assert!((loss.violation(y, f) + slope).abs() < 1e-12);
            let (mut all, edges) = ([0.0; 3], [f, y, y + 0.3]);
            loss.violations(&[y; 3], &edges, &mut all);
            prop_assert_eq!(all, edges.map(|f| loss.violation(y, f)));
        }
    }

    #[test]
    fn flat_range_is_where_the_slope_stays(y in -2.0..2.0f64, f in -4.0..4.0f64, h in 0.0..1.0f64) {
        for loss in losses() {
            let y = target(loss, y);
            let s = Smoothed { loss, h };
            let (low, high) = s.flat_range(y, f, 0.0);
            prop_assert!(low <= 0.0 && high >= 0.0);
            let slope = s.at(y, f).slope;
            for (end, out) in [(low, -1e-3), (high, 1e-3)] {
                let end = end.clamp(-10.0, 10.0);
                prop_assert!((s.at(y, f + end * 0.999_999).slope - slope).abs() < 1e-9);
                if end.abs() < 10.0 && h > 0.01 {
                    prop_assert!((s.at(y, f + end + out).slope - slope).abs() > 0.0);
                }
            }
        }
    }

    // The sample's part of the dual: with f = f₋ + k (change), the objective along α is
    // term(α) - change (f + k change / 2), whatever the others are.
    #[test]
    fn dual_step_maximises_the_dual(
        start in 0.0..1.0f64, y in -2.0..2.0f64, f in -4.0..4.0f64,
        k in 0.05..4.0f64, cost in 0.01..10.0f64,
    ) {
        for loss in losses() {
            let y = target(loss, y);
            let signed = if loss.is_classification() { start } else { 2.0 * start - 1.0 };
            let alpha = signed * cost;
            let gain = |new: f64| {
                let change = loss.model_change(y, alpha, new);
                loss.dual_term(new, y, cost) - change * (f + 0.5 * k * change)
            };
            let new = loss.dual_step(alpha, y, f, k, cost);
            let (low, high) = loss.dual_box(cost);
            prop_assert!(new >= low && new <= high);
            let (low, high) = (low.max(-300.0), high.min(300.0));
            for step in 0..=2000 {
                let other = low + (high - low) * f64::from(step) / 2000.0;
                prop_assert!(gain(other) <= gain(new) + 1e-9 * (1.0 + gain(new).abs()));
            }
            // A second step stays: f after the first one.
            let moved = f + k * loss.model_change(y, alpha, new);
            let again = loss.dual_step(new, y, moved, k, cost);
            prop_assert!((again - new).abs() <= 1e-9 * (1.0 + new.abs()));
        }
    }
}

/// A piece has the slope and the curvature of the loss wherever a sample is in its zone.
#[test]
fn pieces_are_the_loss() {
    let losses = [
        AnyLoss::Hinge,
        AnyLoss::SquaredHinge,
        AnyLoss::EpsilonInsensitive { epsilon: 0.3 },
        AnyLoss::EpsilonInsensitive { epsilon: 0.05 },
        AnyLoss::EpsilonInsensitive { epsilon: 0.0 },
        AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.3 },
        AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 },
        AnyLoss::Quantile { quantile: 0.7 },
    ];
    for loss in losses {
        let smoothed = Smoothed { loss, h: 0.1 };
        for y in [-1.0, 1.0] {
            for k in -300..300 {
                let f = f64::from(k) / 100.0 + 0.001_234;
                let zone = smoothed.zone(y, f);
                for piece in [smoothed.piece(y, zone), smoothed.model(y, f)] {
                    let (slope, curvature) = match piece {
                        Piece::Nothing => (0.0, 0.0),
                        Piece::Linear(slope) => (slope, 0.0),
                        Piece::Quadratic { curvature, target } => {
                            (curvature * (f - target), curvature)
                        }
                    };
                    let curve = smoothed.at(y, f);
                    assert!((slope - curve.slope).abs() < 1e-12, "{loss:?} {y} {f} {zone:?}");
                    assert!((curvature - curve.curvature).abs() < 1e-12, "{loss:?} {y} {f}");
                }
            }
        }
    }
}

#[test]
fn fenchel_gap_closes_at_the_optimum_of_one_sample() {
    // One sample, k = 1: at the dual optimum primal and dual agree.
    for loss in losses() {
        for (y, cost) in [(1.0, 0.3), (-1.0, 2.0), (1.0, 50.0)] {
            let alpha = loss.dual_step(0.0, y, 0.0, 1.0, cost);
            let beta = loss.model_change(y, 0.0, alpha);
            let primal = 0.5 * beta * beta + cost * loss.value(y, beta);
            let dual = loss.dual_term(alpha, y, cost) - 0.5 * beta * beta;
            assert!((primal - dual).abs() < 1e-12, "{loss:?}: {primal} {dual}");
        }
    }
}

#[test]
fn degenerate_samples_give_finite_steps() {
    for loss in losses() {
        assert_eq!(loss.dual_step(0.5, 1.0, 0.0, 1.0, 0.0), 0.0);
        for k in [0.0, -1.0] {
            assert!(loss.dual_step(0.0, 1.0, 0.0, k, 1.0).is_finite());
            assert!(loss.dual_step(0.0, 1.0, 1.0, k, 1.0).is_finite());
        }
    }
}

#[test]
fn names_round_trip_and_bad_ones_are_refused() {
    for loss in losses() {
        let json = serde_json::to_value(loss).unwrap();
        assert_eq!(json["name"], loss.name());
        assert_eq!(serde_json::from_value::<AnyLoss>(json).unwrap(), loss);
    }
    assert!(serde_json::from_str::<AnyLoss>(r#"{"name": "hinges"}"#).is_err());
    for epsilon in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(AnyLoss::EpsilonInsensitive { epsilon }.check().is_err());
    }
    for quantile in [0.0, 1.0, -0.5, f64::NAN] {
        assert!(AnyLoss::Quantile { quantile }.check().is_err());
    }
}

proptest! {
    #[test]
    fn the_logistic_step_is_the_root_that_halving_finds(
        start in 0.0..=1.0f64, u in -30.0..30.0f64, k in 1e-3..50.0f64, cost in 1e-3..1e3f64,
    ) {
        let alpha = start * cost;
        let (mut low, mut high) = (0.0, cost);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            // term' = ln((C - α)/α) falls, the margin rises.
            if ((cost - middle) / middle).ln() > u + k * (middle - alpha) {
                low = middle;
            } else {
                high = middle;
            }
        }
        let found = AnyLoss::LogLoss.dual_step(alpha, 1.0, u, k, cost);
        prop_assert!((found - low).abs() <= 1e-9 * cost, "{found} {low}");
        prop_assert_eq!(AnyLoss::LogLoss.dual_step(alpha, -1.0, -u, k, cost), found);
    }
}

#[test]
fn tubes_are_summed_as_their_samples() {
    let mut rng = crate::rng::Rng::new(3);
    for loss in losses() {
        let smoothed = Smoothed { loss, h: 0.25 };
        let Some(tube) = smoothed.tube() else {
            let is_tube =
                matches!(loss, AnyLoss::EpsilonInsensitive { .. } | AnyLoss::Quantile { .. });
            assert!(!is_tube);
            continue;
        };
        for n in [0, 1, 63, 64, 65, 300] {
            let mut random = || (0..n).map(|_| rng.normal()).collect::<Vec<f64>>();
            let (mut f, s, y) = (random(), random(), random());
            let mut cost: Vec<f64> = random().iter().map(|c| c.abs()).collect();
            if n > 1 {
                // No sample.
                (cost[n / 2], f[n / 2]) = (0.0, f64::INFINITY);
            }
            for t in [0.0, 0.5, 30.0] {
                let found = crate::simd::tube_sums(&tube, (&f, &s, t), &y, &cost);
                let mut plain = [0.0; 4];
                for i in (0..n).filter(|&i| cost[i] > 0.0) {
                    let c = smoothed.at(y[i], f[i] + t * s[i]).times(cost[i]);
                    let terms = [c.value, c.slope * s[i], c.curvature * s[i] * s[i], c.curvature];
                    plain.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
                }
                for (a, b) in found.iter().zip(plain) {
                    assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{loss:?} {n} {t}: {a} {b}");
                }
            }
        }
    }
}
