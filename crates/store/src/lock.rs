//! A lock on the directory that a process writes; the kernel releases it when the process ends.

use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// A process that asks whether a directory is held has a lock on it for a moment.
const MOMENT: Duration = Duration::from_secs(2);
const STEP: Duration = Duration::from_millis(1);

/// Held by a process as long as it writes a directory. On a file system without locks there is
/// none, and the age of the files says whether a process is writing the directory.
#[derive(Debug)]
pub struct Lock {
    _directory: Option<File>,
}

impl Lock {
    /// Tells other processes that this one is writing a directory.
    pub fn hold(directory: &Path) -> Self {
        let file = File::open(directory).ok().filter(|file| locked(file).is_ok());
        Self { _directory: file }
    }

    /// Tells other processes that this one is writing a directory; an error when another one is.
    pub fn take(directory: &Path) -> io::Result<Self> {
        let file = File::open(directory)?;
        let held = |_| io::Error::other("another process is writing it");
        locked(&file).map_err(held)?;
        Ok(Self { _directory: Some(file) })
    }

    /// Whether a process holds a directory.
    pub(crate) fn is_held(directory: &Path) -> bool {
        let Ok(file) = File::open(directory) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

/// Locks a file for one process, if it is free after the moment that a question takes.
fn locked(file: &File) -> Result<(), TryLockError> {
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if begin.elapsed() < MOMENT => thread::sleep(STEP),
            tried => return tried,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_who_asks_takes_no_lock_away() {
        let directory = std::env::temp_dir().join(format!("store-lock-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        // What `is_held` has for a moment.
        let asked = File::open(&directory).unwrap();
        asked.try_lock_shared().unwrap();
        let late = thread::spawn(move || {
            thread::sleep(5 * STEP);
            drop(asked);
        });
        let lock = Lock::take(&directory).unwrap();
        late.join().unwrap();
        assert!(Lock::is_held(&directory));
        assert!(Lock::take(&directory).is_err(), "another one writes it");
        drop(lock);
        assert!(!Lock::is_held(&directory));
        std::fs::remove_dir(directory).unwrap();
    }
}
