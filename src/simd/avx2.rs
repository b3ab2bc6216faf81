//! AVX2 and FMA: a line is two registers.

use std::arch::x86_64::*;

use super::lanes::Lanes;

/// Two 256-bit registers a line.
#[derive(Clone, Copy)]
pub(super) struct Avx2;

macro_rules! pair {
    ($f:ident, $a:expr, $b:expr) => {
        ($f($a.0, $b.0), $f($a.1, $b.1))
    };
}

// SAFETY of every block below: the contract of `Lanes` (features enabled, pointers valid for a
// whole line) is all that the intrinsics ask for.

impl Lanes<f32> for Avx2 {
    type Line = (__m256, __m256);
    type Wide = [__m256d; 4];
    const CHAINS: usize = 6;

    #[inline(always)]
    unsafe fn splat(value: f32) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_set1_ps(value), _mm256_set1_ps(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f32, line: Self::Line) {
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_ps(to, line.0);
            _mm256_storeu_ps(to.add(8), line.1);
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_add_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_sub_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_mul_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_fmadd_ps(a.0, b.0, c.0), _mm256_fmadd_ps(a.1, b.1, c.1)) }
    }
    #[inline(always)]
    unsafe fn max(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_max_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_div_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_min_ps, a, b) }
    }
    #[inline(always)]
    unsafe fn round(a: Self::Line) -> Self::Line {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: see above.
        unsafe { (_mm256_round_ps::<NEAREST>(a.0), _mm256_round_ps::<NEAREST>(a.1)) }
    }
    #[inline(always)]
    unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
        #[inline(always)]
        unsafe fn one(a: __m256, n: __m256) -> __m256 {
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
        // SAFETY: see above.
        unsafe { (one(a.0, n.0), one(a.1, n.1)) }
    }
    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { [_mm256_setzero_pd(); 4] }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
        // SAFETY: see above.
        unsafe {
            let quarters = [
                _mm256_cvtps_pd(_mm256_castps256_ps128(line.0)),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(line.0)),
                _mm256_cvtps_pd(_mm256_castps256_ps128(line.1)),
                _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(line.1)),
            ];
            [
                _mm256_fmadd_pd(_mm256_loadu_pd(coef), quarters[0], acc[0]),
                _mm256_fmadd_pd(_mm256_loadu_pd(coef.add(4)), quarters[1], acc[1]),
                _mm256_fmadd_pd(_mm256_loadu_pd(coef.add(8)), quarters[2], acc[2]),
                _mm256_fmadd_pd(_mm256_loadu_pd(coef.add(12)), quarters[3], acc[3]),
            ]
        }
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe {
            let sum = _mm256_add_pd(_mm256_add_pd(acc[0], acc[1]), _mm256_add_pd(acc[2], acc[3]));
            sum_pd(sum)
        }
    }
    #[inline(always)]
    unsafe fn fma_one(a: f32, b: f32, c: f32) -> f32 {
        a.mul_add(b, c)
    }
}

/// The sum of four values in a fixed order.
///
/// # Safety
/// AVX must be enabled.
#[inline(always)]
unsafe fn sum_pd(v: __m256d) -> f64 {
    // SAFETY: see above.
    unsafe {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }
}

impl Lanes<f64> for Avx2 {
    type Line = (__m256d, __m256d);
    type Wide = (__m256d, __m256d);
    const CHAINS: usize = 6;

    #[inline(always)]
    unsafe fn splat(value: f64) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_set1_pd(value), _mm256_set1_pd(value)) }
    }
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))) }
    }
    #[inline(always)]
    unsafe fn store(to: *mut f64, line: Self::Line) {
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_pd(to, line.0);
            _mm256_storeu_pd(to.add(4), line.1);
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_add_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn sub(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_sub_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn mul(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_mul_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { (_mm256_fmadd_pd(a.0, b.0, c.0), _mm256_fmadd_pd(a.1, b.1, c.1)) }
    }
    #[inline(always)]
    unsafe fn max(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_max_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn div(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_div_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn min(a: Self::Line, b: Self::Line) -> Self::Line {
        // SAFETY: see above.
        unsafe { pair!(_mm256_min_pd, a, b) }
    }
    #[inline(always)]
    unsafe fn round(a: Self::Line) -> Self::Line {
        const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
        // SAFETY: see above.
        unsafe { (_mm256_round_pd::<NEAREST>(a.0), _mm256_round_pd::<NEAREST>(a.1)) }
    }
    #[inline(always)]
    unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line {
        #[inline(always)]
        unsafe fn one(a: __m256d, n: __m256d) -> __m256d {
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
        // SAFETY: see above.
        unsafe { (one(a.0, n.0), one(a.1, n.1)) }
    }
    #[inline(always)]
    unsafe fn wide_zero() -> Self::Wide {
        // SAFETY: see above.
        unsafe { (_mm256_setzero_pd(), _mm256_setzero_pd()) }
    }
    #[inline(always)]
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide {
        // SAFETY: see above.
        unsafe { <Self as Lanes<f64>>::fma(<Self as Lanes<f64>>::load(coef), line, acc) }
    }
    #[inline(always)]
    unsafe fn wide_sum(acc: Self::Wide) -> f64 {
        // SAFETY: see above.
        unsafe { sum_pd(_mm256_add_pd(acc.0, acc.1)) }
    }
    #[inline(always)]
    unsafe fn fma_one(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}
