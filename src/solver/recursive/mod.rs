//! The recursive polish: what a stream has taught, in B x B numbers an output.
//!
//! ```text
//! Q(β) = ½ βᵀHβ - gᵀβ     the losses of all rows so far, to second order
//! min over β of ½ βᵀKβ + Q(β) + Σ_i C_i L_h(y_i, φ_iᵀβ)     with the rows of one block more
//! ```
//!
//! `φ_i = k(S, x_i)` are the kernel values of a row with the basis S, `K = k(S, S)`; with an offset
//! the last entry of φ is 1 and the last row and column of K are 0. Of one class a block has one term
//! more, a tilt of the offset that its rows bring ([`Block::tilt`]), and K counts as much as all rows.
//!
//! # Method
//!
//! 1. *Move* (when the basis has changed to S'): past rows are known by their features in the old
//!    basis alone, so `φ' ≈ P φ` with `P = K_S'S K_SS⁻¹`; then `H ← P H Pᵀ`, `g ← P g`. Points that
//!    stayed are rows of the identity, and of them nothing is lost. Of what the old basis does not
//!    hold of a new point, `R = K_S'S' - P K_SS Pᵀ`, nothing is known but what rows see of such a
//!    direction on average: `H += τ R`, where every row that is absorbed has added to τ its curvature
//!    times a share ([`Block::price`]) of what rows of its block have of such a direction
//!    ([`Block::unseen`]). Without it a new direction is free: rows of one label, learnt from last,
//!    would carry all others with them.
//! 2. *Solve* by Newton's method ([`Block::solve`]).
//! 3. *Absorb* the block: `H += Φᵀ W Φ`, `g += Φᵀ(W f - r)` with its decision values f, its slopes
//!    `r = C L_h'` and its curvatures `W = C L''` of a corner twice as wide: a narrow
//!    corner leaves no curvature for most rows. The gradient that the block had stays as it was, so
//!    the solution is still the minimum.
//!
//! Since that holds after every block, the solution need not be kept: it is `(K + H)⁻¹ g`
//! ([`Summary::minimum`]). A squared loss makes the recursion exact on a basis that does not move.
//!
//! Where the labels of a block are others than those before, the solution may go far from where the
//! summary was made. Then groups of the rows before ([`Moments`]) stand in the summary's place, and
//! the summary is made anew from them about the new solution ([`Past`]).
//!
//! # Cost
//!
//! O(m B² + B³) a block of m rows and an output, memory B² numbers an output.
//!
//! Kin: recursive least squares, streaming sparse Gaussian processes (Bui et al. 2017). The losses
//! and their smoothing are those of \[PRIMAL\] section 4.

mod moments;
mod newton;
mod past;
#[cfg(test)]
mod tests;
mod whitened;
mod worth;

use crate::error::{Error, Result, check_len, try_square, try_vec};
use crate::float::Real;
use crate::linalg::{
    Cholesky, GramAccumulator, axpy, dot, matrix, multiply, multiply_lower, symmetric_times,
};
use crate::watch::{Halt, Step};

pub use moments::Moments;
pub use newton::Block;
pub use past::Past;
pub use worth::Worth;

/// How much wider the corners are whose curvature is absorbed.
pub(super) const WIDER: f64 = 2.0;
/// Jitter of K_SS before past features are moved, relative.
pub(crate) const MOVE_JITTER: f64 = 5e-7;
/// Jitter of `K + H`, relative.
const JITTER: f64 = 1e-12;

/// What the rows so far say about the coefficients of one output.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// H, all of it, row-major.
    hessian: Vec<f64>,
    /// g.
    linear: Vec<f64>,
    /// τ: the curvature along a direction that the bases lacked.
    unseen: f64,
    lost: Lost,
}

/// What rows lose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lost {
    /// At the solutions that learnt them.
    pub learnt: f64,
    /// Where nothing but the offset decides.
    pub untold: f64,
}

impl Lost {
    /// With more rows.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { learnt: self.learnt + other.learnt, untold: self.untold + other.untold }
    }

    /// How much more of what these rows lose stays once they are learnt than of what those `before`
    /// lost, as a share of the most that it could be; 0 where nothing is known of those.
    #[must_use]
    pub fn beyond(self, before: Self) -> f64 {
        if self.untold <= 0.0 || before.untold <= 0.0 {
            return 0.0;
        }
        let (now, then) = (self.learnt / self.untold, before.learnt / before.untold);
        if then < 1.0 { ((now - then) / (1.0 - then)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Summary {
    /// Nothing seen, for so many unknowns: coefficients and, if there is one, the offset.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(unknowns: usize) -> Result<Self> {
        Ok(Self {
            hessian: try_square("summary of a stream", unknowns, 0.0)?,
            linear: try_vec("summary of a stream", unknowns, 0.0)?,
            unseen: 0.0,
            lost: Lost::default(),
        })
    }

    /// The summary with this Hessian, symmetric, linear part, and curvature of what is not seen.
    ///
    /// # Errors
    /// `LengthMismatch`; `NonFinite`; `InvalidData` unless it is symmetric with a diagonal that is
    /// not negative, and neither is the curvature.
    pub fn from_parts(hessian: Vec<f64>, linear: Vec<f64>, unseen: f64) -> Result<Self> {
        let n = linear.len();
        check_len("summary of a stream", n * n, hessian.len())?;
        crate::data::check_finite("summary of a stream", &hessian, n.max(1))?;
        crate::data::check_finite("summary of a stream", &linear, 1)?;
        crate::data::check_finite("summary of a stream", &[unseen], 1)?;
        let symmetric = (0..n).all(|i| {
            hessian[i * n + i] >= 0.0 && (0..i).all(|j| hessian[i * n + j] == hessian[j * n + i])
        });
        if !symmetric || unseen < 0.0 {
            let reason = "not symmetric, or a negative curvature".into();
            return Err(Error::InvalidData { what: "summary of a stream", reason });
        }
        Ok(Self { hessian, linear, unseen, lost: Lost::default() })
    }

    /// Number of unknowns.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.linear.len()
    }

    /// H, row-major.
    #[must_use]
    pub fn hessian(&self) -> &[f64] {
        &self.hessian
    }

    /// g.
    #[must_use]
    pub fn linear(&self) -> &[f64] {
        &self.linear
    }

    /// The curvature that the rows so far have along a direction of unit length which their bases
    /// lacked, as far as can be told.
    #[must_use]
    pub fn unseen(&self) -> f64 {
        self.unseen
    }

    /// What the rows so far lost when they were learnt, as far as it is known.
    #[must_use]
    pub fn lost(&self) -> Lost {
        self.lost
    }

    /// The summary where the rows lost so much.
    ///
    /// # Errors
    /// `InvalidData` unless both are finite and not negative.
    pub fn with_lost(self, lost: Lost) -> Result<Self> {
        if ![lost.learnt, lost.untold].iter().all(|v| v.is_finite() && *v >= 0.0) {
            let reason = "losses that are none".into();
            return Err(Error::InvalidData { what: "summary of a stream", reason });
        }
        Ok(Self { lost, ..self })
    }

    /// What was seen counts this much of what it did.
    pub fn decay(&mut self, factor: f64) {
        self.unseen *= factor;
        self.lost = Lost { learnt: factor * self.lost.learnt, untold: factor * self.lost.untold };
        self.hessian.iter_mut().chain(&mut self.linear).for_each(|v| *v *= factor);
    }

    /// Adds a multiple of a symmetric matrix, of which the lower triangle is read.
    pub(super) fn add(&mut self, lower: &[f64], scale: f64) {
        let n = self.unknowns();
        for i in 0..n {
            for j in 0..=i {
                let value = self.hessian[i * n + j] + scale * lower[i * n + j];
                self.hessian[i * n + j] = value;
                self.hessian[j * n + i] = value;
            }
            // What is taken away may leave less than nothing, by rounding.
            self.hessian[i * n + i] = self.hessian[i * n + i].max(0.0);
        }
    }

    /// Makes this solution the minimum, whatever it was: `g = (K + H) β`.
    pub(crate) fn settle(&mut self, penalty: &[f64], solution: &[f64]) {
        self.linear = symmetric_times(&self.hessian, solution);
        axpy(1.0, &symmetric_times(penalty, solution), &mut self.linear);
    }

    /// `(K + H)⁻¹ g`, the coefficients that are best for what was seen; K is `penalty`.
    ///
    /// # Errors
    /// `OutOfMemory`; `NotPositiveDefinite` for kernel values that are no kernel's.
    pub fn minimum(&self, penalty: &[f64]) -> Result<Vec<f64>> {
        let mut matrix = self.hessian.clone();
        axpy(1.0, penalty, &mut matrix);
        let factor: Cholesky = self.factor(&matrix, &mut || Ok::<(), Error>(()))?;
        let mut out = self.linear.clone();
        factor.solve(&mut out);
        Ok(out)
    }

    /// Factors `K + H`.
    fn factor<E: From<Error>>(
        &self,
        curved: &[f64],
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Cholesky, E> {
        Cholesky::factor("summary", curved, self.unknowns(), JITTER, between)
    }

    /// The same in another basis, where new directions have this share of the price.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn moved(&self, change: &Change, priced: f64) -> Result<Self> {
        let hessian = change.form(&self.hessian, self.unknowns(), priced * self.unseen)?;
        Ok(Self { hessian, linear: change.of(&self.linear)?, ..*self })
    }
}

/// Where an unknown of the new basis comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It is this one of the old.
    Old(usize),
    /// It is this row of those that are new.
    Changed(usize),
}

/// P, a row an unknown of the new basis.
#[derive(Clone, Debug)]
pub struct Change {
    kept: Vec<Place>,
    /// The rows that are not of the identity, one after another.
    rows: Vec<f64>,
    /// `K_S'S' - P K Pᵀ` of the changed points: their parts that the old basis does not hold.
    apart: Vec<f64>,
}

impl Change {
    /// `kept`: where each unknown of the new basis comes from. `penalty`: the old K, of all old
    /// unknowns. `cross`: the kernel values of the changed points with the old ones, 0 in the
    /// offset's place, one row after another; `among`: those of the changed points with each other.
    ///
    /// # Errors
    /// `OutOfMemory`, `NotPositiveDefinite`, `Interrupted`.
    pub fn new(
        kept: Vec<Place>,
        penalty: &[f64],
        (cross, among): (Vec<f64>, Vec<f64>),
        with_offset: bool,
        between: &mut dyn FnMut() -> Step,
    ) -> Step<Self> {
        let old = (penalty.len() as f64).sqrt() as usize;
        let (mut rows, mut apart) = (cross.clone(), among);
        if !rows.is_empty() {
            let mut k = penalty.to_vec();
            if with_offset && old > 0 {
                k[old * old - 1] = 1.0;
            }
            let factor = Cholesky::factor::<Halt>("basis", &k, old, MOVE_JITTER, between)?;
            factor.solve_columns(&mut rows, between)?;
            let changed = rows.len() / old;
            let mut held = try_square("basis", changed, 0.0)?;
            multiply_lower(&mut held, matrix(&rows, old), matrix(&cross, old));
            for a in 0..changed {
                for b in 0..=a {
                    let (at, mirrored) = (a * changed + b, b * changed + a);
                    apart[at] -= held[at];
                    apart[mirrored] = apart[at];
                }
                apart[a * changed + a] = apart[a * changed + a].max(0.0);
            }
        }
        Ok(Self { kept, rows, apart })
    }

    /// P times a vector of the old unknowns.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn of(&self, vector: &[f64]) -> Result<Vec<f64>> {
        let mut out = try_vec("summary of a stream", self.unknowns(), 0.0)?;
        self.vector(vector, &mut out);
        Ok(out)
    }

    /// The same of each of `count` vectors, one after another.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn of_each(&self, vectors: &[f64], count: usize) -> Result<Vec<f64>> {
        let (old, new) = (vectors.len() / count.max(1), self.unknowns());
        let mut out = try_vec("summary of a stream", count * new, 0.0)?;
        if old == 0 || new == 0 {
            return Ok(out);
        }
        let changed = self.rows.len() / old;
        let mut product = try_vec("summary of a stream", count * changed, 0.0)?;
        if changed > 0 {
            multiply(&mut product, matrix(vectors, old), matrix(&self.rows, old).transpose());
        }
        let each = out.chunks_exact_mut(new).zip(vectors.chunks_exact(old)).enumerate();
        for (row, (to, vector)) in each {
            for (to, place) in to.iter_mut().zip(&self.kept) {
                *to = match *place {
                    Place::Old(a) => vector[a],
                    Place::Changed(a) => product[row * changed + a],
                };
            }
        }
        Ok(out)
    }

    /// Unknowns of the new basis.
    fn unknowns(&self) -> usize {
        self.kept.len()
    }

    /// P times a vector of the old unknowns.
    fn vector(&self, vector: &[f64], out: &mut [f64]) {
        let old = vector.len();
        for (to, place) in out.iter_mut().zip(&self.kept) {
            *to = match *place {
                Place::Old(a) => vector[a],
                Place::Changed(a) => dot(&self.rows[a * old..(a + 1) * old], vector),
            };
        }
    }

    /// `P M Pᵀ` of a symmetric matrix of the `old` unknowns, and `unseen` times what the old basis
    /// does not hold of the changed points.
    fn form(&self, form: &[f64], old: usize, unseen: f64) -> Result<Vec<f64>> {
        let new = self.unknowns();
        // M Xᵀ, old x changed: what the changed rows of P make of M.
        let changed = self.rows.len() / old.max(1);
        let mut product = try_vec("summary of a stream", old * changed, 0.0)?;
        let mut corner = try_square("summary of a stream", changed, 0.0)?;
        if changed > 0 {
            let x = matrix(&self.rows, old);
            multiply(&mut product, matrix(form, old), x.transpose());
            // X M Xᵀ is symmetric: X (M Xᵀ) is made of half of its entries.
            multiply_lower(&mut corner, x, matrix(&product, changed).transpose());
        }
        let mut out = try_square("summary of a stream", new, 0.0)?;
        for i in 0..new {
            for j in 0..=i {
                let value = match (self.kept[i], self.kept[j]) {
                    (Place::Old(a), Place::Old(b)) => form[a * old + b],
                    (Place::Old(a), Place::Changed(b)) | (Place::Changed(b), Place::Old(a)) => {
                        product[a * changed + b]
                    }
                    (Place::Changed(a), Place::Changed(b)) => {
                        let at = a.max(b) * changed + a.min(b);
                        corner[at] + unseen * self.apart[at]
                    }
                };
                let value = if i == j { value.max(0.0) } else { value };
                out[i * new + j] = value;
                out[j * new + i] = value;
            }
        }
        Ok(out)
    }

    /// Whether the basis is what it was.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.kept.iter().enumerate().all(|(i, place)| *place == Place::Old(i))
    }
}

/// The lower triangle of `Σ w² a aᵀ` of order n over rows and roots of weights; entries that a row
/// lacks are 1.
fn gram<F: Real>(
    n: usize,
    rows: &[(&[F], f64)],
    between: &mut dyn FnMut() -> Step,
) -> Step<Vec<f64>> {
    let mut sum = GramAccumulator::of(n, rows.len())?;
    sum.clear(false)?;
    let mut rest = rows;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rest.len().min(sum.room()));
        sum.push(now.len(), |i| now[i]);
        sum.flush(&mut *between)?;
        rest = later;
    }
    let mut out = try_square("Hessian", n, 0.0)?;
    sum.add_to(&mut out);
    Ok(out)
}
