//! Products of rows with `f64` vectors: plain loops, compiled for every level.
//!
//! Sums run in eight lanes without FMA, so every level gives the same bits.

use super::dispatch::{Compiled, Work};
use super::lanes::Lanes;
use crate::float::Real;

const LANES: usize = 8;

/// `out_i = rows_i · x`.
pub(super) struct Dots<'a, F> {
    pub(super) rows: &'a [F],
    pub(super) x: &'a [f64],
    pub(super) out: &'a mut [f64],
}

impl<F: Compiled> Work<F> for Dots<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        for (row, out) in self.rows.chunks_exact(self.x.len()).zip(self.out) {
            *out = dot(row, self.x);
        }
    }
}

/// `row · x` for equal lengths.
#[inline(always)]
fn dot<F: Real>(row: &[F], x: &[f64]) -> f64 {
    // Two sets of lanes: additions do not wait for each other.
    let mut sums = [[0.0; LANES]; 2];
    let (mut rows, mut xs) = (row.chunks_exact(2 * LANES), x.chunks_exact(2 * LANES));
    for (a, b) in (&mut rows).zip(&mut xs) {
        for lane in 0..LANES {
            sums[0][lane] += a[lane].to_f64() * b[lane];
        }
        for lane in 0..LANES {
            sums[1][lane] += a[LANES + lane].to_f64() * b[LANES + lane];
        }
    }
    let mut tail = 0.0;
    for (a, b) in rows.remainder().iter().zip(xs.remainder()) {
        tail += (*a).to_f64() * b;
    }
    let mut s = [0.0; LANES];
    for lane in 0..LANES {
        s[lane] = sums[0][lane] + sums[1][lane];
    }
    ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7])) + tail
}

/// `y += Σ a_k rows_k` over the pairs `(k, a_k)`.
pub(super) struct ScaledRows<'a, F> {
    pub(super) rows: &'a [F],
    pub(super) scaled: &'a [(u32, f64)],
    pub(super) y: &'a mut [f64],
}

impl<F: Compiled> Work<F> for ScaledRows<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let b = self.y.len();
        let mut fours = self.scaled.chunks_exact(4);
        // Four rows share one sweep over y.
        for four in &mut fours {
            let r0 = &self.rows[four[0].0 as usize * b..][..b];
            let r1 = &self.rows[four[1].0 as usize * b..][..b];
            let r2 = &self.rows[four[2].0 as usize * b..][..b];
            let r3 = &self.rows[four[3].0 as usize * b..][..b];
            let (a0, a1, a2, a3) = (four[0].1, four[1].1, four[2].1, four[3].1);
            let y = &mut self.y[..b];
            for j in 0..b {
                y[j] += (a0 * r0[j].to_f64() + a1 * r1[j].to_f64())
                    + (a2 * r2[j].to_f64() + a3 * r3[j].to_f64());
            }
        }
        for &(k, a) in fours.remainder() {
            let row = &self.rows[k as usize * b..][..b];
            for (y, value) in self.y.iter_mut().zip(row) {
                *y += a * (*value).to_f64();
            }
        }
    }
}
