//! AVX-512F: a line is one register.

use std::arch::x86_64::*;

use super::lanes::Lanes;

/// One 512-bit register a line.
#[derive(Clone, Copy)]
pub(super) struct Avx512;

// SAFETY of every block below: the contract of `Lanes` (features enabled, pointers valid for a
// whole line) is all that the intrinsics ask for.

macro_rules! lanes {
    ($float:ty, $line:ty, $wide:ty, $set1:ident, $load:ident, $store:ident, $add:ident,
     $sub:ident, $mul:ident, $div:ident, $min:ident, $fma:ident, $max:ident, $round:ident, $scale:ident) => {
        type Line = $line;
        type Wide = $wide;
        const CHAINS: usize = 16;

        #[inline(always)]
        unsafe fn splat(value: $float) -> $line {
            // SAFETY: see above.
            unsafe { $set1(value) }
        }
        #[inline(always)]
        unsafe fn load(from: *const $float) -> $line {
            // SAFETY: see above.
            unsafe { $load(from) }
        }
        #[inline(always)]
        unsafe fn store(to: *mut $float, line: $line) {
            // SAFETY: see above.
            unsafe { $store(to, line) }
        }
        #[inline(always)]
        unsafe fn add(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $add(a, b) }
        }
        #[inline(always)]
        unsafe fn sub(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $sub(a, b) }
        }
        #[inline(always)]
        unsafe fn mul(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $mul(a, b) }
        }
        #[inline(always)]
        unsafe fn fma(a: $line, b: $line, c: $line) -> $line {
            // SAFETY: see above.
            unsafe { $fma(a, b, c) }
        }
        #[inline(always)]
        unsafe fn max(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $max(a, b) }
        }
        #[inline(always)]
        unsafe fn div(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $div(a, b) }
        }
        #[inline(always)]
        unsafe fn min(a: $line, b: $line) -> $line {
            // SAFETY: see above.
            unsafe { $min(a, b) }
        }
        #[inline(always)]
        unsafe fn round(a: $line) -> $line {
            // SAFETY: see above. Immediate 0: to the nearest multiple of 2^0.
            unsafe { $round::<0>(a) }
        }
        #[inline(always)]
        unsafe fn scale(a: $line, n: $line) -> $line {
            // SAFETY: see above.
            unsafe { $scale(a, n) }
        }
        #[inline(always)]
        unsafe fn fma_one(a: $float, b: $float, c: $float) -> $float {
            a.mul_add(b, c)
        }
    };
}

impl Lanes<f32> for Avx512 {
    lanes!(
        f32,
        __m512,
        (__m512d, __m512d),
        _mm512_set1_ps,
        _mm512_loadu_ps,
        _mm512_storeu_ps,
        _mm512_add_ps,
        _mm512_sub_ps,
        _mm512_mul_ps,
        _mm512_div_ps,
        _mm512_min_ps,
        _mm512_fmadd_ps,
        _mm512_max_ps,
        _mm512_roundscale_ps,
        _mm512_scalef_ps
    );

    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { (_mm512_setzero_pd(), _mm512_setzero_pd()) }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: __m512) -> Self::Wide {
        // SAFETY: see above.
        unsafe {
            let low = _mm512_cvtps_pd(_mm512_castps512_ps256(line));
            let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(line)));
            (
                _mm512_fmadd_pd(_mm512_loadu_pd(coef), low, acc.0),
                _mm512_fmadd_pd(_mm512_loadu_pd(coef.add(8)), _mm512_cvtps_pd(high), acc.1),
            )
        }
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe { _mm512_reduce_add_pd(_mm512_add_pd(acc.0, acc.1)) }
    }
}

impl Lanes<f64> for Avx512 {
    lanes!(
        f64,
        __m512d,
        __m512d,
        _mm512_set1_pd,
        _mm512_loadu_pd,
        _mm512_storeu_pd,
        _mm512_add_pd,
        _mm512_sub_pd,
        _mm512_mul_pd,
        _mm512_div_pd,
        _mm512_min_pd,
        _mm512_fmadd_pd,
        _mm512_max_pd,
        _mm512_roundscale_pd,
        _mm512_scalef_pd
    );

    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { _mm512_setzero_pd() }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: __m512d) -> Self::Wide {
        // SAFETY: see above.
        unsafe { _mm512_fmadd_pd(_mm512_loadu_pd(coef), line, acc) }
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe { _mm512_reduce_add_pd(acc) }
    }
}
