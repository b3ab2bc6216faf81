//! The offset alone, when the basis is empty.

use crate::solver::smoothed::{Polish, Polished, Start};
use crate::watch::{Step, Watch};

/// The best offset; one that is not to be fitted stays.
pub(super) fn solve(
    polish: &Polish,
    start: Start<'_>,
    watch: &mut Watch<'_>,
    result: &mut Polished,
) -> Step {
    let n = start.cost.len();
    for (output, offset) in result.intercept.iter_mut().enumerate() {
        watch.poll()?;
        let samples = start.samples(polish, output, polish.h);
        let mut f = vec![*offset; n];
        if polish.fit_intercept {
            samples.best_offset(offset, &mut f);
        }
        result.smoothed += samples.loss_at(&f);
        result.primal += samples.plain_loss_at(&f);
    }
    Ok(())
}
