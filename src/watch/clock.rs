//! The one place that asks the time.

use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Time since it was started. Where there is no clock (WebAssembly) none passes: limits of time
/// are never reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
}

impl Clock {
    pub(crate) fn start() -> Self {
        Self {
            #[cfg(not(target_family = "wasm"))]
            started: Instant::now(),
        }
    }

    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn elapsed(self) -> Duration {
        self.started.elapsed()
    }

    #[cfg(target_family = "wasm")]
    pub(crate) fn elapsed(self) -> Duration {
        Duration::ZERO
    }
}
