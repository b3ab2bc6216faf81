//! What a part of the samples says of a point: sums that are added over the parts.
//!
//! ```text
//! Σ C_i L_h,  Σ C_i L,  Σ C_i L_h of the offset alone,  K_nBᵀ r (and Σ r),  K_nBᵀ D K_nB (bordered)
//! ```
//!
//! Everything is one vector of numbers, so that any engine that adds vectors serves. A [`Place`] says
//! where and how they are taken; `rounds` asks for them.
//!
//! *Cost*: n B kernel values, 4nB flops, and B² for each row in the quadratic zone; memory a wave of
//! kernel values, B² numbers an output.

use super::curvature::{Derivatives, Rule};
use crate::config::positive;
use crate::data::check_finite;
use crate::error::{Error, Result, check_len, try_square, try_vec};
use crate::float::Real;
use crate::linalg::dots;
use crate::parallel::{self, ROW_CHUNK};
use crate::solver::smoothed::panels::Panels;
use crate::solver::smoothed::{KernelRows, Polish, Start};
use crate::watch::{Step, Watch};

/// Numbers of an output in a place before its coefficients, and in sums before its gradient.
const PLACE_HEAD: usize = 3;
pub(super) const SUMS_HEAD: usize = 4;

/// Where the sums of one output are taken.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    /// B coefficients, then the offset (0 when there is none).
    pub(super) point: Vec<f64>,
    /// Half-width of the smoothed corners.
    pub(super) h: f64,
    pub(super) rule: Rule,
}

impl Place {
    /// h, the rule, the offset, the coefficients.
    pub(super) fn write(&self, out: &mut Vec<f64>) {
        let (coef, offset) = self.point.split_at(self.point.len() - 1);
        out.extend([self.h, self.rule.code(), offset[0]]);
        out.extend_from_slice(coef);
    }

    fn read(values: &[f64]) -> Result<Self> {
        check_finite("point", values, 1)?;
        let (h, rule, offset) = (values[0], values[1], values[2]);
        positive("width", h)?;
        let rule = Rule::of_code(rule).ok_or_else(|| bad("a rule that there is not"))?;
        Ok(Self { point: [&values[PLACE_HEAD..], &[offset]].concat(), h, rule })
    }
}

fn bad(reason: &str) -> Error {
    Error::InvalidData { what: "point", reason: reason.into() }
}

/// Numbers of the place of an output with b terms.
#[must_use]
pub fn place_len(b: usize) -> usize {
    PLACE_HEAD + b
}

/// Numbers of the sums of an output with b terms.
#[must_use]
pub fn sums_len(polish: &Polish, b: usize) -> usize {
    let order = b + usize::from(polish.fit_intercept);
    SUMS_HEAD + order + order * (order + 1) / 2
}

impl Polish {
    /// Sums of these samples for every output, at places one after another: what polishing by sums
    /// asks for ([`Polish::by_sums`]). Widths of places are in the unit of these samples' targets.
    ///
    /// # Errors
    /// `LengthMismatch`, `InvalidData` or `NonFinite` for places of another basis, `NonFinite` for
    /// kernel values that are not finite, `OutOfMemory`, what the watch says.
    pub fn sums<F: Real>(
        &self,
        rows: &dyn KernelRows<F>,
        start: Start<'_>,
        places: &[f64],
        watch: &mut Watch<'_>,
    ) -> Step<Vec<f64>> {
        let (n, b, m) = (rows.n_rows(), rows.n_terms(), start.targets.n_outputs());
        check_len("point", m * place_len(b), places.len())?;
        let places =
            places.chunks_exact(place_len(b)).map(Place::read).collect::<Result<Vec<_>>>()?;
        let samples: Vec<_> = places
            .iter()
            .enumerate()
            .map(|(c, at)| start.samples(self, c, at.h * self.unit))
            .collect();
        let mut derivatives = Vec::with_capacity(m);
        let mut f = Vec::with_capacity(m);
        for place in &places {
            let mut own = Derivatives::new(b, self.fit_intercept)?;
            own.start_whole(place.rule)?;
            derivatives.push(own);
            f.push(try_vec("margins", n, 0.0)?);
        }
        let mut panels = Panels::new(rows, 0, watch)?;
        panels.for_each_wave(watch, None, |wave, watch| {
            for (c, place) in places.iter().enumerate() {
                let (coef, offset) = place.point.split_at(b);
                let out = &mut f[c][wave.first..wave.last];
                let chunks = out.chunks_mut(ROW_CHUNK).zip(wave.block.chunks(ROW_CHUNK * b.max(1)));
                parallel::each(chunks, &|_, (out, rows)| {
                    dots(rows, coef, out);
                    out.iter_mut().for_each(|f| *f += offset[0]);
                });
                check_finite("kernel matrix", out, 1)?;
                derivatives[c].add(&samples[c], &f[c], wave, watch)?;
            }
            Ok(())
        })?;
        let mut sums = Vec::new();
        for (c, mut own) in derivatives.into_iter().enumerate() {
            own.finish(watch)?;
            let alone = vec![places[c].point[b]; n];
            let losses = [samples[c].loss_at(&f[c]), samples[c].plain_loss_at(&f[c])];
            sums.extend(losses);
            sums.extend([samples[c].loss_at(&alone), own.weight]);
            sums.extend_from_slice(&own.gradient);
            let order = own.gradient.len();
            let mut hessian = try_square("Hessian", order, 0.0)?;
            own.hessian.add_to(&mut hessian);
            (0..order).for_each(|j| sums.extend_from_slice(&hessian[j * order..j * order + j + 1]));
        }
        Ok(sums)
    }
}
