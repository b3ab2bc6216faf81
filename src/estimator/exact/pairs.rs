//! One-vs-one machines: the samples of their pairs.

use crate::kernel::{AnyColumns, Classes, Gram};
use crate::watch::{Step, Watch};

/// Machines of pairs trained at the same time, at most: they share the cache, and other threads
/// help with the rows of each.
const AT_A_TIME: usize = 4;

/// The samples of a pair of classes: prepared with those of all others, or each pair's by itself.
pub(super) enum PairColumns<'g, 'c> {
    Single(Classes<'g, f32>),
    Double(Classes<'g, f64>),
    Each { gram: Gram<'g>, of_class: &'c [Vec<usize>], single: bool },
}

/// How many machines of the pairs of `k` classes are trained at the same time: their share of the
/// cache decides about steps, so it does not depend on the threads.
pub(super) fn at_a_time(k: usize) -> usize {
    AT_A_TIME.min(k * (k - 1) / 2).max(1)
}

impl<'g, 'c> PairColumns<'g, 'c> {
    /// For machines that have `bytes` of kernel rows together.
    pub(super) fn new(
        gram: Gram<'g>,
        of_class: &'c [Vec<usize>],
        (bytes, single): (usize, bool),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let k = of_class.len();
        let each = Self::Each { gram, of_class, single };
        if k == 2 {
            return Ok(each);
        }
        let space = (bytes, at_a_time(k));
        Ok(if single {
            Classes::new(gram, of_class, space, watch)?.map_or(each, Self::Single)
        } else {
            Classes::new(gram, of_class, space, watch)?.map_or(each, Self::Double)
        })
    }

    /// The samples of two classes.
    pub(super) fn pair(
        &self,
        (i, j): (usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<AnyColumns<'g>> {
        match self {
            Self::Single(classes) => Ok(AnyColumns::Single(classes.pair(i, j))),
            Self::Double(classes) => Ok(AnyColumns::Double(classes.pair(i, j))),
            Self::Each { gram, of_class, single } => {
                let index = [of_class[i].as_slice(), &of_class[j]].concat();
                AnyColumns::new(*gram, index, *single, watch)
            }
        }
    }
}
