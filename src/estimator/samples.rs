//! The samples that count; equal ones of a small problem together, in an order of their own.

use std::cmp::Ordering;

use crate::data::Problem;
use crate::error::{Result, try_vec};
use crate::float::Real;

/// The samples of positive cost, and their costs. When there are at most `merge_up_to`, equal ones
/// are merged and all are sorted, by these columns one after another.
pub(super) fn samples<F: Real>(
    problem: &Problem<'_, F>,
    merge_up_to: usize,
    columns: impl Iterator<Item = usize> + Clone,
) -> Result<(Vec<usize>, Vec<f64>)> {
    let cost = problem.cost();
    let mut index = try_vec("the samples", problem.len(), 0)?;
    index.clear();
    index.extend((0..problem.len()).filter(|&i| cost[i] > 0.0));
    let d = problem.rows().n_cols();
    if index.len() > merge_up_to {
        let cost = index.iter().map(|&i| cost[i]).collect();
        return Ok((index, cost));
    }
    let mut values = try_vec("the samples", index.len().saturating_mul(d), F::zero())?;
    let mut whole = try_vec("a row", d, F::zero())?;
    for (row, &i) in values.chunks_exact_mut(d).zip(&index) {
        problem.rows().copy_row(i, &mut whole);
        row.iter_mut().zip(columns.clone()).for_each(|(to, c)| *to = whole[c]);
    }
    let targets = problem.targets();
    let target = |a: usize, b: usize| {
        let pairs = targets.numbers(a).zip(targets.numbers(b));
        pairs.map(|(a, b)| a.total_cmp(&b)).fold(Ordering::Equal, Ordering::then)
    };
    // Everything is finite, and both zeros compare as equal.
    let compare = |a: usize, b: usize| {
        let pairs = values[a * d..][..d].iter().zip(&values[b * d..][..d]);
        let rows = pairs.map(|(x, y)| x.partial_cmp(y).unwrap_or(Ordering::Equal));
        rows.fold(Ordering::Equal, Ordering::then).then(target(index[a], index[b]))
    };
    let mut places: Vec<usize> = (0..index.len()).collect();
    places.sort_by(|&a, &b| compare(a, b));
    let (mut merged, mut costs): (Vec<usize>, Vec<f64>) = (Vec::new(), Vec::new());
    let mut last = None;
    for place in places {
        match (last, costs.last_mut()) {
            (Some(previous), Some(sum)) if compare(previous, place) == Ordering::Equal => {
                *sum += cost[index[place]];
            }
            _ => {
                merged.push(index[place]);
                costs.push(cost[index[place]]);
                last = Some(place);
            }
        }
    }
    Ok((merged, costs))
}
