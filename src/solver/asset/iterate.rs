//! A vector under shrinking, adding and averaging, each O(1) or one pass over it.

use crate::float::Real;
use crate::simd::{add_scaled_rows, dots};

/// Below this the scale is multiplied out. The average is a difference of vectors of the size of
/// u = w/a, so it loses as many digits as the scale falls by.
const LEAST_SCALE: f64 = 1e-3;

/// `w·z`.
pub(super) fn product<F: Real>(z: &[F], w: &[f64]) -> f64 {
    let mut out = [0.0];
    dots(z, w, &mut out);
    out[0]
}

/// `w = a u`, `Σ_j η_j w_j = α u + v`.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    u: Vec<f64>,
    scale: f64,
    sq_norm: f64,
    /// α and v of the average, and Σ η.
    along: f64,
    rest: Vec<f64>,
    pub(super) weight: f64,
}

impl Iterate {
    /// The iterate w.
    #[must_use]
    pub fn new(w: &[f64]) -> Self {
        Self {
            sq_norm: crate::linalg::dot(w, w),
            u: w.to_vec(),
            scale: 1.0,
            along: 0.0,
            rest: vec![0.0; w.len()],
            weight: 0.0,
        }
    }

    /// Begins the average with `mean`, counted with `weight`.
    pub fn begin_average(&mut self, mean: &[f64], weight: f64) {
        (self.along, self.weight) = (0.0, weight);
        self.rest.iter_mut().zip(mean).for_each(|(v, m)| *v = weight * m);
    }

    /// `w·z`.
    #[must_use]
    pub fn product<F: Real>(&self, z: &[F]) -> f64 {
        self.scale * product(z, &self.u)
    }

    /// `w ← factor w`, 0 ≤ factor ≤ 1.
    pub fn shrink(&mut self, factor: f64) {
        self.scale *= factor;
        self.sq_norm *= factor * factor;
        if self.scale < LEAST_SCALE {
            self.multiply_out();
        }
    }

    /// `w ← w + by z`, where `w·z` is `product` and `‖z‖²` is `sq_norm`.
    pub fn add<F: Real>(&mut self, by: f64, z: &[F], product: f64, sq_norm: f64) {
        let step = by / self.scale;
        add_scaled_rows(z, &[(0, step)], &mut self.u);
        if self.along != 0.0 {
            add_scaled_rows(z, &[(0, -self.along * step)], &mut self.rest);
        }
        self.sq_norm = (self.sq_norm + by * (2.0 * product + by * sq_norm)).max(0.0);
    }

    /// The nearest w of norm at most `radius`.
    pub fn project(&mut self, radius: f64) {
        if self.sq_norm > radius * radius {
            self.shrink(radius / self.sq_norm.sqrt());
        }
    }

    /// Counts the present w with `weight` in the average.
    pub fn average(&mut self, weight: f64) {
        self.along += weight * self.scale;
        self.weight += weight;
    }

    /// Takes the norm afresh: rounding adds up over many steps.
    pub fn refresh(&mut self) {
        self.sq_norm = self.scale * self.scale * crate::linalg::dot(&self.u, &self.u);
    }

    /// `‖w‖²`.
    #[must_use]
    pub fn sq_norm(&self) -> f64 {
        self.sq_norm
    }

    /// w.
    #[must_use]
    pub fn current(&self) -> Vec<f64> {
        self.u.iter().map(|v| self.scale * v).collect()
    }

    /// The weighted mean of the averaged iterates; w itself when there are none.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        if self.weight <= 0.0 {
            return self.current();
        }
        let pairs = self.u.iter().zip(&self.rest);
        pairs.map(|(u, v)| (self.along * u + v) / self.weight).collect()
    }

    fn multiply_out(&mut self) {
        for (u, v) in self.u.iter_mut().zip(&mut self.rest) {
            *v += self.along * *u;
            *u *= self.scale;
        }
        (self.along, self.scale) = (0.0, 1.0);
    }
}
