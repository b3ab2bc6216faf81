//! A row of numbers as it is held, and what it meets.

use super::apart::Apart;
use crate::simd::{add_shorts, add_singles, lengthen, prefetch, short_products, single_products};

/// Bytes of a line of memory.
const LINE_BYTES: usize = 64;

/// How often a row is met from which on it is [lengthened](Row::lengthened).
pub(super) const SEVERAL: usize = 3;

/// Rows that are given together, at most.
pub(super) const GROUP: usize = 8;

/// A row: these values times its scale.
#[derive(Clone, Copy, Debug)]
pub(super) enum Row<'r> {
    Full(&'r [f32], f32),
    Short(&'r [i16], f32),
}

impl<'r> Row<'r> {
    fn scale(&self) -> f32 {
        match *self {
            Self::Full(_, scale) | Self::Short(_, scale) => scale,
        }
    }

    /// The row's product with `x`, which is as long.
    #[inline]
    pub(super) fn dot(self, x: &[f32]) -> f32 {
        let mut out = [0.0];
        match self {
            Self::Full(values, _) => single_products(&[values], x, &mut out),
            Self::Short(values, _) => short_products(&[values], x, &mut out),
        }
        self.scale() * out[0]
    }

    /// `y += by row`, for a y as long.
    #[inline]
    pub(super) fn add_to(self, by: f32, y: &mut [f32]) {
        let by = [by * self.scale()];
        match self {
            Self::Full(values, _) => add_singles(&[values], &by, y),
            Self::Short(values, _) => add_shorts(&[values], &by, y),
        }
    }

    /// The same row with values in `f32`, for one that is met several times: no bit of what it meets
    /// changes.
    #[inline]
    pub(super) fn lengthened<'b>(self, buffer: &'b mut Apart) -> Row<'b>
    where
        'r: 'b,
    {
        match self {
            Self::Full(..) => self,
            Self::Short(values, scale) => {
                buffer.resize(values.len());
                lengthen(values, 1.0, buffer);
                Row::Full(buffer, scale)
            }
        }
    }

    /// Writes the row itself.
    pub(super) fn write(self, out: &mut [f32]) {
        match self {
            Self::Full(values, scale) => {
                out.iter_mut().zip(values).for_each(|(out, v)| *out = scale * v);
            }
            Self::Short(values, scale) => lengthen(values, scale, out),
        }
    }

    /// Asks for it to be brought near.
    #[inline]
    pub(super) fn prefetch(self) {
        match self {
            Self::Full(values, _) => near(values),
            Self::Short(values, _) => near(values),
        }
    }
}

/// `y += Σ weigh(k, rows_k · x) rows_k` over some rows, `GROUP` at most, which are held alike, with one
/// sweep over x and y for all of them.
pub(super) fn meet(
    rows: &[Row<'_>],
    x: &[f32],
    y: &mut [f32],
    mut weigh: impl FnMut(usize, f32) -> f32,
) {
    let (mut full, mut short) = ([&[][..]; GROUP], [&[][..]; GROUP]);
    for ((row, full), short) in rows.iter().zip(&mut full).zip(&mut short) {
        match row {
            Row::Full(values, _) => *full = values,
            Row::Short(values, _) => *short = values,
        }
    }
    // (A row that is held otherwise than the first is an empty one here, which no product takes.)
    let are_short = matches!(rows.first(), Some(Row::Short(..)));
    let (full, short) = (&full[..rows.len()], &short[..rows.len()]);
    let mut products = [0.0; GROUP];
    let products = &mut products[..rows.len()];
    if are_short {
        short_products(short, x, products)
    } else {
        single_products(full, x, products)
    }
    for (k, (product, row)) in products.iter_mut().zip(rows).enumerate() {
        *product = weigh(k, row.scale() * *product) * row.scale();
    }
    if are_short { add_shorts(short, products, y) } else { add_singles(full, products, y) }
}

/// Asks for every line of memory that holds these values.
#[inline]
fn near<T>(values: &[T]) {
    values.iter().step_by(LINE_BYTES / size_of::<T>()).for_each(prefetch);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rows_meet_is_what_they_hold_times_their_scales() {
        let b = 37;
        let held: Vec<Vec<i16>> =
            (0..5).map(|k| (0..b).map(|j| (j * 11 + k * 7) % 41 - 20).collect()).collect();
        let x: Vec<f32> = (0..b).map(|j| f32::from(j % 5) - 2.0).collect();
        let rows: Vec<Row<'_>> = held
            .iter()
            .enumerate()
            .map(|(k, values)| Row::Short(values, 0.5_f32.powi(k as i32)))
            .collect();
        // Every number here is one that `f32` holds.
        let values = |k: usize| held[k].iter().map(move |&v| f32::from(v) * 0.5_f32.powi(k as i32));
        let mut y = vec![1.0; x.len()];
        let mut met = Vec::new();
        meet(&rows, &x, &mut y, |k, product| {
            met.push(product);
            k as f32
        });
        let (mut plain, mut buffer) = (vec![1.0; x.len()], Apart::default());
        for (k, row) in rows.iter().enumerate() {
            let product: f32 = values(k).zip(&x).map(|(v, x)| v * x).sum();
            assert_eq!((met[k], row.dot(&x)), (product, product));
            assert_eq!(row.lengthened(&mut buffer).dot(&x), product);
            plain.iter_mut().zip(values(k)).for_each(|(y, v)| *y += k as f32 * v);
            let mut own = vec![0.0; x.len()];
            row.write(&mut own);
            assert!(own.iter().copied().eq(values(k)));
            row.lengthened(&mut buffer).add_to(-1.0, &mut own);
            assert!(own.iter().all(|&v| v == 0.0));
        }
        assert_eq!(y, plain);
    }
}
