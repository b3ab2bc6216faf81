//! An order of the columns that does not depend on the one in which they come: what is found does not
//! hang on where a column stands.

use std::cmp::Ordering;

use crate::data::Problem;
use crate::error::try_vec;
use crate::float::Real;
use crate::watch::{Step, Watch};

/// Rows that say where a column belongs, at most.
const ROWS: usize = 3000;
/// Values that are looked at, at most: beyond them columns stay where they are.
const VALUES: usize = 1 << 22;

/// Numbers of the columns in an order by what they say of the targets. That depends neither on their
/// units nor on their places; equal columns stay one after the other.
pub(super) fn order<F: Real>(problem: &Problem<'_, F>, watch: &mut Watch<'_>) -> Step<Vec<usize>> {
    let (d, cost) = (problem.rows().n_cols(), problem.cost());
    let index: Vec<usize> = (0..problem.len()).filter(|&i| cost[i] > 0.0).take(ROWS).collect();
    let n = index.len();
    let mut places: Vec<usize> = (0..d).collect();
    if n.saturating_mul(d) > VALUES {
        return Ok(places);
    }
    let (mut row, mut values) =
        (try_vec("a row", d, F::zero())?, try_vec("columns", n * d, F::zero())?);
    for (r, &i) in index.iter().enumerate() {
        problem.rows().copy_row(i, &mut row);
        row.iter().enumerate().for_each(|(c, &v)| values[c * n + r] = v);
    }
    let targets = problem.targets();
    let target: Vec<u64> = (index.iter())
        .map(|&i| targets.numbers(i).fold(0, |sum, y| mixed(sum ^ (y + 0.0).to_bits())))
        .collect();
    let mut keys = try_vec("columns", d, 0_u64)?;
    for (key, column) in keys.iter_mut().zip(values.chunks_exact(n.max(1))) {
        *key = key_of(column, &target);
        watch.glance()?;
    }
    places.sort_by_key(|&c| keys[c]);
    Ok(places)
}

/// The pairs of rank and target of a column, whichever rows they are of and how often they come.
fn key_of<F: Real>(column: &[F], target: &[u64]) -> u64 {
    let mut rows: Vec<usize> = (0..column.len()).collect();
    let by_value =
        |a: usize, b: usize| column[a].partial_cmp(&column[b]).unwrap_or(Ordering::Equal);
    rows.sort_by(|&a, &b| by_value(a, b).then(target[a].cmp(&target[b])));
    let (mut key, mut rank, mut last) = (0_u64, 0_u64, None::<usize>);
    for at in rows {
        let (more, other) = last.map_or((true, true), |last| {
            let more = by_value(last, at) != Ordering::Equal;
            (more, more || target[last] != target[at])
        });
        rank += u64::from(more);
        if other {
            key = key.wrapping_add(mixed(target[at] ^ mixed(rank)));
        }
        last = Some(at);
    }
    key
}

/// Rows with their columns in this order.
pub(super) fn reorder<F: Real>(from: &[F], columns: &[usize], to: &mut [F]) {
    let d = columns.len().max(1);
    for (from, to) in from.chunks_exact(d).zip(to.chunks_exact_mut(d)) {
        to.iter_mut().zip(columns).for_each(|(to, &c)| *to = from[c]);
    }
}

/// What stands in this order, where it came from.
pub(super) fn in_place(ordered: &[f64], columns: &[usize]) -> Vec<f64> {
    let mut found = ordered.to_vec();
    columns.iter().zip(ordered).for_each(|(&c, &v)| found[c] = v);
    found
}

/// Bits that have little to do with those given (the last step of SplitMix64).
fn mixed(bits: u64) -> u64 {
    let bits = bits.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}
