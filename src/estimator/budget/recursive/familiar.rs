//! Whether the labels of a block are those of the rows before it.
//!
//! A block says what a move gains ([`super::judge`]) for rows like its own. Where its labels are
//! others than those so far, as in a stream sorted by label, it does not say what the rows before it
//! lose: then a move must gain much more, and what the rows before it lose is asked of their groups
//! ([`super::known`]).

use crate::data::Targets;
use crate::error::{Result, try_vec};

/// Shares of classes vary by this much from block to block where rows are shuffled.
pub(super) const VARIED: f64 = 0.1;

/// How like the labels of a block are to those of the rows before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Familiar {
    /// The share of the rows so far and of the block that can be paired with rows of the same class:
    /// 1 where the classes come in the same shares, and where nothing is known.
    pub(super) share: f64,
    /// Whether it is less than shuffled rows would leave it.
    pub(super) strange: bool,
    /// Of the classes that it has more of than those rows, the part that came before it; 1 where there
    /// are none.
    pub(super) known: f64,
    /// Whether, this being so, it has rows of a class that never came before.
    pub(super) begins: bool,
}

impl Familiar {
    /// Where nothing is known.
    pub(super) const ALL: Self = Self { share: 1.0, strange: false, known: 1.0, begins: false };
}

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

    /// How like those of a block are to those so far.
    pub(super) fn shared<'a>(
        &self,
        parts: impl IntoIterator<Item = Targets<'a>>,
    ) -> Result<Familiar> {
        let mut block = Self::default();
        for targets in parts {
            block.count(targets, true, 1.0)?;
        }
        let (seen, new) = (self.0.iter().sum::<f64>(), block.0.iter().sum::<f64>());
        if seen <= 0.0 || new <= 0.0 {
            return Ok(Familiar::ALL);
        }
        let share: f64 = self.0.iter().zip(&block.0).map(|(a, b)| (a / seen).min(b / new)).sum();
        // What shares of so few rows vary by.
        let classes = (self.0.len() - 1) as f64;
        let by_chance = (classes / seen).sqrt() + (classes / new).sqrt();
        let strange = share < 1.0 - VARIED - by_chance;
        let begins = strange && self.0.iter().zip(&block.0).any(|(a, b)| *a < 1.0 && *b > 0.0);
        let (mut more, mut known) = (0.0, 0.0);
        for (&before, &rows) in self.0.iter().zip(&block.0) {
            let excess = (rows / new - before / seen).max(0.0);
            if excess > 0.0 {
                more += excess;
                known += excess * before / (before + rows);
            }
        }
        let known = if more > 0.0 { known / more } else { 1.0 };
        Ok(Familiar { share, strange, known, begins })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_paired_by_class() {
        let classes = |index| Targets::Classes { index, n_classes: 3 };
        let mut labels = Labels::default();
        let share = |labels: &Labels, targets| labels.shared([targets]).unwrap().share;
        assert_eq!(share(&labels, classes(&[0, 1])), 1.0);
        labels.count(classes(&[0, 0, 1, 2]), true, 1.0).unwrap();
        assert_eq!(labels.rows(), [2.0, 1.0, 1.0]);
        assert_eq!(share(&labels, classes(&[0, 0, 1, 2])), 1.0);
        assert_eq!(share(&labels, classes(&[2, 2, 2])), 0.25);
        assert_eq!(share(&labels, classes(&[0, 0])), 0.5);
        assert_eq!(share(&labels, Targets::Values(&[1.0])), 1.0);
        labels.count(classes(&[2, 2]), false, 0.5).unwrap();
        assert_eq!(labels.rows(), [0.5, 0.25, 2.25]);
    }

    #[test]
    fn labels_are_strange_where_shuffled_rows_would_not_have_them() {
        let block = |zeros: usize, ones: usize| [vec![0; zeros], vec![1; ones]].concat();
        let mut labels = Labels::default();
        labels
            .count(Targets::Classes { index: &block(300, 100), n_classes: 2 }, true, 1.0)
            .unwrap();
        let like = |labels: &Labels, zeros, ones| {
            let index = block(zeros, ones);
            let Familiar { strange, begins, .. } =
                labels.shared([Targets::Classes { index: &index, n_classes: 2 }]).unwrap();
            (strange, begins)
        };
        assert_eq!(like(&labels, 150, 50), (false, false));
        assert_eq!(like(&labels, 130, 70), (false, false));
        assert_eq!(like(&labels, 3, 2), (false, false));
        assert_eq!(like(&labels, 80, 100), (true, false));
        assert_eq!(like(&labels, 0, 99), (true, false));
        assert_eq!(like(&labels, 0, 100), (true, false));
        assert_eq!(like(&labels, 300, 0), (true, false));
        labels.count(Targets::Classes { index: &block(400, 0), n_classes: 2 }, false, 0.0).unwrap();
        assert_eq!(like(&labels, 0, 9), (true, true));
        // Of the label that a block has more of, 50 rows came before 50 and 150.
        labels.count(Targets::Classes { index: &block(0, 50), n_classes: 2 }, false, 1.0).unwrap();
        for (ones, part) in [(50, 0.5), (150, 0.25)] {
            let index = block(0, ones);
            let targets = Targets::Classes { index: &index, n_classes: 2 };
            assert_eq!(labels.shared([targets]).unwrap().known, part);
        }
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
