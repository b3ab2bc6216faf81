//! Long dense points of which parts are blank against packed centres.
//!
//! A part of a long dense row that holds nothing but zeros (after the origin was taken off: pixels of a
//! background, marks of categories) adds to a squared distance what the centre has there, which is
//! summed once for many points. So it is by itself, one addition, for every point that has enough parts
//! blank, in whatever block it stands. (Products skip every zero: `thinned.rs`.)

use super::blanks::Blanks;
use super::emit::taken;
use super::lanes::{ExpConstants, Lanes, width};
use super::skipping::Skips;

/// Whether a part of a row is blank, [`Blanks::parts`] a row: for squared distances.
#[derive(Clone, Copy)]
pub(super) struct Parts<'z>(pub(super) &'z [bool]);

impl Skips for Parts<'_> {
    fn from(self, row: usize, d: usize) -> Self {
        Self(&self.0[row * Blanks::parts(d)..])
    }

    #[inline(always)]
    unsafe fn take<F: ExpConstants, L: Lanes<F>, const M: u8, const N: usize>(
        self,
        (rows, centers, d): (*const F, *const F, usize),
        sums: &mut [[L::Line; N]],
    ) {
        let (w, parts) = (width::<F>(), Blanks::parts(d));
        // SAFETY: as for the caller.
        unsafe {
            for part in 0..parts {
                let features = part * Blanks::PART..((part + 1) * Blanks::PART).min(d);
                let mut away = None;
                for (p, sums) in sums.iter_mut().enumerate() {
                    if !self.0[p * parts + part] {
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
