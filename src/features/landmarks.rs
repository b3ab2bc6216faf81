//! Which rows the maps stand on.

use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::rng::Rng;

/// `count` different ones of `among`, drawn uniformly (all of them when there are no more), in
/// increasing order of place: \[NYSTROEM\], uniform sampling without replacement.
#[must_use]
pub fn draw_landmarks(among: &[usize], count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut places: Vec<usize> = (0..among.len()).collect();
    let count = count.min(among.len());
    // The first steps of Fisher and Yates.
    for at in 0..count {
        let other = at + rng.below(places.len() - at);
        places.swap(at, other);
    }
    places.truncate(count);
    places.sort_unstable();
    places.into_iter().map(|place| among[place]).collect()
}

/// The rows `index`, written out densely, one after another.
///
/// # Errors
/// `OutOfMemory`; `InvalidData` when there is no row or no feature.
pub(super) fn copy_rows<F: Real>(rows: &Rows<'_, F>, index: &[usize]) -> Result<Vec<F>> {
    let d = rows.n_cols();
    if index.is_empty() || d == 0 {
        let reason = format!("{} rows of {d} features, at least 1 of each", index.len());
        return Err(Error::InvalidData { what: "X", reason });
    }
    let mut out = try_vec("landmarks", index.len().saturating_mul(d), F::zero())?;
    for (row, &i) in out.chunks_exact_mut(d).zip(index) {
        rows.copy_row(i, row);
    }
    Ok(out)
}
