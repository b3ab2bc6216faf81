//! The hyperparameters by their Python names.

use serde_json::{Map, Value};

use super::LocalConfig;
use crate::error::{Error, Result};
use crate::estimator::budget::Config;
use crate::estimator::budget::json::{Params, order_of};
use crate::kernel::AnyKernel;
use crate::local::{Local, Pruning};

impl LocalConfig {
    /// Hyperparameters by name; what is missing has its default, names of Python's alone are
    /// passed over. `gamma` must be a number.
    ///
    /// # Errors
    /// `InvalidParam` for a value of another type or out of its range.
    pub fn from_json(map: &Map<String, Value>) -> Result<Self> {
        let params = Params(map);
        let (mut gamma, mut coef0, mut degree) = (1.0, 0.0, 3);
        params.number("gamma", &mut gamma)?;
        params.number("coef0", &mut coef0)?;
        params.whole("degree", &mut degree)?;
        let degree = u32::try_from(degree).unwrap_or(u32::MAX);
        let name = params.text("kernel")?.unwrap_or("rbf");
        let mut local = Local {
            kernel: AnyKernel::from_name(name, gamma, coef0, degree)?,
            n_clusters: 16,
            budget: 100,
            center_step: 0.01,
            overlap: 1,
            pruning: Pruning::from_name(params.text("pruning")?.unwrap_or("all"))?,
        };
        params.whole("n_clusters", &mut local.n_clusters)?;
        params.whole("budget", &mut local.budget)?;
        params.number("center_step", &mut local.center_step)?;
        params.whole("overlap", &mut local.overlap)?;
        let mut max_iter = 1;
        params.whole("max_iter", &mut max_iter)?;
        let orders = "'shuffled', 'uniform', 'sequential' or a list of indices";
        let order = params.get("order", orders, order_of)?;
        let read = |v: &Value| if v.is_null() { Some(None) } else { v.as_f64().map(Some) };
        let max_time = params.get("max_time", "a number > 0 or None", read)?.flatten();
        let seed = params.get("random_state", "an integer >= 0", Value::as_u64)?.unwrap_or(0);
        let inner = match params.text("local")?.unwrap_or("online") {
            "online" => None,
            "bsca" => {
                let (budget, kernel) = (Some(local.budget), local.kernel);
                Some(Config { budget, kernel, seed, max_time, ..Config::default() })
            }
            other => {
                let got = format!("'{other}'");
                return Err(Error::param("local", "'online' or 'bsca'", got));
            }
        };
        let order = order.transpose()?.unwrap_or_default();
        let config = Self { local, max_iter, order, max_time, seed, inner };
        config.check()?;
        Ok(config)
    }
}
