//! A vector under shrinking, adding and averaging, each O(1) or one pass over it.

use crate::float::Real;
use crate::simd::{add_scaled_rows, dots};

/// Below this the scale is multiplied out. The average is a difference of vectors of the size of
/// u = w/a, so it loses as many digits as the scale falls by.
pub(super) const LEAST_SCALE: f64 = 1e-3;

/// `w·z`.
pub(super) fn product<F: Real>(z: &[F], w: &[f64]) -> f64 {
    let mut out = [0.0];
    dots(z, w, &mut out);
    out[0]
}

/// `w = a u`, `Σ_j η_j w_j = α u + v`: what of it is no vector.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scalars {
    pub(super) scale: f64,
    pub(super) sq_norm: f64,
    /// α and Σ η.
    pub(super) along: f64,
    pub(super) weight: f64,
}

/// `w = a u`, `Σ_j η_j w_j = α u + v`.
#[derive(Clone, Debug, PartialEq)]
pub struct Iterate {
    pub(super) scalars: Scalars,
    pub(super) u: Vec<f64>,
    /// v of the average.
    pub(super) rest: Vec<f64>,
}

impl Iterate {
    /// The iterate w.
    #[must_use]
    pub fn new(w: &[f64]) -> Self {
        let sq_norm = crate::linalg::dot(w, w);
        Self {
            scalars: Scalars { scale: 1.0, sq_norm, along: 0.0, weight: 0.0 },
            u: w.to_vec(),
            rest: vec![0.0; w.len()],
        }
    }

    /// Begins the average with `mean`, counted with `weight`.
    pub fn begin_average(&mut self, mean: &[f64], weight: f64) {
        (self.scalars.along, self.scalars.weight) = (0.0, weight);
        self.rest.iter_mut().zip(mean).for_each(|(v, m)| *v = weight * m);
    }

    /// `w·z`.
    #[must_use]
    pub fn product<F: Real>(&self, z: &[F]) -> f64 {
        self.scalars.scale * product(z, &self.u)
    }

    /// `w ← factor w`, 0 ≤ factor ≤ 1.
    pub fn shrink(&mut self, factor: f64) {
        let Scalars { scale, sq_norm, along, .. } = &mut self.scalars;
        *scale *= factor;
        *sq_norm *= factor * factor;
        if *scale < LEAST_SCALE {
            for (u, v) in self.u.iter_mut().zip(&mut self.rest) {
                *v += *along * *u;
                *u *= *scale;
            }
            (*along, *scale) = (0.0, 1.0);
        }
    }

    /// `w ← w + by z`, where `w·z` is `product` and `‖z‖²` is `sq_norm`.
    pub fn add<F: Real>(&mut self, by: f64, z: &[F], product: f64, sq_norm: f64) {
        let Scalars { scale, sq_norm: own, along, .. } = &mut self.scalars;
        let step = by / *scale;
        add_scaled_rows(z, &[(0, step)], &mut self.u);
        if *along != 0.0 {
            add_scaled_rows(z, &[(0, -*along * step)], &mut self.rest);
        }
        *own = (*own + by * (2.0 * product + by * sq_norm)).max(0.0);
    }

    /// The nearest w of norm at most `radius`.
    pub fn project(&mut self, radius: f64) {
        let sq_norm = self.scalars.sq_norm;
        if sq_norm > radius * radius {
            self.shrink(radius / sq_norm.sqrt());
        }
    }

    /// Counts the present w with `weight` in the average.
    pub fn average(&mut self, weight: f64) {
        self.scalars.along += weight * self.scalars.scale;
        self.scalars.weight += weight;
    }

    /// Takes the norm afresh: rounding adds up over many steps.
    pub fn refresh(&mut self) {
        let Scalars { scale, sq_norm, .. } = &mut self.scalars;
        *sq_norm = *scale * *scale * crate::linalg::dot(&self.u, &self.u);
    }

    /// `‖w‖²`.
    #[must_use]
    pub fn sq_norm(&self) -> f64 {
        self.scalars.sq_norm
    }

    /// w.
    #[must_use]
    pub fn current(&self) -> Vec<f64> {
        self.u.iter().map(|v| self.scalars.scale * v).collect()
    }

    /// The weighted mean of the averaged iterates; w itself when there are none.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let Scalars { along, weight, .. } = self.scalars;
        if weight <= 0.0 {
            return self.current();
        }
        let pairs = self.u.iter().zip(&self.rest);
        pairs.map(|(u, v)| (along * u + v) / weight).collect()
    }
}
