//! Ranges that many hyperparameters have.

use crate::error::{Error, Result};

/// `> 0` and finite.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<()> {
    let fits = value > 0.0 && value.is_finite();
    if fits { Ok(()) } else { Err(Error::param(name, "> 0 and finite", value)) }
}

/// `>= 0` and finite.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<()> {
    let fits = value >= 0.0 && value.is_finite();
    if fits { Ok(()) } else { Err(Error::param(name, ">= 0 and finite", value)) }
}

/// In [0, 1).
pub(crate) fn share(name: &'static str, value: f64) -> Result<()> {
    let fits = (0.0..1.0).contains(&value);
    if fits { Ok(()) } else { Err(Error::param(name, "in [0, 1)", value)) }
}

/// In (0, 1].
pub(crate) fn at_most_one(name: &'static str, value: f64) -> Result<()> {
    let fits = value > 0.0 && value <= 1.0;
    if fits { Ok(()) } else { Err(Error::param(name, "> 0 and <= 1", value)) }
}

/// `>= 1`.
pub(crate) fn count(name: &'static str, value: usize) -> Result<()> {
    at_least(1, name, value)
}

/// A count from `least` on.
pub(crate) fn at_least(least: usize, name: &'static str, value: usize) -> Result<()> {
    if value >= least { Ok(()) } else { Err(Error::param(name, format!(">= {least}"), value)) }
}

/// What `range` says of the value, if there is one.
pub(crate) fn optional<T>(
    range: impl Fn(&'static str, T) -> Result<()>,
    name: &'static str,
    value: Option<T>,
) -> Result<()> {
    let or_none = |error| match error {
        Error::InvalidParam { name, expected, got } => {
            Error::InvalidParam { name, expected: format!("{expected}, or none"), got }
        }
        other => other,
    };
    value.map_or(Ok(()), |value| range(name, value).map_err(or_none))
}

/// The bytes that a `cache_size` stands for: 10^6 of them each.
pub(crate) fn megabytes(cache_size: f64) -> usize {
    (cache_size * 1e6) as usize
}
