//! Models as LIBSVM's text: a header, then a line a support vector.
//!
//! ```text
//! svm_type c_svc            of n classes: nr_class - 1 coefficients a support vector, laid out as
//! kernel_type rbf           in [`PairwiseModel`]; a value of a pair is Σ coef k(s, x) - rho,
//! gamma 0.5                 positive for the first of the pair in the order of `label`
//! nr_class 2
//! total_sv 2
//! rho 0.1
//! label 1 -1
//! nr_sv 1 1
//! SV
//! 1 1:0.5 3:1
//! -1 2:1
//! ```
//!
//! What a file announces is believed only when it has come: memory is a few times the file's size.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::str::FromStr;

use ndarray::Array2;

use super::{PairwiseModel, Support};
use crate::data::Gathered;
use crate::data::svmlight::{Origin, Reader, Table, write_rows};
use crate::error::{Error, Result, check_len, try_push, try_reserve};
use crate::kernel::AnyKernel;
use crate::watch::Look;

/// The longest header.
const HEADER: u64 = 1 << 28;
/// More lines than a header of LIBSVM's has.
const FIELDS: usize = 16;

/// How far below zero a value of one class is inside all the same, relative to 1 + |rho|: rounding
/// leaves so much of a support vector on the boundary. Python's is `_votes.BOUNDARY`.
const BOUNDARY: f64 = 1e-9;

/// The threshold of a machine of one class whose text has this one: LIBSVM's rows inside are those
/// of values above zero, ours those of values from minus the boundary's width on.
fn of_text(rho: f64) -> f64 {
    rho + BOUNDARY * (1.0 + rho.abs())
}

/// The threshold that the text has of such a machine: `of_text` makes the same of it again, bit for
/// bit where rho is not far below the boundary's width.
fn for_text(rho: f64) -> f64 {
    let near = (rho - BOUNDARY) / (1.0 + BOUNDARY.copysign(rho - BOUNDARY));
    let (below, above) = (near.next_down(), near.next_up());
    let around = [near, below, above, below.next_down(), above.next_up()];
    around.into_iter().find(|&told| of_text(told) == rho).unwrap_or(near)
}

/// LIBSVM's machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `c_svc`.
    CSvc,
    /// `nu_svc`.
    NuSvc,
    /// `one_class`.
    OneClass,
    /// `epsilon_svr`.
    EpsilonSvr,
    /// `nu_svr`.
    NuSvr,
}

const KINDS: [(Kind, &str); 5] = [
    (Kind::CSvc, "c_svc"),
    (Kind::NuSvc, "nu_svc"),
    (Kind::OneClass, "one_class"),
    (Kind::EpsilonSvr, "epsilon_svr"),
    (Kind::NuSvr, "nu_svr"),
];

impl Kind {
    /// LIBSVM's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        KINDS.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// The machine of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|(_, known)| *known == name).map(|(kind, _)| *kind)
    }

    /// Whether it tells classes apart.
    #[must_use]
    pub fn has_classes(self) -> bool {
        matches!(self, Self::CSvc | Self::NuSvc)
    }
}

/// A model as the text has it.
#[derive(Clone, Debug)]
pub struct LibsvmModel {
    /// The machine.
    pub kind: Kind,
    /// One of LIBSVM's kernels of rows.
    pub kernel: AnyKernel,
    /// Labels of the classes, in the text's order; none of a machine without classes.
    pub labels: Vec<i64>,
    /// Support vectors of each class, in that order; one entry without classes.
    pub n_support: Vec<usize>,
    /// Coefficients, 1 x B or (classes - 1) x B.
    pub coef: Array2<f64>,
    /// What is taken off the value of every pair.
    pub rho: Vec<f64>,
    /// Slopes and offsets of the sigmoids of the pairs.
    pub sigmoids: Option<(Vec<f64>, Vec<f64>)>,
    /// Support vectors, class by class.
    pub rows: Gathered<f64>,
}

fn bad<T>(reason: impl Into<String>) -> Result<T> {
    Err(Error::InvalidData { what: "LIBSVM model", reason: reason.into() })
}

fn pairs_of(classes: usize) -> Option<usize> {
    Some(classes.checked_mul(classes.checked_sub(1)?)? / 2)
}

/// The next line with its end, nothing where there is no more.
fn read_line(from: &mut impl BufRead, look: Look<'_>) -> Result<Vec<u8>> {
    let mut line = Vec::new();
    loop {
        look()?;
        let part = from.fill_buf();
        let part = part.map_err(|source| Error::Io { path: "(stream)".into(), source })?;
        let end = part.iter().position(|&b| b == b'\n').map(|end| end + 1);
        let used = end.unwrap_or(part.len());
        if line.capacity() - line.len() < used {
            let more = used.max(line.len());
            try_reserve("a line", &mut line, more)?;
        }
        line.extend_from_slice(&part[..used]);
        from.consume(used);
        if end.is_some() || used == 0 {
            return Ok(line);
        }
    }
}

/// The lines of a header.
#[derive(Default)]
struct Header {
    fields: Vec<(String, String)>,
    lines: usize,
}

impl Header {
    fn read(from: &mut impl BufRead, look: Look<'_>) -> Result<Self> {
        let mut header = Self::default();
        let mut from = from.take(HEADER);
        loop {
            let line = read_line(&mut from, look)?;
            header.lines += 1;
            let Ok(mut text) = String::from_utf8(line) else {
                return bad(format!("line {}: no text", header.lines));
            };
            let named = text.trim_start();
            let end = named.find(char::is_whitespace).unwrap_or(named.len());
            match &named[..end] {
                "SV" => return Ok(header),
                "" if text.is_empty() => return bad("the line SV is missing"),
                name if header.fields.iter().any(|(known, _)| known == name) => {
                    return bad(format!("line {}: {name} comes twice", header.lines));
                }
                name if header.fields.len() == FIELDS => {
                    let name: String = name.chars().take(32).collect();
                    return bad(format!("unknown line {name:?}"));
                }
                name => {
                    let name: String = name.chars().take(64).collect();
                    let end = text.len() - named.len() + end;
                    text.drain(..end);
                    header.fields.push((name, text));
                }
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<String> {
        let at = self.fields.iter().position(|(known, _)| known == name)?;
        Some(self.fields.swap_remove(at).1)
    }

    fn some<T: FromStr>(&mut self, name: &str) -> Result<Option<Vec<T>>> {
        let Some(text) = self.take(name) else { return Ok(None) };
        let mut all = Vec::new();
        for number in text.split_whitespace() {
            match number.parse() {
                Ok(number) => try_push("a line of numbers", &mut all, number)?,
                Err(_) => return bad(format!("{name}: no list of numbers of its kind")),
            }
        }
        Ok(Some(all))
    }

    fn all<T: FromStr>(&mut self, name: &str, count: usize) -> Result<Vec<T>> {
        match self.some(name)? {
            Some(all) if all.len() == count => Ok(all),
            Some(all) => bad(format!("{name} has {} numbers, {count} needed", all.len())),
            None => bad(format!("{name} is missing")),
        }
    }

    fn one<T: FromStr + Copy>(&mut self, name: &str) -> Result<T> {
        Ok(self.all(name, 1)?[0])
    }

    fn kernel(&mut self) -> Result<AnyKernel> {
        let Some(name) = self.take("kernel_type") else { return bad("kernel_type is missing") };
        let gamma = |header: &mut Self| {
            let gamma: f64 = header.one("gamma")?;
            // LIBSVM takes 0, beside which distances and products vanish.
            Ok::<_, Error>(if gamma == 0.0 { f64::MIN_POSITIVE } else { gamma })
        };
        let kernel = match name.trim() {
            "linear" => AnyKernel::Linear,
            "polynomial" => AnyKernel::Polynomial {
                gamma: gamma(self)?,
                coef0: self.one("coef0")?,
                degree: self.one("degree")?,
            },
            "rbf" => AnyKernel::Gaussian { gamma: gamma(self)? },
            "sigmoid" => AnyKernel::Sigmoid { gamma: gamma(self)?, coef0: self.one("coef0")? },
            "precomputed" => return bad("kernel_type precomputed: it has no support vectors"),
            other => {
                return bad(format!(
                    "kernel_type {:?}",
                    other.chars().take(32).collect::<String>()
                ));
            }
        };
        kernel.check()?;
        Ok(kernel)
    }
}

fn finite(name: &str, values: &[f64]) -> Result<()> {
    match values.iter().all(|v| v.is_finite()) {
        true => Ok(()),
        false => bad(format!("{name} contains NaN or infinity")),
    }
}

impl LibsvmModel {
    /// Reads a model; `look` is asked now and then. `n_features`: the columns of rows, if not as
    /// many as the support vectors need.
    ///
    /// # Errors
    /// `InvalidData` for anything that is not exactly valid, `InvalidParam` of the kernel, `Io`,
    /// `OutOfMemory`, those of `look`.
    pub fn read(from: impl Read, n_features: Option<usize>, look: Look<'_>) -> Result<Self> {
        let mut from = BufReader::new(from);
        let mut header = Header::read(&mut from, look)?;
        let Some(kind) = header.take("svm_type").as_deref().map(str::trim).and_then(Kind::of_name)
        else {
            return bad("svm_type is missing or unknown");
        };
        let kernel = header.kernel()?;
        let classes: usize = header.one("nr_class")?;
        let terms: usize = header.one("total_sv")?;
        let (labels, outputs) = match (kind.has_classes(), pairs_of(classes)) {
            (true, Some(pairs)) if pairs > 0 => (header.all("label", classes)?, pairs),
            (false, _) if classes == 2 => (Vec::new(), 1),
            _ => return bad(format!("nr_class {classes} of svm_type {}", kind.name())),
        };
        let mut rho = header.all("rho", outputs)?;
        if kind == Kind::OneClass {
            rho.iter_mut().for_each(|rho| *rho = of_text(*rho));
        }
        finite("rho", &rho)?;
        let n_support = if labels.is_empty() {
            vec![terms]
        } else {
            let each: Vec<usize> = header.all("nr_sv", classes)?;
            let sum = each.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
            if sum != Some(terms) {
                return bad(format!("nr_sv do not sum to total_sv {terms}"));
            }
            each
        };
        let mut sorted = labels.clone();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            return bad("a label comes twice");
        }
        let sigmoids = match (header.some::<f64>("probA")?, header.some::<f64>("probB")?) {
            (Some(a), Some(b)) if kind.has_classes() => {
                check_len("probA", outputs, a.len())?;
                check_len("probB", outputs, b.len())?;
                finite("probA", &a)?;
                finite("probB", &b)?;
                Some((a, b))
            }
            // The spread of a regression's errors, which no machine here has.
            _ => None,
        };
        let _ = header.take("prob_density_marks");
        // What other kernels have.
        for name in ["gamma", "coef0", "degree"] {
            let _ = header.take(name);
        }
        if let Some((name, _)) = header.fields.first() {
            let name: String = name.chars().take(32).collect();
            return bad(format!("unknown line {name:?}"));
        }
        let each = labels.len().max(2) - 1;
        let reader = Reader::with_labels(from, each).behind(header.lines);
        let (rows, coef) = read_rows(reader, (terms, each), n_features, look)?;
        Ok(Self { kind, kernel, labels, n_support, coef, rho, sigmoids, rows })
    }

    /// The text.
    ///
    /// # Errors
    /// `Unsupported` for a kernel that LIBSVM does not have, `LengthMismatch`, `NonFinite`.
    pub fn write(&self) -> Result<Vec<String>> {
        self.write_watched(&mut || Ok(()))
    }

    /// [`LibsvmModel::write`]; `look` is asked between blocks of rows.
    ///
    /// # Errors
    /// As there, and those of `look`.
    pub fn write_watched(&self, look: Look<'_>) -> Result<Vec<String>> {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "svm_type {}", self.kind.name());
        match self.kernel {
            AnyKernel::Linear => out.push_str("kernel_type linear\n"),
            AnyKernel::Gaussian { gamma } => {
                let _ = writeln!(out, "kernel_type rbf\ngamma {gamma:?}");
            }
            AnyKernel::Polynomial { gamma, coef0, degree } => {
                let _ = write!(out, "kernel_type polynomial\ndegree {degree}\n");
                let _ = writeln!(out, "gamma {gamma:?}\ncoef0 {coef0:?}");
            }
            AnyKernel::Sigmoid { gamma, coef0 } => {
                let _ = writeln!(out, "kernel_type sigmoid\ngamma {gamma:?}\ncoef0 {coef0:?}");
            }
            AnyKernel::Laplacian { .. }
            | AnyKernel::Matern32 { .. }
            | AnyKernel::Matern52 { .. } => {
                let known = "'rbf', 'poly', 'sigmoid' or 'linear'";
                let own = self.kernel.name();
                return Err(Error::Unsupported(format!(
                    "LIBSVM has no kernel='{own}': its text holds {known}; save() holds all"
                )));
            }
        }
        let terms: usize = self.n_support.iter().sum();
        check_len("dual_coef_", terms, self.coef.ncols())?;
        let mut list = |name: &str, values: &mut dyn Iterator<Item = String>| {
            let _ = writeln!(out, "{name} {}", values.collect::<Vec<_>>().join(" "));
        };
        let plain = |v: &f64| format!("{v:?}");
        list("nr_class", &mut [self.labels.len().max(2).to_string()].into_iter());
        list("total_sv", &mut [terms.to_string()].into_iter());
        let one_class = self.kind == Kind::OneClass;
        let told = |&rho: &f64| plain(&if one_class { for_text(rho) } else { rho });
        list("rho", &mut self.rho.iter().map(told));
        if !self.labels.is_empty() {
            list("label", &mut self.labels.iter().map(i64::to_string));
            if let Some((a, b)) = &self.sigmoids {
                list("probA", &mut a.iter().map(plain));
                list("probB", &mut b.iter().map(plain));
            }
            list("nr_sv", &mut self.n_support.iter().map(usize::to_string));
        }
        out.push_str("SV\n");
        let each: Vec<f64> = self.coef.t().iter().copied().collect();
        let mut text = vec![out];
        if terms > 0 {
            text.extend(write_rows(&self.rows.rows()?, (&each, self.coef.nrows()), 1, look)?);
        }
        Ok(text)
    }

    /// The machine with its classes in rising order, their labels, and the sigmoids.
    ///
    /// # Errors
    /// Those of [`PairwiseModel::new`].
    #[expect(clippy::type_complexity, reason = "three answers, each of a plain type")]
    pub fn into_model(
        self,
    ) -> Result<(PairwiseModel<f64>, Vec<i64>, Option<(Vec<f64>, Vec<f64>)>)> {
        let k = self.labels.len();
        if k == 0 {
            let intercept = self.rho.iter().map(|rho| -rho).collect();
            let support = Support::Vectors(self.kernel, self.rows);
            let model = PairwiseModel::new(support, self.n_support, self.coef, intercept)?;
            return Ok((model, Vec::new(), None));
        }
        let mut order: Vec<usize> = (0..k).collect();
        order.sort_by_key(|&c| self.labels[c]);
        let mut firsts = vec![0];
        self.n_support.iter().for_each(|n| firsts.push(firsts[firsts.len() - 1] + n));
        let rows = |class: usize| firsts[class]..firsts[class + 1];
        let picked: Vec<usize> = order.iter().flat_map(|&c| rows(c)).collect();
        // Of two classes the machine is one for the second.
        let whole = if k == 2 { -1.0 } else { 1.0 };
        let mut coef = Array2::zeros(self.coef.dim());
        let (mut intercept, mut slopes, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
        let mut begins = vec![0];
        order.iter().for_each(|&c| begins.push(begins[begins.len() - 1] + self.n_support[c]));
        for p in 0..k {
            for q in p + 1..k {
                let (a, b) = (order[p], order[q]);
                let sign = if a < b { 1.0 } else { -1.0 };
                let (i, j) = (a.min(b), a.max(b));
                let pair = i * k - i * (i + 1) / 2 + (j - i - 1);
                intercept.push(-whole * sign * self.rho[pair]);
                if let Some((slope, offset)) = &self.sigmoids {
                    slopes.push(slope[pair]);
                    offsets.push(sign * offset[pair]);
                }
                for (own, other, place, to) in [(a, b, p, q - 1), (b, a, q, p)] {
                    let from = if other > own { other - 1 } else { other };
                    for (t, row) in rows(own).enumerate() {
                        coef[(to, begins[place] + t)] = whole * sign * self.coef[(from, row)];
                    }
                }
            }
        }
        let support = Support::Vectors(self.kernel, Gathered::new(&self.rows.rows()?, &picked)?);
        let n_support = order.iter().map(|&c| self.n_support[c]).collect();
        let labels = order.iter().map(|&c| self.labels[c]).collect();
        let model = PairwiseModel::new(support, n_support, coef, intercept)?;
        Ok((model, labels, self.sigmoids.map(|_| (slopes, offsets))))
    }
}

fn read_rows(
    mut reader: Reader<impl Read>,
    (terms, each): (usize, usize),
    n_features: Option<usize>,
    look: Look<'_>,
) -> Result<(Gathered<f64>, Array2<f64>)> {
    if terms == 0 {
        if !reader.watched_block::<f64>(look)?.is_empty() {
            return bad("support vectors, but total_sv 0");
        }
        let (values, columns, starts) = (Vec::new(), Vec::new(), vec![0]);
        let n_cols = n_features.unwrap_or(1);
        return Ok((Gathered::Csr { values, columns, starts, n_cols }, Array2::zeros((each, 0))));
    }
    let table = Table::read(reader, Origin::One, n_features, look)?;
    check_len("SV", terms, table.n_rows())?;
    let Ok(coef) = Array2::from_shape_vec((terms, each), table.labels) else {
        return bad("coefficients");
    };
    let columns = table.columns.into_iter().map(i64::from).collect();
    let (values, starts, n_cols) = (table.values, table.starts, table.n_cols.max(1));
    Ok((Gathered::Csr { values, columns, starts, n_cols }, coef.reversed_axes()))
}

#[cfg(test)]
mod tests;
