//! A Cholesky factor in `f32`: what preconditions needs to be no nearer, and takes a quarter of the
//! memory to read.

use super::Tiles;
use super::panels::Panels;
use crate::error::{Error, Result};
use crate::parallel;
use crate::simd::touched;
use crate::watch::{Reader, Words};

/// Rows that a task writes.
const TASK: usize = 16;

/// L.
#[derive(Clone, Debug)]
pub(crate) struct Single(Panels);

impl Single {
    /// The factor rounded, from its tiles; `between` runs on the calling thread after every panel, and
    /// its error ends the work.
    pub(crate) fn new<E: From<Error>>(
        factor: &Tiles,
        mut between: impl FnMut() -> std::result::Result<(), E>,
    ) -> std::result::Result<Self, E> {
        let mut panels = Panels::of(factor.order());
        while let Some((first, stride)) = panels.next() {
            let len = (stride - first) * stride;
            let mut panel = touched("preconditioner", len, &mut || Ok::<_, E>(()))?;
            parallel::each(panel.chunks_mut(TASK * stride), &|task, rows| {
                factor.copy_rows(first + task * TASK, rows, stride);
            });
            panels.push(panel)?;
            between()?;
        }
        Ok(Self(panels))
    }

    /// For a checkpoint.
    pub(crate) fn put(&self, words: &mut Words) {
        words.put(self.0.order() as u64);
        for panel in self.0.all() {
            let two = |pair: &[f32]| {
                let bits = |at: usize| u64::from(pair.get(at).map_or(0, |v| v.to_bits()));
                bits(0) << 32 | bits(1)
            };
            words.put_all(panel.chunks(2).map(two));
        }
    }

    /// What [`Single::put`] put, of so many unknowns.
    pub(crate) fn read(n: usize, reader: &mut Reader) -> Result<Self> {
        if reader.take_count(n)? != n {
            return Err(Reader::bad());
        }
        let mut panels = Panels::of(n);
        while let Some((first, stride)) = panels.next() {
            let size = (stride - first) * stride;
            let words = reader.take_all()?;
            if words.len() != size.div_ceil(2) {
                return Err(Reader::bad());
            }
            let both = words.iter().flat_map(|&two| [(two >> 32) as u32, two as u32]);
            panels.push(both.take(size).map(f32::from_bits).collect())?;
        }
        Ok(Self(panels))
    }

    /// Overwrites a right side by `L⁻ᵀ L⁻¹` times it, in `f64`, by the pool where the matrix is large:
    /// two passes over the factor, cut into fixed parts.
    pub(crate) fn solve(&self, x: &mut [f64]) {
        self.0.solve(x, true);
    }

    /// By `L⁻ᵀ` times it.
    pub(crate) fn solve_upper(&self, x: &mut [f64]) {
        self.0.solve(x, false);
    }
}
