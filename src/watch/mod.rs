//! How a running fit is watched, limited and stopped.
//!
//! Whoever works asks its [`Watch`] again and again whether to go on, by `watch.poll()?`: the watch
//! tells the observer where the work stands ([`Progress`]), looks at the clock, and answers with a
//! [`Halt`], which `?` carries up to the one who knows what to do with half a result: a wish to
//! stop with what there is ([`Halt::Stop`]), or an error, an interrupt among them ([`Halt::Fail`]).
//!
//! Work of which a half is of no use runs [`Watch::unbroken`]; machines that are trained side by
//! side have watches of their own, with one clock and one observer ([`Watch::side_by_side`]).

mod clock;
mod keep;
mod keeping;
mod observe;
mod search;
mod shared;
mod tally;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::parallel::{self, Pool};
pub(crate) use clock::Clock;
use keep::Kept;
use tally::SearchTally;

pub use keep::{Keeper, Reader, Words};
pub use observe::{Cancel, Observer, Phase, Progress, SearchProgress, Silent, StopReason};

/// Least time between two questions of [`Watch::glance`].
const PATIENCE: Duration = Duration::from_millis(20);

/// Why work ended before its end.
#[derive(Debug)]
pub enum Halt {
    /// As asked for, or by a limit: what is held is the result.
    Stop(StopReason),
    /// Nothing usable.
    Fail(Error),
}

impl Halt {
    /// Why to end with what is held.
    ///
    /// # Errors
    /// When nothing is usable.
    pub fn into_reason(self) -> Result<StopReason> {
        match self {
            Self::Stop(reason) => Ok(reason),
            Self::Fail(error) => Err(error),
        }
    }
}

/// What work that knows no watch asks now and then: an error ends it.
pub type Look<'a> = &'a mut dyn FnMut() -> Result<()>;

/// What every part of the work returns.
pub type Step<T = ()> = std::result::Result<T, Halt>;

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Fail(error)
    }
}

/// The one to ask whether work goes on: observer, clock and limits of a fit, and the pool that it
/// runs in.
pub struct Watch<'a> {
    observer: &'a mut dyn Observer,
    pool: Pool<'a>,
    /// Where the work stands, but for the time.
    pub tick: Progress,
    /// The steps of what went before it, which the observer sees counted on.
    pub steps_before: usize,
    started: Clock,
    /// When this fit began, which may be part of another one; all times count from the start.
    origin: Duration,
    /// When this machine of the fit began ...
    begun: Duration,
    /// ... and for how many like it, one after another, the rest of the time is.
    rounds: f64,
    deadline: Option<Duration>,
    /// The deadline of the fit that this one is a part of.
    outer: Option<Duration>,
    asked: Duration,
    /// Wishes to stop wait.
    unbroken: bool,
    /// The share of the time for what comes before the fit itself, while that runs.
    before: Option<f64>,
    /// Why what follows is to end at once.
    stopped: Option<StopReason>,
    /// Seconds and objective at each step whose objective was known.
    history: Vec<[f64; 2]>,
    /// The counts of the search that the work belongs to.
    search: Option<Arc<SearchTally>>,
    /// Where how far the work is is kept.
    kept: Option<Kept<'a>>,
}

impl<'a> Watch<'a> {
    /// A fit begins; no limit yet.
    pub fn new(observer: &'a mut dyn Observer, pool: Pool<'a>) -> Self {
        Self {
            observer,
            pool,
            tick: Progress::default(),
            steps_before: 0,
            started: Clock::start(),
            origin: Duration::ZERO,
            begun: Duration::ZERO,
            rounds: 1.0,
            deadline: None,
            outer: None,
            asked: Duration::ZERO,
            unbroken: false,
            before: None,
            stopped: None,
            history: Vec::new(),
            search: None,
            kept: None,
        }
    }

    /// Runs `task` with a watch inside the pool of `threads` threads.
    ///
    /// # Errors
    /// Those of the task; `OutOfMemory` when the system refuses the threads.
    pub fn run<T: Send>(
        threads: usize,
        observer: &mut dyn Observer,
        task: impl FnOnce(&mut Watch<'_>) -> Result<T> + Send,
    ) -> Result<T> {
        parallel::run(threads, |pool| task(&mut Watch::new(observer, pool)))?
    }

    /// Runs `task`, which shares no work among threads, with a watch on the calling thread.
    ///
    /// # Errors
    /// Those of the task; `OutOfMemory`.
    pub fn run_here<T>(
        observer: &mut dyn Observer,
        task: impl FnOnce(&mut Watch<'_>) -> Result<T>,
    ) -> Result<T> {
        parallel::ready()?;
        parallel::here(|pool| task(&mut Watch::new(observer, pool)))
    }

    /// For unit tests: nobody watches, in the pool that rayon makes by itself.
    #[cfg(test)]
    pub(crate) fn of_tests() -> Watch<'static> {
        Watch::new(Box::leak(Box::new(Silent)), Pool::of_tests())
    }

    /// The pool that the work runs in.
    #[must_use]
    pub fn pool(&self) -> Pool<'a> {
        self.pool
    }

    /// Sets the time limit to a share of what `seconds`, counted from the start of the fit, leave
    /// to this machine.
    pub fn limit(&mut self, seconds: Option<f64>, share: f64) {
        let begun = (self.begun.saturating_sub(self.origin)).as_secs_f64();
        self.deadline = seconds.map(|whole| {
            let seconds = begun + share * (whole - begun).max(0.0) / self.rounds;
            // A limit too long for a `Duration` is none that anybody reaches.
            let own = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            own.saturating_add(self.origin)
        });
    }

    /// Time since the fit began.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed().saturating_sub(self.origin)
    }

    /// Seconds and objective at each step so far whose objective was known.
    pub fn take_history(&mut self) -> Vec<[f64; 2]> {
        std::mem::take(&mut self.history)
    }

    /// Another part of the work begins.
    pub fn enter(&mut self, phase: Phase, tick: Progress) {
        self.tick = Progress { phase, ..tick };
    }

    /// A solver begins: no step yet, and no objective.
    pub fn begin(&mut self) {
        self.at(0, f64::NAN);
    }

    /// The work stands at this step, with this objective where that is a number.
    pub fn at(&mut self, step: usize, objective: f64) {
        self.tick.iteration = step;
        self.tick.objective = Some(objective).filter(|value| value.is_finite());
    }

    /// Tells the observer where the work stands; a wish to stop, a limit or an interrupt is the
    /// error.
    ///
    /// # Errors
    /// What is to be done instead.
    pub fn poll(&mut self) -> Step {
        let elapsed = self.started.elapsed();
        let mut told = Progress { elapsed, ..self.tick };
        if self.before.is_some() {
            (told.iteration, told.objective) = (0, None);
        }
        told.iteration += self.steps_before;
        if let Some(tally) = &self.search {
            let end = [self.deadline, self.outer].into_iter().flatten().min();
            let (steps, search) = tally.told(elapsed, end);
            (told.iteration, told.search) = (steps, Some(search));
        }
        self.asked = elapsed;
        if let Some(value) = told.objective
            && told.iteration >= self.history.len()
        {
            self.history.push([elapsed.saturating_sub(self.origin).as_secs_f64(), value]);
        }
        match self.ask(&told)? {
            // A limit stays where it is.
            Some(StopReason::MaxTime) if self.unbroken => Ok(()),
            // It is heard as soon as there is something to keep.
            Some(reason) if self.unbroken => {
                self.stopped = Some(reason);
                Ok(())
            }
            Some(reason) => {
                if self.before.is_some() {
                    self.stopped = Some(reason);
                }
                Err(Halt::Stop(reason))
            }
            None if self.before.is_some_and(|share| self.spent(share)) => {
                Err(Halt::Stop(StopReason::MaxTime))
            }
            None => Ok(()),
        }
    }

    /// Why to stop, if so.
    fn ask(&mut self, told: &Progress) -> Step<Option<StopReason>> {
        if self.stopped.is_some() && !self.unbroken {
            return Ok(self.stopped);
        }
        let answer = self.observer.observe(told);
        match answer {
            ControlFlow::Break(Cancel::Discard) => Err(Halt::Fail(Error::Interrupted)),
            ControlFlow::Break(Cancel::Keep) => Ok(Some(StopReason::Callback)),
            ControlFlow::Continue(()) if self.is_over(told.elapsed) => {
                Ok(Some(StopReason::MaxTime))
            }
            ControlFlow::Continue(()) => Ok(None),
        }
    }

    /// [`Watch::poll`], for those who ask more often than anybody wants to hear: a limit is met
    /// at once, the observer hears now and then.
    ///
    /// # Errors
    /// As there.
    pub fn glance(&mut self) -> Step {
        let elapsed = self.started.elapsed();
        let stops = !self.unbroken && (self.stopped.is_some() || self.is_over(elapsed));
        if !stops && elapsed.saturating_sub(self.asked) < PATIENCE {
            return Ok(());
        }
        self.poll()
    }

    /// Whether a limit is over at this time.
    fn is_over(&self, elapsed: Duration) -> bool {
        [self.deadline, self.outer].into_iter().flatten().any(|end| elapsed >= end)
    }

    /// Tells the score of the validation part.
    pub fn scored(&mut self, score: f64) {
        self.observer.scored(score);
    }

    /// For work that comes before the fit itself and may end at any time with what it has: it
    /// stops after this share of the time, and is told as no step. Where it is asked to stop, all
    /// that follows ends at once too.
    pub fn beforehand<T>(&mut self, share: f64, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = self.before.replace(share);
        let done = work(self);
        self.before = outer;
        self.begin();
        done
    }

    /// Whether work that keeps what it has goes on.
    ///
    /// # Errors
    /// `Interrupted`.
    pub fn goes_on(&mut self) -> Result<bool> {
        match self.poll() {
            Ok(()) => Ok(true),
            Err(Halt::Stop(_)) => Ok(false),
            Err(Halt::Fail(error)) => Err(error),
        }
    }

    /// Whether this share of the time of this machine is over.
    fn spent(&self, share: f64) -> bool {
        let spent = self.started.elapsed().saturating_sub(self.begun);
        self.deadline.is_some_and(|end| spent >= end.saturating_sub(self.begun).mul_f64(share))
    }

    /// For work of which a half is of no use: an error alone ends it, an interrupt among them;
    /// other wishes to stop are heard afterwards.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn unbroken<T>(&mut self, work: impl FnOnce(&mut Self) -> Step<T>) -> Result<T> {
        let before = std::mem::replace(&mut self.unbroken, true);
        let done = work(self);
        self.unbroken = before;
        done.map_err(|halt| match halt {
            Halt::Fail(error) => error,
            // Nobody said so.
            Halt::Stop(_) => Error::Interrupted,
        })
    }

    /// The watch of a whole fit that is a part of this one: its time counts from now, and the
    /// limit of this one holds too.
    pub fn inner(&mut self) -> Watch<'_> {
        let begun = self.started.elapsed();
        let outer = match (self.outer, self.deadline) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        Watch {
            started: self.started,
            origin: begun,
            begun,
            outer,
            stopped: self.stopped,
            search: self.search.clone(),
            ..Watch::new(&mut *self.observer, self.pool)
        }
    }
}

#[cfg(test)]
mod tests;
