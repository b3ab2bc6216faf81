//! What the search chose, fitted to all rows.

use super::config::AutoConfig;
use super::small::Small;
use super::sources::{Part, Sources, coded, held_out};
use crate::data::Rows;
use crate::error::Result;
use crate::float::Real;
use crate::model::{Coding, KernelModel};
use crate::tuning::{Aim, Candidate, Chosen, Sought, ridge, solved_few};
use crate::watch::{Halt, Step, StopReason, Watch};

/// Rows up to which every one of them is a term.
const EXACT: usize = 16_000;
/// Terms beyond that.
const LANDMARKS: usize = 4_000;

/// The parts of the machine, and what stopped them before they were fitted to all rows.
pub(super) fn finish<F: Real>(
    config: &AutoConfig,
    rows: &Rows<'_, F>,
    sources: &Sources,
    (codings, chosen, columns): (&[Coding], &mut Chosen, &[usize]),
    watch: &mut Watch<'_>,
) -> Result<(Vec<Part<F>>, Option<StopReason>)> {
    let n = sources.index.len();
    if let Some(budget) = config.budget.filter(|&budget| Small::<F>::takes(budget, n))
        && config.recipe.moved
    {
        let (recipe, seed) = (config.recipe, config.seed);
        let small = Small { rows, sources, codings, columns, terms: budget, recipe, seed };
        return small.finish(chosen, config.max_time, watch);
    }
    let most = config.budget.unwrap_or(if n <= EXACT { n } else { LANDMARKS }).min(n);
    // A budget is for all parts together; one of a single term leaves no room for a second part.
    let shared = config.budget.is_some();
    let terms = |weight: f64| match shared {
        true => ((most as f64 * weight) as usize).max(1),
        false => most,
    };
    let kept = chosen.parts.len().min(if most > 1 { usize::MAX } else { 1 });
    let chosen_parts = &mut chosen.parts[..kept];
    let total: f64 = chosen_parts.iter().map(|(_, weight)| weight).sum();
    let fall = config.recipe.fall(config.recipe.rows.min(n - held_out(n)).max(1), n);
    watch.limit(config.max_time, 1.0);
    let mut stopped = None;
    let (mut parts, mut means) = (Vec::new(), sources.means.clone());
    for (part, weight) in chosen_parts {
        let weight = *weight / total;
        let coding = codings[part.coding].with_scales(part.scales.clone())?;
        let terms = terms(weight);
        let whole = Candidate { lambda: fall * part.lambda, ..part.clone() };
        let all = fit(&whole, rows, (sources, n, terms), (&coding, columns), watch);
        let (coef, terms) = match all {
            Ok(coef) => {
                *part = whole;
                (coef, terms)
            }
            Err(Halt::Fail(error)) => return Err(error),
            // In the time left: on as many rows as the search saw.
            Err(Halt::Stop(reason)) => {
                stopped = Some(reason);
                let terms = terms.min(config.recipe.landmarks);
                let n = n.min(config.recipe.rows);
                let few = |watch: &mut Watch<'_>| {
                    few(part, rows, (sources, n, terms), (&coding, columns), watch)
                };
                (watch.unbroken(few)?, terms)
            }
        };
        let by = weight * sources.unit;
        let coef: Vec<f64> = coef.iter().map(|v| by * v).collect();
        let centers = coding.coded(rows, &sources.index[..terms])?;
        let (kernel, d) = (part.shape.kernel(), rows.n_cols());
        let intercept = std::mem::replace(&mut means, vec![0.0; sources.means.len()]);
        let model = KernelModel::from_parts(kernel, Vec::new(), (centers, d), &coef, intercept)?;
        parts.push((coding, model));
    }
    Ok((parts, stopped))
}

/// As [`fit`] by the normal equations: their time does not hang on how many columns there are.
fn few<F: Real>(
    part: &Candidate,
    rows: &Rows<'_, F>,
    (sources, n, terms): (&Sources, usize, usize),
    (coding, columns): (&Coding, &[usize]),
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    let coded = coded(rows, &sources.index[..n], (coding, columns), watch)?;
    let values = sources.values.range(0, n)?;
    let sought = Sought { values: &values, weights: &sources.weights[..n], landmarks: terms };
    let landmarks = coded.range(0, terms)?;
    let (sought, point) = ((&sought, Aim::Values), (part.lambda, 0));
    let coef = solved_few(part.shape, (&coded, &landmarks), sought, point, watch)?;
    Ok(coef.values.iter().map(|&v| f64::from(v)).collect())
}

/// Coefficients of the first `terms` samples, fitted to the first `n`, with the columns in this order:
/// sums of others round otherwise.
fn fit<F: Real>(
    part: &Candidate,
    rows: &Rows<'_, F>,
    (sources, n, terms): (&Sources, usize, usize),
    (coding, columns): (&Coding, &[usize]),
    watch: &mut Watch<'_>,
) -> Step<Vec<f64>> {
    let coded = coded(rows, &sources.index[..n], (coding, columns), watch)?;
    let values = sources.values.range(0, n)?;
    let sought =
        Sought { values: &values, weights: &sources.weights[..n], landmarks: terms.min(n) };
    if terms >= n {
        let k = ridge::kernel(part.shape, &coded, watch)?;
        ridge::on_all(&k, &sought, part.lambda, watch)
    } else {
        let landmarks = coded.range(0, terms)?;
        ridge::on_landmarks(part.shape, (&coded, &landmarks), &sought, part.lambda, watch)
    }
}
