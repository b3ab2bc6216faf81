//! For tests: how much a call computes between two looks at its watch. Processor time does not
//! depend on what else the machine does, as time on a wall does.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// Looks that come sooner than this after a reading of the clock are part of the same stretch.
const APART: Duration = Duration::from_millis(10);

/// The clock that tests have given, the longest stretch so far and all stretches together.
static ARMED: Mutex<Option<(Py<PyAny>, f64, f64)>> = Mutex::new(None);

/// Sets the clock, a function that gives seconds (none: stop measuring); what was measured since
/// the last call: seconds of the longest stretch without a look, and of all watched work.
#[pyfunction]
#[pyo3(signature = (clock))]
pub(crate) fn _test_looks(clock: Option<Py<PyAny>>) -> (f64, f64) {
    let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
    let before = std::mem::replace(&mut *armed, clock.map(|clock| (clock, 0.0, 0.0)));
    before.map_or((0.0, 0.0), |(_, longest, all)| (longest, all))
}

/// The stretch that runs.
pub(crate) struct Looks {
    clock: Py<PyAny>,
    read: Instant,
    spent: f64,
}

impl Looks {
    /// Work begins; none where nobody measures.
    pub(crate) fn begin(py: Python<'_>) -> Option<Self> {
        let armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = armed.as_ref().map(|(clock, ..)| clock.clone_ref(py))?;
        drop(armed);
        let spent = clock.call0(py).ok()?.extract(py).ok()?;
        Some(Self { clock, read: Instant::now(), spent })
    }

    /// The watch is asked.
    pub(crate) fn look(&mut self) {
        if self.read.elapsed() >= APART {
            self.end_stretch();
        }
    }

    fn end_stretch(&mut self) {
        let now = Python::attach(|py| self.clock.call0(py)?.extract::<f64>(py));
        let Ok(now) = now else { return };
        let stretch = now - self.spent;
        (self.read, self.spent) = (Instant::now(), now);
        let mut armed = ARMED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, longest, all)) = armed.as_mut() {
            *longest = longest.max(stretch);
            *all += stretch;
        }
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        self.end_stretch();
    }
}
