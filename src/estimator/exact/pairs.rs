//! One-vs-one machines: the samples of their pairs, and one machine of all of them.

use ndarray::Array2;

use super::machine::ExactMachine;
use crate::error::Result;
use crate::kernel::{AnyColumns, Classes, Gram};
use crate::multiclass::pairs;
use crate::solver::exact::Fitted;

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
    ) -> Result<Self> {
        let k = of_class.len();
        let each = Self::Each { gram, of_class, single };
        if k == 2 {
            return Ok(each);
        }
        let space = (bytes, at_a_time(k));
        Ok(if single {
            Classes::new(gram, of_class, space)?.map_or(each, Self::Single)
        } else {
            Classes::new(gram, of_class, space)?.map_or(each, Self::Double)
        })
    }

    /// The samples of two classes.
    pub(super) fn pair(&self, i: usize, j: usize) -> Result<AnyColumns<'g>> {
        match self {
            Self::Single(classes) => Ok(AnyColumns::Single(classes.pair(i, j))),
            Self::Double(classes) => Ok(AnyColumns::Double(classes.pair(i, j))),
            Self::Each { gram, of_class, single } => {
                let index = [of_class[i].as_slice(), &of_class[j]].concat();
                AnyColumns::new(*gram, index, *single)
            }
        }
    }
}

/// The layout of \[LIBSVM\] from the machines of all pairs.
pub(super) fn assemble(parts: Vec<Fitted>, of_class: &[Vec<usize>]) -> ExactMachine {
    let k = of_class.len();
    let pairs = pairs(k);
    // Where in the machine of a pair the samples of one of its classes begin.
    let coef = |part: usize, class: usize| {
        let (i, _) = pairs[part];
        let skip = if class == i { 0 } else { of_class[i].len() };
        &parts[part].coef[skip..][..of_class[class].len()]
    };
    let (mut support, mut n_support) = (Vec::new(), Vec::new());
    let mut columns: Vec<Vec<f64>> = Vec::new();
    for (class, members) in of_class.iter().enumerate() {
        let of_others: Vec<(usize, &[f64])> = (0..pairs.len())
            .filter(|&p| pairs[p].0 == class || pairs[p].1 == class)
            .map(|p| {
                let (i, j) = pairs[p];
                (if class == i { j - 1 } else { i }, coef(p, class))
            })
            .collect();
        let before = support.len();
        for (m, &sample) in members.iter().enumerate() {
            if of_others.iter().any(|(_, coef)| coef[m] != 0.0) {
                let mut column = vec![0.0; k - 1];
                of_others.iter().for_each(|(row, coef)| column[*row] = coef[m]);
                support.push(sample);
                columns.push(column);
            }
        }
        n_support.push(support.len() - before);
    }
    let sign = if k == 2 { -1.0 } else { 1.0 };
    let shape = (k - 1, support.len());
    let dual_coef = Array2::from_shape_fn(shape, |(row, s)| sign * columns[s][row]);
    let intercept = parts.iter().map(|part| sign * part.intercept).collect();
    ExactMachine { support, n_support, dual_coef, intercept, parts }
}
