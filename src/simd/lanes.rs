//! What a level of the processor offers, as one trait over lines of 64 bytes.
//!
//! A line holds [`width`] values: 16 `f32` or 8 `f64`. Bodies are written once over lines and
//! compiled once a level; a level maps a line to one, two or four registers and states the
//! operations of a register (`registers.rs`).

use crate::float::Real;

/// Values in a line: 16 for `f32`, 8 for `f64`.
#[inline(always)]
pub(crate) const fn width<F: Real>() -> usize {
    64 / size_of::<F>()
}

/// Features of a part, where sums are made in parts: those of four lines of centres stay in the nearest
/// cache.
pub const PART: usize = 64;

/// Operations on lines of `F` at one level.
///
/// # Safety
/// Every method may be called only where the level's processor features are enabled, and every
/// pointer must be valid for a whole line. All methods are `inline(always)`, so that they are
/// compiled inside a function that enables the features.
#[allow(clippy::missing_safety_doc)]
pub(super) trait Lanes<F: Real>: Copy {
    /// A line of values.
    type Line: Copy;
    /// As many `f64` values as a line has values.
    type Wide: Copy;
    /// Lines that fit the registers as sums: [`Lanes::fma`] chains that run side by side.
    const CHAINS: usize;

    unsafe fn splat(value: F) -> Self::Line;
    unsafe fn load(from: *const F) -> Self::Line;
    unsafe fn store(to: *mut F, line: Self::Line);
    unsafe fn add(a: Self::Line, b: Self::Line) -> Self::Line;
    unsafe fn sub(a: Self::Line, b: Self::Line) -> Self::Line;
    unsafe fn mul(a: Self::Line, b: Self::Line) -> Self::Line;
    unsafe fn div(a: Self::Line, b: Self::Line) -> Self::Line;
    /// `a * b + c`, rounded once where the level has FMA.
    unsafe fn fma(a: Self::Line, b: Self::Line, c: Self::Line) -> Self::Line;
    /// The larger; `b` where `a` is NaN.
    unsafe fn max(a: Self::Line, b: Self::Line) -> Self::Line;
    /// The smaller; `b` where `a` is NaN.
    unsafe fn min(a: Self::Line, b: Self::Line) -> Self::Line;
    /// To the nearest integer.
    unsafe fn round(a: Self::Line) -> Self::Line;
    /// `a * 2^n` for a line of integers `n` in [-1080, 0] (`f64`) or [-250, 0] (`f32`), rounded
    /// once.
    unsafe fn scale(a: Self::Line, n: Self::Line) -> Self::Line;

    unsafe fn wide_zero() -> Self::Wide;
    /// `acc + coef * line` in `f64`; `coef` points at as many `f64` as a line has values.
    unsafe fn wide_fma(acc: Self::Wide, coef: *const f64, line: Self::Line) -> Self::Wide;
    /// The sum of all values, in a fixed order.
    unsafe fn wide_sum(acc: Self::Wide) -> f64;
    /// `a * b + c` on single values, rounded as [`Lanes::fma`] rounds.
    unsafe fn fma_one(a: F, b: F, c: F) -> F;
}

/// Constants of the exponential.
pub(super) trait ExpConstants: Real {
    /// Below this the result is 0 (and the reduction stays exact).
    const LOWEST: Self;
    const LOG2_E: Self;
    const LN_2_HI: Self;
    const LN_2_LO: Self;
    /// Coefficients of (e^r - 1 - r) / r², highest power first.
    const POLYNOMIAL: &'static [Self];
    /// Coefficients of (2^r - 1) / r, highest power first.
    const BASE_2: &'static [Self];
}

impl ExpConstants for f32 {
    const LOWEST: f32 = -150.0;
    const LOG2_E: f32 = std::f32::consts::LOG2_E;
    const LN_2_HI: f32 = 0.693_359_4;
    const LN_2_LO: f32 = -2.121_944_4e-4;
    const POLYNOMIAL: &'static [f32] =
        &[1.987_569_2e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5];
    const BASE_2: &'static [f32] = &[
        1.535_336_2e-4,
        1.339_887_5e-3,
        9.618_437e-3,
        5.550_332_6e-2,
        2.402_264_8e-1,
        6.931_472e-1,
    ];
}

impl ExpConstants for f64 {
    const LOWEST: f64 = -747.0;
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    const LN_2_HI: f64 = 6.931_471_803_691_238e-1;
    const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;
    const POLYNOMIAL: &'static [f64] = &[
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ];
    const BASE_2: &'static [f64] = &[
        1.3691488853904124e-12,
        2.5678435993488196e-11,
        4.44553827187081e-10,
        7.054911620801121e-09,
        1.0178086009239696e-07,
        1.3215486790144305e-06,
        1.5252733804059838e-05,
        0.00015403530393381606,
        0.0013333558146428441,
        0.009618129107628477,
        0.055504108664821576,
        0.2402265069591007,
        std::f64::consts::LN_2,
    ];
}

/// `e^x` for `x <= 0`, at most 2 ulp off, monotone, 0 at -∞, exactly 1 at 0.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn exp<F: ExpConstants, L: Lanes<F>>(x: L::Line) -> L::Line {
    // SAFETY: the caller enables the features of `L`; no pointer is involved.
    unsafe {
        let x = L::max(x, L::splat(F::LOWEST));
        let n = L::round(L::mul(x, L::splat(F::LOG2_E)));
        let r = L::fma(n, L::splat(-F::LN_2_HI), x);
        let r = L::fma(n, L::splat(-F::LN_2_LO), r);
        let mut p = L::splat(F::POLYNOMIAL[0]);
        for &coefficient in &F::POLYNOMIAL[1..] {
            p = L::fma(p, r, L::splat(coefficient));
        }
        let p = L::add(L::fma(p, L::mul(r, r), r), L::splat(F::one()));
        L::scale(p, n)
    }
}

/// `2^y` for `y <= 0`: 0 at -∞, exactly 1 at 0, at most 2 ulp off. What the block kernel fuses
/// in, with log2(e) inside the factor of the distance: fewer steps than [`exp`], and the rounding
/// of that product is no larger than the rounding of the distance itself.
///
/// # Safety
/// As [`Lanes`].
#[inline(always)]
pub(super) unsafe fn exp2<F: ExpConstants, L: Lanes<F>>(y: L::Line) -> L::Line {
    // SAFETY: the caller enables the features of `L`; no pointer is involved.
    unsafe {
        let y = L::max(y, L::splat(F::LOWEST * F::LOG2_E));
        let n = L::round(y);
        let r = L::sub(y, n);
        let mut p = L::splat(F::BASE_2[0]);
        for &coefficient in &F::BASE_2[1..] {
            p = L::fma(p, r, L::splat(coefficient));
        }
        L::scale(L::fma(p, r, L::splat(F::one())), n)
    }
}
