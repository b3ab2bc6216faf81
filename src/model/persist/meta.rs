//! The JSON of a model file: unknown keys are refused.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::labels::Stored;
use crate::config::exactly;
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
    kernel: Value,
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

/// A kernel as files hold it.
#[must_use]
pub fn kernel_to_json(kernel: AnyKernel) -> Value {
    // A struct of plain numbers always becomes JSON.
    serde_json::to_value(kernel).unwrap_or(Value::Null)
}

/// The kernel of a file, its parameters in range and none missing or superfluous.
///
/// # Errors
/// `Format`.
pub fn kernel_from_json(json: &Value) -> Result<AnyKernel> {
    let kernel: AnyKernel = exactly("kernel", json)?;
    kernel.check().map_err(|e| Error::Format(e.to_string()))?;
    Ok(kernel)
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
            kernel: kernel_to_json(kernel),
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
        kernel_from_json(&self.kernel)
    }
}
