//! Whether a basis that the passes propose is worth a move.
//!
//! A move loses what its projection loses of the rows so far, and most of what a block asks for is its
//! noise: on Adult every block would have nine terms in ten anew, for 1 % of its loss. The objective
//! of summary and block is known on both bases, to the same constant (the summary moves with its
//! points), so a move is made where it lowers this objective by more than `WORTH` of what penalty and
//! block are worth: more where the block's labels are not those of the rows so far.

use super::seen::side_by_side;
use crate::float::Real;
use crate::solver::recursive::{Block, Summary};
use crate::watch::{Step, Watch};

/// The share of penalty and block that a move must gain (chosen on held-out parts of training sets,
/// docs/defaults.md).
const WORTH: f64 = 0.005;
/// The share that a move must gain where no label of the block was seen before (chosen alike).
const STRANGE: f64 = 0.25;
/// Shares of classes vary by this much from block to block where rows are shuffled.
const VARIED: f64 = 0.1;
/// Less than this part of that share is no gain, whatever the new basis comes to: it is known at a
/// glance, and a share of what the block is worth on the other basis, which differs by less.
const HOPELESS: f64 = 0.5;
/// Outputs that are asked at most.
const JUDGES: usize = 4;

/// What is known of an output on one basis, or nothing yet.
pub(super) type Points = Vec<Option<Vec<f64>>>;

/// What the judges found: their solutions on both bases, and which one is to be.
pub(super) struct Judged {
    pub(super) worth_it: bool,
    pub(super) held: Points,
    pub(super) moved: Points,
}

/// Solves for some outputs on the old basis and on the new one, for a block of which so large a share
/// has the labels of the rows so far.
pub(super) fn judge<F: Real>(
    familiar: f64,
    (old, known): (&Block<'_, F>, &[Summary]),
    (new, moved): (&Block<'_, F>, &[Summary]),
    watch: &mut Watch<'_>,
) -> Step<Judged> {
    let outputs = known.len();
    let count = outputs.min(JUDGES);
    let output = |judge: usize| judge * outputs / count;
    let strange = (1.0 - familiar - VARIED).max(0.0) / (1.0 - VARIED);
    let asked = WORTH + STRANGE * strange;
    let found = side_by_side(watch, count, &|judge, between| {
        let output = output(judge);
        let held = old.solve(&known[output], output, None, between)?;
        let before = old.value(&known[output], output, &held)?;
        // Of several outputs one may gain what others lose.
        let ceiling =
            if count > 1 { f64::INFINITY } else { before.0 - HOPELESS * asked * before.1 };
        match new.solve_below((&moved[output], ceiling), output, None, between)? {
            Some(there) => {
                let after = new.value(&moved[output], output, &there)?;
                Ok((before.0 - after.0, after.1, held, Some(there)))
            }
            None => Ok((0.0, before.1, held, None)),
        }
    })?;
    let (mut gain, mut worth) = (0.0, 0.0);
    let mut judged =
        Judged { worth_it: false, held: vec![None; outputs], moved: vec![None; outputs] };
    for (judge, (less, share, held, there)) in found.into_iter().enumerate() {
        gain += less;
        worth += share;
        judged.held[output(judge)] = Some(held);
        judged.moved[output(judge)] = there;
    }
    judged.worth_it = gain > asked * worth;
    Ok(judged)
}

/// Solutions of all outputs, and their summaries with the block: where a solution is known already
/// it is taken.
pub(super) fn solved<F: Real>(
    block: &Block<'_, F>,
    summaries: Vec<Summary>,
    known: Points,
    watch: &mut Watch<'_>,
) -> Step<(Vec<Vec<f64>>, Vec<Summary>)> {
    let points = side_by_side(watch, known.len(), &|output, between| match &known[output] {
        Some(point) => Ok(point.clone()),
        None => block.solve(&summaries[output], output, None, between),
    })?;
    let common = block.common(known.len(), &mut || watch.glance())?;
    let summaries = side_by_side(watch, known.len(), &|output, between| {
        let mut summary = summaries[output].clone();
        block.absorb(&mut summary, output, &points[output], common.as_deref(), between)?;
        Ok(summary)
    })?;
    Ok((points, summaries))
}

/// Summaries of a block alone, of which these points are the minimum.
pub(super) fn settled<F: Real>(
    block: &Block<'_, F>,
    points: &[Vec<f64>],
    watch: &mut Watch<'_>,
) -> Step<Vec<Summary>> {
    let nothing = |point: &Vec<f64>| Summary::new(point.len());
    let summaries = points.iter().map(nothing).collect::<crate::error::Result<Vec<_>>>()?;
    let known = points.iter().cloned().map(Some).collect();
    let (_, mut summaries) = solved(block, summaries, known, watch)?;
    for (summary, point) in summaries.iter_mut().zip(points) {
        summary.settle(block.penalty, point);
    }
    Ok(summaries)
}
