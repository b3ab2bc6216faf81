//! The validation part that early stopping scores.

use crate::data::{Gathered, Problem, Rows, SomeTargets, Targets};
use crate::error::{Error, Result};
use crate::float::Real;
use crate::rng::Rng;

/// The stream of random numbers that decides who is held out: no class's or pass's own.
const STREAM: u64 = u64::MAX - 1;

/// Some samples of a problem, owned.
pub(in crate::estimator) struct Samples<F: Real> {
    rows: Gathered<F>,
    targets: SomeTargets,
    cost: Vec<f64>,
}

impl<F: Real> Samples<F> {
    pub(in crate::estimator) fn new(problem: &Problem<'_, F>, chosen: &[usize]) -> Result<Self> {
        let targets = SomeTargets::new(problem.targets(), chosen.iter().copied())?;
        let rows = Gathered::new(&problem.rows(), chosen)?;
        let cost = chosen.iter().map(|&i| problem.cost()[i]).collect();
        Ok(Self { rows, targets, cost })
    }

    pub(in crate::estimator) fn rows(&self) -> Result<Rows<'_, F>> {
        self.rows.rows()
    }

    pub(in crate::estimator) fn problem(&self) -> Result<Problem<'_, F>> {
        Problem::new(self.rows.rows()?, self.targets.view(), &self.cost)
    }
}

/// The part to train on and the one to hold out, a share of the samples (of every class, for
/// classes, of which one row at least stays to train on) chosen at random; both in the order of the
/// problem.
///
/// # Errors
/// `InvalidParam` when the share leaves a part without samples of positive cost, `OutOfMemory`.
pub(super) fn split<F: Real>(
    problem: &Problem<'_, F>,
    share: f64,
    seed: u64,
) -> Result<[Samples<F>; 2]> {
    let mut groups = vec![Vec::new()];
    match problem.targets() {
        Targets::Classes { index, n_classes } => {
            groups.resize(n_classes, Vec::new());
            index.iter().enumerate().for_each(|(i, &class)| groups[class as usize].push(i));
        }
        Targets::Values(_) | Targets::Columns { .. } => groups[0].extend(0..problem.len()),
    }
    let mut rng = Rng::stream(seed, STREAM);
    let (mut training, mut held_out) = (Vec::new(), Vec::new());
    for mut group in groups {
        rng.shuffle(&mut group);
        let count = (share * group.len() as f64).round() as usize;
        let (out, kept) = group.split_at(count.min(group.len().saturating_sub(1)));
        held_out.extend_from_slice(out);
        training.extend_from_slice(kept);
    }
    for part in [&mut training, &mut held_out] {
        part.sort_unstable();
        if !part.iter().any(|&i| problem.cost()[i] > 0.0) {
            let expected = "a share that leaves samples of positive weight in both parts";
            return Err(Error::param("validation_fraction", expected, share));
        }
    }
    Ok([Samples::new(problem, &training)?, Samples::new(problem, &held_out)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_of_one_row_stays_to_train_on() {
        let x = ndarray::Array2::from_shape_fn((41, 1), |(i, _)| i as f64);
        let index: Vec<u32> = (0..41).map(|i| if i == 40 { 2 } else { i % 2 }).collect();
        let (targets, cost) = (Targets::Classes { index: &index, n_classes: 3 }, vec![1.0; 41]);
        let problem = Problem::new(Rows::from(&x), targets, &cost).unwrap();
        for share in [0.1, 0.9, 0.99] {
            let [training, held_out] = split(&problem, share, 0).unwrap();
            let SomeTargets::Classes { index: kept, .. } = &training.targets else { panic!() };
            assert!((0..3).all(|class| kept.contains(&class)));
            assert_eq!(kept.len() + held_out.cost.len(), 41);
        }
    }
}
