//! Labels of any type as class indices, and back.

use crate::error::{Error, Result};

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
