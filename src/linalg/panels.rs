//! A triangular factor in panels of rows, in `f32`, and solutions with it by all threads.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{MatMut, MatRef, Par};

use super::{add_scaled_rows, dots};
use crate::error::{Result, try_square};
use crate::parallel::{self, Rounds};
use crate::simd::{add_wide, wide_products};

/// Columns of a panel.
const PANEL: usize = 128;
/// Rows, and columns, that a part of a round reads.
const STRIP: usize = 16;
const COLUMN_STRIP: usize = 2 * PANEL;

/// L, in panels of rows that end with the panel's block on the diagonal.
#[derive(Clone, Debug)]
pub(super) struct Panels {
    n: usize,
    panels: Vec<Vec<f32>>,
    /// Inverses of the blocks on the diagonal, in `f64`: every solution takes two products with them.
    inverses: Vec<Vec<f64>>,
}

/// The inverse of the block on the diagonal of a panel.
fn inverse(panel: &[f32], (first, width): (usize, usize)) -> Result<Vec<f64>> {
    let mut block = try_square("preconditioner", width, 0.0)?;
    let rows = panel.chunks_exact(first + width).zip(block.chunks_exact_mut(width));
    rows.for_each(|(from, to)| {
        to.iter_mut().zip(&from[first..]).for_each(|(to, &v)| *to = f64::from(v));
    });
    let mut inverse = try_square("preconditioner", width, 0.0)?;
    inverse.iter_mut().step_by(width + 1).for_each(|v| *v = 1.0);
    let block = MatRef::from_row_major_slice(&block, width, width);
    let own = MatMut::from_row_major_slice_mut(&mut inverse, width, width);
    solve_lower_triangular_in_place(block, own, Par::Seq);
    Ok(inverse)
}

/// Whether a solution of so many unknowns is worth the pool.
fn is_worth(n: usize) -> bool {
    parallel::MIN_PARALLEL_WORK <= n * n / 2
}

impl Panels {
    /// None yet, of so many rows in all.
    pub(super) fn of(n: usize) -> Self {
        Self { n, panels: Vec::new(), inverses: Vec::new() }
    }

    /// The order of the matrix.
    pub(super) fn order(&self) -> usize {
        self.n
    }

    /// Where the rows of the panel that comes next begin, and how long they are.
    pub(super) fn next(&self) -> Option<(usize, usize)> {
        let first = self.panels.len() * PANEL;
        (first < self.n).then(|| (first, self.stride(self.panels.len())))
    }

    /// The next one.
    pub(super) fn push(&mut self, panel: Vec<f32>) -> Result<()> {
        if let Some((first, stride)) = self.next() {
            self.inverses.push(inverse(&panel, (first, stride - first))?);
            self.panels.push(panel);
        }
        Ok(())
    }

    /// Those there are.
    pub(super) fn all(&self) -> &[Vec<f32>] {
        &self.panels
    }

    /// Where the rows of a panel end.
    fn stride(&self, p: usize) -> usize {
        (p * PANEL + PANEL).min(self.n)
    }

    /// `x ← L_pp⁻¹ x`, or with the transpose.
    fn times_inverse(&self, p: usize, x: &mut [f64], transposed: bool) {
        let mut from = [0.0; PANEL];
        let from = &mut from[..x.len()];
        from.copy_from_slice(x);
        if transposed {
            x.fill(0.0);
            let rows: Vec<(u32, f64)> = (0..).zip(from.iter().copied()).collect();
            add_scaled_rows(&self.inverses[p], &rows, x);
        } else {
            dots(&self.inverses[p], from, x);
        }
    }

    /// Overwrites x by `L⁻ᵀ x`, or by `L⁻ᵀ L⁻¹ x` where `both`.
    pub(super) fn solve(&self, x: &mut [f64], both: bool) {
        if x.is_empty() {
            return;
        }
        let passes = Passes {
            factor: self,
            first: if both { 0 } else { self.panels.len() },
            given: &*x,
            products: x.iter().map(|_| AtomicU64::new(0)).collect(),
            columns: x.chunks(COLUMN_STRIP).map(|_| Mutex::default()).collect(),
        };
        let found = parallel::in_rounds(is_worth(self.n), &passes);
        x.copy_from_slice(&found);
    }
}

/// A panel a round: down with L, and up with Lᵀ.
///
/// ```text
/// x_p ← L_pp⁻¹ (x_p - L_p,<p x_<p),   then   x_p ← L_pp⁻ᵀ x_p,   x_<p ← x_<p - L_p,<pᵀ x_p
/// ```
struct Passes<'s> {
    factor: &'s Panels,
    /// The first panel's number; those of Lᵀ come after those of L.
    first: usize,
    given: &'s [f64],
    /// Bits of `L_p,<p x_<p`.
    products: Vec<AtomicU64>,
    /// x on the way up, by strips of columns.
    columns: Vec<Mutex<Vec<f64>>>,
}

impl Passes<'_> {
    /// The panel of a round, and whether it is one of L.
    fn panel(&self, round: usize) -> (usize, bool) {
        let (at, count) = (self.first + round, self.factor.panels.len());
        if at < count { (at, true) } else { (2 * count - 1 - at, false) }
    }

    fn strip(&self, part: usize) -> MutexGuard<'_, Vec<f64>> {
        self.columns[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `x_p ← L_pp⁻ᵀ x_p` of the last panel, where the way up begins.
    fn turn(&self, x: &mut [f64]) {
        if let Some(last) = self.factor.panels.len().checked_sub(1) {
            self.factor.times_inverse(last, &mut x[last * PANEL..], true);
        }
    }
}

impl Rounds for Passes<'_> {
    type Own = Vec<f64>;

    fn count(&self) -> usize {
        // The first panel of Lᵀ changes no other one.
        (2 * self.factor.panels.len()).saturating_sub(1 + self.first)
    }

    fn parts(&self, round: usize) -> usize {
        let (p, down) = self.panel(round);
        let first = p * PANEL;
        match down {
            _ if first == 0 => 0,
            true => (self.factor.stride(p) - first).div_ceil(STRIP),
            false => first.div_ceil(COLUMN_STRIP),
        }
    }

    fn begin(&self) -> Vec<f64> {
        let mut x = self.given.to_vec();
        if !self.panel(0).1 {
            self.turn(&mut x);
        }
        x
    }

    fn work(&self, x: &Vec<f64>, round: usize, part: usize) {
        let (p, down) = self.panel(round);
        let (first, stride) = (p * PANEL, self.factor.stride(p));
        let panel = &self.factor.panels[p];
        if down {
            let rows = panel.chunks(STRIP * stride).nth(part).unwrap_or_default();
            let rows: Vec<&[f32]> = rows.chunks_exact(stride).map(|row| &row[..first]).collect();
            let mut products = [0.0; STRIP];
            let products = &mut products[..rows.len()];
            wide_products(&rows, &x[..first], products);
            for (to, product) in self.products[first + part * STRIP..].iter().zip(products) {
                to.store(product.to_bits(), Ordering::Relaxed);
            }
            return;
        }
        let from = part * COLUMN_STRIP;
        let to = first.min(from + COLUMN_STRIP);
        let mut strip = self.strip(part);
        if strip.is_empty() {
            strip.extend_from_slice(&x[from..to]);
        }
        let by: Vec<f64> = x[first..stride].iter().map(|x| -x).collect();
        let rows: Vec<&[f32]> = panel.chunks_exact(stride).map(|row| &row[from..to]).collect();
        add_wide(&rows, &by, &mut strip[..to - from]);
    }

    fn close(&self, x: &mut Vec<f64>, round: usize) {
        let (p, down) = self.panel(round);
        let (first, stride) = (p * PANEL, self.factor.stride(p));
        if down {
            let target = &mut x[first..stride];
            for (x, product) in target.iter_mut().zip(&self.products[first..]) {
                *x -= f64::from_bits(product.load(Ordering::Relaxed));
            }
            self.factor.times_inverse(p, target, false);
            if stride == self.factor.n {
                self.turn(x);
            }
        } else {
            let before = first - PANEL;
            let at = before % COLUMN_STRIP;
            let target = &mut x[before..first];
            target.copy_from_slice(&self.strip(before / COLUMN_STRIP)[at..at + PANEL]);
            self.factor.times_inverse(p - 1, target, true);
        }
    }
}
