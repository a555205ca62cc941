//! Files with values for the kernel are trusted only when no other user could have put them there.
//!
//! The journal of changes goes through here.

use host::program;
use rustix::fs::{CWD, Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::Path;

/// Why a file or folder is not trusted. It names no path: the caller does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Distrust {
    /// Another user could have written it.
    #[error(transparent)]
    Other(#[from] program::Distrust),
    /// A link, a pipe, a device, or a folder where a file was looked for.
    #[error("it is not a regular file")]
    NoFile,
    /// A link, or a file where a folder was looked for.
    #[error("it is not a folder")]
    NoFolder,
    /// Longer than anything that is written there.
    #[error("it is longer than any journal")]
    Length,
}

/// Whether only its owner can write it, and the owner is this user or root.
pub fn trusted(about: &fs::Metadata) -> Result<(), Distrust> {
    Ok(program::is_ours(about)?)
}

/// Opens a trusted folder. Files opened by its descriptor later are in the folder that was checked,
/// even when its path changes.
pub fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from);
    let folder =
        File::from(opened.map_err(|error| clearer_error(error, path, Distrust::NoFolder))?);
    trusted(&folder.metadata()?).map_err(io::Error::other)?;
    Ok(folder)
}

/// The bytes of a trusted file, which must be regular, not a link, and not longer than `bytes_max`.
/// A relative path is looked for in `folder`.
pub fn read(folder: impl AsFd, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    // Opening a pipe would block.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = rustix::fs::openat(&folder, path, flags, Mode::empty()).map_err(io::Error::from);
    let file = File::from(opened.map_err(|error| clearer_error(error, path, Distrust::NoFile))?);
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other(Distrust::NoFile));
    }
    trusted(&about).map_err(io::Error::other)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::new(ErrorKind::InvalidData, Distrust::Length));
    }
    Ok(bytes)
}

/// The kernel's error for a link that may not be followed tells a user little.
fn clearer_error(error: io::Error, path: &Path, instead: Distrust) -> io::Error {
    let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
    let errno = error.raw_os_error();
    let is_other = [libc::ELOOP, libc::ENOTDIR, libc::ENXIO].iter().any(|no| errno == Some(*no));
    if is_link || is_other { io::Error::other(instead) } else { error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::PathBuf;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("trust-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn why(path: &Path) -> String {
        read(CWD, path, 10).unwrap_err().to_string()
    }

    #[test]
    fn only_short_regular_files_of_ours_are_read() {
        let folder = Folder::new("read");
        let file = folder.0.join("file");
        fs::write(&file, "0123456789").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(read(CWD, &file, 10).unwrap(), b"0123456789");
        let link = folder.0.join("link");
        symlink(&file, &link).unwrap();
        assert_eq!(why(&link), Distrust::NoFile.to_string());
        assert_eq!(why(&folder.0), Distrust::NoFile.to_string());
        // Without a writer it would block for ever.
        let pipe = folder.0.join("pipe");
        rustix::fs::mknodat(CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(why(&pipe), Distrust::NoFile.to_string());
        fs::write(&file, "0123456789a").unwrap();
        assert_eq!(why(&file), Distrust::Length.to_string());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
        assert_eq!(why(&file), program::Distrust::Writable.to_string());
    }

    #[test]
    fn a_folder_is_ours_and_no_link() {
        let folder = Folder::new("folder");
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).unwrap();
        assert!(open_folder(&folder.0).is_ok());
        let link = folder.0.join("link");
        symlink(&folder.0, &link).unwrap();
        let why = |path: &Path| open_folder(path).unwrap_err().to_string();
        assert_eq!(why(&link), Distrust::NoFolder.to_string());
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o770)).unwrap();
        assert_eq!(why(&folder.0), program::Distrust::Writable.to_string());
    }
}
