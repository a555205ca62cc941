//! Folders for the files of programs: data, sockets, logs.

use super::{PREFIX, is_stale};
use anyhow::{Context, Result, bail};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// See the module. Dropping it removes the folders.
#[derive(Debug, Default)]
pub struct Scratch;

impl Scratch {
    /// An empty folder with this name, writable by programs of every user.
    pub fn folder(&self, name: &str) -> Result<PathBuf> {
        make_own(&root())?;
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

/// Makes a folder. One that is already there must be ours: any user can make one with that name,
/// and a link inside it would give the mode of a scratch folder to any folder of the host.
fn make_own(folder: &Path) -> Result<()> {
    match fs::create_dir(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(error).with_context(|| format!("cannot make {}", folder.display()))
        }
        _ => {
            let there = fs::symlink_metadata(folder)
                .with_context(|| format!("cannot look at {}", folder.display()))?;
            if !there.is_dir() || there.uid() != rustix::process::geteuid().as_raw() {
                bail!("{} is there, and another user made it: remove it", folder.display());
            }
            Ok(())
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_folder_is_used_only_if_it_is_ours() {
        let folder = std::env::temp_dir().join(format!("ceiling-scratch-{}", std::process::id()));
        make_own(&folder).unwrap();
        make_own(&folder).unwrap();
        let link = folder.join("link");
        symlink(&folder, &link).unwrap();
        let refused = make_own(&link).unwrap_err().to_string();
        assert!(refused.contains("another user made it"), "{refused}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
