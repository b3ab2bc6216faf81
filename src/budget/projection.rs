//! Projection: drop the term that the others replace best, with `P = K⁻¹` kept up to date.
//!
//! ```text
//! cost of dropping r: β_r² / P_rr        β ← β - (β_r / P_rr) P_·r
//! delete r: P ← P - P_·r P_r· / P_rr, strike r
//! add x:    v = P k_x,  s = k_xx - k_xᵀ v,  P ← [P + v vᵀ/s, -v/s; -vᵀ/s, 1/s]
//! ```
//!
//! *Method*: 1. The newest term borders `P`; when `s` is too small it is not added but projected at
//! once (`β += c v`). 2. Over budget, the term of least cost goes. 3. After as many changes as
//! there are terms `P` is made anew from K.
//!
//! *Cost* of a change: O(B² + B d).

use super::event::Event;
use super::removal::remove;
use crate::error::{Error, Result, try_square, try_vec};
use crate::float::Real;
use crate::linalg::Cholesky;
use crate::model::{Expansion, RowScratch};
use crate::watch::{Reader, Words};

/// Below this share of `k_xx` a new term counts as one that the others already span: at 1e-8 the
/// updates were seen to explode.
const INDEPENDENT: f64 = 1e-4;

/// `P` of the first `len` slots, rows of `stride`.
#[derive(Clone, Debug, Default)]
pub(super) struct Projection {
    inverse: Vec<f64>,
    stride: usize,
    len: usize,
    changes: usize,
}

impl Projection {
    /// For a checkpoint.
    pub(super) fn put(&self, words: &mut Words) {
        words.put(self.changes as u64);
        words.put(self.stride as u64);
        words.put(self.len as u64);
        for row in self.inverse.chunks(self.stride.max(1)).take(self.len) {
            words.put_floats(&row[..self.len]);
        }
    }

    /// What [`Projection::put`] put.
    pub(super) fn read(&mut self, reader: &mut Reader) -> Result<()> {
        let most = u32::MAX as usize;
        (self.changes, self.stride) = (reader.take_count(most)?, reader.take_count(most)?);
        self.len = reader.take_count(self.stride)?;
        // Room for more is made where it is wanted.
        self.stride = self.stride.min(2 * self.len);
        let size = self.stride.saturating_mul(self.stride);
        self.inverse = try_vec("inverse kernel matrix", size, 0.0)?;
        for row in self.inverse.chunks_mut(self.stride.max(1)).take(self.len) {
            reader.take_into(&mut row[..self.len])?;
        }
        Ok(())
    }

    pub(super) fn reduce<F: Real>(
        &mut self,
        expansion: &mut Expansion<F>,
        budget: usize,
        event: &mut dyn Event,
    ) -> Result<Option<f64>> {
        let terms = expansion.len();
        if self.stride < terms {
            self.grow((2 * terms).min(budget + 1).max(terms))?;
        }
        if self.len + 1 != terms || self.changes > terms {
            self.refresh(expansion, terms - 1)?;
        }
        let mut scratch = RowScratch::default();
        let newest = terms - 1;
        expansion.stored_row(newest, &mut scratch);
        expansion.kernel().stored_to_values(&mut scratch.row);
        let k: Vec<f64> = scratch.row[..terms].iter().map(|&v| v.to_f64()).collect();
        let v = self.times(&k[..newest]);
        let s = k[newest] - v.iter().zip(&k).map(|(v, k)| v * k).sum::<f64>();
        if s <= INDEPENDENT * k[newest].abs() || !s.is_finite() {
            let degradation = self.spread(expansion, newest, &v, s.max(0.0), event);
            return Ok(Some(degradation));
        }
        self.border(&v, s);
        let mut total = None;
        while expansion.len() > budget {
            let r = self.cheapest(expansion);
            let diagonal = self.inverse[r * self.stride + r];
            let column: Vec<f64> = (0..self.len)
                .map(|i| if i == r { 0.0 } else { -self.inverse[i * self.stride + r] / diagonal })
                .collect();
            *total.get_or_insert(0.0) += self.spread(expansion, r, &column, 1.0 / diagonal, event);
        }
        Ok(total)
    }

    /// Moves the coefficients of `r` onto the others by `shares` and drops it; the squared residual
    /// of `k(s_r, ·)` is `residual`.
    fn spread<F: Real>(
        &mut self,
        expansion: &mut Expansion<F>,
        r: usize,
        shares: &[f64],
        residual: f64,
        event: &mut dyn Event,
    ) -> f64 {
        let outputs = expansion.outputs();
        let own: Vec<f64> = (0..outputs).map(|c| expansion.coef(r, c)).collect();
        let mut delta = vec![0.0; outputs];
        for (slot, &share) in shares.iter().enumerate().filter(|(slot, _)| *slot != r) {
            for (c, delta) in delta.iter_mut().enumerate() {
                *delta = own[c] * share;
                expansion.set_coef(slot, c, expansion.coef(slot, c) + *delta);
            }
            event.coef_changed(slot, &delta);
        }
        self.forget(r);
        remove(expansion, r, event);
        residual * own.iter().map(|b| b * b).sum::<f64>()
    }

    fn cheapest<F: Real>(&self, expansion: &Expansion<F>) -> usize {
        let cost = |r: usize| {
            let square: f64 = (0..expansion.outputs()).map(|c| expansion.coef(r, c).powi(2)).sum();
            square / self.inverse[r * self.stride + r]
        };
        (0..self.len).min_by(|&i, &j| cost(i).total_cmp(&cost(j))).unwrap_or(0)
    }

    fn times(&self, k: &[f64]) -> Vec<f64> {
        let rows = self.inverse.chunks(self.stride.max(1)).take(k.len());
        rows.map(|row| row.iter().zip(k).map(|(p, k)| p * k).sum()).collect()
    }

    fn border(&mut self, v: &[f64], s: f64) {
        let n = self.len;
        for i in 0..n {
            for j in 0..n {
                self.inverse[i * self.stride + j] += v[i] * v[j] / s;
            }
            self.inverse[i * self.stride + n] = -v[i] / s;
            self.inverse[n * self.stride + i] = -v[i] / s;
        }
        self.inverse[n * self.stride + n] = 1.0 / s;
        self.len += 1;
        self.changes += 1;
    }

    /// Strikes slot `r`; the last slot takes its place. A slot beyond `len` was never bordered.
    pub(super) fn forget(&mut self, r: usize) {
        if r >= self.len {
            return;
        }
        let (n, stride) = (self.len, self.stride);
        let row: Vec<f64> = self.inverse[r * stride..][..n].to_vec();
        let diagonal = row[r];
        for i in 0..n {
            for j in 0..n {
                self.inverse[i * stride + j] -= row[i] * row[j] / diagonal;
            }
        }
        let last = n - 1;
        for i in 0..n {
            self.inverse.swap(i * stride + r, i * stride + last);
        }
        for j in 0..n {
            self.inverse.swap(r * stride + j, last * stride + j);
        }
        self.len -= 1;
        self.changes += 1;
    }

    fn grow(&mut self, stride: usize) -> Result<()> {
        let mut inverse = try_square("inverse kernel matrix", stride, 0.0)?;
        for i in 0..self.len {
            inverse[i * stride..][..self.len]
                .copy_from_slice(&self.inverse[i * self.stride..][..self.len]);
        }
        (self.inverse, self.stride) = (inverse, stride);
        Ok(())
    }

    /// `P` of the first `len` slots from a fresh K.
    fn refresh<F: Real>(&mut self, expansion: &Expansion<F>, len: usize) -> Result<()> {
        let mut scratch = RowScratch::default();
        let mut gram = try_square("kernel matrix", len, 0.0)?;
        for (slot, out) in gram.chunks_exact_mut(len.max(1)).enumerate() {
            expansion.stored_row(slot, &mut scratch);
            expansion.kernel().stored_to_values(&mut scratch.row);
            out.iter_mut().zip(&scratch.row).for_each(|(o, &k)| *o = k.to_f64());
        }
        let factor =
            Cholesky::factor("the kernel matrix of the terms", &gram, len, 0.0, &mut || {
                Ok::<_, Error>(())
            })?;
        for i in 0..len {
            let row = &mut self.inverse[i * self.stride..][..len];
            row.fill(0.0);
            row[i] = 1.0;
            factor.solve(row);
        }
        (self.len, self.changes) = (len, 0);
        Ok(())
    }
}
