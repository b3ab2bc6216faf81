//! Gradients of kernel values in the point.
//!
//! ```text
//! distance²   ∇ k(x, s) = 2 γ m'(γ‖x - s‖²) (x - s)
//! distance    ∂k/∂x_k = γ m'(γ‖x - s‖₁) sign(x_k - s_k), 0 where x_k = s_k
//! product     ∇ k(x, s) = p'(x·s) s
//! ```
//!
//! The Laplacian kernel has a kink where a coordinate is that of a centre: what is given there is
//! the mean of the slopes on both sides, the limit of central differences.

use super::AnyKernel;
use super::form::{Distance, Form, Product};
use crate::float::Real;
use crate::simd::{self, Map, Packed, Tile};

/// Values of centres that are written out as rows at a time: they stay in a near cache.
const TOGETHER: usize = 1 << 14;
/// Features of them: so are the sums of some outputs.
const FEATURES: usize = 256;

/// Room for [`AnyKernel::add_gradients`].
#[derive(Debug, Default)]
pub(crate) struct Room<F: Real> {
    values: Vec<F>,
    rows: Vec<F>,
    slopes: Vec<f64>,
    scaled: Vec<(u32, f64)>,
    point: Vec<F>,
}

impl AnyKernel {
    /// Adds `Σ_j coef_cj ∇k(x, s_j)` of every point x of a tile and output c to `out`, outputs x
    /// features from `at` on of the `width` values of each point: `coef` holds one padded row an
    /// output.
    ///
    /// *Cost* O(B d) a point and output.
    pub(crate) fn add_gradients<F: Real>(
        &self,
        tile: &Tile<F>,
        centers: &Packed<F>,
        (coef, outputs): (&[f64], usize),
        (out, width, at): (&mut [f64], usize, usize),
        room: &mut Room<F>,
    ) {
        let (d, stride) = (centers.n_features(), centers.padded_len());
        let own = outputs * d;
        if centers.is_empty() {
            return;
        }
        let Room { values, rows, slopes, scaled, point } = room;
        values.resize(tile.len() * stride, F::zero());
        self.arguments(tile, centers, values);
        let form = self.form();
        slopes.clear();
        slopes.extend(values.iter().map(|argument| form.slope(Real::to_f64(*argument))));
        point.resize(d, F::zero());
        in_pieces(centers, rows, &mut |(first, last), (from, to), rows| {
            for (i, out) in out.chunks_exact_mut(width).enumerate() {
                let (out, slopes) = (&mut out[at..at + own], &slopes[i * stride..][first..last]);
                if let Form::Distance { of: Distance::Absolute, .. } = form {
                    tile.copy_row(i, point);
                }
                for (coef, out) in coef.chunks_exact(stride).zip(out.chunks_exact_mut(d)) {
                    scaled.clear();
                    let weights = coef[first..last].iter().zip(slopes).map(|(c, s)| c * s);
                    scaled.extend((0_u32..).zip(weights));
                    let out = &mut out[from..to];
                    match form {
                        Form::Product(_) => simd::add_scaled_rows(rows, scaled, out),
                        Form::Distance { of: Distance::Squared, .. } => {
                            scaled.iter_mut().for_each(|(_, weight)| *weight = -*weight);
                            simd::add_scaled_rows(rows, scaled, out);
                        }
                        Form::Distance { of: Distance::Absolute, .. } => {
                            add_signs(rows, scaled, &point[from..to], out);
                        }
                    }
                }
            }
        });
        let Form::Distance { of: Distance::Squared, .. } = form else { return };
        for (i, out) in out.chunks_exact_mut(width).enumerate() {
            let (out, slopes) = (&mut out[at..at + own], &slopes[i * stride..][..centers.len()]);
            tile.copy_row(i, point);
            for (coef, out) in coef.chunks_exact(stride).zip(out.chunks_exact_mut(d)) {
                let total: f64 = coef.iter().zip(slopes).map(|(c, s)| c * s).sum();
                let own = out.iter_mut().zip(&*point);
                own.for_each(|(out, x)| *out += total * Real::to_f64(*x));
            }
        }
    }
}

/// (first, last) of some.
type Span = (usize, usize);
/// What is called with some centres, some features and the values, row by row.
type Piece<'w, F> = dyn FnMut(Span, Span, &[F]) + 'w;

/// Calls `work` with pieces of the centres that stay in a near cache: for some of the features one
/// after another all centres.
pub(crate) fn in_pieces<F: Real>(centers: &Packed<F>, rows: &mut Vec<F>, work: &mut Piece<'_, F>) {
    let (n, d) = (centers.len(), centers.n_features());
    let wide = d.clamp(1, FEATURES);
    let together = TOGETHER / wide;
    for from in (0..d).step_by(wide) {
        let to = (from + wide).min(d);
        for first in (0..n).step_by(together) {
            let last = (first + together).min(n);
            rows.resize((last - first) * (to - from), F::zero());
            for (slot, row) in (first..last).zip(rows.chunks_exact_mut(to - from)) {
                centers.get_from(slot, from, row);
            }
            work((first, last), (from, to), rows);
        }
    }
}

impl Form {
    /// What the gradient at this argument (`γ distance`, or the product) is a multiple of `x - s`
    /// by, of its signs, or of s.
    fn slope(&self, argument: f64) -> f64 {
        match *self {
            Self::Distance { of, gamma, map, .. } => {
                let of_argument = slope_of(map, argument.max(0.0));
                match of {
                    Distance::Squared => 2.0 * gamma * of_argument,
                    Distance::Absolute => gamma * of_argument,
                }
            }
            Self::Product(product) => product.slope(argument),
        }
    }
}

/// The derivative of a map.
fn slope_of(map: Map, t: f64) -> f64 {
    match map {
        Map::Identity => 1.0,
        Map::Exponential => -(-t).exp(),
        Map::Matern { quadratic } => {
            let u = t.sqrt();
            -0.5 * (1.0 - 2.0 * quadratic + quadratic * u) * (-u).exp()
        }
    }
}

impl Product {
    /// The derivative of [`Product::at`].
    fn slope(self, t: f64) -> f64 {
        match self {
            Self::Plain => 1.0,
            Self::Power { degree: 0, .. } => 0.0,
            Self::Power { gamma, coef0, degree } => {
                let below = i32::try_from(degree - 1).unwrap_or(i32::MAX);
                f64::from(degree) * gamma * (gamma * t + coef0).powi(below)
            }
            Self::Tanh { gamma, coef0 } => {
                let value = (gamma * t + coef0).tanh();
                gamma * (1.0 - value * value)
            }
        }
    }
}

/// Adds `Σ_j weight_j sign(x - s_j)`.
fn add_signs<F: Real>(rows: &[F], scaled: &[(u32, f64)], x: &[F], out: &mut [f64]) {
    for (&(_, weight), row) in scaled.iter().zip(rows.chunks_exact(x.len().max(1))) {
        for ((out, x), s) in out.iter_mut().zip(x).zip(row) {
            let sign = f64::from(u8::from(x > s)) - f64::from(u8::from(x < s));
            *out += weight * sign;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::data::Rows;
    use crate::kernel::{load_tile, origin_for};
    use crate::rng::Rng;

    const KERNELS: [AnyKernel; 9] = [
        AnyKernel::Gaussian { gamma: 0.4 },
        AnyKernel::Laplacian { gamma: 0.3 },
        AnyKernel::Matern32 { gamma: 0.4 },
        AnyKernel::Matern52 { gamma: 0.4 },
        AnyKernel::Polynomial { gamma: 0.3, coef0: 1.0, degree: 3 },
        AnyKernel::Polynomial { gamma: 0.3, coef0: 1.0, degree: 0 },
        AnyKernel::Polynomial { gamma: 0.3, coef0: 0.0, degree: 1 },
        AnyKernel::Sigmoid { gamma: 0.2, coef0: -0.5 },
        AnyKernel::Linear,
    ];

    /// Gradients of blocks, of points at centres too, against central differences of the plain
    /// values.
    fn check<F: Real>(d: usize, tolerance: f64) {
        let mut rng = Rng::new(3);
        let (n, b, outputs) = (13, 37, 2);
        let mut draw = |n| -> Vec<F> { (0..n).map(|_| F::from_f64(rng.uniform() - 0.5)).collect() };
        let (mut x, centers) = (draw(n * d), draw(b * d));
        x[..d].copy_from_slice(&centers[5 * d..6 * d]);
        let wide = |row: &[F]| -> Vec<f64> { row.iter().map(|&v| Real::to_f64(v)).collect() };
        let rows = Rows::of_slice(&x, d).unwrap();
        for kernel in KERNELS {
            let origin = origin_for(kernel, &rows).unwrap();
            let (mut tile, mut packed) = (Tile::new(d), Packed::new(d).unwrap());
            load_tile(&rows, n, |i| i, &origin, &mut tile);
            for row in centers.chunks_exact(d) {
                let mut row = row.to_vec();
                row.iter_mut().zip(&origin).for_each(|(v, &o)| *v -= o);
                packed.push(&row).unwrap();
            }
            let stride = packed.padded_len();
            let coef =
                |c: usize, j: usize| if j < b { (j as f64 - 20.0) / (c + 3) as f64 } else { 0.0 };
            let padded: Vec<f64> =
                (0..outputs * stride).map(|at| coef(at / stride, at % stride)).collect();
            let mut out = vec![1.0; n * outputs * d];
            let to = (padded.as_slice(), outputs);
            let place = (out.as_mut_slice(), outputs * d, 0);
            kernel.add_gradients(&tile, &packed, to, place, &mut Room::default());
            for (i, row) in x.chunks_exact(d).enumerate() {
                for c in 0..outputs {
                    let f = |row: &[f64]| -> f64 {
                        let terms = centers.chunks_exact(d).enumerate();
                        terms.map(|(j, s)| coef(c, j) * kernel.eval(row, &wide(s))).sum()
                    };
                    for k in 0..d {
                        let h = 1e-5;
                        let (mut up, mut down) = (wide(row), wide(row));
                        (up[k], down[k]) = (up[k] + h, down[k] - h);
                        let wanted = 1.0 + (f(&up) - f(&down)) / (2.0 * h);
                        let got = out[(i * outputs + c) * d + k];
                        let off = (got - wanted).abs();
                        assert!(
                            off < tolerance * (10.0 + wanted.abs()),
                            "{kernel:?} {got} {wanted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn gradients_are_those_of_differences() {
        for d in [3, 90, 300] {
            check::<f64>(d, 1e-8);
            check::<f32>(d, 1e-4);
        }
    }
}
