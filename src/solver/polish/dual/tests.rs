//! Passes by themselves, for every way that they go.

use super::*;
use crate::loss::AnyLoss;
use crate::solver::polish::tests::Toy;
use crate::solver::smoothed::basis_gram;
use crate::watch::Silent;

const N: usize = 700;
const B: usize = 48;
const CLASSES: usize = 5;
const COST: f64 = 2.0;
const H: f64 = 0.1;

/// Every other sample rests at first, though all of them matter.
fn outputs(features: &Features, toy: &Toy<f32>, until: Until) -> Vec<Ascent> {
    let of = |c: usize| {
        let y = |i: usize| if toy.classes[i] as usize == c { 1.0 } else { -1.0 };
        let one =
            |i: usize| Coordinate { row: features.row_of(i), y: y(i), a: 0.0, cost: COST as f32 };
        let half = |odd: usize| (0..N).filter(|i| i % 2 == odd).map(one).collect();
        Ascent::new((c, 0.0), &vec![0.0; features.stride()], [half(0), half(1)], until)
    };
    (0..CLASSES).map(of).collect()
}

/// Primal less dual and dual, and how far w is from `Σ C a φ`, from scratch.
fn gap(own: &Ascent, features: &Features, loss: Smoothed) -> (f64, f64, f64) {
    let row = |row: u32| {
        let mut values = vec![0.0; features.stride()];
        features.row(row as usize).write(&mut values);
        values.into_iter().map(f64::from).collect::<Vec<f64>>()
    };
    let mut w = vec![0.0; features.stride()];
    for one in own.coordinates() {
        let scale = f64::from(one.cost * one.a);
        w.iter_mut().zip(row(one.row)).for_each(|(w, v)| *w += scale * v);
    }
    let off = w.iter().zip(own.weights()).map(|(w, &v)| (w - f64::from(v)).abs());
    let (off, half) = (off.fold(0.0, f64::max), 0.5 * dot(&w, &w));
    let (mut primal, mut dual) = (half, -half);
    for one in own.coordinates() {
        let (y, f) = (f64::from(one.y), dot(&row(one.row), &w));
        primal += COST * loss.at(y, f).value;
        dual += COST * loss.dual_value(y, f64::from(one.a));
    }
    (primal - dual, dual, off)
}

#[test]
fn passes_come_as_near_as_is_asked_whatever_the_way_and_the_threads() {
    let toy = Toy::<f32>::new(17, N, B, CLASSES);
    let gram = basis_gram(&toy.kernel, &mut Watch::of_tests()).unwrap();
    let white =
        Cholesky::factor::<crate::error::Error>("kernel matrix", &gram, B, 1e-6, &mut || Ok(()));
    let white = white.unwrap();
    for (loss, tol) in [(AnyLoss::Hinge, 1e-4), (AnyLoss::SquaredHinge, 1e-6)] {
        let loss = Smoothed { loss, h: H };
        for near in [0, usize::MAX] {
            for until in [Until { patience: 3, recent: 0 }, Until { patience: 12, recent: 6 }] {
                let mut first: Option<Vec<Vec<f32>>> = None;
                for threads in [1, 2, 3, 7] {
                    let found = parallel::run(threads, |pool| {
                        let mut silent = Silent;
                        let watch = &mut Watch::new(&mut silent, pool);
                        let mut features = Features::new(&white, (N, B), (1 << 20, tol)).unwrap();
                        let all: Vec<u32> = (0..N as u32).collect();
                        assert!(features.add(&toy.kernel, &all, watch).is_ok_and(|fits| fits));
                        features.near = near;
                        let mut outputs = outputs(&features, &toy, until);
                        let asked = (400, tol);
                        assert!(passes(&mut outputs, (&features, loss), asked, watch).is_ok());
                        for own in &outputs {
                            assert!(own.is_done());
                            assert_eq!(own.coordinates().count(), N);
                            let (gap, dual, off) = gap(own, &features, loss);
                            assert!(off < 1e-3, "{off}");
                            // What is not asked for in the last pass may have moved a little.
                            let room = if until.recent == 0 { 1.0 } else { 3.0 };
                            let within = room * tol * dual + 1e-5 * dual;
                            assert!(gap <= within, "{near} {until:?} {gap} {dual}");
                        }
                        outputs.iter().map(|own| own.weights().to_vec()).collect::<Vec<_>>()
                    })
                    .unwrap();
                    assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{threads}");
                }
            }
        }
    }
}
