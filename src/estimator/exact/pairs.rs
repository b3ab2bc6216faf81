//! One-vs-one machines: the samples of their pairs.

use ndarray::Array2;

use crate::error::try_square;
use crate::float::Real;
use crate::kernel::{AnyColumns, Classes, Columns, Gram};
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

/// Samples of a class, on average, up to which all kernel values are computed at once: to prepare
/// such a pair of classes takes longer than to train its machine.
const FEW_OF_A_CLASS: usize = 16;

/// The kernel values among the samples of all classes, a square matrix of all samples that there
/// are, where pairs of classes are many and small and the matrix takes half of `bytes` at most. The
/// values have the same bits as those of a pair's own columns.
pub(super) fn values_of_all(
    gram: Gram<'_>,
    of_class: &[Vec<usize>],
    (bytes, single): (usize, bool),
    watch: &mut Watch<'_>,
) -> Step<Option<Array2<f64>>> {
    let Gram::Kernel(_, rows) = gram else { return Ok(None) };
    let n = rows.n_rows();
    let (k, samples) = (of_class.len(), of_class.iter().map(Vec::len).sum::<usize>());
    let small = k > 2 && samples <= k.saturating_mul(FEW_OF_A_CLASS);
    let size = n.saturating_mul(n).saturating_mul(size_of::<f64>());
    if !small || size > bytes / 2 || !Columns::<f64>::prepares(&gram, samples) {
        return Ok(None);
    }
    let order = of_class.concat();
    Ok(Some(if single {
        matrix::<f32>(gram, (n, order), watch)?
    } else {
        matrix::<f64>(gram, (n, order), watch)?
    }))
}

/// The values among the samples `order` of `n`.
fn matrix<F: Real>(
    gram: Gram<'_>,
    (n, order): (usize, Vec<usize>),
    watch: &mut Watch<'_>,
) -> Step<Array2<f64>> {
    let columns = Columns::<F>::new(gram, order, watch)?;
    let mut values = try_square("kernel values", n, 0.0)?;
    columns.all_rows(watch, |i, row| {
        let to = &mut values[columns.index()[i] * n..][..n];
        columns.index().iter().zip(row).for_each(|(&j, &value)| to[j] = Real::to_f64(value));
    })?;
    Ok(Array2::from_shape_vec((n, n), values).unwrap_or_default())
}
