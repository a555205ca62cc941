//! A control group, held by its folder: what is read and written is in the folder that was
//! checked, whatever becomes of its path.
//!
//! Paths of groups come from a journal, so a folder is a control group only when the kernel says
//! that it is on a file system of that kind. No file is ever made, and no link followed.

use rustix::fs::{CWD, Mode, OFlags};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// See statfs(2).
const CGROUP_SUPER_MAGIC: i64 = 0x27_e0eb;
const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;
/// More than any list of processes.
const FILE_MAX_BYTES: u64 = 16 << 20;

/// What a folder has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ground {
    /// On a file system of control groups.
    Kernel,
    /// Anywhere: files of a test.
    #[cfg(test)]
    MadeUp,
}

/// A group's folder.
#[derive(Debug)]
pub(super) struct Group(File);

impl Group {
    /// Opens the folder of a group.
    pub(super) fn open(path: &Path, ground: Ground) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?);
        let kind = rustix::fs::fstatfs(&folder)?.f_type as i64;
        match ground {
            Ground::Kernel if ![CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC].contains(&kind) => {
                Err(io::Error::other("it is not a control group"))
            }
            _ => Ok(Self(folder)),
        }
    }

    /// Which group it is.
    pub(super) fn inode(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.0)?.st_ino)
    }

    /// What a file of the group says.
    pub(super) fn read(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        let mut text = String::new();
        file.take(FILE_MAX_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes to a file that the kernel has made.
    pub(super) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        file.write_all(text.as_bytes())
    }
}
