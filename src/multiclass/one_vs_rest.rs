//! One machine a class, against the rest, independent of each other and trained in parallel.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::error::Result;
use crate::solver::{Observer, Progress, StopReason};

/// One observer for machines that run at the same time: a stop for one is a stop for all.
struct Shared<'a> {
    observer: Mutex<(&'a mut dyn Observer, Option<StopReason>)>,
}

struct Handle<'a, 'b>(&'a Shared<'b>);

impl Observer for Handle<'_, '_> {
    fn observe(&mut self, progress: &Progress) -> ControlFlow<StopReason> {
        let mut guard = self.0.observer.lock().unwrap_or_else(PoisonError::into_inner);
        let (observer, stopped) = &mut *guard;
        if let Some(reason) = stopped {
            return ControlFlow::Break(*reason);
        }
        let answer = observer.observe(progress);
        if let ControlFlow::Break(reason) = answer {
            *stopped = Some(reason);
        }
        answer
    }

    fn scored(&mut self, score: f64) {
        let mut guard = self.0.observer.lock().unwrap_or_else(PoisonError::into_inner);
        guard.0.scored(score);
    }
}

/// Calls `train(class, observer)` for every class, in parallel inside the current pool, and
/// gathers the results in the order of the classes.
///
/// # Errors
/// Those of `train`; the first class's when several fail.
pub fn one_vs_rest<T: Send>(
    n_classes: usize,
    observer: &mut dyn Observer,
    train: impl Fn(usize, &mut dyn Observer) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let shared = Shared { observer: Mutex::new((observer, None)) };
    let results: Vec<Result<T>> =
        (0..n_classes).into_par_iter().map(|class| train(class, &mut Handle(&shared))).collect();
    results.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::solver::Silent;

    #[test]
    fn results_come_in_order_and_errors_from_the_first() {
        let squares = one_vs_rest(5, &mut Silent, |class, _| Ok(class * class));
        assert_eq!(squares.unwrap(), [0, 1, 4, 9, 16]);
        let failed = one_vs_rest(3, &mut Silent, |class, _| match class {
            0 => Ok(()),
            _ => Err(Error::BadLabels(class.to_string())),
        });
        assert_eq!(failed.unwrap_err().to_string(), "y: 1");
    }
}
