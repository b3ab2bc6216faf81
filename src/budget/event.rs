//! What maintenance does to an expansion, told change by change.

/// Follows every change that maintenance makes to an expansion, so that margins of samples still
/// to come can be kept exact. Calls come in the order of the changes.
pub trait Event {
    /// The coefficients of a slot changed by `delta` (one value an output).
    fn coef_changed(&mut self, slot: usize, delta: &[f64]);
    /// The terms of `parts = (slot, w_j)`, whose coefficients were `coef` (one row of outputs a
    /// part), are now one term in the slot of the last part: the point `Σ w_j s_j`, weights
    /// summing to 1, with the coefficients `merged`. With `gap = ½ ΣΣ w_j w_l G_jl`, for any x
    /// `G_zx = Σ w_j G_jx - gap` (Stewart's theorem). The other slots hold nothing, and are
    /// removed next.
    fn merged(&mut self, parts: &[(usize, f64)], coef: &[f64], gap: f64, merged: &[f64]);
    /// A slot was removed and the term of slot `last` took its place.
    fn removed(&mut self, slot: usize, last: usize);
}

/// Nobody follows.
impl Event for () {
    fn coef_changed(&mut self, _: usize, _: &[f64]) {}
    fn merged(&mut self, _: &[(usize, f64)], _: &[f64], _: f64, _: &[f64]) {}
    fn removed(&mut self, _: usize, _: usize) {}
}
