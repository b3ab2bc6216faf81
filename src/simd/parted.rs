//! Long dense points of which parts are blank against packed centres.
//!
//! A part of a long dense row that holds nothing but zeros (after the origin was taken off: pixels of a
//! background, marks of categories) adds to a squared distance what the centre has there, which is
//! summed once for many points. So it is by itself, one addition, for every point that has enough parts
//! blank, in whatever block it stands. (Products skip nothing: they take half the work a feature.)

use super::blanks::Blanks;
use super::emit::{emit, finish, taken};
use super::job::{Job, LINES, SQUARED, lines_of};
use super::lanes::{ExpConstants, Lanes, width};

/// Dense points that share the part of the lines at hand: their sums fit a nearest cache of 48 KB with
/// it, where they were measured.
pub(super) const AT_ONCE: usize = 64;
/// As many as need no more room for sums than these.
pub(super) const FEW: usize = 4;
/// The lines, where registers hold as many sums.
const LINES_AT_ONCE: usize = 8;

/// Squared distances of `len` dense points from point `first` on, `P` at most, some parts of which are
/// blank, to all centres: a part of a few lines serves all of them before the next is read.
#[inline(always)]
pub(super) unsafe fn parted_points<F: ExpConstants, L: Lanes<F>, const P: usize>(
    job: &mut Job<'_, F>,
    (first, len): (usize, usize),
    seen: (*const F, &[bool]),
) {
    let (mut line, lines) = lines_of(job);
    // SAFETY: as for the caller.
    unsafe {
        let mut wide = [L::wide_zero(); P];
        macro_rules! take {
            ($lines:expr) => {
                parted_lines::<F, L, P, { $lines }>(job, first, seen, line, &mut wide[..len])
            };
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

#[inline(always)]
unsafe fn parted_lines<F: ExpConstants, L: Lanes<F>, const P: usize, const N: usize>(
    job: &mut Job<'_, F>,
    first: usize,
    (rows, blanks): (*const F, &[bool]),
    line: usize,
    wide: &mut [L::Wide],
) {
    let (d, w) = (job.tile.n_features(), width::<F>());
    let parts = Blanks::parts(d);
    // SAFETY: block `line` of the packed centres is `d` lines; a point's row is `d` values.
    unsafe {
        let centers = job.centers.values().as_ptr().add(line * d * w);
        let mut sums = [[L::splat(F::zero()); N]; P];
        for part in 0..parts {
            let features = part * Blanks::PART..((part + 1) * Blanks::PART).min(d);
            let mut away = None;
            for (p, sums) in sums.iter_mut().enumerate().take(wide.len()) {
                if !blanks[p * parts + part] {
                    let mut acc = *sums;
                    macro_rules! take {
                        ($features:expr) => {
                            for k in $features {
                                let x = L::splat(*rows.add(p * d + k));
                                for (l, acc) in acc.iter_mut().enumerate() {
                                    let s = L::load(centers.add((l * d + k) * w));
                                    *acc = taken::<F, L, SQUARED>(x, s, *acc);
                                }
                            }
                        };
                    }
                    // A number of features that is known is taken without a loop.
                    if features.len() == Blanks::PART {
                        take!(features.start..features.start + Blanks::PART);
                    } else {
                        take!(features.clone());
                    }
                    *sums = acc;
                    continue;
                }
                // What the centres have there is summed for the first who asks.
                if away.is_none() {
                    away = Some(squares::<F, L, N>(centers, features.clone(), d));
                }
                for (sum, away) in sums.iter_mut().zip(away.into_iter().flatten()) {
                    *sum = L::add(*sum, away);
                }
            }
        }
        for (p, wide) in wide.iter_mut().enumerate() {
            let mut own = *wide;
            for (l, &sum) in sums[p].iter().enumerate() {
                emit::<F, L, SQUARED>(job, first + p, line + l, sum, &mut own);
            }
            *wide = own;
        }
    }
}

/// `Σ s²` over some features of `N` lines of centres.
#[inline(always)]
unsafe fn squares<F: ExpConstants, L: Lanes<F>, const N: usize>(
    centers: *const F,
    features: std::ops::Range<usize>,
    d: usize,
) -> [L::Line; N] {
    // SAFETY: `centers` are `N` blocks of `d` lines, by the caller.
    unsafe {
        let mut acc = [L::splat(F::zero()); N];
        for k in features {
            for (l, acc) in acc.iter_mut().enumerate() {
                let s = L::load(centers.add((l * d + k) * width::<F>()));
                *acc = L::fma(s, s, *acc);
            }
        }
        acc
    }
}
