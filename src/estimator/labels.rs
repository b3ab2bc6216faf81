//! Labels of any type as class indices, and back.

use super::score::class;
use crate::error::{Error, Result};
use crate::float::Real;
use crate::model::Model;

/// The class of every label; `classes` is sorted.
pub(super) fn encode<L: Ord + Clone>(labels: &[L], classes: &[L]) -> Result<Vec<u32>> {
    let find = |(row, label)| {
        let class = classes.binary_search(label).ok().and_then(|c| u32::try_from(c).ok());
        class.ok_or_else(|| {
            Error::BadLabels(format!("the label of row {row} is no class of the machine"))
        })
    };
    labels.iter().enumerate().map(find).collect()
}

/// The labels that there are, sorted: two at least.
pub(super) fn classes<L: Ord + Clone>(labels: &[L]) -> Result<Vec<L>> {
    let found = sorted(labels);
    match found.len() {
        0 | 1 => {
            let text = format!("{} class, at least 2 classes are needed", found.len());
            Err(Error::BadLabels(text))
        }
        _ => Ok(found),
    }
}

/// The labels that there are, sorted.
pub(super) fn sorted<L: Ord + Clone>(labels: &[L]) -> Vec<L> {
    let mut classes = labels.to_vec();
    classes.sort();
    classes.dedup();
    classes
}

/// The label of one row.
pub(super) fn label_of<'c, F: Real, L>(
    model: &Model<F>,
    row: &[F],
    classes: &'c [L],
) -> Result<&'c L> {
    model.decide_one(row, |values| Ok(&classes[class(values)]))
}

/// The label that each row of decision values, samples x outputs, speaks for.
pub(super) fn decode<L: Ord + Clone>(values: &[f64], outputs: usize, classes: &[L]) -> Vec<L> {
    values.chunks_exact(outputs).map(|row| classes[class(row)].clone()).collect()
}
