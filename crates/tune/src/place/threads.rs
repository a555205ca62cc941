//! CPUs that all threads of a process may use, while they may all use the same.
//!
//! Threads that are pinned one by one were placed on purpose; their value is not a list, and no
//! knob touches them.

use super::{PlaceError, Seen, same, unreadable};
use crate::cpus::CpuSet;
use crate::host::Host;
use ::host::kernel_file::is_gone;
use ::host::threads;
use model::maps::IntoMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// Comes before the lists of threads that are pinned differently.
pub const MIXED: &str = "threads differ:";
/// How many times the threads are listed: a thread that starts meanwhile inherits the old set.
const ROUNDS: u32 = 8;

pub(super) fn show(pid: u32) -> String {
    format!("threads of process {pid}")
}

/// Whether two values allow the same of the CPUs that are online. The kernel takes CPUs that are
/// not online out of what is written, while the value before may have had them.
pub(super) fn are_alike(host: &Host, one: &str, two: &str) -> bool {
    let online = |list: &str| CpuSet::parse_list(list).map(|set| set.and(&host.cpus_online));
    matches!((online(one), online(two)), (Ok(one), Ok(two)) if one == two)
}

/// The list of CPUs of each thread.
fn lists(host: &Host, pid: u32) -> Result<BTreeMap<u32, String>, PlaceError> {
    let all = threads::cpus(&host.root, pid).map_err(|why| unreadable(show(pid), why))?;
    Ok(all.into_iter().map(|(tid, cpus)| (tid, cpus.list())).into_map())
}

pub(super) fn read(host: &Host, process: (u32, u64)) -> Result<Option<Seen>, PlaceError> {
    let pid = process.0;
    if same(host, process, || show(pid))?.is_none() {
        return Ok(None);
    }
    let lists = lists(host, pid)?;
    let different: BTreeSet<&String> = lists.values().collect();
    let all = different.iter().map(|list| list.as_str()).collect::<Vec<_>>().join("; ");
    let value = match different.len() {
        0 => return Ok(None),
        1 => all,
        _ => format!("{MIXED} {all}"),
    };
    Ok(Some(Seen { raw: value.clone(), value }))
}

pub(super) fn write(
    host: &Host,
    (pid, started_ticks): (u32, u64),
    value: &str,
) -> Result<(), PlaceError> {
    let io = |error: io::Error| PlaceError::Io { place: show(pid), error };
    let wrong = |why| PlaceError::Value { place: show(pid), why };
    let set = CpuSet::parse_list(value).map_err(wrong)?;
    if set.is_empty() {
        return Err(wrong("no CPUs".to_string()));
    }
    for _ in 0..ROUNDS {
        let gone = || io(io::Error::from_raw_os_error(libc::ESRCH));
        same(host, (pid, started_ticks), || show(pid))?.ok_or_else(gone)?;
        let lists = lists(host, pid)?.into_iter();
        let left: Vec<u32> = lists.filter(|(_, list)| list != value).map(|of| of.0).collect();
        if left.is_empty() {
            break;
        }
        for tid in left {
            match threads::set_cpus(&host.root, (pid, tid), &set) {
                // The thread ended meanwhile.
                Err(error) if is_gone(&error) => {}
                done => done.map_err(io)?,
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;
    use crate::process;
    use model::root::Root;
    use std::process::Command;

    #[test]
    fn all_threads_of_a_process_move_and_come_back() {
        let host = Host::look(Root::default());
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let started_ticks = process::stat(pid).unwrap().started_ticks;
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

    /// The process of the next test: itself and three threads, until its pipe closes.
    #[test]
    fn a_child_with_threads() {
        if std::env::var_os(CHILD).is_none() {
            return;
        }
        for _ in 0..3 {
            std::thread::spawn(std::thread::park);
        }
        let _ = std::io::stdin().read_line(&mut String::new());
        std::process::exit(0);
    }

    const CHILD: &str = "CEILING_TUNE_TEST_CHILD";

    #[test]
    fn every_thread_moves_unless_one_is_pinned() {
        let host = Host::look(Root::default());
        let cpus: Vec<String> = host.usable_cpus().iter().map(|cpu| cpu.to_string()).collect();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", "place::threads::tests::a_child_with_threads"]);
        child.env(CHILD, "1").stdin(std::process::Stdio::piped());
        let mut child = child.stdout(std::process::Stdio::null()).spawn().unwrap();
        let pid = child.id();
        while lists(&host, pid).unwrap().len() < 4 {
            assert!(child.try_wait().unwrap().is_none(), "the child ended");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let started_ticks = process::stat(pid).unwrap().started_ticks;
        let place = Place::Threads { pid, started_ticks };
        let before = place.read(&host).unwrap().unwrap();
        place.write(&host, &cpus[0], &before).unwrap();
        assert!(lists(&host, pid).unwrap().values().all(|list| *list == cpus[0]));
        place.write(&host, &before.value, &before).unwrap();
        assert_eq!(place.read(&host).unwrap().unwrap(), before);
        if cpus.len() > 1 {
            let last = *lists(&host, pid).unwrap().keys().next_back().unwrap();
            let one = CpuSet::parse_list(&cpus[0]).unwrap();
            threads::set_cpus(&host.root, (pid, last), &one).unwrap();
            let value = place.read(&host).unwrap().unwrap().value;
            assert!(value.starts_with(MIXED), "{value}");
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }
}
