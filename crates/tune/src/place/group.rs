//! What control groups give the server of an experiment: the CPU limit of a group (version 2), and
//! the group that a process tree is in (version 1).
//!
//! In version 2 a group with processes has no groups below it, so its limit is turned in place. In
//! version 1 the tree moves to a new group below its own: every quota above it still holds, and its
//! other limits are in other hierarchies.

use super::{PlaceError, Seen};
use crate::host::Host;
use ::host::Tree;
use ::host::group::{GroupFolder, PROCESSES};
use ::host::kernel_file::is_gone;
use std::fs;
use std::io;
use std::path::{Component, Path};
use std::thread;
use std::time::{Duration, Instant};

/// The limit of a group of version 2.
pub const CPU_MAX: &str = "cpu.max";
/// The quota of a group of version 1; -1 is none.
pub const QUOTA: &str = "cpu.cfs_quota_us";
/// How the name of a group that we make starts.
pub const MADE: &str = "ceiling-";
/// How the name of a group starts that is made for a server that we start in it.
pub const FOR_SERVER: &str = "ceiling-server-";
/// Values of such a group.
pub const THERE: &str = "there";
const ABSENT: &str = "absent";
/// How long a group may take to become empty after its last process has left.
const EMPTY_WITHIN: Duration = Duration::from_secs(2);

pub(super) fn show_limit(folder: &str) -> String {
    format!("{folder}/{CPU_MAX}")
}

/// The file with the quota of a group of version 1.
pub(super) fn quota_of(folder: &str) -> String {
    format!("{folder}/{QUOTA}")
}

pub(super) fn show_group(pid: u32, from: &str) -> String {
    format!("group of process {pid} and its children, {from}")
}

fn io_at(place: &str) -> impl Fn(io::Error) -> PlaceError {
    move |error| PlaceError::Io { place: place.to_string(), error }
}

/// Whether a group exists. One that cannot be opened for another reason is an error.
fn exists(host: &Host, folder: &Path) -> Result<bool, PlaceError> {
    match GroupFolder::open(&host.root, folder) {
        Err(error) if is_gone(&error) => Ok(false),
        opened => opened.map(|_| true).map_err(io_at(&folder.display().to_string())),
    }
}

/// Identifies a group; nothing when there is none.
pub(crate) fn inode(host: &Host, folder: &Path) -> io::Result<Option<u64>> {
    match GroupFolder::open(&host.root, folder) {
        Err(error) if is_gone(&error) => Ok(None),
        group => group?.inode().map(Some),
    }
}

/// The group, if it exists and is the one that was meant.
fn open(host: &Host, folder: &str, inode: u64) -> io::Result<Option<GroupFolder>> {
    match GroupFolder::open(&host.root, Path::new(folder)) {
        Err(error) if is_gone(&error) => Ok(None),
        group => {
            let group = group?;
            Ok((group.inode()? == inode).then_some(group))
        }
    }
}

pub(super) fn read_limit(
    host: &Host,
    folder: &str,
    inode: u64,
) -> Result<Option<Seen>, PlaceError> {
    let limit = open(host, folder, inode).and_then(|group| match group {
        Some(group) => match group.read(CPU_MAX) {
            Err(error) if is_gone(&error) => Ok(None),
            limit => limit.map(Some),
        },
        None => Ok(None),
    });
    let limit = limit.map_err(io_at(&show_limit(folder)))?;
    Ok(limit.map(|raw| Seen { value: raw.trim().to_string(), raw }))
}

pub(super) fn write_limit(
    host: &Host,
    folder: &str,
    inode: u64,
    value: &str,
) -> Result<(), PlaceError> {
    let place = show_limit(folder);
    if !is_limit(value) {
        let why = format!("'{}' is not a limit", value.escape_debug());
        return Err(PlaceError::Value { place, why });
    }
    let gone = || io::Error::from_raw_os_error(libc::ENOENT);
    let group = open(host, folder, inode).and_then(|group| group.ok_or_else(gone));
    group.and_then(|group| group.write(CPU_MAX, value)).map_err(io_at(&place))
}

/// Whether it is a limit as the kernel writes them.
fn is_limit(text: &str) -> bool {
    let is_number = |word: &str| word.len() < 20 && word.parse::<u64>().is_ok();
    let words: Vec<&str> = text.split(' ').collect();
    let [quota, period] = words[..] else { return false };
    (quota == "max" || is_number(quota)) && is_number(period)
}

/// Whether a place of a journal can be one of ours: the path of a group.
pub(super) fn check_path(path: &str) -> Result<(), String> {
    let is_down = Path::new(path).components().enumerate().all(|(at, part)| {
        matches!((at, part), (0, Component::RootDir) | (1.., Component::Normal(_)))
    });
    if path.starts_with('/') && is_down && !path.chars().any(char::is_control) {
        return Ok(());
    }
    Err(format!("'{}' is not the path of a control group", path.escape_debug()))
}

/// Refuses a group that is not one that we make below another.
pub(super) fn check_made(from: &str, made: &str) -> Result<(), String> {
    check_path(from)?;
    check_path(made)?;
    let below = made.strip_prefix(from.trim_end_matches('/'));
    let number = below.and_then(|name| name.strip_prefix('/')?.strip_prefix(MADE));
    match number.map(str::parse::<u32>) {
        Some(Ok(_)) => Ok(()),
        _ => Err(format!("{made} is not a group that ceiling makes below {from}")),
    }
}

/// Refuses groups that are not those that we make for a server that is started in them.
pub(super) fn check_for_server(folders: &[String]) -> Result<(), String> {
    for folder in folders {
        check_path(folder)?;
        let name = Path::new(folder).file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(FOR_SERVER) {
            return Err(format!("{folder} is not a group that ceiling makes for a server"));
        }
    }
    Ok(())
}

/// Groups that are made for a server, one in each hierarchy that limits it.
pub(super) struct ForServer<'a>(pub(super) &'a [String]);

impl ForServer<'_> {
    pub(super) fn show(&self) -> String {
        format!("control group {}", self.0.join(" and "))
    }

    /// Whether one of them exists. Nothing when a group above is not there either: it would be
    /// while ours exists, so ours is gone, or control groups are not visible from here.
    pub(super) fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        let mut value = ABSENT;
        for folder in self.0 {
            if exists(host, Path::new(folder))? {
                value = THERE;
            } else if !exists(host, Path::new(folder).parent().unwrap_or(Path::new("/")))? {
                return Ok(None);
            }
        }
        Ok(Some(Seen { raw: value.to_string(), value: value.to_string() }))
    }

    pub(super) fn write(&self, host: &Host, value: &str) -> Result<(), PlaceError> {
        match value {
            THERE => self.0.iter().try_for_each(|folder| {
                fs::create_dir(host.root.path(folder)).map_err(io_at(folder))
            }),
            ABSENT => self.0.iter().try_for_each(|folder| remove_empty(host, folder)),
            _ => {
                let why = format!("'{value}' is neither {THERE} nor {ABSENT}");
                Err(PlaceError::Value { place: self.show(), why })
            }
        }
    }
}

/// Removes a group, which becomes empty a moment after its last process has ended.
fn remove_empty(host: &Host, folder: &str) -> Result<(), PlaceError> {
    let begin = Instant::now();
    loop {
        match GroupFolder::open(&host.root, Path::new(folder)) {
            Err(error) if is_gone(&error) => return Ok(()),
            opened => opened.map_err(io_at(folder))?,
        };
        match fs::remove_dir(host.root.path(folder)) {
            Ok(()) => return Ok(()),
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) if begin.elapsed() > EMPTY_WITHIN => return Err(io_at(folder)(error)),
            Err(_) => thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// A tree that moves from one group to another that is made for it.
pub(super) struct Move<'a> {
    pub(super) pid: u32,
    pub(super) from: &'a str,
    pub(super) made: &'a str,
}

impl Move<'_> {
    /// The made group while it exists, otherwise the one before.
    pub(super) fn read(&self, host: &Host) -> Result<Option<Seen>, PlaceError> {
        let is_there = |folder: &str| exists(host, Path::new(folder));
        let value = match (is_there(self.from)?, is_there(self.made)?) {
            (false, _) => return Ok(None),
            (true, true) => self.made,
            (true, false) => self.from,
        };
        Ok(Some(Seen { raw: value.to_string(), value: value.to_string() }))
    }

    pub(super) fn write(&self, host: &Host, value: &str) -> Result<(), PlaceError> {
        match value {
            value if value == self.made => self.enter(host).map_err(io_at(self.made)),
            value if value == self.from => self.leave(host),
            _ => {
                let why = format!("'{value}' is neither of its groups");
                Err(PlaceError::Value { place: show_group(self.pid, self.from), why })
            }
        }
    }

    fn enter(&self, host: &Host) -> io::Result<()> {
        fs::create_dir(host.root.path(self.made))?;
        let group = GroupFolder::open(&host.root, Path::new(self.made))?;
        // A group without the controller has no such file, so this fails before anything moves.
        group.write(QUOTA, "-1")?;
        let unreadable = |why: model::facts::Unreadable| {
            io::Error::other(format!("{}: {}", why.source, why.why))
        };
        let mut tree = Tree::on(&host.root, self.pid).map_err(unreadable)?;
        // Processes that fork while they are moved are in the second list.
        for _ in 0..2 {
            tree.refresh().map_err(unreadable)?;
            tree.pids().iter().try_for_each(|pid| group.take_in(&pid.to_string()))?;
        }
        Ok(())
    }

    /// Moves everything in the made group back, and removes the group.
    fn leave(&self, host: &Host) -> Result<(), PlaceError> {
        let begin = Instant::now();
        loop {
            let mut why = self.move_back(host).err();
            match fs::remove_dir(host.root.path(self.made)) {
                Ok(()) => return Ok(()),
                Err(error) if is_gone(&error) => return Ok(()),
                Err(error) => why = why.or(Some(error)),
            }
            if begin.elapsed() > EMPTY_WITHIN {
                let why = why.map_or_else(String::new, |why| why.to_string());
                let why = format!(
                    "{why}; move the processes in its {PROCESSES} to that of {}, then remove it",
                    self.from
                );
                return Err(PlaceError::Value { place: self.made.to_string(), why });
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    fn move_back(&self, host: &Host) -> io::Result<()> {
        let listed = GroupFolder::open(&host.root, Path::new(self.made))?.read(PROCESSES)?;
        let from = GroupFolder::open(&host.root, Path::new(self.from))?;
        listed.lines().try_for_each(|pid| from.take_in(pid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::testing::MadeUp;

    fn inode(host: &Host, folder: &str) -> u64 {
        GroupFolder::open(&host.root, Path::new(folder)).unwrap().inode().unwrap()
    }

    #[test]
    fn the_limit_of_a_group_is_turned_in_place() {
        let made = MadeUp::new("cpu-max", 2);
        made.write("/sys/fs/cgroup/a/cpu.max", "max 100000");
        let host = made.host();
        let folder = "/sys/fs/cgroup/a".to_string();
        let place = Place::CpuMax { inode: inode(&host, &folder), folder };
        let before = place.read(&host).unwrap().unwrap();
        assert_eq!(before.value, "max 100000");
        place.write(&host, "20000 100000", &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, "20000 100000");
        for bad in ["", "max", "20000", "1 2 3", "max 1\n/x", "-1 5", "a b", "1  2"] {
            assert!(place.write(&host, bad, &before).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_group_that_is_gone_or_another_has_no_limit_of_ours() {
        let made = MadeUp::new("cpu-max", 2);
        made.write("/sys/fs/cgroup/a/cpu.max", "50000 100000");
        let host = made.host();
        let folder = "/sys/fs/cgroup/a".to_string();
        let place = Place::CpuMax { inode: inode(&host, &folder), folder };
        // Kept, so that its number is not given to the next.
        let path = |name: &str| host.root.path(format!("/sys/fs/cgroup/{name}"));
        fs::rename(path("a"), path("old")).unwrap();
        assert_eq!(place.read(&host).unwrap(), None);
        made.write("/sys/fs/cgroup/a/cpu.max", "70000 100000");
        assert_eq!(place.read(&host).unwrap(), None, "another group by the same name");
        let seen = Seen { raw: String::new(), value: String::new() };
        assert!(place.write(&host, "1 2", &seen).is_err());
    }

    #[test]
    fn places_of_a_journal_are_groups_and_ours() {
        let sound = |place: Place| place.check_sound();
        let limit = |folder: &str| sound(Place::CpuMax { folder: folder.to_string(), inode: 1 });
        assert_eq!(limit("/sys/fs/cgroup/a"), Ok(()));
        for bad in ["a", "", "/a/../b", "/a\nb"] {
            assert!(limit(bad).is_err(), "{bad}");
        }
        let moved = |from: &str, made: &str| {
            let (from, made) = (from.to_string(), made.to_string());
            sound(Place::Group { pid: 7, started_ticks: 9, from, made })
        };
        assert_eq!(moved("/a", "/a/ceiling-7"), Ok(()));
        let why = moved("/a\n/b", "/a\n/b/ceiling-1").unwrap_err();
        assert!(why.contains(r"'/a\n/b' is not the path"), "{why}");
        for (from, made) in [("a", "a/ceiling-1"), ("/a/../b", "/a/../b/ceiling-1")] {
            assert!(moved(from, made).unwrap_err().contains("is not the path"), "{from}");
        }
        for (from, made) in [("/a", "/b/ceiling-1"), ("/a", "/a/other"), ("/a", "/ab/ceiling-1")] {
            let why = moved(from, made).unwrap_err();
            assert!(why.contains("not a group that ceiling makes"), "{why}");
        }
    }

    #[test]
    fn groups_for_a_server_are_made_and_removed_and_no_others() {
        let made = MadeUp::new("for-server", 2);
        let host = made.host();
        made.write("/sys/fs/cgroup/cpu/cgroup.procs", "");
        made.write("/sys/fs/cgroup/memory/cgroup.procs", "");
        let folders = ["cpu", "memory"]
            .map(|name| format!("/sys/fs/cgroup/{name}/ceiling-server-7-1"))
            .to_vec();
        let place = Place::ForServer { folders: folders.clone() };
        assert_eq!(place.check_sound(), Ok(()));
        let before = place.read(&host).unwrap().unwrap();
        assert_eq!(before.value, "absent");
        place.write(&host, "there", &before).unwrap();
        assert!(folders.iter().all(|folder| host.root.path(folder).is_dir()));
        let now = place.read(&host).unwrap().unwrap();
        fs::remove_dir(host.root.path(&folders[0])).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, "there", "one of them is");
        place.write(&host, "absent", &now).unwrap();
        assert_eq!(place.read(&host).unwrap(), Some(before.clone()));
        assert!(place.write(&host, "elsewhere", &before).is_err());
        // One that is not empty stays, with an error.
        made.write("/sys/fs/cgroup/cpu/ceiling-server-7-1/below/cgroup.procs", "7");
        assert!(place.write(&host, "absent", &now).is_err());
        for folder in
            ["/sys/fs/cgroup/cpu/user.slice", "/a/../ceiling-server-1", "ceiling-server-1"]
        {
            let place = Place::ForServer { folders: vec![folder.to_string()] };
            assert!(place.check_sound().is_err(), "{folder}");
        }
    }

    #[test]
    fn groups_for_a_server_that_cannot_be_seen_are_not_absent() {
        let made = MadeUp::new("for-server", 2);
        let host = made.host();
        let folder = "/sys/fs/cgroup/a/ceiling-server-7-1".to_string();
        made.write(&format!("{folder}/cgroup.procs"), "7");
        let place = Place::ForServer { folders: vec![folder] };
        assert_eq!(place.read(&host).unwrap().unwrap().value, THERE);
        let path = |name: &str| host.root.path(format!("/sys/fs/cgroup/{name}"));
        fs::rename(path("a"), path("aside")).unwrap();
        assert_eq!(place.read(&host).unwrap(), None, "the group above is not there either");
        // A file in its place cannot be opened, as a folder that we may not read cannot.
        made.write("/sys/fs/cgroup/a", "");
        assert!(place.read(&host).is_err());
    }

    #[test]
    fn a_tree_that_cannot_be_moved_back_is_an_error_with_advice() {
        let made = MadeUp::new("move", 2);
        let host = made.host();
        made.write("/sys/fs/cgroup/a/cgroup.procs", "");
        made.write("/sys/fs/cgroup/a/ceiling-7/cgroup.procs", "owned");
        let (from, to) = ("/sys/fs/cgroup/a".to_string(), "/sys/fs/cgroup/a/ceiling-7".to_string());
        let place = Place::Group { pid: 7, started_ticks: 9, from: from.clone(), made: to.clone() };
        let seen = place.read(&host).unwrap().unwrap();
        assert_eq!(seen.value, to);
        let why = place.write(&host, &from, &seen).unwrap_err().to_string();
        assert!(why.contains("'owned' is not a") && why.contains("then remove it"), "{why}");
        assert!(place.write(&host, "/sys/fs/cgroup/b", &seen).is_err());
        fs::remove_dir_all(host.root.path(&to)).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, from);
        fs::remove_dir_all(host.root.path(&from)).unwrap();
        assert_eq!(place.read(&host).unwrap(), None);
    }
}
