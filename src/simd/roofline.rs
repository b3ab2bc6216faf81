//! The machine's multiply-add rate, to hold the block kernel against.

use super::dispatch::{Compiled, Level, Work, levels};
use super::lanes::{Lanes, width};
use super::scalar::Scalar;

struct Chains(usize);

impl<F: Compiled> Work<F> for Chains {
    type Output = F;
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) -> F {
        // SAFETY: the features are enabled; passed on.
        unsafe {
            // As many chains as fit the registers, matched as in the block kernel.
            match L::CHAINS {
                16.. => chains::<F, L, 16>(self.0),
                6.. => chains::<F, L, 6>(self.0),
                _ => chains::<F, L, 4>(self.0),
            }
        }
    }
}

#[inline(always)]
unsafe fn chains<F: Compiled, L: Lanes<F>, const N: usize>(rounds: usize) -> F {
    // Distinct values in every lane, so that no two registers can be found equal.
    let start: [F; 256] = std::hint::black_box(std::array::from_fn(|i| F::from_f64(i as f64)));
    // SAFETY: `start` holds 16 lines; `out` is at least a line.
    unsafe {
        let factor = L::splat(F::from_f64(0.999));
        let term = L::splat(F::from_f64(0.001));
        let mut chains: [L::Line; N] =
            std::array::from_fn(|i| L::load(start.as_ptr().add(i * width::<F>())));
        for _ in 0..rounds {
            for chain in &mut chains {
                *chain = L::fma(*chain, factor, term);
            }
        }
        let total = chains.iter().skip(1).fold(chains[0], |a, &b| L::add(a, b));
        let mut out = [F::zero(); 16];
        L::store(out.as_mut_ptr(), total);
        out[0]
    }
}

/// Runs `rounds` of independent `f32` multiply-adds at `level` and returns how many floating
/// point operations that was (two a multiply-add). Used by `benches/roofline.rs`.
#[doc(hidden)]
#[must_use]
pub fn fma_rounds(level: Level, rounds: usize) -> f64 {
    assert!(levels().contains(&level), "a level the processor has");
    // SAFETY: the level was just checked.
    std::hint::black_box(unsafe { f32::dispatch(level, Chains(rounds)) });
    let chains = match level {
        Level::Scalar => <Scalar as Lanes<f32>>::CHAINS,
        Level::Avx2 => 6,
        Level::Avx512 => 16,
        Level::Neon => 4,
    };
    2.0 * (chains * width::<f32>()) as f64 * rounds as f64
}
