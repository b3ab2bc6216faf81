//! Whether the labels of a block are those of the rows before it.
//!
//! A block says what a move gains ([`super::judge`]) for rows like its own. Where its labels are
//! others than those so far, as in a stream sorted by label, it does not say what the rows before it
//! lose: then a move must gain much more.

use crate::data::Targets;
use crate::error::{Result, try_vec};

/// Rows so far of each class, faded; of none where they are not known, or are of no class.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Labels(Vec<f64>);

impl Labels {
    /// Of a file.
    pub(super) fn of(rows: Vec<f64>) -> Self {
        Self(rows)
    }

    /// Rows of each class.
    pub(super) fn rows(&self) -> &[f64] {
        &self.0
    }

    /// Counts a block, of which a row fades what was by this factor. What a stream began with is not
    /// known afterwards: it must be its first.
    pub(super) fn count(
        &mut self,
        targets: Targets<'_>,
        is_first: bool,
        forgetting: f64,
    ) -> Result<()> {
        let Targets::Classes { index, n_classes } = targets else { return Ok(()) };
        if self.0.is_empty() {
            if !is_first {
                return Ok(());
            }
            self.0 = try_vec("rows of each class", n_classes, 0.0)?;
        }
        let fade = forgetting.powf(index.len() as f64);
        self.0.iter_mut().for_each(|rows| *rows *= fade);
        for &class in index {
            if let Some(rows) = self.0.get_mut(class as usize) {
                *rows += 1.0;
            }
        }
        Ok(())
    }

    /// The share of the rows so far and of these that can be paired with rows of the same class: 1
    /// where the classes come in the same shares, and where nothing is known.
    pub(super) fn shared(&self, targets: Targets<'_>) -> Result<f64> {
        let mut block = Self::default();
        block.count(targets, true, 1.0)?;
        let (seen, new) = (self.0.iter().sum::<f64>(), block.0.iter().sum::<f64>());
        if seen <= 0.0 || new <= 0.0 {
            return Ok(1.0);
        }
        Ok(self.0.iter().zip(&block.0).map(|(a, b)| (a / seen).min(b / new)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_paired_by_class() {
        let classes = |index| Targets::Classes { index, n_classes: 3 };
        let mut labels = Labels::default();
        assert_eq!(labels.shared(classes(&[0, 1])).unwrap(), 1.0);
        labels.count(classes(&[0, 0, 1, 2]), true, 1.0).unwrap();
        assert_eq!(labels.rows(), [2.0, 1.0, 1.0]);
        assert_eq!(labels.shared(classes(&[0, 0, 1, 2])).unwrap(), 1.0);
        assert_eq!(labels.shared(classes(&[2, 2, 2])).unwrap(), 0.25);
        assert_eq!(labels.shared(classes(&[0, 0])).unwrap(), 0.5);
        assert_eq!(labels.shared(Targets::Values(&[1.0])).unwrap(), 1.0);
        labels.count(classes(&[2, 2]), false, 0.5).unwrap();
        assert_eq!(labels.rows(), [0.5, 0.25, 2.25]);
    }

    #[test]
    fn what_is_not_known_from_the_first_row_on_stays_unknown() {
        let mut labels = Labels::default();
        labels.count(Targets::Classes { index: &[1], n_classes: 2 }, false, 1.0).unwrap();
        assert!(labels.rows().is_empty());
        labels.count(Targets::Values(&[1.0]), true, 1.0).unwrap();
        assert!(labels.rows().is_empty());
    }
}
