//! Answers where rows that wait are of another kind than those before.
//!
//! The basis moves when a block is whole. Where rows that wait surprise, that is too late for who asks
//! before: what they are like no point may be near. So the first of them are learnt as a block for
//! answers alone, and what comes after them is solved for on the basis that this leaves. Which ones
//! depends on their number alone, so that rows one by one are answered with one such block for many
//! rows, which is kept until there are more.

use std::sync::Arc;

use super::Recursive;
use super::block::How;
use super::learnt::Learnt;
use crate::float::Real;
use crate::watch::{Step, Watch};

/// The rows that are learnt ahead are so many parts of a block.
const PARTS: usize = 8;

impl<F: Real> Recursive<F> {
    /// Rows that wait and may be learnt ahead.
    fn before_answers(&self) -> usize {
        let step = (self.block_len() / PARTS).max(1);
        self.waiting.len() / step * step
    }

    /// Forgets what was learnt ahead of other rows than those that wait now.
    pub(super) fn keep_ahead(&mut self) {
        let rows = self.before_answers();
        self.ahead.forget_others(rows);
    }

    /// The parts with the first rows that wait as a block, and how many these are; the parts as they
    /// are and none where those do not surprise.
    pub(super) fn ahead(&self, watch: &mut Watch<'_>) -> Step<(Arc<Vec<Learnt<F>>>, usize)> {
        let as_they_are = (Arc::clone(&self.parts), 0);
        let rows = self.before_answers();
        // Where labels come one after another, groups tell when points are to move.
        let told = self.parts.iter().any(|part| part.moments.is_some());
        if rows == 0 || self.parts.is_empty() || told || self.nu.is_some() {
            return Ok(as_they_are);
        }
        let parts = match self.ahead.of(rows) {
            Some(made) => made,
            None => self.ahead.keep(rows, self.learnt_ahead(rows, watch)?.map(Arc::new)),
        };
        Ok(parts.map_or(as_they_are, |parts| (parts, rows)))
    }

    /// The parts with the first `rows` of those that wait as a block, where these surprise.
    fn learnt_ahead(&self, rows: usize, watch: &mut Watch<'_>) -> Step<Option<Vec<Learnt<F>>>> {
        let piece = self.waiting.gather()?.range(0, rows)?;
        let familiar = self.labels.shared([piece.targets.view()])?;
        if familiar.strange {
            return Ok(None);
        }
        let unit = self.unit_with(&piece)?;
        let config = &*self.config.in_unit(unit);
        let of_parts = (&self.parts[..], &piece);
        let found = self.each_part(of_parts, watch, &|part, problem, watch| {
            part.map_or(Ok(false), |part| part.is_surprised((config, familiar), problem, watch))
        })?;
        if !found.contains(&true) {
            return Ok(None);
        }
        let how = How { config, unit, nu: None, whole: true, familiar };
        let learnt = self.each_part(of_parts, watch, &|part, problem, watch| {
            Learnt::block(how, problem, part, watch)
        })?;
        Ok(Some(learnt))
    }
}
