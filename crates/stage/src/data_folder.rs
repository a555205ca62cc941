//! The folder of a service's data: locked while its owner lives, removed after it.
//!
//! In: the name of a service. Out: a new folder; those that a killed process of this user left are
//! removed. Never: a folder of another user, or of a living process, also in another container that
//! has the same folder for temporary files.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// The names of these folders begin so.
const PREFIX: &str = "ceiling-data-";

/// A folder that is removed with its contents when this is dropped.
pub struct DataFolder {
    path: PathBuf,
    /// Holds the lock, flock(2), which the kernel releases when this process ends in any way.
    _lock: File,
}

impl DataFolder {
    /// Makes it. Not below the directory of runs: the path of a unix socket is short, and a
    /// database that runs as another user must be able to enter. `/var/tmp` survives a restart and
    /// so is on a disk.
    pub fn make(name: &str) -> Result<Self, String> {
        let parent = env::var_os("TMPDIR").map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from);
        remove_left(&parent);
        Self::make_in(&parent, name, File::try_lock)
    }

    /// An existing folder of a name may belong to another user, or to a process of another
    /// container with our number.
    fn make_in(parent: &Path, name: &str, try_lock: TryLock) -> Result<Self, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{count}-{name}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(format!("cannot make {}: {error}", path.display())),
            }
            match lock(&path, try_lock) {
                Ok(Some(lock)) => return Ok(Self { path, _lock: lock }),
                // Another process took it for one that was left.
                Ok(None) => {}
                Err(error) => {
                    let _ = fs::remove_dir(&path);
                    return Err(format!("cannot lock {}: {error}", path.display()));
                }
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for DataFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// What tries to lock a folder.
type TryLock = fn(&File) -> Result<(), TryLockError>;

/// The lock of a folder; none if another process has it or has removed the folder.
fn lock(path: &Path, try_lock: TryLock) -> Result<Option<File>, Error> {
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    match try_lock(&file) {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(error)) => return Err(error),
    }
    let (held, there) = (file.metadata()?, fs::symlink_metadata(path));
    let is_there = there.is_ok_and(|there| (there.dev(), there.ino()) == (held.dev(), held.ino()));
    Ok(is_there.then_some(file))
}

/// Removes the folders of this user's processes that ended without doing so.
fn remove_left(parent: &Path) {
    let us = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let ours = entry.metadata().is_ok_and(|there| there.is_dir() && there.uid() == us);
        if ours
            && is_data_folder(&entry.file_name().to_string_lossy())
            && let Ok(Some(_lock)) = lock(&entry.path(), File::try_lock)
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// `ceiling-data-PID-COUNT-NAME`
fn is_data_folder(name: &str) -> bool {
    let Some(rest) = name.strip_prefix(PREFIX) else { return false };
    let mut parts = rest.splitn(3, '-');
    let is_number = |of: Option<&str>| of.is_some_and(|part| part.parse::<u32>().is_ok());
    is_number(parts.next()) && is_number(parts.next()) && parts.next().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder for a test, removed by it.
    fn above(name: &str) -> PathBuf {
        let path = env::temp_dir().join(format!("lab-{name}-{}", std::process::id()));
        fs::create_dir(&path).unwrap();
        path
    }

    #[test]
    fn a_folder_that_is_there_already_is_another_one() {
        let parent = above("there-already");
        let number = |folder: &Path| -> u32 {
            let name = folder.file_name().unwrap().to_string_lossy().into_owned();
            name.split('-').nth(3).unwrap().parse().unwrap()
        };
        let name = "of-a-test";
        let first = DataFolder::make_in(&parent, name, File::try_lock).unwrap();
        // Other tests may take numbers meanwhile, but not all of these.
        let next = |more: u32| {
            let number = number(first.path()) + more;
            parent.join(format!("{PREFIX}{}-{number}-{name}", std::process::id()))
        };
        let left: Vec<PathBuf> = (1..100).map(next).collect();
        left.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let second = DataFolder::make_in(&parent, name, File::try_lock).unwrap();
        let second = second.path().to_path_buf();
        let is_new = !left.contains(&second) && second != first.path();
        fs::remove_dir_all(&parent).unwrap();
        assert!(is_new, "{}", second.display());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let parent = above("left");
        let lives = DataFolder::make_in(&parent, "lives", File::try_lock).unwrap();
        let left = parent.join("ceiling-data-1-0-postgres");
        fs::create_dir_all(left.join("data")).unwrap();
        let others = ["ceiling-data-1-0", "ceiling-runs-1-2", "other-1-0-postgres"];
        others.iter().for_each(|name| fs::create_dir(parent.join(name)).unwrap());
        fs::write(parent.join("ceiling-data-1-1-file"), "").unwrap();
        let link = parent.join("ceiling-data-2-1-x");
        std::os::unix::fs::symlink(parent.join("other-1-0-postgres"), &link).unwrap();
        remove_left(&parent);
        assert!(!left.exists() && lives.path().exists());
        assert!(others.iter().all(|name| parent.join(name).exists()));
        assert!(parent.join("ceiling-data-1-1-file").exists() && link.exists());
        let path = lives.path().to_path_buf();
        drop(lives);
        assert!(!path.exists());
        fs::remove_dir_all(&parent).unwrap();
    }

    /// As on a file system without locks.
    #[test]
    fn a_folder_that_cannot_be_locked_is_an_error_and_is_removed() {
        let parent = above("no-locks");
        let no_locks = |_: &File| Err(TryLockError::Error(ErrorKind::Unsupported.into()));
        let why = DataFolder::make_in(&parent, "x", no_locks).map(drop).unwrap_err();
        let left = fs::read_dir(&parent).unwrap().count();
        fs::remove_dir_all(&parent).unwrap();
        assert!(why.starts_with("cannot lock ") && why.contains(": unsupported"), "{why}");
        assert_eq!(left, 0);
    }
}
