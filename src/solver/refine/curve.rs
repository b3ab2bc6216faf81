//! Products with the curvature of the objective, of Gauss and Newton.
//!
//! Decision values move with coefficients, points and offsets by
//!
//! ```text
//! df_ic = Σ_j k_ij dβ_jc + 2γ Σ_j β_jc k_ij (x_i - s_j)·ds_j + db_c
//! ```
//!
//! and with `D_ic` the curvature of a parabola above `C_i L_h`, `r_ic = D_ic df_ic` and
//! `w_ij = 2γ k_ij Σ_c r_ic β_jc` the product with `(dS, dβ, db)` is, what the penalty couples points with
//! each other and with coefficients by left out,
//!
//! ```text
//! points        Σ_i w_ij (x_i - s_j) + 2γ ‖β_j‖² ds_j
//! coefficients  Σ_i k_ij r_ic + Σ_l k(s_j, s_l) dβ_lc
//! offsets       Σ_i r_ic
//! ```

use super::sums::{Part, add_up, sized};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::linalg::{axpy, matrix, multiply};
use crate::parallel::{self, Spare};
use crate::watch::{Step, Watch};

/// Parts between two looks at the watch.
const WAVE: usize = 4;
/// Rows of K_SS that a task multiplies.
const GRAM_ROWS: usize = 32;

/// The curvature at a point, of some samples.
pub(super) struct Curve<F> {
    pub(super) gamma: f64,
    /// Terms, features, outputs.
    pub(super) sizes: (usize, usize, usize),
    /// Whether offsets are variables.
    pub(super) offsets: bool,
    pub(super) parts: Vec<Part<F>>,
    /// K_SS.
    pub(super) gram: Vec<F>,
    /// Basis points less the origin, and coefficients, row by row.
    pub(super) points: Vec<F>,
    pub(super) coef: Vec<F>,
    /// `2γ ‖β_j‖²`.
    pub(super) stiffness: Vec<f64>,
    /// Memory of products, for values of pairs and the gradient of points.
    pub(super) rooms: Spare<[Vec<F>; 2]>,
}

/// What a part adds to a product.
struct Sums<F> {
    points: Vec<F>,
    /// Memory that is not needed any more.
    pulls: Vec<F>,
    weights: Vec<f64>,
    coef: Vec<F>,
    offsets: Vec<f64>,
}

/// Variables as the products take them.
struct Move<F> {
    points: Vec<F>,
    /// `s_j · ds_j`.
    own: Vec<F>,
    coef: Vec<F>,
    offsets: Vec<f64>,
}

fn rounded<F: Real>(values: &[f64]) -> Vec<F> {
    values.iter().map(|&v| F::from_f64(v)).collect()
}

impl<F: Real> Curve<F> {
    /// The product with these variables.
    pub(super) fn times(&self, v: &[f64], out: &mut [f64], watch: &mut Watch<'_>) -> Step {
        let (terms, d, m) = self.sizes;
        let (ds, rest) = v.split_at(terms * d);
        let (db, offsets) = rest.split_at(terms * m);
        let pairs = ds.chunks_exact(d).zip(self.points.chunks_exact(d));
        let own = pairs.map(|(ds, s)| {
            F::from_f64(ds.iter().zip(s).map(|(a, &b)| a * Real::to_f64(b)).sum::<f64>())
        });
        let by = Move {
            own: own.collect(),
            points: rounded(ds),
            coef: rounded(db),
            offsets: if self.offsets { offsets.to_vec() } else { vec![0.0; m] },
        };
        let (points, rest) = out.split_at_mut(terms * d);
        let (coef, to) = rest.split_at_mut(terms * m);
        to.fill(0.0);
        parallel::each(coef.chunks_mut(GRAM_ROWS * m), &|chunk, to: &mut [f64]| {
            let gram = matrix(&self.gram, terms).subrows(chunk * GRAM_ROWS, to.len() / m);
            let mut own = vec![F::zero(); to.len()];
            multiply(&mut own, gram, matrix(&by.coef, m));
            to.iter_mut().zip(&own).for_each(|(to, &v)| *to = Real::to_f64(v));
        });
        points.iter_mut().zip(ds).enumerate().for_each(|(at, (to, v))| {
            *to = self.stiffness[at / d] * v;
        });
        let mut weights = try_vec("curvatures", terms, 0.0)?;
        for wave in self.parts.chunks(WAVE) {
            let sums = parallel::map(wave.len(), &|p| self.part(&wave[p], &by));
            let sums: Vec<Sums<F>> = sums.into_iter().collect::<Result<_>>()?;
            for sums in &sums {
                axpy(1.0, &sums.weights, &mut weights);
                axpy(1.0, &sums.coef, coef);
                if self.offsets {
                    axpy(1.0, &sums.offsets, to);
                }
            }
            add_up(&sums, |sums| &sums.points, points);
            sums.into_iter().for_each(|sums| self.rooms.give([sums.pulls, sums.points]));
            watch.poll()?;
        }
        for ((to, s), weight) in
            points.chunks_exact_mut(d).zip(self.points.chunks_exact(d)).zip(&weights)
        {
            to.iter_mut().zip(s).for_each(|(to, &s)| *to -= weight * Real::to_f64(s));
        }
        Ok(())
    }

    fn part(&self, part: &Part<F>, by: &Move<F>) -> Result<Sums<F>> {
        let (terms, d, m) = self.sizes;
        let a = part.bends.len() / m;
        let (kernel, rows) = (matrix(&part.kernel, terms), matrix(&part.rows, d));
        let factor = F::from_f64(2.0 * self.gamma);
        let [mut pulls, mut points] = self.rooms.take().unwrap_or_default();
        sized("curvatures", &mut pulls, a * terms)?;
        sized("curvatures", &mut points, terms * d)?;
        multiply(&mut pulls, rows, matrix(&by.points, d).transpose());
        for (pulls, k) in pulls.chunks_exact_mut(terms).zip(part.kernel.chunks_exact(terms)) {
            for ((pull, &k), &own) in pulls.iter_mut().zip(k).zip(&by.own) {
                *pull = factor * k * (*pull - own);
            }
        }
        let mut moved = try_vec("curvatures", a * m, F::zero())?;
        let mut more = try_vec("curvatures", a * m, F::zero())?;
        multiply(&mut moved, matrix(&pulls, terms), matrix(&self.coef, m));
        multiply(&mut more, kernel, matrix(&by.coef, m));
        let mut offsets = try_vec("curvatures", m, 0.0)?;
        for (at, (r, more)) in moved.iter_mut().zip(&more).enumerate() {
            let df = Real::to_f64(*r) + Real::to_f64(*more) + by.offsets[at % m];
            let slope = df * Real::to_f64(part.bends[at]);
            offsets[at % m] += slope;
            *r = F::from_f64(slope);
        }
        let slopes = matrix(&moved, m);
        let mut sums = Sums {
            points,
            pulls: Vec::new(),
            weights: try_vec("curvatures", terms, 0.0)?,
            coef: try_vec("curvatures", terms * m, F::zero())?,
            offsets,
        };
        multiply(&mut sums.coef, kernel.transpose(), slopes);
        multiply(&mut pulls, slopes, matrix(&self.coef, m).transpose());
        for (w, k) in pulls.chunks_exact_mut(terms).zip(part.kernel.chunks_exact(terms)) {
            for ((w, &k), sum) in w.iter_mut().zip(k).zip(&mut sums.weights) {
                *w = factor * k * *w;
                *sum += Real::to_f64(*w);
            }
        }
        multiply(&mut sums.points, matrix(&pulls, terms).transpose(), rows);
        sums.pulls = pulls;
        Ok(sums)
    }
}
