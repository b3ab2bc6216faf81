//! A stream as named arrays and JSON, and back, everything checked.

use std::sync::Arc;

use super::Stream;
use super::any::AnyLearner;
use super::basis::Basis;
use super::expansion::{BudgetedExpansion, Span};
use super::learner::BasisForm;
use crate::error::{Error, Result};
use crate::features::{FeatureMap, FourierMap};
use crate::float::Real;
use crate::model::persist::{Section, Tensor};

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("online learner: {what}")))
}

fn take_dropped<F: Real>(model: &mut BudgetedExpansion<F>, section: &mut Section) -> Result<()> {
    let d = model.n_features();
    let older = section.take_floats::<F>("dropped.older.centers")?;
    let newer = section.take_floats::<F>("dropped.newer.centers")?;
    let dropped = &mut model.dropped;
    dropped.older_sums = section.take_doubles("dropped.older.sums")?;
    let sums = section.take_doubles("dropped.newer.sums")?;
    dropped.newer_sums = sums.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    let (n, m) = (dropped.older_sums.len(), dropped.newer_sums.len());
    let sized = n.checked_mul(d) == Some(older.len())
        && m.checked_mul(d) == Some(newer.len())
        && sums.len() == 2 * m;
    if !sized || n.max(m) > dropped.half {
        return bad("sizes of arrays");
    }
    older.chunks_exact(d).try_for_each(|row| dropped.older.push(row))?;
    newer.chunks_exact(d).try_for_each(|row| dropped.newer.push(row))
}

/// The basis of `n` functions of a model of so many terms, if the learner works on one.
fn take_basis(
    learner: &AnyLearner,
    (terms, n): (usize, usize),
    section: &mut Section,
) -> Result<Option<Basis>> {
    let triangular = match learner.basis() {
        BasisForm::Triangular => true,
        BasisForm::Full if section.has("basis") => false,
        BasisForm::Full | BasisForm::None => return Ok(None),
    };
    let (values, past) = (section.take_doubles("basis")?, section.take_doubles("past")?);
    let (size, sums) = match triangular {
        true => ((n == terms).then(|| n * (n + 1) / 2), 0),
        false => ((n <= terms).then(|| n.checked_mul(terms)).flatten(), terms),
    };
    let finite = values.iter().chain(&past).all(|v| v.is_finite());
    if size != Some(values.len()) || past.len() != sums || !finite {
        return bad("basis");
    }
    let mut basis = Basis::default();
    let mut rest = values.as_slice();
    for slot in 0..n {
        let (row, after) = rest.split_at(if triangular { slot + 1 } else { terms });
        basis.push(row)?;
        rest = after;
    }
    basis.past = past;
    Ok(Some(basis))
}

impl<F: Real> Stream<F> {
    /// What a file holds of the stream: features that it shares with the first one are there once.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn to_section(&self, first: Option<&Self>) -> Result<Section> {
        let mut section = Section::default();
        let (model, weights) = (&self.model, &self.model.weights);
        let mut put = |name: &str, tensor| section.put_array(name, tensor);
        put("centers", Tensor::floats(&model.terms.centers().rows()?));
        put("origin", Tensor::floats(model.origin()));
        put("own", Tensor::doubles(model.own.clone()));
        put("values", Tensor::doubles(weights.values[..weights.len].to_vec()));
        if let Some(debt) = &weights.debt {
            put("debt", Tensor::doubles(debt[..weights.len].to_vec()));
            put("older", Tensor::doubles(weights.older.clone()));
            let dropped = &model.dropped;
            put("dropped.older.centers", Tensor::floats(&dropped.older.rows()?));
            put("dropped.older.sums", Tensor::doubles(dropped.older_sums.clone()));
            put("dropped.newer.centers", Tensor::floats(&dropped.newer.rows()?));
            let sums: Vec<f64> = dropped.newer_sums.iter().flat_map(|&(a, b)| [a, b]).collect();
            put("dropped.newer.sums", Tensor::doubles(sums));
        }
        if let Some(basis) = model.basis() {
            let triangular = self.learner.basis() == BasisForm::Triangular;
            let (mut row, mut values) = (Vec::new(), Vec::new());
            for slot in 0..basis.len() {
                basis.row(slot, &mut row);
                let known = if triangular { slot + 1 } else { model.len() };
                values.extend_from_slice(&row[..known]);
            }
            put("basis", Tensor::doubles(values));
            put("past", Tensor::doubles(basis.past.clone()));
        }
        let shared = first.and_then(|first| first.model.map());
        match model.map() {
            Some(map) if shared.is_some_and(|shared| Arc::ptr_eq(shared, map)) => {}
            Some(map) => {
                if let FeatureMap::Fourier(map) = &**map {
                    put("frequencies", Tensor::doubles(map.frequencies()?));
                }
            }
            None => {}
        }
        section.put("kernel", model.kernel());
        section.put("learner", &self.learner);
        section.put("n_features", model.n_features());
        section.put("average", u8::from(weights.is_averaged()));
        section.put("scale", weights.scale);
        section.put("age", weights.age);
        section.put("steps", weights.steps);
        section.put("older_steps", weights.window.0);
        section.put("newer_steps", weights.window.1);
        section.put("places_aside", model.dropped.places());
        section.put("seed", self.seed);
        Ok(section)
    }

    /// The stream of a file, whose first one may have the features.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_section(mut section: Section, first: Option<&Self>) -> Result<Self> {
        let stream = Self::take(&mut section, first)?;
        section.end()?;
        Ok(stream)
    }

    /// Takes what [`Stream::to_section`] put.
    fn take(section: &mut Section, first: Option<&Self>) -> Result<Self> {
        let kernel = section.take_kernel()?;
        let learner: AnyLearner = section.take_exactly("learner")?;
        learner.check(kernel).map_err(|e| Error::Format(e.to_string()))?;
        let d: usize = section.take("n_features")?;
        let points = section.take_floats::<F>("centers")?;
        let origin = section.take_floats::<F>("origin")?;
        let own = section.take_doubles("own")?;
        let values = section.take_doubles("values")?;
        // Coefficients are one a term, one a feature, or one a function of the basis.
        let (terms, n) = (own.len(), values.len());
        let features = learner.n_features();
        let basis = take_basis(&learner, (terms, n), section)?;
        let sized = d > 0
            && points.len() % d == 0
            && points.len() / d == terms
            && match features {
                Some(count) => terms == 0 && count == n,
                None => terms == n || basis.is_some(),
            };
        if !sized || !(origin.is_empty() || origin.len() == d) {
            return bad("sizes of arrays");
        }
        let average = match section.take::<u8>("average")? {
            0 => false,
            1 => true,
            _ => return bad("average"),
        };
        let aside: usize = section.take("places_aside")?;
        if aside > learner.budget().unwrap_or(0) {
            return bad("places_aside");
        }
        let mut model = BudgetedExpansion::new(kernel, origin, d, average.then_some(aside))?;
        points.chunks_exact(d).try_for_each(|row| model.terms.push(row).map(drop))?;
        model.own = own;
        if let Some(basis) = basis {
            model.span = Span::Basis(basis);
        }
        if features.is_none() {
            model.weights.restart(&values)?;
        } else {
            let map = match first.and_then(|first| first.model.map()) {
                Some(map) if !section.has("frequencies") => {
                    if (map.n_features(), map.n_outputs()) != (d, n) {
                        return bad("features");
                    }
                    Arc::clone(map)
                }
                _ => {
                    let frequencies = section.take_doubles("frequencies")?;
                    if (n / 2).checked_mul(d) != Some(frequencies.len()) {
                        return bad("frequencies");
                    }
                    Arc::new(FeatureMap::Fourier(FourierMap::again((&frequencies, d), &[])?))
                }
            };
            model = BudgetedExpansion::on_features(kernel, map, average)?;
            values.iter().enumerate().for_each(|(slot, &v)| model.weights.replace(slot, v));
        }
        if average {
            let debt = section.take_doubles("debt")?;
            match &mut model.weights.debt {
                Some(to) if debt.len() == n => to[..n].copy_from_slice(&debt),
                _ => return bad("debt"),
            }
            let older = section.take_doubles("older")?;
            if !older.is_empty() && older.len() != n {
                return bad("older");
            }
            model.weights.older = older;
            take_dropped(&mut model, section)?;
        }
        let (scale, age) = (section.take_number("scale")?, section.take_number("age")?);
        if !(scale > 0.0 && age >= 0.0) {
            return bad("scale");
        }
        (model.weights.scale, model.weights.age) = (scale, age);
        model.weights.steps = section.take("steps")?;
        model.weights.window = (section.take("older_steps")?, section.take("newer_steps")?);
        if learner.budget().is_some_and(|budget| model.n_terms() > budget) {
            return bad("more terms than the budget");
        }
        Ok(Self { learner, model, seed: section.take("seed")? })
    }
}
