//! Many outputs as few: random sums of them, whose squares are theirs in the mean.
//!
//! ```text
//! Y S,   S q x s of ±1/√s:   E |Sᵀr|² = |r|²
//! ```
//!
//! Least squares are linear in their targets, and all that the search asks is how much of them is
//! missed: a thousand classes are searched at the price of [`OUTPUTS`] (Johnson and Lindenstrauss).

use super::distances::product;
use super::grid::Grid;
use crate::error::Result;
use crate::rng::Rng;

/// Outputs up to which each is its own.
pub(crate) const OUTPUTS: usize = 64;
/// The random numbers that draw signs are no pass's.
const STREAM: u64 = u64::MAX - 5;

/// The sums of the outputs, n x [`OUTPUTS`]; none where these are few.
pub(crate) fn sketched(values: &Grid, seed: u64) -> Result<Option<Grid>> {
    if values.columns <= OUTPUTS {
        return Ok(None);
    }
    let mut rng = Rng::stream(seed, STREAM);
    let mut signs = Grid::zeros("sums of outputs", values.columns, OUTPUTS)?;
    let one = (OUTPUTS as f32).sqrt().recip();
    signs.values.iter_mut().for_each(|v| *v = if rng.below(2) == 0 { one } else { -one });
    product(values, &signs).map(Some)
}
