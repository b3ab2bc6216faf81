//! How columns are cut into chunks.

use std::ops::Range;

/// Columns of one unit of parallel work, at most.
pub(super) const COLUMN_CHUNK: usize = 512;

/// Columns of one or two runs, each cut into chunks from its own beginning.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    len: usize,
    /// Where the second run begins.
    split: usize,
    /// Columns of a chunk; the last of a run may have fewer.
    width: usize,
}

impl Layout {
    /// One run.
    pub(super) fn one(len: usize) -> Self {
        Self::of(len, COLUMN_CHUNK)
    }

    /// One run in chunks of `width`.
    pub(super) fn of(len: usize, width: usize) -> Self {
        Self { len, split: len, width }
    }

    /// Two runs, each of its own, one after the other.
    pub(super) fn join(first: Self, second: Self) -> Self {
        debug_assert!(first.width == second.width && first.split == first.len);
        Self { len: first.len + second.len, split: first.len, width: first.width }
    }

    /// Values that a chunk keeps a row.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Where the second run begins; the end when there is one.
    pub(super) fn split(&self) -> usize {
        self.split
    }

    fn first_chunks(&self) -> usize {
        self.split.div_ceil(self.width)
    }

    pub(super) fn chunks(&self) -> usize {
        self.first_chunks() + (self.len - self.split).div_ceil(self.width)
    }

    /// Which run a chunk belongs to.
    pub(super) fn run(&self, chunk: usize) -> usize {
        usize::from(chunk >= self.first_chunks())
    }

    /// The chunk of a column, and its place there.
    #[inline]
    pub(super) fn place(&self, column: usize) -> (usize, usize) {
        if column < self.split {
            (column / self.width, column % self.width)
        } else {
            let at = column - self.split;
            (self.first_chunks() + at / self.width, at % self.width)
        }
    }

    /// The columns of a chunk.
    pub(super) fn range(&self, chunk: usize) -> Range<usize> {
        let first = self.first_chunks();
        let (from, end) = if chunk < first {
            (chunk * self.width, self.split)
        } else {
            (self.split + (chunk - first) * self.width, self.len)
        };
        from..(from + self.width).min(end)
    }
}

/// A width for runs of these lengths that leaves few places of their last chunks empty.
pub(super) fn even_width(lens: impl Iterator<Item = usize> + Clone, line: usize) -> usize {
    let longest = lens.clone().max().unwrap_or(0).clamp(1, COLUMN_CHUNK);
    let least = longest.min(COLUMN_CHUNK / 2).next_multiple_of(line);
    let empty = |width: &usize| -> (usize, usize) {
        let lens = lens.clone();
        // Of equal ones, the widest.
        (lens.map(|len| len.next_multiple_of(*width)).sum(), COLUMN_CHUNK - width)
    };
    (least..=COLUMN_CHUNK).step_by(line).min_by_key(empty).unwrap_or(COLUMN_CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_one_place() {
        for (first, second, width) in [(1200, 0, 512), (577, 640, 304), (16, 3, 16), (0, 5, 16)] {
            let layout = Layout::join(Layout::of(first, width), Layout::of(second, width));
            let mut column = 0;
            for chunk in 0..layout.chunks() {
                let range = layout.range(chunk);
                assert!(range.start == column && !range.is_empty() && range.len() <= width);
                for (at, c) in range.clone().enumerate() {
                    assert_eq!(layout.place(c), (chunk, at));
                    assert_eq!(layout.run(chunk), usize::from(c >= layout.split()));
                }
                column = range.end;
            }
            assert_eq!(column, first + second);
        }
        assert_eq!(Layout::one(1100).chunks(), 3);
    }

    #[test]
    fn chunks_are_cut_evenly() {
        let width = |lens: &[usize]| even_width(lens.iter().copied(), 16);
        assert_eq!(width(&[577, 577]), 304);
        assert_eq!(width(&[512]), 512);
        assert_eq!(width(&[20, 30]), 32);
        assert_eq!(width(&[]), 512);
    }
}
