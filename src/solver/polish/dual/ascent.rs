//! Coordinate ascent: passes over pairs of a sample and an output, sorted by the sample, so that its
//! features are read once for all outputs.

use super::features::Features;
use super::order::Order;
use crate::loss::Smoothed;
use crate::simd::prefetch;
use crate::solver::polish::row::Row;

/// A coordinate is left out when it would rest even if its margin moved by this share of the farthest
/// that any moved by in a pass ...
const REACH: f32 = 0.2;
/// ... and comes back after so many passes.
const PATIENCE: usize = 12;
/// Marks a pair that came to rest, or came back.
const MARK: u32 = 1 << 31;
/// Pairs of a row from which on its values are made `f32` once for all of them.
const SEVERAL: usize = 3;
/// Rows of those at rest that are looked at for all outputs: no more than stay near.
const TOGETHER: usize = 64;

/// A coordinate: a sample of one output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    /// Row of the features.
    pub(super) row: u32,
    /// Place of the output in its group.
    pub(super) output: u32,
    pub(super) y: f32,
    /// `a`, in units of the sample's cost.
    pub(super) a: f32,
    /// The sample's cost.
    pub(super) cost: f32,
}

impl Pair {
    fn unmarked(self) -> Self {
        Self { output: self.output & !MARK, ..self }
    }

    /// Whether it stays as it is while its margin is within `reach` of this one.
    fn rests(&self, loss: Smoothed, f: f64, reach: f32) -> bool {
        let (y, reach) = (f64::from(self.y), f64::from(reach));
        let slope = |f: f64| loss.at(y, f).slope as f32;
        slope(f - reach) == -self.a && slope(f + reach) == -self.a
    }
}

/// One output of a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Its number among all.
    pub(super) index: usize,
    /// The dual objective: what steps gained is added up.
    dual: f64,
    /// Primal less dual of the pairs, each as it was met.
    gap: f64,
    /// Passes since all of its pairs were met.
    since: usize,
    /// The farthest that a step moved a decision value.
    moved: f32,
    /// How far decision values may move before a pair at rest counts as resting.
    reach: f32,
    done: bool,
}

impl Own {
    /// With this dual objective.
    pub(super) fn new(index: usize, dual: f64) -> Self {
        let reach = f32::INFINITY;
        Self { index, dual, gap: 0.0, since: 0, moved: 0.0, reach, done: false }
    }

    /// Begins with those of its pairs that are not known to rest.
    pub(super) fn near(self) -> Self {
        Self { since: 1, ..self }
    }
}

/// Outputs that one thread works on. They know nothing of each other: who is in which group changes
/// no bit.
pub(super) struct Group {
    pub(super) outputs: Vec<Own>,
    /// w of every output, rows as long as those of the features.
    w: Vec<f32>,
    /// Those that move, by row.
    pairs: Vec<Pair>,
    /// Those that came to rest, of every output.
    rest: Vec<Vec<Pair>>,
    /// The first pair of every row.
    begins: Vec<u32>,
    /// Passes until all pairs of an output come back whatever its gap.
    patience: usize,
}

impl Group {
    /// Pairs in any order.
    pub(super) fn new(outputs: Vec<Own>, w: Vec<f32>, pairs: Vec<Pair>) -> Self {
        let (rest, begins) = (vec![Vec::new(); outputs.len()], Vec::new());
        Self { outputs, w, pairs, rest, begins, patience: PATIENCE }
    }

    /// With pairs that rest until the others are done.
    pub(super) fn with_resting(mut self, rest: Vec<Pair>) -> Self {
        rest.into_iter().for_each(|pair| self.rest[pair.output as usize].push(pair));
        Self { patience: usize::MAX, ..self }
    }

    pub(super) fn done(&self) -> bool {
        self.outputs.iter().all(|own| own.done)
    }

    /// w of every output, rows as long as those of the features.
    pub(super) fn weights(&self) -> &[f32] {
        &self.w
    }

    /// All pairs.
    pub(super) fn pairs(&self) -> impl Iterator<Item = &Pair> {
        self.pairs.iter().chain(self.rest.iter().flatten())
    }

    /// One pass; an output whose gap is at most this share of its dual objective is done.
    pub(super) fn pass(&mut self, features: &Features, loss: Smoothed, pass: usize, share: f64) {
        for own in &mut self.outputs {
            own.reach = if own.moved > 0.0 { REACH * own.moved } else { f32::INFINITY };
            (own.gap, own.moved) = (0.0, 0.0);
        }
        let n_rows = features.samples().len();
        self.by_row(n_rows);
        let mut order = Order::of_pass(n_rows, pass);
        // Rows come from far: two are on their way.
        let [mut next, mut after] = [(); 2].map(|()| order.next(&self.begins));
        let mut buffer = Vec::new();
        while let Some(row) = next {
            next = after;
            after = order.next(&self.begins);
            if let Some(ahead) = after {
                features.row(ahead).prefetch();
                prefetch(&self.pairs[self.begins[ahead] as usize]);
            }
            let (values, norm) = (features.row(row), features.norm(row as u32));
            let pairs = self.begins[row] as usize..self.begins[row + 1] as usize;
            let several = pairs.len() >= SEVERAL;
            let values = if several { values.lengthened(&mut buffer) } else { values };
            for at in pairs {
                self.visit(at, (values, norm), loss);
            }
        }
        let resting = self.pairs.extract_if(.., |pair| pair.output & MARK != 0);
        let resting = resting.map(Pair::unmarked);
        resting.for_each(|pair| self.rest[pair.output as usize].push(pair));
        self.judge(features, loss, share);
    }

    /// Sorts the pairs by row, and finds the first of every row.
    fn by_row(&mut self, n_rows: usize) {
        self.begins.clear();
        self.begins.resize(n_rows + 1, 0);
        for pair in &self.pairs {
            self.begins[pair.row as usize + 1] += 1;
        }
        for row in 0..n_rows {
            self.begins[row + 1] += self.begins[row];
        }
        if self.pairs.is_sorted_by_key(|pair| pair.row) {
            return;
        }
        let mut sorted = self.pairs.clone();
        let mut next = self.begins.clone();
        for pair in &self.pairs {
            let at = &mut next[pair.row as usize];
            sorted[*at as usize] = *pair;
            *at += 1;
        }
        self.pairs = sorted;
    }

    /// Moves one coordinate, of this row and its squared length.
    fn visit(&mut self, at: usize, (row, norm): (Row<'_>, f32), loss: Smoothed) {
        let (pair, stride) = (&mut self.pairs[at], row.len());
        let own = &mut self.outputs[pair.output as usize];
        let w = &mut self.w[pair.output as usize * stride..][..stride];
        let (y, held, cost) = (f64::from(pair.y), f64::from(pair.a), f64::from(pair.cost));
        let f = f64::from(row.dot(w));
        let norm = f64::from(norm);
        let a = loss.dual_step(y, held, f, norm * cost) as f32;
        if a == pair.a {
            // At rest as far as the others reach?
            if pair.rests(loss, f, own.reach) {
                pair.output |= MARK;
            }
            return;
        }
        let (before, change) = (loss.dual_value(y, held), f64::from(a) - held);
        own.gap += cost * (loss.at(y, f).value + held * f - before).max(0.0);
        let curved = change * (f + 0.5 * change * cost * norm);
        own.dual += cost * (loss.dual_value(y, f64::from(a)) - before - curved);
        own.moved = own.moved.max((change.abs() * norm * cost) as f32);
        row.add_to((cost * change) as f32, w);
        pair.a = a;
    }

    /// An output is done when a pass says so that all of its pairs were asked for: those at rest are
    /// looked at when it seems to be, and now and then where patience ends, and come back if they might
    /// move.
    fn judge(&mut self, features: &Features, loss: Smoothed, share: f64) {
        for own in &mut self.outputs {
            let small = own.gap <= share * own.dual;
            own.done |= own.since == 0 && small;
            own.since =
                if own.done || !(small || own.since >= self.patience) { own.since + 1 } else { 0 };
        }
        self.look_at_rest(features, loss);
        let outputs = &self.outputs;
        let done = self.pairs.extract_if(.., |pair| outputs[pair.output as usize].done);
        done.for_each(|pair| self.rest[pair.output as usize].push(pair));
    }

    /// Takes those back that might move, of the outputs that all of whose pairs are asked for.
    fn look_at_rest(&mut self, features: &Features, loss: Smoothed) {
        let stride = features.stride();
        let outputs = self.outputs.iter().zip(&mut self.rest).zip(self.w.chunks_exact(stride));
        let mut asked: Vec<_> = outputs.filter(|((own, _), _)| own.since == 0).collect();
        if asked.is_empty() {
            return;
        }
        // They are in order by runs.
        asked.iter_mut().for_each(|((_, rest), _)| rest.sort_by_key(|pair| pair.row));
        let mut next = vec![0; asked.len()];
        let n_rows = features.samples().len();
        // Some rows for all outputs, then the next ones.
        for first in (0..n_rows).step_by(TOGETHER) {
            let last = (first + TOGETHER).min(n_rows);
            for (((own, rest), w), next) in asked.iter_mut().zip(&mut next) {
                while let Some(pair) = rest.get_mut(*next).filter(|p| (p.row as usize) < last) {
                    let f = f64::from(features.row(pair.row as usize).dot(w));
                    if !pair.rests(loss, f, REACH * own.moved) {
                        pair.output |= MARK;
                    }
                    *next += 1;
                }
            }
        }
        for ((_, rest), _) in asked {
            let back = rest.extract_if(.., |pair| pair.output & MARK != 0);
            self.pairs.extend(back.map(Pair::unmarked));
        }
    }
}
