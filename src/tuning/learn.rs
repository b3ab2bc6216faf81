//! Scales for a machine of one kernel: those of the features as they come, by their spread, by
//! gradient products and by descent meet on rows held out.

use super::choose::{Candidate, HeldOut, Kind};
use super::climb::{Tuned, climb};
use super::descend::descend;
use super::grid::{Grid, Shape};
use super::outer::outer;
use super::recipe::Recipe;
use super::search::{Task, held_out};
use crate::watch::{Step, Watch};

/// Scales of standardised features with what they miss on the rows held out.
#[derive(Clone, Debug)]
pub(crate) struct Learnt {
    /// The width in them: γ = 1.
    pub(crate) scales: Vec<f64>,
    /// Error as a share of the variance, and that of the features as they come; the same where the
    /// gain may be chance.
    pub(crate) error: f64,
    pub(crate) before: f64,
}

/// The steps of [`learn`] that the watch counts.
pub(crate) fn steps(recipe: &Recipe) -> usize {
    // Two ways for features to come, as many chains as powers, four candidates.
    2 + recipe.powers().len() + 4
}

/// The best scales for rows in the task's one coding; `spread` makes of it the features as they
/// come. With `ridge` candidates are judged with that regularisation of the rows fitted.
pub(crate) fn learn(
    shape: Shape,
    task: &Task<'_>,
    (spread, ridge): (&[f64], Option<f64>),
    watch: &mut Watch<'_>,
) -> Step<Learnt> {
    let (rows, sought, recipe) = (&task.rows[0], &task.sought, task.recipe);
    let ones = vec![1.0; rows.columns];
    let starts = [spread, ones.as_slice()];
    let tuned = watch.steps_side_by_side(starts.len(), |i, watch| {
        climb(shape, rows, sought, (starts[i], 1.0), watch)
    })?;
    // A basis of landmarks may start better from where the features come.
    let from = if tuned[0].error < tuned[1].error { &tuned[0] } else { &tuned[1] };
    // What the other kernel sees may serve this one, as in the search.
    let other = match shape {
        Shape::Gaussian => Shape::Laplacian,
        Shape::Laplacian => Shape::Gaussian,
    };
    let tuned_other = climb(other, rows, sought, (&ones, 1.0), watch)?;
    let powers = recipe.powers();
    let ends = watch.steps_side_by_side(powers.len(), |i, watch| {
        let own = outer(shape, rows, (sought, powers[i]), from, watch)?;
        let seen = outer(other, rows, (sought, powers[i]), &tuned_other, watch)?;
        let taken = climb(shape, rows, sought, (&seen.scales, 1.0), watch)?;
        let start = if taken.error < own.error { taken } else { own };
        let point = (start.scales.as_slice(), start.lambda, task.seed);
        let end = descend(shape, rows, (sought, recipe.descent), point, watch)?;
        Ok((start, end))
    })?;
    let of_outer = ends.iter().map(|(start, _)| start);
    let of_outer = of_outer.min_by(|a, b| a.error.total_cmp(&b.error)).unwrap_or(from);
    let descended = ends.iter().map(|(_, end)| end);
    let descended = descended.min_by(|a, b| a.error.total_cmp(&b.error));
    let scales = descended.map_or(&from.scales, |end| &end.scales);
    let descended = climb(shape, rows, sought, (scales, 1.0), watch)?;
    let candidate = |kind: Kind, tuned: &Tuned| {
        let (scales, lambda) = (tuned.scales.clone(), tuned.lambda);
        Candidate { shape, coding: 0, kind, scales, lambda, error: tuned.error }
    };
    let candidates = [
        candidate(Kind::Tuned, &tuned[0]),
        candidate(Kind::Tuned, &tuned[1]),
        candidate(Kind::Outer, of_outer),
        candidate(Kind::Descended, &descended),
    ];
    let held_out = held_out(task, 0);
    watch.judges_anew();
    let judged = watch.steps_side_by_side(candidates.len(), |i, watch| {
        let mut candidate = candidates[i].clone();
        let fixed = ridge.map(|ridge| ridge / task.fitted[0].rows().max(1) as f64);
        candidate.lambda = fixed.unwrap_or(candidate.lambda);
        let sought = (&task.fitted_sought, fixed.is_some());
        let values = candidate.judge(&task.fitted[0], sought, &held_out, watch)?;
        Ok((candidate, values))
    })?;
    let best = judged.iter().min_by(|a, b| a.0.error.total_cmp(&b.0.error));
    let ((old, old_values), (best, values)) = (&judged[0], best.unwrap_or(&judged[0]));
    let sure = is_sure(old_values, values, &held_out);
    let error = if sure { best.error } else { old.error };
    Ok(Learnt { scales: best.scales.clone(), error, before: old.error })
}

/// Whether the second values miss less than the first by more than one standard error of the mean
/// difference: a dozen rows held out find something better by chance.
fn is_sure(first: &Grid, second: &Grid, held_out: &HeldOut<'_>) -> bool {
    let (q, n) = (first.columns, held_out.weights.len() as f64);
    let gain = |i: usize| -> f64 {
        let square = |grid: &Grid| -> f64 {
            let pairs = grid.row(i).iter().zip(held_out.values.row(i));
            pairs.map(|(f, y)| f64::from(y - f).powi(2)).sum()
        };
        held_out.weights[i] * (square(first) - square(second))
    };
    let gains: Vec<f64> = (0..first.values.len() / q.max(1)).map(gain).collect();
    let mean = gains.iter().sum::<f64>() / n;
    let variance = gains.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0);
    mean > (variance / n).sqrt()
}
