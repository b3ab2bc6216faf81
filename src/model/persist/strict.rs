//! JSON in which no object may hold the same key twice.
//!
//! `serde_json` keeps the last of two equal keys, other readers the first: a file could then mean
//! two things. What JSON takes in memory is bounded: text of a megabyte can be a hundred of them.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Error, Result};

/// Bytes that the values of one text may take, about.
const MEMORY: usize = 24 << 20;
/// What a value takes in a list that grows.
const VALUE: usize = 2 * size_of::<Value>();
/// What a name and its value take at least.
const ENTRY: usize = VALUE + size_of::<String>();
/// What the first names of an object take: a node of its tree has room for eleven.
const OBJECT: usize = 11 * (size_of::<Value>() + size_of::<String>());

/// Parses `text`, refusing duplicate keys and anything after the value.
///
/// # Errors
/// `Format`.
pub(super) fn parse(what: &str, text: &str) -> Result<Value> {
    let bad = |e: serde_json::Error| Error::Format(format!("{what}: {e}"));
    let room = Cell::new(MEMORY);
    let mut from = serde_json::Deserializer::from_str(text);
    let value = Strict(&room).deserialize(&mut from).map_err(bad)?;
    from.end().map_err(bad)?;
    Ok(value)
}

/// What is left of the memory.
#[derive(Clone, Copy)]
struct Strict<'m>(&'m Cell<usize>);

impl Strict<'_> {
    fn takes<E: serde::de::Error>(self, bytes: usize) -> std::result::Result<(), E> {
        let left = self.0.get().checked_sub(bytes);
        self.0.set(left.ok_or_else(|| E::custom("too many values"))?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> std::result::Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without duplicate keys")
    }

    fn visit_bool<E>(self, v: bool) -> std::result::Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_i64<E>(self, v: i64) -> std::result::Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_u64<E>(self, v: u64) -> std::result::Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, v: f64) -> std::result::Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, v: &str) -> std::result::Result<Value, E> {
        self.takes(v.len())?;
        Ok(Value::String(v.to_owned()))
    }

    fn visit_unit<E>(self) -> std::result::Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> std::result::Result<Value, A::Error> {
        self.takes(VALUE)?;
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(self)? {
            self.takes(VALUE)?;
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Value, A::Error> {
        self.takes(OBJECT)?;
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.takes(ENTRY + key.len())?;
            let value = map.next_value_seed(self)?;
            if object.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate key {key:?}")));
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}
