//! Numbers that begin on a line of memory, and share none with others.

use std::ops::{Deref, DerefMut};

/// Bytes of two lines, which come together.
const PAIR: usize = 128;
/// As many numbers.
const AROUND: usize = PAIR / size_of::<f32>();

/// A vector that no other thread's writes come near: whoever writes to a line waits for all who do, and
/// for those who read it. Where vectors are read over and over, a line at a time is the fastest.
#[derive(Debug, Default)]
pub(super) struct Apart {
    /// The numbers, and room around them.
    held: Vec<f32>,
    first: usize,
    len: usize,
}

impl Apart {
    /// Has it hold so many numbers; which is of no interest.
    #[inline]
    pub(super) fn resize(&mut self, len: usize) {
        if self.held.len() < len + 2 * AROUND {
            self.held.resize(len + 2 * AROUND, 0.0);
            self.first = self.held.as_ptr().align_offset(PAIR).min(AROUND);
        }
        self.len = len;
    }
}

impl From<&[f32]> for Apart {
    fn from(values: &[f32]) -> Self {
        let mut apart = Self::default();
        apart.resize(values.len());
        apart.copy_from_slice(values);
        apart
    }
}

impl Deref for Apart {
    type Target = [f32];

    #[inline]
    fn deref(&self) -> &[f32] {
        &self.held[self.first..][..self.len]
    }
}

impl DerefMut for Apart {
    #[inline]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.held[self.first..][..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_in_one_pair_of_lines() {
        let values: Vec<f32> = (0..100).map(|v| v as f32).collect();
        let mut all: Vec<Apart> = (1..values.len()).map(|n| values[..n].into()).collect();
        for (n, lines) in (1..).zip(&mut all) {
            assert_eq!(lines[..], values[..n]);
            lines.resize(n / 2);
            assert_eq!(lines.len(), n / 2);
            lines.resize(2 * n);
            assert_eq!(lines.len(), 2 * n);
        }
        // Miri promises no more than it must.
        if cfg!(miri) {
            return;
        }
        let mut pairs = std::collections::HashSet::new();
        for lines in &all {
            let first = lines.as_ptr() as usize;
            assert_eq!(first % PAIR, 0);
            let own = first / PAIR..(first + size_of_val(&lines[..])).div_ceil(PAIR);
            assert!(own.into_iter().all(|pair| pairs.insert(pair)));
        }
    }
}
