//! A lock on the directory that a process writes; the kernel releases it when the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;

/// Held by a process as long as it writes a directory. On a file system without locks there is
/// none, and the age of the files says whether a process is writing the directory.
#[derive(Debug)]
pub struct Lock {
    _directory: Option<File>,
}

impl Lock {
    /// Tells other processes that this one is writing a directory.
    pub fn hold(directory: &Path) -> Self {
        let file = File::open(directory).ok().filter(|file| file.try_lock().is_ok());
        Self { _directory: file }
    }

    /// The same for a directory that another process may be writing: an error when one is.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let file = File::open(directory)?;
        let held = |_| io::Error::other("another process is writing it");
        file.try_lock().map_err(held)?;
        Ok(Self { _directory: Some(file) })
    }

    /// Whether a process holds a directory.
    pub(crate) fn is_held(directory: &Path) -> bool {
        let Ok(file) = File::open(directory) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}
