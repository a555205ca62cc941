//! Which network namespace the files of this process belong to.
//!
//! `/proc/sys/net` follows the process. `/sys/class/net` belongs to whoever mounted it: after a
//! bare `nsenter --net` it still shows the devices of the host, and a write would land there.

use crate::Root;
use std::collections::BTreeSet;
use std::fs;

fn text(root: &Root, path: &str) -> Option<String> {
    fs::read_to_string(root.path(path)).ok()
}

/// A namespace, `net` or `pid`, of this thread as the kernel names it: `/proc/sys/net` follows the
/// thread, not its process.
pub fn of(root: &Root, kind: &str) -> Option<String> {
    link(root, "thread-self", kind)
}

/// The same of the first process that is seen from here.
pub fn of_first_process(root: &Root, kind: &str) -> Option<String> {
    link(root, "1", kind)
}

fn link(root: &Root, process: &str, kind: &str) -> Option<String> {
    let link = fs::read_link(root.path(format!("/proc/{process}/ns/{kind}"))).ok()?;
    Some(link.display().to_string())
}

/// Why `/sys` must not be used from here; nothing when it shows the devices of this process.
pub fn foreign_sys(root: &Root) -> Option<String> {
    let table = text(root, "/proc/self/net/dev")?;
    let own: BTreeSet<String> = table
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()))
        .filter(|name| !name.contains('|'))
        .collect();
    let entries = fs::read_dir(root.path("/sys/class/net")).ok()?;
    let shown: BTreeSet<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("ifindex").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    // Two namespaces may have devices of the same names, and lo always: their numbers differ.
    let is_same = own == shown && own.iter().all(|name| has_its_number(root, name));
    (!is_same).then(|| {
        "/sys here shows the devices of another network namespace; enter it with ip netns exec \
         NAME, which brings its own /sys"
            .to_string()
    })
}

/// Whether a device has the number in `/sys` that the kernel tells this process.
fn has_its_number(root: &Root, name: &str) -> bool {
    let shown = text(root, &format!("/sys/class/net/{name}/ifindex"));
    let shown = shown.and_then(|text| text.trim().parse::<u32>().ok());
    let told = text(root, "/proc/self/net/igmp");
    let line = told.iter().flat_map(|text| text.lines()).find(|line| {
        let mut words = line.split_whitespace();
        let number = words.next();
        number.is_some_and(|word| word.parse::<u32>().is_ok()) && words.next() == Some(name)
    });
    let told = line.and_then(|line| line.split_whitespace().next()?.parse::<u32>().ok());
    // Devices that are down are not in that list.
    told.is_none() || told == shown
}

/// The PID namespace in which all processes of a host are seen, and its number is fixed
/// (`PROC_PID_INIT_INO` of the kernel).
const ALL_PROCESSES: &str = "pid:[4026531836]";

/// Whether a network namespace still has a process or a name; also when that cannot be told,
/// because not all processes of the host are seen from this PID namespace.
pub fn is_alive(root: &Root, pid_namespace: &str, namespace: &str) -> bool {
    if !pid_namespace.is_empty() && pid_namespace != ALL_PROCESSES {
        return true;
    }
    let mounts = text(root, "/proc/self/mountinfo").unwrap_or_default();
    if mounts.lines().any(|line| line.split(' ').any(|word| word == namespace)) {
        return true;
    }
    let Ok(processes) = fs::read_dir(root.path("/proc")) else { return true };
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut links = processes
        .flatten()
        .filter(|entry| is_number(&entry.file_name().to_string_lossy()))
        .map(|entry| fs::read_link(entry.path().join("ns/net")));
    links.any(|link| link.is_ok_and(|link| link.to_string_lossy() == namespace))
}
