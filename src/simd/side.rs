//! Vectors side by side, a lane each: rows meet eight of them at once, and no sum runs across
//! lanes.

use super::lanes::{Lanes, width};

/// Vectors in one panel.
pub(crate) const SIDE: usize = 8;

/// A number of every vector of a panel: a line, which no load finds in two places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(align(64))]
pub(crate) struct Side(pub(crate) [f64; SIDE]);

const _: () = assert!(SIDE == width::<f64>());

/// Rows that walk together, at most: as many sums as fit the registers of AVX-512.
pub(crate) const TOGETHER: usize = 8;

/// So many rows, one after another, each as long as `len`.
#[inline(always)]
fn split<const R: usize>(rows: &[f64], len: usize) -> [&[f64]; R] {
    std::array::from_fn(|r| &rows[r * len..][..len])
}

#[inline(always)]
pub(super) unsafe fn side_products<L: Lanes<f64>>(rows: &[f64], panel: &[Side], out: &mut [Side]) {
    // SAFETY: the caller's features.
    unsafe {
        if L::CHAINS >= 16 {
            tiles::<L, 8>(rows, panel, out);
        } else {
            tiles::<L, 4>(rows, panel, out);
        }
    }
}

#[inline(always)]
unsafe fn tiles<L: Lanes<f64>, const R: usize>(rows: &[f64], panel: &[Side], out: &mut [Side]) {
    let mut at = 0;
    // SAFETY: the caller's features.
    unsafe {
        while at + R <= out.len() {
            tile::<L, R>(&rows[at * panel.len()..], panel, &mut out[at..]);
            at += R;
        }
        while at < out.len() {
            tile::<L, 1>(&rows[at * panel.len()..], panel, &mut out[at..]);
            at += 1;
        }
    }
}

#[inline(always)]
unsafe fn tile<L: Lanes<f64>, const R: usize>(rows: &[f64], panel: &[Side], out: &mut [Side]) {
    let rows = split::<R>(rows, panel.len());
    // SAFETY: the caller's features; every place holds a line, and every row is as long as the
    // panel.
    unsafe {
        let mut sums = [L::splat(0.0); R];
        for (j, coordinate) in panel.iter().enumerate() {
            let line = L::load(coordinate.0.as_ptr());
            for (sum, row) in sums.iter_mut().zip(rows) {
                *sum = L::fma(L::splat(*row.get_unchecked(j)), line, *sum);
            }
        }
        for (out, sum) in out[..R].iter_mut().zip(sums) {
            L::store(out.0.as_mut_ptr(), sum);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn products_with_next<L: Lanes<f64>>(rows: &[f64], len: usize, out: &mut [f64]) {
    let (row, next) = rows.split_at(len);
    // SAFETY: the caller's features.
    unsafe {
        match *out {
            [] => {}
            [_] => inners::<L, 1>(row, next, out),
            [_, _] => inners::<L, 2>(row, next, out),
            [_, _, _] => inners::<L, 3>(row, next, out),
            [_, _, _, _] => inners::<L, 4>(row, next, out),
            [_, _, _, _, _] => inners::<L, 5>(row, next, out),
            [_, _, _, _, _, _] => inners::<L, 6>(row, next, out),
            _ => inners::<L, 7>(row, next, out),
        }
    }
}

#[inline(always)]
unsafe fn inners<L: Lanes<f64>, const R: usize>(row: &[f64], next: &[f64], out: &mut [f64]) {
    let next = split::<R>(next, row.len());
    // SAFETY: the caller's features; lines begin where a whole one follows, in rows of one length.
    unsafe {
        let mut sums = [L::wide_zero(); R];
        for j in (0..row.len() / SIDE * SIDE).step_by(SIDE) {
            let line = L::load(row.as_ptr().add(j));
            for (sum, next) in sums.iter_mut().zip(next) {
                *sum = L::wide_fma(*sum, next.as_ptr().add(j), line);
            }
        }
        for (out, sum) in out[..R].iter_mut().zip(sums) {
            *out = L::wide_sum(sum);
        }
    }
}

#[inline(always)]
pub(super) unsafe fn add_to_side<L: Lanes<f64>>(
    rows: &[f64],
    (which, gains): (&[usize], &[Side]),
    panel: &mut [Side],
) {
    let (mut which, mut gains) = (which, gains);
    // SAFETY: the caller's features.
    unsafe {
        macro_rules! step {
            ($($count:literal),+) => {$(
                while let (Some((rows_of, others)), Some((some, rest))) =
                    (which.split_first_chunk::<$count>(), gains.split_first_chunk::<$count>())
                {
                    add_some::<L, $count>(rows, (rows_of, some), panel);
                    (which, gains) = (others, rest);
                }
            )+};
        }
        if L::CHAINS >= 16 {
            step!(8);
        }
        step!(4, 2, 1);
    }
}

#[inline(always)]
unsafe fn add_some<L: Lanes<f64>, const R: usize>(
    rows: &[f64],
    (which, gains): (&[usize; R], &[Side; R]),
    panel: &mut [Side],
) {
    let len = panel.len();
    let rows = which.map(|row| &rows[row * len..][..len]);
    // SAFETY: the caller's features; every place holds a line, and every row is as long as the
    // panel.
    unsafe {
        let by = gains.each_ref().map(|by| L::load(by.0.as_ptr()));
        for (j, coordinate) in panel.iter_mut().enumerate() {
            let mut line = L::load(coordinate.0.as_ptr());
            for (row, by) in rows.iter().zip(by) {
                line = L::fma(L::splat(*row.get_unchecked(j)), by, line);
            }
            L::store(coordinate.0.as_mut_ptr(), line);
        }
    }
}
