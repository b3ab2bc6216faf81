//! Files that are written whole or not at all.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
#[cfg(feature = "train")]
use crate::watch::Look;

/// Bytes that are written between two looks.
#[cfg(feature = "train")]
const AT_ONCE: usize = 1 << 25;

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Error + '_ {
    |source| Error::Io { path: path.to_path_buf(), source }
}

/// Writes `bytes` to a temporary file beside `path`, syncs it, and renames it to `path`: after a
/// crash there is the old file or the new one. A symbolic link at `path` is replaced, never
/// followed.
///
/// # Errors
/// `Io`, those of `look`; then the temporary file is gone and `path` as it was.
#[cfg(feature = "train")]
pub(super) fn write(path: &Path, bytes: &[u8], look: Look<'_>) -> Result<()> {
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".budgetsvm-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // What any new file gets: the umask takes its bits off.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut file = builder.tempfile_in(&folder).map_err(io(path))?;
    for part in bytes.chunks(AT_ONCE) {
        file.write_all(part).map_err(io(path))?;
        look()?;
    }
    file.as_file().sync_all().map_err(io(path))?;
    file.persist(path).map_err(|e| io(path)(e.error))?;
    // The rename itself is durable once the folder is synced; Windows has no such call.
    #[cfg(unix)]
    File::open(&folder).and_then(|folder| folder.sync_all()).map_err(io(path))?;
    Ok(())
}

/// Opens a regular file for reading, with its length.
///
/// # Errors
/// `Io`; also for a folder, a pipe or a device, which could block for ever.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let regular = fs::metadata(path).map_err(io(path))?.is_file();
    if !regular {
        return Err(io(path)(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "not a regular file",
        )));
    }
    let file = File::open(path).map_err(io(path))?;
    let len = file.metadata().map_err(io(path))?.len();
    Ok((file, len))
}
