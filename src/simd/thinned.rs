//! Long dense points of which many values are zero against packed centres, by products.
//!
//! A value of zero adds nothing to a product, and is left out. The others are taken in the order in
//! which all would be: the sums have the bits that they have with the zeros, and whether points are
//! thinned is a matter of speed alone.

use super::emit::taken;
use super::job::IN_PARTS;
use super::lanes::{ExpConstants, Lanes, PART, width};
use super::present::Present;
use super::skipping::Skips;

/// Sums in parts are added up a part at a time, as they are of all values.
const _: () = assert!(Present::WORD == PART, "a word a part");

/// Which values are there, [`Present::words`] a row: for products.
#[derive(Clone, Copy)]
pub(super) struct Words<'z>(pub(super) &'z [u64]);

impl Skips for Words<'_> {
    fn from(self, row: usize, d: usize) -> Self {
        Self(&self.0[row * Present::words(d)..])
    }

    #[inline(always)]
    unsafe fn take<F: ExpConstants, L: Lanes<F>, const M: u8, const N: usize>(
        self,
        (rows, centers, d): (*const F, *const F, usize),
        sums: &mut [[L::Line; N]],
    ) {
        let (w, parts, block) = (width::<F>(), Present::words(d), d * width::<F>());
        for part in 0..parts {
            let from = part * Present::WORD;
            // SAFETY: as for the caller; a bit of a row's words is one of its values.
            unsafe {
                let (rows, centers) = (rows.add(from), centers.add(from * w));
                for (p, sums) in sums.iter_mut().enumerate() {
                    let mut word = self.0[p * parts + part];
                    let mut acc = if M == IN_PARTS { [L::splat(F::zero()); N] } else { *sums };
                    while word != 0 {
                        let k = word.trailing_zeros() as usize;
                        word &= word - 1;
                        let (x, centers) = (L::splat(*rows.add(p * d + k)), centers.add(k * w));
                        for (l, acc) in acc.iter_mut().enumerate() {
                            *acc = taken::<F, L, M>(x, L::load(centers.add(l * block)), *acc);
                        }
                    }
                    for (sum, acc) in sums.iter_mut().zip(acc) {
                        *sum = if M == IN_PARTS { L::add(*sum, acc) } else { acc };
                    }
                }
            }
        }
    }
}
