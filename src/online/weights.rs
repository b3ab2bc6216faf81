//! Coefficients that decay in O(1) and whose mean over a window of steps is kept lazily.
//!
//! ```text
//! β_j = σ b_j        Σ_s β_j^(s) = p_j + A b_j - u_j,   A = Σ_s σ_s
//! ```
//!
//! p is the sum over the older half of the window, A and u begin with the newer half. As long as
//! nothing is dropped there is one half, of all steps.
//!
//! # Method
//! 1. A decay changes σ alone; a change Δ of β_j adds Δ/σ to b_j and A Δ/σ to u_j, so that the
//!    steps before it do not count it.
//! 2. The end of a step adds σ to A.
//! 3. [`Weights::turn_over`] makes the newer half the older one.
//! 4. When σ has left [2⁻¹⁰, 2¹⁰] it is folded into b and A into u: `A b_j - u_j` would cancel
//!    otherwise.
//!
//! *Cost* O(1) a change, O(B) a fold; folds are at least `ln 1024 / |ln factor|` decays apart.

use crate::error::{Error, Result};
use crate::float::Real;
use crate::simd::add_scaled_rows;

/// Slots are padded to this, which is a whole number of lines of either precision.
const PAD: usize = 16;

/// Farther from 1 than this the scale is folded.
const FOLD: f64 = 1024.0;

/// Coefficients `β` of slots `0..len`, and their sums over the steps made.
#[derive(Clone, Debug, PartialEq)]
pub struct Weights {
    /// σ.
    pub(super) scale: f64,
    /// b, padded with 0.
    pub(super) values: Vec<f64>,
    pub(super) len: usize,
    /// A.
    pub(super) age: f64,
    /// u, one a slot; nothing when no mean is wanted.
    pub(super) debt: Option<Vec<f64>>,
    /// p, one a slot, or nothing while there is no older half.
    pub(super) older: Vec<f64>,
    /// Steps of the older and of the newer half of the window.
    pub(super) window: (u64, u64),
    pub(super) steps: u64,
}

impl Weights {
    /// No slots yet; `average`: whether the mean over the steps is wanted.
    #[must_use]
    pub fn new(average: bool) -> Self {
        let debt = average.then(Vec::new);
        Self {
            scale: 1.0,
            values: Vec::new(),
            len: 0,
            age: 0.0,
            debt,
            older: Vec::new(),
            window: (0, 0),
            steps: 0,
        }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Steps made.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Whether the mean over the steps is kept.
    #[must_use]
    pub fn is_averaged(&self) -> bool {
        self.debt.is_some()
    }

    /// `Σ_j β_j row_j`, from b: multiply by the scale.
    pub(super) fn raw(&self) -> (&[f64], f64) {
        (&self.values, self.scale)
    }

    /// β_j.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: usize) -> f64 {
        self.scale * self.values[slot]
    }

    /// The largest |β_j|.
    #[must_use]
    pub fn largest(&self) -> f64 {
        self.scale * self.values[..self.len].iter().fold(0.0f64, |most, v| most.max(v.abs()))
    }

    /// Whether every coefficient is a number.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        self.scale.is_finite() && self.values.iter().all(|v| v.is_finite())
    }

    /// A new slot.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn push(&mut self, value: f64) -> Result<usize> {
        let slot = self.len;
        if slot == self.values.len() {
            let full = || Error::OutOfMemory { what: "coefficients", bytes: 16 * slot };
            self.values.try_reserve(PAD).map_err(|_| full())?;
            self.values.resize(slot + PAD, 0.0);
            if let Some(debt) = &mut self.debt {
                debt.try_reserve(PAD).map_err(|_| full())?;
                debt.resize(slot + PAD, 0.0);
            }
        }
        self.len += 1;
        self.replace(slot, value);
        Ok(slot)
    }

    /// The slot begins anew with this coefficient and no past.
    pub fn replace(&mut self, slot: usize, value: f64) {
        self.values[slot] = value / self.scale;
        if let Some(debt) = &mut self.debt {
            debt[slot] = self.age * self.values[slot];
        }
        if let Some(older) = self.older.get_mut(slot) {
            *older = 0.0;
        }
    }

    /// `Σ_s β_j^(s)` over the older and over the newer half of the window; 0 when no mean is kept.
    #[must_use]
    pub fn sums(&self, slot: usize) -> (f64, f64) {
        let newer = self.debt.as_ref().map_or(0.0, |u| self.age * self.values[slot] - u[slot]);
        (self.older.get(slot).copied().unwrap_or(0.0), newer)
    }

    /// The newer half of the window becomes the older one; what was older counts no more.
    pub fn turn_over(&mut self) {
        self.older = (0..self.len).map(|slot| self.sums(slot).1).collect();
        if let Some(debt) = &mut self.debt {
            debt.fill(0.0);
        }
        self.age = 0.0;
        self.window = (self.window.1, 0);
    }

    /// Other slots with these coefficients; what the slots so far summed up counts no more (see
    /// [`Weights::sums`]), the steps do.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn restart(&mut self, values: &[f64]) -> Result<()> {
        let mut fresh = Self::new(self.is_averaged());
        values.iter().try_for_each(|&value| fresh.push(value).map(drop))?;
        (fresh.steps, fresh.window) = (self.steps, self.window);
        *self = fresh;
        Ok(())
    }

    /// Steps that the mean is over.
    #[must_use]
    pub fn window(&self) -> u64 {
        self.window.0 + self.window.1
    }

    /// `β_j += delta`.
    #[inline]
    pub fn add(&mut self, slot: usize, delta: f64) {
        let change = delta / self.scale;
        self.values[slot] += change;
        if let Some(debt) = &mut self.debt {
            debt[slot] += self.age * change;
        }
    }

    /// `β += factor · direction`, for the first slots.
    pub fn add_all<F: Real>(&mut self, factor: f64, direction: &[F]) {
        let (n, change) = (direction.len(), factor / self.scale);
        add_scaled_rows(direction, &[(0, change)], &mut self.values[..n]);
        if let Some(debt) = &mut self.debt {
            add_scaled_rows(direction, &[(0, self.age * change)], &mut debt[..n]);
        }
    }

    /// `β *= factor`, > 0 or 0.
    pub fn decay(&mut self, factor: f64) {
        self.scale *= factor;
        if !(1.0 / FOLD..=FOLD).contains(&self.scale) {
            self.fold();
        }
    }

    /// The step is over: what β is now counts once in the mean.
    pub fn end_step(&mut self) {
        self.steps += 1;
        self.window.1 += 1;
        self.age += self.scale;
    }

    fn fold(&mut self) {
        if let Some(debt) = &mut self.debt {
            for (debt, value) in debt.iter_mut().zip(&self.values) {
                *debt -= self.age * value;
            }
        }
        self.values.iter_mut().for_each(|v| *v *= self.scale);
        (self.scale, self.age) = (1.0, 0.0);
    }

    /// Coefficients to predict with, padded: the mean over the window if it is kept, else the last.
    #[must_use]
    pub fn for_prediction(&self) -> Vec<f64> {
        let mut out = vec![0.0; self.values.len()];
        let steps = self.window().max(1) as f64;
        for (slot, value) in out[..self.len].iter_mut().enumerate() {
            *value = match self.is_averaged() {
                true => {
                    let (older, newer) = self.sums(slot);
                    (older + newer) / steps
                }
                false => self.get(slot),
            };
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Everything against coefficients that are changed, decayed and summed plainly.
    #[test]
    fn the_mean_is_the_mean_of_the_steps() {
        for power in [0.0, 0.1, 3.0, -0.5] {
            let mut rng = Rng::new(7);
            let mut weights = Weights::new(true);
            let (mut plain, mut sums) = (Vec::<f64>::new(), Vec::<f64>::new());
            let mut newer = Vec::<f64>::new();
            for step in 0..2000 {
                if step % 700 == 699 {
                    weights.turn_over();
                    sums = std::mem::replace(&mut newer, vec![0.0; plain.len()]);
                }
                let factor = (-power * rng.uniform()).exp2().min(4.0);
                weights.decay(factor);
                plain.iter_mut().for_each(|v| *v *= factor);
                let value = rng.uniform() - 0.5;
                match rng.below(4) {
                    0 if plain.len() < 40 => {
                        weights.push(value).unwrap();
                        plain.push(value);
                        sums.push(0.0);
                        newer.push(0.0);
                    }
                    1 if !plain.is_empty() => {
                        let slot = rng.below(plain.len());
                        weights.replace(slot, value);
                        (plain[slot], sums[slot], newer[slot]) = (value, 0.0, 0.0);
                    }
                    2 => {
                        let direction: Vec<f64> = plain.iter().map(|_| rng.uniform()).collect();
                        weights.add_all(value, &direction);
                        plain.iter_mut().zip(&direction).for_each(|(p, d)| *p += value * d);
                    }
                    _ => {}
                }
                if plain.iter().any(|p| p.abs() > 1e6) {
                    weights.decay(1e-6);
                    plain.iter_mut().for_each(|v| *v *= 1e-6);
                }
                weights.end_step();
                newer.iter_mut().zip(&plain).for_each(|(s, p)| *s += p);
                let size = weights.largest().max(1.0);
                for (slot, p) in plain.iter().enumerate() {
                    assert!((weights.get(slot) - p).abs() <= 1e-12 * size);
                }
            }
            let mean = weights.for_prediction();
            assert_eq!(weights.window(), 2000 - 699);
            sums.iter_mut().zip(&newer).for_each(|(s, n)| *s += n);
            let size = sums.iter().fold(1.0f64, |most, s| most.max(s.abs()));
            for (slot, sum) in sums.iter().enumerate() {
                assert!((mean[slot] * 1301.0 - sum).abs() <= 1e-11 * size, "{power}: {slot}");
            }
        }
    }
}
