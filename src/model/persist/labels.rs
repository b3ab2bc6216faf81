//! Class labels as files hold them.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::config::exactly;
use crate::error::{Error, Result};

/// The labels of a classifier, in the order of its outputs.
#[derive(Clone, Debug, PartialEq)]
pub enum Labels {
    /// A regression machine has none.
    None,
    /// Signed integers.
    Int(Vec<i64>),
    /// Unsigned integers.
    Uint(Vec<u64>),
    /// Finite numbers.
    Float(Vec<f64>),
    /// Booleans.
    Bool(Vec<bool>),
    /// Strings.
    Text(Vec<String>),
}

impl Labels {
    /// Number of labels.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Int(v) => v.len(),
            Self::Uint(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Bool(v) => v.len(),
            Self::Text(v) => v.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the labels rise strictly, as a fitted classifier's do.
    #[must_use]
    pub fn is_sorted(&self) -> bool {
        fn rising<T: PartialOrd>(v: &[T]) -> bool {
            v.windows(2).all(|pair| pair[0] < pair[1])
        }
        match self {
            Self::None => true,
            Self::Int(v) => rising(v),
            Self::Uint(v) => rising(v),
            Self::Float(v) => v.iter().all(|x| x.is_finite()) && rising(v),
            Self::Bool(v) => rising(v),
            Self::Text(v) => rising(v),
        }
    }
}

impl Labels {
    /// As the description of an estimator has them: NumPy's name of their type, and the labels.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::None => Value::Null,
            Self::Int(v) => json!(["int64", v]),
            Self::Uint(v) => json!(["uint64", v]),
            Self::Float(v) => json!(["float64", v]),
            Self::Bool(v) => json!(["bool", v]),
            Self::Text(v) => json!(["str", v]),
        }
    }

    /// The labels of a description.
    ///
    /// # Errors
    /// `Format` unless they rise strictly and are of one known type.
    pub(crate) fn from_json(json: &Value) -> Result<Self> {
        let bad = || Error::Format("class labels".into());
        if json.is_null() {
            return Ok(Self::None);
        }
        let (kind, labels): (String, Value) = exactly("class labels", json)?;
        fn list<T: DeserializeOwned>(labels: Value) -> Result<Vec<T>> {
            serde_json::from_value(labels).map_err(|_| Error::Format("class labels".into()))
        }
        let labels = match kind.as_str() {
            "bool" => Self::Bool(list(labels)?),
            "str" | "object" => Self::Text(list(labels)?),
            "int8" | "int16" | "int32" | "int64" => Self::Int(list(labels)?),
            "uint8" | "uint16" | "uint32" | "uint64" => Self::Uint(list(labels)?),
            "float16" | "float32" | "float64" => Self::Float(list(labels)?),
            _ => return Err(bad()),
        };
        let known = match (&labels, kind.as_str()) {
            (Self::Int(v), "int8") => v.iter().all(|&v| i8::try_from(v).is_ok()),
            (Self::Int(v), "int16") => v.iter().all(|&v| i16::try_from(v).is_ok()),
            (Self::Int(v), "int32") => v.iter().all(|&v| i32::try_from(v).is_ok()),
            (Self::Uint(v), "uint8") => v.iter().all(|&v| u8::try_from(v).is_ok()),
            (Self::Uint(v), "uint16") => v.iter().all(|&v| u16::try_from(v).is_ok()),
            (Self::Uint(v), "uint32") => v.iter().all(|&v| u32::try_from(v).is_ok()),
            (Self::Float(v), "float16" | "float32") => v.iter().all(|&v| f64::from(v as f32) == v),
            _ => true,
        };
        if labels.is_sorted() && known { Ok(labels) } else { Err(bad()) }
    }
}

/// A type of label that a Rust classifier can be trained on, and saved with.
///
/// Implemented for the integers, `bool` and `String`.
pub trait Label: Ord + Clone + Send + Sync {
    /// The labels as a file holds them.
    fn to_labels(labels: &[Self]) -> Labels;

    /// The labels of a file, or `None` when they are of another kind.
    fn from_labels(labels: &Labels) -> Option<Vec<Self>>;
}

macro_rules! number_label {
    ($variant:ident, $wide:ty: $($narrow:ty),*) => {$(
        impl Label for $narrow {
            fn to_labels(labels: &[Self]) -> Labels {
                Labels::$variant(labels.iter().map(|&v| v as $wide).collect())
            }

            fn from_labels(labels: &Labels) -> Option<Vec<Self>> {
                match labels {
                    Labels::Int(v) => v.iter().map(|&v| Self::try_from(v).ok()).collect(),
                    Labels::Uint(v) => v.iter().map(|&v| Self::try_from(v).ok()).collect(),
                    _ => None,
                }
            }
        }
    )*};
}
number_label!(Int, i64: i8, i16, i32, i64, isize);
number_label!(Uint, u64: u8, u16, u32, u64, usize);

macro_rules! label {
    ($variant:ident: $kind:ty) => {
        impl Label for $kind {
            fn to_labels(labels: &[Self]) -> Labels {
                Labels::$variant(labels.to_vec())
            }

            fn from_labels(labels: &Labels) -> Option<Vec<Self>> {
                match labels {
                    Labels::$variant(v) => Some(v.clone()),
                    _ => None,
                }
            }
        }
    };
}
label!(Bool: bool);
label!(Text: String);
