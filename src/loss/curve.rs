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

impl Curve {
    /// The sum of two.
    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            slope: self.slope + other.slope,
            curvature: self.curvature + other.curvature,
        }
    }

    /// Of a loss that counts so often.
    #[inline(always)]
    pub(crate) fn times(self, weight: f64) -> Self {
        Self {
            value: weight * self.value,
            slope: weight * self.slope,
            curvature: weight * self.curvature,
        }
    }
}
