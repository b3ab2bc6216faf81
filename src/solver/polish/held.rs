//! Rows of numbers in memory: in `f32`, or twice as many in 16 bits with a scale each.

use super::row::Row;
use crate::error::{Result, try_reserve};
use crate::simd::{lengthen, shorten, touched, zeroed};
use crate::watch::{Step, Watch};

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

    /// Places of 32 bits that so many values take.
    fn places(self, len: usize) -> usize {
        match self {
            Self::Full => len,
            Self::Short => len.div_ceil(2),
        }
    }
}

/// Memory for rows; what is in it is of no interest until it has been written.
#[derive(Debug)]
pub(super) struct Held {
    width: Width,
    /// The values, two in the place of one where they are short.
    values: Vec<f32>,
    /// The scale of each row of those.
    scales: Vec<f32>,
}

impl Default for Held {
    fn default() -> Self {
        Self::none(Width::Full)
    }
}

impl Held {
    /// Room for `count` rows of b values: this memory, where that is enough, since new pages take as
    /// long as the values do; else new memory, of so many bytes at least.
    pub(super) fn room(
        self,
        (count, b): (usize, usize),
        (width, bytes): (Width, usize),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (what, len) = ("kernel values", width.places(count * b));
        let Self { mut values, mut scales, .. } = self;
        if values.len() < len {
            drop(values);
            let len = len.max(bytes / size_of::<f32>());
            values = touched(what, len, &mut || watch.poll())?;
        }
        if width == Width::Short && scales.len() < count {
            drop(scales);
            scales = zeroed(what, count)?;
        }
        Ok(Self { width, values, scales })
    }

    /// These rows.
    pub(super) fn of(values: Vec<f32>) -> Self {
        Self { width: Width::Full, values, scales: Vec::new() }
    }

    /// None yet, of this width.
    pub(super) fn none(width: Width) -> Self {
        Self { width, ..Self::of(Vec::new()) }
    }

    /// Memory for so many rows of b values in all, at least. What is there stays.
    pub(super) fn grow_to(&mut self, (count, b): (usize, usize)) -> Result<()> {
        grow_to(&mut self.values, self.width.places(count * b))?;
        match self.width {
            Width::Full => Ok(()),
            Width::Short => grow_to(&mut self.scales, count),
        }
    }

    fn shorts(&self) -> &[i16] {
        bytemuck::cast_slice(&self.values)
    }

    /// Rows `first..last` of b values in `f32`: as they lie, or written to `buffer`.
    #[inline]
    pub(super) fn rows<'r>(
        &'r self,
        (first, last): (usize, usize),
        b: usize,
        buffer: &'r mut Vec<f32>,
    ) -> &'r [f32] {
        match self.width {
            Width::Full => &self.values[first * b..last * b],
            Width::Short => {
                buffer.resize((last - first) * b, 0.0);
                let rows = self.shorts()[first * b..last * b].chunks_exact(b);
                let scales = &self.scales[first..last];
                for ((from, scale), to) in rows.zip(scales).zip(buffer.chunks_exact_mut(b)) {
                    lengthen(from, *scale, to);
                }
                buffer
            }
        }
    }

    /// A row of b values as it lies.
    #[inline]
    pub(super) fn row(&self, row: usize, b: usize) -> Row<'_> {
        match self.width {
            Width::Full => Row::Full(&self.values[row * b..][..b], 1.0),
            Width::Short => Row::Short(&self.shorts()[row * b..][..b], self.scales[row]),
        }
    }

    /// Rows `first..last` of b values, to be written in parts of `per` rows.
    pub(super) fn parts(
        &mut self,
        (first, last): (usize, usize),
        (b, per): (usize, usize),
    ) -> Vec<Part<'_>> {
        let places = first * b..last * b;
        match self.width {
            Width::Full => self.values[places].chunks_mut(per * b).map(Part::Full).collect(),
            Width::Short => {
                let scales = self.scales[first..last].chunks_mut(per);
                let shorts: &mut [i16] = bytemuck::cast_slice_mut(&mut self.values);
                let parts = shorts[places].chunks_mut(per * b).zip(scales);
                parts.map(|(rows, scales)| Part::Short(rows, scales)).collect()
            }
        }
    }

    /// The rows where they are in `f32`, b values each.
    pub(super) fn full(&self) -> Option<&[f32]> {
        match self.width {
            Width::Full => Some(&self.values),
            Width::Short => None,
        }
    }
}

/// At least so many values.
fn grow_to(values: &mut Vec<f32>, len: usize) -> Result<()> {
    let more = len.saturating_sub(values.len());
    try_reserve("rows", values, more)?;
    values.resize(values.len() + more, 0.0);
    Ok(())
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
        let mut places = Vec::new();
        for (count, width) in [
            (9, Width::Full),
            (5, Width::Full),
            (7, Width::Short),
            (9, Width::Short),
            (3, Width::Full),
        ] {
            let Ok(room) = held.room((count, b), (width, 0), &mut Watch::of_tests()) else {
                panic!("no room");
            };
            held = room;
            places.push(held.values.as_ptr());
            for (part, rows) in held.parts((0, count), (b, 4)).into_iter().enumerate() {
                rows.put((b, 3), &mut |first, rows| {
                    for (k, row) in rows.chunks_exact_mut(b).enumerate() {
                        let own = |j| value(4 * part + first + k, j);
                        row.iter_mut().enumerate().for_each(|(j, v)| *v = own(j));
                    }
                });
            }
            let mut buffer = Vec::new();
            for i in 0..count {
                let row = held.rows((i, i + 1), b, &mut buffer);
                let within = match width {
                    Width::Full => 0.0,
                    Width::Short => {
                        (0..b).map(|j| value(i, j).abs()).fold(0.0, f32::max) / 65_000.0
                    }
                };
                let off = |(j, v): (usize, &f32)| (v - value(i, j)).abs() <= within;
                assert!(row.iter().enumerate().all(off), "{width:?} {i}");
            }
        }
        assert!(places.iter().all(|&place| place == places[0]), "the first is enough for all");
    }

    #[test]
    fn rows_stay_where_others_come() {
        let b = 20;
        for width in [Width::Full, Width::Short] {
            let mut held = Held::none(width);
            for (first, last) in [(0, 2), (2, 5)] {
                held.grow_to((last, b)).unwrap();
                held.grow_to((1, b)).unwrap();
                for (part, rows) in held.parts((first, last), (b, 2)).into_iter().enumerate() {
                    rows.put((b, 1), &mut |at, row| row.fill((1 + first + 2 * part + at) as f32));
                }
            }
            let mut buffer = Vec::new();
            let rows = held.rows((0, 5), b, &mut buffer);
            let near = |(at, v): (usize, &f32)| (v - (1 + at / b) as f32).abs() < 1e-3;
            assert!(rows.len() == 5 * b && rows.iter().enumerate().all(near), "{rows:?}");
        }
    }
}
