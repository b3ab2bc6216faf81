//! How a block comes out on the basis that there is, and whether it is of another kind than the rows
//! before.
//!
//! Of shuffled rows each block brings less that is new: what it loses before it is learnt falls little
//! when it is. Where it falls by more than half ([`Held::fallen`]), rows are of another kind. Steps
//! then go on from less than what they have come to ([`Held::kept`]): terms that came first have grown
//! with every row near them, and one that is new is merged away before it has grown, where in a
//! shuffled pass over all rows both grow together. Terms are traded for rows then, too
//! (`trade`).
//!
//! Where the basis cannot tell the rows at all, nothing falls either. So the part of what they lose
//! that stays is compared with that of the rows before ([`Held::beyond`]): what a basis that told those
//! cannot tell, is where they were not, and new directions there have that much less of a price
//! ([`Summary::moved`](crate::solver::recursive::Summary::moved)).

use super::known::{Known, Points, solution};
use super::seen::side_by_side;
use crate::float::Real;
use crate::solver::recursive::{Block, Lost};
use crate::watch::{Step, Watch};

/// A block surprises where the objective falls by more than this part of what the block lost before it
/// was learnt (where rows are shuffled by a third for the second of two equal blocks of IJCNN1, then by
/// .2, .17, .13, .10, .09, and by less on other sets), or where the basis cannot tell it.
const SURPRISE: f64 = 0.4;
/// What a basis cannot tell of a block beyond what it could not tell of the rows before, if it is less,
/// is noise, or points that follow (.04 at most on shuffled sets, .12 where a part is new).
const TOLD: f64 = 0.3;
/// The least part of what steps have come to that they go on from, however much a block surprises
/// (chosen on held-out parts of training sets, docs/records/defaults.md).
const KEPT: f64 = 0.4;
/// All of it is, where the objective falls by half or less.
const FALLS: f64 = 2.0;
/// Outputs that are asked at most.
const JUDGES: usize = 4;

/// What some outputs come to with a block on the basis that there is.
pub(super) struct Held {
    /// Of each judge: the solution, what the objective is there, and the share of penalty and block.
    found: Vec<(Vec<f64>, (f64, f64))>,
    /// How much of what the block loses this basis cannot tell, where it could of the rows before.
    pub(super) beyond: f64,
    /// The part of what the block loses before it is learnt that the objective falls by.
    fallen: f64,
}

impl Held {
    /// Whether the block surprises.
    pub(super) fn surprises(&self) -> bool {
        self.beyond.max(self.fallen) > SURPRISE
    }

    /// How much of what steps have come to they go on from.
    pub(super) fn kept(&self) -> f64 {
        (FALLS * (1.0 - self.fallen)).min(1.0 - self.beyond).clamp(KEPT, 1.0)
    }

    /// Of each judge the solution, the objective there, and the share of penalty and block.
    pub(super) fn judges(&self) -> &[(Vec<f64>, (f64, f64))] {
        &self.found
    }

    /// The solutions.
    pub(super) fn points(self, outputs: usize) -> Points {
        let mut points = vec![None; outputs];
        for (judge, (point, _)) in self.found.into_iter().enumerate() {
            points[output_of(judge, outputs)] = Some(point);
        }
        points
    }
}

/// The output of a judge.
pub(super) fn output_of(judge: usize, outputs: usize) -> usize {
    judge * outputs / outputs.min(JUDGES)
}

/// Solves for some outputs on the basis that there is, of which `starts` were the solutions.
pub(super) fn hold<F: Real>(
    (block, known): (&Block<'_, F>, &Known),
    starts: &[Vec<f64>],
    watch: &mut Watch<'_>,
) -> Step<Held> {
    let outputs = known.outputs();
    let each = side_by_side(watch, outputs.min(JUDGES), &|judge, between| {
        let output = output_of(judge, outputs);
        let (past, start) = (known.of(output), &starts[output]);
        let (at_start, _) = block.value_after(past, output, start)?;
        let point = solution(block, known, output, None, between)?;
        let after = block.value_after(past, output, &point)?;
        let fall = (at_start - after.0, block.lost_at(output, start)?.learnt);
        let lost = (block.lost_at(output, &point)?, past.summary.lost());
        Ok(((point, after), fall, lost))
    })?;
    let (mut found, mut gain, mut lost) = (Vec::new(), 0.0, 0.0);
    let (mut now, mut then) = (Lost::default(), Lost::default());
    for (of_judge, (less, lost_before), (of_block, of_past)) in each {
        found.push(of_judge);
        (gain, lost) = (gain + less, lost + lost_before);
        (now, then) = (now.and(of_block), then.and(of_past));
    }
    let beyond = now.beyond(then);
    Ok(Held {
        found,
        beyond: if beyond > TOLD { beyond } else { 0.0 },
        fallen: if lost > 0.0 { gain / lost } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_keep_all_of_shuffled_rows_and_less_of_others() {
        let held = |fallen, beyond| Held { found: Vec::new(), beyond, fallen };
        assert_eq!(held(0.5, 0.0).kept(), 1.0);
        assert!(!held(0.35, 0.0).surprises());
        assert_eq!(held(0.75, 0.0).kept(), 0.5);
        assert_eq!(held(0.0, 0.5).kept(), 0.5);
        assert_eq!((held(0.95, 0.0).kept(), held(0.0, 1.0).kept()), (KEPT, KEPT));
        assert!(held(0.5, 0.0).surprises() && held(0.0, 1.0).surprises());
        // Rounding at a solution that stays.
        assert_eq!(held(-1e-16, 0.0).kept(), 1.0);
    }

    #[test]
    fn judges_are_spread_over_the_outputs() {
        let outputs = |n: usize| (0..n.min(JUDGES)).map(|j| output_of(j, n)).collect::<Vec<_>>();
        assert_eq!(outputs(1), [0]);
        assert_eq!(outputs(3), [0, 1, 2]);
        assert_eq!(outputs(26), [0, 6, 13, 19]);
    }
}
