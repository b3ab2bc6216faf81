//! Rows of a block join groups.
//!
//! A class begins groups with rows that come, evenly chosen, as long as it may have more; every row
//! then joins the group of its class whose mean features are nearest, by some of the terms, and the
//! means move. The scatter is made of some of the rows.

use super::Moments;
use crate::data::{Rows, Targets};
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{axpy, dot, matrix, multiply};
use crate::solver::recursive::{Block, gram};
use crate::watch::Step;

/// Groups of all classes together; a class has one at least.
pub(super) const GROUPS: usize = 800;
/// At most one row in so many of a block begins a group.
const ROWS_A_GROUP: usize = 4;
/// Rows of a block that the scatter is made of, about.
const SCATTERED: usize = 256;
/// Terms by whose values rows are put into groups, about.
const TERMS: usize = 64;

impl Moments {
    /// The rows of a block of classes join, of which these are the features; those of values are none.
    ///
    /// # Errors
    /// `OutOfMemory`, and what `between` says.
    pub fn absorb<F: Real>(
        &mut self,
        block: &Block<'_, F>,
        inputs: &Rows<'_, F>,
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let Targets::Classes { index, .. } = block.targets else { return Ok(()) };
        self.expect(inputs.n_cols());
        let n = self.unknowns;
        let mut of_class = vec![Vec::new(); self.n_classes];
        for i in (0..block.cost.len()).filter(|&i| block.cost[i] > 0.0) {
            of_class[index[i] as usize].push(i);
        }
        let step = block.cost.len().div_ceil(SCATTERED).max(1);
        let mut apart: Vec<(usize, usize)> = Vec::new();
        for (class, rows) in of_class.iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            between()?;
            self.begin((block, inputs), class, rows)?;
            let places = self.nearest(block, class, rows)?;
            self.join((block, inputs), (rows, &places))?;
            let chosen = rows.iter().copied().zip(places);
            apart.extend(chosen.filter(|(i, _)| i % step == 0));
        }
        // Decision values differ within a group as its rows do from its mean.
        let mut values = try_vec("groups of a stream", apart.len() * n, 0.0)?;
        for (to, &(i, group)) in values.chunks_exact_mut(n.max(1)).zip(&apart) {
            features(block, i, to);
            axpy(-1.0, &self.means[group * n..(group + 1) * n], to);
        }
        let each = values.chunks_exact(n.max(1)).zip(&apart);
        let rows: Vec<_> = each.map(|(row, &(i, _))| (row, block.cost[i].sqrt())).collect();
        let added = gram(n, &rows, between)?;
        for i in 0..n {
            for j in 0..=i {
                let value = self.scatter[i * n + j] + step as f64 * added[i * n + j];
                (self.scatter[i * n + j], self.scatter[j * n + i]) = (value, value);
            }
        }
        self.scattered += step as f64 * apart.iter().map(|&(i, _)| block.cost[i]).sum::<f64>();
        self.unseen += block.price * block.unseen * block.cost.iter().sum::<f64>();
        Ok(())
    }

    /// Begins groups of a class while it may have more.
    fn begin<F: Real>(
        &mut self,
        (block, inputs): (&Block<'_, F>, &Rows<'_, F>),
        class: usize,
        rows: &[usize],
    ) -> Step {
        let most = (GROUPS / self.n_classes).max(1);
        let there = self.labels.iter().filter(|&&label| label as usize == class).count();
        let new = most.saturating_sub(there).min(rows.len().div_ceil(ROWS_A_GROUP));
        let mut mean = try_vec("groups of a stream", self.unknowns, 0.0)?;
        let chosen: Vec<usize> = (0..new).map(|k| rows[k * rows.len() / new]).collect();
        for &i in &chosen {
            features(block, i, &mut mean);
            self.labels.push(class as u32);
            self.weights.push(0.0);
            self.means.extend_from_slice(&mean);
        }
        Ok(self.begun(inputs, &chosen)?)
    }

    /// The group of each row: that of its class whose mean is nearest.
    fn nearest<F: Real>(
        &self,
        block: &Block<'_, F>,
        class: usize,
        rows: &[usize],
    ) -> Step<Vec<usize>> {
        let (n, b) = (self.unknowns, block.n_points(self.unknowns));
        let own = self.labels.iter().enumerate().filter(|(_, label)| **label as usize == class);
        let own: Vec<usize> = own.map(|(group, _)| group).collect();
        let terms: Vec<usize> = (0..b).step_by(b.div_ceil(TERMS).max(1)).collect();
        let width = terms.len().max(1);
        let mut means = try_vec("groups of a stream", own.len() * width, 0.0)?;
        for (to, &group) in means.chunks_exact_mut(width).zip(&own) {
            to.iter_mut().zip(&terms).for_each(|(to, t)| *to = self.means[group * n + t]);
        }
        let mut few = try_vec("groups of a stream", rows.len() * width, 0.0)?;
        for (to, &i) in few.chunks_exact_mut(width).zip(rows) {
            let row = block.row(i, b);
            to.iter_mut().zip(&terms).for_each(|(to, &t)| *to = Real::to_f64(row[t]));
        }
        let squares: Vec<f64> = means.chunks_exact(width).map(|mean| dot(mean, mean)).collect();
        let mut products = try_vec("groups of a stream", rows.len() * own.len(), 0.0)?;
        multiply(&mut products, matrix(&few, width), matrix(&means, width).transpose());
        let place = |products: &[f64]| {
            let (mut best, mut least) = (0, f64::INFINITY);
            for (at, (square, product)) in squares.iter().zip(products).enumerate() {
                let far = square - 2.0 * product;
                if far < least {
                    (best, least) = (at, far);
                }
            }
            own[best]
        };
        Ok(products.chunks_exact(own.len()).map(place).collect())
    }

    /// Weights and means of groups after their rows.
    fn join<F: Real>(
        &mut self,
        (block, inputs): (&Block<'_, F>, &Rows<'_, F>),
        (rows, places): (&[usize], &[usize]),
    ) -> Step {
        let n = self.unknowns;
        let mut sums = try_vec("groups of a stream", self.means.len(), 0.0)?;
        let mut costs = try_vec("groups of a stream", self.labels.len(), 0.0)?;
        let mut row = try_vec("groups of a stream", n, 0.0)?;
        let kept = if self.middles.is_empty() { 0 } else { inputs.n_cols() };
        let mut input = try_vec("groups of a stream", kept, F::zero())?;
        for (&i, &group) in rows.iter().zip(places) {
            features(block, i, &mut row);
            axpy(block.cost[i], &row, &mut sums[group * n..(group + 1) * n]);
            costs[group] += block.cost[i];
            if kept > 0 {
                inputs.copy_row(i, &mut input);
                self.centre(&input, group, (block.cost[i], self.weights[group] + costs[group]));
            }
        }
        for (group, &cost) in costs.iter().enumerate().filter(|(_, cost)| **cost > 0.0) {
            self.weights[group] += cost;
            let all = self.weights[group];
            let mean = &mut self.means[group * n..(group + 1) * n];
            for (to, sum) in mean.iter_mut().zip(&sums[group * n..]) {
                *to += (sum - cost * *to) / all;
            }
        }
        Ok(())
    }
}

/// Features of a row, with the offset's 1 where there is one.
fn features<F: Real>(block: &Block<'_, F>, i: usize, out: &mut [f64]) {
    let row = block.row(i, block.n_points(out.len()));
    out.fill(1.0);
    out.iter_mut().zip(row).for_each(|(to, v)| *to = Real::to_f64(*v));
}
