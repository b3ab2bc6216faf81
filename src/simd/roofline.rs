//! The machine's multiply-add rate, to hold the block kernel against.

use super::dispatch::{Level, compiled, levels};
use super::lanes::{Lanes, width};

/// `rounds` multiply-adds of as many chains as fit the registers, from distinct values in every
/// lane, so that no two registers can be found equal; and how many chains there are.
#[inline(always)]
unsafe fn fma_chains<L: Lanes<f32>>(start: &[f32; 256], rounds: usize) -> (f32, usize) {
    // SAFETY: the features are enabled; passed on.
    unsafe {
        // Matched as in the block kernel.
        match L::CHAINS {
            16.. => (chains::<L, 16>(start, rounds), 16),
            6.. => (chains::<L, 6>(start, rounds), 6),
            _ => (chains::<L, 4>(start, rounds), 4),
        }
    }
}

#[inline(always)]
unsafe fn chains<L: Lanes<f32>, const N: usize>(start: &[f32; 256], rounds: usize) -> f32 {
    // SAFETY: `start` holds 16 lines; `out` is at least a line.
    unsafe {
        let factor = L::splat(0.999);
        let term = L::splat(0.001);
        let mut chains: [L::Line; N] =
            std::array::from_fn(|i| L::load(start.as_ptr().add(i * width::<f32>())));
        for _ in 0..rounds {
            for chain in &mut chains {
                *chain = L::fma(*chain, factor, term);
            }
        }
        let total = chains.iter().skip(1).fold(chains[0], |a, &b| L::add(a, b));
        let mut out = [0.0; 16];
        L::store(out.as_mut_ptr(), total);
        out[0]
    }
}

mod at {
    use super::*;
    compiled! {
        fn fma_chains(start: &[f32; 256], rounds: usize) -> (f32, usize) = super::fma_chains::<L>;
    }
}

/// Runs `rounds` of independent `f32` multiply-adds at `level` and returns how many floating
/// point operations that was (two a multiply-add). Used by `benches/roofline.rs`.
#[doc(hidden)]
#[must_use]
pub fn fma_rounds(level: Level, rounds: usize) -> f64 {
    assert!(levels().contains(&level), "a level the processor has");
    let start = std::hint::black_box(std::array::from_fn(|i| i as f32));
    // SAFETY: the level was just checked.
    let (_, chains) = std::hint::black_box(unsafe { at::fma_chains(level, &start, rounds) });
    2.0 * (chains * width::<f32>()) as f64 * rounds as f64
}
