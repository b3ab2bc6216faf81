//! What work that may be killed leaves of itself, and goes on from.

use crate::error::{Error, Result};

/// Where work leaves how far it is, part by part; a part has a name, and words that its reader knows.
pub trait Keeper: Sync + std::fmt::Debug {
    /// What was left under this name by work that was killed.
    fn found(&self, name: &str) -> Option<Vec<u64>>;

    /// Whether it is time to write.
    fn is_due(&self) -> bool;

    /// Holds this in place of what the name had; if `now`, all that is held is written, whole or not
    /// at all.
    ///
    /// # Errors
    /// Those of writing.
    fn keep(&self, name: &str, words: Vec<u64>, now: bool) -> Result<()>;
}

/// Numbers in the order in which they are read again, to the bit.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<u64>);

impl Words {
    /// A number.
    pub fn put(&mut self, word: u64) {
        self.0.push(word);
    }

    /// A float.
    pub fn put_float(&mut self, value: f64) {
        self.0.push(value.to_bits());
    }

    /// So many numbers.
    pub fn put_all(&mut self, words: impl ExactSizeIterator<Item = u64>) {
        self.0.reserve(words.len() + 1);
        self.0.push(words.len() as u64);
        self.0.extend(words);
    }

    /// So many floats.
    pub fn put_floats(&mut self, values: &[f64]) {
        self.put_all(values.iter().map(|value| value.to_bits()));
    }

    /// Them all.
    #[must_use]
    pub fn into_inner(self) -> Vec<u64> {
        self.0
    }
}

/// What no clock of a training comes to.
const MOST: u64 = 1 << 60;

/// Reads what [`Words`] has; anything else than what was put is an error.
#[derive(Clone, Debug)]
pub struct Reader {
    words: Vec<u64>,
    at: usize,
}

impl Reader {
    /// From the first word on.
    #[must_use]
    pub fn new(words: Vec<u64>) -> Self {
        Self { words, at: 0 }
    }

    /// The error of words that are not what was put.
    #[must_use]
    pub fn bad() -> Error {
        Error::Format("a checkpoint that does not fit".into())
    }

    /// A number.
    ///
    /// # Errors
    /// `Format` where there is none.
    pub fn take(&mut self) -> Result<u64> {
        self.at += 1;
        self.words.get(self.at - 1).copied().ok_or_else(Self::bad)
    }

    /// A number that counts something, at most `most`.
    ///
    /// # Errors
    /// As there, and for a larger one.
    pub fn take_count(&mut self, most: usize) -> Result<usize> {
        let count = usize::try_from(self.take()?).map_err(|_| Self::bad())?;
        if count > most { Err(Self::bad()) } else { Ok(count) }
    }

    /// A number that goes up by one now and then: there are as many again to come.
    ///
    /// # Errors
    /// As there, and for one that no work ever comes to.
    pub fn take_clock(&mut self) -> Result<u64> {
        self.take().and_then(|clock| if clock > MOST { Err(Self::bad()) } else { Ok(clock) })
    }

    /// A float.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn take_float(&mut self) -> Result<f64> {
        self.take().map(f64::from_bits)
    }

    /// So many numbers.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn take_all(&mut self) -> Result<&[u64]> {
        let count = self.take_count(self.words.len())?;
        let found = self.words.get(self.at..self.at + count).ok_or_else(Self::bad)?;
        self.at += count;
        Ok(found)
    }

    /// So many floats.
    ///
    /// # Errors
    /// As [`Reader::take`].
    pub fn take_floats(&mut self) -> Result<Vec<f64>> {
        Ok(self.take_all()?.iter().map(|&word| f64::from_bits(word)).collect())
    }

    /// Floats in the place of these.
    ///
    /// # Errors
    /// As [`Reader::take`], and for another number of them.
    pub fn take_into(&mut self, values: &mut [f64]) -> Result<()> {
        let found = self.take_all()?;
        if found.len() != values.len() {
            return Err(Self::bad());
        }
        values.iter_mut().zip(found).for_each(|(value, &word)| *value = f64::from_bits(word));
        Ok(())
    }
}

/// A keeper, and what the names of the work's parts begin with.
#[derive(Clone, Debug)]
pub(super) struct Kept<'a> {
    pub(super) keeper: &'a dyn Keeper,
    pub(super) prefix: String,
}
