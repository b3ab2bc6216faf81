//! K_BB as the steps need it: in `f32` for products with directions, and in `f64` for what is to be
//! exact. Where the latter takes too much memory its rows are made again for every product.

use std::borrow::Cow;

use crate::data::check_finite;
use crate::error::{Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::dots;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::polish::row::{GROUP, Row, meet};
use crate::solver::polish::steps::Shared;
use crate::solver::smoothed::{KernelRows, gram_rows};
use crate::watch::{Step, Watch};

/// Rows that a task multiplies in `f32`; sums of tasks are added in `f64`.
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
    ) -> Result<Self> {
        let gram = &shared.gram[..];
        let mut single = try_vec("kernel matrix", gram.len(), 0.0_f32)?;
        single.iter_mut().zip(gram).for_each(|(to, &v)| *to = v as f32);
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
    ) -> Result<Basis<'s, F>> {
        let b = terms.len();
        let held = if self.gram.is_empty() { 0 } else { b };
        let mut gram = try_vec("kernel matrix", held * b, 0.0)?;
        let mut single = try_square("kernel matrix", b, 0.0_f32)?;
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
        let mut out = vec![0.0; b];
        if !self.gram.is_empty() {
            let parts = out.chunks_mut(ROW_CHUNK).zip(self.gram.chunks(ROW_CHUNK * b));
            parallel::each_if(worth(b), parts, &|_, (out, rows)| dots(rows, p, out));
            return Ok(out);
        }
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

    /// The same by the values in `f32`: the lower triangle is read, once, for both halves.
    pub(super) fn single_times(&self, p: &[f64]) -> Vec<f64> {
        let b = self.b;
        let p: Vec<f32> = p.iter().map(|&v| v as f32).collect();
        let strips = b.div_ceil(STRIP);
        // The longest first.
        let parts = parallel::map(strips, &|at| {
            let first = (strips - 1 - at) * STRIP;
            self.strip_times((first, b.min(first + STRIP)), &p)
        });
        let mut out = vec![0.0; b];
        for part in parts.iter().rev() {
            out.iter_mut().zip(part).for_each(|(out, &v)| *out += f64::from(v));
        }
        out
    }

    /// What rows `first..last` of the lower triangle, and their mirror image, add to K_BB p.
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

/// Whether a product is worth the pool.
fn worth(b: usize) -> bool {
    b * b >= parallel::MIN_PARALLEL_WORK
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::solver::polish::tests::Dense;

    #[test]
    fn half_of_the_matrix_says_what_all_of_it_does() {
        let mut watch = Watch::of_tests();
        let mut rng = Rng::new(3);
        for b in [1, 7, 8, 255, 256, 300, 523] {
            let basis: Vec<f64> = (0..2 * b).map(|_| 3.0 * rng.uniform()).collect();
            let kernel = Dense { x: vec![0.0; 2], d: 2, basis, gamma: 1.0 };
            let basis = Basis::made(&kernel, &mut watch).unwrap().with_ridge(0.25);
            let p: Vec<f64> = (0..b).map(|_| rng.uniform() - 0.5).collect();
            let exact = basis.times(&p, &mut watch).unwrap();
            let found = basis.single_times(&p);
            let most = p.iter().map(|v| v.abs()).sum::<f64>();
            for (found, exact) in found.iter().zip(&exact) {
                assert!((found - exact).abs() <= 1e-6 * most, "{b}: {found} {exact}");
            }
        }
    }
}
