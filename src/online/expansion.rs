//! The budgeted expansion that every learner edits, and what a learner sees of a sample.

use std::sync::Arc;

use super::basis::Basis;
use super::dropped::Dropped;
use super::weights::Weights;
use crate::error::{Result, try_extend, try_vec};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::Expansion;
use crate::rng::Rng;
use crate::simd::{self, Tile};

/// A sample whose turn it is.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a, F: Real> {
    /// Its label, -1 or +1.
    pub y: f64,
    /// `f(x)`, before the step.
    pub f: f64,
    /// `k(x, x)`.
    pub own: f64,
    /// `k(s_j, x)` of every term (features of x for a learner on features).
    pub row: &'a [F],
    /// The coordinates of x in the model's basis, if it has one.
    pub(super) coordinates: &'a [f64],
    pub(super) tile: &'a Tile<F>,
    pub(super) at: usize,
    pub(super) seed: u64,
    pub(super) step: u64,
}

impl<F: Real> Turn<'_, F> {
    /// The sample, moved by the origin.
    fn point(&self) -> Result<Vec<F>> {
        let mut row = try_vec("a row", self.tile.n_features(), F::zero())?;
        self.tile.copy_row(self.at, &mut row);
        Ok(row)
    }

    /// Whether the sign of `f(x)` is wrong; 0 is wrong.
    #[must_use]
    pub fn is_mistake(&self) -> bool {
        self.y * self.f <= 0.0
    }

    /// Hinge loss `max(0, 1 - y f)`.
    #[must_use]
    pub fn loss(&self) -> f64 {
        (1.0 - self.y * self.f).max(0.0)
    }

    /// Random numbers of this step: they depend on the seed and the number of the step alone, so
    /// a stream may be cut anywhere.
    #[must_use]
    pub fn random(&self) -> Rng {
        Rng::stream(self.seed, self.step)
    }
}

/// What a step did to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// Nothing, or a decay.
    None,
    /// Coefficients changed, terms stayed.
    Coefficients,
    /// The sample is now the term in this slot, new or in the place of another.
    Term(usize),
}

/// What coefficients are of.
#[derive(Clone, Debug)]
pub(super) enum Span<F: Real> {
    /// The terms.
    Terms,
    /// Functions in the span of the terms.
    Basis(Basis),
    /// Features; there are no terms.
    Features(Arc<FeatureMap<F>>),
}

/// `f(x) = Σ_j β_j k(s_j, x)`. Slots are filled in the order of arrival; over budget a learner
/// replaces a slot, so none is ever empty.
#[derive(Clone, Debug)]
pub struct BudgetedExpansion<F: Real> {
    /// The points of the terms: an expansion without outputs, since the coefficients are kept in
    /// another way.
    pub(super) terms: Expansion<F>,
    /// `k(s_j, s_j)`.
    pub(super) own: Vec<f64>,
    /// Coefficients.
    pub weights: Weights,
    /// What the coefficients are of.
    pub(super) span: Span<F>,
    /// Terms that went and still count in the mean.
    pub(super) dropped: Dropped<F>,
}

impl<F: Real> BudgetedExpansion<F> {
    /// No terms. `origin`: what points are moved by before they are compared (empty: nothing);
    /// `average`: whether the mean over the steps is kept, and how many places of the budget are
    /// set aside in it for terms that went.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(
        kernel: AnyKernel,
        origin: Vec<F>,
        n_features: usize,
        average: Option<usize>,
    ) -> Result<Self> {
        Ok(Self {
            terms: Expansion::new(kernel, origin, n_features, 0)?,
            own: Vec::new(),
            weights: Weights::new(average.is_some()),
            span: Span::Terms,
            dropped: Dropped::new(n_features, average.unwrap_or(0))?,
        })
    }

    /// A linear model on features, which others may share, all coefficients 0.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn on_features(kernel: AnyKernel, map: Arc<FeatureMap<F>>, average: bool) -> Result<Self> {
        let mut model = Self::new(kernel, Vec::new(), map.n_features(), average.then_some(0))?;
        for _ in 0..map.n_outputs() {
            model.weights.push(0.0)?;
        }
        model.span = Span::Features(map);
        Ok(model)
    }

    /// The features, of a model that has no terms.
    #[must_use]
    pub fn map(&self) -> Option<&Arc<FeatureMap<F>>> {
        match &self.span {
            Span::Features(map) => Some(map),
            Span::Terms | Span::Basis(_) => None,
        }
    }

    /// The basis, of a model whose coefficients are those of one.
    pub(super) fn basis(&self) -> Option<&Basis> {
        match &self.span {
            Span::Basis(basis) => Some(basis),
            Span::Terms | Span::Features(_) => None,
        }
    }

    /// Length of a sample's row: terms, or features.
    pub(super) fn row_len(&self) -> usize {
        if self.map().is_some() { self.weights.len() } else { self.len() }
    }

    /// Number of terms.
    #[must_use]
    pub fn len(&self) -> usize {
        self.terms.len()
    }

    /// Whether a further term would be one too many, the places set aside counted in.
    #[must_use]
    pub fn is_full(&self, budget: usize) -> bool {
        self.len() + self.dropped.places() >= budget
    }

    /// Number of terms that predictions use: those that went and still count too.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.len() + self.dropped.len()
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.terms.kernel()
    }

    /// Number of features.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.terms.centers().n_features()
    }

    /// `k(s_j, s_j)`.
    #[must_use]
    pub fn own(&self, slot: usize) -> f64 {
        self.own[slot]
    }

    /// Adds the sample as a term.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn add(&mut self, turn: &Turn<'_, F>, coef: f64) -> Result<Update> {
        self.add_center(turn)?;
        Ok(Update::Term(self.weights.push(coef)?))
    }

    /// Adds the sample, at distance `delta` from the span, to the terms, its direction to the basis
    /// that the model has, and `coef` times the sample to the model.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(super) fn add_direction(
        &mut self,
        turn: &Turn<'_, F>,
        delta: f64,
        coef: f64,
    ) -> Result<Update> {
        if let Span::Basis(basis) = &mut self.span {
            basis.extend(turn.coordinates, delta)?;
        }
        self.add_center(turn)?;
        self.weights.add_all(coef, turn.coordinates);
        Ok(Update::Term(self.weights.push(coef * delta)?))
    }

    fn add_center(&mut self, turn: &Turn<'_, F>) -> Result<()> {
        self.terms.push(&turn.point()?)?;
        self.own.push(turn.own);
        Ok(())
    }

    /// Puts the sample in the place of a term.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn replace(&mut self, slot: usize, turn: &Turn<'_, F>, coef: f64) -> Result<Update> {
        if self.weights.is_averaged() {
            self.dropped.take(&mut self.weights, slot, self.terms.centers())?;
        }
        self.terms.move_center(slot, &turn.point()?);
        self.own[slot] = turn.own;
        self.weights.replace(slot, coef);
        Ok(Update::Term(slot))
    }

    /// `k(s_slot, s_j)` of every term j. O(B d).
    pub fn row_of(&mut self, slot: usize) -> Vec<F> {
        let (centers, mut tile) = (self.terms.centers(), Tile::new(self.n_features()));
        tile.fill_dense(1, |_, row| centers.get(slot, row));
        let padded = centers.padded_len();
        let mut row = vec![F::zero(); padded];
        self.kernel().values(&tile, (0, 1), centers, &mut row, padded);
        row
    }

    /// `f(s_slot)`. O(B d).
    pub fn value_at(&mut self, slot: usize) -> f64 {
        let row = self.row_of(slot);
        self.value(&row)
    }

    /// `Σ_j β_j row_j` of a padded row.
    pub(super) fn value(&self, row: &[F]) -> f64 {
        let (values, scale) = self.weights.raw();
        let mut sum = [0.0];
        simd::weighted_sums(row, values, &mut sum);
        scale * sum[0]
    }

    /// The value at a sample from its coordinates in the basis.
    pub(super) fn value_along(&self, coordinates: &[f64]) -> f64 {
        let (values, scale) = self.weights.raw();
        let mut sum = [0.0];
        simd::dots(coordinates, &values[..coordinates.len()], &mut sum);
        scale * sum[0]
    }

    /// What points are moved by (empty: nothing).
    #[must_use]
    pub fn origin(&self) -> &[F] {
        self.terms.origin()
    }

    /// Coefficients that predictions use, one a term: those of the terms, then of those that went.
    #[must_use]
    pub fn coefs(&self) -> Vec<f64> {
        let window = self.weights.window();
        let mut coefs = self.weights.for_prediction();
        if let Some(basis) = self.basis() {
            let steps = window.max(1) as f64;
            let past = basis.past.iter().map(|sum| sum / steps).collect();
            let along = std::mem::replace(&mut coefs, past);
            coefs.resize(self.len(), 0.0);
            basis.add_coefs(&along, &mut coefs);
        }
        coefs.truncate(self.len());
        coefs.extend(self.dropped.for_prediction(window));
        coefs
    }

    /// The points of the terms that predictions use, moved by the origin, terms x d.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn moved_points(&self) -> Result<Vec<F>> {
        let Dropped { older, newer, .. } = &self.dropped;
        let mut points = self.terms.centers().rows()?;
        for set in [older, newer] {
            try_extend("terms", &mut points, &set.rows()?)?;
        }
        Ok(points)
    }
}
