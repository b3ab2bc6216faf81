//! What a checkpoint has of an expansion under training.

use super::Expansion;
use crate::error::Result;
use crate::float::Real;
use crate::watch::{Reader, Words};

impl<F: Real> Expansion<F> {
    /// All but what is known from the hyperparameters and the rows.
    pub fn put(&self, words: &mut Words) {
        words.put(self.clock);
        words.put_all(self.stamp.iter().copied());
        words.put(self.stride as u64);
        self.centers.put(words);
        (0..self.outputs).for_each(|c| words.put_floats(self.coef_of(c)));
    }

    /// What [`Expansion::put`] put, in an expansion that is empty.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn read(&mut self, reader: &mut Reader) -> Result<()> {
        self.clock = reader.take_clock()?;
        self.stamp = reader.take_all()?.to_vec();
        let len = self.stamp.len();
        self.reserve(reader.take_count(4 * (len + 4096))?.max(len))?;
        self.centers.read(len, reader)?;
        if self.centers.len() != len {
            return Err(Reader::bad());
        }
        if self.row_len() > 0 {
            self.rows.extend(self.centers.rows()?);
        }
        for c in 0..self.outputs {
            reader.take_into(&mut self.coef[c * self.stride..][..len])?;
        }
        self.lightest.forget();
        Ok(())
    }
}
