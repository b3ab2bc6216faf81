use super::*;
use crate::data::Targets;
use crate::loss::{AnyLoss, Smoothed};
use crate::rng::Rng;

/// Kernel values of points on a line: a basis of `b`, and `n` rows.
struct Data {
    penalty: Vec<f64>,
    features: Vec<f64>,
    values: Vec<f64>,
    cost: Vec<f64>,
    b: usize,
    with_offset: bool,
}

fn kernel(a: f64, b: f64) -> f64 {
    (-(a - b) * (a - b)).exp()
}

fn data(n: usize, b: usize, with_offset: bool) -> Data {
    let mut rng = Rng::new(7);
    let basis: Vec<f64> = (0..b).map(|j| j as f64 * 0.8).collect();
    let rows: Vec<f64> = (0..n).map(|_| rng.uniform() * b as f64).collect();
    let order = b + usize::from(with_offset);
    let mut penalty = vec![0.0; order * order];
    for (i, &s) in basis.iter().enumerate() {
        for (j, &t) in basis.iter().enumerate() {
            penalty[i * order + j] = kernel(s, t);
        }
    }
    Data {
        penalty,
        features: rows.iter().flat_map(|&x| basis.iter().map(move |&s| kernel(x, s))).collect(),
        values: rows.iter().map(|&x| x.sin() + 0.3 * rng.uniform() + 2.0).collect(),
        cost: (0..n).map(|_| 0.5 + 3.0 * rng.uniform()).collect(),
        b,
        with_offset,
    }
}

impl Data {
    fn block(&self, loss: Smoothed, rows: std::ops::Range<usize>) -> Block<'_, f64> {
        Block {
            features: &self.features[rows.start * self.b..rows.end * self.b],
            targets: Targets::Values(&self.values[rows.clone()]),
            cost: &self.cost[rows],
            loss,
            penalty: &self.penalty,
            with_offset: self.with_offset,
            tilt: 0.0,
            portion: 1.0,
            unseen: 0.0,
            price: 1.0,
        }
    }

    fn unknowns(&self) -> usize {
        self.b + usize::from(self.with_offset)
    }
}

fn on() -> Step {
    Ok(())
}

fn learn(data: &Data, loss: Smoothed, cuts: &[usize]) -> (Summary, Vec<f64>) {
    let mut summary = Summary::new(data.unknowns()).unwrap();
    let mut point = Vec::new();
    let mut first = 0;
    for &last in cuts {
        let block = data.block(loss, first..last);
        point = block.solve(&summary, 0, None, &mut on).unwrap();
        block.absorb(&mut summary, 0, &point, None, &mut on).unwrap();
        first = last;
    }
    (summary, point)
}

fn far(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The objective of all rows at once, written down.
fn objective(data: &Data, loss: Smoothed, point: &[f64]) -> f64 {
    let n = data.unknowns();
    let mut value = 0.0;
    for i in 0..n {
        for j in 0..n {
            value += 0.5 * point[i] * data.penalty[i * n + j] * point[j];
        }
    }
    for (i, row) in data.features.chunks(data.b).enumerate() {
        let offset = if data.with_offset { point[data.b] } else { 0.0 };
        let f = row.iter().zip(point).map(|(a, b)| a * b).sum::<f64>() + offset;
        value += data.cost[i] * loss.at(data.values[i], f).value;
    }
    value
}

#[test]
fn a_squared_loss_is_learnt_exactly_whatever_the_blocks() {
    for with_offset in [false, true] {
        let data = data(120, 6, with_offset);
        let loss = Smoothed { loss: AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 }, h: 0.1 };
        let (_, all) = learn(&data, loss, &[120]);
        for cuts in [&[40, 80, 120][..], &[7, 19, 100, 120][..]] {
            let (summary, point) = learn(&data, loss, cuts);
            assert!(far(&point, &all) < 1e-8 * (1.0 + all[0].abs()), "{point:?} {all:?}");
            // The solution need not be kept.
            assert!(far(&summary.minimum(&data.penalty).unwrap(), &all) < 1e-8);
        }
    }
}

#[test]
fn one_block_is_the_minimum_of_its_objective() {
    for with_offset in [false, true] {
        let data = data(80, 5, with_offset);
        for loss in [
            AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
            AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 },
            AnyLoss::Quantile { quantile: 0.8 },
        ] {
            let loss = Smoothed { loss, h: 0.05 };
            let (_, point) = learn(&data, loss, &[80]);
            let least = objective(&data, loss, &point);
            // No step along an axis lowers it by more than its tolerance.
            for axis in 0..data.unknowns() {
                for step in [-1e-3, 1e-3] {
                    let mut moved = point.clone();
                    moved[axis] += step;
                    let gain = least - objective(&data, loss, &moved);
                    assert!(gain < 2e-4 * least, "{loss:?} {axis} {gain} {least}");
                }
            }
        }
    }
}

#[test]
fn what_is_absorbed_keeps_the_minimum_and_has_the_curvature_of_wide_corners() {
    let data = data(60, 4, true);
    let loss = Smoothed { loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, h: 0.2 };
    let (summary, _) = learn(&data, loss, &[60]);
    let block = data.block(loss, 0..60);
    let point = vec![0.4, -0.2, 0.7, 0.1, 1.5];
    let mut after = summary.clone();
    let block = Block { unseen: 0.5, price: 0.5, ..block };
    block.absorb(&mut after, 0, &point, None, &mut on).unwrap();
    // The gradient of what was added is that of the losses, by differences.
    let n = 5;
    let losses = |at: &[f64]| {
        let flat = Data { penalty: vec![0.0; n * n], ..data_of(&data) };
        objective(&flat, loss, at)
    };
    for axis in 0..n {
        let (mut up, mut down) = (point.clone(), point.clone());
        (up[axis], down[axis]) = (up[axis] + 1e-6, down[axis] - 1e-6);
        let slope = (losses(&up) - losses(&down)) / 2e-6;
        let row = |s: &Summary| {
            (0..n).map(|j| s.hessian[axis * n + j] * point[j]).sum::<f64>() - s.linear[axis]
        };
        assert!((row(&after) - row(&summary) - slope).abs() < 1e-5, "{axis}");
    }
    let mut curvature = 0.0;
    for (i, row) in data.features.chunks(data.b).enumerate() {
        let f = row.iter().zip(&point).map(|(a, b)| a * b).sum::<f64>() + point[4];
        let wide = Smoothed { h: WIDER * loss.h, ..loss };
        curvature += data.cost[i] * wide.at(data.values[i], f).curvature;
    }
    let added = after.hessian[n * n - 1] - summary.hessian[n * n - 1];
    assert!((added - curvature).abs() < 1e-9 * curvature);
    // And of what the basis does not hold.
    assert!((after.unseen - summary.unseen - 0.25 * curvature).abs() < 1e-9 * curvature);
    after.decay(0.5);
    assert!((after.unseen - 0.5 * (summary.unseen + 0.25 * curvature)).abs() < 1e-9 * curvature);
}

/// The minimum of `½ βᵀAβ - gᵀβ` over β that are 0 where `gone`, by elimination, and its value.
fn minimum_without(a: &[f64], g: &[f64], gone: &[usize]) -> (Vec<f64>, f64) {
    let n = g.len();
    let (mut a, mut g) = (a.to_vec(), g.to_vec());
    let (whole, linear) = (a.clone(), g.clone());
    for &j in gone {
        (0..n).for_each(|i| (a[i * n + j], a[j * n + i]) = (0.0, 0.0));
        (a[j * n + j], g[j]) = (1.0, 0.0);
    }
    for k in 0..n {
        for i in (0..n).filter(|&i| i != k) {
            let factor = a[i * n + k] / a[k * n + k];
            (0..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
            g[i] -= factor * g[k];
        }
    }
    let point: Vec<f64> = (0..n).map(|i| g[i] / a[i * n + i]).collect();
    let half = |i: usize| 0.5 * dot(&whole[i * n..(i + 1) * n], &point) * point[i];
    let value = (0..n).map(half).sum::<f64>() - dot(&linear, &point);
    (point, value)
}

#[test]
fn a_term_is_worth_what_the_objective_loses_without_it() {
    for with_offset in [false, true] {
        let data = data(120, 6, with_offset);
        let loss = Smoothed { loss: AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 }, h: 0.1 };
        let (summary, _) = learn(&data, loss, &[70]);
        let block = data.block(loss, 70..120);
        let point = block.solve(&summary, 0, None, &mut on).unwrap();
        // A squared loss is a parabola: with the block in the summary that is all of the objective.
        let mut all = summary.clone();
        block.absorb(&mut all, 0, &point, None, &mut on).unwrap();
        let a: Vec<f64> = all.hessian.iter().zip(&data.penalty).map(|(h, k)| h + k).collect();
        let mut worth = block.worth(&summary, (0, &point), &mut on).unwrap();
        let mut gone = Vec::new();
        for j in [2, 5, 0] {
            let (_, with) = minimum_without(&a, &all.linear, &gone);
            gone.push(j);
            let (expected, without) = minimum_without(&a, &all.linear, &gone);
            let lost = worth.of(j);
            assert!((lost - (without - with)).abs() < 1e-6 * (1.0 + lost), "{j} {lost}");
            worth.without(j).unwrap();
            assert!(far(&worth.point, &expected) < 1e-6, "{:?} {expected:?}", worth.point);
            assert_eq!((worth.point[j], worth.of(j)), (0.0, 0.0));
        }
    }
}

#[test]
fn slopes_are_those_of_the_losses() {
    let mut data = data(60, 4, true);
    data.cost[7] = 0.0;
    let loss = Smoothed { loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, h: 0.2 };
    let point = vec![0.4, -0.2, 0.7, 0.1, 1.5];
    let found = data.block(loss, 0..60).slopes(0, &point).unwrap();
    for (i, row) in data.features.chunks(data.b).enumerate() {
        let f = row.iter().zip(&point).map(|(a, b)| a * b).sum::<f64>() + point[4];
        let at = |f: f64| data.cost[i] * loss.at(data.values[i], f).value;
        let slope = (at(f + 1e-6) - at(f - 1e-6)) / 2e-6;
        assert!((found[i] - slope).abs() < 1e-5 * (1.0 + slope.abs()), "{i} {} {slope}", found[i]);
    }
}

#[test]
fn what_rows_lost_is_told_with_and_without_the_basis() {
    let data = data(60, 4, true);
    let loss = Smoothed { loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, h: 0.2 };
    let (mut summary, _) = learn(&data, loss, &[60]);
    let before = summary.lost();
    let point = vec![0.4, -0.2, 0.7, 0.1, 1.5];
    data.block(loss, 0..60).absorb(&mut summary, 0, &point, None, &mut on).unwrap();
    let (mut learnt, mut untold) = (before.learnt, before.untold);
    for (i, row) in data.features.chunks(data.b).enumerate() {
        let f = row.iter().zip(&point).map(|(a, b)| a * b).sum::<f64>() + point[4];
        learnt += data.cost[i] * loss.at(data.values[i], f).value;
        untold += data.cost[i] * loss.at(data.values[i], point[4]).value;
    }
    let found = summary.lost();
    assert!((found.learnt - learnt).abs() < 1e-9 * learnt, "{found:?} {learnt}");
    assert!((found.untold - untold).abs() < 1e-9 * untold, "{found:?} {untold}");
    summary.decay(0.5);
    assert_eq!(summary.lost(), Lost { learnt: 0.5 * found.learnt, untold: 0.5 * found.untold });
    assert!(summary.clone().with_lost(Lost { learnt: f64::NAN, untold: 1.0 }).is_err());
    assert!(summary.with_lost(Lost { learnt: 1.0, untold: -1.0 }).is_err());
}

#[test]
fn what_a_basis_cannot_tell_is_measured_by_what_it_could() {
    let lost = |learnt, untold| Lost { learnt, untold };
    assert_eq!(lost(5.0, 10.0).beyond(lost(0.0, 10.0)), 0.5);
    assert_eq!(lost(10.0, 10.0).beyond(lost(9.0, 10.0)), 1.0);
    // Noise that the basis never could tell is no news, nor is what it tells better.
    assert_eq!(lost(9.0, 10.0).beyond(lost(90.0, 100.0)), 0.0);
    assert_eq!(lost(10.0, 10.0).beyond(lost(10.0, 10.0)), 0.0);
    assert_eq!(lost(1.0, 10.0).beyond(lost(2.0, 10.0)), 0.0);
    // Of nothing nothing is known.
    assert_eq!(lost(5.0, 10.0).beyond(Lost::default()), 0.0);
    assert_eq!(Lost::default().beyond(lost(1.0, 10.0)), 0.0);
}

fn data_of(data: &Data) -> Data {
    Data {
        penalty: data.penalty.clone(),
        features: data.features.clone(),
        values: data.values.clone(),
        cost: data.cost.clone(),
        ..*data
    }
}

#[test]
fn a_move_is_that_of_the_features() {
    // Three points become two kept ones in another order and one new; the offset stays.
    let old = [0.0, 0.7, 1.9];
    let n = 4;
    let mut penalty = vec![0.0; n * n];
    for i in 0..3 {
        for j in 0..3 {
            penalty[i * n + j] = kernel(old[i], old[j]);
        }
    }
    let features: Vec<f64> = [0.3, 1.0, 2.2, 0.9, 1.4]
        .iter()
        .flat_map(|&x: &f64| old.map(|s| kernel(x, s)).into_iter().chain([1.0]))
        .collect();
    let mut summary = Summary::new(n).unwrap();
    for row in features.chunks(n) {
        for i in 0..n {
            summary.linear[i] += 0.3 * row[i];
            for j in 0..n {
                summary.hessian[i * n + j] += row[i] * row[j];
            }
        }
    }
    let cross = old.iter().map(|&s| kernel(1.2, s)).chain([0.0]).collect();
    let kept = vec![Place::Old(2), Place::Changed(0), Place::Old(0), Place::Old(3)];
    let change = Change::new(kept, &penalty, (cross, vec![1.0]), true, &mut on).unwrap();
    // A part of the new point that the old ones do not hold costs what is not seen.
    let moved = summary.moved(&change, 1.0).unwrap();
    let apart = 1.0 - (0..3).map(|j| change.rows[j] * kernel(1.2, old[j])).sum::<f64>();
    assert!(apart > 1e-3 && (change.apart[0] - apart).abs() < 1e-12);
    let wary = Summary { unseen: 7.0, ..summary.clone() }.moved(&change, 1.0).unwrap();
    assert!((wary.hessian[n + 1] - moved.hessian[n + 1] - 7.0 * apart).abs() < 1e-12);
    assert_eq!(wary.unseen, 7.0);
    let bold = Summary { unseen: 7.0, ..summary.clone() }.moved(&change, 0.25).unwrap();
    assert!((bold.hessian[n + 1] - moved.hessian[n + 1] - 1.75 * apart).abs() < 1e-12);
    assert_eq!(bold.unseen, 7.0);
    let others = (0..n * n).filter(|&at| at != n + 1);
    assert!(others.into_iter().all(|at| wary.hessian[at] == moved.hessian[at]));
    // The same of the features that the new basis sees: the new one is what the old ones know.
    let x = &change.rows;
    let mut expected = Summary::new(n).unwrap();
    for row in features.chunks(n) {
        let new = row.iter().zip(x).map(|(a, b)| a * b).sum::<f64>();
        let row = [row[2], new, row[0], row[3]];
        for i in 0..n {
            expected.linear[i] += 0.3 * row[i];
            for j in 0..n {
                expected.hessian[i * n + j] += row[i] * row[j];
            }
        }
    }
    assert!(far(&moved.hessian, &expected.hessian) < 1e-12);
    assert!(far(&moved.linear, &expected.linear) < 1e-12);
    // And the new point's feature of a row that is a point of the old basis is its kernel value.
    for &s in &old {
        let seen: f64 = (0..3).map(|j| x[j] * kernel(s, old[j])).sum();
        assert!((seen - kernel(s, 1.2)).abs() < 1e-4);
    }
    assert!(
        Change::new(vec![Place::Old(0)], &[1.0], Default::default(), false, &mut on)
            .unwrap()
            .is_none()
    );
}

#[test]
fn directions_by_rows_are_those_of_the_hessian() {
    let data = data(40, 6, true);
    let (n, b) = (7, 6);
    let mut curved = data.penalty.clone();
    curved[n * n - 1] = 0.5;
    let factor = Cholesky::factor::<Halt>("test", &curved, n, 0.0, &mut on).unwrap();
    let mut whitened = whitened::Whitened::new(factor, 40).unwrap();
    let row = |i: usize| &data.features[i * b..(i + 1) * b];
    // Rows come and go.
    for zone in [vec![(3, 2.0), (17, 0.3)], vec![(17, 1.0), (5, 4.0), (39, 0.7)], Vec::new()] {
        let right: Vec<f64> = (0..n).map(|i| (i as f64).cos()).collect();
        let mut direction = right.clone();
        whitened.solve(&zone, row, &mut direction, &mut on).unwrap();
        let mut back = symmetric_times(&curved, &direction);
        for &(i, curvature) in &zone {
            let features: Vec<f64> = row(i).iter().copied().chain([1.0]).collect();
            let inner = crate::linalg::dot(&features, &direction);
            axpy(curvature * inner, &features, &mut back);
        }
        assert!(far(&back, &right) < 1e-8, "{back:?}");
    }
}

#[test]
fn what_classes_have_in_common_is_summed_once() {
    let data = data(60, 5, true);
    let index: Vec<u32> = (0..60).map(|i| i % 3).collect();
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge, AnyLoss::LogLoss] {
        let block = Block {
            targets: Targets::Classes { index: &index, n_classes: 3 },
            ..data.block(Smoothed { loss, h: 0.3 }, 0..60)
        };
        let common = block.common(3, &mut on).unwrap();
        let point: Vec<f64> = (0..6).map(|i| 0.2 * (i as f64).sin()).collect();
        let (mut a, mut b) = (Summary::new(6).unwrap(), Summary::new(6).unwrap());
        block.absorb(&mut a, 1, &point, None, &mut on).unwrap();
        block.absorb(&mut b, 1, &point, common.as_deref(), &mut on).unwrap();
        assert!(far(a.hessian(), b.hessian()) < 1e-10, "{loss:?}");
        assert_eq!(a.linear(), b.linear());
    }
    assert!(
        data.block(Smoothed { loss: AnyLoss::Hinge, h: 0.3 }, 0..60)
            .common(1, &mut on)
            .unwrap()
            .is_none()
    );
}

#[test]
fn a_tilt_is_learnt_with_its_rows() {
    // A squared loss is learnt exactly, whatever the blocks, with the tilt that each of them brings.
    let data = data(90, 5, true);
    let loss = Smoothed { loss: AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.0 }, h: 0.1 };
    let tilted = |cuts: &[usize]| {
        let mut summary = Summary::new(data.unknowns()).unwrap();
        let (mut point, mut first) = (vec![0.0; data.unknowns()], 0);
        for &last in cuts {
            let tilt = 0.4 * data.cost[first..last].iter().sum::<f64>();
            let block = Block { tilt, ..data.block(loss, first..last) };
            point = block.solve(&summary, 0, Some(point), &mut on).unwrap();
            block.absorb(&mut summary, 0, &point, None, &mut on).unwrap();
            first = last;
        }
        assert!(far(&summary.minimum(&data.penalty).unwrap(), &point) < 1e-7);
        point
    };
    let all = tilted(&[90]);
    assert!(far(&tilted(&[30, 41, 90]), &all) < 1e-8);
    // It is a minimum of the objective with the tilt.
    let tilt = 0.4 * data.cost.iter().sum::<f64>();
    let at = |point: &[f64]| objective(&data, loss, point) + tilt * point[5];
    for axis in 0..6 {
        for step in [-1e-3, 1e-3] {
            let mut moved = all.clone();
            moved[axis] += step;
            assert!(at(&moved) > at(&all), "{axis} {step}");
        }
    }
}

#[test]
fn a_minimum_above_the_ceiling_is_told_before_it_is_found() {
    for (with_offset, loss) in [
        (false, AnyLoss::EpsilonInsensitive { epsilon: 0.1 }),
        (true, AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 }),
        (true, AnyLoss::Quantile { quantile: 0.3 }),
    ] {
        let data = data(300, 220, with_offset);
        let loss = Smoothed { loss, h: 0.1 };
        let (summary, _) = learn(&data, loss, &[200]);
        let block = Block { tilt: 0.3, ..data.block(loss, 200..300) };
        let found = block.solve(&summary, 0, None, &mut on).unwrap();
        let (least, worth) = block.value(&summary, 0, &found).unwrap();
        let below = |ceiling| block.solve_below((&summary, ceiling), 0, None, &mut on).unwrap();
        assert_eq!(below(least + 1e-6 * worth), Some(found));
        // Steps end within 1e-4 of what the block is worth.
        assert_eq!(below(least - 1e-3 * worth), None);
    }
}

#[test]
fn the_ceiling_is_of_the_objective_with_few_unknowns_too() {
    let data = data(200, 6, true);
    let loss = Smoothed { loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, h: 0.2 };
    let (summary, _) = learn(&data, loss, &[120]);
    let block = data.block(loss, 120..200);
    let found = block.solve(&summary, 0, None, &mut on).unwrap();
    let (least, worth) = block.value(&summary, 0, &found).unwrap();
    let below = |ceiling| block.solve_below((&summary, ceiling), 0, None, &mut on).unwrap();
    assert_eq!(below(least + 1e-6 * worth), Some(found));
    assert_eq!(below(least - 1e-2 * worth), None);
}
