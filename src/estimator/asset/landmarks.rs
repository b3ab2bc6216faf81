//! The landmarks of a stream: which rows they are, whatever the rows are cut into.
//!
//! They are drawn among the first `n_components` rows, or among those of the first call where these
//! are more. Until there are as many rows they are held, and each time that they have doubled all of
//! them are landmarks and are learnt anew. Where they lack a class, as in a stream that is sorted by
//! label, rows of it take the places of others when they come, until every class has its share: the
//! machine so far is then projected on the features of the new landmarks, and goes on from there.

use super::config::{AssetConfig, AssetFeatures};
use super::train::{AssetReport, go_on};
use crate::data::{Gathered, Problem, Targets};
use crate::error::{Result, try_vec};
use crate::estimator::machine::{Machine, State};
use crate::estimator::piece::Piece;
use crate::estimator::samples::samples;
use crate::features::{FeatureMap, draw_landmarks};
use crate::float::Real;
use crate::linalg::axpy;
use crate::rng::Rng;
use crate::solver::asset;
use crate::watch::Watch;

impl AssetConfig {
    /// Learns new rows of a stream.
    pub(super) fn pass_on_landmarks<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        start: Option<&Machine<F>>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        let known = start.map(|machine| go_on(machine, problem)).transpose()?;
        let before = match start.map(Machine::state) {
            Some(State::Asset(_, Some(rows))) => Some(rows),
            None if matches!(self.features, AssetFeatures::Nystroem { .. }) => None,
            _ => return self.one_pass(problem, known, watch),
        };
        if let (Some(rows), Some(known)) = (before, known)
            && rows.cost.len() >= self.n_components
        {
            return self.pass_with_late_classes(problem, (known, rows), watch);
        }
        let (index, _) = samples(problem, 0, 0..0)?;
        let new = Piece::new(problem, &index)?;
        let held = match before {
            Some(rows) => Piece::joined([&**rows, &new].into_iter())?,
            None => new,
        };
        let landmarks = match known {
            Some((FeatureMap::Landmarks(map), _)) => map.n_landmarks(),
            Some((FeatureMap::Fourier(_), _)) | None => 0,
        };
        let is_due = held.cost.len() >= self.n_components.min(2 * landmarks);
        let (machine, report) = match is_due {
            true => self.one_pass(&held.problem()?, None, watch)?,
            false => self.one_pass(problem, known, watch)?,
        };
        if held.cost.len() < self.n_components {
            return Ok((machine.on_rows(Some(held)), report));
        }
        let held = held.problem()?;
        let lacking = class_counts(held.targets()).contains(&0);
        let all: Vec<usize> = (0..held.len()).collect();
        let chosen = draw_landmarks(&all, self.n_components, &mut Rng::new(self.seed))?;
        let rows = if lacking { Some(Piece::new(&held, &chosen)?) } else { None };
        Ok((machine.on_rows(rows), report))
    }

    /// The same where rows of classes that the landmarks lack, or have few of, take places of others.
    fn pass_with_late_classes<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        (known, rows): ((&FeatureMap<F>, &asset::State), &Piece<F>),
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, AssetReport)> {
        let Targets::Classes { index, n_classes } = problem.targets() else {
            return self.one_pass(problem, Some(known), watch);
        };
        let share = (rows.cost.len() / n_classes).max(1);
        let before = class_counts(rows.targets.view());
        let mut counts = before.clone();
        let late = (0..problem.len()).filter(|&i| {
            let class = index[i] as usize;
            let joins = problem.cost()[i] > 0.0 && counts[class] < share;
            counts[class] += usize::from(joins);
            joins
        });
        let late: Vec<usize> = late.collect();
        let held = rows.problem()?;
        let mut left = late.len();
        let kept: Vec<usize> = (0..held.len())
            .filter(|&i| {
                let Targets::Classes { index, .. } = held.targets() else { return true };
                let count = &mut counts[index[i] as usize];
                let goes = left > 0 && *count > share;
                (left, *count) = (left - usize::from(goes), *count - usize::from(goes));
                !goes
            })
            .collect();
        let parts = [Piece::new(&held, &kept)?, Piece::new(problem, &late)?];
        let rows = Piece::joined(parts.iter().filter(|part| !part.cost.is_empty()))?;
        // Each time that a class has doubled, and at its end.
        let grown = |(before, now): (&usize, &usize)| {
            now > before && (*now >= share || now.ilog2() > before.checked_ilog2().unwrap_or(0))
        };
        let first = |(before, now): (&usize, &usize)| *before == 0 && *now > 0;
        let pairs = || before.iter().zip(&counts);
        let (machine, report) = if pairs().any(grown) || pairs().any(first) {
            let all: Vec<usize> = (0..rows.cost.len()).collect();
            let points = Gathered::new(&rows.problem()?.rows(), &all)?.into_dense()?;
            let (map, _) = self.nystroem().fit_among(&points.rows()?, &all, watch)?;
            let map = FeatureMap::Landmarks(map);
            let state = projected(known, &map, watch)?;
            self.one_pass(problem, Some((&map, &state)), watch)?
        } else {
            self.one_pass(problem, Some(known), watch)?
        };
        let done = counts.iter().all(|count| *count >= share);
        Ok((machine.on_rows(Some(rows).filter(|_| !done)), report))
    }
}

/// Samples of each class; none of values.
fn class_counts(targets: Targets<'_>) -> Vec<usize> {
    let Targets::Classes { index, n_classes } = targets else { return Vec::new() };
    let mut counts = vec![0; n_classes];
    index.iter().for_each(|&class| counts[class as usize] += 1);
    counts
}

/// A state on the features of other landmarks: `w' = Σ_l β_l z'(l)` over those that it was on, the
/// projection of `f = Σ_l β_l k(l, ·)`.
fn projected<F: Real>(
    (from, state): (&FeatureMap<F>, &asset::State),
    map: &FeatureMap<F>,
    watch: &mut Watch<'_>,
) -> Result<asset::State> {
    let FeatureMap::Landmarks(from) = from else { return Ok(state.clone()) };
    let (s, width, outputs) = (from.n_landmarks(), map.n_outputs(), state.intercept.len());
    let old = Gathered::from_values(from.landmarks().to_vec(), from.n_features())?;
    let mut features = try_vec("features", s.saturating_mul(width), F::zero())?;
    map.transform(&old.rows()?, (&mut features, width), watch)?;
    let moved = |weights: &[f64]| -> Result<Vec<f64>> {
        let coef = from.expansion(weights)?;
        let mut out = try_vec("weights", outputs.saturating_mul(width), 0.0)?;
        for (z, coef) in features.chunks_exact(width).zip(coef.chunks_exact(outputs.max(1))) {
            let z: Vec<f64> = z.iter().map(|v| Real::to_f64(*v)).collect();
            out.chunks_exact_mut(width).zip(coef).for_each(|(out, c)| axpy(*c, &z, out));
        }
        Ok(out)
    };
    let (weights, mean) = (moved(&state.weights)?, moved(&state.mean)?);
    Ok(asset::State { weights, mean, ..state.clone() })
}
