//! Rows of numbers in memory: in `f32`, or twice as many in 16 bits with a scale each.

use super::row::Row;
use crate::error::{Result, try_reserve};
use crate::parallel::first_touch;
use crate::simd::{lengthen, shorten, zeroed, zeroed_shorts};
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
}

/// Memory for rows; what is in it is of no interest until it has been written.
#[derive(Debug)]
pub(super) enum Held {
    Full(Vec<f32>),
    /// With the scale of each row.
    Short(Vec<i16>, Vec<f32>),
}

impl Default for Held {
    fn default() -> Self {
        Self::none(Width::Full)
    }
}

impl Held {
    /// Room for `count` rows of b values: this memory, where that is enough, since new pages take as
    /// long as the values do.
    pub(super) fn room(
        self,
        (count, b): (usize, usize),
        width: Width,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let (what, len) = ("kernel values", count * b);
        let is_enough = match (&self, width) {
            (Self::Full(values), Width::Full) => len <= values.len(),
            (Self::Short(values, scales), Width::Short) => {
                len <= values.len() && count <= scales.len()
            }
            (Self::Full(_), Width::Short) | (Self::Short(..), Width::Full) => false,
        };
        if is_enough {
            return Ok(self);
        }
        drop(self);
        let poll = &mut || watch.poll();
        Ok(match width {
            Width::Full => {
                let mut values = zeroed(what, len)?;
                first_touch::<f32, _>(&mut values, poll)?;
                Self::Full(values)
            }
            Width::Short => {
                let mut values = zeroed_shorts(what, len)?;
                first_touch(&mut values, poll)?;
                Self::Short(values, zeroed(what, count)?)
            }
        })
    }

    /// None yet, of this width.
    pub(super) fn none(width: Width) -> Self {
        match width {
            Width::Full => Self::Full(Vec::new()),
            Width::Short => Self::Short(Vec::new(), Vec::new()),
        }
    }

    /// Memory for so many rows of b values in all, at least. What is there stays.
    pub(super) fn grow_to(&mut self, (count, b): (usize, usize)) -> Result<()> {
        match self {
            Self::Full(values) => grow_to(values, count * b, 0.0),
            Self::Short(values, scales) => {
                grow_to(values, count * b, 0)?;
                grow_to(scales, count, 0.0)
            }
        }
    }

    /// Rows `first..last` of b values in `f32`: as they lie, or written to `buffer`.
    #[inline]
    pub(super) fn rows<'r>(
        &'r self,
        (first, last): (usize, usize),
        b: usize,
        buffer: &'r mut Vec<f32>,
    ) -> &'r [f32] {
        match self {
            Self::Full(values) => &values[first * b..last * b],
            Self::Short(values, scales) => {
                buffer.resize((last - first) * b, 0.0);
                let rows = values[first * b..last * b].chunks_exact(b);
                for ((from, scale), to) in
                    rows.zip(&scales[first..last]).zip(buffer.chunks_exact_mut(b))
                {
                    lengthen(from, *scale, to);
                }
                buffer
            }
        }
    }

    /// A row of b values as it lies.
    #[inline]
    pub(super) fn row(&self, row: usize, b: usize) -> Row<'_> {
        match self {
            Self::Full(values) => Row::Full(&values[row * b..][..b], 1.0),
            Self::Short(values, scales) => Row::Short(&values[row * b..][..b], scales[row]),
        }
    }

    /// Rows `first..last` of b values, to be written in parts of `per` rows.
    pub(super) fn parts(
        &mut self,
        (first, last): (usize, usize),
        (b, per): (usize, usize),
    ) -> Vec<Part<'_>> {
        let places = first * b..last * b;
        match self {
            Self::Full(values) => values[places].chunks_mut(per * b).map(Part::Full).collect(),
            Self::Short(values, scales) => {
                let scales = scales[first..last].chunks_mut(per);
                let parts = values[places].chunks_mut(per * b).zip(scales);
                parts.map(|(rows, scales)| Part::Short(rows, scales)).collect()
            }
        }
    }

    /// The rows where they are in `f32`, b values each.
    pub(super) fn full(&self) -> Option<&[f32]> {
        match self {
            Self::Full(values) => Some(values),
            Self::Short(..) => None,
        }
    }
}

/// At least so many values.
fn grow_to<T: Copy>(values: &mut Vec<T>, len: usize, value: T) -> Result<()> {
    let more = len.saturating_sub(values.len());
    try_reserve("rows", values, more)?;
    values.resize(values.len() + more, value);
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
        for (count, width) in [
            (9, Width::Full),
            (5, Width::Full),
            (7, Width::Short),
            (9, Width::Short),
            (3, Width::Full),
        ] {
            let Ok(room) = held.room((count, b), width, &mut Watch::of_tests()) else {
                panic!("no room");
            };
            held = room;
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
