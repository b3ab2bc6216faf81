//! How the columns of a table become coordinates: standardised, or by ranks; each times its scale.

use std::cmp::Ordering;

use super::persist::{Section, Tensor};
use crate::data::Rows;
use crate::error::{Error, Result, check_len, try_vec};
use crate::float::Real;
use crate::parallel::{self, ROW_CHUNK};

/// Standardised values beyond this are taken for it.
const FARTHEST: f64 = 30.0;
/// A spread below this share of the mean is rounding.
const LEAST_SPREAD: f64 = 1e-7;
/// Rows that ranks are taken of, and knots that they are kept by, at most.
const RANKED: usize = 20_000;
const KNOTS: usize = 1000;
/// Values that are read between two looks at the caller.
const BETWEEN_LOOKS: usize = 1 << 20;

/// `x_k → w_k clip((g_k(x_k) - centre_k) factor_k)`: `g` the identity, or the normal score of the
/// rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Coding {
    centre: Vec<f64>,
    factor: Vec<f64>,
    scales: Vec<f64>,
    ranks: Option<Ranks>,
}

/// Piecewise linear functions: the knots of column k are those from `starts[k]` on.
#[derive(Clone, Debug, PartialEq)]
struct Ranks {
    starts: Vec<usize>,
    values: Vec<f64>,
    scores: Vec<f64>,
}

impl Ranks {
    fn knots(&self, column: usize) -> (&[f64], &[f64]) {
        let (first, last) = (self.starts[column], self.starts[column + 1]);
        (&self.values[first..last], &self.scores[first..last])
    }

    fn score(&self, column: usize, x: f64) -> f64 {
        let (values, scores) = self.knots(column);
        let after = values.partition_point(|&v| v <= x);
        match (after.checked_sub(1), values.get(after)) {
            (Some(at), Some(next)) => {
                let share = (x - values[at]) / (next - values[at]);
                scores[at] + share * (scores[after] - scores[at])
            }
            (Some(at), None) => scores[at],
            (None, _) => scores.first().copied().unwrap_or(0.0),
        }
    }

    fn slope(&self, column: usize, x: f64) -> f64 {
        let (values, scores) = self.knots(column);
        let after = values.partition_point(|&v| v <= x);
        match (after.checked_sub(1), values.get(after)) {
            (Some(at), Some(next)) => (scores[after] - scores[at]) / (next - values[at]),
            (Some(_), None) | (None, _) => 0.0,
        }
    }
}

/// Rising values with their weights, equal ones together.
fn distinct(mut pairs: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    pairs.sort_by(|a, b| a.0.partial_cmp(&b.0).unwrap_or(Ordering::Equal));
    pairs.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 += next.1;
        }
        same
    });
    pairs
}

/// The standard normal quantile of p in (0, 1), to 2e-9 (Acklam's rational functions).
pub(super) fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let poly = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        poly(&C, q) / (poly(&D, q) * q + 1.0)
    };
    if p < 0.024_25 {
        tail(p)
    } else if p > 1.0 - 0.024_25 {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        poly(&A, r) * q / (poly(&B, r) * r + 1.0)
    }
}

/// One over the root of a variance; 0 for a constant.
fn reciprocal_spread(mean: f64, variance: f64) -> f64 {
    let spread = variance.sqrt();
    let varies = spread > LEAST_SPREAD * mean.abs() && spread > 0.0;
    if varies && spread.is_finite() { spread.recip() } else { 0.0 }
}

/// Weighted mean, and one over the standard deviation.
fn moments(pairs: impl Iterator<Item = (f64, f64)> + Clone) -> (f64, f64) {
    let total: f64 = pairs.clone().map(|(_, c)| c).sum();
    let mean = pairs.clone().map(|(v, c)| c * v).sum::<f64>() / total;
    let variance = pairs.map(|(v, c)| c * (v - mean) * (v - mean)).sum::<f64>() / total;
    (mean, reciprocal_spread(mean, variance))
}

impl Coding {
    /// Columns of mean 0 and variance 1, of the rows `index` with these weights, one each. `between`
    /// runs now and then; its error ends the work.
    ///
    /// # Errors
    /// `OutOfMemory`, those of `between`.
    pub fn standard<F: Real, E: From<Error>>(
        rows: &Rows<'_, F>,
        index: &[usize],
        weights: &[f64],
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let per_look = (BETWEEN_LOOKS / rows.n_cols().max(1)).max(1);
        let d = rows.n_cols();
        let mut sums = try_vec("columns", 2 * d, 0.0)?;
        let (mean, square) = sums.split_at_mut(d);
        let mut row = try_vec("a row", d, F::zero())?;
        let total: f64 = weights.iter().sum();
        for (at, (&i, c)) in index.iter().zip(weights).enumerate() {
            if at % per_look == 0 {
                between()?;
            }
            rows.copy_row(i, &mut row);
            mean.iter_mut().zip(&row).for_each(|(m, v)| *m += c / total * Real::to_f64(*v));
        }
        for (at, (&i, c)) in index.iter().zip(weights).enumerate() {
            if at % per_look == 0 {
                between()?;
            }
            rows.copy_row(i, &mut row);
            for ((s, m), v) in square.iter_mut().zip(&*mean).zip(&row) {
                *s += c / total * (Real::to_f64(*v) - m).powi(2);
            }
        }
        let factor = mean.iter().zip(&*square).map(|(m, s)| reciprocal_spread(*m, *s)).collect();
        Ok(Self { centre: mean.to_vec(), factor, scales: vec![1.0; d], ranks: None })
    }

    /// Normal scores of the weighted mid-ranks, of mean 0 and variance 1. `between` runs now and then;
    /// its error ends the work.
    ///
    /// # Errors
    /// `OutOfMemory`, those of `between`.
    pub fn ranks<F: Real, E: From<Error>>(
        rows: &Rows<'_, F>,
        index: &[usize],
        weights: &[f64],
        between: &mut dyn FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let per_look = (BETWEEN_LOOKS / rows.n_cols().max(1)).max(1);
        let d = rows.n_cols();
        let n = index.len().min(RANKED);
        let mut sample = try_vec("ranks", n.saturating_mul(d), F::zero())?;
        for (at, (row, &i)) in sample.chunks_exact_mut(d.max(1)).zip(index).enumerate() {
            if at % per_look == 0 {
                between()?;
            }
            rows.copy_row(i, row);
        }
        let (mut starts, mut values, mut scores) = (vec![0], Vec::new(), Vec::new());
        let (mut centre, mut factor) = (Vec::with_capacity(d), Vec::with_capacity(d));
        for k in 0..d {
            between()?;
            let column = sample.iter().skip(k).step_by(d).map(|&v| Real::to_f64(v));
            let pairs = distinct(column.zip(weights.iter().copied()).collect());
            let total: f64 = pairs.iter().map(|(_, c)| c).sum();
            let edge = 0.5 / n as f64;
            let mut below = 0.0;
            let scored: Vec<(f64, f64, f64)> = pairs
                .iter()
                .map(|&(v, c)| {
                    let rank = ((below + 0.5 * c) / total).clamp(edge, 1.0 - edge);
                    below += c;
                    (v, normal_quantile(rank), c)
                })
                .collect();
            let (mean, by) = moments(scored.iter().map(|&(_, z, c)| (z, c)));
            centre.push(mean);
            factor.push(by);
            let every = scored.len().div_ceil(KNOTS).max(1);
            let last = scored.len().saturating_sub(1);
            for (at, (v, z, _)) in scored.into_iter().enumerate() {
                if at % every == 0 || at == last {
                    values.push(v);
                    scores.push(z);
                }
            }
            starts.push(values.len());
        }
        let ranks = Some(Ranks { starts, values, scores });
        Ok(Self { centre, factor, scales: vec![1.0; d], ranks })
    }

    /// The same with other scales, one a column.
    ///
    /// # Errors
    /// `LengthMismatch`, `InvalidParam` unless they are finite and not negative.
    pub fn with_scales(&self, scales: Vec<f64>) -> Result<Self> {
        check_len("scales", self.n_features(), scales.len())?;
        if let Some(bad) = scales.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::param("scales", "finite and >= 0", bad));
        }
        Ok(Self { scales, ..self.clone() })
    }

    /// One over the spread of each column; 0 for a constant.
    pub(crate) fn factors(&self) -> &[f64] {
        &self.factor
    }

    /// Number of columns.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.centre.len()
    }

    /// What each column is multiplied by in the end.
    #[must_use]
    pub fn scales(&self) -> &[f64] {
        &self.scales
    }

    /// "standard" or "ranks".
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.ranks.is_some() { "ranks" } else { "standard" }
    }

    /// A row in coordinates.
    ///
    /// # Panics
    /// Unless `row` and `out` have as many values as there are columns.
    pub fn code<F: Real, G: Real>(&self, row: &[F], out: &mut [G]) {
        for (k, (out, v)) in out.iter_mut().zip(row).enumerate() {
            let v = Real::to_f64(*v);
            let g = self.ranks.as_ref().map_or(v, |ranks| ranks.score(k, v));
            let coded = ((g - self.centre[k]) * self.factor[k]).clamp(-FARTHEST, FARTHEST);
            *out = G::from_f64(coded * self.scales[k]);
        }
    }

    /// The derivatives of [`Coding::code`], one a column: of ranks those above a knot, 0 beyond the
    /// farthest and where a row is cut.
    pub(super) fn slopes<F: Real>(&self, row: &[F], out: &mut [f64]) {
        for (k, (out, v)) in out.iter_mut().zip(row).enumerate() {
            let v = Real::to_f64(*v);
            let (g, slope) = match &self.ranks {
                Some(ranks) => (ranks.score(k, v), ranks.slope(k, v)),
                None => (v, 1.0),
            };
            let cut = ((g - self.centre[k]) * self.factor[k]).abs() > FARTHEST;
            *out = if cut { 0.0 } else { slope * self.factor[k] * self.scales[k] };
        }
    }

    /// The rows `index` in coordinates, one after another.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn coded<F: Real, G: Real>(&self, rows: &Rows<'_, F>, index: &[usize]) -> Result<Vec<G>> {
        let d = self.n_features();
        let mut out = try_vec("coded rows", index.len().saturating_mul(d), G::zero())?;
        let parts = out.chunks_mut(ROW_CHUNK * d.max(1)).zip(index.chunks(ROW_CHUNK));
        parallel::each(parts, &|_, (out, index)| {
            let mut row = vec![F::zero(); d];
            for (out, &i) in out.chunks_exact_mut(d.max(1)).zip(index) {
                rows.copy_row(i, &mut row);
                self.code(&row, out);
            }
        });
        Ok(out)
    }

    pub(super) fn to_section(&self) -> Section {
        let mut section = Section::default();
        section.put_array("centre", Tensor::doubles(self.centre.clone()));
        section.put_array("factor", Tensor::doubles(self.factor.clone()));
        section.put_array("scales", Tensor::doubles(self.scales.clone()));
        if let Some(ranks) = &self.ranks {
            let starts = ranks.starts.iter().map(|&s| s as u64).collect();
            section.put_array("starts", Tensor::counts(starts));
            section.put_array("values", Tensor::doubles(ranks.values.clone()));
            section.put_array("scores", Tensor::doubles(ranks.scores.clone()));
        }
        section
    }

    pub(super) fn from_section(mut section: Section) -> Result<Self> {
        let bad = || Error::Format("coding".into());
        let centre = section.take_doubles("centre")?;
        let factor = section.take_doubles("factor")?;
        let scales = section.take_doubles("scales")?;
        let ranks = if section.has("starts") {
            let starts = section.take_sizes("starts")?;
            let (values, scores) =
                (section.take_doubles("values")?, section.take_doubles("scores")?);
            let ends = starts.first() == Some(&0) && starts.last() == Some(&values.len());
            let rise = starts.is_sorted_by(|a, b| a < b);
            if !(ends && rise && starts.len() == centre.len() + 1 && scores.len() == values.len()) {
                return Err(bad());
            }
            let ranks = Ranks { starts, values, scores };
            let rising = |k: usize| {
                let (values, scores) = ranks.knots(k);
                values.is_sorted_by(|a, b| a < b) && scores.is_sorted()
            };
            if !(0..centre.len()).all(rising) {
                return Err(bad());
            }
            Some(ranks)
        } else {
            None
        };
        section.end()?;
        let fits = factor.len() == centre.len() && factor.iter().all(|f| *f >= 0.0);
        let knots = ranks.iter().flat_map(|r| r.values.iter().chain(&r.scores));
        if !fits || !centre.iter().chain(&factor).chain(knots).all(|v| v.is_finite()) {
            return Err(bad());
        }
        Self { centre, factor, scales: Vec::new(), ranks }.with_scales(scales).map_err(|_| bad())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        let known =
            [(0.5, 0.0), (0.975, 1.959_963_985), (0.01, -2.326_347_874), (0.001, -3.090_232_306)];
        for (p, z) in known {
            assert!((normal_quantile(p) - z).abs() < 1e-8, "{p}");
            assert!((normal_quantile(1.0 - p) + z).abs() < 1e-8, "{p}");
        }
    }

    #[test]
    fn columns_have_mean_0_and_variance_1_however_they_are_measured() {
        let values: Vec<f64> = (0..300).map(|i| f64::from(i * i % 97) + 1e3).collect();
        let scaled: Vec<f64> = values.iter().map(|v| v * 0.125).collect();
        let index: Vec<usize> = (0..100).collect();
        let weights: Vec<f64> = (0..100).map(|i| f64::from(1 + i % 3)).collect();
        let (rows, others) =
            (Rows::of_slice(&values, 3).unwrap(), Rows::of_slice(&scaled, 3).unwrap());
        for make in [Coding::standard::<f64, Error>, Coding::ranks::<f64, Error>] {
            let coding = make(&rows, &index, &weights, &mut || Ok(())).unwrap();
            let coded: Vec<f64> = coding.coded(&rows, &index).unwrap();
            for k in 0..3 {
                let moment = |p: i32| -> f64 {
                    let all = coded.iter().skip(k).step_by(3).zip(&weights);
                    all.map(|(v, c)| c * v.powi(p)).sum::<f64>() / weights.iter().sum::<f64>()
                };
                assert!(moment(1).abs() < 1e-9 && (moment(2) - 1.0).abs() < 1e-9, "{k}");
            }
            let other = make(&others, &index, &weights, &mut || Ok(())).unwrap();
            assert_eq!(other.coded::<f64, f64>(&others, &index).unwrap(), coded);
            let again = Coding::from_section(coding.to_section()).unwrap();
            assert_eq!(again, coding);
        }
    }

    #[test]
    fn a_constant_column_says_nothing_and_ranks_keep_order() {
        let values: Vec<f64> = (0..2000).flat_map(|i| [0.1, f64::from(i).exp2().ln()]).collect();
        let rows = Rows::of_slice(&values, 2).unwrap();
        let index: Vec<usize> = (0..2000).collect();
        let ranks =
            Coding::ranks::<f64, Error>(&rows, &index, &vec![1.0; 2000], &mut || Ok(())).unwrap();
        let coded: Vec<f64> = ranks.coded(&rows, &index[..900]).unwrap();
        assert!(coded.chunks_exact(2).all(|row| row[0] == 0.0));
        assert!(coded.chunks_exact(2).map(|row| row[1]).is_sorted());
        let mut beyond = [0.0f64; 2];
        ranks.code(&[5.0, 1e9], &mut beyond);
        assert!(beyond[1] < 4.0);
        assert!(ranks.with_scales(vec![-1.0, 1.0]).is_err());
        assert!(ranks.with_scales(vec![1.0]).is_err());
    }
}
