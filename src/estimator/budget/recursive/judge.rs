//! Whether a basis that the passes propose is worth a move.
//!
//! A move loses what its projection loses of the rows so far, and most of what a block asks for is its
//! noise: on Adult every block would have nine terms in ten anew, for 1 % of its loss. The objective
//! of summary and block is known on both bases, to the same constant (the summary moves with its
//! points), so a move is made where it lowers this objective by more than `WORTH` of what penalty and
//! block are worth: more where the block's labels are not those of the rows so far. What the block
//! comes to on the basis that there is, is known before ([`super::surprise`]).

use super::familiar::{Familiar, VARIED};
use super::known::{Known, Points, solution};
use super::seen::side_by_side;
use super::surprise::{Held, output_of};
use crate::data::Rows;
use crate::float::Real;
use crate::solver::recursive::{Block, Summary};
use crate::watch::{Step, Watch};

/// The share of penalty and block that a move must gain (chosen on held-out parts of training sets,
/// docs/records/defaults.md).
const WORTH: f64 = 0.005;
/// The share that a move must gain where no label of the block was seen before (chosen alike).
const STRANGE: f64 = 0.25;
/// The same where the groups of the rows before are asked what these lose (chosen alike): where a label
/// begins, and where the labels that the block has more of came before. In between it is in between.
/// Points that have been where such rows are need not move, and what else a move gains, groups lose of
/// the other rows without seeing it; where a label begins no point is near its rows.
const ASKED: (f64, f64) = (0.1, 1.0);
/// Less than this part of that share is no gain, whatever the new basis comes to: it is known at a
/// glance, and a share of what the block is worth on the other basis, which differs by less.
const HOPELESS: f64 = 0.5;

/// What the judges found.
pub(super) struct Judged {
    /// How much less the objective is on the new basis.
    pub(super) gain: f64,
    /// What penalty and block are worth.
    pub(super) worth: f64,
    pub(super) worth_it: bool,
    /// The solutions on it.
    pub(super) moved: Points,
}

/// Solves for some outputs on the new basis too, for a block whose labels are so like those of the
/// rows so far.
pub(super) fn judge<F: Real>(
    familiar: Familiar,
    (known, held): (&Known, &Held),
    (new, there): (&Block<'_, F>, &Known),
    watch: &mut Watch<'_>,
) -> Step<Judged> {
    let outputs = known.outputs();
    let count = held.judges().len();
    let strange = (1.0 - familiar.share - VARIED).max(0.0) / (1.0 - VARIED);
    let strangest =
        if known.is_asked() { ASKED.0 + (ASKED.1 - ASKED.0) * familiar.known } else { STRANGE };
    let asked = WORTH + strangest * strange;
    let found = side_by_side(watch, count, &|judge, between| {
        let (output, before) = (output_of(judge, outputs), held.judges()[judge].1);
        // Of several outputs one may gain what others lose.
        let ceiling =
            if count > 1 { f64::INFINITY } else { before.0 - HOPELESS * asked * before.1 };
        match new.solve_after((there.of(output), ceiling), output, None, between)? {
            Some(point) => {
                let after = new.value_after(there.of(output), output, &point)?;
                Ok((before.0 - after.0, after.1, Some(point)))
            }
            None => Ok((0.0, before.1, None)),
        }
    })?;
    let (mut gain, mut worth) = (0.0, 0.0);
    let mut moved = vec![None; outputs];
    for (judge, (less, share, point)) in found.into_iter().enumerate() {
        gain += less;
        worth += share;
        moved[output_of(judge, outputs)] = point;
    }
    Ok(Judged { gain, worth, worth_it: gain > asked * worth, moved })
}

/// Solutions of all outputs, and what is known with the block: where a solution is known already it
/// is taken.
pub(super) fn solved<F: Real>(
    (block, rows): (&Block<'_, F>, &Rows<'_, F>),
    known: Known,
    points: Points,
    watch: &mut Watch<'_>,
) -> Step<(Vec<Vec<f64>>, Known)> {
    let points = side_by_side(watch, points.len(), &|output, between| match &points[output] {
        Some(point) => Ok(point.clone()),
        None => solution(block, &known, output, None, between),
    })?;
    let known = known.and((block, rows), &points, watch)?;
    Ok((points, known))
}

/// Summaries of a block alone, of which these points are the minimum.
pub(super) fn settled<F: Real>(
    (block, rows): (&Block<'_, F>, &Rows<'_, F>),
    points: &[Vec<f64>],
    watch: &mut Watch<'_>,
) -> Step<Vec<Summary>> {
    let nothing = |point: &Vec<f64>| Summary::new(point.len());
    let summaries = points.iter().map(nothing).collect::<crate::error::Result<Vec<_>>>()?;
    let Known { mut summaries, .. } =
        Known::new(summaries, None).and((block, rows), points, watch)?;
    for (summary, point) in summaries.iter_mut().zip(points) {
        summary.settle(block.penalty, point);
    }
    Ok(summaries)
}
