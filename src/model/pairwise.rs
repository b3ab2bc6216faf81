//! Decision values of exact machines: one output, or one a pair of classes.

use ndarray::ArrayView2;
use rayon::prelude::*;

use crate::data::Rows;
use crate::error::{Error, Result, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, load_tile};
use crate::parallel::ROW_CHUNK;
use crate::simd::{self, Packed, Tile};

/// Support vectors of a packed block, fewer when rows are wide.
const BLOCK: usize = 1024;

/// Values of the blocks that are packed at a time, about: they stay in the caches.
const GROUP_VALUES: usize = 1 << 20;

/// Support vectors and what their kernel values count, borrowed.
///
/// With more than two classes the support vectors are sorted by class and `coef` is laid out as
/// in \[LIBSVM\]: a support vector of class i counts `coef[j - 1]` against j > i and `coef[j]`
/// against j < i.
///
/// *Cost* of a prediction: O(B d) a row and O(B k) for k classes.
#[derive(Clone, Debug)]
pub struct PairwiseModel<'a> {
    /// The kernel.
    pub kernel: AnyKernel,
    /// The support vectors, B x d.
    pub support: Rows<'a, f64>,
    /// Support vectors of each class; with fewer than three entries there is one output.
    pub n_support: Vec<usize>,
    /// 1 x B, or (classes - 1) x B.
    pub coef: ArrayView2<'a, f64>,
    /// One offset an output.
    pub intercept: &'a [f64],
}

/// Points whose kernel values a thread computes before it sums them.
const POINTS: usize = 8;

struct Block<F: Real> {
    class: usize,
    centers: Packed<F>,
    /// One padded row an output of the block.
    coef: Vec<f64>,
}

impl PairwiseModel<'_> {
    /// Number of outputs: 1, or k (k - 1) / 2 for k > 2 classes.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        match self.n_support.len() {
            0..=2 => 1,
            k => k * (k - 1) / 2,
        }
    }

    fn check<F: Real>(&self, rows: &Rows<'_, F>, out: &[f64]) -> Result<()> {
        let (terms, outputs) = (self.support.n_rows(), self.n_outputs());
        let per_term = self.n_support.len().max(2) - 1;
        for (what, expected, got) in [
            (
                "n_support_",
                terms,
                self.n_support.iter().fold(0, |s: usize, n| s.saturating_add(*n)),
            ),
            ("dual_coef_", terms, self.coef.ncols()),
            ("dual_coef_", per_term, self.coef.nrows()),
            ("intercept_", outputs, self.intercept.len()),
            ("out", rows.n_rows().saturating_mul(outputs), out.len()),
        ] {
            if expected != got {
                return Err(Error::LengthMismatch { what, expected, got });
            }
        }
        let (expected, got) = (self.support.n_cols(), rows.n_cols());
        if expected != got {
            return Err(Error::FeatureMismatch { expected, got });
        }
        Ok(())
    }

    /// Decision values, n x outputs (positive: class i of the pair i < j), in parallel inside the
    /// current pool: kernel values in the precision of `rows`, their sums in `f64`. The same bits
    /// for any cut of the rows and any number of threads.
    ///
    /// # Errors
    /// `LengthMismatch`, `FeatureMismatch`, `OutOfMemory`.
    pub fn decision<F: Real>(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        self.check(rows, out)?;
        let k = self.n_support.len();
        let (classes, sums_each) = if k > 2 { (k, k - 1) } else { (1, 1) };
        let width = classes * sums_each;
        let n = rows.n_rows();
        let mut parts = try_vec("decision values", n.saturating_mul(width), 0.0)?;
        let origin: Vec<F> = self.origin().into_iter().map(F::from_f64).collect();
        let ranges = self.ranges(classes);
        let mut ranges = ranges.as_slice();
        while let [(_, (first, _)), ..] = ranges {
            // Those that end within the bound, one at least.
            let end = first + GROUP_VALUES / self.support.n_cols().max(1);
            let count = ranges.iter().take_while(|(_, (_, last))| *last <= end).count().max(1);
            let (group, rest) = ranges.split_at(count);
            ranges = rest;
            let blocks: Result<Vec<Block<F>>> =
                group.par_iter().map(|&(class, range)| self.pack(class, range, &origin)).collect();
            self.add(rows, &origin, (&blocks?, sums_each), &mut parts);
        }
        self.combine(&parts, sums_each, out);
        Ok(())
    }

    fn origin(&self) -> Vec<f64> {
        crate::kernel::origin_for(self.kernel, &self.support)
    }

    /// The terms of each block, and their class.
    fn ranges(&self, classes: usize) -> Vec<(usize, (usize, usize))> {
        let step = (GROUP_VALUES / self.support.n_cols().max(1)).clamp(16, BLOCK);
        let (mut ranges, mut first) = (Vec::new(), 0);
        for class in 0..classes {
            let end =
                if classes > 1 { first + self.n_support[class] } else { self.support.n_rows() };
            while first < end {
                let last = (first + step).min(end);
                ranges.push((class, (first, last)));
                first = last;
            }
        }
        ranges
    }

    fn pack<F: Real>(
        &self,
        class: usize,
        (first, last): (usize, usize),
        origin: &[F],
    ) -> Result<Block<F>> {
        let mut centers = Packed::new(self.support.n_cols())?;
        let mut support = vec![0.0; self.support.n_cols()];
        centers.extend(last - first, |i, row| {
            self.support.copy_row(first + i, &mut support);
            support.iter_mut().zip(origin).for_each(|(v, o)| *v -= Real::to_f64(*o));
            row.iter_mut().zip(&support).for_each(|(to, v)| *to = F::from_f64(*v));
        })?;
        let stride = centers.padded_len();
        let mut coef = vec![0.0; stride * self.coef.nrows()];
        for (row, to) in self.coef.rows().into_iter().zip(coef.chunks_exact_mut(stride)) {
            for (to, &value) in to.iter_mut().zip(row.iter().skip(first).take(last - first)) {
                *to = value;
            }
        }
        Ok(Block { class, centers, coef })
    }

    fn add<F: Real>(
        &self,
        rows: &Rows<'_, F>,
        origin: &[F],
        (blocks, sums_each): (&[Block<F>], usize),
        parts: &mut [f64],
    ) {
        let width = parts.len() / rows.n_rows().max(1);
        let make = || (Tile::new(rows.n_cols()), Vec::new(), vec![0.0; ROW_CHUNK * sums_each]);
        parts.par_chunks_mut(ROW_CHUNK * width).enumerate().for_each_init(
            make,
            |(tile, values, sums), (chunk, parts)| {
                let (first, len) = (chunk * ROW_CHUNK, parts.len() / width);
                load_tile(rows, len, |i| first + i, origin, tile);
                for block in blocks {
                    self.sums_of(block, tile, values, sums);
                    let rows = parts.chunks_exact_mut(width).zip(sums.chunks_exact(sums_each));
                    for (part, sums) in rows {
                        let to = &mut part[block.class * sums_each..][..sums_each];
                        to.iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
                    }
                }
            },
        );
    }

    /// What one block adds to every point of a tile: a value for each row of `coef`.
    fn sums_of<F: Real>(
        &self,
        block: &Block<F>,
        tile: &Tile<F>,
        values: &mut Vec<F>,
        sums: &mut [f64],
    ) {
        let (len, sums_each) = (tile.len(), self.coef.nrows());
        if sums_each == 1 {
            let coef = (block.coef.as_slice(), 1);
            self.kernel.sums(tile, (0, len), &block.centers, coef, &mut sums[..len]);
            return;
        }
        let stride = block.centers.padded_len();
        values.resize(POINTS * stride, F::zero());
        for from in (0..len).step_by(POINTS) {
            let to = (from + POINTS).min(len);
            self.kernel.values(tile, (from, to), &block.centers, values, stride);
            let out = &mut sums[from * sums_each..to * sums_each];
            let values = &values[..(to - from) * stride];
            simd::weighted_sums_of(values, to - from, (&block.coef, sums_each), out);
        }
    }

    fn combine(&self, parts: &[f64], sums_each: usize, out: &mut [f64]) {
        let k = self.n_support.len();
        if k <= 2 {
            out.iter_mut().zip(parts).for_each(|(out, part)| *out = part + self.intercept[0]);
            return;
        }
        let outputs = self.intercept.len();
        for (part, out) in parts.chunks_exact(k * sums_each).zip(out.chunks_exact_mut(outputs)) {
            let mut output = 0;
            for i in 0..k {
                for j in i + 1..k {
                    let sum = part[i * sums_each + j - 1] + part[j * sums_each + i];
                    out[output] = sum + self.intercept[output];
                    output += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::rng::Rng;

    #[test]
    fn pairs_are_those_of_the_plain_sum() {
        let mut rng = Rng::new(8);
        let mut random = |n, d| Array2::from_shape_fn((n, d), |_| rng.uniform() - 0.5);
        let (support, coef, x) = (random(1500, 3), random(3, 1500), random(150, 3));
        let n_support = vec![1200, 0, 250, 50];
        let class = |s: usize| {
            if s < 1200 {
                0
            } else if s < 1450 {
                2
            } else {
                3
            }
        };
        let intercept = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        for kernel in [
            AnyKernel::Gaussian { gamma: 0.7 },
            AnyKernel::Polynomial { gamma: 1.0, coef0: 1.0, degree: 3 },
        ] {
            let (support, coef) = (Rows::Dense(support.view()), coef.view());
            let model = PairwiseModel {
                kernel,
                support,
                n_support: n_support.clone(),
                coef,
                intercept: &intercept,
            };
            let mut out = vec![0.0; 150 * 6];
            model.decision(&Rows::Dense(x.view()), &mut out).unwrap();
            let (narrow, mut single) = (x.mapv(|v| v as f32), vec![0.0; 150 * 6]);
            model.decision(&Rows::Dense(narrow.view()), &mut single).unwrap();
            let outs = out.chunks(6).zip(single.chunks(6));
            for (row, (out, single)) in x.rows().into_iter().zip(outs) {
                let mut output = 0;
                for i in 0..4 {
                    for j in i + 1..4 {
                        let mut sum = intercept[output];
                        let mut center = [0.0; 3];
                        for s in 0..1500 {
                            support.copy_row(s, &mut center);
                            let value = kernel.eval(&row.to_vec(), &center);
                            if class(s) == i {
                                sum += coef[(j - 1, s)] * value;
                            } else if class(s) == j {
                                sum += coef[(i, s)] * value;
                            }
                        }
                        assert!((out[output] - sum).abs() < 1e-10 * (1.0 + sum.abs()));
                        // 1500 terms of at most 0.5, or 3 for the polynomial kernel.
                        let off = (single[output] - sum).abs();
                        assert!(off < 1e-4 * (1.0 + sum.abs()), "{off} {sum}");
                        output += 1;
                    }
                }
            }
        }
    }

    #[test]
    fn no_support_vector_leaves_the_offset() {
        let (support, coef) = (Array2::zeros((0, 2)), Array2::zeros((1, 0)));
        let model = PairwiseModel {
            kernel: AnyKernel::Linear,
            support: Rows::Dense(support.view()),
            n_support: vec![0],
            coef: coef.view(),
            intercept: &[1.5],
        };
        let (x, mut out) = (Array2::<f64>::zeros((3, 2)), [0.0; 3]);
        model.decision(&Rows::Dense(x.view()), &mut out).unwrap();
        assert_eq!(out, [1.5; 3]);
        assert!(model.decision(&Rows::Dense(x.view()), &mut out[..2]).is_err());
    }
}
