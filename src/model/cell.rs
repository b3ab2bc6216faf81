//! What decides in one cell.

use super::scratch::{Scratch, with_scratch, with_values};
use super::{KernelModel, PairwiseModel, Support};
use crate::data::{Gathered, Rows};
use crate::error::{Error, Result, check_len};
use crate::float::Real;
use crate::kernel::AnyKernel;
use crate::watch::Look;

/// The value of a class that the cell does not have.
const ABSENT: f64 = -1.0;

/// The machine of a cell.
#[derive(Clone, Debug)]
pub enum CellMachine<F: Real> {
    /// An expansion for all outputs; a constant is one without terms.
    Expansion(KernelModel<F>),
    /// An exact machine of some of the classes.
    Pairs(Box<CellPairs<F>>),
}

/// An exact machine of at least two of several classes.
#[derive(Clone, Debug)]
pub struct CellPairs<F: Real> {
    machine: PairwiseModel<F>,
    kernel: AnyKernel,
    classes: Vec<usize>,
}

impl<F: Real> CellPairs<F> {
    /// The machine of these classes, rising.
    ///
    /// # Errors
    /// `LengthMismatch`, `BadLabels` unless they rise, `Unsupported` for kernel values in the place
    /// of a kernel.
    pub fn new(machine: PairwiseModel<F>, classes: Vec<usize>) -> Result<Self> {
        check_len("classes of a cell", machine.n_support().len(), classes.len())?;
        if classes.len() < 2 || !classes.is_sorted_by(|a, b| a < b) {
            return Err(Error::BadLabels("classes of a cell".into()));
        }
        let Support::Vectors(kernel, _) = *machine.support() else {
            return Err(Error::Unsupported("cells need a kernel of rows".into()));
        };
        Ok(Self { machine, kernel, classes })
    }

    /// The machine.
    #[must_use]
    pub fn machine(&self) -> &PairwiseModel<F> {
        &self.machine
    }

    /// Its classes, rising.
    #[must_use]
    pub fn classes(&self) -> &[usize] {
        &self.classes
    }

    /// Values of every class: from -1 to 1 by the share of votes of its pairs, and by the sum of
    /// their values between classes of as many; -1 for those that the cell does not have.
    fn values(&self, pairs: &[f64], (votes, sums): (&mut [f64], &mut [f64]), out: &mut [f64]) {
        out.fill(ABSENT);
        votes.fill(0.0);
        sums.fill(0.0);
        let k = self.classes.len();
        let mut output = 0;
        for i in 0..k {
            for j in i + 1..k {
                // The machine of two classes is positive for the second.
                let value = if k == 2 { -pairs[output] } else { pairs[output] };
                votes[if value > 0.0 { i } else { j }] += 1.0;
                sums[i] += value;
                sums[j] -= value;
                output += 1;
            }
        }
        for (c, &class) in self.classes.iter().enumerate() {
            out[class] = 2.0 * (votes[c] + tie(sums[c])) / (k - 1) as f64 - 1.0;
        }
    }

    /// Gradients (rows x outputs x features) of [`CellPairs::values`], whose votes are constant but
    /// on the boundaries of the pairs.
    fn gradient(&self, rows: &Rows<'_, F>, out: &mut [f64], look: Look<'_>) -> Result<()> {
        let (n, k, m) = (rows.n_rows(), self.classes.len(), self.machine.n_outputs());
        let d = self.machine.n_features();
        let width = out.len() / n.max(1);
        with_values(n * m + k + k * d, |room| {
            let (values, room) = room.split_at_mut(n * m);
            let (sums, slopes) = room.split_at_mut(k);
            self.machine.decision(rows, values, &mut || Ok(()))?;
            let of_row = values.chunks_exact(m).zip(out.chunks_exact_mut(width.max(1)));
            for (row, (values, out)) in of_row.enumerate() {
                out.fill(0.0);
                sums.fill(0.0);
                let all = (0..k).flat_map(|i| (i + 1..k).map(move |j| (i, j)));
                let signed = |value: f64| if k == 2 { -value } else { value };
                for ((i, j), &value) in all.clone().zip(values) {
                    sums[i] += signed(value);
                    sums[j] -= signed(value);
                }
                let by = |c: usize, side| signed(side) * tie_slope(sums[c]) * 2.0 / (k - 1) as f64;
                let factors: Vec<(f64, f64)> =
                    all.map(|(i, j)| (by(i, 1.0), by(j, -1.0))).collect();
                let row = rows.range(row, row + 1);
                self.machine.class_gradients(&row, &factors, slopes, &mut *look)?;
                for (&class, slopes) in self.classes.iter().zip(slopes.chunks_exact(d)) {
                    out[class * d..][..d].copy_from_slice(slopes);
                }
            }
            Ok(())
        })
    }

    /// Values (rows x outputs) of rows.
    fn decide(&self, rows: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        let (n, k, m) = (rows.n_rows(), self.classes.len(), self.machine.n_outputs());
        let outputs = out.len() / n.max(1);
        with_values(n * m + 2 * k, |room| {
            let (pairs, room) = room.split_at_mut(n * m);
            let (votes, sums) = room.split_at_mut(k);
            self.machine.decision(rows, pairs, &mut || Ok(()))?;
            for (pairs, out) in pairs.chunks_exact(m).zip(out.chunks_exact_mut(outputs)) {
                self.values(pairs, (&mut *votes, &mut *sums), out);
            }
            Ok(())
        })
    }
}

/// The value of a sum of pairs' values between classes of as many votes.
fn tie(sum: f64) -> f64 {
    sum / (3.0 * (sum.abs() + 1.0))
}

/// Its derivative.
fn tie_slope(sum: f64) -> f64 {
    1.0 / (3.0 * (sum.abs() + 1.0).powi(2))
}

impl<F: Real> From<KernelModel<F>> for CellMachine<F> {
    fn from(model: KernelModel<F>) -> Self {
        Self::Expansion(model)
    }
}

impl<F: Real> CellMachine<F> {
    /// Number of terms.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        match self {
            Self::Expansion(model) => model.n_terms(),
            Self::Pairs(pairs) => pairs.machine.n_terms(),
        }
    }

    /// Number of features of a row.
    #[must_use]
    pub fn n_features(&self) -> usize {
        match self {
            Self::Expansion(model) => model.n_features(),
            Self::Pairs(pairs) => pairs.machine.n_features(),
        }
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> AnyKernel {
        match self {
            Self::Expansion(model) => model.kernel(),
            Self::Pairs(pairs) => pairs.kernel,
        }
    }

    /// Whether it decides with so many outputs.
    pub(super) fn has_outputs(&self, outputs: usize) -> bool {
        match self {
            Self::Expansion(model) => model.n_outputs() == outputs,
            Self::Pairs(pairs) => pairs.classes.iter().all(|&class| class < outputs),
        }
    }

    /// Values (rows x outputs) of some rows.
    pub(super) fn decide(
        &self,
        rows: &Rows<'_, F>,
        chosen: &[usize],
        scratch: &mut Scratch<F>,
        out: &mut [f64],
    ) -> Result<()> {
        match self {
            Self::Expansion(model) => model.decide_some(rows, |i| chosen[i], scratch, out),
            Self::Pairs(pairs) => pairs.decide(&Gathered::new(rows, chosen)?.rows()?, out),
        }
    }

    /// Gradients (rows x outputs x features) of some rows.
    pub(super) fn gradient(
        &self,
        rows: &Rows<'_, F>,
        chosen: &[usize],
        scratch: &mut Scratch<F>,
        out: &mut [f64],
        look: Look<'_>,
    ) -> Result<()> {
        match self {
            Self::Expansion(model) => {
                let width = out.len() / chosen.len().max(1);
                let all = (0, model.n_outputs());
                model.gradients(rows, |i| chosen[i], all, scratch, (out, width.max(1), 0))
            }
            Self::Pairs(pairs) => pairs.gradient(&Gathered::new(rows, chosen)?.rows()?, out, look),
        }
    }

    /// Values of one row, without an allocation once this thread has decided about one.
    pub(super) fn decide_one(&self, row: &Rows<'_, F>, out: &mut [f64]) -> Result<()> {
        match self {
            Self::Expansion(model) => {
                with_scratch(|scratch| model.decide_some(row, |_| 0, scratch, out))
            }
            Self::Pairs(pairs) => pairs.decide(row, out),
        }
    }
}
