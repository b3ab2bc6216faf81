//! AVX2 and FMA: a line is two registers.

use std::arch::x86_64::*;

use super::lanes::Lanes;
use super::registers::{each, lanes, wide};

/// Two 256-bit registers a line.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;

lanes! {
    Avx2, f32: (__m256, __m256), 8 each [0 1],
    chains: 6, splat: _mm256_set1_ps, load: _mm256_loadu_ps, store: _mm256_storeu_ps,
    add: _mm256_add_ps, sub: _mm256_sub_ps, mul: _mm256_mul_ps, div: _mm256_div_ps,
    max: _mm256_max_ps, min: _mm256_min_ps;
    fma: _mm256_fmadd_ps, round: _mm256_round_ps::<NEAREST>, scale: scale_ps,
    wide: { widen: widen, fold: fold, add: _mm256_add_pd, sum: sum }
}

lanes! {
    Avx2, f64: (__m256d, __m256d), 4 each [0 1],
    chains: 6, splat: _mm256_set1_pd, load: _mm256_loadu_pd, store: _mm256_storeu_pd,
    add: _mm256_add_pd, sub: _mm256_sub_pd, mul: _mm256_mul_pd, div: _mm256_div_pd,
    max: _mm256_max_pd, min: _mm256_min_pd;
    fma: _mm256_fmadd_pd, round: _mm256_round_pd::<NEAREST>, scale: scale_pd,
    wide: { fold: fold, sum: sum }
}

// SAFETY of every block below: AVX2 is enabled by the contract of `Lanes`.

/// Twice by half the power: both are normal numbers, and only the second product rounds.
#[inline(always)]
unsafe fn scale_ps(a: __m256, n: __m256) -> __m256 {
    // SAFETY: see above.
    unsafe {
        let n = _mm256_cvtps_epi32(n);
        let half = _mm256_srai_epi32::<1>(n);
        let bias = _mm256_set1_epi32(127);
        let first = _mm256_slli_epi32::<23>(_mm256_add_epi32(half, bias));
        let rest = _mm256_sub_epi32(n, half);
        let second = _mm256_slli_epi32::<23>(_mm256_add_epi32(rest, bias));
        let a = _mm256_mul_ps(a, _mm256_castsi256_ps(first));
        _mm256_mul_ps(a, _mm256_castsi256_ps(second))
    }
}

/// As for `f32`.
#[inline(always)]
unsafe fn scale_pd(a: __m256d, n: __m256d) -> __m256d {
    // SAFETY: see above.
    unsafe {
        let n = _mm256_cvtpd_epi32(n);
        let half = _mm_srai_epi32::<1>(n);
        let power = |n: __m128i| {
            let biased = _mm256_cvtepi32_epi64(_mm_add_epi32(n, _mm_set1_epi32(1023)));
            _mm256_castsi256_pd(_mm256_slli_epi64::<52>(biased))
        };
        let a = _mm256_mul_pd(a, power(half));
        _mm256_mul_pd(a, power(_mm_sub_epi32(n, half)))
    }
}

#[inline(always)]
unsafe fn widen((low, high): (__m256, __m256)) -> ((__m256d, __m256d), (__m256d, __m256d)) {
    // SAFETY: see above.
    unsafe {
        let first = |half| _mm256_cvtps_pd(_mm256_castps256_ps128(half));
        let last = |half| _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(half));
        ((first(low), last(low)), (first(high), last(high)))
    }
}

#[inline(always)]
unsafe fn fold((a, b): (__m256d, __m256d)) -> __m256d {
    // SAFETY: see above.
    unsafe { _mm256_add_pd(a, b) }
}

/// The sum of four values in a fixed order.
#[inline(always)]
unsafe fn sum(v: __m256d) -> f64 {
    // SAFETY: see above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}
