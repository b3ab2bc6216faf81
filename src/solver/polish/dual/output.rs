//! One output of coordinate ascent: its coordinates, and when it is done.

use crate::loss::{Conjugate, Smoothed};
use crate::solver::polish::apart::Apart;
use crate::solver::polish::row::Row;

/// A coordinate is left out when it would rest even if its margin moved by this share of the farthest
/// that any moved by in a pass.
const REACH: f32 = 0.2;
/// Marks a coordinate that came to rest, or came back.
const MARK: u32 = 1 << 31;

/// A sample of an output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coordinate {
    /// Row of the features.
    pub(super) row: u32,
    pub(super) y: f32,
    /// `a`, in units of the sample's cost.
    pub(super) a: f32,
    /// The sample's cost.
    pub(super) cost: f32,
}

impl Coordinate {
    fn mark(&mut self) {
        self.row |= MARK;
    }

    fn is_marked(&self) -> bool {
        self.row & MARK != 0
    }

    fn unmarked(self) -> Self {
        Self { row: self.row & !MARK, ..self }
    }
}

/// Coordinates of an output at rest.
pub(super) struct AtRest<'o> {
    all: &'o mut [Coordinate],
    pub(super) w: &'o [f32],
    /// How far decision values may move before they count as resting.
    reach: f64,
}

impl<'o> AtRest<'o> {
    /// Where they are sorted, those before this row; the others are left.
    pub(super) fn before(&mut self, row: u32) -> Self {
        let all = std::mem::take(&mut self.all);
        let (first, left) = all.split_at_mut(all.partition_point(|one| one.row < row));
        self.all = left;
        Self { all: first, ..*self }
    }

    /// The row of the first of them.
    pub(super) fn row(&self) -> Option<u32> {
        self.all.first().map(|one| one.row)
    }

    /// Takes the first of them off, and marks it if at the decision value f it might move.
    pub(super) fn meet(&mut self, f: f32, loss: Smoothed) {
        let Some(one) = self.all.split_off_first_mut() else { return };
        let (y, f) = (f64::from(one.y), f64::from(f));
        let rests = match loss.rounded(y) {
            Some(rounded) => rounded.rests(one.a, f, self.reach),
            None => (loss, y).rests(one.a, f, self.reach),
        };
        if !rests {
            one.mark();
        }
    }
}

/// When those at rest are looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Until {
    /// After so many passes, or where the others seem to be done ...
    pub(super) patience: usize,
    /// ... unless they were in the last so many.
    pub(super) recent: usize,
}

/// One output. It knows nothing of the others: who is met beside it changes no bit.
// (No two in one line of memory, nor in a pair that comes together: different threads write to them.)
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Ascent {
    /// Its number among all.
    pub(super) index: usize,
    /// As long as a row of the features.
    w: Apart,
    /// Coordinates that move, and those that came to rest.
    moving: Vec<Coordinate>,
    rest: Vec<Coordinate>,
    /// The dual objective: what steps gained is added up.
    dual: f64,
    /// Primal less dual of the coordinates, each as it was met.
    gap: f64,
    /// Passes since all of them were met.
    since: usize,
    rest_until: Until,
    /// The farthest that a step moved a decision value.
    moved: f32,
    /// How far decision values may move before a coordinate at rest counts as resting.
    reach: f32,
    done: bool,
    /// Whether all of them were met once.
    looked: bool,
    /// Passes made.
    passes: usize,
}

impl Ascent {
    /// At w, with this dual objective.
    pub(super) fn new(
        (index, dual): (usize, f64),
        w: &[f32],
        [moving, rest]: [Vec<Coordinate>; 2],
        rest_until: Until,
    ) -> Self {
        let since = usize::from(!rest.is_empty());
        Self {
            index,
            w: w.into(),
            moving,
            rest,
            dual,
            gap: 0.0,
            since,
            rest_until,
            moved: 0.0,
            reach: f32::INFINITY,
            done: false,
            looked: since == 0,
            passes: 0,
        }
    }

    pub(super) fn weights(&self) -> &[f32] {
        &self.w
    }

    /// Those that a pass meets.
    pub(super) fn moving(&self) -> &[Coordinate] {
        &self.moving
    }

    /// All of them.
    pub(super) fn coordinates(&self) -> impl Iterator<Item = &Coordinate> {
        self.moving.iter().chain(&self.rest)
    }

    /// Passes made.
    pub(super) fn passes(&self) -> usize {
        self.passes
    }

    pub(super) fn is_done(&self) -> bool {
        self.done
    }

    /// After a pass: whether those at rest are to be looked at before the next one.
    pub(super) fn asks(&self) -> bool {
        self.since == 0 && !self.done
    }

    /// A pass begins.
    pub(super) fn begin(&mut self) {
        self.reach = if self.moved > 0.0 { REACH * self.moved } else { f32::INFINITY };
        (self.gap, self.moved) = (0.0, 0.0);
    }

    /// Moves one coordinate, of this row and its squared length, at the decision value f.
    #[inline]
    pub(super) fn visit(&mut self, at: usize, row: (Row<'_>, f32), f: f32, loss: Smoothed) {
        let y = f64::from(self.moving[at].y);
        match loss.rounded(y) {
            Some(rounded) => self.step(at, row, f, rounded),
            None => self.step(at, row, f, (loss, y)),
        }
    }

    #[inline(always)]
    fn step(&mut self, at: usize, (row, norm): (Row<'_>, f32), f: f32, loss: impl Conjugate) {
        let one = &mut self.moving[at];
        let (held, cost, f) = (f64::from(one.a), f64::from(one.cost), f64::from(f));
        let norm = f64::from(norm);
        let a = loss.dual_step(held, f, norm * cost) as f32;
        if a == one.a {
            // At rest as far as the others reach?
            if loss.rests(one.a, f, f64::from(self.reach)) {
                one.mark();
            }
            return;
        }
        let change = f64::from(a) - held;
        row.add_to((cost * change) as f32, &mut self.w);
        one.a = a;
        let [gain, gap] = loss.gains((held, f64::from(a)), f, norm * cost);
        (self.dual, self.gap) = (self.dual + cost * gain, self.gap + cost * gap);
        self.moved = self.moved.max((change.abs() * norm * cost) as f32);
    }

    /// A pass ends. The output is done when it says so and all of its coordinates were asked for, for
    /// it or not long before: those at rest are looked at when it seems to be done, and now and then
    /// where patience ends, and come back if they might move.
    pub(super) fn end(&mut self, share: f64) {
        self.rest
            .extend(self.moving.extract_if(.., |one| one.is_marked()).map(Coordinate::unmarked));
        let small = self.gap <= share * self.dual;
        self.done |= small && self.looked && self.since <= self.rest_until.recent;
        let asks = !self.done && (small || self.since >= self.rest_until.patience);
        self.since = if asks { 0 } else { self.since + 1 };
        self.looked |= asks;
        self.passes += 1;
    }

    /// Sorts those at rest by row: they are in order by runs.
    pub(super) fn sort_rest(&mut self) {
        self.rest.sort_by_key(|one| one.row);
    }

    /// Those at rest, with w.
    pub(super) fn at_rest(&mut self) -> AtRest<'_> {
        AtRest { all: &mut self.rest, w: &self.w, reach: f64::from(REACH * self.moved) }
    }

    /// Takes those back that [`AtRest::meet`] marked.
    pub(super) fn take_back(&mut self) {
        self.moving
            .extend(self.rest.extract_if(.., |one| one.is_marked()).map(Coordinate::unmarked));
    }
}
