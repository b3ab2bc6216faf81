//! Which values of long dense rows are not zero.

use super::dispatch::{Level, compiled, level, primitives, same};
use crate::float::Real;

primitives! {
    /// The words of rows of d values.
    fn words_of(rows: &[F], d: usize, words: &mut [u64]) = words_of_rows::<F>;
}

/// Which values of dense rows are there, a bit each: products need take no others.
#[derive(Clone, Debug, Default)]
pub(super) struct Present {
    /// [`Present::words`] a row, the first feature in the lowest bit; empty where rows are short or
    /// most values are there.
    are: Vec<u64>,
}

impl Present {
    /// Features of a word.
    pub(super) const WORD: usize = 64;
    /// Eighths of the values that may be there: above that taking all is as quick.
    const EIGHTHS: usize = 5;

    /// Words of a row of d features.
    pub(super) fn words(d: usize) -> usize {
        d.div_ceil(Self::WORD)
    }

    /// Looks through rows of d features.
    pub(super) fn find<F: Real>(&mut self, rows: &[F], d: usize) {
        self.are.clear();
        if d > Self::WORD {
            self.are.resize(rows.len() / d * Self::words(d), 0);
            words_of(rows, d, &mut self.are);
            let ones: usize = self.are.iter().map(|word| word.count_ones() as usize).sum();
            if 8 * ones > Self::EIGHTHS * rows.len() {
                self.are.clear();
            }
        }
    }

    /// The words from a row of d features on, if any are kept.
    pub(super) fn of(&self, row: usize, d: usize) -> Option<&[u64]> {
        (!self.are.is_empty()).then(|| &self.are[row * Self::words(d)..])
    }
}

#[inline(always)]
fn words_of_rows<F: Real>(rows: &[F], d: usize, words: &mut [u64]) {
    for (row, words) in rows.chunks_exact(d).zip(words.chunks_exact_mut(Present::words(d))) {
        let (whole, rest) = row.as_chunks();
        words.iter_mut().zip(whole).for_each(|(to, values)| *to = word(values));
        if !rest.is_empty() {
            let mut last = [F::zero(); Present::WORD];
            last[..rest.len()].copy_from_slice(rest);
            words[whole.len()] = word(&last);
        }
    }
}

/// Without a branch: bytes of 0 and 1, of which eight at a time become a byte of bits.
#[inline(always)]
fn word<F: Real>(values: &[F; Present::WORD]) -> u64 {
    let mut bytes = [0; Present::WORD];
    bytes.iter_mut().zip(values).for_each(|(byte, v)| *byte = u8::from(!v.is_zero()));
    let mut word = 0;
    for (at, bytes) in bytes.as_chunks().0.iter().enumerate() {
        let bits = u64::from_le_bytes(*bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56;
        word |= bits << (8 * at);
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_a_value() {
        let d = 150;
        let at = [0, 7, 8, 63, 64, 100, 149];
        let mut rows = vec![0.0f32; 2 * d];
        at.iter().for_each(|&k| rows[d + k] = -1.0);
        rows[d + 9] = -0.0;
        let mut present = Present::default();
        present.find(&rows, d);
        let words = present.of(1, d).unwrap();
        let found = |k: usize| words[k / 64] >> (k % 64) & 1 == 1;
        assert!((0..d).all(|k| found(k) == at.contains(&k)));
        assert_eq!(present.of(0, d).unwrap()[..3], [0; 3]);
        // None of rows that are full, or short.
        present.find(&vec![1.0f64; 2 * d], d);
        assert!(present.of(0, d).is_none());
        present.find(&[0.0; 128], 64);
        assert!(present.of(0, 64).is_none());
    }
}
