//! A stream as named arrays and JSON, and back, everything checked.

use serde_json::{Map, Value, json};

use super::Stream;
use super::any::AnyLearner;
use super::basis::Basis;
use super::expansion::{BudgetedExpansion, Span};
use super::learner::BasisForm;
use crate::config::exactly;
use crate::error::{Error, Result};
use crate::features::{FeatureMap, FourierMap};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::persist::{Section, Tensor, Tensors};
use crate::simd::Packed;

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("online learner: {what}")))
}

/// Reads one JSON object, every entry once.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn new(value: &'a Value, size: usize) -> Result<Self> {
        let map = value.as_object().filter(|map| map.len() == size);
        map.map_or_else(|| bad("fields"), |map| Ok(Self(map)))
    }

    fn value(&self, name: &str) -> Result<&'a Value> {
        self.0.get(name).map_or_else(|| bad(name), Ok)
    }

    fn number(&self, name: &str) -> Result<f64> {
        self.value(name)?.as_f64().map_or_else(|| bad(name), Ok)
    }

    fn count(&self, name: &str) -> Result<u64> {
        self.value(name)?.as_u64().map_or_else(|| bad(name), Ok)
    }

    fn size(&self, name: &str) -> Result<usize> {
        usize::try_from(self.count(name)?).or_else(|_| bad(name))
    }
}

fn rows_of<F: Real>(set: &Packed<F>) -> Vec<F> {
    let mut rows = vec![F::zero(); set.len() * set.n_features()];
    rows.chunks_exact_mut(set.n_features()).enumerate().for_each(|(slot, row)| set.get(slot, row));
    rows
}

fn take_dropped<F: Real>(model: &mut BudgetedExpansion<F>, arrays: &mut Tensors) -> Result<()> {
    let d = model.n_features();
    let older = Tensor::take_floats::<F>(arrays, "dropped.older.centers")?;
    let newer = Tensor::take_floats::<F>(arrays, "dropped.newer.centers")?;
    let dropped = &mut model.dropped;
    dropped.older_sums = Tensor::take_doubles(arrays, "dropped.older.sums")?;
    let sums = Tensor::take_doubles(arrays, "dropped.newer.sums")?;
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
    arrays: &mut Tensors,
) -> Result<Option<Basis>> {
    let triangular = match learner.basis() {
        BasisForm::Triangular => true,
        BasisForm::Full if arrays.contains_key("basis") => false,
        BasisForm::Full | BasisForm::None => return Ok(None),
    };
    let (values, past) =
        (Tensor::take_doubles(arrays, "basis")?, Tensor::take_doubles(arrays, "past")?);
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
    /// What a file holds of the stream.
    #[must_use]
    pub fn to_section(&self) -> Section {
        let mut arrays = Tensors::new();
        let fields = self.put(&mut arrays);
        Section::of(fields, arrays)
    }

    /// The stream of a file.
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn from_section(section: Section) -> Result<Self> {
        let (fields, mut arrays) = section.into_parts();
        let stream = Self::take(&fields, &mut arrays)?;
        if arrays.is_empty() { Ok(stream) } else { bad("an array that nothing uses") }
    }

    /// Puts the arrays; what is not an array is returned.
    fn put(&self, arrays: &mut Tensors) -> Value {
        let (model, weights) = (&self.model, &self.model.weights);
        let d = model.n_features();
        let mut put = |name: &str, tensor| arrays.insert(name.to_owned(), tensor);
        put("centers", Tensor::floats(&rows_of(model.terms.centers())));
        put("origin", Tensor::floats(model.origin()));
        put("own", Tensor::doubles(model.own.clone()));
        put("values", Tensor::doubles(weights.values[..weights.len].to_vec()));
        if let Some(debt) = &weights.debt {
            put("debt", Tensor::doubles(debt[..weights.len].to_vec()));
            put("older", Tensor::doubles(weights.older.clone()));
            let dropped = &model.dropped;
            put("dropped.older.centers", Tensor::floats(&rows_of(&dropped.older)));
            put("dropped.older.sums", Tensor::doubles(dropped.older_sums.clone()));
            put("dropped.newer.centers", Tensor::floats(&rows_of(&dropped.newer)));
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
        if let Some(FeatureMap::Fourier(map)) = model.map() {
            put("frequencies", Tensor::doubles(map.frequencies()));
        }
        json!({
            "kernel": model.kernel(),
            "learner": self.learner,
            "n_features": d,
            "average": u8::from(weights.debt.is_some()),
            "scale": weights.scale,
            "age": weights.age,
            "steps": weights.steps,
            "older_steps": weights.window.0,
            "newer_steps": weights.window.1,
            "places_aside": model.dropped.places(),
            "seed": self.seed,
        })
    }

    /// The stream that [`Stream::put`] described.
    fn take(value: &Value, arrays: &mut Tensors) -> Result<Self> {
        let get = Fields::new(value, 11)?;
        let kernel: AnyKernel = exactly("kernel", get.value("kernel")?)?;
        let learner: AnyLearner = exactly("learner", get.value("learner")?)?;
        let fits = kernel.check().and_then(|()| learner.check(kernel));
        fits.or_else(|_| bad("hyperparameters"))?;
        let d = get.size("n_features")?;
        let points = Tensor::take_floats::<F>(arrays, "centers")?;
        let origin = Tensor::take_floats::<F>(arrays, "origin")?;
        let own = Tensor::take_doubles(arrays, "own")?;
        let values = Tensor::take_doubles(arrays, "values")?;
        // Coefficients are one a term, one a feature, or one a function of the basis.
        let (terms, n) = (own.len(), values.len());
        let features = learner.n_features();
        let basis = take_basis(&learner, (terms, n), arrays)?;
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
        let average = get.count("average")? == 1;
        let aside = get.size("places_aside")?;
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
            let frequencies = Tensor::take_doubles(arrays, "frequencies")?;
            if (n / 2).checked_mul(d) != Some(frequencies.len()) {
                return bad("frequencies");
            }
            let map = FourierMap::new((&frequencies, d), &[])?;
            model = BudgetedExpansion::on_features(kernel, FeatureMap::Fourier(map), average)?;
            values.iter().enumerate().for_each(|(slot, &v)| model.weights.replace(slot, v));
        }
        if average {
            let debt = Tensor::take_doubles(arrays, "debt")?;
            match &mut model.weights.debt {
                Some(to) if debt.len() == n => to[..n].copy_from_slice(&debt),
                _ => return bad("debt"),
            }
            let older = Tensor::take_doubles(arrays, "older")?;
            if !older.is_empty() && older.len() != n {
                return bad("older");
            }
            model.weights.older = older;
            take_dropped(&mut model, arrays)?;
        }
        let (scale, age) = (get.number("scale")?, get.number("age")?);
        if !(scale > 0.0 && scale.is_finite() && age >= 0.0 && age.is_finite()) {
            return bad("scale");
        }
        (model.weights.scale, model.weights.age) = (scale, age);
        model.weights.steps = get.count("steps")?;
        model.weights.window = (get.count("older_steps")?, get.count("newer_steps")?);
        if learner.budget().is_some_and(|budget| model.n_terms() > budget) {
            return bad("more terms than the budget");
        }
        Ok(Self { learner, model, seed: get.count("seed")? })
    }
}
