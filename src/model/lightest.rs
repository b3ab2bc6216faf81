//! Which term of an expansion weighs least, known again after a few terms have changed.

/// Slots whose least weight is kept.
const PART: usize = 64;

/// The weight of every slot, and the least of every part of the slots. Empty until somebody asks.
#[derive(Clone, Debug, Default)]
pub(super) struct Lightest {
    weights: Vec<f64>,
    least: Vec<f64>,
    /// Slots that changed since they were weighed.
    changed: Vec<usize>,
    is_changed: Vec<bool>,
}

impl Lightest {
    /// The coefficients of a slot are others now, or it is another term's.
    #[inline]
    pub(super) fn changed(&mut self, slot: usize) {
        if let Some(known @ false) = self.is_changed.get_mut(slot) {
            *known = true;
            self.changed.push(slot);
        }
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Weighs the slots below `len` that changed.
    pub(super) fn update(&mut self, len: usize, weight: impl Fn(usize) -> f64) {
        let before = self.weights.len();
        self.weights.resize(len, 0.0);
        self.is_changed.resize(len, false);
        self.least.resize(len.div_ceil(PART), 0.0);
        self.changed.extend(before..len);
        // The last part may have lost slots.
        self.changed.extend((len < before && len > 0).then(|| len - 1));
        self.changed.retain(|&slot| slot < len);
        for &slot in &self.changed {
            self.weights[slot] = weight(slot);
            self.is_changed[slot] = false;
        }
        let mut last = usize::MAX;
        for part in self.changed.drain(..).map(|slot| slot / PART) {
            if part != last {
                let slots = self.weights.chunks(PART).nth(part).unwrap_or_default();
                self.least[part] = least(slots);
            }
            last = part;
        }
    }

    /// The first slot of least weight, as of the last update.
    pub(super) fn slot(&self) -> usize {
        let least = least(&self.least);
        let part = self.least.iter().position(|&weight| weight <= least).unwrap_or(0);
        let mut slots = self.weights.iter().skip(part * PART);
        slots.position(|&weight| weight <= least).map_or(0, |at| part * PART + at)
    }

    /// The weights as of the last update.
    pub(super) fn weights(&self) -> &[f64] {
        &self.weights
    }
}

fn least(weights: &[f64]) -> f64 {
    weights.iter().fold(f64::INFINITY, |least, &w| if w < least { w } else { least })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn it_is_the_first_of_least_weight_whatever_changed() {
        let mut rng = Rng::new(3);
        let (mut lightest, mut weights) = (Lightest::default(), Vec::new());
        for step in 0..4000 {
            match rng.below(8) {
                0 | 1 => {
                    weights.push(rng.below(50) as f64);
                    lightest.changed(weights.len() - 1);
                }
                2 if weights.len() > 1 => {
                    let slot = rng.below(weights.len());
                    weights.swap_remove(slot);
                    lightest.changed(slot);
                }
                3 if step % 500 == 0 => {
                    weights.iter_mut().for_each(|w| *w *= 2.0);
                    lightest.forget();
                }
                _ if !weights.is_empty() => {
                    let slot = rng.below(weights.len());
                    weights[slot] = rng.below(50) as f64;
                    lightest.changed(slot);
                }
                _ => {}
            }
            if step % 3 == 0 && !weights.is_empty() {
                lightest.update(weights.len(), |slot| weights[slot]);
                let least = least(&weights);
                assert_eq!(lightest.slot(), weights.iter().position(|&w| w == least).unwrap());
                assert_eq!(lightest.weights(), weights);
            }
        }
    }
}
