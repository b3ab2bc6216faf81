//! One seeded generator (xoshiro256++), and every way of drawing from it that the crate uses.
//!
//! The stream is part of what a seed promises: a change here changes every fitted model.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::Serialize;

/// A stream of random numbers that is the same on every platform.
#[derive(Clone, Debug, Serialize)]
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

    /// Where the stream stands.
    #[must_use]
    pub fn place(&self) -> [u64; 4] {
        // The generator shows its state to serde alone.
        let shown = serde_json::to_value(self).unwrap_or_default();
        std::array::from_fn(|i| shown["s"][i].as_u64().unwrap_or_default())
    }

    /// The stream that stands there.
    #[must_use]
    pub fn at(place: [u64; 4]) -> Self {
        let mut seed = [0; 32];
        for (bytes, word) in seed.chunks_exact_mut(8).zip(place) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        Self(Xoshiro256PlusPlus::from_seed(seed))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_goes_on_from_its_place() {
        let mut rng = Rng::new(7);
        (0..5).for_each(|_| _ = rng.next_u64());
        let mut other = Rng::at(rng.place());
        assert!((0..9).all(|_| rng.next_u64() == other.next_u64()));
    }
}
