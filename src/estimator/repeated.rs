//! Rows that repeat a few: samples of one row and one class are one of their common weight.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};

use crate::data::{Problem, Rows, Targets};
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::watch::{Halt, Step, Watch};

/// Values of rows that are read between two looks at the watch, about: some milliseconds.
const LOOK: usize = 1 << 20;

/// The samples of positive cost, in groups of one row and, where targets are classes, one class: the
/// objective is the same.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Repeated {
    /// The first sample of every distinct row.
    pub(super) distinct: Vec<usize>,
    /// Of every group its first sample, the place of its row among the distinct ones, and the sum of
    /// its costs.
    pub(super) samples: Vec<usize>,
    pub(super) point: Vec<usize>,
    pub(super) cost: Vec<f64>,
}

impl Repeated {
    /// Room for so many groups more.
    fn reserve(&mut self, more: usize) -> Result<()> {
        let bytes = more.saturating_mul(2 * size_of::<usize>() + size_of::<f64>());
        let full = |_| Error::OutOfMemory { what: "samples of few kinds", bytes };
        self.samples.try_reserve(more).map_err(full)?;
        self.point.try_reserve(more).map_err(full)?;
        self.cost.try_reserve(more).map_err(full)
    }
}

/// The groups, when the distinct rows are at most `budget`: then a machine on these points is as good
/// as any, and is solved exactly. None too where a limit or a wish to stop ends the search.
///
/// # Errors
/// `OutOfMemory`, `Interrupted`.
pub(super) fn repeated<F: Real>(
    problem: &Problem<'_, F>,
    budget: usize,
    watch: &mut Watch<'_>,
) -> Result<Option<Repeated>> {
    match watch.beforehand(0.5, |watch| search(problem, budget, watch)) {
        Ok(found) => Ok(found),
        Err(Halt::Stop(_)) => Ok(None),
        Err(Halt::Fail(error)) => Err(error),
    }
}

fn search<F: Real>(
    problem: &Problem<'_, F>,
    budget: usize,
    watch: &mut Watch<'_>,
) -> Step<Option<Repeated>> {
    let mut alike = Alike::new(problem.rows())?;
    let mut found = Repeated::default();
    let mut group_of: HashMap<(usize, u32), usize> = HashMap::new();
    let at_once = (LOOK / problem.rows().n_cols().max(1)).max(1);
    for i in 0..problem.len() {
        if i % at_once == 0 {
            if i > 0 {
                watch.glance()?;
            }
            found.reserve(at_once.min(problem.len() - i))?;
        }
        if problem.cost()[i] <= 0.0 {
            continue;
        }
        let place = alike.place_of(i);
        if alike.distinct.len() > budget {
            return Ok(None);
        }
        let new = found.samples.len();
        let group = match problem.targets() {
            Targets::Classes { index, .. } => *group_of.entry((place, index[i])).or_insert(new),
            Targets::Values(_) | Targets::Columns { .. } => new,
        };
        if group == new {
            found.samples.push(i);
            found.point.push(place);
            found.cost.push(0.0);
        }
        found.cost[group] += problem.cost()[i];
    }
    found.distinct = alike.distinct;
    Ok(Some(found))
}

/// Finds rows that are equal. Nothing is kept of rows but a number each: those of the same number are
/// compared.
struct Alike<'a, F: Real> {
    rows: Rows<'a, F>,
    /// The first of every kind, and the places here of those of a number.
    distinct: Vec<usize>,
    places: HashMap<u64, Vec<usize>>,
    row: Vec<F>,
    other: Vec<F>,
}

impl<'a, F: Real> Alike<'a, F> {
    fn new(rows: Rows<'a, F>) -> Result<Self> {
        let row = try_vec("a row", rows.n_cols(), F::zero())?;
        let (distinct, places) = (Vec::new(), HashMap::new());
        Ok(Self { rows, distinct, places, other: row.clone(), row })
    }

    /// The place of this row among the distinct ones.
    fn place_of(&mut self, i: usize) -> usize {
        self.rows.copy_row(i, &mut self.row);
        let places = self.places.entry(number_of(&self.row)).or_default();
        for &place in &*places {
            self.rows.copy_row(self.distinct[place], &mut self.other);
            if self.other == self.row {
                return place;
            }
        }
        places.push(self.distinct.len());
        self.distinct.push(i);
        self.distinct.len() - 1
    }
}

/// Equal rows have the same: of either zero nothing is read, and sparse rows are mostly zeros.
fn number_of<F: Real>(row: &[F]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != F::zero()) {
        hasher.write_usize(column);
        hasher.write_u64(Real::to_f64(value).to_bits());
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use ndarray::Array2;

    use super::*;
    use crate::rng::Rng;
    use crate::watch::{Cancel, Progress};

    fn found<F: Real>(
        x: &[[f64; 3]],
        (targets, cost): (Targets<'_>, &[f64]),
        budget: usize,
    ) -> Option<Repeated> {
        let x = Array2::from_shape_fn((x.len(), 3), |(i, k)| F::from_f64(x[i][k]));
        let problem = Problem::new(Rows::Dense(x.view()), targets, cost).unwrap();
        repeated(&problem, budget, &mut Watch::of_tests()).unwrap()
    }

    const X: [[f64; 3]; 7] = [
        [0.0, 1.0, 2.0],
        [1.0, 0.0, 2.0],
        [-0.0, 1.0, 2.0],
        [5.0, 5.0, 5.0],
        [1.0, 0.0, 2.0],
        [0.0, 1.0, 2.0],
        [2.0, 1.0, 0.0],
    ];
    const COST: [f64; 7] = [1.0, 2.0, 0.5, 0.0, 4.0, 8.0, 16.0];

    #[test]
    fn samples_of_a_row_and_a_class_are_one() {
        let index = [0, 1, 0, 1, 1, 1, 0];
        let targets = || Targets::Classes { index: &index, n_classes: 2 };
        let want = Repeated {
            distinct: vec![0, 1, 6],
            samples: vec![0, 1, 5, 6],
            point: vec![0, 1, 0, 2],
            cost: vec![1.5, 6.0, 8.0, 16.0],
        };
        assert_eq!(found::<f64>(&X, (targets(), &COST), 3), Some(want.clone()));
        assert_eq!(found::<f32>(&X, (targets(), &COST), 3), Some(want));
        assert_eq!(found::<f64>(&X, (targets(), &COST), 2), None);
    }

    #[test]
    fn samples_of_other_targets_stay_as_they_are() {
        let want = Repeated {
            distinct: vec![0, 1, 6],
            samples: vec![0, 1, 2, 4, 5, 6],
            point: vec![0, 1, 0, 1, 0, 2],
            cost: vec![1.0, 2.0, 0.5, 4.0, 8.0, 16.0],
        };
        let got = found::<f64>(&X, (Targets::Values(&[3.0; 7]), &COST), 3);
        assert_eq!(got, Some(want));
    }

    #[test]
    fn rows_of_one_number_are_compared() {
        let x = Array2::from_shape_fn((3, 2), |(i, k)| (i * k) as f64);
        let mut alike = Alike::new(Rows::Dense(x.view())).unwrap();
        assert_eq!([0, 2].map(|i| alike.place_of(i)), [0, 1]);
        // As if those had the number of the third.
        alike.places.insert(number_of(&[0.0, 1.0]), vec![0, 1]);
        assert_eq!([1, 1].map(|i| alike.place_of(i)), [2, 2]);
        assert_eq!(alike.distinct, [0, 2, 1]);
    }

    #[test]
    fn what_the_watch_says_is_heard() {
        let mut rng = Rng::new(0);
        let n = 200_000;
        let x = Array2::from_shape_fn((n, 16), |_| rng.below(2) as f32);
        let (index, cost) = (vec![0; n], vec![1.0; n]);
        let targets = Targets::Classes { index: &index, n_classes: 2 };
        let problem = Problem::new(Rows::Dense(x.view()), targets, &cost).unwrap();
        let asked = |says: Option<Cancel>| {
            let mut observer = |_: &Progress| match says {
                Some(cancel) => ControlFlow::Break(cancel),
                None => ControlFlow::Continue(()),
            };
            Watch::run_here(&mut observer, |watch| {
                // Somebody has looked last long ago, so that a glance is a look.
                std::thread::sleep(std::time::Duration::from_millis(30));
                repeated(&problem, 1 << 16, watch)
            })
        };
        assert!(asked(None).unwrap().is_some());
        assert!(asked(Some(Cancel::Keep)).unwrap().is_none());
        assert!(matches!(asked(Some(Cancel::Discard)), Err(Error::Interrupted)));
    }
}
