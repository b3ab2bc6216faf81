//! The two precisions: `f32` in gives `f32` arithmetic with `f64` sums, `f64` in gives `f64`.

use std::fmt::{Debug, Display};
use std::iter::Sum;

use ndarray::{ArrayView, CowArray, Dimension};

mod sealed {
    /// What factorizations ask for is no part of what users see.
    #[cfg(feature = "train")]
    pub trait Sealed: faer::traits::RealField {}
    #[cfg(not(feature = "train"))]
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A floating point type that data and kernel values are held in: `f32` or `f64`.
///
/// The trait is sealed, so that the SIMD room may rely on there being just these two.
pub trait Real:
    sealed::Sealed
    + num_traits::Float
    + num_traits::NumAssign
    + Debug
    + Display
    + Default
    + Sum
    + Send
    + Sync
    + 'static
{
    /// `"float32"` or `"float64"`: what NumPy calls it.
    const NAME: &'static str;

    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;

    /// The nearest value of this type.
    fn from_f64(value: f64) -> Self;

    /// These values as `f64`: themselves where they are.
    fn widened<D: Dimension>(values: ArrayView<'_, Self, D>) -> CowArray<'_, f64, D>;
}

impl Real for f32 {
    const NAME: &'static str = "float32";

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn widened<D: Dimension>(values: ArrayView<'_, Self, D>) -> CowArray<'_, f64, D> {
        values.mapv(f64::from).into()
    }
}

impl Real for f64 {
    const NAME: &'static str = "float64";

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    fn widened<D: Dimension>(values: ArrayView<'_, Self, D>) -> CowArray<'_, f64, D> {
        values.into()
    }
}
