//! Which process a place means: a pid alone may be another's tomorrow.

use crate::host::Host;

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// `R` runs, `S` sleeps, `T` is stopped, `Z` is gone but for its name.
    pub state: char,
    /// The process that started it, or took it over.
    pub parent: u32,
    /// When it started, ticks since the boot.
    pub started_ticks: u64,
}

/// Nothing when there is no such process.
pub fn stat(host: &Host, pid: u32) -> Option<Stat> {
    let text = host.text(&format!("/proc/{pid}/stat"))?;
    // The name stands in parentheses and may hold some itself.
    let rest = &text[text.rfind(')')? + 1..];
    let words: Vec<&str> = rest.split_whitespace().collect();
    let state = words.first()?.chars().next()?;
    let number = |at: usize| words.get(at)?.parse::<u64>().ok();
    let parent = number(1)? as u32;
    Some(Stat { state, parent, started_ticks: number(19)? })
}

/// The same process as then, and alive.
pub fn same(host: &Host, pid: u32, started_ticks: u64) -> Option<Stat> {
    stat(host, pid).filter(|stat| stat.started_ticks == started_ticks && stat.state != 'Z')
}

/// Numbers that name the entries of a folder below `/proc`.
pub fn numbers(host: &Host, folder: &str) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(host.root.path(folder)) else { return Vec::new() };
    let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// Processes that a process has started, and those that these have, each with its start.
pub fn descendants(host: &Host, pid: u32) -> Vec<(u32, u64)> {
    let all = numbers(host, "/proc").into_iter();
    let all: Vec<(u32, Stat)> = all.filter_map(|pid| Some((pid, stat(host, pid)?))).collect();
    let mut found: Vec<(u32, u64)> = Vec::new();
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|(pid, stat)| stat.parent == parent && *pid != parent);
        for (pid, stat) in children {
            if !found.iter().any(|(known, _)| known == pid) {
                found.push((*pid, stat.started_ticks));
                parents.push(*pid);
            }
        }
    }
    found.sort_unstable();
    found
}

/// The first process with a name.
pub fn named(host: &Host, name: &str) -> Option<(u32, u64)> {
    let is_it =
        |pid: &u32| host.text(&format!("/proc/{pid}/comm")).is_some_and(|comm| comm.trim() == name);
    let pid = numbers(host, "/proc").into_iter().find(is_it)?;
    Some((pid, stat(host, pid)?.started_ticks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::root::Root;

    #[test]
    fn a_process_is_itself_only_with_its_start() {
        let host = Host::look(Root::default());
        let pid = std::process::id();
        let started = stat(&host, pid).unwrap().started_ticks;
        assert!(same(&host, pid, started).is_some());
        assert!(same(&host, pid, started + 1).is_none());
        assert!(stat(&host, 0).is_none());
    }
}
