//! Samples whose margins need not be known exactly: their loss is flat around what features say, for every
//! output, and their kernel values would have to be made again.

use super::{Dual, Output, is_near};
use crate::error::try_vec;
use crate::parallel;
use crate::simd::zeroed;
use crate::solver::polish::apart::Apart;
use crate::solver::smoothed::ray::Samples;
use crate::watch::{Step, Watch};

/// How far features may be off; where they are by more than half of it, no sample counts as far.
const SLACK: f64 = 0.1;
/// Samples of one task, and tasks between two looks at the watch.
const TASK: usize = 128;
const WAVE: usize = 32;
/// Rows that are on their way while one is met.
const AHEAD: usize = 2;

pub(super) struct Far {
    /// Whether each is.
    are: Vec<bool>,
    /// Their margins by features, a row of outputs each; NaN of those without.
    margins: Vec<f32>,
}

impl Far {
    /// Writes margins `w·φ` of the far ones, w in the place of v. None where there may be none: where
    /// kernel values are kept, or features are of some samples.
    pub(super) fn find(
        dual: &mut Dual<'_, '_>,
        are_kept: bool,
        watch: &mut Watch<'_>,
    ) -> Step<Option<Self>> {
        let Dual { shared, features, outputs, .. } = dual;
        let (n, m) = (features.n_samples(), outputs.len());
        if !features.holds_all() || are_kept {
            return Ok(None);
        }
        let mut far = Self {
            are: try_vec("far samples", n, false)?,
            margins: zeroed("margins", n.saturating_mul(m))?,
        };
        let loss = shared.polish.final_loss();
        let samples: Vec<Samples<'_>> =
            (0..m).map(|c| shared.samples(c, shared.polish.h)).collect();
        let w: Vec<Vec<f32>> = outputs.iter().map(|o| features.in_single(&o.v)).collect();
        let tasks = far.are.chunks_mut(TASK).zip(far.margins.chunks_mut(TASK * m));
        let mut tasks = tasks.zip((0..).step_by(TASK));
        loop {
            let wave: Vec<_> = tasks.by_ref().take(WAVE).collect();
            if wave.is_empty() {
                break;
            }
            parallel::each(wave.into_iter(), &|_, ((are, margins), first)| {
                let mut buffer = Apart::default();
                let each = are.iter_mut().zip(margins.chunks_exact_mut(m)).zip(first..);
                for ((is, margins), i) in each {
                    if !features.has(i) {
                        margins.fill(f32::NAN);
                        continue;
                    }
                    if i + AHEAD < n && features.has(i + AHEAD) {
                        features.row(features.row_of(i + AHEAD) as usize).prefetch();
                    }
                    let row = features.row(features.row_of(i) as usize);
                    let row = row.lengthened(&mut buffer);
                    margins.iter_mut().zip(&w).for_each(|(f, w)| *f = row.dot(w));
                    *is = (0..m).all(|c| {
                        outputs[c].a[i] == 0.0
                            && !is_near(loss, &samples[c], i, (f64::from(margins[c]), SLACK))
                    });
                }
            });
            watch.poll()?;
        }
        parallel::each(outputs.iter_mut(), &|c, Output { f, .. }| {
            let values = far.margins.iter().skip(c).step_by(m);
            for ((f, &value), &is) in f.iter_mut().zip(values).zip(&far.are) {
                if is {
                    *f = f64::from(value);
                }
            }
        });
        Ok(Some(far))
    }

    pub(super) fn is(&self, sample: usize) -> bool {
        self.are[sample]
    }

    /// Whether features are too far off, by exact margins of the samples that are not far.
    pub(super) fn is_wrong(&self, margins: &[&mut [f64]]) -> bool {
        let known = self.margins.chunks_exact(margins.len()).zip(&self.are).enumerate();
        known.filter(|(_, (_, far))| !**far).any(|(i, (known, _))| {
            let off = |(f, margins): (&f32, &&mut [f64])| (f64::from(*f) - margins[i]).abs();
            known.iter().zip(margins).map(off).any(|off| off > 0.5 * SLACK)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_judged_by_the_samples_that_have_them_and_are_not_far() {
        let far = Far {
            are: vec![true, false, false],
            margins: vec![7.0, 7.0, 1.0, -1.0, f32::NAN, f32::NAN],
        };
        assert_eq!([0, 1, 2].map(|i| far.is(i)), [true, false, false]);
        for (off, wrong) in [(0.9, false), (1.1, true), (-1.1, true)] {
            let (mut f, mut g) = ([3.0, 1.0, 9.0], [3.0, -1.0, 9.0]);
            g[1] += off * 0.5 * SLACK;
            assert_eq!(far.is_wrong(&[&mut f, &mut g]), wrong);
        }
    }
}
