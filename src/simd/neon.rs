//! NEON: a line is four registers. Every aarch64 processor has it.

use std::arch::aarch64::*;

use super::lanes::Lanes;

/// Four 128-bit registers a line.
#[derive(Clone, Copy)]
pub(super) struct Neon;

// SAFETY of every block below: the contract of `Lanes` (features enabled, pointers valid for a
// whole line) is all that the intrinsics ask for.

/// The same operation on the four registers of each operand.
macro_rules! each {
    ($op:expr; $($line:ident),+) => {
        [$op($($line[0]),+), $op($($line[1]),+), $op($($line[2]),+), $op($($line[3]),+)]
    };
}

macro_rules! lanes {
    ($float:ty, $register:ty, $per:literal, $wide:ty, $splat:ident, $load:ident, $store:ident,
     $add:ident, $sub:ident, $mul:ident, $div:ident, $fma:ident, $max:ident, $min:ident,
     $round:ident) => {
        type Line = [$register; 4];
        type Wide = $wide;
        // 32 registers: four lines of sums, and room for the operands.
        const CHAINS: usize = 4;

        #[inline(always)]
        unsafe fn splat(value: $float) -> Self::Line {
            // SAFETY: see above.
            unsafe { [$splat(value); 4] }
        }
        #[inline(always)]
        unsafe fn load(from: *const $float) -> Self::Line {
            // SAFETY: see above.
            unsafe {
                [$load(from), $load(from.add($per)), $load(from.add(2 * $per)), $load(from.add(3 * $per))]
            }
        }
        #[inline(always)]
        unsafe fn store(to: *mut $float, line: Self::Line) {
            for (k, register) in line.into_iter().enumerate() {
                // SAFETY: see above.
                unsafe { $store(to.add(k * $per), register) }
            }
        }
        #[inline(always)]
        unsafe fn add(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($add; a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($sub; a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($mul; a, b) }
        }
        #[inline(always)]
        unsafe fn div(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($div; a, b) }
        }
        #[inline(always)]
        unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line {
            // SAFETY: see above. The accumulator comes first.
            unsafe { each!($fma; c, a, b) }
        }
        // The number-preferring forms: `b` where `a` is NaN.
        #[inline(always)]
        unsafe fn max(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($max; a, b) }
        }
        #[inline(always)]
        unsafe fn min(a: Self::Line, b: Self::Line) -> Self::Line {
            // SAFETY: see above.
            unsafe { each!($min; a, b) }
        }
        #[inline(always)]
        unsafe fn round(a: Self::Line) -> Self::Line {
            // SAFETY: see above. Ties to even.
            unsafe { each!($round; a) }
        }
        #[inline(always)]
        unsafe fn fma_one(a: $float, b: $float, c: $float) -> $float {
            a.mul_add(b, c)
        }
    };
}

impl Lanes<f32> for Neon {
    lanes!(
        f32,
        float32x4_t,
        4,
        [float64x2_t; 8],
        vdupq_n_f32,
        vld1q_f32,
        vst1q_f32,
        vaddq_f32,
        vsubq_f32,
        vmulq_f32,
        vdivq_f32,
        vfmaq_f32,
        vmaxnmq_f32,
        vminnmq_f32,
        vrndnq_f32
    );

    #[inline(always)]
    unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
        /// Twice by half the power: both are normal numbers, and only the second product rounds.
        #[inline(always)]
        unsafe fn one(a: float32x4_t, n: float32x4_t) -> float32x4_t {
            // SAFETY: see above.
            unsafe {
                let n = vcvtq_s32_f32(n);
                let half = vshrq_n_s32::<1>(n);
                let rest = vsubq_s32(n, half);
                let power =
                    |n| vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127))));
                vmulq_f32(vmulq_f32(a, power(half)), power(rest))
            }
        }
        // SAFETY: see above.
        unsafe { each!(one; a, n) }
    }
    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { [vdupq_n_f64(0.0); 8] }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
        let mut out = acc;
        for (k, register) in line.into_iter().enumerate() {
            // SAFETY: see above.
            unsafe {
                let (low, high) =
                    (vcvt_f64_f32(vget_low_f32(register)), vcvt_high_f64_f32(register));
                out[2 * k] = vfmaq_f64(acc[2 * k], vld1q_f64(coef.add(4 * k)), low);
                out[2 * k + 1] = vfmaq_f64(acc[2 * k + 1], vld1q_f64(coef.add(4 * k + 2)), high);
            }
        }
        out
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe {
            let pair = |a, b| vaddq_f64(a, b);
            let low = pair(pair(acc[0], acc[4]), pair(acc[2], acc[6]));
            let high = pair(pair(acc[1], acc[5]), pair(acc[3], acc[7]));
            vaddvq_f64(vaddq_f64(low, high))
        }
    }
}

impl Lanes<f64> for Neon {
    lanes!(
        f64,
        float64x2_t,
        2,
        [float64x2_t; 4],
        vdupq_n_f64,
        vld1q_f64,
        vst1q_f64,
        vaddq_f64,
        vsubq_f64,
        vmulq_f64,
        vdivq_f64,
        vfmaq_f64,
        vmaxnmq_f64,
        vminnmq_f64,
        vrndnq_f64
    );

    #[inline(always)]
    unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
        /// As for `f32`.
        #[inline(always)]
        unsafe fn one(a: float64x2_t, n: float64x2_t) -> float64x2_t {
            // SAFETY: see above.
            unsafe {
                let n = vcvtq_s64_f64(n);
                let half = vshrq_n_s64::<1>(n);
                let rest = vsubq_s64(n, half);
                let power =
                    |n| vreinterpretq_f64_s64(vshlq_n_s64::<52>(vaddq_s64(n, vdupq_n_s64(1023))));
                vmulq_f64(vmulq_f64(a, power(half)), power(rest))
            }
        }
        // SAFETY: see above.
        unsafe { each!(one; a, n) }
    }
    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { [vdupq_n_f64(0.0); 4] }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
        let mut out = acc;
        for (k, register) in line.into_iter().enumerate() {
            // SAFETY: see above.
            unsafe { out[k] = vfmaq_f64(acc[k], vld1q_f64(coef.add(2 * k)), register) }
        }
        out
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe { vaddvq_f64(vaddq_f64(vaddq_f64(acc[0], acc[2]), vaddq_f64(acc[1], acc[3]))) }
    }
}
