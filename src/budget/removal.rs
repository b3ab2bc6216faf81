//! Removal of a term, which every other maintenance ends with.

use super::event::Event;
use crate::float::Real;
use crate::model::Expansion;

/// Removes a term and returns `Σ_c β_c² k(s, s)`.
pub(super) fn remove<F: Real>(
    expansion: &mut Expansion<F>,
    slot: usize,
    event: &mut dyn Event,
) -> f64 {
    let delta: Vec<f64> = (0..expansion.outputs()).map(|c| -expansion.coef(slot, c)).collect();
    let mut degradation: f64 = delta.iter().map(|d| d * d).sum();
    let kernel = expansion.kernel();
    if !kernel.is_translation_invariant() {
        let mut row = vec![F::zero(); expansion.centers().n_features()];
        expansion.center(slot, &mut row);
        let row: Vec<f64> = row.iter().map(|&v| v.to_f64()).collect();
        degradation *= kernel.eval(&row, &row);
    }
    event.coef_changed(slot, &delta);
    let last = expansion.len() - 1;
    expansion.swap_remove(slot);
    event.removed(slot, last);
    degradation
}
