//! Newton's method by conjugate gradients on the rows that matter: for many samples or terms.
//!
//! At the minimum few samples have a loss that slopes or bends. Theirs and their neighbours' rows of
//! K_nB are kept in `f32`; Newton's equations on them are solved by conjugate gradients, which need
//! two products with the rows in the quadratic zone a step, not their Hessian.
//!
//! # Method
//!
//! 1. Margins of all samples in one pass over K_nB; at first those of the start, times the scalar
//!    that is best for it. Later the best point between the last one and the one found since.
//! 2. Done when that is the minimum on the rows kept and no other row has come to matter.
//! 3. Rows are kept whose loss slopes or bends, or would if the margin moved by `SLACK`; in
//!    memory those that matter as it is, as many as `cache_bytes` holds; the others are made again
//!    when they are needed. Far from the minimum, where they are many, they are held in 16 bits: a
//!    product takes as long as reading them. What is held then stands for all.
//! 4. Newton's steps on these ([`newton`]); a long one alone.
//!
//! The first long steps are taken on a part of the samples where these are many ([`part`]), or along
//! some of the terms where these are ([`coarse`]), those after them on the samples near the margin
//! ([`near`]).
//!
//! # Cost
//!
//! A pass over K_nB, n B kernel values, for every long step (four or five; where few samples are near
//! the margin, over these) and two or three at the end; a step of conjugate gradients 4 q B, a factor
//! s B² + B³/3. Memory: the rows kept, B² numbers in `f64` where `cache_bytes` has room for as many
//! (else K_BB is made again for every product that is to be exact, some four a step), one and a half
//! times as many in `f32`, and half as many in `f64` while a factor is made; four numbers a sample and
//! 240 a term at most.
//!
//! # Certificate
//!
//! The decrease that Newton's model predicts, with all rows that matter, is at most `tol` of the
//! objective.
//!
//! References: ours; \[PRIMAL\] section 4 for Newton's steps by conjugate gradients.

mod basis;
mod coarse;
#[cfg(test)]
mod coarse_tests;
mod direction;
mod left_out;
mod near;
mod newton;
mod part;
mod rows;
mod sketch;
#[cfg(test)]
mod sketch_tests;
mod trail;

use std::sync::{Mutex, PoisonError};

use super::held::{Held, Width};
use super::steps::Shared;
use crate::data::check_finite;
use crate::error::try_vec;
use crate::float::Real;
use crate::linalg::{axpy, dot};
use crate::parallel;
use crate::rng::Rng;
use crate::simd::zeroed;
use crate::solver::smoothed::ray::{Ray, Samples};
use crate::solver::smoothed::{KernelRows, Polished};
use crate::watch::{Step, Watch};
use newton::{End, Last, Stage};
use rows::{CHUNK, Rows};
use trail::{Leg, Place, Trail};

pub(super) use basis::Basis;
pub(super) use left_out::left_out;

/// How far margins may move before a sample that they bring in is missed.
const SLACK: f64 = 0.3;
/// Share of the objective that its evaluation may be off by.
const ROUNDING: f64 = 1e-13;
/// Bits of a word of marks.
const WORD: usize = 64;
/// Bytes of a row that is kept, beside its kernel values.
const BESIDE: usize = 36;
/// One in so many of the bytes is for kernel values however many rows there are.
const LEAST_HELD: usize = 32;
/// Bytes of rows that caches do not hold: how many are read is how long a product takes.
const FROM_MEMORY: usize = 128 << 20;
/// Passes over all samples at most.
const ROUNDS: usize = 40;
const SEED: u64 = 7;
/// The memory of rows stays while all samples are looked at where a number of each takes no more than
/// one in so many of the bytes for rows.
const SPARED: usize = 8;

/// One output's problem, or that of a part of the samples.
struct Solver<'s, 'a, 'k, F: Real> {
    shared: &'s Shared<'a>,
    kernel: &'k dyn KernelRows<F>,
    samples: Samples<'k>,
    bytes: usize,
    basis: &'k Basis<'k, F>,
    /// A step that promises less, as a share of the objective, is left to others.
    until: f64,
    /// Memory for kernel values that nobody uses.
    held: &'k Mutex<Held>,
    /// Where it is in a checkpoint, and the place of all samples beside its own.
    trail: &'k Trail,
    leg: Leg,
    outer: Option<&'k Place>,
}

/// Some samples of a kernel.
struct Few<'k, F: Real> {
    of: &'k dyn KernelRows<F>,
    samples: Vec<u32>,
}

/// Hears of every place.
type Tell<'t> = dyn FnMut(&Place, &mut Watch<'_>) -> Step + 't;

/// Solves for all outputs in turn; whether what was asked for was met. `result` holds what is known
/// whenever this returns.
pub(super) fn solve<F: Real>(
    shared: &Shared<'_>,
    (kernel, basis): (&dyn KernelRows<F>, &Basis<'_, F>),
    bytes: usize,
    result: &mut Polished,
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let m = result.intercept.len();
    let (mut sum, mut all, mut first, mut left) = ([0.0; 2], true, 0, None);
    if let Some((before, reader)) = trail::found(result, watch)? {
        ((first, sum, all), left) = (before, Some(reader));
    }
    for index in first..m {
        let mut plain = [f64::NAN; 2];
        let trail = Trail::new((index, sum, all), result, left.take(), watch)?;
        let kernel = (kernel, basis, bytes);
        let told = (sum[0], &mut plain);
        let done = solve_one(shared, kernel, &trail, (index, result), told, watch);
        sum.iter_mut().zip(plain).for_each(|(sum, v)| *sum += v);
        if done.is_err() && index + 1 < m {
            result.forget();
        } else {
            (result.smoothed, result.primal) = (sum[0], sum[1]);
        }
        all &= done?;
    }
    Ok(all)
}

fn solve_one<F: Real>(
    shared: &Shared<'_>,
    (kernel, basis, bytes): (&dyn KernelRows<F>, &Basis<'_, F>, usize),
    trail: &Trail,
    (index, result): (usize, &mut Polished),
    (before, plain): (f64, &mut [f64; 2]),
    watch: &mut Watch<'_>,
) -> Step<bool> {
    let (polish, b) = (shared.polish, kernel.n_terms());
    let samples = shared.samples(index, polish.h);
    let (leg, outer) = (Leg::ALL, None);
    let (until, held) = (0.0, &Mutex::default());
    let solver = Solver { shared, kernel, samples, bytes, basis, until, held, trail, leg, outer };
    let mut point = result.coef_of(index);
    point.extend(polish.fit_intercept.then_some(result.intercept[index]));
    let mut place = solver.zero(0)?;
    let mut tell = |place: &Place, watch: &mut Watch<'_>| {
        let (coef, offset) = place.point.split_at(b);
        result.put(index, coef, offset.first().copied().unwrap_or(0.0));
        *plain = shared.plain(&samples, coef, solver.penalty(&place.point, watch)?, &place.f);
        watch.at(place.steps, before + plain[0]);
        watch.poll()
    };
    let mut last = Last::default();
    let start = (&point[..], &mut last);
    if !trail.is_at(leg) {
        solver.begin(&mut place, start, &mut tell, watch)?;
    }
    let done = solver.descend(&mut place, &mut last, &mut tell, watch);
    result.steps = result.steps.max(place.steps);
    done
}

impl<F: Real> Solver<'_, '_, '_, F> {
    /// The zero model.
    fn zero(&self, steps: usize) -> Step<Place> {
        let f = zeroed("margins", self.kernel.n_rows())?;
        let order = self.kernel.n_terms() + usize::from(self.shared.polish.fit_intercept);
        let value = self.samples.loss_at(&f);
        Ok(Place { point: vec![0.0; order], f, value, steps })
    }

    /// What stands in the objective beside the losses.
    fn penalty(&self, point: &[f64], watch: &mut Watch<'_>) -> Step<f64> {
        let coef = &point[..self.kernel.n_terms()];
        Ok(self.penalty_by(point, &self.basis.times(coef, watch)?))
    }

    /// The same, where `pull` is K_BB β.
    fn penalty_by(&self, point: &[f64], pull: &[f64]) -> f64 {
        0.5 * dot(&point[..pull.len()], pull) + self.tilt(point)
    }

    /// The offset's own part.
    fn tilt(&self, point: &[f64]) -> f64 {
        self.shared.tilt * point.get(self.kernel.n_terms()).copied().unwrap_or(0.0)
    }

    /// Down to the minimum, or until a step promises little; whether it came there.
    fn descend(
        &self,
        place: &mut Place,
        last: &mut Last,
        tell: &mut Tell<'_>,
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let (shared, polish) = (self.shared, self.shared.polish);
        let first = self.trail.resume(self.leg, place, last)?;
        let mut point = place.point.clone();
        for round in first..ROUNDS {
            tell(place, watch)?;
            self.trail.keep((self.leg, self.outer), (place, last, round), watch)?;
            if place.steps >= polish.max_steps {
                break;
            }
            // Steps 3 and 4.
            let Some((rows, kept)) = self.step_3_keep(place, last, watch)? else {
                break;
            };
            let stage = Stage {
                shared,
                rows: &rows,
                basis: self.basis,
                from: None,
                samples: self.samples,
                tol: polish.tol,
                until: self.until,
                max_steps: polish.max_steps - place.steps,
                alone: false,
            };
            let (found, steps) = (&mut point, &mut place.steps);
            found.copy_from_slice(&place.point);
            let settled = stage.minimise(found, steps, &place.f, last, watch)? == End::Minimum;
            self.spare(rows);
            if settled && (self.until > 0.0 || point == place.point) {
                // Where it is left to others, these look.
                place.point.copy_from_slice(&point);
                return Ok(true);
            }
            // Steps 1 and 2.
            let before = place.value;
            let whole = self.step_1_look(place, (&point, settled), watch)?;
            // All the way, or no way at all: what is left then is in the rounding of the rows kept.
            let there = whole || place.value >= before;
            if settled && there && !self.others_matter(&kept, place) {
                tell(place, watch)?;
                return Ok(true);
            }
        }
        tell(place, watch)?;
        Ok(false)
    }

    /// To the best place between where it stands and `point`; whether that is the point itself.
    fn step_1_look(
        &self,
        place: &mut Place,
        (point, settled): (&[f64], bool),
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let mut s = zeroed("margins", self.kernel.n_rows())?;
        let (coef, offset) = point.split_at(self.kernel.n_terms());
        let offset = offset.first().copied().unwrap_or(0.0);
        rows::margins(self.kernel, (coef, offset), &mut s, watch)?;
        check_finite("kernel matrix", &s, 1)?;
        self.step_1_go(place, (point, settled), &mut s, watch)
    }

    /// The same, with the margins `s` of the point.
    fn step_1_go(
        &self,
        place: &mut Place,
        (point, settled): (&[f64], bool),
        s: &mut [f64],
        watch: &mut Watch<'_>,
    ) -> Step<bool> {
        let samples = self.samples;
        let b = self.kernel.n_terms();
        let reached = self.basis.times(&point[..b], watch)?;
        let value = self.penalty_by(point, &reached) + samples.loss_at(s);
        let rounding = ROUNDING * value.abs();
        if settled && value <= place.value + rounding || *point == place.point {
            place.f.copy_from_slice(s);
            place.point.copy_from_slice(point);
            place.value = value;
            return Ok(true);
        }
        let change: Vec<f64> = point.iter().zip(&place.point).map(|(to, at)| to - at).collect();
        along(s, &place.f, &|s, f| *s -= f);
        let pull = self.basis.times(&place.point[..b], watch)?;
        let ahead = dot(&change[..b], &pull);
        let ray = Ray {
            samples,
            f: &place.f,
            s,
            base: self.penalty_by(&place.point, &pull),
            linear: ahead + self.tilt(&change),
            quadratic: (dot(&change[..b], &reached) - ahead).max(0.0),
        };
        let (t, value) = ray.minimise();
        axpy(t, &change, &mut place.point);
        along(&mut place.f, s, &|f, s| *f += t * s);
        place.value = value;
        Ok(t == 1.0)
    }

    /// The rows kept, and a bit a sample, whether it is among them; none where those that bend would have to be
    /// made again for every product.
    fn step_3_keep(
        &self,
        place: &Place,
        last: &Last,
        watch: &mut Watch<'_>,
    ) -> Step<Option<(Rows<'_, F>, Vec<u64>)>> {
        let n = place.f.len();
        let samples = self.samples;
        // Three bits a sample, and one list that they make: what threads hold for a while stays theirs.
        let mut marks: Vec<Vec<u64>> = Vec::with_capacity(3);
        for _ in 0..3 {
            marks.push(try_vec("samples", n.div_ceil(WORD), 0_u64)?);
        }
        if let [curved, sloped, others] = &mut marks[..] {
            let words = CHUNK / WORD;
            let marks = curved.chunks_mut(words).zip(sloped.chunks_mut(words));
            let parts = marks.zip(others.chunks_mut(words)).zip(place.f.chunks(CHUNK));
            parallel::each(parts, &|chunk, (((curved, sloped), others), f)| {
                for (at, &f) in f.iter().enumerate() {
                    let i = chunk * CHUNK + at;
                    let mark = if samples.cost[i] > 0.0 && samples.at(i, f).curvature > 0.0 {
                        &mut *curved
                    } else if matters(&samples, i, f, 0.0) {
                        &mut *sloped
                    } else if matters(&samples, i, f, SLACK) {
                        &mut *others
                    } else {
                        continue;
                    };
                    mark[at / WORD] |= 1 << (at % WORD);
                }
            });
        }
        let count = marks.iter().flatten().map(|word| word.count_ones() as usize).sum();
        let mut rows: Vec<u32> = Vec::with_capacity(count);
        rows.extend(set(&marks[0]));
        let too_many = rows.len().saturating_mul(4 * self.kernel.n_terms()) > self.bytes;
        if too_many && !samples.loss.uses_h() {
            return Ok(None);
        }
        rows.extend(set(&marks[1]));
        let matter = rows.len();
        let bytes = held_bytes(self.bytes, count);
        let needed = |width: Width| matter.saturating_mul(width.bytes(self.kernel.n_terms()));
        let far = last.cautious && last.is_long() && needed(Width::Full) > FROM_MEMORY;
        let width = if far { Width::Short } else { Width::Full };
        if last.cautious && needed(width) > bytes {
            // Those that are held stand for all.
            Rng::new(SEED).shuffle(&mut rows);
        }
        rows.extend(set(&marks[2]));
        let mut kept = marks.swap_remove(0);
        for others in marks {
            kept.iter_mut().zip(others).for_each(|(all, own)| *all |= own);
        }
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        let rows = Rows::within((held, width), self.kernel, (rows, matter), bytes, watch)?;
        Ok(Some((rows, kept)))
    }

    /// Keeps the memory of rows for the next, unless samples are so many that looking at all takes much.
    fn spare(&self, rows: Rows<'_, F>) {
        if size_of::<f64>() * self.shared.n_samples() <= self.bytes / SPARED {
            *self.held.lock().unwrap_or_else(PoisonError::into_inner) = rows.held();
        }
    }

    /// Whether a sample matters without a bit.
    fn others_matter(&self, bits: &[u64], place: &Place) -> bool {
        let parts = place.f.chunks(CHUNK).collect::<Vec<_>>();
        let found = parallel::map(parts.len(), &|chunk| {
            let mut samples = (chunk * CHUNK..).zip(parts[chunk]);
            samples.any(|(i, &f)| !is_in(bits, i) && matters(&self.samples, i, f, 0.0))
        });
        found.contains(&true)
    }
}

/// Bytes for the kernel values of so many rows: where what else is kept of them takes more than half of
/// what there is, it counts too.
fn held_bytes(bytes: usize, rows: usize) -> usize {
    let beside = BESIDE.saturating_mul(rows);
    if beside <= bytes / 2 { bytes } else { bytes.saturating_sub(beside).max(bytes / LEAST_HELD) }
}

/// Which bits are set.
fn set(bits: &[u64]) -> impl Iterator<Item = u32> + '_ {
    bits.iter().enumerate().flat_map(|(at, &word)| {
        let rest = std::iter::successors(Some(word), |word| Some(word & word.wrapping_sub(1)));
        let first = (at * WORD) as u32;
        rest.take_while(|&word| word != 0).map(move |word| first + word.trailing_zeros())
    })
}

/// Whether a bit says so.
fn is_in(bits: &[u64], i: usize) -> bool {
    bits[i / WORD] >> (i % WORD) & 1 == 1
}

/// Changes a number of every sample, by another one of it.
fn along(to: &mut [f64], from: &[f64], change: &(dyn Fn(&mut f64, f64) + Sync)) {
    let parts = to.chunks_mut(CHUNK).zip(from.chunks(CHUNK));
    parallel::each(parts, &|_, (to, from)| {
        to.iter_mut().zip(from).for_each(|(to, &from)| change(to, from));
    });
}

/// Whether the loss of sample i slopes or bends at a margin within `slack` of this one.
fn matters(samples: &Samples<'_>, i: usize, f: f64, slack: f64) -> bool {
    let near = |f: f64| {
        let c = samples.at(i, f);
        c.slope != 0.0 || c.curvature > 0.0
    };
    samples.cost[i] > 0.0 && (near(f) || slack > 0.0 && (near(f - slack) || near(f + slack)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beside_their_kernel_values_count_where_they_are_many() {
        let bytes = 200_000_000;
        assert_eq!(held_bytes(bytes, 1_000_000), bytes);
        assert_eq!(held_bytes(bytes, 4_000_000), bytes - 4_000_000 * BESIDE);
        assert_eq!(held_bytes(bytes, usize::MAX), bytes / LEAST_HELD);
    }

    #[test]
    fn bits_say_which() {
        let bits = [1 << 63, 0, 1 | 1 << 5];
        let found: Vec<usize> = (0..192).filter(|&i| is_in(&bits, i)).collect();
        assert_eq!(found, [63, 128, 133]);
        assert_eq!(set(&bits).collect::<Vec<_>>(), [63, 128, 133]);
        assert_eq!(set(&[u64::MAX]).count(), WORD);
    }
}
