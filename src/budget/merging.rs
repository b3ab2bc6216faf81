//! Merging terms of a Gaussian expansion.
//!
//! *Method*: 1. `a` is the term of least `|β|` (several outputs: of least `‖β‖`). 2. The distances
//! of `a` to all terms: one kernel row. 3. The partners of least degradation; distances beyond
//! which none can win are never judged (`distance_limit`). 4. The merged point, in the slot of
//! the last partner; the slot of `a` is free for the newest term.
//!
//! One output: partners have the sign of `a`; where there is none, `a` is projected on the nearest
//! term. Several: any term is a partner of one (`P < 0` puts the point beside the larger), and of
//! more than one those with `β_a·β_b > 0`, of which the sign is the case of one output.
//!
//! *Cost* of an event: one kernel row, O(B d), unless it is known, and O(B) for the search.
//!
//! *References*: \[BSCA\] Alg. 1; \[QG18\] for more than two terms.

use super::event::Event;
use super::merge_search::{MergeSearch, degradation_at, distance_limit};
use super::multi_merge::{Members, to_mean};
use super::partners::{Part, Partners, Shared, run};
use super::removal::remove;
use super::shared_search::{Pair, rough_error};
use crate::error::Result;
use crate::float::Real;
use crate::model::{Expansion, RowScratch};
use crate::simd;

/// Partners that the rough judgement likes best and that are judged exactly.
const FINALISTS: usize = 3;

/// Buffers of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Merging<F: Real> {
    partners: Partners<F>,
    scratch: RowScratch<F>,
    row: Vec<F>,
    point: Vec<F>,
}

impl<F: Real> Merging<F> {
    /// Has threads share the search from other sizes on.
    pub(super) fn share_from(&mut self, row: usize, search: usize) {
        self.partners.shared = Shared { row, search };
    }

    /// The distances of term `a` to all (that to itself is not looked at): the next event needs not
    /// measure them. One who follows samples has those of the newest, mostly the smallest.
    pub(super) fn know(&mut self, a: usize, distances: &[F]) {
        self.partners.know(a, distances);
    }

    /// One event: the smallest term and its `size - 1` best partners become one term. Returns
    /// the squared weight degradation.
    pub(super) fn merge(
        &mut self,
        expansion: &mut Expansion<F>,
        size: usize,
        search: MergeSearch,
        event: &mut dyn Event,
    ) -> Result<f64> {
        let a = expansion.lightest();
        let known = self.partners.knew(a, expansion.len());
        if expansion.len() == 1 || expansion.weight(a) == 0.0 {
            return Ok(remove(expansion, a, event));
        }
        let least = self.partners.measure(expansion, a, known);
        if size > 2 {
            let members = self.members(expansion, a, size, search);
            if members.len() > 1 {
                return Ok(self.merge_all(expansion, &members, event));
            }
        }
        if expansion.outputs() > 1 {
            // Out of everybody's reach: nothing could take any of it over.
            if !least.is_finite() {
                return Ok(remove(expansion, a, event));
            }
            let (b, h) = self.best_shared_partner(expansion, (a, least), search);
            let distance = self.partners.distance(b);
            let pairwise = [0.0, distance, distance, 0.0];
            return Ok(self.join_many(expansion, &[(a, 1.0 - h), (b, h)], &pairwise, event));
        }
        if !least.is_finite() {
            return Ok(self.project(expansion, a, event));
        }
        let beta = expansion.coef(a, 0);
        let b = self.best_partner(expansion, beta, least, search);
        let distance = self.partners.distance(b);
        let m = expansion.coef(b, 0) / (beta + expansion.coef(b, 0));
        let h = search.best_h(m, distance);
        Ok(self.join(expansion, &[(a, 1.0 - h), (b, h)], distance, event))
    }

    /// One output: the partner of least degradation.
    fn best_partner(
        &mut self,
        expansion: &Expansion<F>,
        beta: f64,
        least: F,
        search: MergeSearch,
    ) -> usize {
        // The nearest partner sets the bar (merged at the mean, which only overstates what it
        // costs); what that cannot exclude is judged.
        let nearest = self.partners.first_within(least);
        let ratio = (expansion.coef(nearest, 0) / beta).max(1.0);
        let total = 1.0 + ratio;
        let m = ratio / total;
        let bar = degradation_at(m, least.to_f64(), m) * total * total;
        let limit = F::from_f64(distance_limit(bar * (1.0 + 1e-6)).min(f64::MAX));
        let limit = limit.max(least).min(F::max_value());
        self.partners.judge(limit, &|part| judge_one(part, expansion, beta, search));
        self.partners.best().unwrap_or(nearest)
    }

    /// Several outputs: the partner of least degradation and the best `h`.
    fn best_shared_partner(
        &mut self,
        expansion: &Expansion<F>,
        (a, least): (usize, F),
        search: MergeSearch,
    ) -> (usize, f64) {
        // The nearest partner sets the bar, as of one output.
        let nearest = self.partners.first_within(least);
        let (pair, least) = (pair_of(expansion, a, nearest), least.to_f64());
        let bar = pair.at_the_mean(least) / pair.a;
        let limit = F::from_f64(distance_limit(bar * (1.0 + 1e-6)).max(least));
        let limit = limit.min(F::max_value());
        self.partners.judge(limit, &|part| judge_shared(part, expansion, a, search));
        let best_h = |b| pair_of(expansion, a, b).best_h(search, self.partners.distance(b));
        let best = self.best_shared(expansion, (a, 1), search).first().copied();
        let (b, h) = best.unwrap_or((nearest, None));
        (b, h.unwrap_or_else(|| best_h(b)))
    }

    /// The `count` partners that lose least, of those that have been judged, and the best `h` where it
    /// was asked for.
    fn best_shared(
        &self,
        expansion: &Expansion<F>,
        (a, count): (usize, usize),
        search: MergeSearch,
    ) -> Vec<(usize, Option<f64>)> {
        if search != MergeSearch::Auto {
            return self.partners.best_few(count).into_iter().map(|b| (b, None)).collect();
        }
        // Vectors tell roughly; the other searches have judged every partner as they do.
        let mut judged = Vec::with_capacity(count + FINALISTS);
        for (rough, b) in self.partners.ranked(count + FINALISTS - 1) {
            let (pair, distance) = (pair_of(expansion, a, b), self.partners.distance(b));
            // Not one that cannot come before those that there are.
            let least = rough.to_f64() * pair.a - rough_error(distance) * (pair.a + pair.d);
            if judged.get(count - 1).is_some_and(|(last, _)| least > *last) {
                continue;
            }
            let h = pair.best_h(search, distance);
            let lost = pair.degradation(distance, h);
            let at = judged.partition_point(|(other, _)| *other <= lost);
            judged.insert(at, (lost, (b, Some(h))));
        }
        judged.into_iter().take(count).map(|(_, b)| b).collect()
    }

    /// The smallest term and those that it merges best with, `size` at most.
    fn members(
        &mut self,
        expansion: &Expansion<F>,
        a: usize,
        size: usize,
        search: MergeSearch,
    ) -> Vec<usize> {
        let limit = F::max_value();
        let best = if expansion.outputs() > 1 {
            self.partners.judge(limit, &|part| {
                judge_shared(part, expansion, a, search);
                let apart = part.products.iter().map(|&product| product <= 0.0);
                let values = part.values.iter_mut().zip(apart);
                values.filter(|(_, apart)| *apart).for_each(|(value, _)| *value = F::infinity());
            });
            let best = self.best_shared(expansion, (a, size - 1), search);
            best.into_iter().map(|(b, _)| b).collect()
        } else {
            let beta = expansion.coef(a, 0);
            self.partners.judge(limit, &|part| judge_one(part, expansion, beta, search));
            self.partners.best_few(size - 1)
        };
        std::iter::once(a).chain(best).collect()
    }

    /// Merges `members` at the mean-shift maximum of `‖Σ β_j k(z, s_j)‖`.
    fn merge_all(
        &mut self,
        expansion: &mut Expansion<F>,
        members: &[usize],
        event: &mut dyn Event,
    ) -> f64 {
        let size = members.len();
        let mut pairwise = vec![0.0; size * size];
        for (i, &slot) in members.iter().enumerate() {
            expansion.stored_row(slot, &mut self.scratch);
            for (j, &other) in members.iter().enumerate().skip(i + 1) {
                let distance = self.scratch.row[other].to_f64();
                (pairwise[i * size + j], pairwise[j * size + i]) = (distance, distance);
            }
        }
        let coef = coefficients(expansion, members.iter().copied());
        let outputs = expansion.outputs();
        let weights = Members { coef: &coef, outputs, pairwise: &pairwise }.weights();
        let parts: Vec<(usize, f64)> = members.iter().copied().zip(weights).collect();
        self.join_many(expansion, &parts, &pairwise, event)
    }

    /// Merges two terms of one output at distance `distance`; `parts` are (a, 1-h) and (b, h).
    fn join(
        &mut self,
        expansion: &mut Expansion<F>,
        parts: &[(usize, f64); 2],
        distance: f64,
        event: &mut dyn Event,
    ) -> f64 {
        let [(a, w_a), (b, w_b)] = *parts;
        let (beta_a, beta_b) = (expansion.coef(a, 0), expansion.coef(b, 0));
        // z is the share w_b of the way from a to b.
        let k_a = (-distance * w_b * w_b).exp();
        let k_b = (-distance * w_a * w_a).exp();
        let merged = beta_a * k_a + beta_b * k_b;
        let cross = 2.0 * beta_a * beta_b * (-distance).exp();
        let degradation = beta_a * beta_a + beta_b * beta_b + cross - merged * merged;
        let d = expansion.centers().n_features();
        self.point.resize(d, F::zero());
        self.row.resize(d, F::zero());
        expansion.center(a, &mut self.point);
        expansion.center(b, &mut self.row);
        let (f_a, f_b) = (F::from_f64(w_a), F::from_f64(w_b));
        self.point.iter_mut().zip(&self.row).for_each(|(z, &s)| *z = f_a * *z + f_b * s);
        event.merged(parts, &[beta_a, beta_b], w_a * w_b * distance, &[merged]);
        expansion.move_center(b, &self.point);
        expansion.set_coef(b, 0, merged);
        let last = expansion.len() - 1;
        expansion.swap_remove(a);
        event.removed(a, last);
        degradation.max(0.0)
    }

    /// Puts the merged term into the slot of the last part and removes the others.
    fn join_many(
        &mut self,
        expansion: &mut Expansion<F>,
        parts: &[(usize, f64)],
        pairwise: &[f64],
        event: &mut dyn Event,
    ) -> f64 {
        let weights: Vec<f64> = parts.iter().map(|p| p.1).collect();
        let (gap, values) = to_mean(&weights, pairwise);
        let coef = coefficients(expansion, parts.iter().map(|p| p.0));
        let members = Members { coef: &coef, outputs: expansion.outputs(), pairwise };
        let merged = members.merged(&values);
        let degradation = members.degradation(&merged);
        let d = expansion.centers().n_features();
        self.point.clear();
        self.point.resize(d, F::zero());
        self.row.resize(d, F::zero());
        for &(slot, weight) in parts {
            expansion.center(slot, &mut self.row);
            let weight = F::from_f64(weight);
            self.point.iter_mut().zip(&self.row).for_each(|(z, &s)| *z += weight * s);
        }
        event.merged(parts, &coef, gap, &merged);
        let Some((&(into, _), others)) = parts.split_last() else { return 0.0 };
        expansion.move_center(into, &self.point);
        merged.iter().enumerate().for_each(|(c, &v)| expansion.set_coef(into, c, v));
        // From the highest slot down, so that no slot still to be removed is moved.
        let mut gone: Vec<usize> = others.iter().map(|p| p.0).collect();
        gone.sort_unstable_by(|x, y| y.cmp(x));
        for slot in gone {
            let last = expansion.len() - 1;
            expansion.swap_remove(slot);
            event.removed(slot, last);
        }
        degradation
    }

    /// No partner of the same sign: `β_b += κ β_a` on the nearest b.
    fn project(&mut self, expansion: &mut Expansion<F>, a: usize, event: &mut dyn Event) -> f64 {
        let b = self.partners.nearest();
        let kappa = (-self.partners.distance(b)).exp();
        let beta = expansion.coef(a, 0);
        let delta = kappa * beta;
        expansion.set_coef(b, 0, expansion.coef(b, 0) + delta);
        event.coef_changed(b, &[delta]);
        remove(expansion, a, event);
        beta * beta * (1.0 - kappa * kappa)
    }
}

/// What two terms are to each other, the first the lightest.
fn pair_of<F: Real>(expansion: &Expansion<F>, a: usize, b: usize) -> Pair {
    let (weights, mut product) = (expansion.weights(), Vec::with_capacity(1));
    expansion.products(a, &[b], &mut product);
    Pair { a: weights[a], d: weights[b], p: product[0] }
}

/// The coefficients of terms, a row of outputs each.
fn coefficients<F: Real>(expansion: &Expansion<F>, slots: impl Iterator<Item = usize>) -> Vec<f64> {
    let outputs = expansion.outputs();
    slots.flat_map(|slot| (0..outputs).map(move |c| expansion.coef(slot, c))).collect()
}

/// Degradations of merging with each partner of a part, in units of `β_a²`.
fn judge_one<F: Real>(
    part: &mut Part<F>,
    expansion: &Expansion<F>,
    beta: f64,
    search: MergeSearch,
) {
    let ratio = |slot: usize| (expansion.coef(slot, 0) / beta).max(1.0);
    match search {
        MergeSearch::Auto => {
            let padded = part.pad();
            part.values.extend(part.slots.iter().map(|&slot| F::from_f64(ratio(slot))));
            part.values.resize(padded, F::one());
            simd::merge_degradations(&part.distances, &mut part.values);
            part.values.truncate(part.slots.len());
        }
        MergeSearch::GoldenSection | MergeSearch::Table => {
            let judged = part.slots.iter().zip(&part.distances).map(|(&slot, &distance)| {
                let total = 1.0 + ratio(slot);
                let least = search.degradation(ratio(slot) / total, distance.to_f64());
                F::from_f64(least * total * total)
            });
            part.values.extend(judged);
        }
    }
}

/// The same of several outputs, in units of `‖β_a‖²`; leaves the `β_a·β_b` in `products`.
fn judge_shared<F: Real>(
    part: &mut Part<F>,
    expansion: &Expansion<F>,
    a: usize,
    search: MergeSearch,
) {
    let weights = expansion.weights();
    let own = weights[a];
    expansion.products(a, &part.slots, &mut part.products);
    match search {
        MergeSearch::Auto => {
            let padded = part.pad();
            let square = |&weight: &f64| F::from_f64(weight / own);
            match run(&part.slots) {
                Some(run) => part.values.extend(weights[run].iter().map(square)),
                None => part.values.extend(part.slots.iter().map(|&slot| square(&weights[slot]))),
            }
            part.values.resize(padded, F::one());
            part.extra.clear();
            part.extra.extend(part.products.iter().map(|&product| F::from_f64(product / own)));
            part.extra.resize(padded, F::zero());
            simd::shared_degradations(&part.distances, &mut part.values, &part.extra);
            part.values.truncate(part.slots.len());
        }
        MergeSearch::GoldenSection | MergeSearch::Table => {
            let partners = part.slots.iter().zip(&part.distances).zip(&part.products);
            let judged = partners.map(|((&slot, &distance), &p)| {
                let pair = Pair { a: own, d: weights[slot], p };
                F::from_f64(pair.least(search, distance.to_f64()) / own)
            });
            part.values.extend(judged);
        }
    }
}
