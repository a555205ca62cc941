//! `/proc/vmstat`, the part about reclaim, and `memory.*` of the server's innermost control group.
//!
//! Kept of vmstat are pages scanned and reclaimed (`pgscan_*`, `pgsteal_*`), stalls of tasks that
//! had to reclaim themselves (`allocstall_*`), pages that were needed again
//! (`workingset_refault_*`), swapping, major faults, and kills (`mm/vmstat.c`). Of the group, with
//! `server.` before the name: `usage_bytes` and `limit_bytes`; version 1 counts `failcnt`, how
//! often the limit was hit, version 2 counts `events_high`, `events_max`, `events_oom` and
//! `events_oom_kill`. `resident_bytes` is the resident memory of the server's processes together
//! (`VmRSS` of `/proc/PID/status`); what they share counts for each.
//!
//! Caveats. vmstat is host-wide. Usage includes the page cache and is a gauge. Without a limit
//! there is no `limit_bytes`. A group above may have the limit that counts; it is not read here.
//! Which names exist depends on the kernel.

use super::{Round, Scope, Source};
use crate::cgroup_path::{self, Group};
use crate::kernel_file::KernelFile;
use crate::process;
use crate::scan::{self, ParseError};
use crate::tree::Tree;
use model::facts::Unreadable;
use model::maps::IntoMap;
use model::metric::Declaration;
use model::reading::{Data, Values};
use model::root::Root;
use model::unit::Unit;
use model::units::NS_PER_S;
use std::collections::BTreeMap;
use std::fs;

/// The names of vmstat that are kept start with one of these.
const NAMES: [&[u8]; 9] = [
    b"allocstall_",
    b"compact_stall",
    b"oom_kill",
    b"pgmajfault",
    b"pgscan_",
    b"pgsteal_",
    b"pswpin",
    b"pswpout",
    b"workingset_refault",
];
/// Version 1 writes the largest number of pages there can be when there is no limit.
const UNLIMITED_BYTES: u64 = 1 << 62;

/// The counters about reclaim of `/proc/vmstat`.
pub fn parse(bytes: &[u8]) -> Result<Vec<(String, u64)>, ParseError> {
    let is_of_use = |name: &[u8]| NAMES.iter().any(|start| name.starts_with(start));
    let all = parse_counts(bytes, is_of_use)?;
    if all.is_empty() {
        return Err(ParseError::new("counters about reclaim", bytes));
    }
    Ok(all)
}

/// The events of `memory.events`.
pub fn parse_events(bytes: &[u8]) -> Result<Vec<(String, u64)>, ParseError> {
    const EVENTS: [&[u8]; 4] = [b"high", b"max", b"oom", b"oom_kill"];
    parse_counts(bytes, |name| EVENTS.contains(&name))
}

fn parse_counts(
    bytes: &[u8],
    is_of_use: impl Fn(&[u8]) -> bool,
) -> Result<Vec<(String, u64)>, ParseError> {
    let mut counts = Vec::new();
    for line in scan::lines(bytes) {
        let mut words = scan::words(line);
        let name = words.next().unwrap_or_default();
        if is_of_use(name) {
            let count = words.next().and_then(scan::number);
            let count = count.ok_or_else(|| ParseError::new("a name and a count", line))?;
            counts.push((scan::text(name), count));
        }
    }
    Ok(counts)
}

/// Parses a file that holds one number; `max`, or a number that means no limit, is none.
pub fn parse_limit(bytes: &[u8]) -> Result<Option<u64>, ParseError> {
    match bytes.trim_ascii() {
        b"max" => Ok(None),
        word => {
            let number = scan::number(word).ok_or_else(|| ParseError::new("a number", bytes))?;
            Ok(Some(number).filter(|&number| number < UNLIMITED_BYTES))
        }
    }
}

/// Resident memory in a `status` file, bytes; what has ended has none.
pub fn parse_resident(bytes: &[u8]) -> Option<u64> {
    let kilobytes = process::parse_status(bytes, "VmRSS")?.strip_suffix(b"kB")?;
    scan::number(kilobytes.trim_ascii())?.checked_mul(1024)
}

/// Resident memory of all processes of the server's tree; nothing when none is left.
fn resident(root: &Root, tree: &Tree) -> Option<u64> {
    let of = |pid: &u32| parse_resident(&fs::read(root.process(*pid, "status")).ok()?);
    tree.pids().iter().filter_map(of).reduce(u64::saturating_add)
}

/// What the figures are.
pub(super) fn declared() -> Declaration {
    Declaration::new(Values::MEMORY, "/proc/vmstat, /proc/PID/status and memory of its cgroup")
        .max(
            "server.{what}_bytes",
            Unit::Bytes,
            "Memory of the innermost control group of the server; resident: of its processes.",
        )
        .counter("server.{event}", Unit::Count, "Times the memory limit of the server acted.")
        .counter("{name}", Unit::Count, "Reclaim of memory, host-wide.")
}

/// The files of the server's group.
struct MemoryFiles {
    group: Group,
    usage: KernelFile,
    limit: KernelFile,
    /// `memory.failcnt`, or `memory.events`.
    events: KernelFile,
}

impl MemoryFiles {
    fn of(group: Group) -> Self {
        let file = |v1, v2| {
            KernelFile::one_piece(group.folder.join(if group.version == 1 { v1 } else { v2 }))
        };
        let usage = file("memory.usage_in_bytes", "memory.current");
        let limit = file("memory.limit_in_bytes", "memory.max");
        let events = file("memory.failcnt", "memory.events");
        Self { group, usage, limit, events }
    }

    /// Adds what the group reports. The root of version 2, and groups without the controller, have
    /// no such files.
    fn read(&mut self, all: &mut BTreeMap<String, u64>) -> Result<(), Unreadable> {
        for (name, file) in [("usage_bytes", &mut self.usage), ("limit_bytes", &mut self.limit)] {
            let number = file.parse_if_there(parse_limit)?.flatten();
            all.extend(number.map(|number| (format!("server.{name}"), number)));
        }
        let version = self.group.version;
        let events = self.events.parse_if_there(|bytes| match version {
            1 => {
                parse_limit(bytes).map(|count| Vec::from_iter(count.map(|n| ("failcnt".into(), n))))
            }
            _ => parse_events(bytes).map(|events| {
                events.into_iter().map(|(name, count)| (format!("events_{name}"), count)).collect()
            }),
        })?;
        let events = events.into_iter().flatten();
        all.extend(events.map(|(name, count)| (format!("server.{name}"), count)));
        Ok(())
    }
}

struct Memory {
    root: Root,
    vmstat: KernelFile,
    server: Option<MemoryFiles>,
    group_due_ns: u64,
}

pub(super) fn open(scope: &Scope) -> Option<Box<dyn Source>> {
    Some(Box::new(Memory {
        root: scope.root.clone(),
        vmstat: KernelFile::records(scope.root.path("/proc/vmstat")),
        server: None,
        group_due_ns: 0,
    }))
}

impl Source for Memory {
    fn read(&mut self, round: &Round<'_>) -> Result<Data, Unreadable> {
        let counters = self.vmstat.parse(parse)?;
        let mut all: BTreeMap<String, u64> = counters.into_map();
        // The host's counters go on when the server has ended.
        if let Some(Ok(tree)) = round.server {
            if round.due_ns >= self.group_due_ns {
                self.group_due_ns = round.due_ns + 5 * NS_PER_S;
                // A host without the controller has no such group: nothing to report. What cannot
                // be read is reported, and the next rounds still have the counters of the host.
                let chain = cgroup_path::chain_if_there(&self.root, "memory", tree.root())?;
                let group = chain.and_then(|chain| chain.into_iter().next());
                if group.as_ref() != self.server.as_ref().map(|files| &files.group) {
                    self.server = group.map(MemoryFiles::of);
                }
            }
            if let Some(files) = &mut self.server {
                files.read(&mut all)?;
            }
            let resident = resident(&self.root, tree);
            all.extend(resident.map(|bytes| ("server.resident_bytes".to_string(), bytes)));
        }
        Ok(Data::values(Values::MEMORY, all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Folder, fixture};

    #[test]
    fn reclaim_only() {
        let counters: BTreeMap<_, _> =
            parse(&fixture("linux-6.18-vm/vmstat")).unwrap().into_iter().collect();
        assert_eq!(counters["workingset_refault_file"], 14_609_662);
        assert_eq!(counters["pgscan_direct"], 251_253);
        assert!(!counters.contains_key("nr_free_pages"));
        assert!(parse(b"nr_free_pages 1\n").is_err() && parse(b"pswpin x\n").is_err());
    }

    #[test]
    fn limits_and_events_of_both_versions() {
        assert_eq!(parse_limit(b"max\n"), Ok(None));
        assert_eq!(parse_limit(b"9223372036854771712\n"), Ok(None));
        assert_eq!(parse_limit(b"1048576\n"), Ok(Some(1 << 20)));
        let events = parse_events(b"low 1\nhigh 2\nmax 3\noom 0\noom_kill 0\n").unwrap();
        assert_eq!(events[..2], [("high".into(), 2), ("max".into(), 3)]);
    }

    /// A host whose process 7 is in a group of this version.
    fn host(version: u8) -> Folder {
        let host = Folder::new(&format!("memory-v{version}"));
        let (kind, options, line) = match version {
            1 => ("cgroup", "rw,memory", "4:memory:/bench\n"),
            _ => ("cgroup2", "rw", "0::/bench\n"),
        };
        let mount = format!("30 24 0:26 / /sys/fs/cgroup rw - {kind} cgroup {options}\n");
        host.write("proc/self/mountinfo", mount);
        host.write("proc/7/cgroup", line);
        host.write("proc/7/stat", fixture("linux-6.18-vm/thread_stat"));
        host.write("proc/7/task/7/children", "");
        host.write("proc/vmstat", fixture("linux-6.18-vm/vmstat"));
        host
    }

    fn read(host: &Folder) -> BTreeMap<String, u64> {
        let root = Root::below(host.path());
        let tree = Tree::on(&root, 7).unwrap();
        let mut source = open(&Scope { root, server_pid: Some(7), ..Scope::default() }).unwrap();
        let data = source.read(&Round { due_ns: 0, server: Some(Ok(&tree)) }).unwrap();
        let Data::Values(all) = data else { panic!("{data:?}") };
        let counts =
            all.values.into_iter().filter_map(|(name, value)| Some((name, value.count()?)));
        counts.filter(|(name, _)| name.starts_with("server.")).collect()
    }

    #[test]
    fn the_servers_group() {
        let first = host(1);
        first.write("sys/fs/cgroup/bench/memory.usage_in_bytes", "4096\n");
        first.write("sys/fs/cgroup/bench/memory.limit_in_bytes", "8192\n");
        first.write("sys/fs/cgroup/bench/memory.failcnt", "3\n");
        let expected =
            [("server.failcnt", 3), ("server.limit_bytes", 8192), ("server.usage_bytes", 4096)];
        let expected = expected.map(|(name, count)| (name.to_string(), count));
        assert_eq!(read(&first).into_iter().collect::<Vec<_>>(), expected);

        let second = host(2);
        second.write("sys/fs/cgroup/bench/memory.current", "4096\n");
        second.write("sys/fs/cgroup/bench/memory.max", "max\n");
        second.write("sys/fs/cgroup/bench/memory.events", "high 0\nmax 5\n");
        let all = read(&second);
        assert_eq!((all["server.usage_bytes"], all["server.events_max"]), (4096, 5));
        assert!(!all.contains_key("server.limit_bytes"));
        assert!(!all.contains_key("server.resident_bytes"), "no process was read");
        second.write("proc/7/status", "Name:\tserver\nVmHWM:\t   5124 kB\nVmRSS:\t   5120 kB\n");
        assert_eq!(read(&second)["server.resident_bytes"], 5120 * 1024);
    }

    #[test]
    fn a_group_that_cannot_be_read_is_not_one_that_is_not_there() {
        let host = host(2);
        let root = Root::below(host.path());
        let tree = Tree::on(&root, 7).unwrap();
        let mut source = open(&Scope { root, server_pid: Some(7), ..Scope::default() }).unwrap();
        let mut read = |due_ns| source.read(&Round { due_ns, server: Some(Ok(&tree)) });
        host.write("proc/7/cgroup", "no membership\n");
        assert!(read(0).unwrap_err().source.ends_with("proc/7/cgroup"));
        assert!(matches!(read(NS_PER_S), Ok(Data::Values(_))), "the host's counters go on");
        host.write("proc/7/cgroup", "0::/bench\n");
        host.write("proc/self/mountinfo", "30 24 0:26 / /sys rw - sysfs sysfs rw\n");
        assert!(matches!(read(6 * NS_PER_S), Ok(Data::Values(_))), "nothing is mounted");
    }
}
