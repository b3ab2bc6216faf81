//! A linear machine on the features of a map; on landmarks it is an expansion.

use super::KernelModel;
use super::chunks::in_chunks;
use super::scratch::Scratch;
use crate::data::{Gathered, Rows, check_finite};
use crate::error::{Error, Result, try_copy};
use crate::features::FeatureMap;
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::simd::dots;

/// `f_c(x) = w_c·z(x) + b_c`.
///
/// *Cost* of a prediction: what the map costs a row and O(D) an output; on landmarks O(s d), for
/// then `f_c(x) = Σ_j (W w_c)_j k(s_j, x) + b_c` (\[ASSET\] section 2.4).
#[derive(Clone, Debug)]
pub struct FeatureModel<F: Real> {
    map: FeatureMap<F>,
    kernel: AnyKernel,
    /// outputs x D.
    coef: Vec<f64>,
    intercept: Vec<f64>,
    expansion: Option<KernelModel<F>>,
}

impl<F: Real> FeatureModel<F> {
    /// A model of weights on the features, outputs x D, and an offset an output; without outputs it
    /// is the map alone. `moves`: whether points are moved by the first landmark, where the kernel
    /// allows it: not for sparse rows.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn new(
        (map, kernel): (FeatureMap<F>, AnyKernel),
        coef: Vec<f64>,
        intercept: Vec<f64>,
        moves: bool,
    ) -> Result<Self> {
        let expected = map.n_outputs().saturating_mul(intercept.len());
        if coef.len() != expected {
            return Err(Error::LengthMismatch { what: "coef", expected, got: coef.len() });
        }
        check_finite("coef", &coef, 1)?;
        check_finite("intercept", &intercept, 1)?;
        let expansion = match &map {
            FeatureMap::Landmarks(map) if !intercept.is_empty() => {
                let (kernel, d) = (map.kernel(), map.n_features());
                let mut points = try_copy("landmarks", map.landmarks())?;
                let moves = moves && kernel.is_translation_invariant();
                let origin = try_copy("landmarks", if moves { &points[..d] } else { &[] })?;
                for row in points.chunks_exact_mut(d) {
                    row.iter_mut().zip(&origin).for_each(|(v, &o)| *v -= o);
                }
                let terms = map.expansion(&coef)?;
                let parts = (points, d);
                Some(KernelModel::from_parts(kernel, origin, parts, &terms, intercept.clone())?)
            }
            FeatureMap::Landmarks(_) | FeatureMap::Fourier(_) => None,
        };
        Ok(Self { map, kernel, coef, intercept, expansion })
    }

    /// The features.
    #[must_use]
    pub fn map(&self) -> &FeatureMap<F> {
        &self.map
    }

    /// The kernel that the features stand for.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        self.kernel
    }

    /// Weights of the features, outputs x D row by row.
    #[must_use]
    pub fn coef(&self) -> &[f64] {
        &self.coef
    }

    /// Offsets, one an output.
    #[must_use]
    pub fn intercept(&self) -> &[f64] {
        &self.intercept
    }

    /// The expansion that it is, on landmarks.
    #[must_use]
    pub fn expansion(&self) -> Option<&KernelModel<F>> {
        self.expansion.as_ref()
    }

    pub(super) fn moves(&self) -> bool {
        self.expansion.as_ref().is_some_and(|expansion| !expansion.origin().is_empty())
    }

    /// The landmarks, s x d, where the features are of landmarks.
    pub(super) fn landmarks(&self) -> Option<Result<Gathered<F>>> {
        match &self.map {
            FeatureMap::Landmarks(map) => {
                let points = try_copy("landmarks", map.landmarks());
                Some(points.and_then(|points| Gathered::from_values(points, map.n_features())))
            }
            FeatureMap::Fourier(_) => None,
        }
    }

    pub(super) fn row_work(&self) -> usize {
        match &self.expansion {
            Some(expansion) => expansion
                .n_terms()
                .saturating_mul(expansion.n_features().saturating_add(expansion.n_outputs())),
            None => self.map.row_work().saturating_add(self.coef.len()),
        }
    }

    /// Decision values, n x outputs, in parallel inside the current pool.
    ///
    /// # Errors
    /// `FeatureMismatch`, `LengthMismatch` of `out`, `OutOfMemory`.
    pub fn decision(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        if let Some(expansion) = &self.expansion {
            return expansion.decision(rows, out);
        }
        let (width, outputs) = (self.map.n_outputs(), self.intercept.len());
        let input = (rows, self.map.n_features());
        in_chunks(input, (out, outputs), self.row_work(), |scratch, first, out| {
            let Scratch { values, features, .. } = scratch;
            values.resize(out.len() / outputs * width, F::zero());
            self.map.block(rows, |i| first + i, (values.as_mut_slice(), width), features);
            for (out, z) in out.chunks_exact_mut(outputs).zip(values.chunks_exact(width)) {
                let weights = self.coef.chunks_exact(width).zip(&self.intercept);
                for (f, (w, b)) in out.iter_mut().zip(weights) {
                    dots(z, w, std::slice::from_mut(f));
                    *f += b;
                }
            }
        })
    }
}
