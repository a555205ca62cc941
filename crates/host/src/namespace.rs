//! Which network namespace the files of this process belong to, and how a thread enters another.
//!
//! `/proc/sys/net` follows the process. `/sys/class/net` belongs to whoever mounted it: after a
//! bare `nsenter --net` it still shows the devices of the host, and a write would land there.
//!
//! Only a thread that is about to end enters a namespace, never a process: what other threads read,
//! send and open stays where it was. See setns(2), network_namespaces(7).

#![allow(unsafe_code, reason = "mounts of a thread's own")]

use crate::Root;
use crate::kernel_file::is_gone;
use crate::process;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::thread;

fn text(root: &Root, path: &str) -> Option<String> {
    fs::read_to_string(root.path(path)).ok()
}

/// A namespace, `net` or `pid`, of this thread as the kernel names it: `/proc/sys/net` follows the
/// thread, not its process.
pub fn of(root: &Root, kind: &str) -> Option<String> {
    link(root, "thread-self", kind)
}

/// The initial network namespace of the kernel; its number is fixed since Linux 6.18
/// (`NET_NS_INIT_INO`).
const INITIAL_NETWORK: &str = "net:[4026531833]";
/// The kernel shows this file in the initial network namespace only (`net/core/sysctl_net_core.c`,
/// `net_core_table`).
const INITIAL_ONLY: &str = "/proc/sys/net/core/netdev_max_backlog";

/// Whether the network namespace of this thread is the initial one of the kernel; nothing when that
/// is not known. The namespace of process 1 does not tell in a container, where that is its own.
pub fn is_initial(root: &Root) -> Option<bool> {
    match of(root, "net") {
        Some(namespace) if namespace == INITIAL_NETWORK => return Some(true),
        // A fake host of files has no links, and one namespace.
        None if *root != Root::default() => return Some(true),
        _ => {}
    }
    match fs::symlink_metadata(root.path(INITIAL_ONLY)) {
        Ok(_) => Some(true),
        // Where nothing is mounted, nothing is known.
        Err(error) if is_gone(&error) => root.path("/proc/sys/net/core").is_dir().then_some(false),
        Err(_) => None,
    }
}

/// The network namespace of the first process of the host; nothing from a PID namespace that does
/// not show all processes, where process 1 is another.
pub fn of_host(root: &Root, pid_namespace: &str) -> Option<String> {
    link(root, "1", "net").filter(|_| pid_namespace == ALL_PROCESSES)
}

fn link(root: &Root, process: &str, kind: &str) -> Option<String> {
    let link = fs::read_link(root.path(format!("/proc/{process}/ns/{kind}"))).ok()?;
    Some(link.display().to_string())
}

/// The namespace of this kind of a process; nothing when it has ended or we may not inspect it.
pub fn of_process(root: &Root, kind: &str, pid: u32) -> Option<String> {
    link(root, &pid.to_string(), kind)
}

/// The network namespace of a process, where it differs from that of the calling thread. If we may
/// not inspect the process, the name is not known; but every namespace has its own files below
/// `/proc/PID/net`, which have other numbers (`fs/proc/generic.c`, `proc_register`).
pub fn apart(root: &Root, pid: u32) -> Option<String> {
    if let (Some(theirs), Some(ours)) = (of_process(root, "net", pid), of(root, "net")) {
        return (ours != theirs).then_some(theirs);
    }
    let number = |process: &str| {
        let file = root.path(format!("/proc/{process}/net/dev"));
        fs::metadata(file).ok().map(|of| of.ino())
    };
    let (theirs, ours) = (number(&pid.to_string())?, number("thread-self")?);
    (ours != theirs).then(|| "net:[not readable]".to_string())
}

/// Network namespaces other than that of the calling thread, each with its processes in order, as
/// far as we may inspect them.
pub fn others() -> io::Result<BTreeMap<String, Vec<u32>>> {
    let root = Root::default();
    let ours = of(&root, "net");
    let mut others = BTreeMap::<String, Vec<u32>>::new();
    let mut pids = process::ids(Path::new("/proc"))?;
    pids.sort_unstable();
    for pid in pids {
        if let Some(namespace) = of_process(&root, "net", pid)
            && ours.as_ref() != Some(&namespace)
        {
            others.entry(namespace).or_default().push(pid);
        }
    }
    Ok(others)
}

/// Moves the calling thread, and no other, into the network namespace of a process. It may not be
/// able to return, so it should end there.
pub fn enter(pid: u32) -> io::Result<()> {
    enter_kind(pid, "net", LinkNameSpaceType::Network)
}

fn enter_kind(pid: u32, kind: &str, allowed: LinkNameSpaceType) -> io::Result<()> {
    let namespace = File::open(process::path(pid, &format!("ns/{kind}")))?;
    Ok(move_into_link_name_space(namespace.as_fd(), Some(allowed))?)
}

/// Gives the calling thread mounts of its own, in which `/sys` shows the devices of the network
/// namespace that it has entered.
pub fn mount_own_sys() -> io::Result<()> {
    // SAFETY: descriptors stay shared; only mounts and the working directory become our own.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS)? };
    mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount("sysfs", "/sys", "sysfs", flags, None::<&CStr>)?)
}

/// The hostname as a process sees it, in its UTS namespace.
pub fn hostname_of(pid: u32) -> io::Result<String> {
    in_thread(|| {
        enter_kind(pid, "uts", LinkNameSpaceType::HostNameAndNISDomainName)?;
        // The kernel returns the name of the reader's namespace.
        Ok(fs::read_to_string("/proc/sys/kernel/hostname")?.trim().to_string())
    })
}

/// Does something in the network namespace of a process, on a thread that ends with it.
pub fn inside<T: Send>(pid: u32, run: impl FnOnce() -> T + Send) -> io::Result<T> {
    in_thread(|| {
        enter(pid)?;
        Ok(run())
    })
}

fn in_thread<T: Send>(run: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("inside".to_string());
        let thread = thread.spawn_scoped(scope, run)?;
        thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
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

/// Whether a device has the number in `/sys` that the kernel reports to this process.
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

/// The PID namespace in which all processes of a host are visible; its number is fixed
/// (`PROC_PID_INIT_INO` of the kernel).
const ALL_PROCESSES: &str = "pid:[4026531836]";

/// Whether a network namespace still has a process or a name; true also when that is not known,
/// because not all processes of the host are visible from this PID namespace, or we may not inspect
/// one of them.
pub fn is_alive(root: &Root, pid_namespace: &str, namespace: &str) -> bool {
    if pid_namespace != ALL_PROCESSES {
        return true;
    }
    // A name is a mount, which our own mounts may not show.
    for process in ["self", "1"] {
        let is_named = match fs::read_to_string(root.path(format!("/proc/{process}/mountinfo"))) {
            Ok(mounts) => mounts.split_whitespace().any(|word| word == namespace),
            Err(error) => !is_gone(&error),
        };
        if is_named {
            return true;
        }
    }
    let Ok(processes) = fs::read_dir(root.path("/proc")) else { return true };
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    let mut links = processes
        .flatten()
        .filter(|entry| is_number(&entry.file_name().to_string_lossy()))
        .map(|entry| fs::read_link(entry.path().join("ns/net")));
    links.any(|link| match link {
        Ok(link) => link.to_string_lossy() == namespace,
        Err(error) => !is_gone(&error),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;
    use std::os::unix::fs::symlink;

    #[test]
    fn our_own_namespace_is_not_another() {
        let root = Root::default();
        let us = std::process::id();
        assert_eq!(of_process(&root, "net", us), of(&root, "net"));
        assert_eq!((apart(&root, us), of_process(&root, "net", u32::MAX - 1)), (None, None));
        assert!(!others().unwrap().values().flatten().any(|pid| *pid == us));
    }

    #[test]
    fn the_initial_namespace_is_known_by_its_number_or_by_a_file_of_its_own() {
        let host = Folder::new("initial");
        let root = Root::below(host.path());
        assert_eq!(is_initial(&root), Some(true), "a host of files has no other");
        let thread = host.path().join("proc/thread-self/ns");
        fs::create_dir_all(&thread).unwrap();
        fs::create_dir_all(host.path().join("proc/1/ns")).unwrap();
        // As in a container, where process 1 is in the same namespace.
        symlink("net:[22]", host.path().join("proc/1/ns/net")).unwrap();
        symlink("net:[22]", thread.join("net")).unwrap();
        assert_eq!(is_initial(&root), None, "nothing is mounted");
        host.write("proc/sys/net/core/somaxconn", "4096");
        assert_eq!(is_initial(&root), Some(false));
        host.write("proc/sys/net/core/netdev_max_backlog", "1000");
        assert_eq!(is_initial(&root), Some(true));
        fs::remove_file(host.path().join("proc/sys/net/core/netdev_max_backlog")).unwrap();
        fs::remove_file(thread.join("net")).unwrap();
        symlink(INITIAL_NETWORK, thread.join("net")).unwrap();
        assert_eq!(is_initial(&root), Some(true));
        assert_eq!(of_host(&root, ALL_PROCESSES).as_deref(), Some("net:[22]"));
        assert_eq!(of_host(&root, "pid:[7]"), None);
    }

    #[test]
    fn a_namespace_ends_only_when_every_process_could_be_asked() {
        let host = Folder::new("alive");
        let root = Root::below(host.path());
        let alive = || is_alive(&root, ALL_PROCESSES, "net:[22]");
        host.write("proc/5/stat", "");
        assert!(!alive() && is_alive(&root, "pid:[7]", "net:[22]"));
        host.write("proc/1/mountinfo", "9 1 0:4 net:[22] /run/netns/x rw - nsfs nsfs rw");
        assert!(alive(), "it has a name, though not among our own mounts");
        host.write("proc/1/mountinfo", "1 1 0:1 / / rw - ext4 ext4 rw");
        assert!(!alive());
        // A file is no link, as one that we may not read is none.
        host.write("proc/5/ns/net", "");
        assert!(alive());
    }

    #[test]
    #[ignore = "needs root: make test-host"]
    fn a_thread_looks_into_another_namespace_and_the_process_stays() {
        let mut words = std::process::Command::new("unshare");
        words.args(["--net", "--uts", "sh", "-c", "hostname inside-ceiling && exec sleep 60"]);
        let child = crate::testing::Child::spawn(&mut words);
        child.wait_for("sleep", 1);
        let root = Root::default();
        let before = of(&root, "net");
        let namespace = apart(&root, child.id()).expect("a namespace of its own");
        assert!(others().unwrap()[&namespace].contains(&child.id()));
        let seen = inside(child.id(), || {
            mount_own_sys().unwrap();
            let shown = fs::read_dir("/sys/class/net").unwrap().flatten();
            let shown: BTreeSet<_> =
                shown.map(|entry| entry.file_name().into_string().unwrap()).collect();
            let table = fs::read_to_string("/proc/thread-self/net/dev").unwrap();
            let is_told = shown.iter().all(|name| table.contains(&format!("{name}:")));
            (of(&Root::default(), "net").unwrap(), shown.contains("lo") && is_told)
        });
        assert_eq!(seen.unwrap(), (namespace, true), "its devices and no others");
        assert_eq!(of(&root, "net"), before);
        assert_eq!(hostname_of(child.id()).unwrap(), "inside-ceiling");
    }
}
