//! Orthonormal functions in the span of the terms, and the samples' coordinates along them.
//!
//! ```text
//! q_i = Σ_j A_ij k(s_j, ·),   z(x) = A k(x),   f = wᵀz,   β = Aᵀw,   ‖projection of x‖² = zᵀz
//! a new term at distance δ from the span:   A ← [A, 0; -(Aᵀz)ᵀ/δ, 1/δ],   z ← (z, δ)
//! ```
//!
//! A learner that projects on the terms (the projectrons, [`super::NystroemOgd`]) needs `K⁺ k` at
//! every step: B² numbers read for one product. The coordinates of a whole block of samples are one
//! product of matrices instead, by the engine of the kernel blocks, and a step is then O(B) on them.
//! `A` is the inverse of the Cholesky factor of K where it grows by terms; the guard that keeps δ
//! above a hundredth of ‖x‖ keeps it harmless.
//!
//! *Cost* B²/2 multiply-adds a sample for a triangular A, B²/2 numbers.

use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::parallel::{MIN_PARALLEL_BLOCK, each_if};
use crate::simd::{Packed, Tile};

/// Rows of A of one width: what is to the right of the longest is left out.
const PANEL: usize = 64;
/// Samples of one unit of parallel work: as many as share one reading of a panel.
const PART: usize = 32;

/// `A`, a panel of rows after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Basis {
    panels: Vec<Packed<f64>>,
    len: usize,
    /// Sums of the terms' coefficients over steps made before there was a basis, or nothing.
    pub(super) past: Vec<f64>,
}

impl Basis {
    /// Number of functions.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Adds a function: its coefficients on the terms, those left out are 0.
    pub(super) fn push(&mut self, coefs: &[f64]) -> Result<()> {
        if self.len.is_multiple_of(PANEL) {
            self.panels.push(Packed::new(coefs.len().next_multiple_of(PANEL))?);
        }
        if let Some(panel) = self.panels.last_mut() {
            let mut row = vec![0.0; panel.n_features()];
            row[..coefs.len()].copy_from_slice(coefs);
            panel.push(&row)?;
            self.len += 1;
        }
        Ok(())
    }

    /// Adds the function that a sample with coordinates `z` has at distance `delta > 0` from the
    /// span.
    pub(super) fn extend(&mut self, z: &[f64], delta: f64) -> Result<()> {
        let mut coefs = vec![0.0; z.len() + 1];
        self.add_coefs(z, &mut coefs[..z.len()]);
        coefs.iter_mut().for_each(|c| *c /= -delta);
        coefs[z.len()] = 1.0 / delta;
        self.push(&coefs)
    }

    /// `coefs += Aᵀ w`.
    pub(super) fn add_coefs(&self, w: &[f64], coefs: &mut [f64]) {
        for (panel, w) in self.panels.iter().zip(w.chunks(PANEL)) {
            panel.add_combination(w, coefs);
        }
    }

    /// The coefficients of one function, with zeros after them.
    pub(super) fn row(&self, slot: usize, out: &mut Vec<f64>) {
        let panel = &self.panels[slot / PANEL];
        out.resize(panel.n_features(), 0.0);
        panel.get(slot % PANEL, out);
    }

    /// Multiply-adds of one sample's coordinates.
    pub(super) fn work(&self) -> usize {
        self.panels.iter().map(|panel| panel.len() * panel.n_features()).sum()
    }
}

/// Kernel rows, `stride` apart, of which `terms` values count.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelRows<'a, F> {
    pub(super) values: &'a [F],
    pub(super) stride: usize,
    pub(super) terms: usize,
}

impl<F: Real> KernelRows<'_, F> {
    /// The products of the samples `first..first + count` with a panel, `stride` apart.
    fn times(
        &self,
        (first, count): (usize, usize),
        panel: &Packed<f64>,
        tile: &mut Tile<f64>,
        (out, stride): (&mut [f64], usize),
    ) {
        let width = panel.n_features();
        tile.reset(width);
        let known = self.terms.min(width);
        tile.fill_dense(count, |i, out| {
            let row = &self.values[(first + i) * self.stride..][..known];
            out[..known].iter_mut().zip(row).for_each(|(o, v)| *o = Real::to_f64(*v));
            out[known..].fill(0.0);
        });
        AnyKernel::Linear.values(tile, (0, count), panel, out, stride);
    }
}

/// The coordinates of the samples of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Coordinates {
    values: Vec<f64>,
    stride: usize,
    tiles: Vec<Tile<f64>>,
}

impl Coordinates {
    /// Computes those of the samples `first..last`, in parallel inside the current pool; each of
    /// them may add a function yet.
    pub(super) fn fill<F: Real>(
        &mut self,
        basis: &Basis,
        rows: KernelRows<'_, F>,
        (first, last): (usize, usize),
    ) -> Result<()> {
        let most = (basis.len() + last).next_multiple_of(PANEL);
        if most > self.stride || self.values.len() < last * self.stride {
            self.stride = most.max(self.stride);
            self.values = try_vec("coordinates", last.saturating_mul(self.stride), 0.0)?;
        }
        let stride = self.stride;
        let parts = (last - first).div_ceil(PART);
        if self.tiles.len() < parts {
            self.tiles.resize_with(parts, || Tile::new(0));
        }
        let values = &mut self.values[first * stride..last * stride];
        let part = |at: usize, (out, tile): (&mut [f64], &mut Tile<f64>)| {
            let count = out.len() / stride;
            for (place, panel) in basis.panels.iter().enumerate() {
                let out = (&mut out[place * PANEL..], stride);
                rows.times((first + at * PART, count), panel, tile, out);
            }
        };
        let shared = (last - first).saturating_mul(basis.work()) >= MIN_PARALLEL_BLOCK;
        each_if(shared, values.chunks_mut(PART * stride).zip(&mut self.tiles), &part);
        Ok(())
    }

    /// The coordinates of the samples `first..last` along the function that came last, in the same
    /// bits as [`Coordinates::fill`] would give.
    pub(super) fn append<F: Real>(
        &mut self,
        basis: &Basis,
        rows: KernelRows<'_, F>,
        (first, last): (usize, usize),
    ) -> Result<()> {
        let slot = basis.len() - 1;
        let mut row = Vec::new();
        basis.row(slot, &mut row);
        let mut newest = Packed::new(row.len())?;
        newest.push(&row)?;
        let line = newest.padded_len();
        let mut found = vec![0.0; PART * line];
        let tile = &mut self.tiles[0];
        for from in (first..last).step_by(PART) {
            let count = PART.min(last - from);
            rows.times((from, count), &newest, tile, (&mut found, line));
            for (i, values) in found.chunks_exact(line).take(count).enumerate() {
                self.values[(from + i) * self.stride + slot] = values[0];
            }
        }
        Ok(())
    }

    /// Those of one sample: the first `len`.
    pub(super) fn of(&self, sample: usize, len: usize) -> &[f64] {
        &self.values[sample * self.stride..][..len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// Over several panels: the functions are orthonormal, what the samples of a block are given
    /// one function at a time has the bits of the whole product, and coefficients come back.
    #[test]
    fn coordinates_are_those_of_an_orthonormal_basis() {
        const N: usize = 150;
        let mut rng = Rng::new(5);
        let points: Vec<[f64; 4]> = (0..N + 9).map(|_| [(); 4].map(|()| rng.normal())).collect();
        let k = |i: usize, j: usize| {
            let squares = points[i].iter().zip(&points[j]).map(|(a, b)| (a - b).powi(2));
            (-0.5 * squares.sum::<f64>()).exp()
        };
        // The samples of the block are the points after the N, all rows known from the start.
        let values: Vec<f64> = (N..N + 9).flat_map(|i| (0..N).map(move |j| k(i, j))).collect();
        let rows = |terms| KernelRows { values: &values, stride: N, terms };
        let mut basis = Basis::default();
        let mut grown = Coordinates::default();
        grown.fill(&basis, rows(0), (0, 9)).unwrap();
        for i in 0..N {
            let row: Vec<f64> = (0..i).map(|j| k(i, j)).collect();
            let own = KernelRows { values: &row, stride: i, terms: i };
            let mut all = Coordinates::default();
            all.fill(&basis, own, (0, 1)).unwrap();
            let z = all.of(0, i);
            let delta = (1.0 - z.iter().map(|v| v * v).sum::<f64>()).sqrt();
            assert!(delta > 1e-2, "{i}");
            basis.extend(z, delta).unwrap();
            if i % 64 == 63 {
                // A further panel needs room.
                grown.fill(&basis, rows(i + 1), (0, 9)).unwrap();
            } else {
                grown.append(&basis, rows(i + 1), (2, 9)).unwrap();
            }
        }
        let mut whole = Coordinates::default();
        whole.fill(&basis, rows(N), (0, 9)).unwrap();
        for sample in 2..9 {
            assert_eq!(grown.of(sample, N), whole.of(sample, N), "{sample}");
        }
        let mut a = Vec::new();
        for slot in 0..N {
            basis.row(slot, &mut a);
            a.truncate(N);
            let at = |i: usize| a.iter().enumerate().map(|(j, a)| k(i, j) * a).sum();
            let image: Vec<f64> = (0..N).map(at).collect();
            let mut other = Vec::new();
            for with in 0..=slot {
                basis.row(with, &mut other);
                let product: f64 = other.iter().zip(&image).map(|(o, v)| o * v).sum();
                let expected = if with == slot { 1.0 } else { 0.0 };
                assert!((product - expected).abs() < 1e-9, "{slot} {with} {product}");
            }
        }
        let w: Vec<f64> = (0..N).map(|_| rng.normal()).collect();
        let mut coefs = vec![0.0; N];
        basis.add_coefs(&w, &mut coefs);
        for sample in 0..9 {
            let along: f64 = whole.of(sample, N).iter().zip(&w).map(|(z, w)| z * w).sum();
            let by_terms: f64 = (0..N).map(|j| k(N + sample, j) * coefs[j]).sum();
            assert!((along - by_terms).abs() < 1e-9 * along.abs().max(1.0));
        }
    }
}
