//! What a checkpoint has of passes: between two blocks, or at their end.
//!
//! The next block is being filled against the model as it was before the last one, so that both
//! models belong to where a pass stands, and the slots in which they differ, in their order. Random
//! numbers are those before the order of the pass was drawn: it is drawn anew.

use std::time::Duration;

use super::block::{Snapshot, Touched, up_to_date};
use super::budgeted::State;
use super::run::{Looks, PassRecord, Run};
use super::sweep::{Begun, Counts, Duals, Place};
use crate::error::{Result, try_vec};
use crate::float::Real;
use crate::rng::Rng;
use crate::simd::Packed;
use crate::watch::{Reader, StopReason, Words};

/// What stands for "none".
const NONE: u64 = u64::MAX;
/// Why passes may end.
const ENDS: [StopReason; 4] =
    [StopReason::MaxIter, StopReason::Converged, StopReason::EarlyStopping, StopReason::MaxTime];

impl Run {
    /// Within a pass whose order is drawn from `rng`.
    pub(super) fn put<F: Real>(
        &self,
        rng: &Rng,
        place: &Place<'_, F>,
        looks: &dyn Looks<F>,
        words: &mut Words,
    ) {
        let snapshot = up_to_date(place.snapshot);
        words.put(NONE);
        self.put_model(place.state, looks, words);
        rng.place().iter().for_each(|&word| words.put(word));
        place.duals.put(words);
        place.counts.put(words);
        words.put_all(place.touched.slots.iter().map(|&slot| slot as u64));
        snapshot.put(words);
    }

    /// At the end.
    pub(super) fn put_end<F: Real>(
        &self,
        state: &State<F>,
        looks: &dyn Looks<F>,
        words: &mut Words,
    ) {
        let ended = ENDS.iter().position(|end| Some(*end) == self.ended);
        words.put(ended.unwrap_or_default() as u64);
        self.put_model(state, looks, words);
    }

    fn put_model<F: Real>(&self, state: &State<F>, looks: &dyn Looks<F>, words: &mut Words) {
        words.put(self.iteration as u64);
        words.put(self.before.as_nanos() as u64);
        words.put(self.history.len() as u64);
        self.history.iter().for_each(|record| record.put(words));
        state.put(words);
        looks.put(words);
    }

    /// Makes everything what it was; none at the end.
    pub(super) fn read<F: Real>(
        &mut self,
        (state, duals): (&mut State<F>, &mut Duals),
        looks: &mut dyn Looks<F>,
        reader: &mut Reader,
    ) -> Result<Option<Begun<F>>> {
        self.ended = match reader.take()? {
            NONE => None,
            end => Some(*ENDS.get(end as usize).ok_or_else(Reader::bad)?),
        };
        self.iteration = reader.take_clock()? as usize;
        self.before = Duration::from_nanos(reader.take()?);
        for _ in 0..reader.take()? {
            self.history.push(PassRecord::read(reader)?);
        }
        if self.history.len() != self.iteration {
            return Err(Reader::bad());
        }
        state.read(reader)?;
        looks.read(reader)?;
        if self.ended.is_some() {
            return Ok(None);
        }
        state.rng = Rng::at([reader.take()?, reader.take()?, reader.take()?, reader.take()?]);
        duals.read(state.n_terms(), reader)?;
        let counts = Counts::read(reader)?;
        if counts.steps % state.block_len != 0 && counts.steps < duals.behind_slot_of.len() {
            return Err(Reader::bad());
        }
        let mut touched = Touched::default();
        for &slot in reader.take_all()? {
            // New terms may have gone since.
            let slot = usize::try_from(slot).ok().filter(|slot| *slot < state.expansion.stride());
            touched.add(slot.ok_or_else(Reader::bad)?);
        }
        let mut snapshot = Snapshot::new(&state.expansion)?;
        snapshot.read(reader)?;
        Ok(Some(Begun { counts, touched, snapshot }))
    }
}

impl PassRecord {
    fn put(&self, words: &mut Words) {
        words.put(self.time.as_nanos() as u64);
        words.put(self.n_terms as u64);
        words.put_floats(&[self.moved, self.maintained, self.degradation]);
        // One that is not known is NaN, which none is.
        words.put_float(self.primal.unwrap_or(f64::NAN));
        words.put_float(self.dual.unwrap_or(f64::NAN));
    }

    fn read(reader: &mut Reader) -> Result<Self> {
        let known = |value: f64| Some(value).filter(|value| !value.is_nan());
        let (time, n_terms) = (Duration::from_nanos(reader.take()?), reader.take()? as usize);
        let mut shares = [0.0; 3];
        reader.take_into(&mut shares)?;
        let [moved, maintained, degradation] = shares;
        let (primal, dual) = (known(reader.take_float()?), known(reader.take_float()?));
        Ok(Self { time, n_terms, moved, maintained, degradation, primal, dual })
    }
}

impl<F: Real> State<F> {
    /// All but the random numbers.
    pub fn put(&self, words: &mut Words) {
        self.expansion.put(words);
        words.put_floats(&self.intercept);
        self.maintainer.put(words);
        words.put(self.steps);
        words.put(self.seen);
    }

    /// What [`State::put`] put, in one that is new.
    ///
    /// # Errors
    /// `Format`, `OutOfMemory`.
    pub fn read(&mut self, reader: &mut Reader) -> Result<()> {
        self.expansion.read(reader)?;
        reader.take_into(&mut self.intercept)?;
        self.maintainer.read(reader)?;
        (self.steps, self.seen) = (reader.take_clock()?, reader.take_clock()?);
        Ok(())
    }
}

impl Duals {
    /// Most are 0 while few samples have been seen.
    fn put(&self, words: &mut Words) {
        let known = || self.alpha.iter().enumerate().filter(|(_, a)| a.to_bits() != 0);
        let places: Vec<u64> = known().map(|(at, _)| at as u64).collect();
        words.put_all(places.into_iter());
        let values: Vec<f64> = known().map(|(_, &a)| a).collect();
        words.put_floats(&values);
        words.put_all(self.sample_of.iter().map(|&sample| u64::from(sample)));
        let own = |(slot, &sample): (usize, &u32)| {
            u64::from(
                (sample as usize) < self.behind_slot_of.len()
                    && self.slot(sample as usize) == Some(slot),
            )
        };
        words.put_all(self.sample_of.iter().enumerate().map(own));
    }

    fn read(&mut self, terms: usize, reader: &mut Reader) -> Result<()> {
        let places = reader.take_all()?.to_vec();
        let values = reader.take_floats()?;
        if places.len() != values.len() {
            return Err(Reader::bad());
        }
        for (at, value) in places.into_iter().zip(values) {
            *self.alpha.get_mut(at as usize).ok_or_else(Reader::bad)? = value;
        }
        let samples = reader.take_all()?.to_vec();
        let own = reader.take_all()?;
        if samples.len() != own.len() {
            return Err(Reader::bad());
        }
        for (slot, (&sample, &own)) in samples.iter().zip(own).enumerate() {
            let sample = u32::try_from(sample).map_err(|_| Reader::bad())?;
            if sample != u32::MAX && sample as usize >= self.behind_slot_of.len() {
                return Err(Reader::bad());
            }
            self.sample_of.push(sample);
            if own == 1 {
                let place = self.behind_slot_of.get_mut(sample as usize).filter(|_| slot < terms);
                *place.ok_or_else(Reader::bad)? = slot as u32 + 1;
            }
        }
        Ok(())
    }
}

impl Counts {
    fn put(&self, words: &mut Words) {
        [self.steps, self.moved, self.maintained].iter().for_each(|&count| words.put(count as u64));
        words.put_floats(&[self.degradation, self.largest]);
    }

    fn read(reader: &mut Reader) -> Result<Self> {
        let mut count = || reader.take_clock().map(|count| count as usize);
        let (steps, moved, maintained) = (count()?, count()?, count()?);
        let mut sums = [0.0; 2];
        reader.take_into(&mut sums)?;
        let [degradation, largest] = sums;
        Ok(Self { steps, moved, maintained, degradation, largest })
    }
}

impl<F: Real> Snapshot<F> {
    fn put(&self, words: &mut Words) {
        let len = self.centers.len();
        words.put(len as u64);
        self.centers.put(words);
        (0..self.outputs).for_each(|c| words.put_floats(&self.coef[c * self.stride..][..len]));
    }

    /// In one of the model as it is now.
    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        let len = reader.take_count(self.stride.saturating_mul(2) + 64)?;
        self.centers.clear();
        self.centers.read(len, reader)?;
        self.stride = self.stride.max(len.next_multiple_of(Packed::<F>::line()));
        self.coef = try_vec("coefficients", self.stride.saturating_mul(self.outputs), 0.0)?;
        for c in 0..self.outputs {
            reader.take_into(&mut self.coef[c * self.stride..][..len])?;
        }
        Ok(())
    }
}
