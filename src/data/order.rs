//! In which order a pass visits the samples.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, try_reserve};
use crate::rng::Rng;

/// Samples of a block: many bytes that follow one another in a file.
const BLOCK: usize = 4096;

/// The order of a pass of n steps over n samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum SampleOrder {
    /// A fresh random permutation each pass.
    #[default]
    Shuffled,
    /// n independent uniform draws (the BSCA paper's).
    Uniform,
    /// Blocks of 4,096 samples that follow one another, in a fresh random order each pass; the
    /// samples of a block in a fresh random order too. For samples that are read from a disk.
    Blocks,
    /// 0, 1, ..., n-1.
    Sequential,
    /// These indices, over and over; for tests that walk in step with a reference.
    #[serde(untagged)]
    Scripted(Vec<usize>),
}

impl SampleOrder {
    /// Fills `order` (length n) with the indices of the next pass.
    ///
    /// # Errors
    /// `InvalidParam` when a scripted order is empty or leaves the data.
    pub fn next_pass(&self, rng: &mut Rng, order: &mut [usize]) -> Result<()> {
        let n = order.len();
        match self {
            Self::Shuffled => {
                order.iter_mut().enumerate().for_each(|(i, o)| *o = i);
                rng.shuffle(order);
            }
            Self::Uniform => order.iter_mut().for_each(|o| *o = rng.below(n)),
            Self::Blocks => {
                let ids = blocks(rng, (n, n))?;
                order.copy_from_slice(&ids);
            }
            Self::Sequential => order.iter_mut().enumerate().for_each(|(i, o)| *o = i),
            Self::Scripted(script) => {
                if script.is_empty() || script.iter().any(|&i| i >= n) {
                    return Err(Error::param(
                        "order",
                        format!("a non-empty list of indices below {n}"),
                        format!("{} indices", script.len()),
                    ));
                }
                order.iter_mut().zip(script.iter().cycle()).for_each(|(o, &i)| *o = i);
            }
        }
        Ok(())
    }

    /// The first `most` indices of the next pass over `n` samples. Those of blocks take room for no
    /// more than these.
    pub(super) fn first_of_pass(
        &self,
        rng: &mut Rng,
        (n, most): (usize, usize),
        ids: &mut Vec<usize>,
    ) -> Result<()> {
        if let Self::Blocks = self {
            *ids = blocks(rng, (n, most.min(n)))?;
            return Ok(());
        }
        try_reserve("the order of the samples", ids, n.saturating_sub(ids.len()))?;
        ids.resize(n, 0);
        self.next_pass(rng, ids)?;
        ids.truncate(most);
        Ok(())
    }

    /// Of a pass over `n` samples that visits at most `most` where the order is random.
    #[must_use]
    pub(crate) fn visited(&self, n: usize, most: usize) -> usize {
        match self {
            Self::Shuffled | Self::Uniform | Self::Blocks => most.min(n),
            Self::Sequential | Self::Scripted(_) => n,
        }
    }
}

/// The first `most` of `n` samples, block after block.
fn blocks(rng: &mut Rng, (n, most): (usize, usize)) -> Result<Vec<usize>> {
    let (mut firsts, mut ids) = (Vec::new(), Vec::new());
    try_reserve("the order of the samples", &mut firsts, n.div_ceil(BLOCK))?;
    firsts.extend((0..n).step_by(BLOCK));
    rng.shuffle(&mut firsts);
    try_reserve("the order of the samples", &mut ids, most.saturating_add(BLOCK).min(n))?;
    for first in firsts {
        if ids.len() >= most {
            break;
        }
        let begin = ids.len();
        ids.extend(first..(first + BLOCK).min(n));
        rng.shuffle(&mut ids[begin..]);
    }
    ids.truncate(most);
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_stay_together_and_miss_nobody() {
        let n = 5 * BLOCK + 17;
        let mut whole = vec![0; n];
        SampleOrder::Blocks.next_pass(&mut Rng::new(3), &mut whole).unwrap();
        let mut sorted = whole.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..n));
        let mut runs: Vec<usize> = whole.iter().map(|i| i / BLOCK).collect();
        runs.dedup();
        assert_eq!(runs.len(), 6);
        assert!(!runs.is_sorted());
        assert!(whole[..17].windows(2).any(|pair| pair[0] > pair[1]));
        // A pass that visits some visits the same ones first.
        let mut some = Vec::new();
        SampleOrder::Blocks.first_of_pass(&mut Rng::new(3), (n, 5000), &mut some).unwrap();
        assert_eq!(some, whole[..5000]);
    }
}
