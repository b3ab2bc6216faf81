//! Coordinate ascent: passes over pairs of a sample and an output, sorted by the sample, so that its
//! features are read once for all outputs.

use super::features::Features;
use super::order;
use crate::loss::{Conjugate, Smoothed};
use crate::parallel;
use crate::simd::prefetch;
use crate::solver::polish::row::Row;
use crate::watch::{Step, Watch};

/// A coordinate is left out when it would rest even if its margin moved by this share of the farthest
/// that any moved by in a pass ...
const REACH: f32 = 0.2;
/// ... and comes back after so many passes.
pub(super) const PATIENCE: usize = 12;
/// Marks a pair that came to rest, or came back.
const MARK: u32 = 1 << 31;
/// Pairs of a row from which on its values are made `f32` once for all of them.
const SEVERAL: usize = 3;
/// Rows of those at rest that are looked at for all outputs: no more than stay near.
const TOGETHER: usize = 64;
/// Rows that are on their way while one is met.
const AHEAD: usize = 2;
/// Multiply-adds of a group's passes between two looks at the watch: tens of milliseconds.
const LOOK: usize = 1 << 27;

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
    /// Passes made.
    passes: usize,
    /// The rows of a pass, in its order, and decision values of a row's pairs.
    order: Vec<u32>,
    values: Vec<f32>,
}

/// Passes of all groups, `most` each, until their outputs are done: an output is when its gap is at
/// most this share of its dual objective.
pub(super) fn passes(
    groups: &mut [Group],
    (features, loss): (&Features, Smoothed),
    (most, share): (usize, f64),
    watch: &mut Watch<'_>,
) -> Step {
    while !groups.iter().all(|group| group.is_over(most)) {
        parallel::each(groups.iter_mut(), &|_, group| {
            let mut work = 0;
            while work < LOOK && !group.is_over(most) {
                work += (features.samples().len() + group.pairs.len()) * features.stride();
                group.pass(features, loss, share);
            }
        });
        watch.poll()?;
    }
    Ok(())
}

impl Group {
    /// Pairs in any order.
    pub(super) fn new(outputs: Vec<Own>, w: Vec<f32>, pairs: Vec<Pair>) -> Self {
        Self {
            rest: vec![Vec::new(); outputs.len()],
            outputs,
            w,
            pairs,
            begins: Vec::new(),
            patience: PATIENCE,
            passes: 0,
            order: Vec::new(),
            values: Vec::new(),
        }
    }

    /// With pairs that rest until the others of their output seem to be done, or so many passes.
    pub(super) fn with_resting(mut self, rest: Vec<Pair>, patience: usize) -> Self {
        rest.into_iter().for_each(|pair| self.rest[pair.output as usize].push(pair));
        Self { patience, ..self }
    }

    fn is_over(&self, most: usize) -> bool {
        self.passes >= most || self.outputs.iter().all(|own| own.done)
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
    fn pass(&mut self, features: &Features, loss: Smoothed, share: f64) {
        for own in &mut self.outputs {
            own.reach = if own.moved > 0.0 { REACH * own.moved } else { f32::INFINITY };
            (own.gap, own.moved) = (0.0, 0.0);
        }
        self.by_row(features.samples().len());
        let mut order = std::mem::take(&mut self.order);
        order::of_pass(&self.begins, self.passes, &mut order);
        self.passes += 1;
        let mut buffer = Vec::new();
        for (at, &row) in order.iter().enumerate() {
            // Rows come from far.
            if let Some(&ahead) = order.get(at + AHEAD) {
                features.row(ahead as usize).prefetch();
                prefetch(&self.pairs[self.begins[ahead as usize] as usize]);
            }
            self.meet((features.row(row as usize), features.norm(row)), row, loss, &mut buffer);
        }
        self.order = order;
        let resting = self.pairs.extract_if(.., |pair| pair.output & MARK != 0);
        let resting = resting.map(Pair::unmarked);
        resting.for_each(|pair| self.rest[pair.output as usize].push(pair));
        self.judge(features, loss, share);
    }

    /// Sorts the pairs by row, and finds the first of every row.
    fn by_row(&mut self, n_rows: usize) {
        self.begins.clear();
        self.begins.resize(n_rows + 1, 0);
        if self.pairs.is_sorted_by_key(|pair| pair.row) {
            // The last of a row says where the next one begins.
            for (next, pair) in (1..).zip(&self.pairs) {
                self.begins[pair.row as usize + 1] = next;
            }
            for row in 0..n_rows {
                self.begins[row + 1] = self.begins[row + 1].max(self.begins[row]);
            }
            return;
        }
        for pair in &self.pairs {
            self.begins[pair.row as usize + 1] += 1;
        }
        for row in 0..n_rows {
            self.begins[row + 1] += self.begins[row];
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

    /// Visits the pairs of a row of this squared length.
    fn meet(
        &mut self,
        (values, norm): (Row<'_>, f32),
        row: u32,
        loss: Smoothed,
        buffer: &mut Vec<f32>,
    ) {
        let [first, last] = [row, row + 1].map(|row| self.begins[row as usize] as usize);
        let several = last - first >= SEVERAL;
        let values = if several { values.lengthened(buffer) } else { values };
        // They are of different outputs, none of which waits for another.
        let stride = values.len();
        let mut products = std::mem::take(&mut self.values);
        products.clear();
        products.extend(
            self.pairs[first..last]
                .iter()
                .map(|pair| values.dot(&self.w[pair.output as usize * stride..][..stride])),
        );
        for (at, &f) in (first..last).zip(&products) {
            let y = f64::from(self.pairs[at].y);
            match loss.rounded(y) {
                Some(rounded) => self.visit(at, (values, norm), f, rounded),
                None => self.visit(at, (values, norm), f, (loss, y)),
            }
        }
        self.values = products;
    }

    /// Moves one coordinate, of this row and its squared length, at the decision value f.
    #[inline(always)]
    fn visit(&mut self, at: usize, (row, norm): (Row<'_>, f32), f: f32, loss: impl Conjugate) {
        let (pair, stride) = (&mut self.pairs[at], row.len());
        let own = &mut self.outputs[pair.output as usize];
        let (held, cost, f) = (f64::from(pair.a), f64::from(pair.cost), f64::from(f));
        let norm = f64::from(norm);
        let a = loss.dual_step(held, f, norm * cost) as f32;
        if a == pair.a {
            // At rest as far as the others reach?
            if loss.rests(pair.a, f, f64::from(own.reach)) {
                pair.output |= MARK;
            }
            return;
        }
        let [gain, gap] = loss.gains((held, f64::from(a)), f, norm * cost);
        (own.dual, own.gap) = (own.dual + cost * gain, own.gap + cost * gap);
        let change = f64::from(a) - held;
        own.moved = own.moved.max((change.abs() * norm * cost) as f32);
        let w = &mut self.w[pair.output as usize * stride..][..stride];
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
                    let (at, reach) = ((loss, f64::from(pair.y)), f64::from(REACH * own.moved));
                    if !at.rests(pair.a, f, reach) {
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
