//! Long dense points of which zeros are known against packed centres: a part of a few lines of
//! centres serves many points before the next is read, and a point takes of it what it has.

use super::emit::{emit, finish};
use super::job::{Job, LINES, lines_of};
use super::lanes::{ExpConstants, Lanes, width};

/// Points that share the part of the lines at hand, where they were measured: the sums of the points
/// fit the nearest caches with it.
const SHARING: usize = 64;
/// As many as need no more room for sums than these.
const FEW: usize = 4;
/// The lines, where registers hold as many sums.
const LINES_AT_ONCE: usize = 8;

/// What is known of the zeros in rows, one after another.
pub(super) trait Skips: Copy {
    /// From a later row on.
    fn from(self, row: usize, d: usize) -> Self;

    /// Adds to the sums of points, whose rows of `d` features lie one after another, what they and `N`
    /// blocks of centres of `d` lines have, by the metric `M`.
    ///
    /// # Safety
    /// The rows and the blocks are there; the features of `L` are enabled.
    unsafe fn take<F: ExpConstants, L: Lanes<F>, const M: u8, const N: usize>(
        self,
        at: (*const F, *const F, usize),
        sums: &mut [[L::Line; N]],
    );
}

/// The points `first..last`, whose rows these are, against all centres.
#[inline(always)]
pub(super) unsafe fn skipping_points<F: ExpConstants, L: Lanes<F>, const M: u8, S: Skips>(
    job: &mut Job<'_, F>,
    (first, last): (usize, usize),
    (rows, zeros): (*const F, S),
) {
    let (mut i, d) = (first, job.tile.n_features());
    while i < last {
        let len = SHARING.min(last - i);
        let own = (rows.wrapping_add((i - first) * d), zeros.from(i - first, d));
        // SAFETY: as for the caller.
        unsafe {
            match len {
                0..=FEW => few_points::<F, L, M, S, FEW>(job, (i, len), own),
                _ => few_points::<F, L, M, S, SHARING>(job, (i, len), own),
            }
        }
        i += len;
    }
}

/// `len` points from point `first` on, `P` at most.
#[inline(always)]
unsafe fn few_points<F: ExpConstants, L: Lanes<F>, const M: u8, S: Skips, const P: usize>(
    job: &mut Job<'_, F>,
    (first, len): (usize, usize),
    (rows, zeros): (*const F, S),
) {
    let (d, w) = (job.tile.n_features(), width::<F>());
    let (mut line, lines) = lines_of(job);
    // SAFETY: block `line` of the packed centres is `d` lines; the rest as for the caller.
    unsafe {
        let mut wide = [L::wide_zero(); P];
        macro_rules! take {
            ($lines:expr) => {{
                let centers = job.centers.values().as_ptr().add(line * d * w);
                let mut sums = [[L::splat(F::zero()); $lines]; P];
                zeros.take::<F, L, M, { $lines }>((rows, centers, d), &mut sums[..len]);
                for (p, (sums, wide)) in sums[..len].iter().zip(&mut wide).enumerate() {
                    // In registers until its last line.
                    let mut own = *wide;
                    for (l, &sum) in sums.iter().enumerate() {
                        emit::<F, L, M>(job, first + p, line + l, sum, &mut own);
                    }
                    *wide = own;
                }
            }};
        }
        while L::CHAINS >= 16 && line + LINES_AT_ONCE <= lines {
            take!(LINES_AT_ONCE);
            line += LINES_AT_ONCE;
        }
        while line + LINES <= lines {
            take!(LINES);
            line += LINES;
        }
        // The rest at once: a line by itself waits for its own last sum.
        match lines - line {
            0 => {}
            1 => take!(1),
            2 => take!(2),
            _ => take!(3),
        }
        for (p, &wide) in wide.iter().enumerate().take(len) {
            finish::<F, L, 1>(job, first + p, &[wide]);
        }
    }
}
