//! A control group, held by an open folder: reads and writes go to the folder that was checked,
//! whatever happens to its path.
//!
//! Paths of groups may come from a journal, so a folder is a control group only when the kernel
//! reports that it is on a file system of that kind. No file is created, and no link followed. On a
//! host made up of files any folder will do.

use crate::Root;
use crate::kernel_file::is_gone;
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// See statfs(2).
const CGROUP_SUPER_MAGIC: i64 = 0x27_e0eb;
const CGROUP2_SUPER_MAGIC: i64 = 0x6367_7270;
/// Longer than any list of processes.
const FILE_MAX_BYTES: u64 = 16 << 20;
/// The list of a group's processes.
pub const PROCESSES: &str = "cgroup.procs";

/// A group's folder.
#[derive(Debug)]
pub struct GroupFolder(File);

impl GroupFolder {
    /// Opens the folder of a group, by the path that the host knows.
    pub fn open(root: &Root, path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, root.path(path), flags, Mode::empty())?;
        let kind = rustix::fs::fstatfs(&folder)?.f_type as i64;
        let is_of_the_kernel = [CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC].contains(&kind);
        if *root == Root::default() && !is_of_the_kernel {
            return Err(io::Error::other("it is not a control group"));
        }
        Ok(Self(File::from(folder)))
    }

    /// Identifies the group: one that is made later with the same name has another number.
    pub fn inode(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstat(&self.0)?.st_ino)
    }

    /// The content of a file of the group.
    pub fn read(&self, name: &str) -> io::Result<String> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        let mut text = String::new();
        file.take(FILE_MAX_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Writes to a file that the kernel has made.
    pub fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(rustix::fs::openat(&self.0, name, flags, Mode::empty())?);
        file.write_all(text.as_bytes())
    }

    /// Puts a process into the group; one that has ended is ignored.
    pub fn take_in(&self, pid: &str) -> io::Result<()> {
        let wrong = |_| io::Error::other(format!("'{pid}' is not a process"));
        let pid: u32 = pid.parse().map_err(wrong)?;
        match self.write(PROCESSES, &pid.to_string()) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            written => written,
        }
    }
}

/// Processes of a group and of those below it.
pub fn members(folder: &Path) -> io::Result<BTreeSet<u32>> {
    let mut found = BTreeSet::new();
    let mut groups = vec![folder.to_path_buf()];
    while let Some(group) = groups.pop() {
        // A group below that was removed meanwhile has no processes.
        let is_removed = |error: &io::Error| is_gone(error) && group != folder;
        let at = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", group.display()))
        };
        let listed = match fs::read_to_string(group.join(PROCESSES)) {
            Err(error) if is_removed(&error) => continue,
            listed => listed.map_err(at)?,
        };
        for line in listed.lines() {
            let wrong = |_| at(io::Error::other(format!("'{line}' is not a process")));
            found.insert(line.trim().parse().map_err(wrong)?);
        }
        let entries = match fs::read_dir(&group) {
            Err(error) if is_removed(&error) => continue,
            entries => entries.map_err(at)?,
        };
        for entry in entries {
            let entry = entry.map_err(at)?;
            if entry.file_type().map_err(at)?.is_dir() {
                groups.push(entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_groups_are_opened_and_only_files_that_are_there_written() {
        let folder = Folder::new("group");
        folder.write("a/cgroup.procs", "1\n");
        folder.write("victim", "as it was");
        let path = folder.path().join("a");
        let refused = GroupFolder::open(&Root::default(), &path).unwrap_err().to_string();
        assert!(refused.contains("not a control group"), "{refused}");
        let group = GroupFolder::open(&Root::below(folder.path()), Path::new("/a")).unwrap();
        assert!(group.take_in("owned").unwrap_err().to_string().contains("'owned' is not a"));
        group.take_in("4194304").unwrap();
        assert_eq!(group.read(PROCESSES).unwrap(), "4194304");
        assert!(group.write("cpu.max", "1 2").is_err() && !path.join("cpu.max").exists());
        symlink(folder.path().join("victim"), path.join("cpu.max")).unwrap();
        assert!(group.write("cpu.max", "1 2").is_err() && group.read("cpu.max").is_err());
        assert_eq!(fs::read(folder.path().join("victim")).unwrap(), b"as it was");
        symlink(&path, folder.path().join("b")).unwrap();
        assert!(GroupFolder::open(&Root::below(folder.path()), Path::new("/b")).is_err());
    }

    #[test]
    fn members_are_those_below_too() {
        let folder = Folder::new("members");
        folder.write("a/cgroup.procs", "7\n");
        folder.write("a/b/cgroup.procs", "8\n9\n");
        assert_eq!(members(&folder.path().join("a")).unwrap(), BTreeSet::from([7, 8, 9]));
        folder.write("a/b/cgroup.procs", "x\n");
        assert!(members(&folder.path().join("a")).is_err());
        assert!(members(&folder.path().join("none")).is_err());
    }
}
