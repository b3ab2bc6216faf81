//! Which places of a grid are looked at closely: all of them with few rows and terms, fewer and fewer
//! with more, the last with all (successive halving \[HALVING\], on the same folds).
//!
//! A part of the rows says which places are clearly bad; where several are as good as each other it
//! says nothing, and all rows are asked; every fold then says more of fewer. Machines of the first
//! round serve several folds: they are trained on rows that all of these folds train on, so that no
//! fold's test rows are seen.
//!
//! # References
//!
//! \[HALVING\] Jamieson, Talwalkar. Non-stochastic best arm identification and hyperparameter
//! optimization. AISTATS 2016.

use std::ops::Range;

use crate::data::Targets;
use crate::rng::Rng;

/// The rows of a fold.
#[derive(Clone, Debug, PartialEq)]
pub struct Fold {
    /// To train on.
    pub train: Vec<usize>,
    /// To be judged by.
    pub test: Vec<usize>,
}

/// A round: the share of a fold's rows that its places are trained on, that of the terms, and the
/// steps that solve for a place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Round {
    pub(super) rows: f64,
    pub(super) terms: f64,
    pub(super) steps: usize,
    /// They end when one would lower the objective by less than this share of it.
    pub(super) tol: f64,
}

/// The rounds; `benches/python/tuning.py` compares the choices with those of a search.
const ROUNDS: [Round; 2] = [
    Round { rows: 0.2, terms: 0.5, steps: 6, tol: 1e-2 },
    Round { rows: 1.0, terms: 1.0, steps: 8, tol: 1e-2 },
];
/// The first round has as many rows as this, where that is no more than half of them ...
const ROWS: usize = 500;
const HALF: f64 = 0.5;
/// ... and without as many as this, or so many a class, there is none.
const LEAST: usize = 200;
const LEAST_A_CLASS: usize = 8;
/// Terms that are not made fewer.
const TERMS: usize = 50;
/// Places that are not made fewer.
const PLACES: usize = 4;
/// A fold takes as much as this part of them away, but these.
const RACE: usize = 4;
const LAST: usize = 2;
/// The random numbers that draw rows are no pass's.
const STREAM: u64 = u64::MAX - 3;

/// The rounds of so many places, on folds that train on so many rows.
pub(super) fn rounds(places: usize, (rows, targets): (usize, Targets<'_>)) -> Vec<Round> {
    let least = match targets {
        Targets::Classes { n_classes, .. } => LEAST.max(LEAST_A_CLASS * n_classes),
        Targets::Values(_) | Targets::Columns { .. } => LEAST,
    };
    let [mut first, last] = ROUNDS;
    first.rows = (ROWS as f64 / rows as f64).min(HALF).max(first.rows);
    if places <= PLACES || first.rows * (rows as f64) < least as f64 {
        return vec![last];
    }
    vec![first, last]
}

/// How many of so many places the next round has.
pub(super) fn survivors(places: usize) -> usize {
    ((places as f64).sqrt().round() as usize - 1).clamp(1, places)
}

/// How many of so many survivors are still looked at after so many whole folds.
pub(super) fn racing(survivors: usize, folds: usize) -> usize {
    (survivors * RACE.saturating_sub(folds)).div_ceil(RACE).max(survivors.min(LAST))
}

impl Round {
    /// Whether it is the one that says how good a place is.
    pub(super) fn is_whole(self) -> bool {
        self.rows >= 1.0
    }

    /// Its budget.
    pub(super) fn budget(self, of: usize) -> usize {
        ((of as f64 * self.terms) as usize).max(of.min(TERMS))
    }

    /// Folds that machines are trained for together, and the rows of these.
    pub(super) fn parts(
        self,
        folds: &[Fold],
        targets: Targets<'_>,
        seed: u64,
    ) -> Vec<(Range<usize>, Vec<usize>)> {
        let each = || folds.iter().enumerate().map(|(f, fold)| (f..f + 1, fold.train.clone()));
        if self.is_whole() {
            return each().collect();
        }
        let fewest = folds.iter().map(|fold| fold.train.len()).min().unwrap_or(0);
        let wanted = (fewest as f64 * self.rows).floor() as usize;
        // As few parts as have enough rows in common, one fold in each at the most.
        let shared = (1..folds.len()).find_map(|count| {
            let ends = (0..=count).map(|p| p * folds.len() / count).collect::<Vec<_>>();
            let parts: Vec<_> = (ends.windows(2))
                .map(|ends| (ends[0]..ends[1], common(&folds[ends[0]..ends[1]], targets.len())))
                .collect();
            parts.iter().all(|(_, rows)| rows.len() >= wanted).then_some(parts)
        });
        let parts = shared.unwrap_or_else(|| each().collect()).into_iter();
        parts.map(|(of, rows)| (of, drawn(&rows, wanted, targets, seed))).collect()
    }
}

/// The rows that all of these folds train on.
fn common(folds: &[Fold], n: usize) -> Vec<usize> {
    let mut seen = vec![0; n];
    for (f, fold) in folds.iter().enumerate() {
        for &i in &fold.train {
            seen[i] = if seen[i] == f { f + 1 } else { seen[i] };
        }
    }
    (0..n).filter(|&i| seen[i] == folds.len()).collect()
}

/// So many of these rows, of every class the same share.
fn drawn(rows: &[usize], wanted: usize, targets: Targets<'_>, seed: u64) -> Vec<usize> {
    let mut groups = vec![Vec::new()];
    match targets {
        Targets::Classes { index, n_classes } => {
            groups.resize(n_classes, Vec::new());
            rows.iter().for_each(|&i| groups[index[i] as usize].push(i));
        }
        Targets::Values(_) | Targets::Columns { .. } => groups[0].extend(rows),
    }
    let share = wanted as f64 / rows.len().max(1) as f64;
    let mut rng = Rng::stream(seed, STREAM);
    let mut chosen = Vec::new();
    for mut group in groups {
        rng.shuffle(&mut group);
        group.truncate((group.len() as f64 * share).ceil() as usize);
        chosen.extend(group);
    }
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fold(n: usize, test: impl Fn(usize) -> bool) -> Fold {
        let (test, train) = (0..n).partition(|&i| test(i));
        Fold { train, test }
    }

    #[test]
    fn rows_of_a_part_are_of_all_its_folds_and_of_every_class() {
        let index: Vec<u32> = (0..1000).map(|i| u32::from(i % 10 == 3)).collect();
        let targets = Targets::Classes { index: &index, n_classes: 2 };
        let folds: Vec<Fold> = (0..5).map(|f| fold(1000, |i| i / 200 == f)).collect();
        let first = rounds(25, (800, targets))[0];
        assert_eq!(first.rows, 0.5);
        let parts = first.parts(&folds, targets, 0);
        assert_eq!(parts.iter().map(|(of, _)| of.clone()).collect::<Vec<_>>(), [0..2, 2..5]);
        for (of, rows) in parts {
            assert_eq!(rows.len(), 400);
            assert_eq!(rows.iter().filter(|&&i| index[i] == 1).count(), 40);
            assert!(folds[of].iter().all(|fold| rows.iter().all(|i| fold.train.contains(i))));
        }
        // Folds that have nothing in common, each by itself.
        let apart: Vec<Fold> = (0..2).map(|f| fold(1000, |i| i % 2 == f)).collect();
        let parts = first.parts(&apart, targets, 0);
        assert_eq!(parts.iter().map(|(of, _)| of.clone()).collect::<Vec<_>>(), [0..1, 1..2]);
        assert!(parts.iter().all(|(_, rows)| rows.len() == 250));
    }

    #[test]
    fn few_rows_or_places_have_one_round() {
        let values = vec![0.0; 10];
        let targets = Targets::Values(&values);
        assert_eq!(rounds(25, (399, targets)).len(), 1);
        assert_eq!(rounds(25, (400, targets)).len(), 2);
        assert_eq!(rounds(4, (4000, targets)).len(), 1);
        assert_eq!([25, 100, 9, 5].map(survivors), [4, 9, 2, 1]);
        assert_eq!(rounds(25, (10_000, targets))[0].rows, 0.2);
        assert_eq!([0, 1, 2, 3, 9].map(|folds| racing(4, folds)), [4, 3, 2, 2, 2]);
        assert_eq!([0, 1, 2, 3, 4].map(|folds| racing(9, folds)), [9, 7, 5, 3, 2]);
        assert_eq!([0, 7].map(|folds| racing(1, folds)), [1, 1]);
    }
}
