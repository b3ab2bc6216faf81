//! The JSON of a model file: unknown keys are refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::labels::Stored;
use crate::error::{Error, Result};
use crate::kernel::AnyKernel;

const FORMAT: &str = "budgetsvm";
const VERSION: u32 = 1;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meta {
    format: String,
    format_version: u32,
    library_version: String,
    kernel: Kernel,
    pub(super) machines: Vec<Machine>,
    pub(super) labels: Stored,
    pub(super) estimator: Value,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    pub(super) seen: u64,
    pub(super) steps: u64,
}

/// Every kernel in one form; a parameter that a kernel does not have is left out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kernel {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    gamma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    coef0: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    degree: Option<u32>,
}

impl From<AnyKernel> for Kernel {
    fn from(kernel: AnyKernel) -> Self {
        let (gamma, coef0, degree) = match kernel {
            AnyKernel::Gaussian { gamma } | AnyKernel::Laplacian { gamma } => {
                (Some(gamma), None, None)
            }
            AnyKernel::Polynomial { gamma, coef0, degree } => {
                (Some(gamma), Some(coef0), Some(degree))
            }
            AnyKernel::Sigmoid { gamma, coef0 } => (Some(gamma), Some(coef0), None),
            AnyKernel::Linear => (None, None, None),
        };
        Self { name: kernel.name().to_owned(), gamma, coef0, degree }
    }
}

/// A kernel as files hold it.
#[must_use]
pub fn kernel_to_json(kernel: AnyKernel) -> Value {
    // A struct of plain numbers always becomes JSON.
    serde_json::to_value(Kernel::from(kernel)).unwrap_or(Value::Null)
}

/// The kernel of a file, its parameters in range and none missing or superfluous.
///
/// # Errors
/// `Format`.
pub fn kernel_from_json(json: &Value) -> Result<AnyKernel> {
    let kernel: Kernel =
        serde_json::from_value(json.clone()).map_err(|e| Error::Format(format!("kernel: {e}")))?;
    kernel.checked()
}

impl Kernel {
    fn checked(&self) -> Result<AnyKernel> {
        let Self { name, gamma, coef0, degree } = self;
        let kernel = AnyKernel::from_name(
            name,
            gamma.unwrap_or(1.0),
            coef0.unwrap_or(0.0),
            degree.unwrap_or(1),
        )
        .map_err(|e| Error::Format(e.to_string()))?;
        let full = Self::from(kernel);
        let same = (full.gamma.is_some(), full.coef0.is_some(), full.degree.is_some())
            == (gamma.is_some(), coef0.is_some(), degree.is_some());
        if same { Ok(kernel) } else { Err(Error::Format(format!("parameters of kernel {name}"))) }
    }
}

impl Meta {
    pub(super) fn new(
        kernel: AnyKernel,
        machines: Vec<Machine>,
        labels: Stored,
        estimator: Value,
    ) -> Self {
        Self {
            format: FORMAT.to_owned(),
            format_version: VERSION,
            library_version: env!("CARGO_PKG_VERSION").to_owned(),
            kernel: kernel.into(),
            machines,
            labels,
            estimator,
        }
    }

    pub(super) fn from_json(json: Value) -> Result<Self> {
        let bad = |reason: String| Err(Error::Format(reason));
        match (json.get("format"), json.get("format_version")) {
            (Some(Value::String(format)), Some(version)) if format == FORMAT => {
                if version.as_u64() != Some(u64::from(VERSION)) {
                    return bad(format!(
                        "format version {version}; this library reads version {VERSION}"
                    ));
                }
            }
            _ => return bad("no format name or version".into()),
        }
        let meta: Self =
            serde_json::from_value(json).map_err(|e| Error::Format(format!("metadata: {e}")))?;
        if meta.machines.is_empty() {
            return bad("no machine".into());
        }
        if !meta.estimator.is_object() {
            return bad("estimator is not an object".into());
        }
        Ok(meta)
    }

    /// The kernel, its parameters in range and none missing or superfluous.
    pub(super) fn kernel(&self) -> Result<AnyKernel> {
        self.kernel.checked()
    }
}
