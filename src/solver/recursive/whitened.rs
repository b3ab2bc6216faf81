//! Newton's directions by the rows of the zone, where these are fewer than the unknowns.
//!
//! ```text
//! A = K + H = LLᵀ,  V = √W Φ L⁻ᵀ:   (A + ΦᵀWΦ)⁻¹ = L⁻ᵀ (I - Vᵀ (I + VVᵀ)⁻¹ V) L⁻¹
//! ```
//!
//! A is factored once for all steps; a row costs B² when it first enters the zone, and a step q³/3
//! for the q rows that are in it.

use crate::error::{try_square, try_vec};
use crate::float::Real;
use crate::linalg::{Cholesky, add_scaled_rows, dots, matrix, multiply, multiply_lower};
use crate::watch::{Halt, Step};

/// No features were made of a row yet.
const ABSENT: u32 = u32::MAX;

pub(super) struct Whitened {
    factor: Cholesky,
    /// Where each row of the block is among those that were in the zone.
    places: Vec<u32>,
    /// `L⁻¹ φ` of these.
    values: Vec<f64>,
    /// Their products, up to each row's own.
    products: Vec<Vec<f64>>,
    /// The places and the roots of the curvatures of the last zone, with the factor of `I + VVᵀ`.
    last: Option<(Vec<(u32, f64)>, Cholesky)>,
}

impl Whitened {
    /// None yet, of so many rows.
    pub(super) fn new(factor: Cholesky, rows: usize) -> Step<Self> {
        let places = try_vec("whitening", rows, ABSENT)?;
        Ok(Self { factor, places, values: Vec::new(), products: Vec::new(), last: None })
    }

    /// `direction` becomes `(A + Σ c φφᵀ)⁻¹` times it, over the rows and curvatures of the zone;
    /// entries that a row lacks are 1.
    pub(super) fn solve<'r, F: Real>(
        &mut self,
        zone: &[(usize, f64)],
        row: impl Fn(usize) -> &'r [F],
        direction: &mut [f64],
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        self.enter(zone, row, between)?;
        let q = zone.len();
        let placed: Vec<_> = zone.iter().map(|&(i, c)| (self.places[i], c.sqrt())).collect();
        let mut inner = try_square("zone", q, 0.0)?;
        for (i, &(at, root)) in placed.iter().enumerate() {
            for (j, &(other, its)) in placed[..=i].iter().enumerate() {
                let (a, b) = (at.max(other) as usize, at.min(other) as usize);
                inner[i * q + j] = root * its * self.products[a][b];
            }
            inner[i * q + i] += 1.0;
        }
        let factor = Cholesky::factor::<Halt>("zone", &inner, q, 0.0, between)?;
        self.last = Some((placed, factor));
        self.again(direction)
    }

    /// The same with the zone of the last call.
    pub(super) fn again(&self, direction: &mut [f64]) -> Step {
        self.factor.solve_lower(direction);
        if let Some((zone, inner)) = self.last.as_ref().filter(|(zone, _)| !zone.is_empty()) {
            let mut all = try_vec("zone", self.products.len(), 0.0)?;
            dots(&self.values, direction, &mut all);
            let mut pull: Vec<f64> = zone.iter().map(|&(at, w)| w * all[at as usize]).collect();
            inner.solve(&mut pull);
            let back = zone.iter().zip(&pull).map(|(&(at, w), p)| (at, -w * p));
            add_scaled_rows(&self.values, &back.collect::<Vec<_>>(), direction);
        }
        self.factor.solve_upper(direction);
        Ok(())
    }

    /// Makes what the rows lack that are new to the zone.
    fn enter<'r, F: Real>(
        &mut self,
        zone: &[(usize, f64)],
        row: impl Fn(usize) -> &'r [F],
        between: &mut dyn FnMut() -> Step,
    ) -> Step {
        let (n, before) = (self.factor.order(), self.products.len());
        let absent = zone.iter().map(|row| row.0).filter(|&i| self.places[i] == ABSENT);
        let absent: Vec<usize> = absent.collect();
        if absent.is_empty() {
            return Ok(());
        }
        let mut fresh = try_vec("whitening", absent.len() * n, 1.0)?;
        for (at, (&i, to)) in absent.iter().zip(fresh.chunks_exact_mut(n)).enumerate() {
            self.places[i] = (before + at) as u32;
            to.iter_mut().zip(row(i)).for_each(|(to, v)| *to = Real::to_f64(*v));
        }
        self.factor.solve_lower_columns(&mut fresh, between)?;
        self.values.append(&mut fresh);
        let count = absent.len();
        let mut products = try_vec("whitening", count * before, 0.0)?;
        let mut among = try_square("whitening", count, 0.0)?;
        let all = matrix(&self.values, n);
        let own = all.subrows(before, count);
        if before > 0 {
            multiply(&mut products, own, all.subrows(0, before).transpose());
        }
        multiply_lower(&mut among, own, own);
        let of_row = |at: usize| {
            let row =
                [&products[at * before..(at + 1) * before], &among[at * count..=at * count + at]];
            row.concat()
        };
        self.products.extend((0..count).map(of_row));
        Ok(())
    }

    /// Of A.
    pub(super) fn factor(&self) -> &Cholesky {
        &self.factor
    }
}
