//! Hyperparameters as JSON: what Python hands over and what files hold.

use serde_json::{Map, Value, json};

use super::config::{Config, Maintenance, search_from_name, search_name};
use crate::data::SampleOrder;
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;
use crate::loss::AnyLoss;
use crate::solver::Method;

/// Hyperparameters that mean something in Python alone.
const PYTHON_ONLY: [&str; 6] =
    ["class_weight", "validation_fraction", "warm_start", "n_jobs", "verbose", "callback"];

/// Takes values out of a map; what is left at the end is unknown.
pub(in crate::estimator) struct Params<'a>(pub(in crate::estimator) &'a Map<String, Value>);

impl<'a> Params<'a> {
    pub(in crate::estimator) fn get<T>(
        &self,
        name: &'static str,
        expected: &str,
        read: impl Fn(&'a Value) -> Option<T>,
    ) -> Result<Option<T>> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                None => Err(Error::param(name, expected, shown(value))),
            },
        }
    }

    pub(in crate::estimator) fn number(&self, name: &'static str, into: &mut f64) -> Result<()> {
        if let Some(value) = self.get(name, "a number", Value::as_f64)? {
            *into = value;
        }
        Ok(())
    }

    pub(in crate::estimator) fn whole(&self, name: &'static str, into: &mut usize) -> Result<()> {
        let read = |v: &Value| v.as_u64().and_then(|v| usize::try_from(v).ok());
        if let Some(value) = self.get(name, "a positive integer", read)? {
            *into = value;
        }
        Ok(())
    }

    fn optional_whole(&self, name: &'static str, into: &mut Option<usize>) -> Result<()> {
        let read = |v: &Value| match v {
            Value::Null => Some(None),
            v => v.as_u64().and_then(|v| usize::try_from(v).ok()).map(Some),
        };
        if let Some(value) = self.get(name, ">= 1 or None", read)? {
            *into = value;
        }
        Ok(())
    }

    fn flag(&self, name: &'static str, into: &mut bool) -> Result<()> {
        if let Some(value) = self.get(name, "True or False", Value::as_bool)? {
            *into = value;
        }
        Ok(())
    }

    pub(in crate::estimator) fn text(&self, name: &'static str) -> Result<Option<&'a str>> {
        self.get(name, "a string", Value::as_str)
    }
}

/// A value as Python shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "None".into(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => format!("'{text}'"),
        other => other.to_string(),
    }
}

pub(in crate::estimator) fn order_of(value: &Value) -> Option<Result<SampleOrder>> {
    match value {
        Value::String(name) => Some(SampleOrder::from_name(name)),
        Value::Array(items) => {
            let read = |v: &Value| v.as_u64().and_then(|v| usize::try_from(v).ok());
            let script: Option<Vec<usize>> = items.iter().map(read).collect();
            script.map(|script| Ok(SampleOrder::Scripted(script)))
        }
        _ => None,
    }
}

impl Config {
    /// Hyperparameters by their Python names; what is missing has its default.
    ///
    /// `gamma` must be a number. Names of Python's alone are passed over.
    ///
    /// # Errors
    /// `InvalidParam` for a value of another type or out of its range, `Unsupported` for an
    /// unknown name.
    pub fn from_json(map: &Map<String, Value>) -> Result<Self> {
        let params = Params(map);
        let mut config = Self::default();
        params.optional_whole("budget", &mut config.budget)?;
        params.number("C", &mut config.c)?;
        let (mut gamma, mut coef0, mut degree, mut epsilon) = (1.0, 0.0, 3usize, 0.1);
        params.number("gamma", &mut gamma)?;
        params.number("coef0", &mut coef0)?;
        params.number("epsilon", &mut epsilon)?;
        let read = |v: &Value| v.as_u64().and_then(|v| u32::try_from(v).ok());
        if let Some(given) = params.get("degree", "an integer >= 0", read)? {
            degree = given as usize;
        }
        let kernel = params.text("kernel")?.unwrap_or("rbf");
        config.kernel = AnyKernel::from_name(kernel, gamma, coef0, degree as u32)?;
        let regression = map.contains_key("epsilon");
        let default = if regression { "epsilon_insensitive" } else { "hinge" };
        config.loss = AnyLoss::from_name(params.text("loss")?.unwrap_or(default), epsilon)?;
        if config.loss.is_classification() == regression {
            let expected = if regression {
                "'epsilon_insensitive' or 'squared_epsilon_insensitive'"
            } else {
                "'hinge' or 'squared_hinge'"
            };
            return Err(Error::param("loss", expected, format!("'{}'", config.loss.name())));
        }
        if let Some(name) = params.text("solver")? {
            config.solver = Method::from_name(name)?;
        }
        if let Some(name) = params.text("maintenance")? {
            config.maintenance = Maintenance::from_name(name)?;
        }
        if let Some(name) = params.text("merge_search")? {
            config.merge_search = search_from_name(name)?;
        }
        params.whole("merge_size", &mut config.merge_size)?;
        params.flag("polishing", &mut config.polishing)?;
        params.number("smoothing", &mut config.smoothing)?;
        params.flag("refine", &mut config.refine)?;
        params.whole("refine_iter", &mut config.refine_iter)?;
        params.flag("fit_intercept", &mut config.fit_intercept)?;
        params.whole("max_iter", &mut config.max_iter)?;
        params.number("tol", &mut config.tol)?;
        let orders = "'shuffled', 'uniform', 'sequential' or a list of indices";
        if let Some(order) = params.get("order", orders, order_of)? {
            config.order = order?;
        }
        params.flag("shared", &mut config.shared)?;
        params.flag("early_stopping", &mut config.early_stopping)?;
        params.whole("n_iter_no_change", &mut config.n_iter_no_change)?;
        let read = |v: &Value| if v.is_null() { Some(None) } else { v.as_f64().map(Some) };
        if let Some(seconds) = params.get("max_time", "a number > 0 or None", read)? {
            config.max_time = seconds;
        }
        params.flag("record_objective", &mut config.record_objective)?;
        params.optional_whole("n_expected", &mut config.n_expected)?;
        params.number("cache_size", &mut config.cache_size)?;
        let read = |v: &Value| if v.is_null() { Some(0) } else { v.as_u64() };
        if let Some(seed) = params.get("random_state", "an integer >= 0 or None", read)? {
            config.seed = seed;
        }
        let known = config.to_json();
        let also = ["epsilon", "gamma", "degree", "coef0"];
        let unknown = map.keys().find(|name| {
            let name = name.as_str();
            !(known.contains_key(name) || also.contains(&name) || PYTHON_ONLY.contains(&name))
        });
        if let Some(unknown) = unknown {
            return Err(Error::Unsupported(format!("unknown hyperparameter {unknown:?}")));
        }
        config.check()?;
        Ok(config)
    }

    /// The inverse of [`Config::from_json`].
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let order = match &self.order {
            SampleOrder::Scripted(script) => json!(script),
            named => json!(named.name()),
        };
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        put("budget", json!(self.budget));
        put("C", json!(self.c));
        put("kernel", json!(self.kernel.name()));
        let (gamma, coef0, degree) = match self.kernel {
            AnyKernel::Gaussian { gamma } | AnyKernel::Laplacian { gamma } => (gamma, 0.0, 3),
            AnyKernel::Polynomial { gamma, coef0, degree } => (gamma, coef0, degree),
            AnyKernel::Sigmoid { gamma, coef0 } => (gamma, coef0, 3),
            AnyKernel::Linear => (1.0, 0.0, 3),
        };
        put("gamma", json!(gamma));
        put("coef0", json!(coef0));
        put("degree", json!(degree));
        put("loss", json!(self.loss.name()));
        if let AnyLoss::EpsilonInsensitive { epsilon }
        | AnyLoss::SquaredEpsilonInsensitive { epsilon } = self.loss
        {
            put("epsilon", json!(epsilon));
        }
        put("solver", json!(self.solver.name()));
        put("maintenance", json!(self.maintenance.name()));
        put("merge_search", json!(search_name(self.merge_search)));
        put("merge_size", json!(self.merge_size));
        put("polishing", json!(self.polishing));
        put("smoothing", json!(self.smoothing));
        put("refine", json!(self.refine));
        put("refine_iter", json!(self.refine_iter));
        put("fit_intercept", json!(self.fit_intercept));
        put("max_iter", json!(self.max_iter));
        put("tol", json!(self.tol));
        put("order", order);
        put("early_stopping", json!(self.early_stopping));
        put("n_iter_no_change", json!(self.n_iter_no_change));
        put("max_time", json!(self.max_time));
        put("record_objective", json!(self.record_objective));
        put("n_expected", json!(self.n_expected));
        put("cache_size", json!(self.cache_size));
        put("random_state", json!(self.seed));
        if self.loss.is_classification() {
            put("shared", json!(self.shared));
        }
        map
    }
}
