//! NEON: a line is four registers. Every aarch64 processor has it.

use std::arch::aarch64::*;

use super::lanes::Lanes;
use super::registers::{each, lanes, wide};

/// Four 128-bit registers a line.
#[derive(Clone, Copy)]
pub(super) struct Neon;

type Singles = (float32x4_t, float32x4_t, float32x4_t, float32x4_t);
type Doubles = (float64x2_t, float64x2_t, float64x2_t, float64x2_t);

// 32 registers: four lines of sums, and room for the operands. The number-preferring forms of max
// and min give `b` where `a` is NaN; rounding is to even.
lanes! {
    Neon, f32: Singles, 4 each [0 1 2 3],
    chains: 4, splat: vdupq_n_f32, load: vld1q_f32, store: vst1q_f32,
    add: vaddq_f32, sub: vsubq_f32, mul: vmulq_f32, div: vdivq_f32,
    max: vmaxnmq_f32, min: vminnmq_f32;
    fma: fma_f32, round: vrndnq_f32, scale: scale_f32,
    wide: { widen: widen, fold: fold, add: vaddq_f64, sum: vaddvq_f64 }
}

lanes! {
    Neon, f64: Doubles, 2 each [0 1 2 3],
    chains: 4, splat: vdupq_n_f64, load: vld1q_f64, store: vst1q_f64,
    add: vaddq_f64, sub: vsubq_f64, mul: vmulq_f64, div: vdivq_f64,
    max: vmaxnmq_f64, min: vminnmq_f64;
    fma: fma_f64, round: vrndnq_f64, scale: scale_f64,
    wide: { fold: fold, sum: vaddvq_f64 }
}

// SAFETY of every block below: NEON is enabled by the contract of `Lanes`.

/// The accumulator comes first.
#[inline(always)]
unsafe fn fma_f32(a: float32x4_t, b: float32x4_t, c: float32x4_t) -> float32x4_t {
    // SAFETY: see above.
    unsafe { vfmaq_f32(c, a, b) }
}

#[inline(always)]
unsafe fn fma_f64(a: float64x2_t, b: float64x2_t, c: float64x2_t) -> float64x2_t {
    // SAFETY: see above.
    unsafe { vfmaq_f64(c, a, b) }
}

/// Twice by half the power: both are normal numbers, and only the second product rounds.
#[inline(always)]
unsafe fn scale_f32(a: float32x4_t, n: float32x4_t) -> float32x4_t {
    // SAFETY: see above.
    unsafe {
        let n = vcvtq_s32_f32(n);
        let half = vshrq_n_s32::<1>(n);
        let rest = vsubq_s32(n, half);
        let power = |n| vreinterpretq_f32_s32(vshlq_n_s32::<23>(vaddq_s32(n, vdupq_n_s32(127))));
        vmulq_f32(vmulq_f32(a, power(half)), power(rest))
    }
}

/// As for `f32`.
#[inline(always)]
unsafe fn scale_f64(a: float64x2_t, n: float64x2_t) -> float64x2_t {
    // SAFETY: see above.
    unsafe {
        let n = vcvtq_s64_f64(n);
        let half = vshrq_n_s64::<1>(n);
        let rest = vsubq_s64(n, half);
        let power = |n| vreinterpretq_f64_s64(vshlq_n_s64::<52>(vaddq_s64(n, vdupq_n_s64(1023))));
        vmulq_f64(vmulq_f64(a, power(half)), power(rest))
    }
}

#[inline(always)]
unsafe fn widen((a, b, c, d): Singles) -> (Doubles, Doubles) {
    // SAFETY: see above.
    unsafe {
        let low = |v| vcvt_f64_f32(vget_low_f32(v));
        let high = |v| vcvt_high_f64_f32(v);
        ((low(a), high(a), low(b), high(b)), (low(c), high(c), low(d), high(d)))
    }
}

#[inline(always)]
unsafe fn fold((a, b, c, d): Doubles) -> float64x2_t {
    // SAFETY: see above.
    unsafe { vaddq_f64(vaddq_f64(a, c), vaddq_f64(b, d)) }
}
