//! Rows of kernel values in memory: in `f32`, or twice as many in 16 bits with a scale each.

use crate::error::Result;
use crate::simd::{lengthen, shorten, zeroed, zeroed_shorts};

/// How a row's values are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// In `f32`.
    Full,
    /// In whole numbers of 16 bits, off by 1/65534 of the row's largest value at most: enough for a
    /// direction that is not to be exact.
    Short,
}

impl Width {
    /// Bytes of a row of b values.
    pub(super) fn bytes(self, b: usize) -> usize {
        match self {
            Self::Full => 4 * b,
            Self::Short => 2 * b + 4,
        }
    }
}

/// Memory for rows; what is in it is of no interest until it has been written.
#[derive(Debug, Default)]
pub(super) struct Held {
    full: Vec<f32>,
    short: Vec<i16>,
    scales: Vec<f32>,
}

impl Held {
    /// Room for `count` rows of b values: in this memory, where that is enough, since new pages take as
    /// long as the values do.
    pub(super) fn room(mut self, (count, b): (usize, usize), width: Width) -> Result<Self> {
        let len = count * b;
        match width {
            Width::Full if self.full.len() < len => {
                drop(self);
                Ok(Self { full: zeroed("kernel values", len)?, ..Self::default() })
            }
            Width::Short if self.short.len() < len => {
                drop(self);
                let (short, scales) = (zeroed_shorts("kernel values", len)?, vec![0.0; count]);
                Ok(Self { full: Vec::new(), short, scales })
            }
            Width::Full => {
                (self.short, self.scales) = (Vec::new(), Vec::new());
                Ok(self)
            }
            Width::Short => {
                self.full = Vec::new();
                self.scales.resize(self.scales.len().max(count), 0.0);
                Ok(self)
            }
        }
    }

    /// Rows `first..last` of b values, to be written in parts of `per` rows.
    pub(super) fn parts(
        &mut self,
        (first, last): (usize, usize),
        (b, per): (usize, usize),
        width: Width,
    ) -> Vec<Part<'_>> {
        match width {
            Width::Full => {
                self.full[first * b..last * b].chunks_mut(per * b).map(Part::Full).collect()
            }
            Width::Short => {
                let rows = self.short[first * b..last * b].chunks_mut(per * b);
                let scales = self.scales[first..last].chunks_mut(per);
                rows.zip(scales).map(|(rows, scales)| Part::Short(rows, scales)).collect()
            }
        }
    }

    /// All rows in `f32`, b values each.
    pub(super) fn full(&self) -> &[f32] {
        &self.full
    }

    /// The same to be written.
    pub(super) fn full_mut(&mut self) -> &mut [f32] {
        &mut self.full
    }

    /// A row that is short.
    pub(super) fn lengthen(&self, row: usize, out: &mut [f32]) {
        let b = out.len();
        lengthen(&self.short[row * b..][..b], self.scales[row], out);
    }
}

/// Some rows that follow each other.
pub(super) enum Part<'h> {
    Full(&'h mut [f32]),
    Short(&'h mut [i16], &'h mut [f32]),
}

impl Part<'_> {
    /// Puts rows of b values, which `make(first, rows)` makes `per` at a time.
    pub(super) fn put(self, (b, per): (usize, usize), make: &mut dyn FnMut(usize, &mut [f32])) {
        match self {
            Self::Full(rows) => {
                let parts = rows.chunks_mut(per * b).enumerate();
                parts.for_each(|(part, rows)| make(part * per, rows));
            }
            Self::Short(rows, scales) => {
                let mut made = vec![0.0; per.min(scales.len()) * b];
                let parts = rows.chunks_mut(per * b).zip(scales.chunks_mut(per));
                for (part, (rows, scales)) in parts.enumerate() {
                    let made = &mut made[..rows.len()];
                    make(part * per, made);
                    let each = rows.chunks_exact_mut(b).zip(scales).zip(made.chunks_exact(b));
                    each.for_each(|((to, scale), from)| *scale = shorten(from, to));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_memory_is_used_again() {
        let b = 37;
        let value = |row: usize, j: usize| match row {
            0 => 0.0,
            _ => ((row * 31 + j * 7) % 53) as f32 * 10_f32.powi(row as i32 - 4) - row as f32,
        };
        let mut held = Held::default();
        for (count, width) in [
            (9, Width::Full),
            (5, Width::Full),
            (7, Width::Short),
            (9, Width::Short),
            (3, Width::Full),
        ] {
            held = held.room((count, b), width).unwrap();
            for (part, rows) in held.parts((0, count), (b, 4), width).into_iter().enumerate() {
                rows.put((b, 3), &mut |first, rows| {
                    for (k, row) in rows.chunks_exact_mut(b).enumerate() {
                        let own = |j| value(4 * part + first + k, j);
                        row.iter_mut().enumerate().for_each(|(j, v)| *v = own(j));
                    }
                });
            }
            let mut row = vec![0.0; b];
            for i in 0..count {
                let within = match width {
                    Width::Full => {
                        row.copy_from_slice(&held.full()[i * b..][..b]);
                        0.0
                    }
                    Width::Short => {
                        held.lengthen(i, &mut row);
                        (0..b).map(|j| value(i, j).abs()).fold(0.0, f32::max) / 65_000.0
                    }
                };
                let off = |(j, v): (usize, &f32)| (v - value(i, j)).abs() <= within;
                assert!(row.iter().enumerate().all(off), "{width:?} {i}");
            }
        }
    }
}
