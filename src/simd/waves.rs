//! Cosines of a slice: a plain loop in `f64`, without FMA, compiled for every level.

use super::lanes::Lanes;
use super::{Compiled, Work};

/// `values_j = scale cos(values_j + phases_j)`.
pub(super) struct Cosines<'a, F> {
    pub(super) values: &'a mut [F],
    pub(super) phases: &'a [f64],
    pub(super) scale: f64,
}

/// Adding and taking it away rounds to the nearest integer.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// 2π in two parts, the first with 27 bits to spare: a multiple of it below 2²⁷ is exact.
const TURN: f64 = 6.283_185_243_606_567;
const TURN_REST: f64 = 6.357_301_909_411_278e-8;

impl<F: Compiled> Work<F> for Cosines<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        for (value, phase) in self.values.iter_mut().zip(self.phases) {
            *value = F::from_f64(self.scale * cosine((*value).to_f64() + phase));
        }
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

#[cfg(test)]
mod tests {
    use crate::simd::cosines;

    #[test]
    fn cosines_are_those_of_the_standard_library() {
        let mut worst: f64 = 0.0;
        for i in 0..200_000 {
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
