//! Rows on fewer axes: the directions in which they are longest.
//!
//! ```text
//! z(x) = V x,  V Vᵀ = I:  ‖x - x'‖² = ‖z(x) - z(x')‖² + what the other directions hold
//! ```
//!
//! *Method.*
//! 1. Some of the rows span the space; the leading eigenvectors of their products are V, which is
//!    Nyström's map of the linear kernel with its landmarks and weights multiplied out.
//! 2. Other rows say how much is lost. Where the number of directions is not given it is the least
//!    with which kernel values keep within a share of themselves: of the Gaussian
//!    `γ E‖r(x) - r(x')‖² = 2γ tr Cov r <= LOSS`, with r(x) what V leaves of x.
//!
//! *Cost* O(s² d + s³) for s = 768 rows, at most; O(d D) a row after that.
//!
//! References: \[NYSTROEM\].

use super::landmarks::copy_rows;
use super::{FeatureMap, LandmarkMap, Nystroem, draw_landmarks};
use crate::data::Rows;
use crate::error::{Error, Result, try_square, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::linalg::{dot, matrix, multiply};
use crate::rng::Rng;
use crate::watch::Watch;

/// Rows that span the directions, and rows that judge them.
const SPANNING: usize = 768;
const JUDGING: usize = 1024;

/// Directions between two looks at the watch.
const PANEL: usize = 64;

/// The most of the exponent of a Gaussian kernel that may be lost, in the mean
/// (`local_defaults.py --choose`).
const LOSS: f64 = 0.15;

/// How many directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Directions {
    /// So many, or as many as the rows have.
    Given(usize),
    /// As few as the Gaussian kernel of this γ allows, and at most so many.
    Enough(f64, usize),
}

/// The map to the leading directions of the rows `among`, or none where those that are allowed are
/// not enough.
///
/// # Errors
/// `InvalidData` without rows, `NotPositiveDefinite` where all are 0, `OutOfMemory`, `Interrupted`.
pub(crate) fn leading_directions<F: Real>(
    rows: &Rows<'_, F>,
    among: &[usize],
    directions: Directions,
    (seed, watch): (u64, &mut Watch<'_>),
) -> Result<Option<FeatureMap<F>>> {
    let d = rows.n_cols();
    let most = match directions {
        Directions::Given(count) | Directions::Enough(_, count) => count.min(d),
    };
    // 1.
    let mut rng = Rng::new(seed);
    let spanning = match directions {
        Directions::Given(_) => SPANNING.max(most).min(among.len()),
        Directions::Enough(..) => SPANNING.min(among.len().div_ceil(2)),
    };
    let mut chosen = draw_landmarks(among, spanning + JUDGING, &mut rng)?;
    rng.shuffle(&mut chosen);
    let (spanning, judging) = chosen.split_at(spanning);
    let spanning = copy_rows(rows, spanning)?;
    let nystroem =
        Nystroem { kernel: AnyKernel::Linear, n_components: most, ..Nystroem::default() };
    let map = match nystroem.fit_on(&spanning, d, watch) {
        // Rows of no length, or of none that can be told.
        Err(Error::NotPositiveDefinite(_)) => return Ok(None),
        map => map?,
    };
    let axes = multiplied(&map, &spanning, watch)?;
    // 2.
    let count = match directions {
        Directions::Given(_) => Some(map.n_outputs()),
        Directions::Enough(gamma, _) => {
            enough(&copy_rows(rows, judging)?, (&axes, d), LOSS / (2.0 * gamma))?
        }
    };
    let Some(count) = count else { return Ok(None) };
    let mut identity = try_square("directions", count, 0.0)?;
    identity.iter_mut().step_by(count + 1).for_each(|one| *one = 1.0);
    let axes = (&axes[..count * d], d);
    LandmarkMap::new(AnyKernel::Linear, axes, &identity, count)
        .map(|map| Some(FeatureMap::Landmarks(map)))
}

/// `Wᵀ S`, row by row.
fn multiplied<F: Real>(
    map: &LandmarkMap<F>,
    spanning: &[F],
    watch: &mut Watch<'_>,
) -> Result<Vec<F>> {
    let (d, rank) = (map.n_features(), map.n_outputs());
    let weights = map.weights()?;
    let mut axes = try_vec("directions", rank * d, F::zero())?;
    for (panel, axes) in axes.chunks_mut(PANEL * d).enumerate() {
        let columns = matrix(&weights, rank).subcols(panel * PANEL, axes.len() / d);
        multiply(axes, columns.transpose(), matrix(spanning, d));
        watch.unbroken(Watch::glance)?;
    }
    Ok(axes)
}

/// The least number of axes that leave at most so much of the variance of the rows.
fn enough<F: Real>(rows: &[F], (axes, d): (&[F], usize), most: f64) -> Result<Option<usize>> {
    let n = (rows.len() / d) as f64;
    let variance = |values: &mut dyn Iterator<Item = f64>| {
        let (sum, squares) = values.fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
        squares / n - (sum / n) * (sum / n)
    };
    let column = |j: usize| rows.iter().skip(j).step_by(d).map(|&v| v.to_f64());
    let mut wide = try_vec("a direction", d, 0.0)?;
    let mut left: f64 = (0..d).map(|j| variance(&mut column(j))).sum();
    for (count, axis) in axes.chunks_exact(d).enumerate() {
        if left <= most {
            return Ok(Some(count.max(1)));
        }
        wide.iter_mut().zip(axis).for_each(|(to, v)| *to = Real::to_f64(*v));
        left -= variance(&mut rows.chunks_exact(d).map(|row| dot(row, &wide)));
    }
    Ok((left <= most).then_some(axes.len() / d))
}
