//! What a part of a stream knows of the rows before a block.
//!
//! A summary is enough as long as rows of the same labels come. For a block of other ones
//! ([`super::familiar`]) the groups that the rows before lie in are asked instead, since the solution
//! may go far from where those were learnt; the summaries are then made anew, about the new solution.

use super::seen::{features, side_by_side};
use crate::data::{Rows, Targets};
use crate::error::Result;
use crate::estimator::basis::ModelRows;
use crate::float::Real;
use crate::model::KernelModel;
use crate::solver::recursive::{Block, Change, Lost, Moments, Past, Summary};
use crate::watch::{Step, Watch};

/// What the solution so far lacks of being the minimum of penalty and groups is kept by this power of
/// the share of labels that a block has in common with the rows before (chosen on held-out parts of
/// training sets, docs/records/defaults.md): where a class begins in the middle of a block the solution is one
/// of rows of one label, which says nothing of it.
const ALIKE: i32 = 4;

/// What is known of an output on one basis, or nothing yet.
pub(super) type Points = Vec<Option<Vec<f64>>>;

/// On one basis.
pub(super) struct Known {
    /// One an output.
    pub(super) summaries: Vec<Summary>,
    /// Of a stream of classes from its first row on.
    pub(super) moments: Option<Moments>,
    /// One an output where the groups are asked.
    pulls: Vec<Vec<f64>>,
}

impl Known {
    pub(super) fn new(summaries: Vec<Summary>, moments: Option<Moments>) -> Self {
        Self { summaries, moments, pulls: Vec::new() }
    }

    /// The groups of a first block of classes that lacks one, as where rows are sorted by label: other
    /// streams keep none, in memory and in files.
    pub(super) fn first<F: Real>(
        (block, rows): (&Block<'_, F>, &Rows<'_, F>),
        unknowns: usize,
        watch: &mut Watch<'_>,
    ) -> Step<Option<Moments>> {
        let Targets::Classes { index, n_classes } = block.targets else { return Ok(None) };
        if (0..n_classes as u32).all(|class| index.contains(&class)) {
            return Ok(None);
        }
        let mut moments = Moments::new(unknowns, n_classes)?;
        moments.absorb(block, rows, &mut || watch.glance())?;
        Ok(Some(moments))
    }

    /// With the groups to be asked for a block of other labels, if there are any: `points` are the
    /// solutions so far, since which the rows have come to count `factor` times what they did; `share`
    /// of the block's labels are theirs.
    pub(super) fn asked<F: Real>(
        mut self,
        block: &Block<'_, F>,
        points: &[Vec<f64>],
        (factor, share): (f64, f64),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        if let Some(moments) = &self.moments {
            self.pulls = side_by_side(watch, points.len(), &|output, between| {
                let kept = (factor, share.powi(ALIKE));
                moments.pull(block, (output, &points[output]), kept, between)
            })?;
        }
        Ok(self)
    }

    /// Whether the groups are asked.
    pub(super) fn is_asked(&self) -> bool {
        !self.pulls.is_empty()
    }

    /// For one output.
    pub(super) fn of(&self, output: usize) -> Past<'_> {
        let pull = self.pulls.get(output).map(Vec::as_slice);
        Past { summary: &self.summaries[output], moments: self.moments.as_ref().zip(pull) }
    }

    /// Number of outputs.
    pub(super) fn outputs(&self) -> usize {
        self.summaries.len()
    }

    /// The same on the basis of `new`, of that of `old`, where new directions have this share of the
    /// price.
    pub(super) fn moved<F: Real>(
        &self,
        (change, priced): (&Change, f64),
        (old, new): (&KernelModel<F>, &KernelModel<F>),
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let summaries = side_by_side(watch, self.outputs(), &|output, _| {
            Ok(self.summaries[output].moved(change, priced)?)
        })?;
        let moments = match &self.moments {
            Some(moments) => {
                let (held, there) = (middles(moments, old, watch)?, middles(moments, new, watch)?);
                Some(moments.moved(change, (&held, &there))?)
            }
            None => None,
        };
        let moved = |pull: &Vec<f64>| change.of(pull);
        let pulls = self.pulls.iter().map(moved).collect::<Result<_>>()?;
        Ok(Self { summaries, moments, pulls })
    }

    /// With the block, of which these points are the solutions.
    pub(super) fn and<F: Real>(
        self,
        (block, rows): (&Block<'_, F>, &Rows<'_, F>),
        points: &[Vec<f64>],
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let Self { mut summaries, mut moments, pulls } = self;
        if let Some(moments) = &mut moments {
            moments.absorb(block, rows, &mut || watch.glance())?;
        }
        match moments.take_if(|_| !pulls.is_empty()) {
            Some(known) => {
                let found = side_by_side(watch, points.len(), &|output, between| {
                    known.about(block, (output, &points[output], &pulls[output]), between)
                })?;
                let beyond: Vec<Vec<f64>>;
                let lost: Vec<Lost> = summaries.iter().map(Summary::lost).collect();
                (summaries, beyond) = found.into_iter().unzip();
                for (output, (summary, lost)) in summaries.iter_mut().zip(lost).enumerate() {
                    let lost = lost.and(block.lost_at(output, &points[output])?);
                    *summary = summary.clone().with_lost(lost)?;
                }
                moments = Some(known.with_beyond(beyond.concat()));
            }
            None => {
                let common = block.common(points.len(), &mut || watch.glance())?;
                summaries = side_by_side(watch, points.len(), &|output, between| {
                    let mut summary = summaries[output].clone();
                    let common = common.as_deref();
                    block.absorb(&mut summary, output, &points[output], common, between)?;
                    Ok(summary)
                })?;
            }
        }
        Ok(Self::new(summaries, moments))
    }
}

/// The solution of an output.
pub(super) fn solution<F: Real>(
    block: &Block<'_, F>,
    known: &Known,
    output: usize,
    start: Option<Vec<f64>>,
    between: &mut dyn FnMut() -> Step,
) -> Step<Vec<f64>> {
    let found = block.solve_after((known.of(output), f64::INFINITY), output, start, between)?;
    Ok(found.unwrap_or_default())
}

/// Kernel values of the mean rows of groups with the terms; none where these are not kept.
fn middles<F: Real>(
    moments: &Moments,
    model: &KernelModel<F>,
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    if moments.middles().is_empty() {
        return Ok(Vec::new());
    }
    let rows: Vec<F> = moments.middles().iter().map(|&v| F::from_f64(v)).collect();
    let rows = Rows::of_slice(&rows, model.n_features())?;
    let values = features(&ModelRows::new(rows.view(), model)?, rows.n_rows(), watch)?;
    Ok(values.into_iter().map(Real::to_f64).collect())
}
