//! Gradient and Hessian of the loss term: `K_nBᵀ r` and `K_nBᵀ D K_nB` in one pass over the rows.

use crate::error::Result;
use crate::float::Real;
use crate::linalg::{GramAccumulator, add_scaled_rows, axpy};
use crate::parallel;
use crate::solver::smoothed::panels::Wave;
use crate::solver::smoothed::ray::Samples;
use crate::watch::{Step, Watch};

/// Rows summed by one task into its own vector; the vectors are added in order.
const CHUNK: usize = 128;
/// While h falls, rows of the Hessian for each of its columns; more are thinned out. A
/// majorant is no second derivative to begin with: fewer do, and so they do where the Hessian is
/// large. (Steps and times measured on ADULT, IJCNN1 and COD-RNA by `tests/timing.rs`; from half
/// of these on, steps multiply.)
const SKETCH_ROWS: usize = 8;
const FEWER_ROWS: usize = 4;
/// How much wider the zone of [`Rule::Wide`] is.
const WIDER: f64 = 3.0;
/// Rows from which on a Hessian is large.
const MANY_ROWS: usize = 4096;

/// Which rows enter the Hessian, and with what weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// All of the quadratic zone, with the second derivative.
    Exact,
    /// The same thinned out.
    Sketch,
    /// All with a slope, with the curvature of a parabola above the loss, thinned out. Far from
    /// the minimum the zone holds few rows and knows nothing of the others, which a Newton step
    /// then throws across; this one cannot.
    Majorant,
    /// The zone as if h were three times as wide, thinned out: at the final h, after a step so
    /// short that the zone must have been left at once.
    Wide,
}

impl Rule {
    /// The number that stands for it in a place, and back.
    pub(super) fn code(self) -> f64 {
        match self {
            Self::Exact => 0.0,
            Self::Sketch => 1.0,
            Self::Majorant => 2.0,
            Self::Wide => 3.0,
        }
    }

    pub(super) fn of_code(code: f64) -> Option<Self> {
        [Self::Exact, Self::Sketch, Self::Majorant, Self::Wide]
            .into_iter()
            .find(|r| r.code() == code)
    }

    pub(super) fn curvature(self, samples: &Samples<'_>, i: usize, f: f64) -> f64 {
        match self {
            Self::Majorant => samples.majorant(i, f),
            Self::Exact | Self::Sketch => samples.at(i, f).curvature,
            Self::Wide => samples.widened(WIDER).at(i, f).curvature,
        }
    }

    /// Whether the row of sample i enters the derivatives.
    pub(super) fn takes(self, samples: &Samples<'_>, i: usize, f: f64) -> bool {
        samples.cost[i] > 0.0
            && (samples.at(i, f).slope != 0.0 || self.curvature(samples, i, f) > 0.0)
    }
}

/// Derivatives of one output's loss term, offset last when there is one.
pub(super) struct Derivatives {
    pub(super) gradient: Vec<f64>,
    pub(super) hessian: GramAccumulator,
    /// Σ D_i over the rows that entered the Hessian.
    pub(super) weight: f64,
    b: usize,
    sloped: Vec<(u32, f64)>,
    curved: Vec<(u32, f64)>,
    every: usize,
    met: usize,
    rule: Rule,
}

impl Derivatives {
    pub(super) fn new(b: usize, with_offset: bool) -> Result<Self> {
        let order = b + usize::from(with_offset);
        Ok(Self { hessian: GramAccumulator::new(order)?, ..Self::slopes(b, with_offset)? })
    }

    /// With room for a gradient alone.
    pub(super) fn slopes(b: usize, with_offset: bool) -> Result<Self> {
        Ok(Self {
            gradient: vec![0.0; b + usize::from(with_offset)],
            hessian: GramAccumulator::new(0)?,
            weight: 0.0,
            b,
            sloped: Vec::new(),
            curved: Vec::new(),
            every: 1,
            met: 0,
            rule: Rule::Exact,
        })
    }

    /// Back to zero, for derivatives by `rule` at `f`.
    pub(super) fn start(&mut self, samples: &Samples<'_>, f: &[f64], rule: Rule) -> Result<()> {
        self.start_whole(rule)?;
        if rule != Rule::Exact {
            let [rows] =
                samples.sum(|i| [f64::from(u8::from(rule.curvature(samples, i, f[i]) > 0.0))]);
            let order = self.gradient.len();
            let enough = match rule {
                Rule::Majorant => FEWER_ROWS * order,
                Rule::Exact | Rule::Sketch | Rule::Wide => {
                    (SKETCH_ROWS * order).min(MANY_ROWS).max(FEWER_ROWS * order)
                }
            };
            self.every = (rows as usize / enough.max(1)).max(1);
        }
        Ok(())
    }

    /// Back to zero, for all rows by `rule`, none left out.
    pub(super) fn start_whole(&mut self, rule: Rule) -> Result<()> {
        self.gradient.fill(0.0);
        self.hessian.clear(rule != Rule::Exact)?;
        self.weight = 0.0;
        self.met = 0;
        self.every = 1;
        self.rule = rule;
        Ok(())
    }

    /// Adds the rows of one wave.
    pub(super) fn add<F: Real>(
        &mut self,
        samples: &Samples<'_>,
        f: &[f64],
        wave: &Wave<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step {
        self.sloped.clear();
        self.curved.clear();
        for (i, &f) in f.iter().enumerate().take(wave.last).skip(wave.first) {
            if samples.cost[i] <= 0.0 {
                continue;
            }
            let c = samples.at(i, f);
            if c.slope != 0.0 {
                self.sloped.push((wave.place(i), c.slope));
            }
            let curvature = match self.rule {
                Rule::Exact | Rule::Sketch => c.curvature,
                Rule::Majorant | Rule::Wide => self.rule.curvature(samples, i, f),
            };
            if curvature > 0.0 {
                self.met += 1;
                if self.met.is_multiple_of(self.every) {
                    let weight = curvature * self.every as f64;
                    self.weight += weight;
                    self.curved.push((wave.place(i), weight.sqrt()));
                }
            }
        }
        self.add_gradient(wave.block);
        self.add_curvature(wave.block, watch)
    }

    fn add_gradient<F: Real>(&mut self, block: &[F]) {
        let (b, sloped) = (self.b, &self.sloped);
        let parts = parallel::map(sloped.len().div_ceil(CHUNK), &|c| {
            let mut sum = vec![0.0; b];
            let rows = &sloped[c * CHUNK..((c + 1) * CHUNK).min(sloped.len())];
            add_scaled_rows(block, rows, &mut sum);
            sum
        });
        parts.iter().for_each(|part| axpy(1.0, part, &mut self.gradient));
        if let Some(offset) = self.gradient.get_mut(b) {
            *offset += self.sloped.iter().map(|row| row.1).sum::<f64>();
        }
    }

    fn add_curvature<F: Real>(&mut self, block: &[F], watch: &mut Watch<'_>) -> Step {
        let b = self.b;
        let mut rest = self.curved.as_slice();
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(self.hessian.room()));
            // With an offset the row has one entry more: the scale itself.
            self.hessian.push(now.len(), |i| {
                let (k, scale) = now[i];
                (&block[k as usize * b..(k as usize + 1) * b], scale)
            });
            if self.hessian.room() == 0 {
                self.hessian.flush(|| watch.poll())?;
            }
            rest = later;
        }
        Ok(())
    }

    /// The rows still pending enter the Hessian.
    pub(super) fn finish(&mut self, watch: &mut Watch<'_>) -> Step {
        self.hessian.flush(|| watch.poll())
    }
}
