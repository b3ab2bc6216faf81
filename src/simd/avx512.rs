//! AVX-512F: a line is one register.

use std::arch::x86_64::*;

use super::lanes::Lanes;
use super::registers::{each, lanes, wide};

/// One 512-bit register a line.
#[derive(Clone, Copy)]
pub(super) struct Avx512;

// Rounding with the immediate 0 is to the nearest multiple of 2^0.
lanes! {
    Avx512, f32: (__m512,), 16 each [0],
    chains: 16, splat: _mm512_set1_ps, load: _mm512_loadu_ps, store: _mm512_storeu_ps,
    add: _mm512_add_ps, sub: _mm512_sub_ps, mul: _mm512_mul_ps, div: _mm512_div_ps,
    max: _mm512_max_ps, min: _mm512_min_ps;
    fma: _mm512_fmadd_ps, round: _mm512_roundscale_ps::<0>, scale: _mm512_scalef_ps,
    wide: { widen: widen, fold: fold, add: _mm512_add_pd, sum: _mm512_reduce_add_pd }
}

lanes! {
    Avx512, f64: (__m512d,), 8 each [0],
    chains: 16, splat: _mm512_set1_pd, load: _mm512_loadu_pd, store: _mm512_storeu_pd,
    add: _mm512_add_pd, sub: _mm512_sub_pd, mul: _mm512_mul_pd, div: _mm512_div_pd,
    max: _mm512_max_pd, min: _mm512_min_pd;
    fma: _mm512_fmadd_pd, round: _mm512_roundscale_pd::<0>, scale: _mm512_scalef_pd,
    wide: { fold: fold, sum: _mm512_reduce_add_pd }
}

#[inline(always)]
unsafe fn widen((line,): (__m512,)) -> ((__m512d,), (__m512d,)) {
    // SAFETY: AVX-512F is enabled by the contract of `Lanes`.
    unsafe {
        let low = _mm512_cvtps_pd(_mm512_castps512_ps256(line));
        let high = _mm256_castpd_ps(_mm512_extractf64x4_pd::<1>(_mm512_castps_pd(line)));
        ((low,), (_mm512_cvtps_pd(high),))
    }
}

#[inline(always)]
fn fold((line,): (__m512d,)) -> __m512d {
    line
}
