//! One seeded generator (xoshiro256++), and every way of drawing from it that the crate uses.
//!
//! The stream is part of what a seed promises: a change here changes every fitted model.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A stream of random numbers that is the same on every platform.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// The stream of this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// An independent stream for part `index` of a task (a class, a cluster).
    #[must_use]
    pub fn stream(seed: u64, index: u64) -> Self {
        Self::new(seed ^ (index.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform on `0..n` without bias (Lemire's multiply and reject). `n` must be at least 1.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if (product as u64) >= n.wrapping_neg() % n {
                return (product >> 64) as usize;
            }
        }
    }

    /// Uniform on [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (-53.0f64).exp2()
    }

    /// Standard normal (Box and Muller; two uniforms a draw, so that the stream is simple).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A random permutation in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
