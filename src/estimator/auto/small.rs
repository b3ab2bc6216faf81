//! A machine of few terms: one kernel, whose terms move to where they serve best, and the scales go
//! along. Of classes it is the sides that they serve, by squared hinges, unless squared errors make
//! fewer mistakes on rows held out. What all rows make of the coefficients is kept if it is no worse
//! on rows held out than what was judged there ([`Guard`]); else what was judged is the machine.

use super::columns::in_place;
use super::fit_steps::FitSteps;
use super::guard::{Finished, Guard, constant, constant_advice};
use super::sources::{Part, Sources, coded, held_out};
use crate::data::Rows;
use crate::error::{Result, try_vec};
use crate::estimator::score::class;
use crate::float::Real;
use crate::model::{Coding, KernelModel};
use crate::tuning::recipe::{SIDES_STEPS, SIDES_VALUES};
use crate::tuning::ridge::Solution;
use crate::tuning::{
    Aim, Candidate, Chosen, Grid, Moved, Recipe, Sought, few, moved, ridge, solved_few, values_of,
};
use crate::watch::{Halt, Step, StopReason, Watch};

/// Terms that are moved, at most.
const MOST: usize = 1500;
/// Rows that they are moved by, at most.
const ROWS: usize = 16_000;
/// Share of the time that moving may take.
const MOVING: f64 = 0.75;
/// λ tried, as shares of the one found with more terms.
const LAMBDAS: [f64; 3] = [1.0, 1.0 / 6.0, 1.0 / 36.0];

/// What the machine is made of.
pub(super) struct Small<'a, 'r, F: Real> {
    pub(super) rows: &'a Rows<'r, F>,
    pub(super) sources: &'a Sources,
    pub(super) codings: &'a [Coding],
    /// Their order.
    pub(super) columns: &'a [usize],
    pub(super) terms: usize,
    pub(super) recipe: Recipe,
    pub(super) seed: u64,
    pub(super) steps: FitSteps,
}

/// The best so far that comes near its aim: its error and values on rows held out, its terms in
/// scaled coordinates.
struct Best<'a> {
    aim: Aim<'a>,
    error: f64,
    mistakes: f64,
    part: Candidate,
    terms: Grid,
    /// Coefficients by the rows that are not held out, and the values with these.
    judged: Option<(Grid, Grid)>,
}

impl<F: Real> Small<'_, '_, F> {
    /// Whether so many terms of so many rows are few.
    pub(super) fn takes(terms: usize, n: usize) -> bool {
        let fitted = n - held_out(n);
        (2..=MOST).contains(&terms) && terms < fitted && fitted < n
    }

    /// The machine's one part; `chosen` then says which it is.
    pub(super) fn finish(
        &self,
        chosen: &mut Chosen,
        max_time: Option<f64>,
        watch: &mut Watch<'_>,
    ) -> Result<Finished<F>> {
        watch.limit(max_time, MOVING);
        let mut found = [None, None];
        let mut stopped = None;
        for (part, _) in &chosen.parts {
            match self.try_part(part, &mut found, watch) {
                Ok(()) => {}
                Err(Halt::Stop(reason)) => stopped = Some(reason),
                Err(Halt::Fail(error)) => return Err(error),
            }
            watch.step_done(self.steps.each);
        }
        watch.limit(max_time, 1.0);
        // Sides, where squares do not make fewer mistakes.
        let best = found.into_iter().flatten().min_by(|a, b| a.mistakes.total_cmp(&b.mistakes));
        let mut best = match (best, chosen.parts.first()) {
            (Some(best), _) => best,
            (None, Some((part, _))) => {
                let terms = watch
                    .unbroken(|watch| self.coded(part, &self.sources.index[..self.terms], watch))?;
                let (aim, error, part) = (self.aims()[0], f64::INFINITY, part.clone());
                Best { aim, error, mistakes: error, part, terms, judged: None }
            }
            // A search chooses one at least.
            (None, None) => return Ok(Finished { parts: Vec::new(), stopped, advice: None }),
        };
        let n = self.sources.index.len();
        let (lambda, solution) = match self.fit(&best, (n, SIDES_STEPS.1), watch) {
            Ok(found) => found,
            Err(Halt::Fail(error)) => return Err(error),
            Err(Halt::Stop(reason)) => {
                stopped = Some(reason);
                let n = n.min(4 * self.terms);
                watch.unbroken(|watch| self.fit(&best, (n, 0), watch))?
            }
        };
        let judged = best.judged.take();
        let values = judged.as_ref().map(|(_, values)| values);
        let guard = Guard::new(self.rows, self.sources, (values, best.aim));
        let mut part = self.admitted((&best, &guard), &solution.coef, watch)?;
        if part.is_some() {
            best.part.lambda = lambda;
            if stopped.is_none() && !solution.converged {
                stopped = Some(StopReason::MaxIter);
            }
        } else if let Some((coef, _)) = &judged {
            let coef: Vec<f64> = coef.values.iter().map(|&v| f64::from(v)).collect();
            part = self.admitted((&best, &guard), &coef, watch)?;
        }
        let (part, advice) = match part {
            Some(part) => (part, None),
            None => {
                let zeros = vec![0.0; best.terms.rows() * self.sources.means.len()];
                (constant(self.sources, &self.part(&best, &zeros)?)?, constant_advice())
            }
        };
        chosen.held_out = judged.map(|(_, values)| values).or(chosen.held_out.take());
        chosen.parts = vec![(best.part, 1.0)];
        Ok(Finished { parts: vec![part], stopped, advice })
    }

    /// [`Small::part`], unless the guard finds it too bad.
    fn admitted(
        &self,
        (best, guard): (&Best<'_>, &Guard<'_, '_, F>),
        coef: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Option<Part<F>>> {
        if !coef.iter().all(|v| v.is_finite()) {
            return Ok(None);
        }
        let part = self.part(best, coef)?;
        let admits = watch.unbroken(|watch| guard.admits(std::slice::from_ref(&part), watch))?;
        Ok(admits.then_some(part))
    }

    /// The machine's part with these coefficients.
    fn part(&self, best: &Best<'_>, coef: &[f64]) -> Result<Part<F>> {
        let coding = self.codings[best.part.coding].with_scales(best.part.scales.clone())?;
        let coef: Vec<f64> = coef.iter().map(|v| self.sources.unit * v).collect();
        let d = self.columns.len();
        let mut centers = try_vec("centres", best.terms.values.len(), F::zero())?;
        for (to, from) in centers.chunks_exact_mut(d).zip(best.terms.values.chunks_exact(d)) {
            from.iter().zip(self.columns).for_each(|(&v, &c)| to[c] = F::from_f64(f64::from(v)));
        }
        let (kernel, means) = (best.part.shape.kernel(), self.sources.means.clone());
        let model = KernelModel::from_parts(kernel, Vec::new(), (centers, d), &coef, means)?;
        Ok((coding, model))
    }

    fn coded(&self, part: &Candidate, index: &[usize], watch: &mut Watch<'_>) -> Step<Grid> {
        let coding = self.codings[part.coding].with_scales(part.scales.clone())?;
        coded(self.rows, index, (&coding, self.columns), watch)
    }

    /// The part with terms as drawn, and moved, on rows held out.
    fn try_part<'s>(
        &'s self,
        part: &Candidate,
        best: &mut [Option<Best<'s>>; 2],
        watch: &mut Watch<'_>,
    ) -> Step {
        let n = self.sources.index.len();
        let held = held_out(n);
        let fitted: Vec<usize> = (0..(n - held).min(ROWS)).collect();
        let last: Vec<usize> = (n - held..n).collect();
        let rows = self.coded(part, &self.sources.index[..fitted.len()], watch)?;
        let others = self.coded(part, &self.sources.index[n - held..], watch)?;
        let (values, weights) = self.sources.part(&fitted)?;
        let (held_values, held_weights) = self.sources.part(&last)?;
        let sought = Sought { values: &values, weights: &weights, landmarks: self.terms };
        let (shape, aims) = (part.shape, self.aims());
        let mut look = |at: &Moved, watch: &mut Watch<'_>| -> Step {
            let (rows, others) = (rows.scaled(&at.factors)?, others.scaled(&at.factors)?);
            // Rows have their columns in an order, scales have not.
            let factors = in_place(&at.factors, self.columns);
            let scales: Vec<f64> = part.scales.iter().zip(&factors).map(|(w, by)| w * by).collect();
            for (best, &aim) in best.iter_mut().zip(&aims) {
                for lambda in LAMBDAS.map(|by| part.lambda * by) {
                    let (terms, point) = (&at.landmarks, (lambda, SIDES_STEPS.1));
                    let coef = solved_few(shape, (&rows, terms), (&sought, aim), point, watch)?;
                    let found = values_of(shape, (&others, terms), &coef, watch)?;
                    let error = aim.share_missed(&found, &held_values, &held_weights);
                    if best.as_ref().is_none_or(|best| error < best.error) {
                        let mistakes = self.mistakes(&found, &held_values, &held_weights);
                        let (terms, judged) = (terms.clone(), Some((coef, found)));
                        let part = Candidate { lambda, scales: scales.clone(), ..part.clone() };
                        *best = Some(Best { aim, error, mistakes, part, terms, judged });
                    }
                }
            }
            Ok(())
        };
        let drawn =
            Moved { landmarks: rows.range(0, self.terms)?, factors: vec![1.0; rows.columns] };
        look(&drawn, watch)?;
        // Most rows are terms: there is nowhere to go.
        if 2 * self.terms > fitted.len() {
            return Ok(());
        }
        let point = (part.lambda, self.seed);
        let sought = (&sought, aims[0]);
        look(&moved(shape, (&rows, &drawn.landmarks), sought, point, watch)?, watch)
    }

    /// What the machine may come near; the first is what terms move for. Nearly as many terms as
    /// rows can make every row ±1, and serve squares better.
    fn aims(&self) -> Vec<Aim<'_>> {
        match self.sources.sides {
            true => vec![Aim::Sides(&self.sources.means), Aim::Values],
            false => vec![Aim::Values],
        }
    }

    /// The weight of the rows whose class is another; 0 of values.
    fn mistakes(&self, found: &Grid, values: &Grid, weights: &[f64]) -> f64 {
        if !self.sources.sides {
            return 0.0;
        }
        let class = |row: &[f32]| {
            let each = row.iter().zip(&self.sources.means).map(|(v, m)| f64::from(*v) + m);
            class(&each.collect::<Vec<f64>>())
        };
        let rows = (0..found.rows()).filter(|&i| class(found.row(i)) != class(values.row(i)));
        rows.map(|i| weights[i]).sum()
    }

    /// λ and coefficients by `n` rows; those of sides by so many steps, and by no more rows than have kernel
    /// values that can be held. Values are fitted as they were judged, by the normal equations, while
    /// these values can be held, because conjugate gradients see less where λ is small.
    fn fit(
        &self,
        best: &Best<'_>,
        (n, steps): (usize, usize),
        watch: &mut Watch<'_>,
    ) -> Step<(f64, Solution)> {
        let aim = best.aim;
        let normal = n <= SIDES_VALUES / self.terms || matches!(aim, Aim::Sides(_));
        let n = if normal { n.min(SIDES_VALUES / self.terms) } else { n };
        let rows = self.coded(&best.part, &self.sources.index[..n], watch)?;
        let values = self.sources.values.range(0, n)?;
        let weights = &self.sources.weights[..n];
        let sought = Sought { values: &values, weights, landmarks: self.terms };
        // Found with fewer rows: nλ stays.
        let all = self.sources.index.len();
        let seen = few((all - held_out(all)).min(ROWS), self.terms);
        let fall = self.recipe.fall(seen, n);
        let (shape, lambda) = (best.part.shape, fall * best.part.lambda);
        let place = (&rows, &best.terms);
        let solution = if normal {
            let coef = aim.solve(shape, place, &sought, (lambda, steps), watch)?;
            let coef = coef.values.iter().map(|&v| f64::from(v)).collect();
            Solution { coef, converged: true }
        } else {
            ridge::on_landmarks(shape, place, &sought, lambda, watch)?
        };
        Ok((lambda, solution))
    }
}
