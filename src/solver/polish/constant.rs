//! The offset alone, when the basis is empty.

use super::ray::{Found, Ray};
use super::steps::samples_of;
use super::watch::{Step, Watch};
use super::{Polish, Polished, Start};

/// Line searches at most; each leaves a tenth of the slope at most.
const MAX_SEARCHES: usize = 40;

/// Line searches down the slope; an offset that is not to be fitted stays.
pub(super) fn solve(
    polish: &Polish,
    start: Start<'_>,
    watch: &mut Watch<'_, '_>,
    result: &mut Polished,
) -> Step<()> {
    let n = start.cost.len();
    for (output, offset) in result.intercept.iter_mut().enumerate() {
        watch.poll()?;
        let samples = samples_of(polish, start, output);
        let mut f = vec![*offset; n];
        for _ in 0..if polish.fit_intercept { MAX_SEARCHES } else { 0 } {
            let [slope] = samples.sum(|i| [samples.at(i, f[i]).slope]);
            let s = vec![-slope.signum(); n];
            let ray = Ray { samples, f: &f, s: &s, base: 0.0, linear: 0.0, quadratic: 0.0 };
            let Found { t, .. } = ray.minimise();
            if slope == 0.0 || t <= f64::EPSILON * offset.abs() {
                break;
            }
            *offset -= t * slope.signum();
            f.fill(*offset);
        }
        result.smoothed += samples.loss_at(&f);
        result.primal += samples.plain_loss_at(&f);
    }
    Ok(())
}
