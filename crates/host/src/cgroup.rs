//! Where the control groups of a process are, on hosts with version 1, version 2 or both.
//!
//! `/proc/PID/cgroup` names the group in every hierarchy, `/proc/self/mountinfo` shows where the
//! hierarchies are mounted and which part of them is visible. A controller is in one hierarchy
//! only: when a mounted version 1 hierarchy has it, version 2 does not, even if mounted.
//!
//! Both are relative to the control group namespace of the reader. Inside one, a group beside ours
//! is `/../other`, and a mount of the whole hierarchy has the root `/../..`: the names in between
//! are not shown. Then we search for the group that lists the process. Where no mount here has the
//! group, we try the mounts of the first process and of the process itself, through
//! `/proc/PID/root`.

use crate::process;
use crate::scan::{self, ParseError};
use model::facts::Unreadable;
use model::root::Root;
use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

/// Most groups that are searched for the one that lists a process.
const SEARCHED_MAX: usize = 4096;

/// A mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// 1 or 2.
    pub version: u8,
    /// Controllers of a version 1 hierarchy; empty for version 2, whose files name them.
    pub controllers: Vec<String>,
    /// Group at the mount point: `/`, unless a container sees only its part.
    pub root: String,
    /// Where it is mounted.
    pub point: PathBuf,
}

/// The group of a process in one hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Controllers; empty for version 2.
    pub controllers: Vec<String>,
    /// Path of the group from the root of the hierarchy.
    pub path: String,
}

/// One group of a chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Control group version.
    pub version: u8,
    /// Path of the group in its hierarchy.
    pub path: String,
    /// Its folder.
    pub folder: PathBuf,
}

/// The hierarchies among the mounts (`fs/proc_namespace.c`, `show_mountinfo`).
pub fn parse_mounts(bytes: &[u8]) -> Result<Vec<Mount>, ParseError> {
    let mut mounts = Vec::new();
    for line in scan::lines(bytes) {
        let error = || ParseError::new("a line of mountinfo", line);
        let mut words = scan::words(line);
        let root = words.nth(3).ok_or_else(error)?;
        let point = words.next().ok_or_else(error)?;
        words.find(|word| *word == b"-").ok_or_else(error)?;
        let kind = words.next().ok_or_else(error)?;
        let options = words.nth(1).unwrap_or_default();
        let version = match kind {
            b"cgroup" => 1,
            b"cgroup2" => 2,
            _ => continue,
        };
        let controllers = if version == 1 { names(options) } else { Vec::new() };
        let (root, point) = (unescape(root), PathBuf::from(unescape(point)));
        mounts.push(Mount { version, controllers, root, point });
    }
    Ok(mounts)
}

/// The groups of a process (`kernel/cgroup/cgroup.c`, `proc_cgroup_show`).
pub fn parse_membership(bytes: &[u8]) -> Result<Vec<Membership>, ParseError> {
    let parse = |line| {
        let error = || ParseError::new("a line such as '1:cpu,cpuacct:/group'", line);
        let mut parts = <[u8]>::splitn(line, 3, |&byte| byte == b':');
        parts.next().and_then(scan::number).ok_or_else(error)?;
        let controllers = names(parts.next().ok_or_else(error)?);
        let path = scan::text(parts.next().ok_or_else(error)?);
        Ok(Membership { controllers, path })
    };
    scan::lines(bytes).map(parse).collect()
}

fn names(list: &[u8]) -> Vec<String> {
    let names = list.split(|&byte| byte == b',').filter(|name| !name.is_empty());
    names.map(scan::text).collect()
}

/// Blanks and backslashes of mountinfo are written as three octal digits.
fn unescape(word: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while let Some((&first, after)) = rest.split_first() {
        let octal = (first == b'\\').then(|| after.get(..3)).flatten();
        let value =
            octal.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        bytes.push(value.unwrap_or(first));
        rest = if value.is_some() { &after[3..] } else { after };
    }
    scan::text(&bytes)
}

/// The groups that may limit the CPU time of a process of this host, innermost first.
pub fn cpu_groups(pid: u32) -> Result<Vec<Group>, Unreadable> {
    chain(&Root::default(), "cpu", pid)
}

/// The groups by which a controller may limit the process, innermost first, up to the root or to
/// the outermost one this mount shows.
pub fn chain(root: &Root, controller: &str, pid: u32) -> Result<Vec<Group>, Unreadable> {
    let found = look(root, controller, pid)?;
    found.map_err(|why| crate::kernel_file::unreadable(&root.process(pid, "cgroup"), why))
}

/// The groups by which a controller may limit the process, innermost first; none where the
/// controller or the mount does not exist. What cannot be read is an error.
pub fn chain_if_there(
    root: &Root,
    controller: &str,
    pid: u32,
) -> Result<Option<Vec<Group>>, Unreadable> {
    Ok(look(root, controller, pid)?.ok())
}

/// The groups, or why there are none; the outer error is what could not be read.
fn look(
    root: &Root,
    controller: &str,
    pid: u32,
) -> Result<Result<Vec<Group>, &'static str>, Unreadable> {
    let memberships = process::read(&root.process(pid, "cgroup"), parse_membership)?;
    let mounts = process::read(&root.path("/proc/self/mountinfo"), parse_mounts)?;
    let own = View { root: root.path("/"), mounts };
    let why = match own.resolve(controller, &memberships) {
        Ok(chain) => return Ok(Ok(chain)),
        Err(why) => why,
    };
    let through = |other: u32| {
        let mounts = process::read(&root.process(other, "mountinfo"), parse_mounts).ok()?;
        Some(View { root: root.process(other, "root"), mounts })
    };
    let (first, theirs) = (through(1), through(pid));
    // We may not be allowed to see what another process has mounted.
    let is_seen = |chain: &Vec<Group>| chain.first().is_some_and(|group| group.folder.is_dir());
    let resolved =
        |view: &View| view.resolve(controller, &memberships).ok().filter(|chain| is_seen(chain));
    let searched = |view: &View| view.search(controller, &memberships, pid);
    let found = first
        .as_ref()
        .and_then(resolved)
        .or_else(|| searched(&own))
        .or_else(|| first.as_ref().and_then(searched))
        .or_else(|| theirs.as_ref().and_then(resolved))
        .or_else(|| theirs.as_ref().and_then(searched));
    Ok(found.ok_or(why))
}

/// Mounts, and the folder that is `/` to them.
struct View {
    root: PathBuf,
    mounts: Vec<Mount>,
}

impl View {
    fn resolve(
        &self,
        controller: &str,
        memberships: &[Membership],
    ) -> Result<Vec<Group>, &'static str> {
        let mut chain = resolve(controller, &self.mounts, memberships)?;
        for group in &mut chain {
            group.folder = self.folder(&group.folder);
        }
        Ok(chain)
    }

    /// Where a folder is that these mounts have at an absolute path.
    fn folder(&self, absolute: &Path) -> PathBuf {
        self.root.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The groups of a process, found by the list of processes of each group.
    fn search(&self, controller: &str, memberships: &[Membership], pid: u32) -> Option<Vec<Group>> {
        let (mounts, _) = hierarchy(controller, &self.mounts, memberships).ok()?;
        let found = mounts.into_iter().find_map(|mount| {
            let point = self.folder(&mount.point);
            let folder = holder(&point, pid)?;
            let inside = folder.strip_prefix(&point).ok()?.to_str()?;
            // Dots would only say how far above our namespace the mount begins.
            let root = mount.root.replace("/..", "");
            Some(ancestors(&Mount { root, point: point.clone(), ..mount.clone() }, inside))
        })?;
        Some(found)
    }
}

/// The folder below `point` of the group that lists a process.
fn holder(point: &Path, pid: u32) -> Option<PathBuf> {
    let mut folders = VecDeque::from([point.to_path_buf()]);
    let mut seen = 0;
    while let Some(folder) = folders.pop_front().filter(|_| seen < SEARCHED_MAX) {
        seen += 1;
        // A group of threads refuses to list processes; its parent does.
        let listed = fs::read(folder.join(crate::group::PROCESSES)).unwrap_or_default();
        if scan::lines(&listed).any(|line| scan::number(line) == Some(u64::from(pid))) {
            return Some(folder);
        }
        let below = fs::read_dir(&folder).into_iter().flatten().flatten();
        let is_folder = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        folders.extend(below.filter(is_folder).map(|entry| entry.path()));
    }
    None
}

/// The mounts of the hierarchy that has a controller, and the group of the process in it.
fn hierarchy<'a>(
    controller: &str,
    mounts: &'a [Mount],
    memberships: &'a [Membership],
) -> Result<(Vec<&'a Mount>, &'a Membership), &'static str> {
    let is_in = |controllers: &[String]| controllers.iter().any(|name| name == controller);
    let v1 = memberships.iter().find(|membership| is_in(&membership.controllers));
    let (version, why) = match v1 {
        Some(_) => (1, "its hierarchy of cgroup version 1 is not mounted here"),
        None => (2, "no cgroup hierarchy is mounted here"),
    };
    let is_of_it =
        |mount: &&Mount| mount.version == version && (version == 2 || is_in(&mount.controllers));
    let mounts: Vec<&Mount> = mounts.iter().filter(is_of_it).collect();
    let v2 = || memberships.iter().find(|membership| membership.controllers.is_empty());
    let membership = v1.or_else(v2);
    if mounts.is_empty() {
        return Err(why);
    }
    Ok((mounts, membership.ok_or("no control group")?))
}

fn resolve(
    controller: &str,
    mounts: &[Mount],
    memberships: &[Membership],
) -> Result<Vec<Group>, &'static str> {
    let (mounts, membership) = hierarchy(controller, mounts, memberships)?;
    let chain = |mount: &Mount| Some(ancestors(mount, below(&membership.path, &mount.root)?));
    // Of several mounts the one that shows most groups above: each may have a limit.
    let chains = mounts.into_iter().filter_map(chain);
    chains.max_by_key(Vec::len).ok_or("the control group is outside of what is mounted here")
}

/// The part of `path` below `root`, without slashes at its ends.
fn below<'a>(path: &'a str, root: &str) -> Option<&'a str> {
    let rest = path.strip_prefix(root.trim_end_matches('/'))?;
    let inside = rest.is_empty() || rest.starts_with('/');
    // A namespace shows a group outside of it as one with dots, which no mount leads to.
    (inside && !rest.split('/').any(|part| part == "..")).then(|| rest.trim_matches('/'))
}

fn ancestors(mount: &Mount, inside: &str) -> Vec<Group> {
    let root = mount.root.trim_end_matches('/');
    let mut groups = Vec::new();
    let mut inside = inside;
    loop {
        let path = match (root, inside) {
            ("", "") => "/".to_string(),
            (root, "") => root.to_string(),
            (root, inside) => format!("{root}/{inside}"),
        };
        // Joining an empty path would add a slash.
        let folder = if inside.is_empty() { mount.point.clone() } else { mount.point.join(inside) };
        groups.push(Group { version: mount.version, path, folder });
        if inside.is_empty() {
            return groups;
        }
        inside = inside.rsplit_once('/').map_or("", |(parent, _)| parent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

    fn resolved(host: &str) -> Result<Vec<Group>, &'static str> {
        let mounts = parse_mounts(&fixture(&format!("{host}/mountinfo"))).unwrap();
        let membership = parse_membership(&fixture(&format!("{host}/cgroup"))).unwrap();
        resolve("cpu", &mounts, &membership)
    }

    fn group(version: u8, path: &str, folder: &str) -> Group {
        Group { version, path: path.to_string(), folder: PathBuf::from(folder) }
    }

    #[test]
    fn on_a_mixed_host_version_1_has_the_cpu() {
        let expected = [
            group(1, "/bench/server", "/sys/fs/cgroup/cpu/bench/server"),
            group(1, "/bench", "/sys/fs/cgroup/cpu/bench"),
            group(1, "/", "/sys/fs/cgroup/cpu"),
        ];
        assert_eq!(resolved("linux-6.18-vm").unwrap(), expected);
    }

    #[test]
    fn version_2_alone() {
        let chain = resolved("cgroup2-systemd").unwrap();
        let expected =
            group(2, "/system.slice/nginx.service", "/sys/fs/cgroup/system.slice/nginx.service");
        assert_eq!(chain[0], expected);
        assert_eq!(chain.len(), 3);
        assert_eq!(chain[2], group(2, "/", "/sys/fs/cgroup"));
    }

    #[test]
    fn a_container_sees_its_part_of_version_1() {
        let chain = resolved("docker-v1").unwrap();
        let path = "/docker/3f9c";
        assert_eq!(chain, [group(1, path, "/sys/fs/cgroup/cpu,cpuacct")]);
    }

    #[test]
    fn what_cannot_be_seen_is_said() {
        let mount = |root: &str| Mount {
            version: 2,
            controllers: Vec::new(),
            root: root.to_string(),
            point: PathBuf::from("/sys/fs/cgroup"),
        };
        let member = |path: &str| Membership { controllers: Vec::new(), path: path.to_string() };
        assert!(resolve("cpu", &[mount("/")], &[member("/../other")]).is_err());
        assert!(resolve("cpu", &[mount("/a")], &[member("/ab")]).is_err());
        assert!(resolve("cpu", &[], &[member("/")]).is_err());
        assert!(resolve("cpu", &[mount("/a")], &[member("/a/b")]).is_ok());
    }

    #[test]
    fn of_several_mounts_the_one_with_the_parents_counts() {
        let mounts = b"30 24 0:26 /pod/one /part rw - cgroup2 cgroup2 rw\n\
                       31 24 0:26 / /whole rw - cgroup2 cgroup2 rw\n";
        let mounts = parse_mounts(mounts).unwrap();
        let memberships = parse_membership(b"0::/pod/one\n").unwrap();
        let chain = resolve("cpu", &mounts, &memberships).unwrap();
        let paths: Vec<&str> = chain.iter().map(|group| group.path.as_str()).collect();
        assert_eq!(paths, ["/pod/one", "/pod", "/"]);
        assert_eq!(chain[1].folder, Path::new("/whole/pod"));
    }

    /// Our own namespace begins at `/docker/ours`; the group of process 7 is beside it.
    fn beside(name: &str, mountinfo: &str, through: &str) -> Vec<Group> {
        let host = Folder::new(name);
        host.write("proc/self/mountinfo", mountinfo);
        host.write("proc/1/mountinfo", through);
        host.write("proc/7/cgroup", "0::/../other\n");
        for at in ["sys/fs/cgroup", "proc/1/root/sys/fs/cgroup"] {
            host.write(&format!("{at}/cgroup.procs"), "1\n");
            host.write(&format!("{at}/docker/ours/cgroup.procs"), "17\n");
            host.write(&format!("{at}/docker/other/cgroup.procs"), "6\n7\n");
        }
        let root = Root::below(host.path());
        let mut chain = chain(&root, "cpu", 7).unwrap();
        chain.iter_mut().for_each(|group| group.folder = root.known_as(&group.folder));
        chain
    }

    #[test]
    fn a_group_beside_our_namespace_is_found_by_its_process() {
        let whole = "30 24 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        let chain = beside("cgroup-beside", whole, "");
        let folders: Vec<_> = chain.iter().map(|group| group.folder.as_path()).collect();
        let expected = ["/sys/fs/cgroup/docker/other", "/sys/fs/cgroup/docker", "/sys/fs/cgroup"];
        assert_eq!(folders, expected.map(Path::new));
        assert_eq!(chain[0].path, "/docker/other");
    }

    #[test]
    fn a_group_that_is_not_mounted_here_is_seen_through_the_first_process() {
        let whole = "30 24 0:26 /../.. /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n";
        let chain = beside("cgroup-hidden", "30 24 0:5 / /sys rw - sysfs sysfs rw\n", whole);
        let folder = "/proc/1/root/sys/fs/cgroup/docker/other";
        assert_eq!((chain[0].folder.as_path(), chain.len()), (Path::new(folder), 3));
    }

    #[test]
    fn escapes_of_mountinfo() {
        assert_eq!(unescape(b"/a\\040b\\134"), "/a b\\");
        assert_eq!(unescape(b"/a\\04"), "/a\\04");
    }

    #[test]
    fn our_own_chain_ends_at_a_folder_that_exists() {
        match chain(&Root::default(), "cpu", std::process::id()) {
            Ok(chain) => assert!(chain.last().is_some_and(|group| group.folder.is_dir())),
            Err(why) => eprintln!("no cgroups here: {why:?}"),
        }
    }
}
