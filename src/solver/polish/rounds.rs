//! Newton's method by rounds: each asks for the sums of all samples at one point, whoever adds them.
//!
//! The samples are elsewhere, in parts; a round is a pass over all of them, so that few rounds count
//! for more than cheap ones.
//!
//! # Method
//!
//! 1. The first round is at the start; where the zero model is better, the next begins there.
//! 2. h starts wide and falls, as in the module above; the step that ends a width is taken at the
//!    next one.
//! 3. The direction is Newton's, of the sums' Hessian.
//! 4. The next round is at the whole step. Where the objective has fallen it has the derivatives for
//!    the next direction; else the step is cut to where the slopes at its two ends say the minimum is.
//! 5. Where the samples are many all this is done on some of them first, every k-th; then from there
//!    on all, at the final h.
//! 6. Done at the final h when the decrease that the exact Hessian promises is at most `tol` of the
//!    objective.
//!
//! *Certificate*: as in the module above.

use super::curvature::Rule;
use super::output::{JITTER, SHORT_STEP, SKETCH_JITTER, State, newton_direction};
use super::prune::prune;
use super::steps::{FIRST_H, STAGE_TOL, narrower};
use super::sums::{Place, SUMS_HEAD, sums_len};
use crate::data::check_finite;
use crate::error::{Result, check_len, try_square};
use crate::linalg::{dot, symmetric_times};
use crate::solver::smoothed::{Polish, Polished, check_gram};
use crate::watch::{Step, StopReason, Watch};

/// The decrease that a step must bring, as a share of what its slope promises.
const DECREASE: f64 = 1e-4;
/// Cuts of one step at most.
const MOST_CUTS: usize = 12;
/// A cut step keeps at least and at most this share.
const CUT: (f64, f64) = (0.1, 0.6);

/// One output of a machine, or several that share their terms: the basis, and where to begin.
#[derive(Clone, Debug)]
pub struct Basis {
    /// K_BB, row-major.
    pub gram: Vec<f64>,
    /// B x m, term-major.
    pub coef: Vec<f64>,
    /// One an output.
    pub intercept: Vec<f64>,
}

/// How rounds are made.
#[derive(Clone, Copy, Debug)]
pub struct Rounds {
    /// The precision that kernel values are held in.
    pub epsilon: f64,
    /// At first every k-th sample counts, for this k.
    pub every: usize,
    /// Terms of a basis that are to be left. Of one with more the answer is some that stay, three
    /// quarters or these, and coefficients for them, of every k-th sample alone.
    pub budget: usize,
    /// Whether the coefficients are nearly those wanted: widths other than the last are left out.
    pub near: bool,
}

/// What is left of a basis.
#[derive(Clone, Debug)]
pub struct Settled {
    /// The terms that stay.
    pub terms: Vec<usize>,
    /// Of these.
    pub polished: Polished,
}

/// One output on its way.
struct Climb<'b> {
    gram: &'b [f64],
    ridge: f64,
    /// The best point so far, its objective and the derivatives there.
    point: Vec<f64>,
    value: f64,
    plain: f64,
    direction: Vec<f64>,
    /// The slope along the direction, and the step that is asked about.
    slope: f64,
    t: f64,
    /// What is asked about next is taken whatever its value: there is none to compare with.
    fresh: bool,
    begun: bool,
    h: f64,
    rule: Rule,
    /// The last Hessian, where it is to be kept.
    keeps: bool,
    hessian: Vec<f64>,
    stalls: usize,
    steps: usize,
    state: State,
}

impl<'b> Climb<'b> {
    fn new(polish: &Polish, (gram, ridge): (&'b [f64], f64), mut point: Vec<f64>) -> Self {
        let loss = polish.final_loss();
        let h = if loss.uses_h() { polish.h.max(FIRST_H * polish.unit) } else { polish.h };
        if !polish.fit_intercept
            && let Some(offset) = point.last_mut()
        {
            *offset = 0.0;
        }
        Self {
            gram,
            ridge,
            direction: vec![0.0; point.len()],
            point,
            value: f64::NAN,
            plain: f64::NAN,
            slope: 0.0,
            t: 0.0,
            fresh: true,
            begun: false,
            h,
            rule: if h > polish.h { Rule::Majorant } else { Rule::Exact },
            keeps: false,
            hessian: Vec::new(),
            stalls: 0,
            steps: 0,
            state: State::Running,
        }
    }

    fn at(&self) -> Vec<f64> {
        self.point.iter().zip(&self.direction).map(|(p, d)| p + self.t * d).collect()
    }

    /// Step 5: goes on from here with other samples, at the final h.
    fn go_on(&mut self, polish: &Polish) {
        self.direction.fill(0.0);
        (self.t, self.fresh, self.begun, self.stalls) = (0.0, true, true, 0);
        (self.h, self.rule, self.state) = (polish.h, Rule::Exact, State::Running);
    }

    /// Takes the sums at what was asked about.
    fn tell(&mut self, polish: &Polish, sums: &[f64], watch: &mut Watch<'_>) -> Step {
        let (b, order) = (self.point.len() - 1, self.order(polish));
        let at = self.at();
        let pull = symmetric_times(self.gram, &at[..b]);
        let penalty = 0.5 * dot(&at[..b], &pull);
        let value = penalty + sums[0];
        let (head, rest) = sums.split_at(SUMS_HEAD);
        let (gradient, packed) = rest.split_at(order);
        let mut gradient = gradient.to_vec();
        gradient.iter_mut().zip(&pull).for_each(|(g, p)| *g += p);
        if !self.fresh && value > self.value + DECREASE * self.t * self.slope {
            self.cut(dot(&gradient, &self.direction[..order]));
            return Ok(());
        }
        if !self.begun && head[2] < value {
            // Step 1.
            self.begun = true;
            self.point[..b].fill(0.0);
            return Ok(());
        }
        let last_step = if self.fresh { 0.0 } else { self.t };
        self.steps += usize::from(self.begun);
        let ridge = 0.5 * self.ridge * dot(&at[..b], &at[..b]);
        (self.point, self.value, self.plain) = (at, value, penalty - ridge + head[1]);
        (self.fresh, self.begun, self.stalls) = (false, true, 0);
        self.step_3_direction(polish, (&gradient, packed, head[3]), watch)?;
        self.settle(polish, last_step);
        Ok(())
    }

    fn order(&self, polish: &Polish) -> usize {
        self.point.len() - usize::from(!polish.fit_intercept)
    }

    /// Step 4.
    fn cut(&mut self, slope: f64) {
        self.stalls += 1;
        let share = self.slope / (self.slope - slope);
        // No slope at all, far out, says nothing.
        let share = if share.is_finite() { share.clamp(CUT.0, CUT.1) } else { CUT.0 };
        self.t *= share;
        if self.stalls >= MOST_CUTS {
            self.t = 0.0;
            self.state = State::Stalled;
        }
    }

    fn step_3_direction(
        &mut self,
        polish: &Polish,
        (gradient, packed, weight): (&[f64], &[f64], f64),
        watch: &mut Watch<'_>,
    ) -> Step {
        let (b, order) = (self.point.len() - 1, self.order(polish));
        let mut hessian = try_square("Hessian", order, 0.0)?;
        let mut from = packed;
        for j in 0..order {
            let (row, rest) = from.split_at(j + 1);
            hessian[j * order..j * order + j + 1].copy_from_slice(row);
            if j < b {
                let own = &self.gram[j * b..j * b + j + 1];
                hessian[j * order..].iter_mut().zip(own).for_each(|(h, k)| *h += k);
            }
            from = rest;
        }
        let jitter = match self.rule {
            Rule::Exact => JITTER,
            Rule::Sketch | Rule::Majorant | Rule::Wide => SKETCH_JITTER,
        };
        let found = &mut self.direction[..order];
        newton_direction((&mut hessian, weight), gradient, (b, jitter), found, &mut || {
            watch.poll()
        })?;
        self.slope = dot(gradient, found);
        if self.keeps {
            self.hessian = hessian;
        }
        self.t = 1.0;
        Ok(())
    }

    /// Steps 2 and 6, and how the next Hessian is made.
    fn settle(&mut self, polish: &Polish, last_step: f64) {
        let predicted = -0.5 * self.slope;
        let last = self.h <= polish.h;
        if last && self.rule == Rule::Exact && predicted <= polish.tol * self.value.abs() {
            (self.t, self.state) = (0.0, State::Converged);
            return;
        }
        if !last && predicted <= STAGE_TOL * self.value.abs() {
            (self.h, self.fresh) = (narrower(self.h, polish.h), true);
        }
        self.rule = match (self.h <= polish.h, last_step < SHORT_STEP) {
            (true, true) if last && self.rule == Rule::Exact && polish.final_loss().uses_h() => {
                Rule::Wide
            }
            (true, _) => Rule::Exact,
            (false, true) => Rule::Majorant,
            (false, false) => Rule::Sketch,
        };
    }
}

/// What is asked for sums: k, which says that every k-th sample counts k times and no other does, and
/// the places of all outputs one after another. The answer is the sums of all samples.
pub type SumsOf<'s> = dyn FnMut(&[f64], &mut Watch<'_>) -> Result<Vec<f64>> + 's;

impl Polish {
    /// Polishes coefficients of samples that are elsewhere: `sums_of` gives the sums of all of them
    /// ([`Polish::sums`], added) at places, at first of every k-th. Where a basis has more terms than
    /// are to be left, all become fewer, and this is to be called again. Several bases: machines that
    /// share no terms.
    ///
    /// # Errors
    /// Those of `sums_of`; `LengthMismatch`, `NonFinite` for sums of another basis or without
    /// values, `OutOfMemory`, `Interrupted`.
    pub fn by_sums(
        &self,
        bases: &[Basis],
        how: Rounds,
        sums_of: &mut SumsOf<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Settled>> {
        self.check()?;
        watch.begin();
        let (mut grams, mut wide) = (Vec::new(), false);
        for basis in bases {
            let b = basis.gram.len().isqrt();
            check_gram(&basis.gram, b)?;
            check_len("coefficients", b * basis.intercept.len(), basis.coef.len())?;
            let mean = (0..b).map(|j| basis.gram[j * b + j]).sum::<f64>() / b.max(1) as f64;
            let ridge = super::run::RIDGE * how.epsilon * mean.max(0.0);
            let mut gram = basis.gram.clone();
            (0..b).for_each(|j| gram[j * b + j] += ridge);
            grams.push((gram, ridge));
            wide |= b > how.budget;
        }
        let mut climbs = Vec::new();
        for (basis, (gram, ridge)) in bases.iter().zip(&grams) {
            let m = basis.intercept.len();
            for (c, &offset) in basis.intercept.iter().enumerate() {
                let point = basis.coef.iter().skip(c).step_by(m).copied().chain([offset]).collect();
                let mut climb = Climb::new(self, (gram, *ridge), point);
                climb.keeps = wide;
                if how.near {
                    climb.go_on(self);
                }
                climbs.push(climb);
            }
        }
        let done = self.climb((&mut climbs, how.every.max(1), wide), sums_of, watch);
        let stop = match done {
            Ok(()) if climbs.iter().all(|c| c.state == State::Converged) => StopReason::Converged,
            Ok(()) => StopReason::MaxIter,
            Err(halt) => halt.into_reason()?,
        };
        let mut rest = climbs.into_iter();
        bases.iter().map(|basis| self.settled(basis, &mut rest, (how, stop), watch)).collect()
    }

    /// What became of a basis whose outputs come next.
    fn settled<'b>(
        &self,
        basis: &Basis,
        climbs: &mut dyn Iterator<Item = Climb<'b>>,
        (how, stop): (Rounds, StopReason),
        watch: &mut Watch<'_>,
    ) -> Result<Settled> {
        let (b, m) = (basis.gram.len().isqrt(), basis.intercept.len());
        let mut own: Vec<Climb<'b>> = climbs.take(m).collect();
        if b <= how.budget {
            return Ok(Settled { terms: (0..b).collect(), polished: self.taken(b, &own, stop) });
        }
        let order = b + usize::from(self.fit_intercept);
        let mut mean = try_square("Hessian", order, 0.0)?;
        for (climb, gram) in own.iter().map(|c| (c, &basis.gram)) {
            if climb.hessian.is_empty() {
                // Stopped before anything was known: the penalty's.
                let rows = mean.chunks_exact_mut(order).zip(gram.chunks_exact(b));
                rows.for_each(|(to, from)| to.iter_mut().zip(from).for_each(|(t, f)| *t += f));
                (b..order).for_each(|j| mean[j * order + j] += 1.0);
            }
            mean.iter_mut().zip(&climb.hessian).for_each(|(t, f)| *t += f);
        }
        let target = how.budget.max(b - b / 4);
        let mut points: Vec<Vec<f64>> = own.iter().map(|c| c.point.clone()).collect();
        let terms = prune((&mean, order), &mut points, (b, target), watch)?;
        for (climb, point) in own.iter_mut().zip(points) {
            climb.point = terms.iter().chain([&b]).map(|&j| point[j]).collect();
        }
        let polished = self.taken(terms.len(), &own, stop);
        Ok(Settled { terms, polished })
    }

    fn taken(&self, b: usize, climbs: &[Climb<'_>], stop: StopReason) -> Polished {
        let mut found = Polished { stop, ..Polished::nothing(b, climbs.len()) };
        for (c, climb) in climbs.iter().enumerate() {
            let (coef, offset) = climb.point.split_at(climb.point.len() - 1);
            found.put(c, coef, offset[0]);
            let ridge = 0.5 * climb.ridge * dot(coef, coef);
            // The objective of another width is not that of the machine.
            let known = climb.h <= self.h && !climb.fresh;
            found.smoothed += if known { climb.value - ridge } else { f64::NAN };
            found.primal += climb.plain;
            found.steps = found.steps.max(climb.steps);
            found.converged &= climb.state == State::Converged;
        }
        found
    }

    fn climb(
        &self,
        (climbs, mut every, some): (&mut [Climb<'_>], usize, bool),
        sums_of: &mut SumsOf<'_>,
        watch: &mut Watch<'_>,
    ) -> Step {
        let lens: Vec<usize> = climbs.iter().map(|c| sums_len(self, c.point.len() - 1)).collect();
        for round in 0..self.max_steps {
            watch.at(round, climbs.iter().map(|c| c.value).sum());
            watch.poll()?;
            if climbs.iter().all(|c| c.state != State::Running) {
                if every == 1 || some {
                    break;
                }
                every = 1;
                climbs.iter_mut().for_each(|c| c.go_on(self));
            }
            let mut places = vec![every as f64];
            for c in climbs.iter() {
                Place { point: c.at(), h: c.h, rule: c.rule }.write(&mut places);
            }
            let sums = sums_of(&places, watch)?;
            check_len("sums", lens.iter().sum(), sums.len())?;
            check_finite("sums", &sums, 1)?;
            let mut rest = &sums[..];
            for (climb, &len) in climbs.iter_mut().zip(&lens) {
                let (own, others) = rest.split_at(len);
                if climb.state == State::Running {
                    climb.tell(self, own, watch)?;
                }
                rest = others;
            }
        }
        Ok(())
    }
}
