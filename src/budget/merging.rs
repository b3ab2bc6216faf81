//! Merging terms of a Gaussian expansion.
//!
//! *Method*: 1. `a` is the term of least `|β|` (several outputs: of least `‖β‖`). 2. The distances
//! of `a` to all terms: one kernel row. 3. The partner of least degradation; distances beyond
//! which none can win are never judged (`distance_limit`). 4. The merged point, in the slot of
//! the partner; the slot of `a` is free for the newest term.
//!
//! *Cost* of an event: one kernel row, O(B d), and O(B) for the search.
//!
//! *References*: \[BSCA\] Alg. 1; \[QG18\] for more than two terms.

use super::event::Event;
use super::merge_search::{MergeSearch, degradation_at, distance_limit, golden_section};
use super::removal::{remove, smallest};
use crate::error::Result;
use crate::float::Real;
use crate::model::{Expansion, RowScratch};
use crate::simd::{self, Packed};

/// Buffers of the search.
#[derive(Clone, Debug, Default)]
pub(super) struct Merging<F: Real> {
    scratch: RowScratch<F>,
    slots: Vec<usize>,
    distances: Vec<F>,
    values: Vec<F>,
    extra: Vec<F>,
    row: Vec<F>,
    point: Vec<F>,
}

impl<F: Real> Merging<F> {
    /// One event: the smallest term and its `size - 1` best partners become one term. Returns
    /// the squared weight degradation.
    pub(super) fn merge(
        &mut self,
        expansion: &mut Expansion<F>,
        size: usize,
        search: MergeSearch,
        event: &mut dyn Event,
    ) -> Result<f64> {
        let a = smallest(expansion);
        if expansion.len() == 1 || expansion.weight(a) == 0.0 {
            return Ok(remove(expansion, a, event));
        }
        expansion.stored_row(a, &mut self.scratch);
        if expansion.outputs() > 1 {
            let (b, h) = self.best_shared_partner(expansion, a);
            let distance = self.scratch.row[b].to_f64();
            return Ok(self.join(expansion, &[(a, 1.0 - h), (b, h)], distance, event));
        }
        let beta = expansion.coef(a, 0);
        let len = expansion.len();
        self.extra.resize(len, F::zero());
        self.scratch.row[a] = F::infinity();
        let coef = expansion.coef_of(0);
        let least = simd::same_sign_distances(coef, beta, &self.scratch.row, &mut self.extra);
        if !least.is_finite() {
            return Ok(self.project(expansion, a, event));
        }
        if size == 2 {
            let at = self.best_partner(expansion, beta, least, search);
            let b = self.slots[at];
            let distance = self.distances[at].to_f64();
            let m = expansion.coef(b, 0) / (beta + expansion.coef(b, 0));
            let h = search.best_h(m, distance);
            return Ok(self.join(expansion, &[(a, 1.0 - h), (b, h)], distance, event));
        }
        self.keep_within(F::max_value());
        let members = self.best_partners(expansion, a, size - 1);
        Ok(self.mean_shift(expansion, &members, event))
    }

    /// Keeps the slots (of the right sign) at most `limit` away, and their distances.
    fn keep_within(&mut self, limit: F) {
        self.slots.clear();
        simd::indices_at_most(&self.extra, limit, &mut self.slots);
        self.distances.clear();
        self.distances.extend(self.slots.iter().map(|&slot| self.extra[slot]));
    }

    /// Index (into `slots`) of the partner of least degradation.
    fn best_partner(
        &mut self,
        expansion: &Expansion<F>,
        beta: f64,
        least: F,
        search: MergeSearch,
    ) -> usize {
        let ratio = |slot: usize| (expansion.coef(slot, 0) / beta).max(1.0);
        let judge = |slot: usize, distance: F| {
            let total = 1.0 + ratio(slot);
            search.degradation(ratio(slot) / total, distance.to_f64()) * total * total
        };
        // The nearest partner sets the bar (merged at the mean, which only overstates what it
        // costs); what that cannot exclude is judged.
        let nearest = simd::first_at_most(&self.extra, least);
        let total = 1.0 + ratio(nearest);
        let m = ratio(nearest) / total;
        let bar = degradation_at(m, least.to_f64(), m) * total * total;
        let limit = F::from_f64(distance_limit(bar * (1.0 + 1e-6)).min(f64::MAX));
        self.keep_within(limit.max(least).min(F::max_value()));
        self.values.clear();
        if search == MergeSearch::Auto {
            self.judge_all(expansion, beta);
        } else {
            let judged = self.slots.iter().zip(&self.distances);
            self.values.extend(judged.map(|(&slot, &g)| F::from_f64(judge(slot, g))));
        }
        simd::first_at_most(&self.values, simd::least(&self.values))
    }

    /// Fills `values`, which is empty, with the degradations of merging with each of `slots`.
    fn judge_all(&mut self, expansion: &Expansion<F>, beta: f64) {
        let kept = self.slots.len();
        let padded = kept.next_multiple_of(Packed::<F>::line());
        self.distances.resize(padded, F::zero());
        let ratios = self.slots.iter().map(|&slot| (expansion.coef(slot, 0) / beta).max(1.0));
        self.values.extend(ratios.map(F::from_f64));
        self.values.resize(padded, F::one());
        simd::merge_degradations(&self.distances, &mut self.values);
        self.values.truncate(kept);
    }

    /// The smallest term and its best `count` partners.
    fn best_partners(&mut self, expansion: &Expansion<F>, a: usize, count: usize) -> Vec<usize> {
        let beta = expansion.coef(a, 0);
        self.values.clear();
        self.judge_all(expansion, beta);
        let mut order: Vec<usize> = (0..self.slots.len()).collect();
        order.sort_by(|&i, &j| self.values[i].to_f64().total_cmp(&self.values[j].to_f64()));
        std::iter::once(a).chain(order.into_iter().take(count).map(|i| self.slots[i])).collect()
    }

    /// Merges `members` at the mean-shift maximum of `|Σ β_j k(z, s_j)|`.
    fn mean_shift(
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
        let betas: Vec<f64> = members.iter().map(|&s| expansion.coef(s, 0)).collect();
        let mut weights: Vec<f64> = betas.iter().map(|b| b.abs()).collect();
        let mut height = 0.0;
        for _ in 0..100 {
            normalise(&mut weights);
            let (_, kernel) = to_mean(&weights, &pairwise);
            let values: Vec<f64> = betas.iter().zip(kernel).map(|(beta, k)| beta * k).collect();
            let new_height = values.iter().sum::<f64>().abs();
            if new_height <= height * (1.0 + 1e-10) {
                break;
            }
            height = new_height;
            weights = values.iter().map(|v| v.abs()).collect();
        }
        normalise(&mut weights);
        let parts: Vec<(usize, f64)> = members.iter().copied().zip(weights).collect();
        self.join_many(expansion, &parts, &pairwise, event)
    }

    /// Merges two terms at distance `distance`; `parts` are (a, 1-h) and (b, h).
    fn join(
        &mut self,
        expansion: &mut Expansion<F>,
        parts: &[(usize, f64); 2],
        distance: f64,
        event: &mut dyn Event,
    ) -> f64 {
        if expansion.outputs() > 1 {
            return self.join_many(expansion, parts, &[0.0, distance, distance, 0.0], event);
        }
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
        expansion.centers().get(a, &mut self.point);
        expansion.centers().get(b, &mut self.row);
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
        let size = parts.len();
        let outputs = expansion.outputs();
        let weights: Vec<f64> = parts.iter().map(|p| p.1).collect();
        let (gap, values) = to_mean(&weights, pairwise);
        // Degradation Σ_c (β_cᵀ K β_c - β_zc²) and β_zc = Σ_j β_jc k(z, s_j).
        let mut merged = vec![0.0; outputs];
        let mut degradation = 0.0;
        for (c, merged) in merged.iter_mut().enumerate() {
            for (i, &(slot, _)) in parts.iter().enumerate() {
                let beta = expansion.coef(slot, c);
                *merged += beta * values[i];
                for (j, &(other, _)) in parts.iter().enumerate() {
                    let kappa = (-pairwise[i * size + j]).exp();
                    degradation += beta * expansion.coef(other, c) * kappa;
                }
            }
            degradation -= *merged * *merged;
        }
        let d = expansion.centers().n_features();
        self.point.clear();
        self.point.resize(d, F::zero());
        self.row.resize(d, F::zero());
        for &(slot, weight) in parts {
            expansion.centers().get(slot, &mut self.row);
            let weight = F::from_f64(weight);
            self.point.iter_mut().zip(&self.row).for_each(|(z, &s)| *z += weight * s);
        }
        let coef = parts.iter().flat_map(|&(s, _)| (0..outputs).map(move |c| (s, c)));
        let coef: Vec<f64> = coef.map(|(slot, c)| expansion.coef(slot, c)).collect();
        event.merged(parts, &coef, gap, &merged);
        let into = parts[size - 1].0;
        expansion.move_center(into, &self.point);
        merged.iter().enumerate().for_each(|(c, &v)| expansion.set_coef(into, c, v));
        // From the highest slot down, so that no slot still to be removed is moved.
        let mut gone: Vec<usize> = parts[..size - 1].iter().map(|p| p.0).collect();
        gone.sort_unstable_by(|x, y| y.cmp(x));
        for slot in gone {
            let last = expansion.len() - 1;
            expansion.swap_remove(slot);
            event.removed(slot, last);
        }
        degradation.max(0.0)
    }

    /// No partner of the same sign: `β_b += κ β_a` on the nearest b.
    fn project(&mut self, expansion: &mut Expansion<F>, a: usize, event: &mut dyn Event) -> f64 {
        let len = expansion.len();
        let others = (0..len).filter(|&s| s != a);
        let b = others.fold(None, |best: Option<usize>, s| match best {
            Some(b) if self.scratch.row[b] <= self.scratch.row[s] => Some(b),
            _ => Some(s),
        });
        let Some(b) = b else { return remove(expansion, a, event) };
        let kappa = (-self.scratch.row[b].to_f64()).exp();
        let beta = expansion.coef(a, 0);
        let delta = kappa * beta;
        expansion.set_coef(b, 0, expansion.coef(b, 0) + delta);
        event.coef_changed(b, &[delta]);
        remove(expansion, a, event);
        beta * beta * (1.0 - kappa * kappa)
    }

    /// Several outputs: the partner and the `h` of least `A + D + 2Pκ - ‖β_z‖²`. Not unimodal in h:
    /// a coarse grid for all partners, golden section around the best of it for the best few.
    fn best_shared_partner(&mut self, expansion: &Expansion<F>, a: usize) -> (usize, f64) {
        const FINALISTS: usize = 4;
        let len = expansion.len();
        let padded = self.scratch.row.len();
        let (mut squares, mut products) = (vec![0.0; len], vec![0.0; len]);
        for c in 0..expansion.outputs() {
            let coef = expansion.coef_of(c);
            let own = coef[a];
            for ((square, product), &beta) in squares.iter_mut().zip(&mut products).zip(coef) {
                *square += beta * beta;
                *product += own * beta;
            }
        }
        let big_a = squares[a];
        self.values.clear();
        self.values.extend(squares.iter().map(|&v| F::from_f64(v)));
        self.values.resize(padded, F::zero());
        self.extra.clear();
        self.extra.extend(products.iter().map(|&v| F::from_f64(v)));
        self.extra.resize(padded, F::zero());
        let row = &self.scratch.row;
        simd::merged_squares(row, F::from_f64(big_a), &mut self.values, &mut self.extra);
        let before = |j: usize| squares[j] + 2.0 * products[j] * (-row[j].to_f64()).exp() + big_a;
        let mut finalists: Vec<(f64, usize)> = Vec::with_capacity(FINALISTS + 1);
        for j in (0..len).filter(|&j| j != a) {
            let degradation = before(j) - self.values[j].to_f64();
            if finalists.len() < FINALISTS || degradation < finalists[FINALISTS - 1].0 {
                let at = finalists.partition_point(|f| f.0 <= degradation);
                finalists.insert(at, (degradation, j));
                finalists.truncate(FINALISTS);
            }
        }
        let mut best = (f64::INFINITY, 0, 0.0);
        for (_, j) in finalists {
            let distance = row[j].to_f64();
            let square = |h: f64| {
                let u = (-distance * h * h).exp();
                let v = (-distance * (1.0 - h) * (1.0 - h)).exp();
                big_a * u * u + squares[j] * v * v + 2.0 * products[j] * u * v
            };
            let coarse = self.extra[j].to_f64();
            let around = ((coarse - 0.1).max(0.0), (coarse + 0.1).min(1.0));
            let h = golden_section(square, around, 30);
            let degradation = before(j) - square(h);
            if degradation < best.0 {
                best = (degradation, j, h);
            }
        }
        (best.1, best.2)
    }
}

fn normalise(weights: &mut [f64]) {
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|w| *w /= total);
}

/// `gap = ½ ΣΣ w_j w_l G_jl` and `k(z, s_j) = exp(gap - Σ_l w_l G_jl)` of the mean `z = Σ w_j s_j`.
fn to_mean(weights: &[f64], pairwise: &[f64]) -> (f64, Vec<f64>) {
    let rows = pairwise.chunks_exact(weights.len());
    let distances = rows.map(|row| row.iter().zip(weights).map(|(g, w)| g * w).sum::<f64>());
    let gap = 0.5 * weights.iter().zip(distances.clone()).map(|(w, d)| w * d).sum::<f64>();
    (gap, distances.map(|distance| (-(distance - gap).max(0.0)).exp()).collect())
}
