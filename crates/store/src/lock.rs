//! Which directory a process writes: the kernel knows, and forgets with the process.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Held by the process that writes a directory, for as long as it does. Where a file system has no
/// locks there is none, and the age of its files says whether a directory is written.
#[derive(Debug)]
pub struct Lock {
    _directory: Option<File>,
}

impl Lock {
    /// Tells other processes that this one writes a directory.
    pub fn hold(directory: &Path) -> Self {
        let file = File::open(directory).ok().filter(|file| file.try_lock().is_ok());
        Self { _directory: file }
    }

    /// The same, for a directory that another process may write: an error when one does.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let file = File::open(directory)?;
        let held = |_| io::Error::other("another process writes it");
        file.try_lock().map_err(held)?;
        Ok(Self { _directory: Some(file) })
    }

    /// Whether a process holds a directory.
    pub(crate) fn is_held(directory: &Path) -> bool {
        let Ok(file) = File::open(directory) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}
