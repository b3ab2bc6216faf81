//! Files that a fit which was killed goes on from.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::config::not_negative;
use crate::error::{Error, Result};
use crate::model::persist::{Archive, Data, Tensor, safetensors_path};
use crate::watch::{Clock, Keeper};

/// What the names of arrays begin with.
const PREFIX: &str = "left.";

/// A file that has how far a fit is; it is written now and then while the fit runs, whole or not at
/// all, and read by the same fit when it is begun again.
///
/// A fit that has one ([`crate::estimator::Start::checkpoint`]) goes on from it, to the bits of one
/// that was not killed:
///
/// - inside a pass, between two blocks of samples, and on Ctrl-C,
/// - in polishing many samples or terms, between two looks at all samples,
/// - between passes, polishing and what comes behind it.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    every: Duration,
    of: Value,
    held: Mutex<Held>,
}

#[derive(Debug)]
struct Held {
    parts: BTreeMap<String, Vec<u64>>,
    found: bool,
    written: Clock,
}

impl Checkpoint {
    /// The file of this name, which may be there from a fit that was killed. `of`, an object, says what
    /// the fit is: all that its answer depends on. About `every` so many seconds it is written.
    ///
    /// # Errors
    /// `InvalidParam` unless the name ends in `.safetensors` and `every` is 0 or more, `Unsupported`
    /// where the file is of another fit, `Io`, `Format` for a file that is not exactly valid.
    pub fn open(path: &Path, every: f64, of: Value) -> Result<Self> {
        safetensors_path(path)?;
        not_negative("every", every)?;
        let every = Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX);
        let mut parts = BTreeMap::new();
        let found = path.exists();
        if found {
            let archive = Archive::load(path)?;
            if archive.estimator != of {
                return Err(Error::Unsupported(format!(
                    "{} is of another training: delete it to begin anew",
                    path.display()
                )));
            }
            for (name, tensor) in archive.arrays {
                let (Some(name), Data::U64(words)) = (name.strip_prefix(PREFIX), tensor.data)
                else {
                    return Err(Error::Format("arrays that are not of a checkpoint".into()));
                };
                parts.insert(name.to_owned(), words);
            }
        }
        let held = Mutex::new(Held { parts, found, written: Clock::start() });
        Ok(Self { path: path.to_owned(), every, of, held })
    }

    /// Whether there is something to go on from.
    #[must_use]
    pub fn is_found(&self) -> bool {
        self.held().found
    }

    /// The fit has ended: the file is deleted.
    ///
    /// # Errors
    /// `Io`.
    pub fn done(self) -> Result<()> {
        match std::fs::remove_file(&self.path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Io { path: self.path, source })
            }
            _ => Ok(()),
        }
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeper for Checkpoint {
    fn found(&self, name: &str) -> Option<Vec<u64>> {
        let held = self.held();
        held.found.then(|| held.parts.get(name).cloned()).flatten()
    }

    fn is_due(&self) -> bool {
        self.held().written.elapsed() >= self.every
    }

    fn keep(&self, name: &str, words: Vec<u64>, now: bool) -> Result<()> {
        let mut held = self.held();
        held.parts.insert(name.to_owned(), words);
        if !now {
            return Ok(());
        }
        let array = |(name, words): (&String, &Vec<u64>)| {
            let tensor = Tensor { shape: vec![words.len()], data: Data::U64(words.clone()) };
            (format!("{PREFIX}{name}"), tensor)
        };
        let arrays = held.parts.iter().map(array).collect();
        let archive = Archive { estimator: self.of.clone(), arrays, machine: None };
        archive.save(&self.path, &mut || Ok(()))?;
        held.written = Clock::start();
        Ok(())
    }
}
