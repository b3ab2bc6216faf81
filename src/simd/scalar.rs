//! The twin that runs everywhere: plain arithmetic, no FMA.

use super::lanes::{Lanes, width};
use crate::float::Real;

/// Plain Rust arithmetic.
#[derive(Clone, Copy)]
pub(super) struct Scalar;

macro_rules! arithmetic {
    ($($name:ident: $op:tt),+) => {$(
        #[inline(always)]
        unsafe fn $name(a: Self::Line, b: Self::Line) -> Self::Line {
            std::array::from_fn(|i| a[i] $op b[i])
        }
    )+};
}

macro_rules! scalar {
    ($float:ty, $bits:ty, $mantissa:expr, $bias:expr) => {
        impl Lanes<$float> for Scalar {
            type Line = [$float; width::<$float>()];
            type Wide = [f64; width::<$float>()];
            const CHAINS: usize = 4;

            #[inline(always)]
            unsafe fn splat(value: $float) -> Self::Line {
                [value; width::<$float>()]
            }
            #[inline(always)]
            unsafe fn load(from: *const $float) -> Self::Line {
                // SAFETY: valid for a whole line by the contract of the trait.
                unsafe { from.cast::<Self::Line>().read_unaligned() }
            }
            #[inline(always)]
            unsafe fn store(to: *mut $float, line: Self::Line) {
                // SAFETY: as for `load`.
                unsafe { to.cast::<Self::Line>().write_unaligned(line) }
            }
            arithmetic! { add: +, sub: -, mul: *, div: / }
            #[inline(always)]
            unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line {
                std::array::from_fn(|i| a[i] * b[i] + c[i])
            }
            #[inline(always)]
            unsafe fn max(a: Self::Line, b: Self::Line) -> Self::Line {
                std::array::from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn min(a: Self::Line, b: Self::Line) -> Self::Line {
                std::array::from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            unsafe fn round(a: Self::Line) -> Self::Line {
                // 1.5 * 2^(mantissa bits): adding it leaves no room for a fraction.
                let magic = 1.5 / <$float>::EPSILON;
                std::array::from_fn(|i| (a[i] + magic) - magic)
            }
            #[inline(always)]
            unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
                std::array::from_fn(|i| {
                    let n = n[i] as i64;
                    let half = n >> 1;
                    let power = |n: i64| <$float>::from_bits(((n + $bias) as $bits) << $mantissa);
                    a[i] * power(half) * power(n - half)
                })
            }
            #[inline(always)]
            unsafe fn wide_zero() -> Self::Wide {
                [0.0; width::<$float>()]
            }
            #[inline(always)]
            unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
                // SAFETY: valid for as many values as a line has, by the contract of the trait.
                let coef = unsafe { coef.cast::<Self::Wide>().read_unaligned() };
                std::array::from_fn(|i| acc[i] + coef[i] * f64::from(line[i]))
            }
            #[inline(always)]
            unsafe fn wide_sum(acc: Self::Wide) -> f64 {
                acc.iter().sum()
            }
            #[inline(always)]
            unsafe fn fma_one(a: $float, b: $float, c: $float) -> $float {
                a * b + c
            }
        }
    };
}

scalar!(f32, u32, 23, 127);
scalar!(f64, u64, 52, 1023);

const _: () =
    assert!(width::<f32>() == 16 && width::<f64>() == 8 && <f32 as Real>::NAME.len() == 7);
