//! `cpu.max` of the server's own control group, version 2.
//!
//! It is turned in place: in another group the server would be without the other limits of its own,
//! and its own would be empty, which systemd takes for the end of the service. So the group must
//! hold the server and nobody else.

use super::cgroup::{Ground, Group};
use super::{journal, told};
use host::Tree;
use host::cgroup::Group as CpuGroup;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// How often who is in the group is compared with the tree: processes come and go meanwhile.
const LOOKS: u32 = 3;

/// The limit of a group as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CpuMax {
    folder: PathBuf,
    /// Which group it is: one that is made later has a limit of its own, also by the same name.
    inode: u64,
    /// What `cpu.max` said.
    text: String,
}

impl CpuMax {
    /// The limit of the group of a tree, which must be all that is in it.
    pub(super) fn of(own: &CpuGroup, tree: &mut Tree) -> Result<Self, String> {
        if own.path == "/" {
            return Err("the server is in the root control group, which has no CPU limit of its \
                        own; start it in a group, for example with systemd-run --scope"
                .to_string());
        }
        let max = Self::of_group(own)?;
        require_alone(own, tree)?;
        Ok(max)
    }

    /// The limit of a group.
    pub(super) fn of_group(own: &CpuGroup) -> Result<Self, String> {
        let file = own.folder.join("cpu.max");
        let text = fs::read_to_string(&file).map_err(at(&file))?.trim().to_string();
        let inode = fs::metadata(&own.folder).map_err(at(&own.folder))?.ino();
        Ok(Self { folder: own.folder.clone(), inode, text })
    }

    /// Whether an entry of a journal can be one of ours: a place, and a limit as the kernel
    /// writes them.
    pub(super) fn check(&self) -> Result<(), String> {
        journal::check_path(&self.folder)?;
        let mut words = self.text.split(' ');
        let is_number = |word: &str| word.len() < 20 && word.parse::<u64>().is_ok();
        let is_limit = words.next().is_some_and(|word| word == "max" || is_number(word))
            && words.next().is_some_and(is_number)
            && words.next().is_none();
        if is_limit { Ok(()) } else { Err(format!("'{}' is no limit", self.text.escape_debug())) }
    }

    /// Writes another limit.
    pub(super) fn set(&self, text: &str, ground: Ground) -> Result<(), String> {
        let file = self.folder.join("cpu.max");
        let written = Group::open(&self.folder, ground);
        written.and_then(|group| group.write("cpu.max", text)).map_err(at(&file))
    }

    /// Writes what was there. A group that is not there any more has no limit to put back.
    pub(super) fn put_back(&self, ground: Ground) -> Result<(), String> {
        let group = match Group::open(&self.folder, ground) {
            Err(error) if is_gone(&error) => return Ok(()),
            group => group.map_err(at(&self.folder))?,
        };
        if group.inode().map_err(at(&self.folder))? != self.inode {
            return Ok(());
        }
        let file = self.folder.join("cpu.max");
        match group.write("cpu.max", &self.text) {
            Err(error) if is_gone(&error) => Ok(()),
            written => {
                let way_out = |why: String| format!("{why}; write '{}' to it", self.text);
                written.map_err(at(&file)).map_err(way_out)
            }
        }
    }
}

/// Whether a file or a group is not there any more.
fn is_gone(error: &io::Error) -> bool {
    use rustix::io::Errno;
    [Errno::NOENT, Errno::NODEV]
        .iter()
        .any(|gone| error.raw_os_error() == Some(gone.raw_os_error()))
}

fn at(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// Refuses a group in which others would be limited too, or which does not limit all of the tree.
fn require_alone(own: &CpuGroup, tree: &mut Tree) -> Result<(), String> {
    let mut why = String::new();
    for _ in 0..LOOKS {
        let inside = processes(&own.folder)?;
        tree.refresh().map_err(told)?;
        let stranger = inside.iter().find(|pid| !tree.pids().contains(pid));
        let outside = tree.pids().iter().find(|pid| !inside.contains(pid) && runs(**pid));
        why = match (stranger, outside) {
            (None, None) => return Ok(()),
            (Some(pid), _) => format!(
                "process {pid} is in the server's control group {} and not the server's, and \
                 would be limited with it; start the server in a group of its own, for example \
                 with systemd-run --scope",
                own.path
            ),
            (None, Some(pid)) => format!(
                "the server's processes are in several control groups: {pid} is not in {}",
                own.path
            ),
        };
        thread::sleep(Duration::from_millis(10));
    }
    Err(why)
}

/// Whether it is one that a group lists: those that have ended are in none.
fn runs(pid: u32) -> bool {
    host::process::stat_if_there(pid)
        .map_or(true, |stat| stat.is_some_and(|stat| !stat.has_ended()))
}

/// Who is in a group and in those below it.
fn processes(group: &Path) -> Result<BTreeSet<u32>, String> {
    let mut found = BTreeSet::new();
    let mut groups = vec![group.to_path_buf()];
    while let Some(folder) = groups.pop() {
        let is_own = folder == group;
        let file = folder.join("cgroup.procs");
        let listed = match fs::read_to_string(&file) {
            // One below that was removed meanwhile.
            Err(error) if is_gone(&error) && !is_own => continue,
            listed => listed.map_err(at(&file))?,
        };
        for line in listed.lines() {
            let pid = line.trim().parse();
            found.insert(pid.map_err(|_| format!("{}: '{line}' is no process", file.display()))?);
        }
        let entries = match fs::read_dir(&folder) {
            Err(error) if is_gone(&error) && !is_own => continue,
            entries => entries.map_err(at(&folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(at(&folder))?;
            if entry.file_type().map_err(at(&folder))?.is_dir() {
                groups.push(entry.path());
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Folder, Shell};
    use super::*;

    fn group(folder: &Folder, path: &str) -> CpuGroup {
        CpuGroup { version: 2, path: path.to_string(), folder: folder.path("server") }
    }

    #[test]
    fn the_limit_is_turned_in_place_and_put_back_as_it_was() {
        let (folder, shell) = (Folder::new("max-place"), Shell::run("sleep 60 & wait"));
        let (pid, child) = (shell.pid(), shell.sleeper());
        folder.write("server/cpu.max", "max 100000\n");
        folder.write("server/cgroup.procs", &format!("{pid}\n"));
        folder.write("server/worker/cgroup.procs", &format!("{child}\n"));
        let mut tree = Tree::of(pid).unwrap();
        let max = CpuMax::of(&group(&folder, "/server"), &mut tree).unwrap();
        let now = || fs::read_to_string(folder.path("server/cpu.max")).unwrap();
        max.set("20000 100000", Ground::MadeUp).unwrap();
        assert_eq!(now(), "20000 100000");
        let journalled = serde_json::to_string(&max).unwrap();
        let max: CpuMax = serde_json::from_str(&journalled).unwrap();
        max.put_back(Ground::MadeUp).unwrap();
        assert_eq!(now(), "max 100000");
        let procs = fs::read_to_string(folder.path("server/cgroup.procs")).unwrap();
        assert_eq!(procs, format!("{pid}\n"), "nobody was moved");
    }

    #[test]
    fn a_group_with_others_or_without_all_of_the_server_is_refused() {
        let (folder, shell) = (Folder::new("max-alone"), Shell::run("sleep 60 & wait"));
        let (pid, child) = (shell.pid(), shell.sleeper());
        folder.write("server/cpu.max", "50000 100000\n");
        let mut tree = Tree::of(pid).unwrap();
        let mut refused = |path: &str| {
            CpuMax::of(&group(&folder, path), &mut tree).map_err(|why| why.to_string()).unwrap_err()
        };
        folder.write("server/cgroup.procs", &format!("{pid}\n{child}\n"));
        assert!(refused("/").contains("root control group"));
        folder.write("server/below/cgroup.procs", "1\n");
        let why = refused("/server");
        assert!(why.contains("process 1 is in the server's control group /server"), "{why}");
        folder.write("server/below/cgroup.procs", "");
        folder.write("server/cgroup.procs", &format!("{pid}\n"));
        let why = refused("/server");
        assert!(why.contains(&format!("{child} is not in /server")), "{why}");
        fs::remove_file(folder.path("server/cpu.max")).unwrap();
        assert!(refused("/server").contains("cpu.max"), "no controller, no limit");
    }

    #[test]
    fn a_limit_is_as_the_kernel_writes_it() {
        let max = |folder: &str, text: &str| CpuMax {
            folder: folder.into(),
            inode: 1,
            text: text.to_string(),
        };
        for good in ["max 100000", "20000 100000"] {
            assert_eq!(max("/sys/fs/cgroup/a", good).check(), Ok(()));
        }
        for bad in ["", "max", "20000", "1 2 3", "max 1\n/x", "-1 5", "a b", "1  2"] {
            assert!(max("/sys/fs/cgroup/a", bad).check().is_err(), "{bad}");
        }
        for bad in ["a", "", "/a/../b", "/a\nb"] {
            assert!(max(bad, "max 100000").check().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_group_that_is_gone_has_nothing_to_put_back() {
        let folder = Folder::new("max-gone");
        folder.write("server/cpu.max", "50000 100000\n");
        let max = CpuMax::of_group(&group(&folder, "/server")).unwrap();
        // Kept, so that its number is not given to the next.
        fs::rename(folder.path("server"), folder.path("old")).unwrap();
        assert_eq!(max.put_back(Ground::MadeUp), Ok(()));
        folder.write("server/cpu.max", "70000 100000\n");
        assert_eq!(max.put_back(Ground::MadeUp), Ok(()));
        let now = fs::read_to_string(folder.path("server/cpu.max")).unwrap();
        assert_eq!(now, "70000 100000\n", "another group by the same name");
    }
}
