//! A loss near one decision value.

/// Value and derivatives in `f` at one point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Curve {
    /// `L_h(y, f)`.
    pub value: f64,
    /// First derivative.
    pub slope: f64,
    /// Second derivative, at least 0.
    pub curvature: f64,
}
