//! Which network namespace the files of this process belong to.
//!
//! `/proc/sys/net` follows the process. `/sys/class/net` belongs to whoever mounted it: after a
//! bare `nsenter --net` it still shows the devices of the host, and a write would land there.

use crate::host::Host;
use std::collections::BTreeSet;
use std::fs;

/// Why `/sys` must not be used from here; nothing when it shows the devices of this process.
pub(crate) fn foreign_sys(host: &Host) -> Option<String> {
    let table = host.text("/proc/self/net/dev")?;
    let own: BTreeSet<String> = table
        .lines()
        .filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()))
        .filter(|name| !name.contains('|'))
        .collect();
    let entries = fs::read_dir(host.root.path("/sys/class/net")).ok()?;
    let shown: BTreeSet<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("ifindex").exists())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    // Two namespaces may have devices of the same names, and lo always: their numbers differ.
    let is_same = own == shown && own.iter().all(|name| has_its_number(host, name));
    (!is_same).then(|| {
        "/sys here shows the devices of another network namespace; enter it with ip netns exec \
         NAME, which brings its own /sys"
            .to_string()
    })
}

/// Whether a device has the number in `/sys` that the kernel tells this process.
fn has_its_number(host: &Host, name: &str) -> bool {
    let shown = host.text(&format!("/sys/class/net/{name}/ifindex"));
    let shown = shown.and_then(|text| text.trim().parse::<u32>().ok());
    let told = host.text("/proc/self/net/igmp");
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

/// Whether a network namespace is that of the first process that is seen from here.
pub(crate) fn is_of_first_process(host: &Host, namespace: &str) -> bool {
    let first = fs::read_link(host.root.path("/proc/1/ns/net"));
    first.is_ok_and(|link| link.to_string_lossy() == namespace)
}

/// Whether a network namespace still has a process or a name; also when that cannot be told,
/// because not all processes of the host are seen from here.
pub(crate) fn is_alive(host: &Host, namespace: &str) -> bool {
    if !host.pid_namespace.is_empty() && host.pid_namespace != ALL_PROCESSES {
        return true;
    }
    let mounts = host.text("/proc/self/mountinfo").unwrap_or_default();
    if mounts.lines().any(|line| line.split(' ').any(|word| word == namespace)) {
        return true;
    }
    let Ok(processes) = fs::read_dir(host.root.path("/proc")) else { return true };
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut links = processes
        .flatten()
        .filter(|entry| is_number(&entry.file_name().to_string_lossy()))
        .map(|entry| fs::read_link(entry.path().join("ns/net")));
    links.any(|link| link.is_ok_and(|link| link.to_string_lossy() == namespace))
}
