//! What decides in one cell.

use super::scratch::Scratch;
use super::{KernelModel, PairwiseModel, Support};
use crate::data::{Gathered, Rows};
use crate::error::{Error, Result, check_len};
use crate::float::Real;
use crate::kernel::AnyKernel;

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
    fn values(&self, pairs: &[f64], out: &mut [f64]) {
        out.fill(ABSENT);
        let k = self.classes.len();
        let (mut votes, mut sums) = (vec![0.0; k], vec![0.0; k]);
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
            let sum: f64 = sums[c];
            let value = votes[c] + sum / (3.0 * (sum.abs() + 1.0));
            out[class] = 2.0 * value / (k - 1) as f64 - 1.0;
        }
    }
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
            Self::Pairs(pairs) => {
                let (machine, outputs) = (&pairs.machine, out.len() / chosen.len().max(1));
                let own = Gathered::new(rows, chosen)?;
                let mut values = vec![0.0; chosen.len() * machine.n_outputs()];
                machine.decision(&own.rows()?, &mut values)?;
                let values = values.chunks_exact(machine.n_outputs());
                for (values, out) in values.zip(out.chunks_exact_mut(outputs)) {
                    pairs.values(values, out);
                }
                Ok(())
            }
        }
    }
}
