//! CPUs that threads may use: read from `status`, set by sched_setaffinity(2).

use crate::CpuSet;
use crate::kernel_file::{is_gone, unreadable};
use crate::process;
use crate::scan;
use model::facts::Unreadable;
use model::root::Root;
use rustix::process::Pid;
use rustix::thread::{CpuSet as Bits, sched_setaffinity};
use std::collections::BTreeMap;
use std::fs;
use std::io;

/// The threads of a process; none when it has ended.
pub fn of(root: &Root, pid: u32) -> Result<Vec<u32>, Unreadable> {
    let tasks = root.process(pid, "task");
    match process::ids(&tasks) {
        Err(why) if is_gone(&why) => Ok(Vec::new()),
        listed => listed.map_err(|why| unreadable(&tasks, why)),
    }
}

/// CPUs that each thread of a process may use; threads that have ended are left out.
pub fn cpus(root: &Root, pid: u32) -> Result<BTreeMap<u32, CpuSet>, Unreadable> {
    let mut all = BTreeMap::new();
    for tid in of(root, pid)? {
        all.extend(cpus_of(root, (pid, tid))?.map(|cpus| (tid, cpus)));
    }
    Ok(all)
}

/// CPUs that one thread may use; nothing when it has ended.
pub fn cpus_of(root: &Root, (pid, tid): (u32, u32)) -> Result<Option<CpuSet>, Unreadable> {
    let path = root.process(pid, &format!("task/{tid}/status"));
    let status = match fs::read(&path) {
        Err(why) if is_gone(&why) => return Ok(None),
        status => status.map_err(|why| unreadable(&path, why))?,
    };
    let list = process::parse_status(&status, "Cpus_allowed_list").unwrap_or_default();
    CpuSet::parse_list(&scan::text(list)).map(Some).map_err(|why| unreadable(&path, why))
}

/// Lets a thread run on these CPUs. A thread that has ended is an error for which [`is_gone`] is
/// true, and so is number 0, which the kernel takes for the calling thread.
pub fn set_cpus(root: &Root, (pid, tid): (u32, u32), cpus: &CpuSet) -> io::Result<()> {
    if *root != Root::default() {
        let path = root.process(pid, &format!("task/{tid}/status"));
        return fs::write(path, format!("Cpus_allowed_list:\t{}\n", cpus.list()));
    }
    let highest = cpus.iter().next_back().unwrap_or(0);
    if highest as usize >= Bits::MAX_CPU {
        let why = format!("CPU {highest} is above {}", Bits::MAX_CPU - 1);
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    let mut bits = Bits::new();
    cpus.iter().for_each(|cpu| bits.set(cpu as usize));
    let thread = i32::try_from(tid).ok().and_then(Pid::from_raw);
    let thread = thread.ok_or(rustix::io::Errno::SRCH)?;
    Ok(sched_setaffinity(Some(thread), &bits)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Folder;

    #[test]
    fn we_have_cpus_and_nobody_is_number_0() {
        let (root, us) = (Root::default(), std::process::id());
        let cpus = cpus(&root, us).unwrap();
        assert!(cpus.values().all(|cpus| !cpus.is_empty()) && cpus.contains_key(&us));
        let nobody = set_cpus(&root, (0, 0), &cpus[&us]).unwrap_err();
        assert!(is_gone(&nobody), "{nobody}");
        assert!(of(&root, u32::MAX).unwrap().is_empty());
        let absurd = CpuSet::parse_list("5000").unwrap();
        assert!(!is_gone(&set_cpus(&root, (us, us), &absurd).unwrap_err()));
    }

    #[test]
    fn a_thread_that_cannot_be_read_has_not_ended() {
        let host = Folder::new("threads");
        let root = Root::below(host.path());
        host.write("proc/7/task/7/status", "Cpus_allowed_list:\t0-3\n");
        host.write("proc/7/task/8/other", "");
        assert_eq!(cpus(&root, 7).unwrap().len(), 1, "8 has ended");
        host.write("proc/7/task/8/status/none", "");
        assert!(cpus(&root, 7).is_err());
    }
}
