//! Long dense points of which parts are blank against packed centres.
//!
//! A part of a long dense row that holds nothing but zeros (after the origin was taken off: pixels of a
//! background, marks of categories) adds nothing to a product, and to a distance what the centre has
//! there, which is summed once for many points. So it is by itself, one addition, for every point that
//! has the part blank, in whatever block it stands.

use super::blanks::Blanks;
use super::emit::{emit, finish, taken};
use super::job::{Job, LINES, SQUARED, lines_of};
use super::lanes::{ExpConstants, Lanes, width};

/// Dense points that share the part of the lines at hand: their sums fit the nearest cache with it.
pub(super) const AT_ONCE: usize = 32;
/// The lines, where registers hold as many sums.
const LINES_AT_ONCE: usize = 8;

/// `len` dense points from point `first` on, some parts of which are blank, against all centres: a
/// part of a few lines serves all of them before the next is read.
#[inline(always)]
pub(super) unsafe fn parted_points<F: ExpConstants, L: Lanes<F>, const M: u8>(
    job: &mut Job<'_, F>,
    (first, len): (usize, usize),
    seen: (*const F, &[bool]),
) {
    let (mut line, lines) = lines_of(job);
    // SAFETY: as for the caller.
    unsafe {
        let mut wide = [L::wide_zero(); AT_ONCE];
        while L::CHAINS >= 16 && line + LINES_AT_ONCE <= lines {
            parted_lines::<F, L, M, LINES_AT_ONCE>(job, first, seen, line, &mut wide[..len]);
            line += LINES_AT_ONCE;
        }
        while line + LINES <= lines {
            parted_lines::<F, L, M, LINES>(job, first, seen, line, &mut wide[..len]);
            line += LINES;
        }
        while line < lines {
            parted_lines::<F, L, M, 1>(job, first, seen, line, &mut wide[..len]);
            line += 1;
        }
        for (p, &wide) in wide.iter().enumerate().take(len) {
            finish::<F, L, 1>(job, first + p, &[wide]);
        }
    }
}

#[inline(always)]
unsafe fn parted_lines<F: ExpConstants, L: Lanes<F>, const M: u8, const N: usize>(
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
        let mut sums = [[L::splat(F::zero()); N]; AT_ONCE];
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
                                    *acc = taken::<F, L, M>(x, s, *acc);
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
                } else if M == SQUARED {
                    // What the centres have there is summed for the first who asks.
                    let away = match away {
                        Some(away) => away,
                        None => {
                            let mut acc = [L::splat(F::zero()); N];
                            for k in features.clone() {
                                for (l, acc) in acc.iter_mut().enumerate() {
                                    let s = L::load(centers.add((l * d + k) * w));
                                    *acc = L::fma(s, s, *acc);
                                }
                            }
                            away = Some(acc);
                            acc
                        }
                    };
                    for (sum, away) in sums.iter_mut().zip(away) {
                        *sum = L::add(*sum, away);
                    }
                }
            }
        }
        for (p, wide) in wide.iter_mut().enumerate() {
            for (l, &sum) in sums[p].iter().enumerate() {
                emit::<F, L, M>(job, first + p, line + l, sum, wide);
            }
        }
    }
}
