//! CPUs that all threads of a process may use, while they may use the same.
//!
//! Threads that are pinned one by one were placed by somebody with a plan; their value is not a
//! list, and no knob touches them.

use super::process;
use super::{PlaceError, Seen};
use crate::cpus::CpuSet;
use crate::host::Host;
use rustix::process::Pid;
use rustix::thread::{CpuSet as Bits, sched_setaffinity};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;

/// What stands before the lists of threads that are pinned differently.
pub const MIXED: &str = "threads differ:";
/// A thread that starts meanwhile inherits the old set; after so many rounds none is left.
const ROUNDS: u32 = 8;

pub(super) fn show(pid: u32) -> String {
    format!("threads of process {pid}")
}

/// List of each thread.
fn lists(host: &Host, pid: u32) -> BTreeMap<u32, String> {
    let of = |tid: u32| {
        let status = host.text(&format!("/proc/{pid}/task/{tid}/status"))?;
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((tid, CpuSet::parse_list(list).ok()?.list()))
    };
    process::numbers(host, &format!("/proc/{pid}/task")).into_iter().filter_map(of).collect()
}

pub(super) fn read(host: &Host, pid: u32, started_ticks: u64) -> Option<Seen> {
    process::same(host, pid, started_ticks)?;
    let lists = lists(host, pid);
    let different: BTreeSet<&String> = lists.values().collect();
    let all = different.iter().map(|list| list.as_str()).collect::<Vec<_>>().join("; ");
    let value = match different.len() {
        0 => return None,
        1 => all,
        _ => format!("{MIXED} {all}"),
    };
    Some(Seen { raw: value.clone(), value })
}

pub(super) fn write(
    host: &Host,
    (pid, started_ticks): (u32, u64),
    value: &str,
) -> Result<(), PlaceError> {
    let io = |error: io::Error| PlaceError::Io { place: show(pid), error };
    let wrong = |why| PlaceError::Value { place: show(pid), why };
    let set = CpuSet::parse_list(value).map_err(wrong)?;
    let highest = set.iter().next_back().ok_or_else(|| wrong("no CPUs".to_string()))?;
    if highest as usize >= Bits::MAX_CPU {
        return Err(wrong(format!("CPU {highest} is above {}", Bits::MAX_CPU - 1)));
    }
    let mut bits = Bits::new();
    set.iter().for_each(|cpu| bits.set(cpu as usize));
    for _ in 0..ROUNDS {
        let gone = || io(io::Error::from_raw_os_error(libc::ESRCH));
        process::same(host, pid, started_ticks).ok_or_else(gone)?;
        let left: Vec<u32> =
            lists(host, pid).into_iter().filter(|(_, list)| list != value).map(|of| of.0).collect();
        if left.is_empty() {
            break;
        }
        for tid in left {
            if host.is_made_up() {
                let path = host.root.path(format!("/proc/{pid}/task/{tid}/status"));
                fs::write(path, format!("Cpus_allowed_list:\t{value}\n")).map_err(io)?;
                continue;
            }
            let id = i32::try_from(tid).ok().and_then(Pid::from_raw).ok_or_else(gone)?;
            match sched_setaffinity(Some(id), &bits) {
                // It ended meanwhile.
                Err(rustix::io::Errno::SRCH) | Ok(()) => {}
                Err(error) => return Err(io(error.into())),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use model::root::Root;
    use std::process::Command;

    #[test]
    fn all_threads_of_a_process_move_and_come_back() {
        let host = Host::look(Root::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let started_ticks = process::stat(&host, pid).unwrap().started_ticks;
        let place = Place::Threads { pid, started_ticks };
        let before = place.read(&host).unwrap().unwrap();
        let first = CpuSet::parse_list(&before.value).unwrap().iter().next().unwrap().to_string();
        place.write(&host, &first, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap().value, first);
        place.write(&host, &before.value, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap(), before);
        assert!(place.write(&host, "", &before).is_err());
        assert!(place.write(&host, "5000", &before).is_err());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(place.read(&host).unwrap(), None, "gone");
    }
}
