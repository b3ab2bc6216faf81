//! Blocks of kernel values: points in tiles against packed centres, dense and CSR written once.

use super::AnyKernel;
use crate::float::Real;
use crate::simd::{self, Job, Metric, Packed, Sums, Tile, Values};

/// Up to this many features differences are summed, not norms: no slower, and nothing cancels
/// (`cargo bench --bench engine`, group `kernel`, and `--bench roofline`).
fn differences_up_to() -> usize {
    if simd::level() == simd::Level::Avx512 { 64 } else { 32 }
}

/// Above this `γ max‖s‖²` the norms would cost more than about 1e-6 of a kernel value.
fn norm_limit<F: Real>() -> f64 {
    0.25e-6 / F::epsilon().to_f64()
}

impl AnyKernel {
    /// Makes one centre the only point of `tile`: sparse where products are summed and fewer than
    /// half of its entries are not 0. Zeros add nothing, so the bits are the same; one point
    /// against many centres is bound by reading them, and a zero needs no reading.
    pub fn load_center<F: Real>(&self, centers: &Packed<F>, slot: usize, tile: &mut Tile<F>) {
        let d = centers.n_features();
        let products = d > differences_up_to() && !matches!(self, Self::Laplacian { .. });
        tile.fill_center(centers, slot, if products { d / 2 } else { 0 });
    }

    /// Whether `k(x, z)` depends on `x - z` alone.
    #[must_use]
    pub fn is_translation_invariant(&self) -> bool {
        matches!(self, Self::Gaussian { .. } | Self::Laplacian { .. })
    }

    fn metric<F: Real>(&self, tile: &Tile<F>, centers: &Packed<F>) -> Metric {
        match *self {
            Self::Gaussian { gamma } => {
                let precise = gamma * centers.max_sq_norm() > norm_limit::<F>();
                let cheap = tile.is_dense() && tile.n_features() <= differences_up_to();
                if precise || cheap { Metric::Squared } else { Metric::SquaredByNorms }
            }
            Self::Laplacian { .. } => Metric::Absolute,
            _ => Metric::Dot,
        }
    }

    fn factor(&self) -> f64 {
        match *self {
            Self::Gaussian { gamma } | Self::Laplacian { gamma } => gamma,
            _ => 1.0,
        }
    }

    /// `k` from the dot product, for the kernels that are a function of it.
    fn of_dot(&self, dot: f64) -> f64 {
        match *self {
            Self::Polynomial { gamma, coef0, degree } => {
                (gamma * dot + coef0).powi(i32::try_from(degree).unwrap_or(i32::MAX))
            }
            Self::Sigmoid { gamma, coef0 } => (gamma * dot + coef0).tanh(),
            _ => dot,
        }
    }

    /// Kernel values of the points `first..last` of a tile and all centres, row by row: row `i`
    /// begins at `i * stride` and is padded to whole lines.
    pub fn values<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        out: &mut [F],
        stride: usize,
    ) {
        let exponential = self.is_translation_invariant();
        self.run(tile, (first, last), centers, Some(Values { out, stride, exponential }), None);
        self.map_dots(out, stride, last - first, centers.len());
    }

    /// As [`AnyKernel::values`], but for the Gaussian the distances `G = γ‖x - s‖²`, from which
    /// the values follow by [`AnyKernel::stored_to_values`]: what solvers keep.
    pub fn stored<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        out: &mut [F],
        stride: usize,
    ) {
        let exponential = matches!(self, Self::Laplacian { .. });
        self.run(tile, (first, last), centers, Some(Values { out, stride, exponential }), None);
        self.map_dots(out, stride, last - first, centers.len());
    }

    /// [`AnyKernel::stored`] and, in the same pass, `Σ_j coef_j k(x, s_j)` for one output.
    pub fn stored_and_sums<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        (out, stride): (&mut [F], usize),
        (coef, sums): (&[f64], &mut [f64]),
    ) {
        let exponential = matches!(self, Self::Laplacian { .. });
        if self.is_translation_invariant() || matches!(self, Self::Linear) {
            let values = Some(Values { out, stride, exponential });
            self.run(tile, (first, last), centers, values, Some(Sums { coef, out: sums }));
        } else {
            self.stored(tile, (first, last), centers, out, stride);
            for (row, sum) in out.chunks(stride.max(1)).zip(sums) {
                simd::weighted_sums(&row[..centers.padded_len()], coef, std::slice::from_mut(sum));
            }
        }
    }

    /// `Σ_j coef_cj k(x, s_j)` for every output `c`: `coef` holds one padded row an output, `out`
    /// one value a point and output.
    pub fn sums<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        (coef, outputs): (&[f64], usize),
        out: &mut [f64],
    ) {
        if outputs == 1 && (self.is_translation_invariant() || matches!(self, Self::Linear)) {
            self.run(tile, (first, last), centers, None, Some(Sums { coef, out }));
            return;
        }
        // Points whose values stay in the first cache.
        const POINTS: usize = 8;
        let stride = centers.padded_len();
        let mut values = vec![F::zero(); stride * POINTS.min(last - first)];
        for (from, out) in (first..last).step_by(POINTS).zip(out.chunks_mut(POINTS * outputs)) {
            let len = POINTS.min(last - from);
            let values = &mut values[..len * stride];
            self.values(tile, (from, from + len), centers, values, stride);
            simd::weighted_sums_of(values, len, (coef, outputs), &mut out[..len * outputs]);
        }
    }

    /// Turns what [`AnyKernel::stored`] gave into kernel values.
    pub fn stored_to_values<F: Real>(&self, stored: &mut [F]) {
        if let Self::Gaussian { .. } = self {
            stored.iter_mut().for_each(|v| *v = -*v);
            simd::exp_in_place(stored);
        }
    }

    fn run<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        values: Option<Values<'_, F>>,
        sums: Option<Sums<'_>>,
    ) {
        let metric = self.metric(tile, centers);
        let gamma = F::from_f64(self.factor());
        simd::run_block(&mut Job { tile, first, last, centers, metric, gamma, values, sums });
    }

    fn map_dots<F: Real>(&self, out: &mut [F], stride: usize, rows: usize, len: usize) {
        if let Self::Polynomial { .. } | Self::Sigmoid { .. } = self {
            for row in out.chunks_mut(stride.max(1)).take(rows) {
                row[..len].iter_mut().for_each(|v| *v = F::from_f64(self.of_dot(v.to_f64())));
            }
        }
    }

    /// `k(x, x)` of every point of a tile.
    pub fn diagonal<F: Real>(&self, tile: &Tile<F>, out: &mut Vec<f64>) {
        out.clear();
        match self {
            Self::Gaussian { .. } | Self::Laplacian { .. } => out.resize(tile.len(), 1.0),
            _ => out.extend(tile.sq_norms().iter().map(|&n| self.of_dot(n.to_f64()))),
        }
    }

    /// `k(x, z)` of two rows, plainly: the twin of the blocks.
    #[must_use]
    pub fn eval(&self, x: &[f64], z: &[f64]) -> f64 {
        let pairs = || x.iter().zip(z);
        match *self {
            Self::Gaussian { gamma } => {
                (-gamma * pairs().map(|(a, b)| (a - b) * (a - b)).sum::<f64>()).exp()
            }
            Self::Laplacian { gamma } => {
                (-gamma * pairs().map(|(a, b)| (a - b).abs()).sum::<f64>()).exp()
            }
            _ => self.of_dot(pairs().map(|(a, b)| a * b).sum()),
        }
    }
}

#[cfg(test)]
mod tests;
