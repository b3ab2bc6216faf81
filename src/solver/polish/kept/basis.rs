//! K_BB as the steps need it: in `f32` for products with directions, and in `f64` for what is to be
//! exact. Where the latter takes too much memory its rows are made again for every product.

use std::borrow::Cow;

use crate::data::check_finite;
use crate::error::try_square;
use crate::float::Real;
use crate::linalg::{add_scaled_rows, dots};
use crate::parallel::{self, ROW_CHUNK};
use crate::simd::touched;
use crate::solver::polish::row::{GROUP, Row, meet};
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::{KernelRows, gram_rows};
use crate::watch::{Step, Watch};

/// Rows that a task multiplies; sums of tasks are added in `f64`.
const STRIP: usize = 4 * ROW_CHUNK;

/// K_BB and its ridge.
pub(in crate::solver::polish) struct Basis<'k, F: Real> {
    kernel: &'k dyn KernelRows<F>,
    pub(super) b: usize,
    /// With the ridge; empty where it is made again.
    gram: Cow<'k, [f64]>,
    /// The same in `f32`.
    single: Vec<f32>,
    ridge: f64,
}

impl<'k, F: Real> Basis<'k, F> {
    /// Of a matrix that is held.
    pub(in crate::solver::polish) fn of(
        shared: &'k Shared<'_>,
        kernel: &'k dyn KernelRows<F>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let gram = &shared.gram[..];
        let mut single: Vec<f32> = touched("kernel matrix", gram.len(), &mut || watch.poll())?;
        let at_once = ROW_CHUNK * kernel.n_terms().max(1);
        parallel::each(single.chunks_mut(at_once).zip(gram.chunks(at_once)), &|_, (to, gram)| {
            to.iter_mut().zip(gram).for_each(|(to, &v)| *to = v as f32);
        });
        Ok(Self { kernel, b: kernel.n_terms(), gram: Cow::Borrowed(gram), single, ridge: 0.0 })
    }

    /// Of one that is not, without a ridge.
    pub(in crate::solver::polish) fn made(
        kernel: &'k dyn KernelRows<F>,
        watch: &mut Watch<'_>,
    ) -> Step<Self> {
        let b = kernel.n_terms();
        let mut single = try_square("kernel matrix", b, 0.0_f32)?;
        let (at_once, task) = gram_rows(kernel);
        for (part, out) in single.chunks_mut((at_once * b).max(1)).enumerate() {
            parallel::each(out.chunks_mut(task * b), &|c, out| {
                let mut rows = vec![0.0; out.len()];
                kernel.fill_gram(part * at_once + c * task, &mut rows);
                out.iter_mut().zip(&rows).for_each(|(to, &v)| *to = v as f32);
            });
            watch.poll()?;
        }
        let diagonal: Vec<f64> = (0..b).map(|j| f64::from(single[j * b + j])).collect();
        check_finite("kernel matrix", &diagonal, 1)?;
        Ok(Self { kernel, b, gram: Cow::Borrowed(&[]), single, ridge: 0.0 })
    }

    /// Of some of the terms, whose rows these are.
    pub(super) fn some<'s>(
        &self,
        kernel: &'s dyn KernelRows<F>,
        terms: &[u32],
        watch: &mut Watch<'_>,
    ) -> Step<Basis<'s, F>> {
        let (what, b) = ("kernel matrix", terms.len());
        let held = if self.gram.is_empty() { 0 } else { b };
        let mut gram: Vec<f64> = touched(what, held.saturating_mul(b), &mut || watch.poll())?;
        let mut single: Vec<f32> = touched(what, b.saturating_mul(b), &mut || watch.poll())?;
        let from = |i: usize, j: usize| terms[i] as usize * self.b + terms[j] as usize;
        parallel::each(gram.chunks_mut(b), &|i, row| {
            row.iter_mut().enumerate().for_each(|(j, to)| *to = self.gram[from(i, j)]);
        });
        parallel::each(single.chunks_mut(b), &|i, row| {
            row.iter_mut().enumerate().for_each(|(j, to)| *to = self.single[from(i, j)]);
        });
        Ok(Basis { kernel, b, gram: Cow::Owned(gram), single, ridge: self.ridge })
    }

    /// The same with this ridge.
    pub(in crate::solver::polish) fn with_ridge(mut self, ridge: f64) -> Self {
        self.ridge = ridge;
        (0..self.b).for_each(|j| self.single[j * self.b + j] += ridge as f32);
        self
    }

    /// The mean entry of the diagonal.
    pub(in crate::solver::polish) fn mean(&self) -> f64 {
        (0..self.b).map(|j| self.at(j, j)).sum::<f64>() / self.b.max(1) as f64
    }

    /// An entry, as near as it is held.
    pub(super) fn at(&self, i: usize, j: usize) -> f64 {
        let at = i * self.b + j;
        self.gram.get(at).copied().unwrap_or_else(|| f64::from(self.single[at]))
    }

    /// K_BB p, in parallel.
    pub(super) fn times(&self, p: &[f64], watch: &mut Watch<'_>) -> Step<Vec<f64>> {
        let b = self.b;
        if !self.gram.is_empty() {
            return Ok(by_strips(b, &|rows| self.exact_strip_times(rows, p)));
        }
        let mut out = vec![0.0; b];
        let (at_once, task) = gram_rows(self.kernel);
        for (part, out) in out.chunks_mut(at_once).enumerate() {
            parallel::each(out.chunks_mut(task), &|c, out| {
                let first = part * at_once + c * task;
                let mut rows = vec![0.0; out.len() * b];
                self.kernel.fill_gram(first, &mut rows);
                dots(&rows, p, out);
                out.iter_mut().zip(&p[first..]).for_each(|(out, p)| *out += self.ridge * p);
            });
            watch.poll()?;
        }
        Ok(out)
    }

    /// The same by the values in `f32`.
    pub(super) fn single_times(&self, p: &[f64]) -> Vec<f64> {
        let p: Vec<f32> = p.iter().map(|&v| v as f32).collect();
        by_strips(self.b, &|rows| self.strip_times(rows, &p))
    }

    /// What rows `first..last` of the lower triangle, and their mirror image, add to K_BB p.
    fn exact_strip_times(&self, (first, last): (usize, usize), p: &[f64]) -> Vec<f64> {
        let mut sum = vec![0.0; last];
        for i in first..last {
            let (row, end) = self.gram[i * self.b..][..=i].split_at(i);
            let mut own = [0.0];
            dots(row, &p[..i], &mut own);
            add_scaled_rows(row, &[(0, p[i])], &mut sum[..i]);
            sum[i] += own[0] + end[0] * p[i];
        }
        sum
    }

    /// The same of the values in `f32`.
    fn strip_times(&self, (first, last): (usize, usize), p: &[f32]) -> Vec<f32> {
        let mut sum = vec![0.0; last];
        let mut own = vec![0.0; last - first];
        for i in (first..last).step_by(GROUP) {
            let end = last.min(i + GROUP);
            let own = &mut own[i - first..end - first];
            let row = |k: usize| &self.single[(i + k) * self.b..][..end];
            // Left of the corner on the diagonal ...
            let mut rows = [Row::Full(&[], 1.0); GROUP];
            rows[..own.len()].iter_mut().enumerate().for_each(|(k, to)| {
                *to = Row::Full(&row(k)[..i], 1.0);
            });
            meet(&rows[..own.len()], &p[..i], &mut sum[..i], |k, product| {
                own[k] = product;
                p[i + k]
            });
            // ... and in it, where both halves are at hand.
            for (k, own) in own.iter_mut().enumerate() {
                let corner = row(k)[i..].iter().zip(&p[i..end]);
                *own += corner.map(|(v, p)| v * p).sum::<f32>();
            }
        }
        sum[first..].iter_mut().zip(&own).for_each(|(sum, own)| *sum += own);
        sum
    }
}

/// The sum of what strips of a lower triangle add to a product, in parallel: it is read once for both
/// halves.
fn by_strips<T: Into<f64> + Copy + Send>(
    b: usize,
    part: &(dyn Fn((usize, usize)) -> Vec<T> + Sync),
) -> Vec<f64> {
    let strips = b.div_ceil(STRIP);
    // The longest first.
    let parts = parallel::map(strips, &|at| {
        let first = (strips - 1 - at) * STRIP;
        part((first, b.min(first + STRIP)))
    });
    let mut out = vec![0.0; b];
    for part in parts.iter().rev() {
        out.iter_mut().zip(part).for_each(|(out, &v)| *out += v.into());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::solver::polish::tests::Dense;
    use crate::solver::smoothed::basis_gram;

    #[test]
    fn half_of_the_matrix_says_what_all_of_it_does() {
        let mut watch = Watch::of_tests();
        let mut rng = Rng::new(3);
        for b in [1, 7, 8, 255, 256, 300, 523] {
            let basis: Vec<f64> = (0..2 * b).map(|_| 3.0 * rng.uniform()).collect();
            let kernel = Dense { x: vec![0.0; 2], d: 2, basis, gamma: 1.0 };
            let mut gram = basis_gram(&kernel, &mut watch).unwrap();
            gram.iter_mut().step_by(b + 1).for_each(|v| *v += 0.25);
            let basis = Basis::made(&kernel, &mut watch).unwrap().with_ridge(0.25);
            let p: Vec<f64> = (0..b).map(|_| rng.uniform() - 0.5).collect();
            let made = basis.times(&p, &mut watch).unwrap();
            let single = basis.single_times(&p);
            let held = Basis { gram: Cow::Owned(gram.clone()), ..basis };
            let held = held.times(&p, &mut watch).unwrap();
            let most = p.iter().map(|v| v.abs()).sum::<f64>();
            for (i, row) in gram.chunks_exact(b).enumerate() {
                let exact: f64 = row.iter().zip(&p).map(|(v, p)| v * p).sum();
                for (found, within) in [(made[i], 1e-14), (held[i], 1e-14), (single[i], 1e-6)] {
                    assert!((found - exact).abs() <= within * most, "{b}: {found} {exact}");
                }
            }
        }
    }
}
