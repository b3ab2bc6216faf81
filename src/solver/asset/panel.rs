//! Several outputs side by side, and eight rows at a time.
//!
//! A step adds a multiple of its sample's features to u, so what u makes of the samples after it
//! follows from the features' products with each other, which all outputs share:
//!
//! ```text
//! u_r = u_0 + Σ_(q<r) s_q z_q        u_r·z_r = u_0·z_r + Σ_(q<r) s_q (z_q·z_r)
//! ```
//!
//! Products of all rows with all u_0 are then one product of matrices, and so are the sums that make
//! u and v at the end; the steps between are a few numbers an output ([`Walk`]). They are the steps
//! that every output makes alone (`plan.rs`), but for rounding.

use super::plan::{Output, Plan, Told};
use super::walk::Walk;
use super::{Iterate, Source};
use crate::float::Real;
use crate::simd::{SIDE, Side, TOGETHER, add_to_side, products_with_next, side_products, widen};

/// At most [`SIDE`] outputs; the vectors u and v of their iterates, a lane each.
struct Panel {
    /// The first one's index.
    first: usize,
    outputs: usize,
    walk: Walk,
    /// Whole lines of coordinates: what is beyond the features is 0.
    u: Vec<Side>,
    rest: Vec<Side>,
    moves: Moves,
}

/// What the vectors of a panel gain of the rows at hand: of `which`, so many.
#[derive(Default)]
struct Moves {
    count: usize,
    which: [usize; TOGETHER],
    u: [Side; TOGETHER],
    rest: [Side; TOGETHER],
}

/// The features of some samples, widened, and their products.
struct Rows {
    /// Whole lines.
    width: usize,
    count: usize,
    z: Vec<f64>,
    sq_norms: [f64; TOGETHER],
    /// Products of a row with those after it, where they are known.
    products: [Option<[f64; TOGETHER]>; TOGETHER],
}

/// Panels that see the samples in the same thread.
pub(super) struct Panels {
    panels: Vec<Panel>,
    rows: Rows,
}

impl Rows {
    fn new(width: usize) -> Self {
        let (z, sq_norms) = (vec![0.0; TOGETHER * width], [0.0; TOGETHER]);
        Self { width, count: 0, z, sq_norms, products: [None; TOGETHER] }
    }

    /// Takes the samples from `at` on of the order, as many as there are.
    fn load<F: Real>(&mut self, source: &Source<'_, F>, order: &[usize], at: usize) {
        self.count = TOGETHER.min(order.len() - at);
        for r in 0..self.count {
            source.prefetch(order, at + r + TOGETHER);
            widen(source.row(order, at + r), &mut self.z[r * self.width..]);
            self.sq_norms[r] = source.sq_norm(order, at + r);
        }
        self.products = [None; TOGETHER];
    }

    /// Products of the row r with those after it.
    fn with_later(&mut self, r: usize) -> &[f64] {
        let Self { width, count, ref z, .. } = *self;
        let known = self.products[r].get_or_insert_with(|| {
            let mut out = [0.0; TOGETHER];
            products_with_next(&z[r * width..], width, &mut out[..count - r - 1]);
            out
        });
        &known[..count - r - 1]
    }
}

impl Panels {
    /// All of the outputs, which are taken, for so many threads.
    pub(super) fn of(outputs: &mut Vec<Output>, threads: usize) -> Vec<Self> {
        let mut panels: Vec<Panel> = Vec::new();
        for (at, output) in outputs.drain(..).enumerate() {
            let width = output.iterate.u.len().next_multiple_of(SIDE);
            if at % SIDE == 0 {
                panels.push(Panel::new(at, width));
            }
            if let Some(panel) = panels.last_mut() {
                panel.push(output);
            }
        }
        let width = panels.first().map_or(0, |panel| panel.u.len());
        let each = panels.len().div_ceil(threads.max(1)).max(1);
        let mut made = Vec::new();
        while !panels.is_empty() {
            let later = panels.split_off(each.min(panels.len()));
            let panels = std::mem::replace(&mut panels, later);
            made.push(Self { panels, rows: Rows::new(width) });
        }
        made
    }

    /// The outputs again, on so many features.
    pub(super) fn apart(self, width: usize) -> impl Iterator<Item = Output> {
        self.panels.into_iter().flat_map(move |panel| panel.apart(width))
    }

    /// Steps 4 to 6 for the samples of one block: of every output what it would do alone.
    pub(super) fn block<F: Real>(
        &mut self,
        plan: &Plan<'_>,
        source: &Source<'_, F>,
        (order, told): (&[usize], &Told),
        before: u64,
    ) {
        let Self { panels, rows } = self;
        for panel in &mut *panels {
            panel.walk.begin(plan, panel.first, panel.outputs);
        }
        for at in (0..order.len()).step_by(TOGETHER) {
            rows.load(source, order, at);
            for panel in &mut *panels {
                panel.steps(plan, rows, (at, told), before);
            }
        }
        for panel in panels {
            let squares = |mut sum: Side, u: &Side| {
                sum.0.iter_mut().zip(u.0).for_each(|(sum, u)| *sum += u * u);
                sum
            };
            panel.walk.refresh(&panel.u.iter().fold(Side::default(), squares));
        }
    }
}

impl Panel {
    fn new(first: usize, width: usize) -> Self {
        let none = vec![Side::default(); width];
        let (u, rest) = (none.clone(), none);
        Self { first, outputs: 0, walk: Walk::default(), u, rest, moves: Moves::default() }
    }

    fn push(&mut self, output: Output) {
        let Output { iterate: Iterate { scalars, u, rest }, intercept, mean_intercept } = output;
        let lane = self.outputs;
        self.u.iter_mut().zip(u).for_each(|(to, value)| to.0[lane] = value);
        self.rest.iter_mut().zip(rest).for_each(|(to, value)| to.0[lane] = value);
        self.walk.put(lane, scalars, (intercept, mean_intercept));
        self.outputs += 1;
    }

    fn apart(self, width: usize) -> impl Iterator<Item = Output> {
        (0..self.outputs).map(move |lane| {
            let (scalars, (intercept, mean_intercept)) = self.walk.get(lane);
            let of = |panel: &[Side]| panel[..width].iter().map(|values| values.0[lane]).collect();
            let iterate = Iterate { scalars, u: of(&self.u), rest: of(&self.rest) };
            Output { iterate, intercept, mean_intercept }
        })
    }

    /// The steps of the loaded rows, at `at` in their block.
    fn steps(&mut self, plan: &Plan<'_>, rows: &mut Rows, (at, told): (usize, &Told), before: u64) {
        let outputs = plan.task.targets.n_outputs();
        let mut products = [Side::default(); TOGETHER];
        side_products(&rows.z, &self.u, &mut products[..rows.count]);
        for r in 0..rows.count {
            let step = told.step(at + r);
            let y = &told.targets[(at + r) * outputs + self.first..][..self.outputs];
            let (own, later) = products[r..rows.count].split_at_mut(1);
            let stride = &Walk::stride(plan, step, rows.sq_norms[r]);
            if self.walk.shrink(plan, stride, &own[0], y) {
                self.multiply_out(later);
            }
            if self.walk.is_violated() {
                let moves = &mut self.moves;
                let at = moves.count;
                moves.which[at] = r;
                moves.count += 1;
                let gains = (&mut moves.u[at], &mut moves.rest[at]);
                self.walk.add(stride, gains, (later, rows.with_later(r)));
                if self.walk.project() {
                    self.multiply_out(later);
                }
            }
            if let (true, weight) = plan.counts(step.j, before) {
                self.walk.average(weight);
            }
        }
        let Moves { count, which, u, rest } = &self.moves;
        let (which, u, rest) = (&which[..*count], &u[..*count], &rest[..*count]);
        add_to_side(&rows.z, (which, u), &mut self.u);
        // Until iterates count in the average there is nothing.
        if rest.iter().any(|rest| rest.0.iter().any(|&by| by != 0.0)) {
            add_to_side(&rows.z, (which, rest), &mut self.rest);
        }
        self.moves.count = 0;
    }

    /// Multiplies the scales out that have become small: of u and v as they were, of what they have
    /// gained since, and of what u makes of the rows to come.
    fn multiply_out(&mut self, later: &mut [Side]) {
        let Self { walk, u, rest, moves, .. } = self;
        walk.multiply_out(|lane, along, scale| {
            let gains = moves.u.iter_mut().zip(&mut moves.rest).take(moves.count);
            for (u, rest) in u.iter_mut().zip(&mut *rest).chain(gains) {
                rest.0[lane] += along * u.0[lane];
                u.0[lane] *= scale;
            }
            later.iter_mut().for_each(|product| product.0[lane] *= scale);
        });
    }
}
