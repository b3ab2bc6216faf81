//! Small loops over slices, compiled for every level.

use super::lanes::{Lanes, exp, width};
use super::{Compiled, Work};

/// Squared norms of rows, one multiply-add chain a row.
pub(super) struct SqNorms<'a, F> {
    pub(super) rows: &'a [F],
    pub(super) d: usize,
    pub(super) out: &'a mut [F],
}

impl<F: Compiled> Work<F> for SqNorms<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        const ROWS: usize = 4;
        let d = self.d;
        let mut row = 0;
        // Several rows at once: one chain waits for its own last step.
        while row + ROWS <= self.out.len() {
            let rows: [&[F]; ROWS] = std::array::from_fn(|r| &self.rows[(row + r) * d..][..d]);
            let mut sums = [F::zero(); ROWS];
            for k in 0..d {
                for (sum, row) in sums.iter_mut().zip(rows) {
                    // SAFETY: the features of `L` are enabled by the caller.
                    *sum = unsafe { L::fma_one(row[k], row[k], *sum) };
                }
            }
            self.out[row..row + ROWS].copy_from_slice(&sums);
            row += ROWS;
        }
        for (i, out) in self.out.iter_mut().enumerate().skip(row) {
            // SAFETY: as above.
            *out = self.rows[i * d..][..d]
                .iter()
                .fold(F::zero(), |sum, &v| unsafe { L::fma_one(v, v, sum) });
        }
    }
}

/// The exponential of every value of a slice.
pub(super) struct Exp<'a, F>(pub(super) &'a mut [F]);

impl<F: Compiled> Work<F> for Exp<'_, F> {
    type Output = ();
    #[inline(always)]
    unsafe fn run<L: Lanes<F>>(self) {
        let mut lines = self.0.chunks_exact_mut(width::<F>());
        for line in &mut lines {
            // SAFETY: a whole line; the features of `L` are enabled by the caller.
            unsafe { L::store(line.as_mut_ptr(), exp::<F, L>(L::load(line.as_ptr()))) }
        }
        let rest = lines.into_remainder();
        let mut padded = [F::zero(); 16];
        padded[..rest.len()].copy_from_slice(rest);
        // SAFETY: 16 values are at least a line.
        unsafe { L::store(padded.as_mut_ptr(), exp::<F, L>(L::load(padded.as_ptr()))) }
        rest.copy_from_slice(&padded[..rest.len()]);
    }
}
