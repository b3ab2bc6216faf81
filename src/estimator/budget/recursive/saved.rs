//! A stream as a section of a file.

use std::sync::Arc;

use super::Recursive;
use super::familiar::Labels;
use super::learnt::Learnt;
use super::made::Ahead;
use super::waiting::{MOST, Waiting};
use crate::config::{Config as _, exactly, positive};
use crate::error::{Error, Result};
use crate::estimator::budget::BudgetConfig;
use crate::estimator::budget::levels::or_none;
use crate::estimator::budget::units::Units;
use crate::estimator::passes::Passes;
use crate::estimator::piece::Piece;
use crate::float::Real;
use crate::linalg::{lower, mirrored};
use crate::loss::AnyLoss;
use crate::model::persist::{Section, Tensor};
use crate::model::{KernelModel, Model};
use crate::solver::recursive::{Lost, Moments, Summary};

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("stream: {what}")))
}

/// The lower triangle of H, row after row, then g, and τ unless it is 0.
fn numbers(summary: &Summary) -> Vec<f64> {
    let mut out: Vec<f64> = lower(summary.hessian(), summary.unknowns()).collect();
    out.extend(summary.linear());
    out.extend(Some(summary.unseen()).filter(|v| *v > 0.0));
    out
}

fn summary(numbers: &[f64], n: usize) -> Result<Summary> {
    let (lower, rest) = numbers.split_at_checked(n * (n + 1) / 2).unwrap_or_default();
    let (linear, unseen) = rest.split_at_checked(n).unwrap_or_default();
    let unseen = match (linear.len() == n, unseen) {
        (true, []) => 0.0,
        (true, [unseen]) => *unseen,
        _ => return bad("length of a summary"),
    };
    let hessian = mirrored("summary of a stream", lower, n)?;
    Summary::from_parts(hessian, linear.to_vec(), unseen).or_else(|e| bad(&e.to_string()))
}

/// The weights of the groups, their mean features, the lower triangle of their scatter, the weight of
/// its rows, what is not seen, and what gradients have beyond those of groups.
fn numbers_of_groups(moments: &Moments) -> Vec<f64> {
    let (_, weights, means) = moments.groups();
    let (scatter, scattered, unseen) = moments.scatter();
    let lower = lower(scatter, moments.unknowns());
    let known = weights.iter().chain(means).copied();
    known.chain(lower).chain([scattered, unseen]).chain(moments.beyond().iter().copied()).collect()
}

fn groups(labels: Vec<usize>, numbers: &[f64], (n, n_classes): (usize, usize)) -> Result<Moments> {
    let (weights, rest) = numbers.split_at_checked(labels.len()).unwrap_or_default();
    let (means, rest) = rest.split_at_checked(labels.len() * n).unwrap_or_default();
    let (lower, rest) = rest.split_at_checked(n * (n + 1) / 2).unwrap_or_default();
    let [scattered, unseen, beyond @ ..] = rest else { return bad("length of groups") };
    let labels = labels.into_iter().map(|label| label.try_into().unwrap_or(u32::MAX)).collect();
    let known = (labels, weights.to_vec(), means.to_vec());
    let made =
        Moments::from_parts((n, n_classes), known, (lower, *scattered, *unseen), beyond.to_vec());
    made.or_else(|e| bad(&e.to_string()))
}

impl<F: Real> Recursive<F> {
    /// Of each summary.
    fn lost(&self) -> impl Iterator<Item = Lost> + '_ {
        self.parts.iter().flat_map(|part| &part.summaries).map(Summary::lost)
    }

    /// What a file holds of it.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(in crate::estimator) fn to_section(&self) -> Result<Section> {
        let mut section = Section::default();
        section.put("config", &*self.config);
        if let Some(unit) = self.unit.filter(|unit| *unit != 1.0) {
            section.put("unit", unit);
        }
        section.put("sizes", [self.outputs, self.n_features]);
        if let Some(nu) = self.nu {
            section.put("nu", nu);
            section.put("units", self.parts.first().and_then(|part| part.units));
        }
        let models: Vec<KernelModel<F>> = self.parts.iter().map(|p| p.model.clone()).collect();
        let passes: Vec<Passes> = self.passes().collect();
        section.put("passes", passes);
        if !models.is_empty() {
            section.put_section("model", Model::of_expansions(models).to_section()?);
        }
        let stepped = self.parts.iter().flat_map(|part| part.stepped.iter().copied());
        section.put_array("stepped", Tensor::doubles(stepped.collect()));
        let summaries = self.parts.iter().flat_map(|part| &part.summaries);
        for (at, summary) in summaries.enumerate() {
            section.put_array(&format!("summary_{at}"), Tensor::doubles(numbers(summary)));
        }
        let lost: Vec<f64> = self.lost().flat_map(|lost| [lost.learnt, lost.untold]).collect();
        if lost.iter().any(|v| *v > 0.0) {
            section.put_array("lost", Tensor::doubles(lost));
        }
        for (at, part) in self.parts.iter().enumerate() {
            let Some(moments) = &part.moments else { continue };
            let labels = moments.groups().0.iter().map(|&label| u64::from(label)).collect();
            section.put_array(&format!("groups_{at}_labels"), Tensor::counts(labels));
            let numbers = numbers_of_groups(moments);
            section.put_array(&format!("groups_{at}"), Tensor::doubles(numbers));
            if !moments.middles().is_empty() {
                let middles = Tensor::doubles(moments.middles().to_vec());
                section.put_array(&format!("groups_{at}_middles"), middles);
            }
        }
        if !self.labels.rows().is_empty() {
            section.put_array("labels", Tensor::doubles(self.labels.rows().to_vec()));
        }
        if self.waiting.len() > 0 {
            self.waiting.gather()?.put(&mut section);
        }
        Ok(section)
    }

    /// The stream of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub(in crate::estimator) fn from_section(mut section: Section) -> Result<Self> {
        let mut config: serde_json::Map<String, serde_json::Value> = section.take("config")?;
        // Older files do not say it.
        config.entry("resumable").or_insert_with(serde_json::Value::default);
        or_none(&mut config);
        let config: BudgetConfig = exactly("config", &config.into())?;
        config.check().map_err(|e| Error::Format(e.to_string()))?;
        // Older files do not say it, nor do those of classes.
        let unit = if section.has("unit") { section.take_number("unit")? } else { 1.0 };
        positive("unit", unit).map_err(|e| Error::Format(e.to_string()))?;
        let [outputs, n_features]: [usize; 2] = section.take("sizes")?;
        let passes: Vec<Passes> = section.take_exactly("passes")?;
        let nu: Option<f64> = if section.has("nu") { Some(section.take("nu")?) } else { None };
        let units: Option<Units> = if nu.is_some() { section.take_exactly("units")? } else { None };
        let one = nu.is_none_or(|nu| {
            let fits = units.is_none_or(|units| units.nu == nu && units.check().is_ok());
            let hinge = config.loss == AnyLoss::Hinge && config.fit_intercept && outputs == 1;
            fits && hinge && nu > 0.0 && nu <= 1.0 && units.is_some() != passes.is_empty()
        });
        if !one {
            return bad("one class");
        }
        let separate = outputs > 1 && !config.shared;
        let expected = if separate { outputs } else { 1 };
        let mut parts = Vec::new();
        let stepped = section.take_doubles("stepped")?;
        crate::data::check_finite("coefficients", &stepped, 1).or_else(|e| bad(&e.to_string()))?;
        let mut rest = &stepped[..];
        if !passes.is_empty() {
            let model = Model::<F>::from_section(section.take_section("model")?)?;
            let fits = model.n_features() == n_features
                && model.n_outputs() == outputs
                && model.kernel() == Some(config.kernel)
                && model.expansions().len() == passes.len();
            if passes.len() != expected || !fits {
                return bad("model");
            }
            let mut at = 0;
            // Older files do not say it.
            let lost = if section.has("lost") { section.take_doubles("lost")? } else { Vec::new() };
            if !lost.is_empty() && lost.len() != 2 * outputs {
                return bad("losses");
            }
            let mut lost = lost.chunks_exact(2);
            let n_classes = if separate { 2 } else { outputs.max(2) };
            for (part, (model, &passes)) in model.expansions().iter().zip(&passes).enumerate() {
                let unknowns = model.n_terms() + usize::from(config.fit_intercept);
                let mut summaries = Vec::new();
                for _ in 0..model.n_outputs() {
                    let numbers = section.take_doubles(&format!("summary_{at}"))?;
                    let mut summary = summary(&numbers, unknowns)?;
                    if let Some(lost) = lost.next() {
                        let lost = Lost { learnt: lost[0], untold: lost[1] };
                        summary = summary.with_lost(lost).or_else(|e| bad(&e.to_string()))?;
                    }
                    summaries.push(summary);
                    at += 1;
                }
                // Older files do not have them, nor has what a fit left.
                let name = format!("groups_{part}");
                let moments = if section.has(&name) {
                    let numbers = section.take_doubles(&name)?;
                    let labels = section.take_sizes(&format!("{name}_labels"))?;
                    let mut known = groups(labels, &numbers, (unknowns, n_classes))?;
                    let middles = format!("{name}_middles");
                    if section.has(&middles) {
                        let middles = section.take_doubles(&middles)?;
                        if !middles.iter().all(|&v| F::from_f64(v).is_finite()) {
                            return bad("mean rows");
                        }
                        let with = known.with_middles(middles, n_features);
                        known = with.or_else(|e| bad(&e.to_string()))?;
                    }
                    Some(known)
                } else {
                    None
                };
                let Some((own, others)) =
                    rest.split_at_checked(model.n_terms() * model.n_outputs())
                else {
                    return bad("coefficients");
                };
                rest = others;
                let stepped = own.to_vec();
                let model = Clone::clone(model);
                parts.push(Learnt { model, stepped, passes, summaries, moments, units });
            }
        }
        if !rest.is_empty() {
            return bad("coefficients");
        }
        let mut labels = Vec::new();
        if section.has("labels") {
            labels = section.take_doubles("labels")?;
            let fits = labels.len() == outputs.max(2)
                && config.loss.expect_classes(true).is_ok()
                && nu.is_none()
                && labels.iter().all(|rows| rows.is_finite() && *rows >= 0.0);
            if !fits || parts.is_empty() {
                return bad("labels");
            }
        }
        if labels.is_empty() && parts.iter().any(|part| part.moments.is_some()) {
            return bad("groups");
        }
        let mut waiting = Waiting::default();
        if section.has("cost") {
            let kind = (config.loss.expect_classes(true).is_ok(), &config.quantiles[..]);
            let piece = Piece::take(&mut section, outputs, kind)?;
            let fits = |piece: &Piece<F>| {
                piece.cost.len() < MOST
                    && piece.problem().is_ok_and(|p| p.rows().n_cols() == n_features)
            };
            let Some(piece) = piece.filter(fits) else { return bad("rows that wait") };
            waiting = Waiting::of(piece);
        }
        if parts.is_empty() && waiting.len() == 0 {
            return bad("empty");
        }
        section.end()?;
        let (config, parts) = (Arc::new(config), Arc::new(parts));
        let labels = Labels::of(labels);
        let (ahead, unit) = (Ahead::default(), Some(unit).filter(|_| !parts.is_empty()));
        Ok(Self { config, unit, nu, parts, labels, waiting, ahead, outputs, n_features })
    }
}
