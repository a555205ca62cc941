//! Which process a place means: a pid alone may be another's tomorrow.

use crate::host::Host;

/// What `/proc/PID/stat` says of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// `R` runs, `S` sleeps, `T` is stopped, `Z` is gone but for its name.
    pub state: char,
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
    Some(Stat { state, started_ticks: words.get(19)?.parse().ok()? })
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
