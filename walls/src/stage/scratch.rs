//! Folders for the files of programs: data, sockets, logs.

use super::{PREFIX, is_stale};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// See the module. Dropping it removes the folders.
#[derive(Debug, Default)]
pub struct Scratch;

impl Scratch {
    /// An empty folder with this name, writable by programs of every user.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        let folder = root().join(name);
        let failed = || format!("cannot make {}", folder.display());
        fs::create_dir_all(&folder).with_context(failed)?;
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o777)).with_context(failed)?;
        Ok(folder)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // It does not exist if no program needed one.
        let _ = fs::remove_dir_all(root());
    }
}

fn root() -> PathBuf {
    std::env::temp_dir().join(format!("{PREFIX}{}", std::process::id()))
}

/// Removes the folders of dead processes.
pub fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else { return };
    for entry in entries.flatten() {
        if is_stale(&entry.file_name().to_string_lossy()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
