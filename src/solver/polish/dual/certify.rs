//! Step 4: the gap that passes have left.

use super::far::Far;
use super::{Dual, Output};
use crate::float::Real;
use crate::linalg::{add_scaled_rows, dot, dots, symmetric_times};
use crate::parallel;
use crate::solver::smoothed::Polished;
use crate::solver::smoothed::panels::Panels;
use crate::watch::{Step, Watch};

/// Values of features that all outputs meet between two looks at the watch.
const BLOCK: usize = 1 << 20;

impl Dual<'_, '_> {
    /// `Σ C a φ` of every output, in `f64`, in the place of v, and the coefficients that make it.
    pub(super) fn step_4_coefficients(&mut self) -> Vec<Vec<f64>> {
        let Self { shared, white, features, outputs, .. } = self;
        parallel::each(outputs.iter_mut().enumerate(), &|_, (index, o)| {
            let cost = shared.samples(index, shared.polish.h).cost;
            let held = features.samples().iter().zip(0u32..);
            let scaled: Vec<(u32, f64)> = held
                .map(|(&i, row)| (row, cost[i as usize] * f64::from(o.a[i as usize])))
                .filter(|(_, scale)| *scale != 0.0)
                .collect();
            o.v.copy_from_slice(&features.sum(&scaled)[..white.order()]);
        });
        parallel::map(outputs.len(), &|index| {
            let mut coef = outputs[index].v.clone();
            white.solve_upper(&mut coef);
            coef
        })
    }

    /// The gap, as a share of the objective, about: margins of samples with features are `w·φ`, those
    /// of the others are what `coef` gives.
    pub(super) fn step_4_estimate<F: Real>(
        &mut self,
        coef: &[Vec<f64>],
        panels: &mut Panels<'_, F>,
        watch: &mut Watch<'_>,
    ) -> Step<f64> {
        let Self { shared, features, outputs, .. } = self;
        let vectors: Vec<_> = coef.iter().map(|coef| (coef.as_slice(), 0.0)).collect();
        let mut margins: Vec<_> = outputs.iter_mut().map(|o| o.f.as_mut_slice()).collect();
        let cost = shared.samples(0, shared.polish.h).cost;
        let absent = |i: usize| cost[i] > 0.0 && !features.has(i);
        let wanted = (&vectors[..], Some(&absent as &dyn Fn(usize) -> bool));
        panels.times_and(wanted, &mut margins, watch, &mut |_, _, _| Ok(()))?;
        let mut w: Vec<Vec<f64>> = outputs.iter().map(|o| o.v.clone()).collect();
        w.iter_mut().for_each(|w| w.resize(features.stride(), 0.0));
        let at_once = (BLOCK / features.stride()).max(1);
        let mut buffer = Vec::new();
        for (block, samples) in features.samples().chunks(at_once).enumerate() {
            let first = block * at_once;
            let rows = features.block((first, first + samples.len()), &mut buffer);
            parallel::each(outputs.iter_mut().zip(&w), &|_, (o, w)| {
                for (row, &sample) in rows.chunks_exact(w.len()).zip(samples) {
                    dots(row, w, &mut o.f[sample as usize..][..1]);
                }
            });
            watch.poll()?;
        }
        let sums = parallel::map(outputs.len(), &|index| {
            let (o, samples) = (&outputs[index], shared.samples(index, shared.polish.h));
            let half = 0.5 * dot(&o.v, &o.v);
            (half + samples.loss_at(&o.f), o.terms(&samples) - half)
        });
        let value: f64 = sums.iter().map(|(value, _)| value).sum();
        let gap: f64 = sums.iter().map(|(value, dual)| (value - dual).max(0.0)).sum();
        Ok(gap / value.abs())
    }

    /// The gap, as a share of the objective; the margins of samples without features are known.
    pub(super) fn step_4_certify<F: Real>(
        &mut self,
        coef: &[Vec<f64>],
        panels: &mut Panels<'_, F>,
        result: &mut Polished,
        watch: &mut Watch<'_>,
    ) -> Step<f64> {
        let far = Far::find(self, panels.are_kept(), watch)?;
        let (shared, features) = (self.shared, &self.features);
        let vectors: Vec<_> = coef.iter().map(|coef| (coef.as_slice(), 0.0)).collect();
        let cost = shared.samples(0, shared.polish.h).cost;
        let (mut margins, mut sums) = (Vec::new(), Vec::new());
        for Output { f, a, v, .. } in &mut self.outputs {
            v.fill(0.0);
            margins.push(f.as_mut_slice());
            sums.push((a.as_slice(), v));
        }
        let wanted = |i: usize| match &far {
            Some(far) => !far.is(i),
            None => features.holds_all() || features.has(i),
        };
        let wanted = (&vectors[..], Some(&wanted as &dyn Fn(usize) -> bool));
        panels.times_and(wanted, &mut margins, watch, &mut |wave, _, _| {
            parallel::each(sums.iter_mut(), &|_, (a, v)| {
                let scaled: Vec<(u32, f64)> = (wave.first..wave.last)
                    .filter(|&i| a[i] != 0.0)
                    .map(|i| (wave.place(i), cost[i] * f64::from(a[i])))
                    .collect();
                add_scaled_rows(wave.block, &scaled, v);
            });
            Ok(())
        })?;
        if let Some(far) = &far
            && far.is_wrong(&margins)
        {
            let is_far = |i: usize| far.is(i);
            let wanted = (&vectors[..], Some(&is_far as &dyn Fn(usize) -> bool));
            panels.times_and(wanted, &mut margins, watch, &mut |_, _, _| Ok(()))?;
        }
        (result.smoothed, result.primal) = (0.0, 0.0);
        parallel::each(self.outputs.iter_mut().zip(coef), &|index, (o, coef)| {
            let samples = shared.samples(index, shared.polish.h);
            let penalty = 0.5 * dot(coef, &symmetric_times(&shared.gram, coef));
            let mut half = o.v.clone();
            self.exact.solve_lower(&mut half);
            o.dual = o.dual.max(o.terms(&samples) - 0.5 * dot(&half, &half));
            let here = penalty + samples.loss_at(&o.f);
            o.better = here < o.value;
            if o.better {
                o.value = here;
                o.plain = shared.plain(&samples, coef, penalty, &o.f);
            }
        });
        let (mut value, mut gap) = (0.0, 0.0);
        for (index, (o, coef)) in self.outputs.iter().zip(coef).enumerate() {
            if o.better {
                result.put(index, coef, 0.0);
            }
            result.smoothed += o.plain[0];
            result.primal += o.plain[1];
            value += o.value;
            gap += (o.value - o.dual).max(0.0);
        }
        Ok(gap / value.abs())
    }
}
