//! Which parts of long dense rows hold nothing.

use crate::float::Real;

/// Parts of dense rows, [`Blanks::PART`] features each, that hold nothing but zeros: the block kernel
/// need not look at them one by one.
#[derive(Clone, Debug, Default)]
pub(super) struct Blanks {
    /// Whether each is, row by row; empty where none is or a row is short.
    are: Vec<bool>,
}

impl Blanks {
    /// Features of a part.
    pub(super) const PART: usize = 8;
    /// Up to this many features a row has no parts.
    const SHORT: usize = 64;
    /// Eighths of its parts that a row has blank, or none counts: below that looking at all is as quick.
    const EIGHTHS: usize = 3;

    /// Parts of a row of d features.
    pub(super) fn parts(d: usize) -> usize {
        d.div_ceil(Self::PART)
    }

    /// Looks through rows of d features.
    pub(super) fn find<F: Real>(&mut self, rows: &[F], d: usize) {
        self.are.clear();
        if d > Self::SHORT {
            for row in rows.chunks_exact(d) {
                let first = self.are.len();
                // Without leaving off at the first value: no branch, and whole parts at once.
                let blank = |part: &[F]| part.iter().fold(true, |blank, v| blank & v.is_zero());
                let (whole, rest) = row.as_chunks::<{ Self::PART }>();
                self.are.extend(whole.iter().map(|part| blank(part)));
                self.are.extend((!rest.is_empty()).then(|| blank(rest)));
                let own = &mut self.are[first..];
                if 8 * own.iter().filter(|&&blank| blank).count() < Self::EIGHTHS * own.len() {
                    own.fill(false);
                }
            }
            if !self.are.contains(&true) {
                self.are.clear();
            }
        }
    }

    /// Those from a row of d features on, if any part is blank.
    pub(super) fn of(&self, row: usize, d: usize) -> Option<&[bool]> {
        (!self.are.is_empty()).then(|| &self.are[row * Self::parts(d)..])
    }
}
