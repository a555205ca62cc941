//! Watches a folder and its subfolders for changes, with inotify.
//!
//! Hidden folders are left out, and so are folders beyond the kernel's limit of watches: a change
//! there is not noticed until something else changes.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
use rustix::io::{Errno, read};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Limits: how deep folders are watched, and below, how many.
const DEPTH_MAX: usize = 8;
const FOLDERS_MAX: usize = 20_000;

/// A watched folder.
#[derive(Debug)]
pub struct Changes {
    folder: PathBuf,
    events: OwnedFd,
}

impl Changes {
    /// Watches a folder and its subfolders.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let changes = Self { folder: folder.to_path_buf(), events };
        changes.watch(folder)?;
        changes.watch_below();
        Ok(changes)
    }

    fn watch(&self, folder: &Path) -> io::Result<()> {
        let kinds = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ONLYDIR;
        add_watch(&self.events, folder, kinds)?;
        Ok(())
    }

    /// Adds watches for all subfolders; existing watches stay.
    fn watch_below(&self) {
        let mut left = vec![(self.folder.clone(), 0)];
        let mut watched = 0;
        while let Some((folder, depth)) = left.pop() {
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
                if !is_folder || is_hidden || depth == DEPTH_MAX || watched == FOLDERS_MAX {
                    continue;
                }
                if self.watch(&entry.path()).is_err() {
                    return;
                }
                watched += 1;
                left.push((entry.path(), depth + 1));
            }
        }
    }

    /// Waits for a change, at most for `patience`; returns whether there was one. New folders are
    /// watched from then on.
    pub fn wait(&self, patience: Duration) -> io::Result<bool> {
        let limit = Timespec {
            tv_sec: patience.as_secs() as i64,
            tv_nsec: i64::from(patience.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(&self.events, PollFlags::IN)], Some(&limit)) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        // It does not matter what changed.
        let mut buffer = [0_u8; 16 << 10];
        while read(&self.events, &mut buffer).is_ok_and(|count| count > 0) {}
        self.watch_below();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::env;

    struct Folder(PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_change_far_below_and_in_a_new_folder_is_noticed() {
        let name = format!("ceiling-changes-{}", std::process::id());
        let folder = Folder(env::temp_dir().join(name));
        fs::create_dir_all(folder.0.join("a/b")).unwrap();
        fs::create_dir_all(folder.0.join(".hidden")).unwrap();
        let changes = Changes::of(&folder.0).unwrap();
        let long = Duration::from_secs(60);
        assert!(!changes.wait(Duration::ZERO).unwrap());
        fs::write(folder.0.join("a/b/notes.md"), "x").unwrap();
        assert!(changes.wait(long).unwrap());
        fs::create_dir(folder.0.join("a/new")).unwrap();
        assert!(changes.wait(long).unwrap());
        while changes.wait(Duration::ZERO).unwrap() {}
        fs::write(folder.0.join("a/new/file"), "y").unwrap();
        assert!(changes.wait(long).unwrap());
        while changes.wait(Duration::ZERO).unwrap() {}
        fs::write(folder.0.join(".hidden/socket"), "z").unwrap();
        assert!(!changes.wait(Duration::ZERO).unwrap(), "hidden");
    }
}
