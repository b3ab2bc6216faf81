//! Vectors side by side, a lane each: a row meets eight of them at once, and no sum runs across
//! lanes.
//!
//! No FMA: every level gives the same bits.

use super::lanes::{Lanes, width};

/// Vectors in one panel.
pub(crate) const SIDE: usize = 8;

/// A coordinate of every vector of a panel.
pub(crate) type Side = [f64; SIDE];

#[inline(always)]
pub(super) fn side_dots(row: &[f64], panel: &[Side]) -> Side {
    // Four sums a lane: additions do not wait for each other.
    let mut sums = [[0.0; SIDE]; 4];
    let (mut rows, mut panels) = (row.chunks_exact(4), panel[..row.len()].chunks_exact(4));
    for (values, coordinates) in (&mut rows).zip(&mut panels) {
        for part in 0..4 {
            for lane in 0..SIDE {
                sums[part][lane] += values[part] * coordinates[part][lane];
            }
        }
    }
    for (value, coordinate) in rows.remainder().iter().zip(panels.remainder()) {
        for lane in 0..SIDE {
            sums[0][lane] += value * coordinate[lane];
        }
    }
    std::array::from_fn(|lane| (sums[0][lane] + sums[2][lane]) + (sums[1][lane] + sums[3][lane]))
}

/// The same of two panels in one sweep.
#[inline(always)]
pub(super) unsafe fn add_sides<L: Lanes<f64>>(
    row: &[f64],
    (by, panel): (&Side, &mut [Side]),
    (by_other, other): (&Side, &mut [Side]),
) {
    // SAFETY: the caller's features; every place holds a line.
    unsafe {
        let (by, by_other) = (L::load(by.as_ptr()), L::load(by_other.as_ptr()));
        for ((&value, coordinate), others) in row.iter().zip(panel).zip(other) {
            let (place, other, value) =
                (coordinate.as_mut_ptr(), others.as_mut_ptr(), L::splat(value));
            L::store(place, L::add(L::load(place), L::mul(by, value)));
            L::store(other, L::add(L::load(other), L::mul(by_other, value)));
        }
    }
}

/// A panel's coordinate is a line of the level.
#[inline(always)]
pub(super) unsafe fn add_side<L: Lanes<f64>>(row: &[f64], by: &Side, panel: &mut [Side]) {
    const { assert!(SIDE == width::<f64>()) };
    // SAFETY: the caller's features; every place holds a line.
    unsafe {
        let by = L::load(by.as_ptr());
        for (&value, coordinate) in row.iter().zip(panel) {
            let place = coordinate.as_mut_ptr();
            L::store(place, L::add(L::load(place), L::mul(by, L::splat(value))));
        }
    }
}
