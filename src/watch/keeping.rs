//! How work leaves how far it is, and finds it again.

use super::keep::{Keeper, Kept, Reader, Words};
use super::{Halt, Step, Watch};
use crate::error::{Error, Result};

impl Watch<'_> {
    /// The watch of work that leaves how far it is, and goes on from what was left.
    pub fn keeping<'b>(&'b mut self, keeper: &'b dyn Keeper) -> Watch<'b> {
        Watch {
            observer: &mut *self.observer,
            pool: self.pool,
            tick: self.tick,
            steps_before: self.steps_before,
            started: self.started,
            origin: self.origin,
            begun: self.begun,
            rounds: self.rounds,
            deadline: self.deadline,
            outer: self.outer,
            asked: self.asked,
            unbroken: self.unbroken,
            before: self.before,
            stopped: self.stopped,
            history: Vec::new(),
            search: self.search.clone(),
            kept: Some(Kept { keeper, prefix: String::new() }),
        }
    }

    /// What was left under this name.
    #[must_use]
    pub fn found(&self, name: &str) -> Option<Reader> {
        let Kept { keeper, prefix } = self.kept.as_ref()?;
        keeper.found(&format!("{prefix}{name}")).map(Reader::new)
    }

    /// Whether anything is kept at all.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Whether it is time to keep how far the work is.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.kept.as_ref().is_some_and(|kept| kept.keeper.is_due())
    }

    /// Keeps what `put` puts; written `now`, or with what is next.
    ///
    /// # Errors
    /// Those of writing.
    pub fn keep(&self, name: &str, now: bool, put: impl FnOnce(&mut Words)) -> Result<()> {
        let Some(Kept { keeper, prefix }) = &self.kept else { return Ok(()) };
        let mut words = Words::default();
        put(&mut words);
        keeper.keep(&format!("{prefix}{name}"), words.into_inner(), now)
    }

    /// Work of which nothing is kept.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn unkept<T, E>(
        &mut self,
        work: impl FnOnce(&mut Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let before = self.kept.take();
        let done = work(self);
        self.kept = before;
        done
    }

    /// Keeps it where it is time, or where the work is about to be broken off, as `said` says.
    ///
    /// # Errors
    /// Those of writing.
    pub fn keep_if_due(&self, name: &str, said: &Step, put: impl FnOnce(&mut Words)) -> Result<()> {
        let broken = matches!(said, Err(Halt::Fail(Error::Interrupted)));
        if self.keeps() && (broken || self.is_due()) { self.keep(name, true, put) } else { Ok(()) }
    }
}
