//! Some samples, owned: rows that wait for others.

use crate::data::{Gathered, Problem, SomeTargets};
use crate::error::Result;
use crate::float::Real;
use crate::model::persist::{Section, Tensor};

/// Some samples, owned.
#[derive(Clone, Debug)]
pub struct Piece<F: Real> {
    pub(super) rows: Gathered<F>,
    pub(super) targets: SomeTargets,
    pub(super) cost: Vec<f64>,
}

impl<F: Real> Piece<F> {
    /// These samples of a problem.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn new(problem: &Problem<'_, F>, chosen: &[usize]) -> Result<Self> {
        Ok(Self {
            rows: Gathered::new(&problem.rows(), chosen)?,
            targets: SomeTargets::new(problem.targets(), chosen.iter().copied())?,
            cost: chosen.iter().map(|&i| problem.cost()[i]).collect(),
        })
    }

    /// Samples after samples, all of one kind.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn joined<'p>(pieces: impl Iterator<Item = &'p Self> + Clone) -> Result<Self>
    where
        F: 'p,
    {
        let all: Result<Vec<_>> = pieces.clone().map(|piece| piece.rows.rows()).collect();
        Ok(Self {
            rows: Gathered::joined(&all?)?,
            targets: SomeTargets::joined(pieces.clone().map(|piece| &piece.targets))?,
            cost: pieces.flat_map(|piece| piece.cost.iter().copied()).collect(),
        })
    }

    /// The samples as a problem.
    pub(super) fn problem(&self) -> Result<Problem<'_, F>> {
        Problem::new(self.rows.rows()?, self.targets.view(), &self.cost)
    }

    /// The samples from `first` to before `last`.
    pub(super) fn range(&self, first: usize, last: usize) -> Result<Self> {
        let chosen: Vec<usize> = (first..last).collect();
        Ok(Self {
            rows: Gathered::new(&self.rows.rows()?, &chosen)?,
            targets: SomeTargets::new(self.targets.view(), first..last)?,
            cost: self.cost[first..last].to_vec(),
        })
    }

    /// What a file holds of them.
    pub(super) fn put(&self, section: &mut Section) {
        if let SomeTargets::Columns { .. } = &self.targets {
            section.put("columns", true);
        }
        section.put_rows("waiting", &self.rows);
        section.put_array("cost", Tensor::doubles(self.cost.clone()));
        section.put_array(
            "targets",
            match &self.targets {
                SomeTargets::Values(values) | SomeTargets::Columns { values, .. } => {
                    Tensor::doubles(values.clone())
                }
                SomeTargets::Classes { index, .. } => {
                    Tensor::counts(index.iter().map(|&class| u64::from(class)).collect())
                }
            },
        );
    }

    /// The samples of a file, of which there are some, with so many outputs: of classes, or of values
    /// with these quantiles. None where they are no samples.
    ///
    /// # Errors
    /// `Format`.
    pub(super) fn take(
        section: &mut Section,
        outputs: usize,
        (classes, levels): (bool, &[f64]),
    ) -> Result<Option<Self>> {
        let (rows, cost) = (section.take_rows("waiting")?, section.take_doubles("cost")?);
        let columns = section.has("columns") && section.take::<bool>("columns")?;
        let targets = if columns {
            let (values, levels) = (section.take_doubles("targets")?, levels.to_vec());
            SomeTargets::Columns { values, n_outputs: outputs, levels }
        } else if classes {
            let index = section.take_sizes("targets")?;
            let n_classes = outputs.max(2);
            if outputs == 2 || index.iter().any(|&class| class >= n_classes) {
                return Ok(None);
            }
            let index = index.iter().map(|&class| class as u32).collect();
            SomeTargets::Classes { index, n_classes }
        } else {
            SomeTargets::Values(section.take_doubles("targets")?)
        };
        let piece = Self { rows, targets, cost };
        let fits = piece.problem().is_ok_and(|problem| problem.targets().n_outputs() == outputs);
        Ok(Some(piece).filter(|piece| fits && !piece.cost.contains(&0.0)))
    }
}
