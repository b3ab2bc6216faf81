//! A stream as named arrays and JSON, and back, everything checked.

use serde_json::{Map, Value, json};

use super::Stream;
use super::any::AnyLearner;
use super::basis::Basis;
use super::expansion::{BudgetedExpansion, Span};
use crate::config::exactly;
use crate::error::{Error, Result};
use crate::features::{FeatureMap, FourierMap};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::model::persist::{Data, Tensor, Tensors};
use crate::simd::Packed;

fn bad<T>(what: &str) -> Result<T> {
    Err(Error::Format(format!("online learner: {what}")))
}

fn doubles(values: &[f64]) -> Tensor {
    Tensor { shape: vec![values.len()], data: Data::F64(values.to_vec()) }
}

fn floats<F: Real>(values: &[F]) -> Tensor {
    let data = if F::NAME == f32::NAME {
        Data::F32(values.iter().map(|v| Real::to_f64(*v) as f32).collect())
    } else {
        Data::F64(values.iter().map(|v| Real::to_f64(*v)).collect())
    };
    Tensor { shape: vec![values.len()], data }
}

fn take_doubles(arrays: &mut Tensors, name: &str) -> Result<Vec<f64>> {
    match arrays.remove(name) {
        Some(Tensor { data: Data::F64(values), .. }) => Ok(values),
        _ => bad(name),
    }
}

fn take_floats<F: Real>(arrays: &mut Tensors, name: &str) -> Result<Vec<F>> {
    match arrays.remove(name) {
        Some(Tensor { data: Data::F64(v), .. }) if F::NAME == f64::NAME => {
            Ok(v.into_iter().map(F::from_f64).collect())
        }
        Some(Tensor { data: Data::F32(v), .. }) if F::NAME == f32::NAME => {
            Ok(v.into_iter().map(|v| F::from_f64(f64::from(v))).collect())
        }
        _ => bad(name),
    }
}

/// Reads one JSON object, every entry once.
struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    fn new(value: &'a Value, size: usize) -> Result<Self> {
        match value {
            Value::Object(map) if map.len() == size => Ok(Self(map)),
            _ => bad("fields"),
        }
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

fn take_dropped<F: Real>(
    prefix: &str,
    model: &mut BudgetedExpansion<F>,
    arrays: &mut Tensors,
) -> Result<()> {
    let d = model.n_features();
    let older = take_floats::<F>(arrays, &format!("{prefix}dropped.older.centers"))?;
    let newer = take_floats::<F>(arrays, &format!("{prefix}dropped.newer.centers"))?;
    let dropped = &mut model.dropped;
    dropped.older_sums = take_doubles(arrays, &format!("{prefix}dropped.older.sums"))?;
    let sums = take_doubles(arrays, &format!("{prefix}dropped.newer.sums"))?;
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
    prefix: &str,
    arrays: &mut Tensors,
) -> Result<Option<Basis>> {
    let name = format!("{prefix}basis");
    let triangular = match learner {
        AnyLearner::Projectron(_) => true,
        AnyLearner::NystroemOgd(_) if arrays.contains_key(&name) => false,
        _ => return Ok(None),
    };
    let (values, past) =
        (take_doubles(arrays, &name)?, take_doubles(arrays, &format!("{prefix}past"))?);
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
    /// Puts the arrays under names that begin with `prefix`; what is not an array is returned.
    #[must_use]
    pub fn put(&self, prefix: &str, arrays: &mut Tensors) -> Value {
        let (model, weights) = (&self.model, &self.model.weights);
        let d = model.n_features();
        let mut put = |name: &str, tensor| arrays.insert(format!("{prefix}{name}"), tensor);
        put("centers", floats(&rows_of(&model.centers)));
        put("origin", floats(&model.origin));
        put("own", doubles(&model.own));
        put("values", doubles(&weights.values[..weights.len]));
        if let Some(debt) = &weights.debt {
            put("debt", doubles(&debt[..weights.len]));
            put("older", doubles(&weights.older));
            let dropped = &model.dropped;
            put("dropped.older.centers", floats(&rows_of(&dropped.older)));
            put("dropped.older.sums", doubles(&dropped.older_sums));
            put("dropped.newer.centers", floats(&rows_of(&dropped.newer)));
            let sums: Vec<f64> = dropped.newer_sums.iter().flat_map(|&(a, b)| [a, b]).collect();
            put("dropped.newer.sums", doubles(&sums));
        }
        if let Some(basis) = model.basis() {
            let triangular = matches!(self.learner, AnyLearner::Projectron(_));
            let (mut row, mut values) = (Vec::new(), Vec::new());
            for slot in 0..basis.len() {
                basis.row(slot, &mut row);
                let known = if triangular { slot + 1 } else { model.len() };
                values.extend_from_slice(&row[..known]);
            }
            put("basis", doubles(&values));
            put("past", doubles(&basis.past));
        }
        if let Some(FeatureMap::Fourier(map)) = model.map() {
            put("frequencies", doubles(&map.frequencies()));
        }
        json!({
            "kernel": model.kernel,
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
    ///
    /// # Errors
    /// `Format` for anything that is not exactly valid, `OutOfMemory`.
    pub fn take(prefix: &str, value: &Value, arrays: &mut Tensors) -> Result<Self> {
        let get = Fields::new(value, 11)?;
        let kernel: AnyKernel = exactly("kernel", get.value("kernel")?)?;
        let learner: AnyLearner = exactly("learner", get.value("learner")?)?;
        let fits = kernel.check().and_then(|()| learner.check(kernel));
        fits.or_else(|_| bad("hyperparameters"))?;
        let d = get.size("n_features")?;
        let points = take_floats::<F>(arrays, &format!("{prefix}centers"))?;
        let origin = take_floats::<F>(arrays, &format!("{prefix}origin"))?;
        let own = take_doubles(arrays, &format!("{prefix}own"))?;
        let values = take_doubles(arrays, &format!("{prefix}values"))?;
        // Coefficients are one a term, one a feature, or one a function of the basis.
        let (terms, n) = (own.len(), values.len());
        let features = match &learner {
            AnyLearner::FourierOgd(l) => Some(l.n_features()),
            _ => None,
        };
        let basis = take_basis(&learner, (terms, n), prefix, arrays)?;
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
        points.chunks_exact(d).try_for_each(|row| model.centers.push(row))?;
        model.own = own;
        if let Some(basis) = basis {
            model.span = Span::Basis(basis);
        }
        if features.is_none() {
            model.weights.restart(&values)?;
        } else {
            let frequencies = take_doubles(arrays, &format!("{prefix}frequencies"))?;
            if (n / 2).checked_mul(d) != Some(frequencies.len()) {
                return bad("frequencies");
            }
            let map = FourierMap::new((&frequencies, d), &[])?;
            model = BudgetedExpansion::on_features(kernel, FeatureMap::Fourier(map), average)?;
            values.iter().enumerate().for_each(|(slot, &v)| model.weights.replace(slot, v));
        }
        if average {
            let debt = take_doubles(arrays, &format!("{prefix}debt"))?;
            match &mut model.weights.debt {
                Some(to) if debt.len() == n => to[..n].copy_from_slice(&debt),
                _ => return bad("debt"),
            }
            let older = take_doubles(arrays, &format!("{prefix}older"))?;
            if !older.is_empty() && older.len() != n {
                return bad("older");
            }
            model.weights.older = older;
            take_dropped(prefix, &mut model, arrays)?;
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
        if let AnyLearner::Forgetron(l) = &learner
            && l.oldest >= l.budget
        {
            return bad("oldest");
        }
        Ok(Self { learner, model, seed: get.count("seed")? })
    }
}
