//! How far a training is.

use serde::{Deserialize, Serialize};

/// How far the passes of an expansion are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passes {
    /// Samples seen.
    pub seen: u64,
    /// Steps made: the counter of BSGD.
    pub steps: u64,
}
