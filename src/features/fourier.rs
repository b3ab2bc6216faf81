//! Random Fourier features of the kernels of a distance.
//!
//! ```text
//! k(x, x') = E[cos(ν·(x - x'))],     ν ~ N(0, 2γ I) (Gaussian),  ν_k ~ Cauchy(γ) (Laplacian)
//!
//! shifted   z_j(x) = √(2/D) cos(ν_j·x + ω_j),  ω_j ~ U[0, 2π)
//! paired    z(x) = √(2/D) (cos ν_j·x, sin ν_j·x),  j ≤ D/2; for an odd D the last one shifted
//! ```
//!
//! *Method* (\[RFF\], \[ASSET\] eq. 8).
//! 1. Draw the frequencies; *orthogonal* ones (\[ORF\]) are made d at a time: the rows of a random
//!    rotation, each with the length of an independent Gaussian vector. The mean is the kernel
//!    all the same, the variance is smaller.
//! 2. Products with the packed frequencies, then the cosine. Dense rows need no common origin:
//!    the products are linear.
//!
//! *Paired* waves have the smaller variance for the Gaussian and give `‖z(x)‖ = 1` exactly (D even).
//! The spectrum of the Laplacian is not rotation invariant, so it has no orthogonal form.

use super::scratch::{Scratch, multiply, unpack};
use crate::config::{Config, count, hyperparameters};
use crate::data::{Rows, check_finite};
use crate::error::{Error, Result, try_collect, try_vec};
use crate::float::Real;
use crate::kernel::{AnyKernel, Spectrum, in_pieces, load_tile};
use crate::linalg::dot;
use crate::rng::Rng;
use crate::simd::{self, Packed};
use crate::watch::{Look, Watch};

/// Frequencies that are packed between two looks: whole lines of them.
const AT_ONCE: usize = 16;
/// Values of frequencies that a row is made orthogonal to between two looks, or whole rows.
const LOOK_AFTER: usize = 1 << 20;

/// Which waves belong to a frequency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Waves {
    /// A cosine with a random phase.
    Shifted,
    /// A cosine and a sine; for an odd number of features the last is a shifted one.
    Paired,
}

hyperparameters! {
    /// What a Fourier map is drawn with.
    #[derive(Copy)]
    pub struct Fourier {
        /// Gaussian or Laplacian.
        pub kernel: AnyKernel = AnyKernel::Gaussian { gamma: 1.0 };
        /// Features D that come out, at least 1.
        pub n_components: usize = 100;
        /// Whether frequencies are orthogonal in groups of d (Gaussian only).
        pub orthogonal: bool = false;
        /// The waves.
        pub waves: Waves = Waves::Paired;
        /// Seed of the frequencies and phases.
        #[serde(rename = "random_state")]
        pub seed: u64 = 0;
    }
}

impl Config for Fourier {
    fn check(&self) -> Result<()> {
        self.kernel.check()?;
        let spectrum = self.spectrum()?;
        count("n_components", self.n_components)?;
        if self.orthogonal && !spectrum.is_rotation_invariant() {
            let turns = |k: &AnyKernel| k.spectrum().is_some_and(Spectrum::is_rotation_invariant);
            return Err(Error::Unsupported(format!(
                "orthogonal=true needs kernel={}: the spectrum of kernel='{}' is not rotation \
                 invariant",
                AnyKernel::names(turns),
                self.kernel.name()
            )));
        }
        Ok(())
    }
}

impl Fourier {
    fn spectrum(&self) -> Result<Spectrum> {
        self.kernel.spectrum().ok_or_else(|| {
            let known = AnyKernel::names(|kernel| kernel.spectrum().is_some());
            Error::param("kernel", known, format!("'{}'", self.kernel.name()))
        })
    }

    /// Draws the map for rows of `d` features, whole: a limit of time is heard afterwards.
    ///
    /// # Errors
    /// As [`Fourier::check`]; `InvalidData` without features; `OutOfMemory`; `Interrupted`.
    pub fn fit<F: Real>(&self, d: usize, watch: &mut Watch<'_>) -> Result<FourierMap<F>> {
        self.check()?;
        if d == 0 {
            return Err(Error::InvalidData { what: "X", reason: "0 features".into() });
        }
        let mut rng = Rng::new(self.seed);
        let (count, shifted) = match self.waves {
            Waves::Shifted => (self.n_components, self.n_components),
            Waves::Paired => (self.n_components.div_ceil(2), self.n_components % 2),
        };
        // 1.
        let mut frequencies = try_vec("frequencies", count.saturating_mul(d), 0.0)?;
        let spectrum = self.spectrum()?;
        let look = &mut || watch.unbroken(Watch::glance);
        for group in frequencies.chunks_mut(d.saturating_mul(d)) {
            spectrum.draw((group, d), &mut rng, look, |rows, rng, look| match self.orthogonal {
                true => rotate(rows, d, rng, look),
                false => Ok(()),
            })?;
        }
        let phases = (0..shifted).map(|_| std::f64::consts::TAU * rng.uniform());
        let phases = try_collect("phases", phases)?;
        FourierMap::packed((&frequencies, d), &phases, false, look)
    }
}

/// Replaces rows (at most d of them, drawn from N(0, I)) by orthogonal ones: Gram and Schmidt
/// twice, then every row gets the length of an independent Gaussian vector. A square Gaussian
/// matrix orthogonalised so is Haar distributed, and its first rows are what they would be alone.
fn rotate(group: &mut [f64], d: usize, rng: &mut Rng, look: Look<'_>) -> Result<()> {
    let rows = group.len() / d;
    for i in 0..rows {
        let (before, rest) = group.split_at_mut(i * d);
        let row = &mut rest[..d];
        for _ in 0..2 {
            for others in before.chunks((LOOK_AFTER / d).max(1) * d) {
                for other in others.chunks_exact(d) {
                    let along = dot(other, row);
                    row.iter_mut().zip(other).for_each(|(v, o)| *v -= along * o);
                }
                look()?;
            }
            let norm = dot(row, row).sqrt().max(f64::MIN_POSITIVE);
            row.iter_mut().for_each(|v| *v /= norm);
        }
    }
    for row in group.chunks_exact_mut(d) {
        let length = (0..d).map(|_| rng.normal().powi(2)).sum::<f64>().sqrt();
        row.iter_mut().for_each(|v| *v *= length);
        look()?;
    }
    Ok(())
}

/// `z(x)` of random waves: m cosines, then the sines of the paired ones.
#[derive(Clone, Debug)]
pub struct FourierMap<F: Real> {
    frequencies: Packed<F>,
    /// One a frequency, 0 for the paired ones, which come first.
    phases: Vec<f64>,
    paired: usize,
}

impl<F: Real> FourierMap<F> {
    /// A map from its frequencies, m x d row-major, and the phases of the last ones; those before
    /// are paired.
    ///
    /// # Errors
    /// `LengthMismatch`, `NonFinite`, `OutOfMemory`.
    pub fn new(frequencies: (&[f64], usize), phases: &[f64]) -> Result<Self> {
        Self::packed(frequencies, phases, false, &mut || Ok(()))
    }

    /// The same; calls `look` between frequencies. With `exact`, a frequency that this precision would
    /// round is an error.
    fn packed(
        (frequencies, d): (&[f64], usize),
        phases: &[f64],
        exact: bool,
        look: Look<'_>,
    ) -> Result<Self> {
        let m = frequencies.len() / d.max(1);
        if m == 0 || m * d != frequencies.len() {
            let (expected, got) = ((m * d).max(d), frequencies.len());
            return Err(Error::LengthMismatch { what: "frequencies", expected, got });
        }
        if phases.len() > m {
            return Err(Error::LengthMismatch { what: "phases", expected: m, got: phases.len() });
        }
        check_finite("phases", phases, 1)?;
        let mut packed = Packed::with_capacity(d, m)?;
        for (j, wide) in frequencies.chunks(AT_ONCE * d).enumerate() {
            let rounded = try_collect("frequencies", wide.iter().map(|&v| F::from_f64(v)))?;
            if let Some(bad) = rounded.iter().position(|v| !v.is_finite()) {
                let (what, row) = ("frequencies", j * AT_ONCE + bad / d);
                return Err(Error::NonFinite { what, row, column: bad % d });
            }
            if exact && rounded.iter().zip(wide).any(|(&v, &own)| Real::to_f64(v) != own) {
                return Err(Error::Format("frequencies of another precision".to_owned()));
            }
            packed
                .extend(rounded.len() / d, |i, row| row.copy_from_slice(&rounded[i * d..][..d]))?;
            look()?;
        }
        let paired = m - phases.len();
        let mut all = try_vec("phases", m, 0.0)?;
        all[paired..].copy_from_slice(phases);
        Ok(Self { frequencies: packed, phases: all, paired })
    }

    /// The map that had these frequencies and phases: none of them is rounded.
    ///
    /// # Errors
    /// As [`FourierMap::new`], and `Format` for a frequency that a map of this precision cannot have.
    pub(crate) fn again(frequencies: (&[f64], usize), phases: &[f64]) -> Result<Self> {
        Self::packed(frequencies, phases, true, &mut || Ok(()))
    }

    /// Number of features d of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.frequencies.n_features()
    }

    /// Number of features D that come out.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        self.frequencies.len() + self.paired
    }

    /// The frequencies, m x d row-major.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn frequencies(&self) -> Result<Vec<f64>> {
        try_collect("frequencies", unpack(&self.frequencies)?.iter().map(|&v| v.to_f64()))
    }

    /// The phases ω of the frequencies that are not paired, the last ones.
    #[must_use]
    pub fn phases(&self) -> &[f64] {
        &self.phases[self.paired..]
    }

    /// Adds the gradients of `w_c·z(x)` in x, for the rows `row(0), row(1), ...` and every row w_c of
    /// `coef`, to `out`, outputs x features from `at` on of the `width` values of each row.
    pub(crate) fn add_gradients(
        &self,
        (rows, row): (&Rows<'_, F>, impl Fn(usize) -> usize),
        coef: &[f64],
        (out, width, at): (&mut [f64], usize, usize),
        scratch: &mut Scratch<F>,
    ) {
        let (d, m, waves) = (self.n_features(), self.frequencies.len(), self.n_outputs());
        let len = out.len() / width;
        scratch.points.reset(d);
        load_tile(rows, len, row, &[], &mut scratch.points);
        multiply(&scratch.points, len, &self.frequencies, &mut scratch.padded);
        let (stride, scale) = (self.frequencies.padded_len(), (2.0 / waves as f64).sqrt());
        let angles =
            scratch.padded.chunks_exact(stride).flat_map(|of| of[..m].iter().zip(&self.phases));
        let turned: Vec<(f64, f64)> =
            angles.map(|(angle, phase)| (Real::to_f64(*angle) + phase).sin_cos()).collect();
        let (mut scaled, mut rows) = (Vec::with_capacity(m), Vec::new());
        in_pieces(&self.frequencies, &mut rows, &mut |(first, last), (from, to), rows| {
            for (turned, out) in turned.chunks_exact(m).zip(out.chunks_exact_mut(width)) {
                for (w, out) in coef.chunks_exact(waves).zip(out[at..].chunks_exact_mut(d)) {
                    // Of a cosine -sin, of the sine that belongs to it cos.
                    let slope = |j: usize| {
                        let (sin, cos) = turned[j];
                        let paired = if j < self.paired { w[m + j] * cos } else { 0.0 };
                        scale * (paired - w[j] * sin)
                    };
                    scaled.clear();
                    scaled.extend((0_u32..).zip((first..last).map(slope)));
                    simd::add_scaled_rows(rows, &scaled, &mut out[from..to]);
                }
            }
        });
    }

    pub(super) fn block(
        &self,
        rows: &Rows<'_, F>,
        row: impl Fn(usize) -> usize,
        (out, width): (&mut [F], usize),
        scratch: &mut Scratch<F>,
    ) {
        let len = out.len() / width;
        let m = self.frequencies.len();
        load_tile(rows, len, row, &[], &mut scratch.points);
        // 2.
        multiply(&scratch.points, len, &self.frequencies, &mut scratch.padded);
        let stride = self.frequencies.padded_len();
        let scale = (2.0 / self.n_outputs() as f64).sqrt();
        for (to, from) in out.chunks_exact_mut(width).zip(scratch.padded.chunks_exact(stride)) {
            let (cosines, rest) = to.split_at_mut(m);
            cosines.copy_from_slice(&from[..m]);
            let (sines, rest) = rest.split_at_mut(self.paired);
            let (paired, shifted) = cosines.split_at_mut(self.paired);
            simd::waves(paired, sines, scale);
            simd::cosines(shifted, self.phases(), scale);
            rest.fill(F::zero());
        }
    }
}
