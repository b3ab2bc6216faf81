//! Lists of texts, counted without a copy of any of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, SeqAccess, Visitor};

/// The number of texts in a JSON list that holds nothing else.
pub(super) fn count(json: &[u8]) -> serde_json::Result<u64> {
    serde_json::from_slice::<Texts>(json).map(|texts| texts.0)
}

struct Texts(u64);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Texts;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of texts")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut count = 0;
                while seq.next_element::<Text>()?.is_some() {
                    count += 1;
                }
                Ok(Texts(count))
            }
        }
        from.deserialize_seq(List)
    }
}

struct Text;

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Any;
        impl Visitor<'_> for Any {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E: Error>(self, _: &str) -> Result<Text, E> {
                Ok(Text)
            }
        }
        from.deserialize_str(Any)
    }
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn lists_of_texts_alone_are_counted() {
        assert_eq!(count(br#" ["a", "\u00fc", ""]"#).unwrap(), 3);
        assert_eq!(count(b"[]").unwrap(), 0);
        for other in ["", "{}", "[1]", "[{}]", "[[]]", r#"["a"] 1"#, "null", r#"["a",]"#] {
            assert!(count(other.as_bytes()).is_err(), "{other}");
        }
        assert!(count(b"[\"\xff\"]").is_err());
    }
}
