use super::*;
use crate::data::{Rows, Targets};
use crate::linalg::dot;
use crate::loss::{AnyLoss, Smoothed};
use crate::rng::Rng;
use crate::solver::recursive::{Block, Past, Place, Summary};
use crate::watch::Step;

const B: usize = 5;
const N: usize = B + 1;

fn on() -> Step {
    Ok(())
}

/// Features, classes and costs of rows.
struct Data {
    features: Vec<f64>,
    inputs: Vec<f64>,
    index: Vec<u32>,
    cost: Vec<f64>,
    penalty: Vec<f64>,
}

fn data(n: usize) -> Data {
    let mut rng = Rng::new(3);
    let index: Vec<u32> = (0..n).map(|i| u32::from(i % 3 == 0)).collect();
    let features = index.iter().flat_map(|&class| {
        let place: Vec<f64> = (0..B).map(|j| 0.3 * j as f64 + f64::from(class)).collect();
        place
    });
    let features: Vec<f64> = features.map(|at| at + rng.uniform()).collect();
    let inputs = features.chunks_exact(B).flat_map(|row| [row[0], row[1]]).collect();
    let mut penalty = vec![0.0; N * N];
    for i in 0..B {
        penalty[i * N + i] = 1.0;
    }
    let cost = (0..n).map(|i| 0.5 + (i % 4) as f64).collect();
    Data { features, inputs, index, cost, penalty }
}

impl Data {
    /// The rows themselves: what they are is theirs alone, here the first two features.
    fn rows(&self) -> Rows<'_, f64> {
        Rows::of_slice(&self.inputs, 2).unwrap()
    }

    fn block(&self, loss: AnyLoss) -> Block<'_, f64> {
        Block {
            features: &self.features,
            targets: Targets::Classes { index: &self.index, n_classes: 2 },
            cost: &self.cost,
            loss: Smoothed { loss, h: 0.3 },
            penalty: &self.penalty,
            with_offset: true,
            tilt: 0.0,
            portion: 1.0,
            unseen: 0.25,
            price: 0.5,
        }
    }
}

fn known(data: &Data) -> Moments {
    let mut moments = Moments::new(N, 2).unwrap();
    moments.absorb(&data.block(AnyLoss::Hinge), &data.rows(), &mut on).unwrap();
    moments
}

fn sure(rng: &mut Rng) -> Vec<f64> {
    (0..N).map(|_| 0.8 * rng.uniform() - 0.5).collect()
}

#[test]
fn groups_have_the_weights_and_the_mean_of_their_rows() {
    let data = data(700);
    let mut moments = known(&data);
    // Rows that come in two parts join the groups that there are.
    moments.absorb(&data.block(AnyLoss::Hinge), &data.rows(), &mut on).unwrap();
    let (labels, weights, means) = moments.groups();
    assert!(labels.len() > 200 && labels.len() <= 800);
    // The mean row of a group is that of its rows, as their features are.
    let middles = moments.middles();
    assert_eq!(middles.len(), 2 * labels.len());
    for j in 0..labels.len() {
        let near = |k: usize| (middles[2 * j + k] - means[j * N + k]).abs() < 1e-9;
        assert!(near(0) && near(1));
    }
    for class in 0..2 {
        let groups = (0..labels.len()).filter(|&j| labels[j] == class);
        let (mut weight, mut sum) = (0.0, [0.0; N]);
        for j in groups {
            weight += weights[j];
            (0..N).for_each(|k| sum[k] += weights[j] * means[j * N + k]);
        }
        let (mut own, mut expected) = (0.0, [0.0; N]);
        for i in (0..700).filter(|&i| data.index[i] == class) {
            own += 2.0 * data.cost[i];
            (0..B).for_each(|k| expected[k] += 2.0 * data.cost[i] * data.features[i * B + k]);
            expected[B] += 2.0 * data.cost[i];
        }
        assert!((weight - own).abs() < 1e-9 * own);
        assert!(sum.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9 * own));
    }
    // Rows of a group are nearer to each other than to all: what is left is a part of the variance.
    let (scatter, scattered, unseen) = moments.scatter();
    let all: f64 = data.cost.iter().sum();
    assert!((unseen - 0.5 * 0.25 * 2.0 * all).abs() < 1e-9 * all);
    assert!((0..B).all(|k| scatter[k * N + k] / scattered < 0.08 && scatter[k * N + k] > 0.0));
    assert_eq!(scatter[N * N - 1], 0.0);
    let before = moments.clone();
    moments.decay(0.5);
    assert_eq!(moments.groups().1[7], 0.5 * before.groups().1[7]);
    assert_eq!(moments.scatter().1, 0.5 * scattered_of(&before));
}

fn scattered_of(moments: &Moments) -> f64 {
    moments.scatter().1
}

#[test]
fn the_expansion_has_the_derivatives_of_the_loss() {
    let moments = known(&data(400));
    let mut rng = Rng::new(9);
    for (loss, smooth) in
        [(AnyLoss::Hinge, false), (AnyLoss::SquaredHinge, false), (AnyLoss::LogLoss, true)]
    {
        let of = (Smoothed { loss, h: 0.3 }, 0);
        let point = sure(&mut rng);
        let made = |point: &[f64]| {
            let at = moments.values(point).unwrap();
            moments.expansion(of, (point, &at), &mut on).unwrap()
        };
        let found = made(&point);
        let whole = moments.loss(of, &point).unwrap();
        assert!((found.value - whole).abs() < 1e-9 * whole, "{loss:?}");
        for k in 0..N {
            let moved = |by: f64| {
                let mut there = point.clone();
                there[k] += by;
                there
            };
            let far = 1e-5;
            let (up, down) = (made(&moved(far)), made(&moved(-far)));
            let slope = (up.value - down.value) / (2.0 * far);
            assert!((found.gradient[k] - slope).abs() < 1e-5 * whole, "{loss:?} {k}");
            for j in (0..N).filter(|_| smooth) {
                let bend = (up.gradient[j] - down.gradient[j]) / (2.0 * far);
                assert!((found.hessian[k * N + j] - bend).abs() < 1e-5 * whole, "{k} {j}");
            }
        }
        // Along a direction it is the loss of the points there.
        let direction = sure(&mut rng);
        let (at, along) = (moments.values(&point).unwrap(), moments.values(&direction).unwrap());
        let there: Vec<f64> = point.iter().zip(&direction).map(|(p, d)| p + 0.7 * d).collect();
        let on_ray = |t: f64| moments.curve_along(of, (&point, &at), (&direction, &along), t);
        let stepped = on_ray(0.7);
        assert!((stepped.value - moments.loss(of, &there).unwrap()).abs() < 1e-9 * whole);
        let (up, down) = (on_ray(0.7 + 1e-5), on_ray(0.7 - 1e-5));
        assert!((stepped.slope - (up.value - down.value) / 2e-5).abs() < 1e-5 * whole);
        let bend = (up.slope - down.slope) / 2e-5;
        assert!((stepped.curvature - bend).abs() < 1e-5 * whole || !smooth);
    }
}

#[test]
fn a_move_is_that_of_the_means_and_of_what_varies() {
    let moments = known(&data(300));
    let mut penalty = vec![0.0; N * N];
    for i in 0..B {
        (0..B).for_each(|j| penalty[i * N + j] = if i == j { 1.0 } else { 0.2 });
    }
    let cross = vec![0.5, 0.3, 0.4, 0.2, 0.1, 0.0];
    let kept = vec![Place::Old(2), Place::Changed(0), Place::Old(4), Place::Old(B)];
    let change = Change::new(kept, &penalty, (cross, vec![1.0]), true, &mut on).unwrap();
    let moved = moments.moved(&change, (&[], &[])).unwrap();
    assert_eq!(moved.unknowns(), 4);
    let mean = &moments.groups().2[6 * N..7 * N];
    let found = &moved.groups().2[24..28];
    assert_eq!([found[0], found[2], found[3]], [mean[2], mean[4], 1.0]);
    assert!((found[1] - change.of(mean).unwrap()[1]).abs() < 1e-12);
    // What rows see of a direction that was lacking is spread.
    let (before, scattered, unseen) = moments.scatter();
    let all: f64 = moments.groups().1.iter().sum();
    let row = |k: usize| (0..N).map(|j| before[k * N + j]).collect::<Vec<_>>();
    let held: Vec<f64> = (0..N).map(|k| change.of(&row(k)).unwrap()[1]).collect();
    let held = change.of(&held).unwrap()[1];
    let apart = change.apart[0] * scattered * unseen / all;
    assert!((moved.scatter().0[4 + 1] - held - apart).abs() < 1e-9 * apart);
    assert!(apart > 0.0);
    // Of mean rows more is known along the new point: as much as a group has of them otherwise.
    let count = moments.groups().0.len();
    let held: Vec<f64> = (0..count * B).map(|k| 0.1 + (k % 7) as f64).collect();
    let there: Vec<f64> = (0..count * 3).map(|k| 0.3 + (k % 5) as f64).collect();
    let lifted = moments.moved(&change, (&held, &there)).unwrap();
    let (means, plain, found) = (moments.groups().2, moved.groups().2, lifted.groups().2);
    let mut shares = 0.0;
    for j in 0..count {
        let own = &held[j * B..(j + 1) * B];
        let share = dot(&means[j * N..j * N + B], own) / dot(own, own);
        let share = share.clamp(0.0, 1.0);
        shares += share;
        let alone = change.of(&[own, &[0.0]].concat()).unwrap()[1];
        let more = share * (there[j * 3 + 1] - alone);
        assert!((found[j * 4 + 1] - plain[j * 4 + 1] - more).abs() < 1e-9);
        assert!([0, 2, 3].iter().all(|k| found[j * 4 + k] == plain[j * 4 + k]));
    }
    assert!(shares > 0.1 * count as f64);
}

#[test]
fn mean_rows_of_many_features_are_not_kept() {
    let data = data(40);
    let wide = 32 * (1 << 20) / (8 * 800) + 1;
    for (features, kept) in [(wide, false), (wide - 1, true)] {
        let inputs = vec![0.0; 40 * features];
        let mut moments = Moments::new(N, 2).unwrap();
        let rows = Rows::of_slice(&inputs, features).unwrap();
        moments.absorb(&data.block(AnyLoss::Hinge), &rows, &mut on).unwrap();
        assert_eq!(moments.middles().is_empty(), !kept);
        moments.absorb(&data.block(AnyLoss::Hinge), &rows, &mut on).unwrap();
        assert_eq!(moments.middles().is_empty(), !kept);
    }
}

#[test]
fn a_block_after_groups_is_solved_for() {
    let data = data(300);
    let moments = known(&data);
    let summary = Summary::new(N).unwrap();
    let pull: Vec<f64> = (0..N).map(|k| 0.1 * k as f64).collect();
    for loss in [AnyLoss::Hinge, AnyLoss::SquaredHinge, AnyLoss::LogLoss] {
        let block = data.block(loss);
        let past = Past { summary: &summary, moments: Some((&moments, &pull)) };
        let start = Some(vec![0.0; N]);
        let found = block.solve_after((past, f64::INFINITY), 0, start, &mut on).unwrap().unwrap();
        let (least, worth) = block.value_after(past, 0, &found).unwrap();
        let mut rng = Rng::new(1);
        for _ in 0..40 {
            let there: Vec<f64> = found.iter().map(|v| v + 0.05 * (rng.uniform() - 0.5)).collect();
            let other = block.value_after(past, 0, &there).unwrap().0;
            assert!(other > least - 2e-4 * worth, "{loss:?}");
        }
        // What is pulled is what the solution lacks of being the minimum: nothing is left to solve.
        let idle = Data { cost: vec![0.0; 300], ..data_of(&data) };
        let none = idle.block(loss);
        let tilt = moments.pull(&none, (0, &found), (1.0, 1.0), &mut on).unwrap();
        let past = Past { summary: &summary, moments: Some((&moments, &tilt)) };
        let start = Some(found.clone());
        let again = none.solve_after((past, f64::INFINITY), 0, start, &mut on).unwrap().unwrap();
        assert_eq!(again, found);
        // And it is the minimum of the parabola that stands for the rows there.
        let (about, beyond) = moments.about(&none, (0, &found, &tilt), &mut on).unwrap();
        assert!(beyond.iter().all(|v| v.abs() < 1e-9), "{loss:?}");
        let minimum = about.minimum(&data.penalty).unwrap();
        assert!(minimum.iter().zip(&found).all(|(a, b)| (a - b).abs() < 1e-6), "{loss:?}");
        assert!(about.unseen() > 0.0);
    }
}

fn data_of(data: &Data) -> Data {
    let Data { features, inputs, index, cost, penalty } = data;
    let (features, inputs, index) = (features.clone(), inputs.clone(), index.clone());
    Data { features, inputs, index, cost: cost.clone(), penalty: penalty.clone() }
}

#[test]
fn numbers_that_are_no_groups_are_refused() {
    let lower = vec![0.0; N * (N + 1) / 2];
    let made = |label, weight, scattered: f64| {
        let groups = (vec![label], vec![weight], vec![0.0; N]);
        Moments::from_parts((N, 2), groups, (&lower, scattered, 0.0), vec![0.0; N])
    };
    assert!(made(1, 1.0, 1.0).is_ok());
    assert!(made(2, 1.0, 1.0).is_err() && made(1, -1.0, 1.0).is_err());
    assert!(made(1, 1.0, f64::NAN).is_err() && made(1, f64::INFINITY, 1.0).is_err());
    let few = (vec![0], vec![1.0], vec![0.0; N - 1]);
    assert!(Moments::from_parts((N, 2), few, (&lower, 1.0, 0.0), vec![0.0; N]).is_err());
    let groups = made(1, 1.0, 1.0).unwrap();
    assert!(groups.clone().with_middles(vec![1.0; 3], 3).is_ok());
    assert!(groups.clone().with_middles(vec![1.0; 3], 2).is_err());
    assert!(groups.with_middles(vec![1.0, f64::NAN], 2).is_err());
}
