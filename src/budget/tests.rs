//! Merging on expansions so large that the search is cut into parts.

use super::merge_search::{MergeSearch, degradation_at};
use super::shared_search::Pair;
use super::{AnyMaintenance, Event, Maintainer};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Expansion;
use crate::parallel::run;
use crate::rng::Rng;
use crate::simd::Tile;

const D: usize = 60;
/// Several parts of a row, two of a search.
const TERMS: usize = 4500;
const KERNEL: AnyKernel = AnyKernel::Gaussian { gamma: 3.0 / D as f64 };

fn expansion<F: Real>(outputs: usize) -> Expansion<F> {
    let mut rng = Rng::new(40 + outputs as u64);
    let mut made = Expansion::new(KERNEL, Vec::new(), D, outputs).unwrap();
    let mut row = vec![F::zero(); D];
    for _ in 0..TERMS + 1 {
        row.iter_mut().for_each(|v| *v = F::from_f64(rng.uniform()));
        let slot = made.push(&row).unwrap();
        (0..outputs).for_each(|c| made.set_coef(slot, c, 2.0 * rng.uniform() - 1.0));
    }
    made
}

/// The members of the last merge.
#[derive(Default)]
struct Merged(Vec<usize>);

impl Event for Merged {
    fn coef_changed(&mut self, _: usize, _: &[f64]) {}
    fn merged(&mut self, parts: &[(usize, f64)], _: &[f64], _: f64, _: &[f64]) {
        self.0 = parts.iter().map(|part| part.0).collect();
    }
    fn removed(&mut self, _: usize, _: usize) {}
}

/// Events until `budget` terms are left: coefficients, points, and the sums of what was lost.
fn reduced<F: Real>(
    (outputs, size, search): (usize, usize, MergeSearch),
    (threads, from): (usize, usize),
) -> (Vec<f64>, Vec<F>, f64) {
    let mut model = expansion::<F>(outputs);
    let merge = AnyMaintenance::Merge { size, search };
    let mut maintainer = Maintainer::new(merge, KERNEL, 0).unwrap().sharing_from(from, from);
    let lost = run(threads, |_| maintainer.reduce(&mut model, TERMS - 12, &mut ()).unwrap());
    (model.padded_coef().to_vec(), model.centers().rows().unwrap(), lost.unwrap().unwrap())
}

#[test]
fn threads_that_share_the_search_change_no_bit() {
    let auto = MergeSearch::Auto;
    for case in [(1, 2, auto), (1, 3, auto), (3, 2, auto), (3, 4, auto), (3, 2, MergeSearch::Table)]
    {
        let alone = reduced::<f32>(case, (1, usize::MAX));
        for threads in [1, 2, 3, 7] {
            assert!(reduced::<f32>(case, (threads, 0)) == alone, "{case:?} {threads}");
        }
    }
    let wide = (1, 2, MergeSearch::GoldenSection);
    assert!(reduced::<f64>(wide, (3, 0)) == reduced::<f64>(wide, (1, usize::MAX)));
}

/// What merging the lightest term with each of the others loses, by the points themselves.
fn losses(model: &Expansion<f64>, a: usize) -> Vec<(f64, usize)> {
    let mut rows = model.centers().rows().unwrap();
    let own: Vec<f64> = rows.drain(a * D..(a + 1) * D).collect();
    let dot = |s: usize, t: usize| -> f64 {
        (0..model.outputs()).map(|c| model.coef(s, c) * model.coef(t, c)).sum()
    };
    let others = rows.chunks(D).enumerate().map(|(at, row)| (at + usize::from(at >= a), row));
    let judged = others.filter_map(|(b, row)| {
        let distance: f64 = row.iter().zip(&own).map(|(s, t)| (s - t) * (s - t)).sum();
        let distance = distance * 3.0 / D as f64;
        let pair = Pair { a: dot(a, a), d: dot(b, b), p: dot(a, b) };
        if model.outputs() > 1 {
            return Some((pair.least(MergeSearch::Auto, distance), b));
        }
        let (small, large) = (pair.a.sqrt(), pair.d.sqrt());
        let m = large / (small + large);
        let h = MergeSearch::Auto.best_h(m, distance);
        let lost = degradation_at(m, distance, h) * (small + large) * (small + large);
        (pair.p > 0.0).then_some((lost, b))
    });
    let mut judged: Vec<(f64, usize)> = judged.collect();
    judged.sort_by(|x, y| x.0.total_cmp(&y.0));
    judged
}

#[test]
fn the_partner_of_all_parts_is_the_best_of_all() {
    for (outputs, size) in [(1, 2), (1, 4), (3, 2)] {
        for search in [MergeSearch::Auto, MergeSearch::GoldenSection] {
            let mut model = expansion::<f64>(outputs);
            let merge = AnyMaintenance::Merge { size, search };
            let mut maintainer = Maintainer::new(merge, KERNEL, 0).unwrap().sharing_from(0, 0);
            for _ in 0..4 {
                let a = model.lightest();
                let best = losses(&model, a).into_iter().take(size - 1).map(|(_, b)| b);
                let want: Vec<usize> = std::iter::once(a).chain(best).collect();
                let mut merged = Merged::default();
                let budget = model.len() - 1;
                run(2, |_| maintainer.reduce(&mut model, budget, &mut merged).unwrap()).unwrap();
                assert_eq!(merged.0, want, "{outputs} {size} {search:?}");
            }
        }
    }
}

/// Distances that are known are taken for those measured, of the lightest term alone and once; wrong
/// ones lead elsewhere.
#[test]
fn distances_that_are_known_are_not_measured() {
    for (outputs, size) in [(1, 2), (1, 3), (3, 2), (3, 4)] {
        let merge = AnyMaintenance::Merge { size, search: MergeSearch::Auto };
        let reduced = |known: &dyn Fn(usize, &mut [f64]) -> usize| {
            let mut model = expansion::<f64>(outputs);
            let mut maintainer = Maintainer::new(merge, KERNEL, 0).unwrap();
            let a = model.lightest();
            let (mut tile, mut row) = (Tile::new(D), vec![0.0; model.centers().padded_len()]);
            KERNEL.load_center(model.centers(), a, &mut tile);
            let (slots, stride) = ((0, row.len()), row.len());
            KERNEL.stored_part(&tile, (0, 1), (model.centers(), slots), (&mut row, stride));
            let row = &mut row[..TERMS + 1];
            let slot = known(a, row);
            maintainer.know(slot, row);
            let lost = maintainer.reduce(&mut model, TERMS - 3, &mut ()).unwrap().unwrap();
            (model.padded_coef().to_vec(), model.centers().rows().unwrap(), lost)
        };
        let measured = reduced(&|a, _| a + 1);
        // (Nobody looks at the distance to itself.)
        let same = |a: usize, row: &mut [f64]| {
            row[a] = f64::NAN;
            a
        };
        assert!(reduced(&same) == measured, "{outputs} {size}");
        let turned = |a: usize, row: &mut [f64]| {
            row.reverse();
            a
        };
        assert!(reduced(&turned) != measured, "{outputs} {size}");
    }
}

#[test]
fn points_of_more_features_than_a_part_has_products_merge() {
    let d = 70_000;
    let kernel = AnyKernel::Gaussian { gamma: 1e-3 };
    let mut model = Expansion::<f32>::new(kernel, Vec::new(), d, 1).unwrap();
    for at in 0..6 {
        let mut row = vec![0.0; d];
        row[9 * at] = at as f32;
        let slot = model.push(&row).unwrap();
        model.set_coef(slot, 0, 1.0);
    }
    let merge = AnyMaintenance::Merge { size: 2, search: MergeSearch::Auto };
    let mut maintainer = Maintainer::new(merge, kernel, 0).unwrap();
    run(1, |_| maintainer.reduce(&mut model, 3, &mut ()).unwrap()).unwrap();
    assert_eq!(model.len(), 3);
}
