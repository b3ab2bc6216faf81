//! The first steps along some of the terms, drawn at random: far from the minimum they go nearly as far
//! as along all of them, and take a fraction of the time.
//!
//! ```text
//! β = β₀ + P d:   1/2 β₀ᵀ K_BB β₀ + (K_BB β₀)_Sᵀ d + 1/2 dᵀ K_SS d + Σ_i C_i L_h(y_i, f_i + k_S(x_i)·d)
//! ```
//!
//! What it gains: `docs/records/defaults.md`, which solver polishes.

use super::newton::{End, Last, Stage};
use super::trail::Place;
use super::{Solver, along, rows};
use crate::data::check_finite;
use crate::float::Real;
use crate::linalg::{axpy, dot};
use crate::rng::Rng;
use crate::simd::zeroed;
use crate::solver::smoothed::ray::Ray;
use crate::watch::{Step, Watch};

/// Along one in so many of the terms, then of these, where that leaves so many at least (a few in tests:
/// every small problem then goes this way).
const SHARES: [usize; 2] = [4, 2];
const LEAST: usize = if cfg!(test) { 8 } else { 800 };
/// Steps along them, and the share of the objective that all but the last promise.
const STEPS: usize = 6;
const UNTIL: f64 = 0.1;
const SEED: u64 = 9;

impl<F: Real> Solver<'_, '_, '_, F> {
    /// Down along some of the terms, and along more of them.
    pub(super) fn on_some_terms(&self, place: &mut Place, watch: &mut Watch<'_>) -> Step {
        let b = self.kernel.n_terms();
        let mut order: Vec<u32> = (0..b as u32).collect();
        Rng::new(SEED).shuffle(&mut order);
        for share in SHARES {
            if b / share >= LEAST {
                let mut terms = order[..b / share].to_vec();
                terms.sort_unstable();
                if !self.along_terms(&terms, place, watch)? {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Down along these terms until a step promises little; whether the first promised more.
    fn along_terms(&self, terms: &[u32], place: &mut Place, watch: &mut Watch<'_>) -> Step<bool> {
        let (b, polish) = (self.kernel.n_terms(), self.shared.polish);
        let Some(kernel) = self.kernel.of_terms(terms)? else { return Ok(false) };
        let basis = self.basis.some(&*kernel, terms, watch)?;
        let some = Solver { kernel: &*kernel, basis: &basis, ..*self };
        let pull = self.basis.times(&place.point[..b], watch)?;
        let mut there = 0.5 * dot(&place.point[..b], &pull) + self.tilt(&place.point);
        let mut slope: Vec<f64> = terms.iter().map(|&term| pull[term as usize]).collect();
        let mut last = Last::default();
        let mut far = false;
        for _ in 0..STEPS {
            if place.steps >= polish.max_steps {
                break;
            }
            let Some((rows, _)) = some.step_3_keep(place, &last, watch)? else { break };
            let stage = Stage {
                shared: self.shared,
                rows: &rows,
                basis: &basis,
                from: Some((there, &slope)),
                samples: self.samples,
                tol: polish.tol,
                until: 0.0,
                max_steps: 1,
                alone: false,
            };
            let mut d = vec![0.0; terms.len() + place.point.len() - b];
            let end = stage.minimise(&mut d, &mut place.steps, &place.f, &mut last, watch)?;
            some.spare(rows);
            if end == End::Minimum {
                break;
            }
            let (coef, offset) = d.split_at(terms.len());
            let mut s = zeroed("margins", place.f.len())?;
            let offset = offset.first().copied().unwrap_or(0.0);
            rows::margins(&*kernel, (coef, offset), &mut s, watch)?;
            check_finite("kernel matrix", &s, 1)?;
            let pushed = basis.times(coef, watch)?;
            let linear = dot(coef, &slope) + self.shared.tilt * offset;
            let quadratic = dot(coef, &pushed);
            let samples = self.samples;
            let ray = Ray { samples, f: &place.f, s: &s, base: there, linear, quadratic };
            let (t, value) = ray.minimise();
            for (&term, v) in terms.iter().zip(coef) {
                place.point[term as usize] += t * v;
            }
            place.point[b..].iter_mut().for_each(|at| *at += t * offset);
            along(&mut place.f, &s, &|f, s| *f += t * s);
            there += t * linear + 0.5 * t * t * quadratic;
            axpy(t, &pushed, &mut slope);
            place.value = value;
            watch.poll()?;
            if last.promise <= UNTIL {
                break;
            }
            far = true;
        }
        Ok(far)
    }
}
