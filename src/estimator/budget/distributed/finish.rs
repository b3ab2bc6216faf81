//! The coefficients of joined terms, by sums over rows that are elsewhere.

use std::sync::Arc;

use super::{BudgetConfig, Machine, Part, Problem, Real, Report, Result, Watch, machine};
use crate::data::{Rows, SomeTargets};
use crate::error::{Error, check_len, try_collect};
use crate::estimator::basis::ModelRows;
use crate::estimator::budget::against_rest::against_rest;
use crate::estimator::report::{Entry, Kind, curves};
use crate::model::KernelModel;
use crate::solver::polish::{Basis, Rounds, Settled, place_len};
use crate::solver::smoothed::{Start, basis_gram};
use crate::watch::{Phase, Progress, StopReason};

/// Rows, for each term, that are solved for before all are.
const FIRST_ROWS_A_TERM: u64 = 300;
const FIRST_ROWS: u64 = 1 << 15;

/// Gives the sums of all rows, of a machine and a point.
pub type SumsOfMachine<'s, F> =
    dyn FnMut(&Machine<F>, &[f64], &mut Watch<'_>) -> Result<Vec<f64>> + 's;

impl BudgetConfig {
    /// The sums of these rows, one part of all, that [`BudgetConfig::finish_joined`] asks for at a point:
    /// to be added to those of the other parts. `machine` gives the terms.
    ///
    /// # Errors
    /// Those of [`Config::check`](crate::config::Config::check), `LengthMismatch` or `InvalidData` for a point that is not one
    /// of this machine, `FeatureMismatch`, `OutOfMemory`, `Interrupted`.
    pub fn polish_sums<F: Real>(
        &self,
        problem: &Problem<'_, F>,
        machine: &Machine<F>,
        point: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>> {
        self.check_parts()?;
        machine.check_fits(problem)?;
        let parts = self.shards(&[machine], watch)?.pop().unwrap_or_default();
        let outputs = |part: &Part<F>| part.model.n_outputs();
        let len = |part: &Part<F>| outputs(part) * place_len(part.model.n_terms());
        check_len("point", 1 + parts.iter().map(len).sum::<usize>(), point.len())?;
        let (every, mut rest) = (point[0], &point[1..]);
        if !(every >= 1.0 && every.fract() == 0.0) {
            let reason = "a point that finish did not ask for".into();
            return Err(Error::InvalidData { what: "point", reason });
        }
        let every = every as usize;
        let some = (every > 1).then(|| (0..problem.len()).step_by(every).collect::<Vec<_>>());
        let mut sums = Vec::new();
        for (class, part) in parts.iter().enumerate() {
            let (places, others) = rest.split_at(len(part));
            let mut own = |problem: &Problem<'_, F>| {
                self.part_sums((problem, some.as_deref(), every), &part.model, places, watch)
            };
            let found = match parts.len() > 1 {
                true => against_rest(problem, class, own)?,
                false => own(problem)?,
            };
            sums.extend(found);
            rest = others;
        }
        Ok(sums)
    }

    fn part_sums<F: Real>(
        &self,
        (problem, some, every): (&Problem<'_, F>, Option<&[usize]>, usize),
        model: &KernelModel<F>,
        places: &[f64],
        watch: &mut Watch<'_>,
    ) -> Result<Vec<f64>> {
        let (rows, coef) = (problem.rows(), model.coef());
        let chosen = some.map(|some| {
            let cost = some.iter().map(|&i| every as f64 * problem.cost()[i]);
            let cost = try_collect("costs", cost)?;
            Ok::<_, Error>((SomeTargets::new(problem.targets(), some.iter().copied())?, cost))
        });
        let chosen = chosen.transpose()?;
        let (targets, cost) = match &chosen {
            Some((targets, cost)) => (targets.view(), &cost[..]),
            None => (problem.targets(), problem.cost()),
        };
        let moved = if self.centred() { targets.less(model.intercept())? } else { None };
        let targets = moved.as_ref().map_or(targets, |moved| moved.view());
        let rows = match some {
            Some(some) => ModelRows::of_some(rows.view(), some, model)?,
            None => ModelRows::new(rows.view(), model)?,
        };
        let start = Start { targets, cost, coef: &coef, intercept: model.intercept() };
        let polish = self.polisher(self.unit(problem)?);
        watch.unbroken(|watch| polish.sums(&rows, start, places, watch))
    }

    /// Whether values are solved for about the offsets: places know offsets from there.
    fn centred(&self) -> bool {
        self.fit_intercept && !self.loss.is_classification()
    }

    fn centre<F: Real>(&self, model: &KernelModel<F>) -> Vec<f64> {
        match self.centred() {
            true => model.intercept().to_vec(),
            false => vec![0.0; model.n_outputs()],
        }
    }

    /// The best coefficients for the terms of a joined machine, after those beyond the budget are
    /// gone. `sums_of` gives, of a machine and a point, the sums of all rows, those of the parts
    /// ([`BudgetConfig::polish_sums`]) added in any order that is always the same. About twenty
    /// rounds, of which three or four look at all rows where these are many.
    ///
    /// # Errors
    /// Those of `sums_of` and of [`Config::check`](crate::config::Config::check); `LengthMismatch` or `NonFinite` for sums of
    /// another machine; `OutOfMemory`, `Interrupted`.
    pub fn finish_joined<F: Real>(
        &self,
        joined: &Machine<F>,
        sums_of: &mut SumsOfMachine<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Result<(Machine<F>, Report)> {
        self.check_parts()?;
        let (scaling, mut now) = (joined.scaling().cloned(), joined.clone());
        let mut parts = self.shards(&[joined], watch)?.pop().unwrap_or_default();
        let seen = parts.first().map_or(0, |part| part.passes.seen);
        let tick = Progress { n_samples: seen as usize, ..Progress::default() };
        watch.enter(Phase::Polish, tick);
        watch.limit(self.max_time, 1.0);
        let (budget, mut near) = (self.budget.unwrap_or(usize::MAX), false);
        loop {
            let bases = parts.iter().map(|part| self.basis(&part.model, watch));
            let bases = bases.collect::<Result<Vec<_>>>()?;
            let most = parts.iter().map(|part| part.model.n_terms()).max().unwrap_or(0);
            watch.tick.n_terms = parts.iter().map(|part| part.model.n_terms()).sum();
            let every = (seen / FIRST_ROWS.max(FIRST_ROWS_A_TERM * most as u64)).max(1) as usize;
            let how = Rounds { epsilon: F::epsilon().to_f64(), every, budget, near };
            let mut ask = |point: &[f64], watch: &mut Watch<'_>| sums_of(&now, point, watch);
            let found = self.polisher(1.0).by_sums(&bases, how, &mut ask, watch)?;
            for (part, found) in parts.iter_mut().zip(&found) {
                part.model = self.settled(&part.model, found)?;
            }
            near = true;
            now = machine(self, parts.clone());
            if let Some(scaling) = &scaling {
                now = now.scaled(Arc::clone(scaling))?;
            }
            if most <= budget {
                return Ok((now, report(self, &found, watch)));
            }
        }
    }

    fn basis<F: Real>(&self, model: &KernelModel<F>, watch: &mut Watch<'_>) -> Result<Basis> {
        let none = Rows::of_slice(&[], model.n_features())?;
        let gram = watch.unbroken(|watch| basis_gram(&ModelRows::new(none, model)?, watch))?;
        let centre = self.centre(model);
        let intercept = model.intercept().iter().zip(centre).map(|(b, c)| b - c).collect();
        Ok(Basis { gram, coef: model.coef(), intercept })
    }

    /// The model with the terms that stay, and their coefficients.
    fn settled<F: Real>(&self, model: &KernelModel<F>, found: &Settled) -> Result<KernelModel<F>> {
        let centre = self.centre(model);
        let intercept = found.polished.intercept.iter().zip(centre).map(|(b, c)| b + c).collect();
        if found.terms.len() == model.n_terms() {
            return model.with_coef(&found.polished.coef, intercept);
        }
        let (d, centers) = (model.n_features(), model.shifted_centers()?);
        let stay = found.terms.iter().flat_map(|&j| &centers[j * d..(j + 1) * d]);
        let stay = (stay.copied().collect(), d);
        let origin = model.origin().to_vec();
        KernelModel::from_parts(model.kernel(), origin, stay, &found.polished.coef, intercept)
    }
}

fn report(config: &BudgetConfig, found: &[Settled], watch: &Watch<'_>) -> Report {
    let all = || found.iter().map(|found| &found.polished);
    let known = |value: f64| Some(value).filter(|v| v.is_finite());
    let smoothed = known(all().map(|f| f.smoothed).sum());
    let primal = known(all().map(|f| f.primal).sum());
    let n_terms = found.iter().map(|found| found.terms.len()).sum();
    let entry = Entry {
        primal: primal.unwrap_or(f64::NAN),
        ..Entry::new(Kind::Polish, watch.elapsed(), n_terms)
    };
    let stop = all().next().map_or(StopReason::Converged, |f| f.stop);
    let advice = (stop == StopReason::MaxIter).then(|| {
        "Polishing did not converge: scale the features, lower C, or raise smoothing.".into()
    });
    let history = curves(&[entry]);
    Report { n_iter: config.max_iter, stop, history, smoothed, primal, advice }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config as _;
    use crate::data::{Rows, Targets};
    use crate::estimator::Start;
    use crate::kernel::AnyKernel;
    use crate::rng::Rng;
    use crate::watch::Silent;

    fn rings(n: usize) -> (Vec<f64>, Vec<u32>) {
        let mut rng = Rng::new(3);
        let mut rows = Vec::new();
        let labels = (0..n).map(|i| {
            let (angle, radius) = (6.3 * rng.uniform(), (1 + i % 3) as f64 + 0.5 * rng.uniform());
            rows.extend([radius * angle.cos(), radius * angle.sin()]);
            (i % 3) as u32
        });
        let labels = labels.collect();
        (rows, labels)
    }

    /// Classes that share their terms and classes that do not: as good as a fit, and no better than
    /// polishing the terms found on all rows in one place.
    #[test]
    fn shards_are_as_good_as_all_rows_in_one_place() {
        let n = 1800;
        let (values, labels) = rings(n);
        let cost = vec![1.0; n];
        for shared in [true, false] {
            let kernel = AnyKernel::Gaussian { gamma: 2.0 };
            let config = BudgetConfig { budget: Some(60), kernel, shared, ..Default::default() };
            config.check().unwrap();
            let problem = |first: usize, last: usize| {
                let rows = Rows::of_slice(&values[2 * first..2 * last], 2).unwrap();
                let targets = Targets::Classes { index: &labels[first..last], n_classes: 3 };
                Problem::new(rows, targets, &cost[first..last]).unwrap()
            };
            let parts: Vec<Problem<'_, f64>> =
                (0..3).map(|s| problem(s * n / 3, (s + 1) * n / 3)).collect();
            let all = problem(0, n);
            let (found, polished, fitted) = Watch::run_here(&mut Silent, |watch| {
                let shards = parts.iter().map(|p| Ok(config.shard_pass(p, 3, watch)?.0));
                let shards = shards.collect::<Result<Vec<_>>>()?;
                let joined = config.join(&shards.iter().collect::<Vec<_>>(), watch)?;
                let mut sums_of = |now: &Machine<f64>, point: &[f64], watch: &mut Watch<'_>| {
                    let mut sum: Vec<f64> = Vec::new();
                    for part in &parts {
                        let own = config.polish_sums(part, now, point, watch)?;
                        sum.resize(own.len(), 0.0);
                        sum.iter_mut().zip(own).for_each(|(s, v)| *s += v);
                    }
                    Ok(sum)
                };
                let (machine, report) = config.finish_joined(&joined, &mut sums_of, watch)?;
                let (_, polished) = config.polish(&all, &machine, watch)?;
                let (_, fitted) = config.fit(&all, Start::default(), watch)?;
                assert!(machine.n_terms() <= if shared { 60 } else { 180 });
                Ok((report, polished, fitted))
            })
            .unwrap();
            let smoothed = |report: &Report| report.smoothed.unwrap();
            assert_eq!(found.stop, StopReason::Converged);
            // Each is within its tolerance of the minimum over the same coefficients.
            let gap = smoothed(&found) / smoothed(&polished) - 1.0;
            assert!(gap.abs() < 2e-3, "{shared}: {gap}");
            let worse = smoothed(&found) / smoothed(&fitted) - 1.0;
            assert!(worse < 0.1, "{shared}: {worse}");
        }
    }
}
