//! A few vectors and many rows: products with all of them, and sums of the rows, eight rows at a time.
//!
//! Products of matrices of which one is a few columns wide: packing them costs as much as they do.

use crate::float::Real;
use crate::simd::{SIDE, Side, TOGETHER, add_to_side, side_products, widen};

/// Vectors of one length side by side.
#[derive(Clone, Debug)]
pub(crate) struct Sides {
    count: usize,
    len: usize,
    /// Every eight of them.
    panels: Vec<Vec<Side>>,
}

/// The rows, of `len` values, by eights: widened, with the number of the first.
fn by_eights<F: Real>(rows: &[F], len: usize, mut work: impl FnMut(usize, &[f64])) {
    let mut wide = vec![0.0; (TOGETHER * len).min(rows.len())];
    for (at, rows) in rows.chunks(TOGETHER * len.max(1)).enumerate() {
        let wide = &mut wide[..rows.len()];
        widen(rows, wide);
        work(at * TOGETHER, wide);
    }
}

impl Sides {
    /// So many zeros.
    pub(crate) fn zeros(count: usize, len: usize) -> Self {
        Self { count, len, panels: vec![vec![Side::default(); len]; count.div_ceil(SIDE)] }
    }

    /// These vectors of `len` values each.
    pub(crate) fn of<'v>(vectors: impl ExactSizeIterator<Item = &'v [f64]>, len: usize) -> Self {
        let mut made = Self::zeros(vectors.len(), len);
        for (c, vector) in vectors.enumerate() {
            for (to, value) in made.panels[c / SIDE].iter_mut().zip(vector) {
                to.0[c % SIDE] = *value;
            }
        }
        made
    }

    /// `out = rows · vectors`, row by row.
    pub(crate) fn products<F: Real>(&self, rows: &[F], out: &mut [f64]) {
        let mut found = [Side::default(); TOGETHER];
        by_eights(rows, self.len, |first, wide| {
            let found = &mut found[..wide.len() / self.len];
            for (p, panel) in self.panels.iter().enumerate() {
                side_products(wide, panel, found);
                let own = p * SIDE..self.count.min((p + 1) * SIDE);
                for (r, found) in found.iter().enumerate() {
                    let out = &mut out[(first + r) * self.count..][..self.count];
                    out[own.clone()].copy_from_slice(&found.0[..own.len()]);
                }
            }
        });
    }

    /// Every vector gains every row as often as `by` says, vector by vector.
    pub(crate) fn add<F: Real>(&mut self, rows: &[F], by: &[f64]) {
        let n = rows.len() / self.len.max(1);
        let which: [usize; TOGETHER] = std::array::from_fn(|r| r);
        let (count, len) = (self.count, self.len);
        by_eights(rows, len, |first, wide| {
            let which = &which[..wide.len() / len];
            for (p, panel) in self.panels.iter_mut().enumerate() {
                let mut gains = [Side::default(); TOGETHER];
                for c in p * SIDE..count.min((p + 1) * SIDE) {
                    for (gain, by) in gains.iter_mut().zip(&by[c * n + first..(c + 1) * n]) {
                        gain.0[c % SIDE] = *by;
                    }
                }
                add_to_side(wide, (which, &gains[..which.len()]), panel);
            }
        });
    }

    /// Adds the other vectors, as many of the same length.
    pub(crate) fn plus(&mut self, other: &Self) {
        for (a, b) in self.panels.iter_mut().flatten().zip(other.panels.iter().flatten()) {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a += b);
        }
    }

    /// Vector c.
    pub(crate) fn vector(&self, c: usize) -> impl Iterator<Item = f64> {
        self.panels[c / SIDE].iter().map(move |side| side.0[c % SIDE])
    }
}
