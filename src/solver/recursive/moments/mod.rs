//! Where the rows so far lie: what they lose at coefficients far from those they were learnt at.
//!
//! A summary is a parabola about where the machine stood. In a stream sorted by label it stood at
//! f ≡ -1 for all rows of the first label, and its parabola takes rows that come to lie well on the
//! right side for rows that lose. So the rows of each label are known by groups as well: the weight of
//! each group and its mean features, and one scatter S of the rows about the means of their groups. As
//! if the decision values of a group were normally distributed,
//!
//! ```text
//! Σ_i C_i L(y_i, φ_iᵀβ)  ≈  Σ_j w_j E L(y_j, φ_jᵀβ + s t),   s² = βᵀSβ + SOFT²,  t normal
//! ```
//!
//! which is convex in β, and asks nothing of where β was ([`expansion`]). In another basis the means
//! are `P φ_j`, and the scatter is `P S Pᵀ` with what rows see of a direction that the old basis
//! lacked, at the price that it has in a summary's Hessian. What the old basis does not hold of the
//! rows of a group is lost with it, but for what the mean row of the group tells ([`middles`]): where a
//! class begins all points may be others, and without it each block would lose more of the others.
//!
//! What groups do not know shows where a block was learnt beside them: there the gradient of its rows
//! was that of the groups they joined and something *beyond*. The sum of these vectors goes along, as
//! a linear function of β, since rows of the same labels are learnt near by. Of what the solution so
//! far lacks else of being the minimum of penalty and groups a share goes along, a power of the
//! share of labels that the block has in common with those before ([`Moments::pull`]): of labels that
//! were last learnt far away it says nothing of here.
//!
//! Groups are made of the rows that a block brings ([`groups`]).

mod expansion;
mod groups;
mod middles;
#[cfg(test)]
mod tests;

use super::Change;
use crate::error::{Error, Result, check_len, try_square, try_vec};
use crate::linalg::mirrored;

pub(super) use expansion::Values;

/// Groups of rows of classes, on one basis.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    unknowns: usize,
    n_classes: usize,
    /// The class and the weight of each group.
    labels: Vec<u32>,
    weights: Vec<f64>,
    /// Groups x unknowns.
    means: Vec<f64>,
    /// `Σ c (φ - φ_j)(φ - φ_j)ᵀ`, row-major, and the sum of the weights of its rows.
    scatter: Vec<f64>,
    scattered: f64,
    /// The sum of what rows have along a direction that the bases lacked, times its price.
    unseen: f64,
    /// Of each output, unknowns one after another: what the gradient of rows learnt beside groups was,
    /// where they were learnt, beyond that of their groups.
    beyond: Vec<f64>,
    /// Groups x features, or of no features where they are not kept.
    middles: Vec<f64>,
    n_features: usize,
}

impl Moments {
    /// Of no rows.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(unknowns: usize, n_classes: usize) -> Result<Self> {
        Ok(Self {
            unknowns,
            n_classes,
            labels: Vec::new(),
            weights: Vec::new(),
            means: Vec::new(),
            scatter: try_square("groups of a stream", unknowns, 0.0)?,
            scattered: 0.0,
            unseen: 0.0,
            beyond: try_vec("groups of a stream", outputs(n_classes) * unknowns, 0.0)?,
            middles: Vec::new(),
            n_features: 0,
        })
    }

    /// Those of so many unknowns and classes whose groups have these classes, weights and mean
    /// features, with the lower triangle of the scatter, the weight of its rows, what is not seen, and
    /// what gradients have beyond those of groups.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `OutOfMemory`; `InvalidData` for a class that is none, and for
    /// a weight or a square that is negative.
    pub fn from_parts(
        (unknowns, n_classes): (usize, usize),
        (labels, weights, means): (Vec<u32>, Vec<f64>, Vec<f64>),
        (lower, scattered, unseen): (&[f64], f64, f64),
        beyond: Vec<f64>,
    ) -> Result<Self> {
        let what = "groups of a stream";
        check_len(what, labels.len(), weights.len())?;
        check_len(what, labels.len() * unknowns, means.len())?;
        check_len(what, unknowns * (unknowns + 1) / 2, lower.len())?;
        check_len(what, outputs(n_classes) * unknowns, beyond.len())?;
        for values in [&weights[..], &means, lower, &[scattered, unseen], &beyond] {
            crate::data::check_finite(what, values, 1)?;
        }
        let scatter = mirrored(what, lower, unknowns)?;
        let fits = labels.iter().all(|&label| (label as usize) < n_classes)
            && weights.iter().chain([&scattered, &unseen]).all(|w| *w >= 0.0)
            && (0..unknowns).all(|i| scatter[i * unknowns + i] >= 0.0);
        if !fits {
            let reason = "a class that is none, or a negative weight".into();
            return Err(Error::InvalidData { what, reason });
        }
        let (middles, n_features) = (Vec::new(), 0);
        Ok(Self {
            unknowns,
            n_classes,
            labels,
            weights,
            means,
            scatter,
            scattered,
            unseen,
            beyond,
            middles,
            n_features,
        })
    }

    /// Number of unknowns.
    #[must_use]
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Number of classes.
    #[must_use]
    pub fn n_classes(&self) -> usize {
        self.n_classes
    }

    /// The class of each group, its weight, and the mean features, a group after another.
    #[must_use]
    pub fn groups(&self) -> (&[u32], &[f64], &[f64]) {
        (&self.labels, &self.weights, &self.means)
    }

    /// The scatter, row-major, the weight of its rows, and the sum of what rows have along a
    /// direction of unit length which the bases lacked.
    #[must_use]
    pub fn scatter(&self) -> (&[f64], f64, f64) {
        (&self.scatter, self.scattered, self.unseen)
    }

    /// What the gradient of rows learnt beside groups was, where they were learnt, beyond that of their
    /// groups: of each output, unknowns one after another.
    #[must_use]
    pub fn beyond(&self) -> &[f64] {
        &self.beyond
    }

    /// Of one output.
    pub(super) fn beyond_of(&self, output: usize) -> &[f64] {
        &self.beyond[output * self.unknowns..(output + 1) * self.unknowns]
    }

    /// With this beyond the groups' gradients, an output after another.
    #[must_use]
    pub fn with_beyond(self, beyond: Vec<f64>) -> Self {
        Self { beyond, ..self }
    }

    /// What was seen counts this much of what it did.
    pub fn decay(&mut self, factor: f64) {
        self.scattered *= factor;
        self.unseen *= factor;
        let all = self.weights.iter_mut().chain(&mut self.scatter).chain(&mut self.beyond);
        all.for_each(|v| *v *= factor);
    }

    /// What a row has along a direction of unit length that the bases lacked, on average, times its
    /// price.
    fn unseen_of_a_row(&self) -> f64 {
        let all: f64 = self.weights.iter().sum();
        if all > 0.0 { self.unseen / all } else { 0.0 }
    }

    /// The same in another basis; `middles` are the kernel values of the mean rows with the old points
    /// and with the new ones, a row after another, of none where these are not kept.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn moved(&self, change: &Change, middles: (&[f64], &[f64])) -> Result<Self> {
        let means = self.moved_means(change, middles)?;
        let unseen = self.scattered * self.unseen_of_a_row();
        let scatter = change.form(&self.scatter, self.unknowns, unseen)?;
        let old = self.beyond.chunks_exact(self.unknowns.max(1));
        let beyond = old.map(|beyond| change.of(beyond)).collect::<Result<Vec<_>>>()?.concat();
        let (labels, weights) = (self.labels.clone(), self.weights.clone());
        let (unknowns, middles) = (change.unknowns(), self.middles.clone());
        Ok(Self { unknowns, labels, weights, means, scatter, beyond, middles, ..*self })
    }
}

/// Outputs of a machine of so many classes.
fn outputs(n_classes: usize) -> usize {
    if n_classes == 2 { 1 } else { n_classes }
}
