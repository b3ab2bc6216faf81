//! The search: from coded rows to the kernels, scales and weights of the machine.

use super::blend::{blend, blended};
use super::choose::{Candidate, HeldOut, Kind};
use super::climb::{Tuned, climb, climb_at_most};
use super::descend::descend;
use super::grid::{Grid, Shape};
use super::moved::values_of;
use super::outer::outer;
use super::recipe::Recipe;
use super::reduced::Sought;
use super::ridge;
use crate::error::Result;
use crate::watch::{Halt, Step, StopReason, Watch};

/// Rows in every coding, what is sought of them, and the rows that candidates meet on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    /// Rows that kernels are found on, a grid a coding, landmarks first.
    pub(crate) rows: &'a [Grid],
    pub(crate) sought: Sought<'a>,
    /// Rows that candidates are fitted to, not among those held out.
    pub(crate) fitted: &'a [Grid],
    pub(crate) fitted_sought: Sought<'a>,
    /// All that is sought of them, where the search is told sums.
    pub(crate) whole: &'a Grid,
    pub(crate) held_out: &'a [Grid],
    pub(crate) held_values: &'a Grid,
    pub(crate) held_weights: &'a [f64],
    /// Whether these are the rows fitted, each judged by the machine without it.
    pub(crate) in_turn: bool,
    /// Whether scales are learnt.
    pub(crate) scales: bool,
    pub(crate) recipe: Recipe,
    pub(crate) seed: u64,
}

/// What the search found.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// Machines and their weights.
    pub(crate) parts: Vec<(Candidate, f64)>,
    /// Everything that was judged, best first.
    pub(crate) judged: Vec<Candidate>,
    /// The blend's values on the rows held out; none where the search was stopped before.
    pub(crate) held_out: Option<Grid>,
    /// What stopped the search before its end.
    pub(crate) stopped: Option<StopReason>,
}

/// The kernels tried.
const SHAPES: [Shape; 2] = [Shape::Gaussian, Shape::Laplacian];

/// A kernel on a coding, tuned.
type Found = ((Shape, usize), Tuned);

/// The state of a search.
#[derive(Debug, Default)]
pub(crate) struct Search {
    candidates: Vec<Candidate>,
    judged: Vec<(Candidate, Grid)>,
}

fn candidate(shape: Shape, coding: usize, kind: Kind, tuned: &Tuned) -> Candidate {
    let (scales, lambda) = (tuned.scales.clone(), tuned.lambda);
    Candidate { shape, coding, kind, scales, lambda, error: tuned.error }
}

impl Search {
    /// The steps of a search that the watch counts, at most.
    pub(crate) fn steps(recipe: &Recipe, codings: usize, scales: bool) -> usize {
        let shapes = usize::from(recipe.gaussian) + usize::from(recipe.laplacian);
        let chains = recipe.powers().len() * shapes;
        let of_scales = match (scales, recipe.descent) {
            (false, _) => 0,
            (true, 0) => 2 * chains,
            (true, _) => 3 * chains + shapes,
        };
        let candidates = if scales { 3 * shapes } else { shapes };
        SHAPES.len() * codings + of_scales + if recipe.judged { candidates } else { 0 }
    }

    /// Searches to the end, or until it is told to stop with what it has: at least one kernel.
    ///
    /// # Errors
    /// `Interrupted`, `OutOfMemory`.
    pub(crate) fn run(mut self, task: &Task<'_>, watch: &mut Watch<'_>) -> Result<Chosen> {
        let ones = vec![1.0; task.rows[0].columns];
        let first = watch.unbroken(|watch| {
            climb_at_most(0, Shape::Gaussian, (&task.rows[0], &task.sought), (&ones, 1.0), watch)
        })?;
        watch.step_done(1);
        self.candidates.push(candidate(Shape::Gaussian, 0, Kind::Tuned, &first));
        let stopped = match self.go_on(task, watch) {
            Ok(()) => None,
            Err(Halt::Stop(reason)) => Some(reason),
            Err(Halt::Fail(error)) => return Err(error),
        };
        let mut chosen = self.end(task, stopped);
        if task.whole.columns != task.sought.values.columns && chosen.held_out.is_some() {
            chosen.held_out = match whole(task, &chosen.parts, watch) {
                Ok(values) => Some(values),
                Err(Halt::Stop(_)) => None,
                Err(Halt::Fail(error)) => return Err(error),
            };
        }
        Ok(chosen)
    }

    fn go_on(&mut self, task: &Task<'_>, watch: &mut Watch<'_>) -> Step {
        watch.poll()?;
        // 1.
        let ones = vec![1.0; task.rows[0].columns];
        let first = climb(Shape::Gaussian, &task.rows[0], &task.sought, (&ones, 1.0), watch)?;
        self.candidates = vec![candidate(Shape::Gaussian, 0, Kind::Tuned, &first)];
        let pairs: Vec<(Shape, usize)> = SHAPES
            .into_iter()
            .flat_map(|shape| (0..task.rows.len()).map(move |coding| (shape, coding)))
            .skip(1)
            .collect();
        let others = watch.steps_side_by_side(pairs.len(), |i, watch| {
            let (shape, coding) = pairs[i];
            climb(shape, &task.rows[coding], &task.sought, (&ones, 1.0), watch)
        })?;
        let mut tuned = vec![((Shape::Gaussian, 0), first)];
        tuned.extend(pairs.into_iter().zip(others));
        let mut best: Vec<Found> = Vec::new();
        let wanted = |shape: Shape| match shape {
            Shape::Gaussian => task.recipe.gaussian,
            Shape::Laplacian => task.recipe.laplacian,
        };
        for shape in SHAPES.into_iter().filter(|shape| wanted(*shape)) {
            let of = tuned.iter().filter(|((own, _), _)| *own == shape);
            best.extend(of.min_by(|a, b| a.1.error.total_cmp(&b.1.error)).cloned());
        }
        self.candidates =
            best.iter().map(|((s, c), tuned)| candidate(*s, *c, Kind::Tuned, tuned)).collect();
        if task.scales {
            self.learn_scales(&best, task, watch)?;
        }
        watch.poll()?;
        if !task.recipe.judged {
            return Ok(());
        }
        // 4.
        watch.judges_anew();
        let candidates = &self.candidates;
        let judged = watch.steps_side_by_side(candidates.len(), |i, watch| {
            let mut candidate = candidates[i].clone();
            let held_out = held_out(task, candidate.coding);
            let rows = &task.fitted[candidate.coding];
            let values = candidate.judge(rows, (&task.fitted_sought, false), &held_out, watch)?;
            Ok((candidate, values))
        })?;
        self.judged = judged;
        Ok(())
    }

    /// Candidates with scales of their own, from kernels of the best width.
    fn learn_scales(&mut self, from: &[Found], task: &Task<'_>, watch: &mut Watch<'_>) -> Step {
        // 2.
        let powers = task.recipe.powers();
        let chains: Vec<(usize, f64)> =
            powers.iter().flat_map(|&power| (0..from.len()).map(move |i| (i, power))).collect();
        let of_outer = watch.steps_side_by_side(chains.len(), |chain, watch| {
            let (i, power) = chains[chain];
            let ((shape, coding), tuned) = &from[i];
            if !task.recipe.outer {
                return Ok(tuned.clone());
            }
            outer(*shape, &task.rows[*coding], (&task.sought, power), tuned, watch)
        })?;
        // What one kernel has learnt may serve the other, in its coding.
        let starts = watch.steps_side_by_side(chains.len(), |chain, watch| {
            let (i, power) = chains[chain];
            let (shape, mut best) = (from[i].0.0, (from[i].0, of_outer[chain].clone()));
            for ((k, own), other) in chains.iter().zip(&of_outer) {
                if *own != power || *k == i {
                    continue;
                }
                let (coding, start) = (from[*k].0.1, (other.scales.as_slice(), 1.0));
                let taken = climb(shape, &task.rows[coding], &task.sought, start, watch)?;
                if taken.error < best.1.error {
                    best = ((shape, coding), taken);
                }
            }
            // While most features are noise one coding is as good as the other.
            for coding in other_codings(task, from[i].0.1) {
                let start = (of_outer[chain].scales.as_slice(), 1.0);
                let taken = climb(shape, &task.rows[coding], &task.sought, start, watch)?;
                if taken.error < best.1.error {
                    best = ((shape, coding), taken);
                }
            }
            Ok(best)
        })?;
        let of = |i: usize| (0..chains.len()).filter(move |chain| chain % from.len() == i);
        for (i, (_, tuned)) in from.iter().enumerate() {
            let best = of(i).min_by(|&a, &b| starts[a].1.error.total_cmp(&starts[b].1.error));
            if let Some(((shape, coding), start)) = best.map(|chain| &starts[chain])
                && start.error < tuned.error
            {
                self.candidates.push(candidate(*shape, *coding, Kind::Outer, start));
            }
        }
        // 3.
        if task.recipe.descent == 0 {
            return Ok(());
        }
        let ends = watch.steps_side_by_side(chains.len(), |chain, watch| {
            let ((shape, coding), start) = &starts[chain];
            let point = (start.scales.as_slice(), start.lambda, task.seed);
            let sought = (&task.sought, task.recipe.descent);
            descend(*shape, &task.rows[*coding], sought, point, watch)
        })?;
        let best: Vec<usize> = (0..from.len())
            .filter_map(|i| of(i).min_by(|&a, &b| ends[a].error.total_cmp(&ends[b].error)))
            .collect();
        let descended = watch.steps_side_by_side(best.len(), |i, watch| {
            let ((shape, first), end) = (starts[best[i]].0, &ends[best[i]]);
            let look = |coding: usize, watch: &mut Watch<'_>| {
                climb(shape, &task.rows[coding], &task.sought, (&end.scales, 1.0), watch)
            };
            let mut found = (first, look(first, watch)?);
            for coding in other_codings(task, first) {
                let taken = look(coding, watch)?;
                if taken.error < found.1.error {
                    found = (coding, taken);
                }
            }
            Ok(candidate(shape, found.0, Kind::Descended, &found.1))
        })?;
        self.candidates.extend(descended);
        Ok(())
    }

    /// 5.
    fn end(mut self, task: &Task<'_>, stopped: Option<StopReason>) -> Chosen {
        if self.judged.is_empty() {
            self.candidates.sort_by(|a, b| a.error.total_cmp(&b.error));
            let parts = self.candidates.iter().take(1).map(|c| (c.clone(), 1.0)).collect();
            return Chosen { parts, judged: self.candidates, held_out: None, stopped };
        }
        self.judged.sort_by(|a, b| a.0.error.total_cmp(&b.0.error));
        let judged: Vec<Candidate> = self.judged.iter().map(|(c, _)| c.clone()).collect();
        let (best, values) = &self.judged[0];
        let other = self.judged.iter().find(|(c, _)| c.shape != best.shape && task.recipe.blended);
        let held = held_out(task, best.coding);
        let (parts, values) = match other {
            Some((second, others)) => {
                let weights = blend(values, others, &held);
                let both = blended(values, others, weights);
                let parts = [(best.clone(), weights.0), (second.clone(), weights.1)];
                (parts.into_iter().filter(|(_, w)| *w > 0.0).collect(), both)
            }
            None => (vec![(best.clone(), 1.0)], values.clone()),
        };
        Chosen { parts, judged, held_out: Some(values), stopped }
    }
}

/// The codings that are looked at again.
fn other_codings(task: &Task<'_>, own: usize) -> impl Iterator<Item = usize> {
    let last = if task.recipe.recoded { task.rows.len() } else { 0 };
    (0..last).filter(move |coding| *coding != own)
}

/// The blend's values of every output on the rows held out.
fn whole(task: &Task<'_>, parts: &[(Candidate, f64)], watch: &mut Watch<'_>) -> Step<Grid> {
    watch.poll()?;
    let sought = Sought { values: task.whole, ..task.fitted_sought };
    let mut sum = Grid::zeros("values", task.held_values.rows(), task.whole.columns)?;
    for (part, weight) in parts {
        let rows = task.fitted[part.coding].scaled(&part.scales)?;
        let others = task.held_out[part.coding].scaled(&part.scales)?;
        let k = ridge::kernel(part.shape, &rows, watch)?;
        let found = if task.in_turn {
            ridge::left_out(&k, &sought, part.lambda, watch)?
        } else {
            let coef = ridge::on_all(&k, &sought, part.lambda, watch)?.coef;
            let coef = Grid::of_doubles(&coef, sum.columns);
            values_of(part.shape, (&others, &rows), &coef, watch)?
        };
        sum.values.iter_mut().zip(&found.values).for_each(|(s, v)| *s += *weight as f32 * v);
    }
    Ok(sum)
}

pub(super) fn held_out<'a>(task: &Task<'a>, coding: usize) -> HeldOut<'a> {
    let (values, weights) = (task.held_values, task.held_weights);
    HeldOut { rows: &task.held_out[coding], values, weights, in_turn: task.in_turn }
}
