//! Blocks of kernel values: points in tiles against packed centres, dense and CSR written once.

use super::AnyKernel;
use super::form::{Distance, Form, Product};
use crate::float::Real;
use crate::simd::{self, Job, Map, Metric, Packed, Sums, Tile, Values};

/// Up to this many features differences are summed, not norms: no slower, and nothing cancels
/// (`cargo bench --bench engine`, group `kernel`, and `--bench roofline`).
pub(super) fn differences_up_to() -> usize {
    if simd::level() == simd::Level::Avx512 { 64 } else { 32 }
}

/// Above this `γ max‖s‖²` the norms would cost more than about 1e-6 of a kernel value at hundreds of
/// features; between nearly equal rows as long as the longest 2e-6, and 1e-5 at thousands of features.
pub(super) fn norm_limit<F: Real>() -> f64 {
    0.25e-6 / F::epsilon().to_f64()
}

/// The same of norms and products that are summed in parts: at most 5e-6, at 65 to 3,000 features.
fn part_norm_limit<F: Real>() -> f64 {
    0.6e-6 / F::epsilon().to_f64()
}

/// Points whose values stay in the near caches while every output weighs them: its coefficients are
/// read once for all of them.
const POINTS: usize = 8;

/// Bytes of centres above which they are read from afar: by as many points at once as share a tile
/// (`simd`'s groups).
const NEAR: usize = 1 << 19;

/// Points that are to meet these centres at once, where their values are weighed next.
fn points_at_once<F: Real>(centers: &Packed<F>) -> usize {
    let bytes = (centers.padded_len() * size_of::<F>()).saturating_mul(centers.n_features());
    if bytes <= NEAR { POINTS } else { 2 * POINTS }
}

/// Every slot of a set.
fn all<F: Real>(centers: &Packed<F>) -> (&Packed<F>, (usize, usize)) {
    (centers, (0, centers.padded_len()))
}

impl AnyKernel {
    /// Makes one centre the only point of `tile`: sparse where products are summed and fewer than
    /// half of its entries are not 0. Zeros add nothing, so the bits are the same; one point
    /// against many centres is bound by reading them, and a zero needs no reading.
    pub fn load_center<F: Real>(&self, centers: &Packed<F>, slot: usize, tile: &mut Tile<F>) {
        let d = centers.n_features();
        let products = match self.form() {
            Form::Distance { of: Distance::Absolute, .. } => false,
            Form::Distance { of: Distance::Squared, .. } | Form::Product(_) => {
                d > differences_up_to()
            }
        };
        tile.fill_center(centers, slot, if products { d / 2 } else { 0 });
    }

    /// Whether the block engine's sums are the kernel's: the function of a product comes after it.
    fn sums_in_one_pass(&self) -> bool {
        match self.form() {
            Form::Distance { .. } | Form::Product(Product::Plain) => true,
            Form::Product(Product::Power { .. } | Product::Tanh { .. }) => false,
        }
    }

    /// Whether [`AnyKernel::stored`] keeps values, not distances.
    fn stores_values(&self) -> bool {
        self.gaussian_gamma().is_none()
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
        self.single(tile, (first, last), all(centers), Values { out, stride, mapped: true });
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
        let values = Values { out, stride, mapped: self.stores_values() };
        self.single(tile, (first, last), all(centers), values);
    }

    /// What the kernel is a function of, `γ` times the distance or the product, of all points of a
    /// tile and all centres, as [`AnyKernel::values`].
    pub(crate) fn arguments<F: Real>(&self, tile: &Tile<F>, centers: &Packed<F>, out: &mut [F]) {
        let stride = centers.padded_len();
        let values = Some(Values { out, stride, mapped: false });
        self.run(tile, (0, tile.len()), all(centers), values, None);
    }

    /// [`AnyKernel::stored`] of the slots `from..to` alone: whole lines of them.
    pub fn stored_part<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        (centers, slots): (&Packed<F>, (usize, usize)),
        (out, stride): (&mut [F], usize),
    ) {
        let values = Values { out, stride, mapped: self.stores_values() };
        self.single(tile, (first, last), (centers, slots), values);
    }

    /// Values by themselves, a product's mapped to the kernel's.
    fn single<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        (centers, slots): (&Packed<F>, (usize, usize)),
        Values { out, stride, mapped }: Values<'_, F>,
    ) {
        let values = Some(Values { out: &mut *out, stride, mapped });
        self.run(tile, (first, last), (centers, slots), values, None);
        let product = match self.form() {
            Form::Distance { .. } | Form::Product(Product::Plain) => return,
            Form::Product(product) => product,
        };
        for row in out.chunks_mut(stride.max(1)).take(last - first) {
            let row = &mut row[..slots.1.min(centers.len()).saturating_sub(slots.0)];
            row.iter_mut().for_each(|v| *v = F::from_f64(product.at(v.to_f64())));
        }
    }

    /// [`AnyKernel::stored`] and, in the same pass for one output, `Σ_j coef_cj k(x, s_j)` for every
    /// output `c`: `coef` holds one padded row an output, `sums` one value a point and output.
    pub fn stored_and_sums<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        (out, stride): (&mut [F], usize),
        (coef, sums): (&[f64], &mut [f64]),
    ) {
        let outputs = (sums.len() / (last - first).max(1)).max(1);
        if outputs == 1 && self.sums_in_one_pass() {
            let values = Some(Values { out, stride, mapped: self.stores_values() });
            let sums = Some(Sums { coef, out: sums });
            self.run(tile, (first, last), all(centers), values, sums);
            return;
        }
        self.stored(tile, (first, last), centers, out, stride);
        self.sums_of_stored((out, stride, centers.padded_len()), (coef, outputs), sums);
    }

    /// `Σ_j coef_cj k(x, s_j)` for every output `c` by rows that [`AnyKernel::stored`] gave, of which
    /// `padded` values are read.
    pub fn sums_of_stored<F: Real>(
        &self,
        (rows, stride, padded): (&[F], usize, usize),
        (coef, outputs): (&[f64], usize),
        sums: &mut [f64],
    ) {
        let mut values = Vec::new();
        let points = rows.chunks(POINTS * stride.max(1)).zip(sums.chunks_mut(POINTS * outputs));
        for (rows, sums) in points {
            let len = sums.len() / outputs;
            values.clear();
            let rows = rows.chunks(stride.max(1)).take(len);
            rows.for_each(|row| values.extend_from_slice(&row[..padded]));
            self.stored_to_values(&mut values);
            simd::weighted_sums_of(&values, len, (coef, outputs), sums);
        }
    }

    /// `Σ_j coef_cj k(x, s_j)` for every output `c`: `coef` holds one padded row an output, `out`
    /// one value a point and output; `values` is room to work in.
    pub fn sums<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        centers: &Packed<F>,
        (coef, outputs): (&[f64], usize),
        (out, values): (&mut [f64], &mut Vec<F>),
    ) {
        if outputs == 1 && self.sums_in_one_pass() {
            self.run(tile, (first, last), all(centers), None, Some(Sums { coef, out }));
            return;
        }
        let (stride, at_once) = (centers.padded_len(), points_at_once(centers));
        values.resize(stride * at_once.min(last - first), F::zero());
        for (from, out) in (first..last).step_by(at_once).zip(out.chunks_mut(at_once * outputs)) {
            let len = at_once.min(last - from);
            let values = &mut values[..len * stride];
            self.values(tile, (from, from + len), centers, values, stride);
            for (part, out) in out.chunks_mut(POINTS * outputs).enumerate() {
                let len = out.len() / outputs;
                let values = &values[part * POINTS * stride..][..len * stride];
                simd::weighted_sums_of(values, len, (coef, outputs), out);
            }
        }
    }

    /// Turns what [`AnyKernel::stored`] gave into kernel values.
    pub fn stored_to_values<F: Real>(&self, stored: &mut [F]) {
        if !self.stores_values() {
            stored.iter_mut().for_each(|v| *v = -*v);
            simd::exp_in_place(stored);
        }
    }

    fn run<F: Real>(
        &self,
        tile: &Tile<F>,
        (first, last): (usize, usize),
        (centers, slots): (&Packed<F>, (usize, usize)),
        values: Option<Values<'_, F>>,
        sums: Option<Sums<'_>>,
    ) {
        let (metric, gamma, map) = match self.form() {
            Form::Distance { of, gamma, map, steepness } => {
                let largest = steepness * gamma * centers.max_sq_norm();
                let d = tile.n_features();
                let metric = match of {
                    Distance::Absolute => Metric::Absolute,
                    Distance::Squared if tile.is_dense() && d <= differences_up_to() => {
                        Metric::Squared
                    }
                    Distance::Squared if largest <= norm_limit::<F>() => Metric::SquaredByNorms,
                    Distance::Squared if d > simd::PART && largest <= part_norm_limit::<F>() => {
                        Metric::SquaredInParts
                    }
                    Distance::Squared => Metric::Squared,
                };
                (metric, gamma, map)
            }
            Form::Product(_) => (Metric::Dot, 1.0, Map::Identity),
        };
        let gamma = F::from_f64(gamma);
        simd::run_block(&mut Job {
            tile,
            first,
            last,
            centers,
            slots,
            metric,
            gamma,
            map,
            values,
            sums,
        });
    }

    /// `k(x, x)` of every point of a tile.
    pub fn diagonal<F: Real>(&self, tile: &Tile<F>, out: &mut Vec<f64>) {
        out.clear();
        match self.form() {
            Form::Distance { .. } => out.resize(tile.len(), 1.0),
            Form::Product(of) => out.extend(tile.sq_norms().iter().map(|&n| of.at(n.to_f64()))),
        }
    }
}

#[cfg(test)]
mod tests;
