//! Samples drawn so that rare classes are not lost, and the weights that undo it.
//!
//! # Method
//!
//! 1. The samples are shuffled, and the first of them are drawn: where no class is rare this is all.
//! 2. Half of the draw is for the classes in equal parts. A class that has fewer rows in the draw than
//!    its part, but more outside of it, gets more, and drawn last are left out of the classes that
//!    have more than their part.
//! 3. A row weighs the less, the larger the share of its class that was drawn; where every class has
//!    the same share all weights are 1.
//!
//! Labels that do not exclude each other are two classes a column: the rows that have the label, and
//! the others. A row of several classes weighs as in the one most of which was drawn.

use super::Targets;
use crate::error::{Result, try_vec};
use crate::rng::Rng;

/// Samples of a problem, in random order.
pub(crate) struct StratifiedSample {
    /// The rows.
    pub(crate) rows: Vec<usize>,
    /// What the cost of each is to be multiplied by.
    pub(crate) weights: Vec<f64>,
}

impl StratifiedSample {
    /// At most `size` of the rows `among`.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn draw(
        targets: Targets<'_>,
        mut among: Vec<usize>,
        size: usize,
        rng: &mut Rng,
    ) -> Result<Self> {
        rng.shuffle(&mut among);
        let strata = Strata::new(targets);
        if among.len() <= size || strata.count == 0 {
            among.truncate(size);
            let weights = try_vec("weights of samples", among.len(), 1.0)?;
            return Ok(Self { rows: among, weights });
        }
        let mut rest = among.split_off(size);
        let mut drawn = strata.sizes(&among)?;
        let mut all = strata.sizes(&rest)?;
        all.iter_mut().zip(&drawn).for_each(|(all, own)| *all += own);
        // 2.
        let part = (size / 2 / strata.count).max(1);
        let least: Vec<usize> = all.iter().map(|&n| n.min(part)).collect();
        rest.retain(|&i| strata.of(i).any(|s| drawn[s] < least[s]) && strata.add(i, &mut drawn));
        if rest.is_empty() {
            let weights = try_vec("weights of samples", size, 1.0)?;
            return Ok(Self { rows: among, weights });
        }
        let mut surplus = rest.len();
        let mut kept = Vec::new();
        for &i in among.iter().rev() {
            if surplus > 0 && strata.of(i).all(|s| drawn[s] > least[s]) {
                strata.of(i).for_each(|s| drawn[s] -= 1);
                surplus -= 1;
            } else {
                kept.push(i);
            }
        }
        kept.extend(rest);
        rng.shuffle(&mut kept);
        // 3.
        let share = |i: &usize| -> f64 {
            strata.of(*i).map(|s| drawn[s] as f64 / all[s] as f64).fold(0.0, f64::max)
        };
        let mut weights: Vec<f64> = kept.iter().map(share).collect();
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|share| *share = mean / *share);
        Ok(Self { rows: kept, weights })
    }
}

/// The classes that rows belong to.
struct Strata<'a> {
    targets: Targets<'a>,
    count: usize,
}

impl<'a> Strata<'a> {
    fn new(targets: Targets<'a>) -> Self {
        let count = match targets {
            Targets::Classes { n_classes, .. } => n_classes,
            Targets::Columns { values, n_outputs, levels: [] }
                if values.iter().all(|v| v.abs() == 1.0) =>
            {
                2 * n_outputs
            }
            Targets::Values(_) | Targets::Columns { .. } => 0,
        };
        Self { targets, count }
    }

    /// Those of a row.
    fn of(&self, i: usize) -> impl Iterator<Item = usize> {
        let classes = self.targets.are_classes();
        let numbers = self.targets.numbers(i).enumerate();
        numbers.map(move |(c, v)| if classes { v as usize } else { 2 * c + usize::from(v > 0.0) })
    }

    /// Counts a row.
    fn add(&self, i: usize, sizes: &mut [usize]) -> bool {
        self.of(i).for_each(|s| sizes[s] += 1);
        true
    }

    fn sizes(&self, rows: &[usize]) -> Result<Vec<usize>> {
        let mut sizes = try_vec("sizes of classes", self.count, 0)?;
        rows.iter().for_each(|&i| self.of(i).for_each(|s| sizes[s] += 1));
        Ok(sizes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(targets: Targets<'_>, drawn: &StratifiedSample) -> Vec<usize> {
        Strata::new(targets).sizes(&drawn.rows).unwrap()
    }

    #[test]
    fn a_rare_class_is_drawn_up_to_its_part_of_a_half_and_weights_undo_it() {
        let n = 100_000;
        let index: Vec<u32> = (0..n).map(|i| u32::from(i % 500 == 3)).collect();
        let targets = Targets::Classes { index: &index, n_classes: 2 };
        let draw = |size| {
            let all = (0..n as usize).collect();
            StratifiedSample::draw(targets, all, size, &mut Rng::new(1)).unwrap()
        };
        let drawn = draw(2000);
        assert_eq!(sizes(targets, &drawn), [1800, 200]);
        assert_eq!(sizes(targets, &draw(300)), [225, 75]);
        let weight = |class: u32| -> f64 {
            let each = drawn.rows.iter().zip(&drawn.weights);
            each.filter(|(i, _)| index[**i] == class).map(|(_, w)| w).sum()
        };
        assert!((weight(0) / weight(1) - 499.0).abs() < 1e-9);
        let mut rows = drawn.rows.clone();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 2000);
    }

    #[test]
    fn where_no_class_is_rare_the_draw_is_a_plain_one() {
        let index: Vec<u32> = (0..900).map(|i| i % 3).collect();
        let targets = Targets::Classes { index: &index, n_classes: 3 };
        let drawn = StratifiedSample::draw(targets, (0..900).collect(), 300, &mut Rng::new(5));
        let mut plain: Vec<usize> = (0..900).collect();
        Rng::new(5).shuffle(&mut plain);
        let drawn = drawn.unwrap();
        assert_eq!(drawn.rows, plain[..300]);
        assert!(drawn.weights.iter().all(|&w| w == 1.0));
        let values = vec![0.5; 900];
        let all = (0..900).collect();
        let few = StratifiedSample::draw(Targets::Values(&values), all, 7, &mut Rng::new(5));
        assert_eq!(few.unwrap().rows, plain[..7]);
    }

    #[test]
    fn many_classes_and_labels_that_do_not_exclude_each_other_are_all_there() {
        let index: Vec<u32> = (0..5000).map(|i| if i < 3000 { 0 } else { i % 400 }).collect();
        let targets = Targets::Classes { index: &index, n_classes: 400 };
        let drawn = StratifiedSample::draw(targets, (0..5000).collect(), 1000, &mut Rng::new(0));
        let drawn = drawn.unwrap();
        assert_eq!(drawn.rows.len(), 1000);
        assert!(sizes(targets, &drawn).iter().all(|&n| n >= 1));
        let sign = |on: bool| if on { 1.0 } else { -1.0 };
        let labels: Vec<f64> =
            (0..20_000).flat_map(|i| [sign(i % 2 == 0), sign(i % 1000 == 7)]).collect();
        let targets = Targets::columns(&labels, 2);
        let drawn = StratifiedSample::draw(targets, (0..20_000).collect(), 400, &mut Rng::new(0));
        let drawn = drawn.unwrap();
        assert_eq!(sizes(targets, &drawn)[3], 20);
        assert_eq!(drawn.rows.len(), 400);
        let rare = drawn.rows.iter().position(|i| i % 1000 == 7).unwrap();
        let other = drawn.rows.iter().position(|i| i % 1000 != 7).unwrap();
        assert!(drawn.weights[rare] < 0.1 * drawn.weights[other]);
    }
}
