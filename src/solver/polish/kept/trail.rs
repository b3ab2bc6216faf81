//! What a checkpoint has of one output on its way, between two looks at all samples: the outputs before
//! it, the stage, and the place there.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::direction::Like;
use super::newton::Last;
use crate::error::Result;
use crate::linalg::Single;
use crate::solver::smoothed::Polished;
use crate::watch::{Reader, Watch, Words};

/// The name in a checkpoint.
const NAME: &str = "polish";

/// Which samples the steps are on: all, those near the margin, or a part; a part of it is the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leg(u64);

impl Leg {
    pub(super) const ALL: Self = Self(0);
    pub(super) const NEAR: Self = Self(1);

    /// That of a part of its samples.
    pub(super) fn part(self) -> Self {
        Self(self.0.max(Self::NEAR.0) + 1)
    }
}

/// One output where it stands.
pub(super) struct Place {
    /// Coefficients, and the offset where there is one.
    pub(super) point: Vec<f64>,
    /// Margins of all samples.
    pub(super) f: Vec<f64>,
    /// The objective, ridge included.
    pub(super) value: f64,
    pub(super) steps: usize,
}

/// What is known of the outputs before one: its index, the objectives' sums, and whether all were met.
pub(super) type Before = (usize, [f64; 2], bool);

/// The outputs that are done, and where the one that is not stands.
pub(super) struct Trail {
    /// What the words of every leg begin with.
    head: Words,
    found: Mutex<Option<(Leg, Reader)>>,
}

/// What was left: the outputs that were done are in `result` again.
pub(super) fn found(result: &mut Polished, watch: &Watch<'_>) -> Result<Option<(Before, Reader)>> {
    let Some(mut reader) = watch.found(NAME) else { return Ok(None) };
    let index = reader.take_count(result.intercept.len())?;
    reader.take_into(&mut result.coef)?;
    reader.take_into(&mut result.intercept)?;
    let mut sum = [0.0; 2];
    reader.take_into(&mut sum)?;
    let met = reader.take()? == 1;
    result.steps = reader.take_clock()? as usize;
    Ok(Some(((index, sum, met), reader)))
}

impl Trail {
    /// Of the output that comes after these; it may stand somewhere.
    pub(super) fn new(
        (index, sum, met): Before,
        result: &Polished,
        found: Option<Reader>,
        watch: &Watch<'_>,
    ) -> Result<Self> {
        let mut head = Words::default();
        if watch.keeps() {
            head.put(index as u64);
            head.put_floats(&result.coef);
            head.put_floats(&result.intercept);
            head.put_floats(&sum);
            head.put(u64::from(met));
            head.put(result.steps as u64);
        }
        let leg = |mut reader: Reader| Ok((Leg(reader.take()?), reader));
        Ok(Self { head, found: Mutex::new(found.map(leg).transpose()?) })
    }

    fn found(&self) -> MutexGuard<'_, Option<(Leg, Reader)>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the output stands on this leg.
    pub(super) fn is_at(&self, leg: Leg) -> bool {
        self.found().as_ref().is_some_and(|(at, _)| *at == leg)
    }

    /// The place of all samples that those near the margin were found at.
    pub(super) fn outer(&self, place: &mut Place) -> Result<()> {
        match &mut *self.found() {
            Some((_, reader)) => place.read(reader),
            None => Ok(()),
        }
    }

    /// The place on this leg and the looks so far, where the output stands there.
    pub(super) fn resume(&self, leg: Leg, place: &mut Place, last: &mut Last) -> Result<usize> {
        if !self.is_at(leg) {
            return Ok(0);
        }
        let Some((_, mut reader)) = self.found().take() else { return Ok(0) };
        place.read(&mut reader)?;
        let bits = reader.take()?;
        (last.cautious, last.serves) = (bits & 1 == 1, bits & 2 == 2);
        last.promise = reader.take_float()?;
        last.like = match reader.take()? {
            0 => None,
            _ => Some(Like::Rounded(Single::read(place.point.len(), &mut reader)?)),
        };
        last.seen.read(place.point.len(), &mut reader)?;
        reader.take_clock().map(|round| round as usize)
    }

    /// Keeps where it stands, if it is time.
    pub(super) fn keep(
        &self,
        (leg, outer): (Leg, Option<&Place>),
        (place, last, round): (&Place, &Last, usize),
        watch: &Watch<'_>,
    ) -> Result<()> {
        watch.keep_if_due(NAME, &Ok(()), |words| {
            *words = self.head.clone();
            words.put(leg.0);
            outer.iter().for_each(|outer| outer.put(words));
            place.put(words);
            words.put(u64::from(last.cautious) | u64::from(last.serves) << 1);
            words.put_float(last.promise);
            let like = match &last.like {
                Some(Like::Rounded(factor)) => Some(factor),
                // Of a fold, which nothing is kept of.
                Some(Like::Whole(_)) | None => None,
            };
            words.put(u64::from(like.is_some()));
            like.iter().for_each(|like| like.put(words));
            last.seen.put(words);
            words.put(round as u64);
        })
    }
}

impl Place {
    fn put(&self, words: &mut Words) {
        words.put_floats(&self.point);
        words.put_floats(&self.f);
        words.put_float(self.value);
        words.put(self.steps as u64);
    }

    fn read(&mut self, reader: &mut Reader) -> Result<()> {
        reader.take_into(&mut self.point)?;
        reader.take_into(&mut self.f)?;
        self.value = reader.take_float()?;
        self.steps = reader.take_clock()? as usize;
        Ok(())
    }
}
