//! The kernel's figures about CPUs and processes.
//!
//! Idle time is counted exactly, to the microsecond, before it is rounded to ticks; the states in
//! which a CPU is busy are sampled at the tick. So busy time is elapsed time minus idle time.

use anyhow::{Context, Result};
use std::fs;
use std::time::{Duration, Instant};

/// Idle time of each CPU since boot, waits for disks included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idle {
    ticks: Vec<u64>,
}

/// The machine at one instant.
#[derive(Debug, Clone)]
pub struct Instantaneous {
    at: Instant,
    idle: Idle,
}

/// How busy each CPU was between two instants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Busy {
    pub elapsed: Duration,
    pub cpus: Vec<Duration>,
}

impl Instantaneous {
    /// Now.
    pub fn now() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("/proc/stat is not readable")?;
        Ok(Self { at: Instant::now(), idle: idle(&text)? })
    }

    /// How busy the CPUs were until `later`.
    pub fn until(&self, later: &Self) -> Busy {
        let elapsed = later.at - self.at;
        let pairs = self.idle.ticks.iter().zip(&later.idle.ticks);
        let idle = pairs.map(|(before, after)| ticks(after.saturating_sub(*before)));
        Busy { elapsed, cpus: idle.map(|idle| elapsed.saturating_sub(idle)).collect() }
    }
}

/// Reads `/proc/stat`: `cpuN user nice system idle iowait ...`.
fn idle(text: &str) -> Result<Idle> {
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let of_cpu = |line: &str| -> Option<u64> {
        let mut fields = line.split_ascii_whitespace().skip(4);
        let idle: u64 = fields.next()?.parse().ok()?;
        let waiting: u64 = fields.next()?.parse().ok()?;
        Some(idle + waiting)
    };
    let ticks: Option<Vec<u64>> = text.lines().filter(is_cpu).map(of_cpu).collect();
    let ticks = ticks.filter(|cpus| !cpus.is_empty());
    Ok(Idle { ticks: ticks.context("/proc/stat does not have the expected form")? })
}

fn ticks(count: u64) -> Duration {
    Duration::from_nanos(count * 1_000_000_000 / rustix::param::clock_ticks_per_second())
}

/// CPU time of a process so far, of all its threads; nothing when it is gone.
pub fn cpu_time(process: u32) -> Duration {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    ticks(process_ticks(&text).unwrap_or(0))
}

/// Reads `/proc/PID/stat`. The name of the process may contain anything, even spaces and brackets.
fn process_ticks(text: &str) -> Option<u64> {
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

/// CPU time of a process and its children so far, including children that it has waited for.
pub fn family_cpu_time(parent: u32) -> Duration {
    let stat = |process: u32| fs::read_to_string(format!("/proc/{process}/stat"));
    let texts = processes().filter_map(|process| Some((process, stat(process).ok()?)));
    let own = texts.filter_map(|(process, text)| {
        let fields: Vec<&str> = text.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let is_child = number(1)? == u64::from(parent);
        let waited = if process == parent { number(13)? + number(14)? } else { 0 };
        (is_child || process == parent).then_some(number(11)? + number(12)? + waited)
    });
    ticks(own.sum())
}

/// Resident memory of a process, bytes; nothing when it is gone.
pub fn resident_bytes(process: u32) -> Option<u64> {
    resident(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

/// Reads `VmRSS` in `/proc/PID/status`.
fn resident(text: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Processes, including kernel threads, whose name starts with `prefix`.
pub fn processes_named(prefix: &str) -> Vec<u32> {
    let is_named = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/comm"));
        name.is_ok_and(|name| name.starts_with(prefix))
    };
    processes().filter(is_named).collect()
}

/// Every process.
fn processes() -> impl Iterator<Item = u32> {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok())
}

/// The text of a small file of the kernel, without the line feed; empty when it is missing.
pub fn value(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// The model of the CPUs.
pub fn cpu_model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or(String::new(), |(_, model)| model.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  10 0 20 300 5 0 1 0 0 0
cpu0 4 0 10 100 5 0 1 0 0 0
cpu1 6 0 10 200 0 0 0 0 0 0
intr 1 2 3
ctxt 5
";

    #[test]
    fn idle_is_read_per_cpu_with_waits() {
        assert_eq!(idle(STAT).unwrap(), Idle { ticks: vec![105, 200] });
        assert!(idle("intr 1\n").is_err());
        assert!(idle("cpu0 4 0 ten\n").is_err());
    }

    #[test]
    fn busy_is_elapsed_without_idle() {
        let at = Instant::now();
        let before = Instantaneous { at, idle: Idle { ticks: vec![100, 100] } };
        let elapsed = Duration::from_secs(3);
        let after = Instantaneous { at: at + elapsed, idle: Idle { ticks: vec![400, 150] } };
        let busy = before.until(&after);
        assert_eq!(busy.elapsed, elapsed);
        assert_eq!(busy.cpus, [Duration::ZERO, Duration::from_millis(2500)]);
    }

    #[test]
    fn cpu_time_stands_behind_the_name() {
        let text = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 250 50 9 9 20 0 1 0 5 6 7\n";
        assert_eq!(process_ticks(text), Some(300));
        assert_eq!(process_ticks(""), None);
        assert!(cpu_time(u32::MAX).is_zero());
    }

    #[test]
    fn a_family_has_the_time_of_children_that_ended() {
        let burn = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        std::process::Command::new("sh").args(["-c", burn]).status().unwrap();
        let own = std::process::id();
        assert!(family_cpu_time(own) > cpu_time(own));
    }

    #[test]
    fn resident_memory_is_in_bytes() {
        assert_eq!(resident("Name:\tx\nVmHWM:\t  9 kB\nVmRSS:\t    8 kB\n"), Some(8192));
        assert_eq!(resident("Name:\tx\n"), None);
        assert!(resident_bytes(std::process::id()).unwrap() > 100_000);
    }

    #[test]
    fn a_process_is_found_by_its_name() {
        let own = value("/proc/self/comm");
        assert!(processes_named(&own).contains(&std::process::id()));
    }
}
