//! The CPUs this process may use.

use model::units::parse_cpus;
use std::fs;
use std::thread::available_parallelism;

/// CPUs by number, in order. Where `/proc` does not tell, as many as the system says there are.
pub fn allowed() -> Vec<usize> {
    affinity().unwrap_or_else(|| (0..available_parallelism().map_or(1, usize::from)).collect())
}

/// The affinity mask, without CPUs that are off: what `sched_getaffinity` responses.
fn affinity() -> Option<Vec<usize>> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut cpus = parse_cpus(list.trim())?;
    // The mask may hold CPUs that could be plugged in one day.
    let online = fs::read_to_string("/sys/devices/system/cpu/online").ok();
    if let Some(online) = online.and_then(|list| parse_cpus(list.trim())) {
        cpus.retain(|cpu| online.contains(cpu));
    }
    Some(cpus).filter(|cpus| !cpus.is_empty())
}

/// CPUs in order as a list that `--cpus` takes: `0-3,6`.
pub fn listed(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|left, right| left + 1 == *right);
    let shown = runs.map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    shown.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_they_are_read() {
        for text in ["0", "0-1", "0-3,6", "1,3,5-7"] {
            assert_eq!(listed(&parse_cpus(text).unwrap()), text);
        }
        assert!(!allowed().is_empty());
    }
}
