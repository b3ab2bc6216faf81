//! Files of fitted estimators: everything in a file is checked before any of it is used.
//!
//! A file is a [safetensors](https://huggingface.co/docs/safetensors) container, little-endian by
//! definition: tensors by name, and `__metadata__` with the one key `budgetsvm`, JSON that says what
//! they are ([`Archive`]).
//!
//! *Bounds.* Nothing in a file is run, no other path is opened, the header is at most 1 MB, sizes
//! are multiplied with overflow checks and compared with the file's length before anything is
//! allocated, so memory stays within the file's size and a constant.

mod archive;
mod atomic;
mod labels;
mod section;
mod strict;
mod tensors;
mod texts;

use std::path::Path;

pub use archive::Archive;
pub use labels::{Label, Labels};
pub use section::Section;
pub use tensors::{Data, Tensor, Tensors};

use crate::error::{Error, Result};

pub(crate) fn safetensors_path(path: &Path) -> Result<()> {
    if path.extension().is_none_or(|e| e != "safetensors") {
        let got = format!("'{}'", path.display());
        return Err(Error::param("path", "a file name ending in .safetensors", got));
    }
    Ok(())
}
