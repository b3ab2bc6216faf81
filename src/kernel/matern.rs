//! The Matérn kernels of smoothness 3/2 and 5/2, between the Laplacian and the Gaussian.
//!
//! ```text
//! k_3/2 = (1 + t) exp(-t),            t = √3 r/ℓ
//! k_5/2 = (1 + t + t²/3) exp(-t),     t = √5 r/ℓ,      r = ‖x - z‖,  ℓ = 1/√(2γ)
//! ```
//!
//! With this ℓ the Matérn kernel of smoothness ∞ is the Gaussian of the same γ. The blocks compute
//! `t² = 2 p γ r²` (p = 3, 5) as the Gaussian's do γ r², and map it. In t² the values are smooth,
//! with a slope of at most 1/2 and 1/6, so rounding of t² near 0 costs no more than the Gaussian's.
//!
//! Merging is not offered: its search and its table rest on `k(a, z)` being a power of `k(a, b)` for
//! z on the line from a to b, which holds for the Gaussian alone. Nor are gradients in the points
//! and in γ, which are multiples of the value and of its logarithm there.

use super::form::{Distance, Form, Spectrum};
use crate::simd::Map;

/// The polynomial's coefficient of t².
fn quadratic(p: u32) -> f64 {
    if p == 3 { 0.0 } else { 1.0 / 3.0 }
}

/// The kernel of smoothness p/2, p = 3 or 5.
pub(super) fn form(p: u32, gamma: f64) -> Form {
    Form::Distance {
        of: Distance::Squared,
        gamma: 2.0 * f64::from(p) * gamma,
        map: Map::Matern { quadratic: quadratic(p) },
        steepness: if p == 3 { 0.5 } else { 1.0 / 6.0 },
    }
}

/// The frequencies: multivariate t with p degrees of freedom and scale 1/ℓ.
pub(super) fn spectrum(p: u32, gamma: f64) -> Spectrum {
    Spectrum::Student { scale: (2.0 * gamma).sqrt(), degrees: p }
}

/// The value at a squared distance.
pub(super) fn value(p: u32, gamma: f64, square: f64) -> f64 {
    let t = (2.0 * f64::from(p) * gamma * square).sqrt();
    (1.0 + t + quadratic(p) * t * t) * (-t).exp()
}

#[cfg(test)]
mod tests {
    use crate::kernel::AnyKernel;

    fn kernels(gamma: f64) -> [AnyKernel; 2] {
        [AnyKernel::Matern32 { gamma }, AnyKernel::Matern52 { gamma }]
    }

    /// Values of scikit-learn's `Matern(length_scale=1/√(2γ), nu)` at γ = 0.4, r = 0.5, 1, 3.
    #[test]
    fn values_are_those_of_scikit_learn() {
        let known = [
            [0.817_893_210_239_861_7, 0.541_497_750_252_639_7, 0.054_130_749_179_514_47],
            [0.858_385_362_733_365_5, 0.586_452_894_025_321_6, 0.047_096_291_356_660_81],
        ];
        for (kernel, known) in kernels(0.4).into_iter().zip(known) {
            for (r, known) in [0.5, 1.0, 3.0].into_iter().zip(known) {
                assert!((kernel.eval(&[r], &[0.0]) - known).abs() < 1e-14, "{kernel:?} {r}");
            }
        }
    }

    #[test]
    fn they_lie_between_the_exponential_of_the_distance_and_the_gaussian() {
        let gamma = 0.7;
        let gaussian = AnyKernel::Gaussian { gamma };
        for r in [0.1, 0.4, 0.9] {
            let at = |kernel: AnyKernel| kernel.eval(&[r], &[0.0]);
            let [rough, smooth] = kernels(gamma);
            let exponential = (-(2.0 * gamma).sqrt() * r).exp();
            assert!(exponential < at(rough) && at(rough) < at(smooth) && at(smooth) < at(gaussian));
        }
    }
}
