//! Wide rows on fewer directions, on which they are divided and learnt from.
//!
//! *Method*
//! 1. Where it is asked for, or dense rows are many and wide and the kernel is Gaussian, find the
//!    leading directions ([`leading_directions`]): as few as keep the values of the kernel, and if
//!    a quarter of the features does not, none.
//! 2. Project all rows, and divide these.
//! 3. The model has the directions in front of its cells.
//!
//! *Cost* O(n d p) for p directions, against the O(n s d) of a machine of s support vectors, which
//! is O(n s p) after that.

use crate::data::{Problem, Rows};
use crate::error::{Result, try_vec};
use crate::features::{Directions, FeatureMap, leading_directions};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::Watch;

/// Dense rows, and their features, from which on they are projected unasked; and the most
/// directions.
const ROWS: usize = 20_000;
const FEATURES: usize = 128;
const MOST: usize = 256;

/// How rows are projected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projection {
    /// On so many directions.
    pub(super) given: Option<usize>,
    /// Unless given, as few as this kernel allows, or not at all.
    pub(super) kernel: Option<AnyKernel>,
    /// Seed of the rows that span them.
    pub(super) seed: u64,
}

impl Projection {
    /// The map to the directions, or none where rows are taken as they are.
    pub(super) fn directions<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<FeatureMap<F>>> {
        let (rows, d) = (problem.rows(), problem.rows().n_cols());
        let gamma = self.kernel.and_then(|kernel| kernel.gaussian_gamma());
        let wanted = match (self.given, gamma, &rows) {
            (Some(count), _, _) if count >= d => return Ok(None),
            (Some(count), _, _) => Directions::Given(count),
            (None, Some(gamma), Rows::Dense(_)) if problem.len() >= ROWS && d >= FEATURES => {
                Directions::Enough(gamma, (d / 4).min(MOST))
            }
            (None, _, _) => return Ok(None),
        };
        let among: Vec<usize> = (0..problem.len()).filter(|&i| problem.cost()[i] > 0.0).collect();
        leading_directions(&rows, &among, wanted, (self.seed, watch))
    }
}

/// Rows on the directions, n x p row by row.
pub(super) fn project<F: Real>(
    map: &FeatureMap<F>,
    rows: &Rows<'_, F>,
    watch: &mut Watch<'_>,
) -> Result<Vec<F>> {
    let p = map.n_outputs();
    let mut out = try_vec("projected rows", rows.n_rows().saturating_mul(p), F::zero())?;
    map.transform(rows, (&mut out, p), watch)?;
    Ok(out)
}
