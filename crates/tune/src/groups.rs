//! Control groups that may limit the CPU time of a process, in version 1 or 2.
//!
//! `/proc/PID/cgroup` names the group in every hierarchy, `/proc/self/mountinfo` says where the
//! hierarchies are mounted. A mounted version 1 hierarchy with the controller has it alone.

use crate::host::Host;

/// One group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Version of its hierarchy, 1 or 2.
    pub version: u8,
    /// Its folder on the host.
    pub folder: String,
}

/// The groups of a process, innermost first, without the root, which has no limit. None when they
/// cannot be seen from here.
pub fn with_cpu(host: &Host, pid: u32) -> Vec<Group> {
    let mounts = host.text("/proc/self/mountinfo").unwrap_or_default();
    let member = host.text(&format!("/proc/{pid}/cgroup")).unwrap_or_default();
    find(&mounts, &member).unwrap_or_default()
}

fn find(mounts: &str, member: &str) -> Option<Vec<Group>> {
    let has_cpu = |list: &str| list.split(',').any(|name| name == "cpu");
    let mut parts = member.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        parts.next().zip(parts.next())
    });
    let first = parts.clone().find(|(controllers, _)| has_cpu(controllers));
    let version = if first.is_some() { 1 } else { 2 };
    let (_, path) = first.or_else(|| parts.find(|(controllers, _)| controllers.is_empty()))?;
    let (root, point) = mounts.lines().find_map(|line| {
        let (before, after) = line.split_once(" - ")?;
        let (kind, options) = (after.split(' ').next()?, after.split(' ').nth(2)?);
        let is_it = match version {
            1 => kind == "cgroup" && has_cpu(options),
            _ => kind == "cgroup2",
        };
        let mut words = before.split(' ').skip(3);
        is_it.then(|| words.next().zip(words.next())).flatten()
    })?;
    let inside = path.strip_prefix(root.trim_end_matches('/'))?;
    let is_below = inside.is_empty() || inside.starts_with('/');
    // A namespace shows a group outside of it as one with dots, which no mount leads to.
    if !is_below || inside.split('/').any(|part| part == "..") {
        return None;
    }
    let mut inside = inside.trim_end_matches('/');
    let mut groups = Vec::new();
    while !inside.is_empty() {
        groups.push(Group { version, folder: format!("{point}{inside}") });
        inside = inside.rsplit_once('/').map_or("", |(above, _)| above);
    }
    // What a container sees as its root is a group that somebody outside may have limited.
    if root != "/" {
        groups.push(Group { version, folder: point.to_string() });
    }
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                         41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";

    fn folders(mounts: &str, member: &str) -> Vec<String> {
        find(mounts, member).unwrap_or_default().into_iter().map(|group| group.folder).collect()
    }

    #[test]
    fn version_1_has_the_controller_where_it_is_mounted() {
        let found = folders(MIXED, "2:cpu,cpuacct:/a/b\n0::/x\n");
        assert_eq!(found, ["/sys/fs/cgroup/cpu/a/b", "/sys/fs/cgroup/cpu/a"]);
        assert_eq!(folders(MIXED, "3:cpuset:/\n0::/x\n"), ["/sys/fs/cgroup/unified/x"]);
        assert_eq!(folders(MIXED, "2:cpu,cpuacct:/\n0::/x\n"), [""; 0]);
    }

    #[test]
    fn a_container_sees_its_part_and_nothing_above() {
        let mounts = "1 1 0:1 /docker/3f /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
        assert_eq!(folders(mounts, "2:cpu:/docker/3f"), ["/sys/fs/cgroup/cpu"]);
        assert_eq!(folders(mounts, "2:cpu:/docker/3"), [""; 0]);
        assert_eq!(folders(mounts, "2:cpu:/docker/3f/../x"), [""; 0]);
    }
}
