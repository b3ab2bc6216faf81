//! The iterate against plain vectors, the ascent against its certificate.

use ndarray::Array2;

use super::panel::Panels;
use super::plan::Output;
use super::*;
use crate::data::{Rows, SampleOrder, Targets};
use crate::error::{Error, Result};
use crate::features::{FeatureMap, Fourier, Nystroem, Waves};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::rng::Rng;
use crate::watch::{StopReason, Watch};

#[test]
fn the_iterate_walks_as_a_plain_vector() {
    let mut rng = Rng::new(1);
    let mut w = vec![0.0; 9];
    let (mut sum, mut weight) = (vec![0.0; 9], 0.0);
    let mut fast = Iterate::new(&w);
    for step in 0..400 {
        let z: Vec<f64> = (0..9).map(|_| rng.normal()).collect();
        let plain: f64 = w.iter().zip(&z).map(|(a, b)| a * b).sum();
        assert!((fast.product(&z) - plain).abs() < 1e-9);
        // A factor of 0, as in the first step of ASSET*, and ones that underflow the scale.
        let factor = if step % 97 == 0 { 0.0 } else { rng.uniform() };
        fast.shrink(factor);
        w.iter_mut().for_each(|v| *v *= factor);
        let by = rng.normal();
        let norm = z.iter().map(|v| v * v).sum();
        fast.add(by, &z, factor * plain, norm);
        w.iter_mut().zip(&z).for_each(|(v, z)| *v += by * z);
        let radius = 2.0;
        fast.project(radius);
        let length = w.iter().map(|v| v * v).sum::<f64>().sqrt();
        if length > radius {
            w.iter_mut().for_each(|v| *v *= radius / length);
        }
        assert!(fast.sq_norm().sqrt() <= radius * (1.0 + 1e-9));
        if step > 250 {
            fast.average(1.0 / step as f64);
            weight += 1.0 / step as f64;
            sum.iter_mut().zip(&w).for_each(|(s, v)| *s += v / step as f64);
        }
        if step % 50 == 0 {
            fast.refresh();
        }
        for (a, b) in fast.current().iter().zip(&w) {
            assert!((a - b).abs() < 1e-9);
        }
    }
    for (a, b) in fast.mean().iter().zip(&sum) {
        assert!((a - b / weight).abs() < 1e-9);
    }
}

fn problem(n: usize) -> (Array2<f64>, Vec<u32>, Vec<f64>) {
    let mut rng = Rng::new(4);
    let x = Array2::from_shape_fn((n, 3), |_| rng.normal());
    let index = (0..n).map(|i| u32::from(x[[i, 0]] * x[[i, 1]] + 0.3 * rng.normal() > 0.0));
    let index = index.collect();
    let y = (0..n).map(|i| x[[i, 0]].sin() + 0.1 * rng.normal()).collect();
    (x, index, y)
}

fn solve(
    loss: AnyLoss,
    targets: Targets<'_>,
    (x, cost): (&Array2<f64>, &[f64]),
    change: impl Fn(Ascent) -> Ascent,
) -> Result<Solution> {
    let rows = Rows::Dense(x.view());
    let config = Nystroem {
        kernel: AnyKernel::Gaussian { gamma: 0.5 },
        n_components: 25,
        n_landmarks: None,
        threshold: None,
        seed: 0,
    };
    let map = FeatureMap::Landmarks(config.fit(&rows, &mut Watch::of_tests())?.0);
    let index: Vec<usize> = (0..x.nrows()).collect();
    let source = Source::new(&map, rows, &index, usize::MAX, &mut Watch::of_tests())?;
    let task = Task { targets, index: &index, cost, total: cost.iter().sum() };
    let settings = change(Ascent {
        loss,
        fit_intercept: false,
        max_iter: 20_000,
        tol: 1e-7,
        shrinking: true,
        seed: 1,
    });
    ascend(&settings, &source, &task, &mut Watch::of_tests())
}

/// Weak duality makes a small gap a proof, whatever path led there.
#[test]
fn the_ascent_closes_the_gap_with_and_without_shrinking() {
    let (x, index, y) = problem(300);
    let cost: Vec<f64> = (0..300).map(|i| 0.5 + (i % 3) as f64).collect();
    let classes = Targets::Classes { index: &index, n_classes: 2 };
    let values = Targets::Values(&y);
    for (loss, targets) in [
        (AnyLoss::Hinge, classes),
        (AnyLoss::SquaredHinge, classes),
        (AnyLoss::LogLoss, classes),
        (AnyLoss::EpsilonInsensitive { epsilon: 0.1 }, values),
        (AnyLoss::SquaredEpsilonInsensitive { epsilon: 0.1 }, values),
        (AnyLoss::Quantile { quantile: 0.3 }, values),
    ] {
        let mut primal = Vec::new();
        for (shrinking, fit_intercept) in [(true, false), (false, false), (true, true)] {
            let found =
                solve(loss, targets, (&x, &cost), |s| Ascent { shrinking, fit_intercept, ..s })
                    .unwrap();
            assert_eq!(found.stop, StopReason::Converged, "{loss:?}");
            let gap = found.primal - found.dual;
            assert!(gap >= -1e-9 * found.primal && gap <= 1e-5 * found.primal, "{loss:?} {gap}");
            assert_eq!(fit_intercept, found.intercept[0] != 0.0);
            primal.push(found.primal);
        }
        assert!((primal[0] - primal[1]).abs() <= 1e-5 * primal[0]);
        // One more feature.
        assert!(primal[2] <= primal[0] * (1.0 + 1e-5));
    }
}

#[test]
fn the_ascent_says_that_it_ended_early_and_refuses_nonsense() {
    let (x, index, _) = problem(100);
    let cost = vec![1e4; 100];
    let targets = Targets::Classes { index: &index, n_classes: 2 };
    let at = |change: fn(Ascent) -> Ascent| solve(AnyLoss::Hinge, targets, (&x, &cost), change);
    let early = at(|s| Ascent { max_iter: 2, ..s }).unwrap();
    assert_eq!((early.stop, early.n_iter), (StopReason::MaxIter, 2));
    assert!(early.primal > early.dual);
    for bad in [at(|s| Ascent { max_iter: 0, ..s }), at(|s| Ascent { tol: 0.0, ..s })] {
        assert!(matches!(bad, Err(Error::InvalidParam { .. })));
    }
}

/// Of every output, alone and in panels on so many threads, after some passes: current and mean w,
/// and both offsets.
fn both_ways(settings: &Settings, task: &Task<'_>, threads: usize) -> [Vec<Vec<f64>>; 2] {
    let mut rng = Rng::new(9);
    // No multiple of a line of features, nor of the rows that walk together.
    let (n, width, block) = (task.cost.len(), 21, 83);
    let x = Array2::from_shape_fn((n, 2), |_| rng.normal());
    let config = Fourier { n_components: width, waves: Waves::Shifted, ..Fourier::default() };
    let map = FeatureMap::Fourier(config.fit(2, &mut Watch::of_tests()).unwrap());
    let rows = Rows::Dense(x.view());
    let mut source = Source::new(&map, rows, task.index, 0, &mut Watch::of_tests()).unwrap();
    let start: Vec<f64> = (0..width).map(|_| rng.normal()).collect();
    let begin =
        |c| Output { iterate: Iterate::new(&start), intercept: c as f64, mean_intercept: 0.0 };
    let begin = || (0..task.targets.n_outputs()).map(begin).collect::<Vec<_>>();
    let (mut alone, mut panels) = (begin(), Panels::of(&mut begin(), threads));
    let order: Vec<usize> = (0..n).collect();
    let (mut gradient, steps) = (0.0, (settings.max_iter * n) as u64);
    let (mut plan, mut done) = (None, 0);
    for block in (0..settings.max_iter).flat_map(|_| order.chunks(block)) {
        source.load(block, &mut Watch::of_tests()).unwrap();
        let plan = plan.get_or_insert_with(|| {
            let norms: Vec<f64> = (0..block.len()).map(|at| source.sq_norm(block, at)).collect();
            settings.plan(task, (block, &norms), &mut gradient, steps)
        });
        let told = &plan.told(block, done);
        for (c, output) in alone.iter_mut().enumerate() {
            plan.block((c, output), &source, (block, told), 0);
        }
        panels.iter_mut().for_each(|panels| panels.block(plan, &source, (block, told), 0));
        done += block.len() as u64;
    }
    let said = |o: Output| {
        let offsets = vec![o.intercept, o.mean_intercept];
        [o.iterate.current(), o.iterate.mean(), offsets].concat()
    };
    let panels = panels.into_iter().flat_map(|panels| panels.apart(width));
    [alone.into_iter().map(said).collect(), panels.map(said).collect()]
}

#[test]
fn outputs_in_panels_take_the_steps_that_each_takes_alone() {
    let (n, k) = (203, 19);
    let mut rng = Rng::new(7);
    let values: Vec<f64> = (0..n * k).map(|_| rng.normal()).collect();
    let index: Vec<u32> = (0..n).map(|i| (i * i % k) as u32).collect();
    let (values, classes) =
        (Targets::columns(&values, k), Targets::Classes { index: &index, n_classes: k });
    let samples: Vec<usize> = (0..n).collect();
    let settings = Settings {
        loss: AnyLoss::EpsilonInsensitive { epsilon: 0.1 },
        strongly_convex: false,
        fit_intercept: true,
        max_intercept: None,
        max_iter: 3,
        average: Average::Share(0.5),
        order: SampleOrder::Sequential,
        stream: false,
    };
    let convex = Settings { strongly_convex: true, fit_intercept: false, ..settings.clone() };
    let of = |loss| Settings { loss, ..settings.clone() };
    for (settings, targets) in [
        (settings.clone(), values),
        (of(AnyLoss::Quantile { quantile: 0.2 }), values),
        (convex.clone(), values),
        (of(AnyLoss::Hinge), classes),
        (of(AnyLoss::LogLoss), classes),
        (Settings { loss: AnyLoss::Hinge, ..convex }, classes),
        (
            Settings { max_intercept: Some(0.5), average: Average::Last(100), ..settings.clone() },
            values,
        ),
        (Settings { average: Average::Share(1.0), stream: true, ..settings.clone() }, values),
        (Settings { average: Average::None, ..settings.clone() }, values),
    ] {
        // Little costs shrink w by much a step, and pull it into a small ball.
        for size in [1e-4, 1e-2, 1.0] {
            let cost: Vec<f64> = (0..n).map(|i| size * (1 + i % 3) as f64).collect();
            let task = Task { targets, index: &samples, cost: &cost, total: cost.iter().sum() };
            let [alone, together] = both_ways(&settings, &task, 1);
            assert_eq!((alone.len(), together.len()), (k, k));
            for (alone, together) in alone.iter().zip(&together) {
                let most = alone.iter().fold(1e-300f64, |most, v| most.max(v.abs()));
                for (a, b) in alone.iter().zip(together) {
                    assert!((a - b).abs() <= 1e-9 * most, "{settings:?} {size}: {a} {b}");
                }
            }
            assert_eq!(together, both_ways(&settings, &task, 2)[1]);
        }
    }
}
