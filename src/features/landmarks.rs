//! Which rows the maps stand on.

use crate::data::Rows;
use crate::error::{Error, Result, try_collect, try_vec};
use crate::float::Real;
use crate::rng::Rng;

/// `count` different ones of `among`, drawn uniformly (all of them when there are no more), in
/// increasing order of place: \[NYSTROEM\], uniform sampling without replacement.
///
/// # Errors
/// `OutOfMemory`.
pub fn draw_landmarks(among: &[usize], count: usize, rng: &mut Rng) -> Result<Vec<usize>> {
    let mut places = try_collect("landmarks", 0..among.len())?;
    let count = count.min(among.len());
    // The first steps of Fisher and Yates.
    for at in 0..count {
        let other = at + rng.below(places.len() - at);
        places.swap(at, other);
    }
    places.truncate(count);
    places.sort_unstable();
    places.iter_mut().for_each(|place| *place = among[*place]);
    Ok(places)
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
