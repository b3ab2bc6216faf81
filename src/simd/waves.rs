//! Cosines and sines of a slice: plain loops without FMA, compiled for every level.

use crate::float::Real;

/// Adding and taking it away rounds to the nearest integer.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// 2π in two parts, the first with 27 bits to spare: a multiple of it below 2²⁷ is exact.
const TURN: f64 = 6.283_185_243_606_567;
const TURN_REST: f64 = 6.357_301_909_411_278e-8;

#[inline(always)]
pub(super) fn cosines<F: Real>(values: &mut [F], phases: &[f64], scale: f64) {
    assert!(values.len() == phases.len(), "equal lengths");
    for (value, phase) in values.iter_mut().zip(phases) {
        *value = F::from_f64(scale * cosine((*value).to_f64() + phase));
    }
}

/// With `r` the argument less whole turns, `cos r = sin(π/2 - |r|)`, and the Taylor series of the
/// sine to the 21st power is within 3e-16 on [-π/2, π/2].
#[inline(always)]
fn cosine(x: f64) -> f64 {
    let turns = (x * (1.0 / std::f64::consts::TAU) + ROUND) - ROUND;
    let r = (x - turns * TURN) - turns * TURN_REST;
    let t = std::f64::consts::FRAC_PI_2 - r.abs();
    let s = t * t;
    let mut sum = 1.957_294_106_339_126_3e-20;
    sum = sum * s - 8.220_635_246_624_33e-18;
    sum = sum * s + 2.811_457_254_345_520_6e-15;
    sum = sum * s - 7.647_163_731_819_816e-13;
    sum = sum * s + 1.605_904_383_682_161_3e-10;
    sum = sum * s - 2.505_210_838_544_172e-8;
    sum = sum * s + 2.755_731_922_398_589_3e-6;
    sum = sum * s - 1.984_126_984_126_984e-4;
    sum = sum * s + 8.333_333_333_333_333e-3;
    sum = sum * s - 1.666_666_666_666_666_6e-1;
    t + t * s * sum
}

#[inline(always)]
pub(super) fn waves<F: Real>(cosines: &mut [F], sines: &mut [F], scale: f64) {
    assert!(cosines.len() == sines.len(), "equal lengths");
    let scale = F::from_f64(scale);
    for (cosine, sine) in cosines.iter_mut().zip(sines) {
        let (c, s) = wave::<F>((*cosine).to_f64());
        (*cosine, *sine) = (scale * c, scale * s);
    }
}

/// With `r` the argument less whole quarters of a turn, in [-π/4, π/4], both series to the 16th
/// and 17th power, which leaves 2e-18, in the precision of the answer.
#[inline(always)]
fn wave<F: Real>(x: f64) -> (F, F) {
    let quarters = (x * std::f64::consts::FRAC_2_PI + ROUND) - ROUND;
    let r = F::from_f64((x - quarters * (TURN / 4.0)) - quarters * (TURN_REST / 4.0));
    // -2, -1, 0, 1, 2: the quarter it ends in.
    let quarter = quarters - 4.0 * ((quarters * 0.25 + ROUND) - ROUND);
    let s = r * r;
    let of = |value: f64| F::from_f64(value);
    let mut sine = of(2.811_457_254_345_520_6e-15);
    sine = sine * s - of(7.647_163_731_819_816e-13);
    sine = sine * s + of(1.605_904_383_682_161_3e-10);
    sine = sine * s - of(2.505_210_838_544_172e-8);
    sine = sine * s + of(2.755_731_922_398_589_3e-6);
    sine = sine * s - of(1.984_126_984_126_984e-4);
    sine = sine * s + of(8.333_333_333_333_333e-3);
    sine = sine * s - of(1.666_666_666_666_666_6e-1);
    let sine = r + r * s * sine;
    let mut cosine = of(4.779_477_332_387_385e-14);
    cosine = cosine * s - of(1.147_074_559_772_972_5e-11);
    cosine = cosine * s + of(2.087_675_698_786_81e-9);
    cosine = cosine * s - of(2.755_731_922_398_589e-7);
    cosine = cosine * s + of(2.480_158_730_158_73e-5);
    cosine = cosine * s - of(1.388_888_888_888_889e-3);
    cosine = cosine * s + of(4.166_666_666_666_666_4e-2);
    cosine = cosine * s - of(0.5);
    let cosine = F::one() + s * cosine;
    let odd = quarter.abs() == 1.0;
    let (c, n) = if odd { (sine, cosine) } else { (cosine, sine) };
    // cos(π/2 + r) = -sin r, sin(-π/2 + r) = -cos r, and half a turn changes both signs.
    let half = quarter.abs() == 2.0;
    let c = if half || quarter == 1.0 { -c } else { c };
    let n = if half || quarter == -1.0 { -n } else { n };
    (c, n)
}

#[cfg(test)]
mod tests {
    use crate::simd::{cosines, waves};

    /// Miri takes microseconds an operation: there, few of them.
    const STEP: usize = if cfg!(miri) { 997 } else { 1 };

    #[test]
    fn waves_are_those_of_the_standard_library() {
        let arguments: Vec<f64> =
            (0..200_001).step_by(STEP).map(|i| (f64::from(i) - 1e5) * 0.01237).collect();
        let (mut c, mut s) = (arguments.clone(), arguments.clone());
        waves(&mut c, &mut s, 1.0);
        for ((x, c), s) in arguments.iter().zip(&c).zip(&s) {
            assert!((c - x.cos()).abs() < 1e-15 && (s - x.sin()).abs() < 1e-15, "{x}: {c} {s}");
        }
        let single: Vec<f32> = arguments.iter().map(|x| *x as f32).collect();
        let (mut c, mut s) = (single.clone(), single.clone());
        waves(&mut c, &mut s, 0.5);
        for ((x, c), s) in single.iter().zip(&c).zip(&s) {
            let (cos, sin) = (f64::from(*x).cos() / 2.0, f64::from(*x).sin() / 2.0);
            assert!((f64::from(*c) - cos).abs() < 1e-7 && (f64::from(*s) - sin).abs() < 1e-7);
        }
    }

    #[test]
    fn cosines_are_those_of_the_standard_library() {
        let mut worst: f64 = 0.0;
        for i in (0..200_000).step_by(STEP) {
            let x = (f64::from(i) - 1e5) * 0.01237;
            let phase = f64::from(i % 7);
            let mut value = [x];
            cosines(&mut value, &[phase], 1.0);
            worst = worst.max((value[0] - (x + phase).cos()).abs());
            let mut single = [x as f32];
            cosines(&mut single, &[phase], 2.0);
            let expected = 2.0 * (f64::from(x as f32) + phase).cos();
            assert!((f64::from(single[0]) - expected).abs() <= 2e-7);
        }
        // The rounding of arguments up to 1243 is 1e-13 for neither side: both see the same one.
        assert!(worst < 1e-15, "{worst}");
    }
}
